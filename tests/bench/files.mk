# SPDX-License-Identifier: BSD-2-Clause
# SPDX-License-Identifier: BSD-2-Clause
# tests/bench/: what counting costs beside perf.  `make bench` measures here, `make bench VM=1` in a guest
# with hardware counters, KERNEL= chooses which; JSON=file writes the figures there as well.
BENCH       := $(O)/bench/pmcbpf-bench
BENCH_SRCS  := $(sort $(filter-out %.bpf.c,$(wildcard tests/bench/*.c)))
BENCH_OBJS  := $(BENCH_SRCS:%.c=$(O)/obj/%.o)
BENCH_STAGE := $(O)/bench/overlay
KERNEL      ?= 6.1-arm64
INC_tests   += -I$(O)/bench
LINT_C      += $(BENCH_SRCS)
LINT_SH     += tests/bench/run
LINT_NEEDS  += $(O)/bench/floor.skel.h

$(O)/bench/floor.bpf.o: tests/bench/floor.bpf.c
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(O)/bench/floor.skel.h: $(O)/bench/floor.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name floor_bpf >$@.tmp && mv $@.tmp $@

$(O)/obj/tests/bench/counters.o: $(O)/bench/floor.skel.h

$(BENCH): $(BENCH_OBJS) $(LIBPMC)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(CLI_LDFLAGS) -o $@ $(BENCH_OBJS) $(LIBPMC_LINK) -lbpf -lelf -lz

# What a guest needs, and nothing else: everything is unpacked at each boot.
.PHONY: bench-stage
bench-stage: $(BENCH) $(PMCBPFD) $(LIBPMC)
	$(Q)install -d $(BENCH_STAGE)/usr/local/bin $(BENCH_STAGE)/usr/local/sbin $(BENCH_STAGE)/usr/local/lib
	$(Q)install -m 755 $(BENCH) $(BENCH_STAGE)/usr/local/bin
	$(Q)install -m 755 $(PMCBPFD) $(BENCH_STAGE)/usr/local/sbin
	$(Q)install -m 755 $(O)/lib/$(LIBPMC_SONAME) $(BENCH_STAGE)/usr/local/lib

ifeq ($(VM),1)
bench:  ## figures beside perf's; VM=1: with hardware counters, in an arm64 guest; JSON=file
	$(Q)$(MAKE) ARCH=arm64 O=build/arm64 bench-stage
	$(Q)tests/bench/run $(if $(JSON),--json '$(JSON)') --vm $(KERNEL) \
		--overlay build/arm64/bench/overlay -- $(BENCH_ARGS)
else
bench: $(BENCH) $(PMCBPFD)  ## figures beside perf's; VM=1: with hardware counters, in an arm64 guest; JSON=file
	$(Q)tests/bench/run $(if $(JSON),--json '$(JSON)') --bench $(BENCH) --daemon $(PMCBPFD) -- $(BENCH_ARGS)
endif
