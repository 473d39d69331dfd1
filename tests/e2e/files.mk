# SPDX-License-Identifier: BSD-2-Clause
# tests/e2e/: bats on the running kernel, as root, against a daemon of the test's own.
E2E_BATS := $(wildcard tests/e2e/*.bats)
WIRECLIENT := $(O)/tests/wireclient
WIRECLIENT_SRCS := $(wildcard tests/e2e/wire*.c)

LINT_C  += $(WIRECLIENT_SRCS) tests/e2e/deep.c tests/e2e/usdt.c
LINT_SH += tests/together tests/e2e/helpers.bash tests/e2e/ktr.bash tests/e2e/secrets.bash

# Static, because tests exec it thousands of times; sanitizers refuse that.
$(WIRECLIENT): $(WIRECLIENT_SRCS:%.c=$(O)/obj/%.o)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(if $(SAN),,-static-pie) -o $@ $^

# A process with given credentials, as in the guests.
$(O)/tests/stand: tests/vm/progs/stand.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -U_GNU_SOURCE -o $@ $<

# A workload that knows its own figures, as in the guests.
$(O)/tests/load: tests/vm/progs/load.c tests/vm/progs/places.h tests/vm/progs/spin.h $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fno-pie -no-pie -U_GNU_SOURCE -pthread -o $@ $<

# The same at another address each time.
E2E_NEEDS += $(O)/tests/load_pie
$(O)/tests/load_pie: tests/vm/progs/load.c tests/vm/progs/places.h tests/vm/progs/spin.h $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fpie -pie -U_GNU_SOURCE -pthread -o $@ $<

$(O)/tests/unmaps: tests/vm/progs/unmaps.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -U_GNU_SOURCE -o $@ $<

# A program with known call chains at known addresses.
$(O)/tests/deep: tests/e2e/deep.c tests/vm/progs/spin.h $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-pie -no-pie -o $@ $<

# A program whose outermost frame is marked.
LINT_C += tests/e2e/nocaller.c
$(O)/tests/nocaller: tests/e2e/nocaller.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fno-omit-frame-pointer -o $@ $<

# A program that starts others without copying its memory.
LINT_C += tests/e2e/vexec.c
$(O)/tests/vexec: tests/e2e/vexec.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $<

# A program whose exit hangs.
LINT_C += tests/e2e/hungexit.c
$(O)/tests/hungexit: $(O)/obj/tests/e2e/hungexit.o $(O)/obj/tests/fuzz/strangers/fuse.o
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

# A program that knows how its time was spent.
LINT_C += tests/e2e/hot.c tests/e2e/hot_library.c
$(O)/tests/hot: tests/e2e/hot.c tests/vm/progs/spin.h $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread -o $@ $< -ldl

$(O)/tests/hot_library.so: tests/e2e/hot_library.c tests/vm/progs/spin.h $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -O1 -fno-omit-frame-pointer -fvisibility=default -shared -fPIC -o $@ $<

# Reads a log as applications do.
LINT_C += tests/e2e/logcheck.c
$(O)/tests/logcheck: $(O)/obj/tests/e2e/logcheck.o $(LIBPMC_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread -ldl

# Counts from an exec on, next to the kernel's enable-on-exec.
LINT_C += tests/e2e/fromexec.c
$(O)/tests/fromexec: $(O)/obj/tests/e2e/fromexec.o $(LIBPMC_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread -ldl

# A user who takes all resources.
LINT_C += tests/e2e/hoard.c
$(O)/tests/hoard: $(O)/obj/tests/e2e/hoard.o $(LIBPMC_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread -ldl

# A program whose signal handlers the kernel does not see.
LINT_C += tests/e2e/emulated.c
$(O)/tests/emulated: $(O)/obj/tests/e2e/emulated.o $(LIBPMC_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread -ldl

# Reads trace rings as applications do.
LINT_C += tests/e2e/ktrread.c
$(O)/tests/ktrread: $(O)/obj/tests/e2e/ktrread.o $(LIBPMC_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread -ldl

# A kernel that refuses one program.
LINT_C += tests/e2e/refuse.c
$(O)/tests/refuse.so: tests/e2e/refuse.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fvisibility=default -shared -fPIC -o $@ $< -ldl

# A daemon whose events get their programs late.
LINT_C += tests/e2e/late.c
$(O)/tests/late.so: tests/e2e/late.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fvisibility=default -shared -fPIC -o $@ $< -ldl

# A machine on which the nth call fails.
LINT_C += tests/e2e/nth.c
$(O)/tests/nth.so: tests/e2e/nth.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DNTH_LIBRARY -fvisibility=default -shared -fPIC -o $@ $< -ldl

$(O)/tests/nth: tests/e2e/nth.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $<

# A command counted by a group; FreeBSD's functions of groups; migrations.
LINT_C += tests/e2e/grouped.c tests/e2e/groupcalls.c tests/e2e/moves.c
E2E_NEEDS += $(O)/tests/grouped $(O)/tests/groupcalls $(O)/tests/moves
$(O)/tests/grouped $(O)/tests/groupcalls $(O)/tests/moves: $(O)/tests/%: $(O)/obj/tests/e2e/%.o $(LIBPMC)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(CLI_LDFLAGS) -o $@ $< $(LIBPMC_LINK)

# A program that creates threads while a PMC is started.
LINT_C += tests/e2e/newthreads.c tests/e2e/groupself.c
E2E_NEEDS += $(O)/tests/newthreads
$(O)/tests/newthreads: $(O)/obj/tests/e2e/newthreads.o $(LIBPMC)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(CLI_LDFLAGS) -no-pie -o $@ $< $(LIBPMC_LINK) -lpthread

# A program that has a signal for each overflow.
LINT_C += tests/e2e/signalled.c
E2E_NEEDS += $(O)/tests/signalled
$(O)/tests/signalled: $(O)/obj/tests/e2e/signalled.o $(LIBPMC)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(CLI_LDFLAGS) -o $@ $< $(LIBPMC_LINK) -lpthread

# A program that knows how long it has waited.
LINT_C += tests/e2e/waited.c
E2E_NEEDS += $(O)/tests/waited
$(O)/tests/waited: tests/e2e/waited.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread -o $@ $<

# A process whose switches are hidden.
LINT_C += tests/e2e/unseen.c
$(O)/tests/unseen: $(O)/obj/tests/e2e/unseen.o
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< -lbpf -lelf -lz

# A program with trace points.
LINT_C += tests/e2e/traced.c
$(O)/tests/traced: $(O)/obj/tests/e2e/traced.o $(LIBKTR)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(CLI_LDFLAGS) -o $@ $< -L$(O)/lib -lktr

# A program that is dumped in every way.
LINT_C += tests/e2e/dumped.c
$(O)/tests/dumped: $(O)/obj/tests/e2e/dumped.o $(LIBKTR)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(CLI_LDFLAGS) -Wl,--build-id -o $@ $< -L$(O)/lib -lktr -lpthread

# Stacks of all shapes, and a comparison of the ways to walk them.
LINT_C += tests/e2e/unwound.c tests/e2e/unwound_library.c $(filter-out %.bpf.c,$(wildcard tests/e2e/truth*.c))
LINT_NEEDS += $(O)/tests/truth.skel.h
INC_tests += -I$(O)/tests
UNWOUND := $(O)/tests/unwound $(O)/tests/unwound-static $(O)/tests/unwound-static-pie $(O)/tests/unwound-lld
UNWOUND_LIBRARIES := $(O)/tests/unwound-100.so $(O)/tests/unwound-3000.so
UNWOUND_unwound := -DUNWOUND_LIBRARIES
UNWOUND_unwound-static := -static
UNWOUND_unwound-static-pie := -static-pie
UNWOUND_unwound-lld := -fuse-ld=lld
$(UNWOUND): tests/e2e/unwound.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fomit-frame-pointer -fno-optimize-sibling-calls -pthread \
		$(UNWOUND_$(@F)) -o $@ $<

$(UNWOUND_LIBRARIES): $(O)/tests/unwound-%.so: tests/e2e/unwound_library.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DROOM=$* -fomit-frame-pointer -fvisibility=default -shared -fPIC -o $@ $<

$(O)/tests/truth.bpf.o: tests/e2e/truth.bpf.c tests/e2e/truth_abi.h $(wildcard bpf/unwind/*.h)
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_$(patsubst x86_64,x86,$(ARCH)) -c -o $@ $<

$(O)/tests/truth.skel.h: $(O)/tests/truth.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name truth_bpf >$@.tmp && mv $@.tmp $@

$(O)/obj/tests/e2e/truth_kernel.o: $(O)/tests/truth.skel.h
$(O)/tests/truth: $(patsubst %.c,$(O)/obj/%.o,$(filter-out %.bpf.c,$(wildcard tests/e2e/truth*.c))) $(LOADER_A) $(BASE_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -ldw -lbpf -lelf -lz
E2E_NEEDS += $(UNWOUND) $(UNWOUND_LIBRARIES) $(O)/tests/truth

# The kernel's functions, by address.
LINT_C += tests/e2e/kallsyms.c
$(O)/tests/kallsyms: $(O)/obj/tests/e2e/kallsyms.o $(LOADER_A) $(BASE_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PMCBPFD_LIBS)

# Python's frames, by the product's walk.
LINT_C += tests/e2e/frames.c tests/e2e/frames_kernel.c
LINT_NEEDS += $(O)/tests/frames.skel.h
E2E_NEEDS += $(O)/tests/frames
$(O)/tests/frames.bpf.o: tests/e2e/frames.bpf.c tests/e2e/frames_abi.h $(wildcard bpf/python/*.h)
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_$(patsubst x86_64,x86,$(ARCH)) -c -o $@ $<

$(O)/tests/frames.skel.h: $(O)/tests/frames.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name frames_bpf >$@.tmp && mv $@.tmp $@

$(O)/obj/tests/e2e/frames_kernel.o: $(O)/tests/frames.skel.h
$(O)/tests/frames: $(O)/obj/tests/e2e/frames.o $(O)/obj/tests/e2e/frames_kernel.o $(LOADER_A) $(BASE_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -ldw -lbpf -lelf -lz

# The benchmark, built with its own makefile.
E2E_NEEDS += $(O)/bench/pmcbpf-bench

# Page faults with known registers and addresses.
LINT_C += tests/e2e/renumbered.c
E2E_NEEDS += $(O)/tests/renumbered
$(O)/tests/renumbered: tests/e2e/renumbered.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -pthread -o $@ $<

LINT_C += tests/e2e/touched.c
E2E_NEEDS += $(O)/tests/touched
$(O)/tests/touched: tests/e2e/touched.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $<

# Programs that the tests run, besides the tools.
E2E_NEEDS += $(WIRECLIENT) $(O)/tests/stand $(O)/tests/load $(O)/tests/unmaps $(O)/tests/deep $(O)/tests/nocaller $(O)/tests/vexec $(O)/tests/hungexit $(O)/tests/hot $(O)/tests/hot_library.so $(O)/tests/logcheck $(O)/tests/hoard $(O)/tests/emulated $(O)/tests/fromexec \
	$(O)/tests/ktrread $(O)/tests/refuse.so $(O)/tests/late.so $(O)/tests/nth $(O)/tests/nth.so $(O)/tests/unseen $(O)/tests/traced $(O)/tests/dumped $(KTR_PROGS)

# Files that also run in the sandbox of the systemd unit: they cover the daemon's use of the kernel
# and of the name service, not of its files.
SANDBOX_BATS := $(addprefix tests/e2e/,kgmon.bats ktr_kernel.bats log.bats names.bats policy.bats proof.bats record.bats \
	req_attach.bats req_scope.bats)

# Run only there if both suites run and the sandbox can be made.
E2E_HERE = $(if $(filter sandbox,$(SANDBOXED)),$(filter-out $(SANDBOX_BATS),$(E2E_BATS)),$(E2E_BATS))
SANDBOXED = $(if $(shell command -v systemd-analyze && \
	python3 -c 'import ctypes; ctypes.CDLL("libseccomp.so.2")' 2>&1 && echo yes),$(PMCBPF_SUITES))

# Three files run at a time: the tests stand any load, each daemon has a folder of its own, and nothing is counted that
# another test could use up.  Alone, and first, run those that change settings of the machine (sysctls: tests/style
# finds them), that measure it (accuracy, bench), that start tests of the others (confine), that own the names in
# the BPF file system (ktr_daemon), or that leave a CPU to nobody (starved).
E2E_JOBS  ?= 3
E2E_ALONE := $(addprefix tests/e2e/,accuracy.bats bench.bats confine.bats ktr_daemon.bats names.bats settings.bats \
	starved.bats)
together   = BUILD='$(abspath $(O))' tests/together $(E2E_JOBS) '$(E2E_ALONE)'

CHECKS += check-e2e check-sandbox
.PHONY: check-e2e check-sandbox
NEEDS_e2e     = $(E2E_NEEDS)
NEEDS_sandbox = $(E2E_NEEDS)
check-e2e: all $(NEEDS_e2e)  ## tests on the running kernel; root and BTF
	$(Q)$(together) $(E2E_HERE)

check-sandbox: all $(NEEDS_sandbox)  ## the essential ones with the daemon in the sandbox of its systemd unit
	$(Q)PMCBPF_UNIT='$(abspath packaging/systemd/pmcbpfd.service)' \
		BATS_TEST_NAME_PREFIX='in the unit: ' $(together) $(SANDBOX_BATS)
