# SPDX-License-Identifier: BSD-2-Clause
# pmcbpf: `sudo make run` sets everything up and counts a real workload; `sudo make check` runs every
# test; `make help` lists the rest.  Objects go to $(O); every folder's files.mk names its own parts.

VERSION   := 0.1.0
O         ?= build
PREFIX    ?= /usr/local
DESTDIR   ?=
SYSCONFDIR ?= /etc
RUNDIR    ?= /run
BINDIR    := $(PREFIX)/bin
SBINDIR   := $(PREFIX)/sbin
LIBDIR    := $(PREFIX)/lib
INCLUDEDIR := $(PREFIX)/include/pmcbpf
MANDIR    := $(PREFIX)/share/man
# Packages put these where systemd and udev of their system look.
UNITDIR   ?= $(PREFIX)/lib/systemd/system
UDEVDIR   ?= $(PREFIX)/lib/udev

# ARCH names the target as the kernel does; ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- cross-builds.
HOST_ARCH := $(patsubst aarch64,arm64,$(shell uname -m))
ARCH      ?= $(HOST_ARCH)
ifneq ($(ARCH),$(HOST_ARCH))
  CROSS_COMPILE ?= aarch64-linux-gnu-
  ifeq ($(O),build)
    override O := build/$(ARCH)
  endif
  SYSROOT ?= $(or $(shell tests/vm/sysroot $(ARCH)),$(error no libraries for ARCH=$(ARCH): set SYSROOT))
  SYSROOT := $(SYSROOT)
  TARGET_INC := -isystem $(SYSROOT)/usr/include -isystem $(SYSROOT)/usr/include/aarch64-linux-gnu
  TARGET_LIB := -L$(SYSROOT)/usr/lib/aarch64-linux-gnu -Wl,-rpath-link,$(SYSROOT)/usr/lib/aarch64-linux-gnu
endif
ifeq ($(origin CC),default)
  CC := $(CROSS_COMPILE)gcc
endif
CLANG     ?= $(or $(shell command -v clang-14),clang)
BPFTOOL   ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
CFLAGS    ?= -O2 -g
CLANG_TIDY ?= clang-tidy
JOBS      ?= $(shell nproc)
FUZZ_TIME  = $(FUZZ_SECONDS)
FUZZ_SECONDS ?= 30
WARN      := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter
SAN       ?=
DEFS      := -D_GNU_SOURCE -DPMCBPF_VERSION='"$(VERSION)"' -DPMCBPF_SBINDIR='"$(SBINDIR)"' \
             -DPMCBPF_SYSCONFDIR='"$(SYSCONFDIR)"' -DPMCBPF_RUNDIR='"$(RUNDIR)"'
# Hardening, as far as the compiler knows it: CFLAGS may take each back.  Checked functions of the C library are there
# in optimized code only, and sanitizers have their own.
HARDEN_TRY := -fstack-protector-strong -fstack-clash-protection -Wformat -Werror=format-security
ifeq ($(ARCH),x86_64)
  HARDEN_TRY += -fcf-protection
else ifeq ($(ARCH),arm64)
  HARDEN_TRY += -mbranch-protection=standard
endif
HARDEN := $(shell for flag in $(HARDEN_TRY); do \
	echo 'int x;' | $(CC) -Werror $$flag -c -x c -o /dev/null - 2>/dev/null && echo "$$flag"; done)
FORTIFY := $(if $(SAN),,$(if $(filter -O -O1 -O2 -O3 -Os -Og,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(if \
	$(filter 7 8 9 10 11,$(firstword $(subst ., ,$(shell $(CC) -dumpversion)))),2,3)))
ALL_CFLAGS = -std=gnu11 $(WARN) $(WERROR) $(HARDEN) $(FORTIFY) $(CFLAGS) $(SAN) -fvisibility=hidden $(DEFS) $(TARGET_INC) -MMD -MP
ALL_LDFLAGS = -Wl,-z,relro,-z,now,-z,noexecstack $(LDFLAGS) $(SAN) $(TARGET_LIB)
# New compilers know new warnings: they are errors where the tree is known to be clean.
WERROR    ?= $(if $(filter 12,$(shell $(CC) -dumpversion)),-Werror)
WERROR    := $(WERROR)

ifeq ($(V),1)
  Q :=
  say := @:
else
  Q := @
  say = @printf '  %-7s %s\n' $(1) $(2)
  MAKEFLAGS += --no-print-directory
endif

.DEFAULT_GOAL := all
.PHONY: all help clean install uninstall lint check run bench fuzz deps test-deps FORCE
.DELETE_ON_ERROR:

# Each folder adds to: ALL (what `make` builds), INSTALL (its install targets), LINT_C, LINT_SH, CHECKS,
# INSTALL_CHECKS (tests of the packages, which take long and are a run of their own).
ALL :=
INSTALL :=
CHECKS :=
INSTALL_CHECKS :=
LINT_C :=
LINT_SH :=
LINT_NEEDS = $(BPF_SKEL)
# Doubles and helpers of unit tests.
UNIT_UTIL_A := $(O)/lib/unit.a
include $(wildcard bpf/files.mk lib/files.mk loader/files.mk cli/files.mk pctr/files.mk kmod/files.mk man/files.mk \
	packaging/files.mk \
	tests/files.mk tests/ktr/files.mk tests/unit/files.mk tests/fuzz/files.mk tests/e2e/files.mk tests/model/files.mk \
	tests/vm/files.mk tests/pctr/files.mk tests/bench/files.mk tests/package/files.mk \
	tests/boot/files.mk)

all: $(ALL)  ## build everything, for this machine or ARCH=arm64

# Other flags, another version or another prefix: everything is compiled again.
FLAGS = $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(INC_lib) $(INC_loader) $(INC_cli) $(INC_pctr) $(INC_tests)
$(O)/flags: FORCE
	@$(shell mkdir -p $(@D))$(file >$@.new,$(FLAGS))cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# User-space objects: position independent, one rule; a folder sets its own CPPFLAGS by obj path.
$(O)/obj/%.o: %.c $(O)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC $(INC_$(firstword $(subst /, ,$*))) -c -o $@ $<
-include $(shell find $(O)/obj -name '*.d' 2>/dev/null)

define archive
$(call say,AR,$@)
@mkdir -p $(@D)
$(Q)rm -f $@ && $(CROSS_COMPILE)ar rcs $@ $^
endef

# With -jN given to make its jobs are shared; otherwise builds of `run` and `check` use every CPU.
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))

deps:  ## install what building needs (Debian, Ubuntu; elsewhere: say what)
	@packaging/deps build

test-deps:  ## install what the tests need as well
	@packaging/deps build test

run:  ## set up everything, then count a real workload (as root)
	@[ "$$(id -u)" -eq 0 ] || { echo "pmcbpfd takes root: sudo make run" >&2; exit 1; }
	@packaging/deps build
	@$(MAKE) $(PARALLEL) all
	@O='$(O)' packaging/demo

# Suites that run without root; SUITES="unit vm" chooses among all.
ROOTLESS := unit man coverage
SUITES   ?= $(CHECKS:check-%=%)
# What the suites build, by NEEDS_SUITE, on every CPU: the suites themselves are not for -j.  What cannot be built fails
# again in its suite, which reports it.
CHECK_SUITES = $(if $(filter 0,$(shell id -u)),$(SUITES),$(filter $(ROOTLESS),$(SUITES)))
CHECK_NEEDS  = $(sort $(foreach suite,$(CHECK_SUITES),$(NEEDS_$(suite))))
ALL_SUITES = $(CHECKS:check-%=%) $(INSTALL_CHECKS:check-%=%)
check:  ## set up everything, then run every test (as root); SUITES="unit e2e" chooses
	$(if $(filter-out $(ALL_SUITES),$(SUITES)),\
		$(error SUITES: $(filter-out $(ALL_SUITES),$(SUITES)): no such suite; there are: $(ALL_SUITES)))
	@packaging/deps build $(if $(filter 0,$(shell id -u)),test,unit) \
		$(if $(filter $(INSTALL_CHECKS:check-%=%),$(SUITES)),package rpm install)
	@$(MAKE) $(PARALLEL) all
	-@$(if $(CHECK_NEEDS),$(MAKE) $(PARALLEL) $(CHECK_NEEDS))
	-@$(if $(filter vm,$(CHECK_SUITES)),$(MAKE) $(PARALLEL) vm-overlay)
	@MAKE='$(MAKE)' PMCBPF_SUITES='$(SUITES)' tests/summary $(O)/check '$(ROOTLESS)' $(SUITES)

.PHONY: check-install
check-install:  ## build the packages and test them as they are installed (as root)
	@$(MAKE) check SUITES='$(INSTALL_CHECKS:check-%=%)'

# One stamp for each C file: clang's own warnings, then clang-tidy with the checks of .clang-tidy.
LINT_DIR   = $(firstword $(subst /, ,$*))
LINT_FLAGS = -std=gnu11 $(WARN) $(DEFS) $(subst -I$(O),-isystem $(O),$(INC_$(LINT_DIR))) \
	$(if $(filter tests/vm/%,$*),-U_GNU_SOURCE)
LINT_HEADERS := $(wildcard loader/*.h */*/*.h lib/include/*/*.h tests/*/*/*.h pctr/*.h kmod/*.h)
# Where clang-tidy is wrong: generated code, lists and owners it cannot follow, an errno that it takes for 0.
TIDY_loader/kernel/engine := --checks=-clang-analyzer-unix.Malloc
TIDY_loader/kernel/ktrload := --checks=-clang-analyzer-unix.Malloc
TIDY_loader/pmc/pmc_release := --checks=-clang-analyzer-unix.Malloc
TIDY_loader/kernel/sampler := --checks=-clang-analyzer-unix.Malloc
TIDY_loader/kernel/hit_sampler := --checks=-clang-analyzer-unix.Malloc
TIDY_loader/kernel/waker := --checks=-clang-analyzer-unix.Malloc
TIDY_loader/kernel/slot := --checks=-clang-analyzer-unix.Malloc
TIDY_loader/log/loglate := --checks=-clang-analyzer-unix.Malloc
TIDY_loader/pmc/lifetime := --checks=-clang-analyzer-core.NullDereference
TIDY_loader/kernel/perf := --checks=-clang-analyzer-core.uninitialized.Branch
TIDY_lib/read/read_table := --checks=-clang-analyzer-core.uninitialized.Assign
TIDY_lib/pmc/query := --checks=-clang-analyzer-unix.Malloc
$(O)/lint/%: %.c .clang-tidy $(LINT_HEADERS) $(LINT_NEEDS)
	$(call say,TIDY,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(LINT_FLAGS) -Werror -fsyntax-only $<
	$(Q)$(CLANG_TIDY) --quiet $(TIDY_$*) $< -- $(LINT_FLAGS) $(if $(filter-out %/reason lib/pmc/pmc,$*),\
		-include tests/lint.h -DLINT_$(LINT_DIR)) 2>$@.log || { cat $@.log; exit 1; }
	@touch $@

# Misread: initializers with names as assignments, objects that another file's function fills in, enums as bounds, formats
# that are variables.
CPPCHECK_OFF := unknownEvaluationOrder:cli/common/opt.c ctuuninitvar ctunullpointer \
	arrayIndexOutOfBounds:tests/vm/agent.c uninitvar:loader/op/attach.c uninitvar:tests/model/random.c \
	arrayIndexOutOfBoundsCond:tests/unit/loader_target.c legacyUninitvar:loader/pmc/lifetime.c \
	arrayIndexOutOfBoundsCond:lib/base/logfmt.h wrongPrintfScanfArgNum:lib/pmclog/pmclogjson.c
.PHONY: lint-c lint-cppcheck lint-style
lint: lint-c lint-cppcheck lint-style  ## clang, clang-tidy, cppcheck, shellcheck, mandoc and the rules of the tree
lint-c: $(LINT_C:%.c=$(O)/lint/%)
lint-cppcheck: $(LINT_NEEDS)
	$(call say,LINT,cppcheck)
	$(Q)cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr --max-configs=1 \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		$(CPPCHECK_OFF:%=--suppress=%) -D__linux__ -D__x86_64__ -D_GNU_SOURCE \
		-D'TAILQ_HEAD(n,t)=struct t *' -D'LIST_HEAD(n,t)=struct t *' \
		-D'TAILQ_FOREACH(v,h,f)=while ((v = next(h)))' -D'LIST_FOREACH(v,h,f)=while ((v = next(h)))' \
		-D'LIBBPF_OPTS(type,name,...)=struct type name = { __VA_ARGS__ }' $(sort $(INC_lib) $(INC_loader) $(INC_cli) \
		-Itests/unit/util) $(LINT_C)
lint-style:
	$(call say,LINT,style)
	$(Q)find Makefile .ci bpf vmlinux loader lib cli man packaging tests pctr $(wildcard kmod) -type f | \
		sort | tests/style

install: all $(INSTALL)  ## install below $(DESTDIR)$(PREFIX)
	$(if $(DESTDIR),,-@/sbin/ldconfig $(LIBDIR))

# What `install` would put there is taken away again, and the folders of ours that are then empty.  A list of
# registers that the administrator has changed stays.
uninstall:  ## remove what install has installed
	@rm -rf $(O)/staged
	@$(MAKE) install DESTDIR='$(abspath $(O)/staged)' >/dev/null
	@cd $(O)/staged && find . ! -type d -printf '%P\n' | while read -r file; do \
		case /$$file in $(SYSCONFDIR)/*) cmp -s "$$file" '$(DESTDIR)/'"$$file" || continue ;; esac; \
		rm -f '$(DESTDIR)/'"$$file"; done
	@-rmdir $(addprefix $(DESTDIR)$(INCLUDEDIR),/sys /machine /openbsd/sys /openbsd/machine /openbsd /) \
		$(DESTDIR)$(SYSCONFDIR)/pmcbpf/policy.d $(DESTDIR)$(SYSCONFDIR)/pmcbpf $(DESTDIR)$(PREFIX)/share/pmcbpf 2>/dev/null

clean:  ## remove $(O)
	rm -rf $(O)

help:  ## this list
	@awk -F':[^#]*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
