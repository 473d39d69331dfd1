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

# ARCH names the target as the kernel does; ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- cross-builds.
HOST_ARCH := $(patsubst aarch64,arm64,$(shell uname -m))
ARCH      ?= $(HOST_ARCH)
ifneq ($(ARCH),$(HOST_ARCH))
  CROSS_COMPILE ?= aarch64-linux-gnu-
  ifeq ($(O),build)
    override O := build/$(ARCH)
  endif
  SYSROOT ?= $(shell tests/vm/sysroot $(ARCH))
  TARGET_INC := -isystem $(SYSROOT)/usr/include -isystem $(SYSROOT)/usr/include/aarch64-linux-gnu
  TARGET_LIB := -L$(SYSROOT)/usr/lib/aarch64-linux-gnu -Wl,-rpath-link,$(SYSROOT)/usr/lib/aarch64-linux-gnu
endif
ifeq ($(origin CC),default)
  CC := $(CROSS_COMPILE)gcc
endif
CLANG     ?= $(or $(shell command -v clang-14),clang)
BPFTOOL   ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
CFLAGS    ?= -O2 -g
WARN      := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter
SAN       ?=
DEFS      := -D_GNU_SOURCE -DPMCBPF_VERSION='"$(VERSION)"' -DPMCBPF_SBINDIR='"$(SBINDIR)"' \
             -DPMCBPF_SYSCONFDIR='"$(SYSCONFDIR)"' -DPMCBPF_RUNDIR='"$(RUNDIR)"'
ALL_CFLAGS = -std=gnu11 $(WARN) $(WERROR) $(CFLAGS) $(SAN) -fvisibility=hidden $(DEFS) $(TARGET_INC) -MMD -MP
ALL_LDFLAGS = $(LDFLAGS) $(SAN) $(TARGET_LIB)
WERROR    ?= -Werror

ifeq ($(V),1)
  Q :=
  say := @:
else
  Q := @
  say = @printf '  %-7s %s\n' $(1) $(2)
  MAKEFLAGS += --no-print-directory
endif

.DEFAULT_GOAL := all
.PHONY: all help clean install uninstall lint check run bench fuzz deb deps test-deps
.DELETE_ON_ERROR:

# Each folder adds to: ALL (what `make` builds), INSTALL (its install targets), LINT_C, LINT_SH, CHECKS.
ALL :=
INSTALL :=
CHECKS :=
LINT_C :=
LINT_SH :=
include $(wildcard bpf/files.mk lib/files.mk loader/files.mk cli/files.mk man/files.mk packaging/files.mk \
	tests/unit/files.mk tests/fuzz/files.mk tests/e2e/files.mk tests/vm/files.mk tests/bench/files.mk)

all: $(ALL)  ## build everything for $(ARCH)

# User-space objects: position independent, one rule; a folder sets its own CPPFLAGS by obj path.
$(O)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC $(INC_$(firstword $(subst /, ,$*))) -c -o $@ $<
-include $(shell find $(O)/obj -name '*.d' 2>/dev/null)

install: all $(INSTALL)  ## install below $(DESTDIR)$(PREFIX)

clean:  ## remove $(O)
	rm -rf $(O)

help:  ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
