# SPDX-License-Identifier: BSD-2-Clause
# SPDX-License-Identifier: BSD-2-Clause
# tests/bench/: what counting costs beside perf.  `make bench` measures here, `make bench VM=1` in a guest
# with hardware counters, KERNEL= chooses which, and 6.12-x86 has registers; JSON=file writes the figures there as well.
BENCH       := $(O)/bench/pmcbpf-bench
BENCH_SRCS  := $(sort $(filter-out %.bpf.c,$(wildcard tests/bench/*.c)))
BENCH_OBJS  := $(BENCH_SRCS:%.c=$(O)/obj/%.o)
BENCH_STAGE := $(O)/bench/overlay
KERNEL      ?= 6.1-arm64
INC_tests   += -I$(O)/bench
LINT_C      += $(BENCH_SRCS)
LINT_SH     += tests/bench/run tests/bench/large
LINT_NEEDS  += $(O)/bench/floor.skel.h

$(O)/bench/floor.bpf.o: tests/bench/floor.bpf.c
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(O)/bench/floor.skel.h: $(O)/bench/floor.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name floor_bpf >$@.tmp && mv $@.tmp $@

# Its frames are unwound.
$(O)/obj/tests/bench/sample.o $(O)/obj/tests/bench/chains.o: override CFLAGS += -fno-omit-frame-pointer -fno-optimize-sibling-calls
$(O)/obj/tests/bench/counters.o: $(O)/bench/floor.skel.h

BENCH_UNWIND := $(patsubst %,$(O)/obj/loader/unwind/%.o,cfi cfi_rule cfi_run fdes image table)

$(BENCH): $(BENCH_OBJS) $(BENCH_UNWIND) $(LIBPMC) $(BASE_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(CLI_LDFLAGS) -o $@ $(BENCH_OBJS) $(BENCH_UNWIND) $(BASE_A) $(LIBPMC_LINK) -lbpf -lelf -lz

# Trace points, ours and LTTng's where it is installed, each in a program of its own beside the
# benchmark.
BENCH_LOOPS := $(O)/bench/ktr-loops $(O)/bench/lttng
ifeq ($(ARCH),$(HOST_ARCH))
  BENCH_LOOPS += $(if $(wildcard /usr/include/lttng/tracepoint.h /usr/include/*/lttng/tracepoint.h),$(O)/bench/lttng-loops)
endif
LINT_C  += tests/bench/loops/ktr.c tests/bench/loops/resolve.c
LINT_SH += tests/bench/lttng

$(O)/bench/ktr-loops: $(O)/obj/tests/bench/loops/ktr.o $(LIBKTR)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(CLI_LDFLAGS) -o $@ $< -L$(O)/lib -lktr

$(O)/bench/lttng-loops: $(wildcard tests/bench/loops/lttng* tests/bench/loops/loop.h) $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -W%,$(ALL_CFLAGS)) -I. -Itests/bench/loops -o $@ tests/bench/loops/lttng.c -llttng-ust -ldl

# Names for a list of addresses, to be compared with addr2line.
$(O)/bench/resolve: $(O)/obj/tests/bench/loops/resolve.o $(CLI_A) $(LIBPMC_A) $(BASE_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PROFILE_LIBS)

$(O)/bench/lttng: tests/bench/lttng
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@

# Takes half a minute and 1 GB, once; not part of the default benchmark.
BENCH_LARGE = $(if $(or $(filter report,$(BENCH_ARGS)),$(if $(BENCH_ARGS),,all)),$(O)/bench/large)
$(O)/bench/large: tests/bench/large tests/bench/large.cc
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)CXX='$(CXX)' tests/bench/large $@ tests/bench/large.cc

# The files that a guest needs, with the module if there are headers for it; all of it is unpacked
# at each boot.
.PHONY: bench-stage
bench-stage: $(BENCH) $(PMCBPFD) $(LIBPMC)
	$(Q)install -d $(BENCH_STAGE)/usr/local/bin $(BENCH_STAGE)/usr/local/sbin $(BENCH_STAGE)/usr/local/lib
	$(Q)install -m 755 $(BENCH) $(BENCH_STAGE)/usr/local/bin
	$(Q)install -m 755 $(PMCBPFD) $(BENCH_STAGE)/usr/local/sbin
	$(Q)install -m 755 $(O)/lib/$(LIBPMC_SONAME) $(BENCH_STAGE)/usr/local/lib
	$(Q)install -D -m 644 packaging/msr.list $(BENCH_STAGE)/etc/pmcbpf/msr.list
	$(Q)! grep -q '^$(KERNEL)	' tests/vm/headers.tsv || \
		{ tests/vm/kmod $(KERNEL) $(O)/bench/kmod $(O)/bench && cp -r $(O)/bench/$(ARCH:x86_64=amd64)/. $(BENCH_STAGE); }

ifeq ($(VM),1)
ifneq ($(filter %-x86,$(KERNEL)),)
bench: BENCH_ARCH := x86_64
else
bench: BENCH_ARCH := arm64
endif
bench:
	$(Q)$(MAKE) ARCH=$(BENCH_ARCH) O=build/$(BENCH_ARCH) bench-stage
	$(Q)tests/bench/run $(if $(JSON),--json '$(JSON)') --vm $(KERNEL) \
		--overlay build/$(BENCH_ARCH)/bench/overlay -- $(BENCH_ARGS)
else
bench: $(BENCH) $(BENCH_LOOPS) $(PMCBPFD) $(O)/bin/pmcstat $(O)/bin/tdump $(BENCH_LARGE)  ## figures beside perf's; VM=1: with hardware counters, in an arm64 guest; JSON=file
	$(Q)tests/bench/run $(if $(JSON),--json '$(JSON)') --bench $(BENCH) --daemon $(PMCBPFD) -- $(BENCH_ARGS)
endif
