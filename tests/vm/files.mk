# SPDX-License-Identifier: BSD-2-Clause
# tests/vm/: guests for the tests.  VM_KERNELS="6.1-x86 new-arm64" chooses among kernels.tsv,
# VM_JOBS boots several at a time, $(VM_OVERLAY)/{amd64,arm64} goes into that architecture's guests.

VM_KERNELS ?=
VM_JOBS    ?= 2
VM_OVERLAY ?= build/vm/overlay
VM_MATRIX   = PMCBPF_VM_KERNELS="$(VM_KERNELS)" PMCBPF_VM_OVERLAY="$(abspath $(VM_OVERLAY))" \
	tests/vm/matrix -j $(VM_JOBS)
VM_CFLAGS  := -std=gnu11 -O2 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
VM_PROGS   := $(foreach a,amd64 arm64,\
	$(addprefix $(VM_OVERLAY)/$(a)/usr/bin/,pmu_probe pmcbpf-libs load hog preempt stand unmaps regs deep waited unwound wireclient model msrx counters))
VM_CLIENTS := $(foreach a,amd64 arm64,$(addprefix $(VM_OVERLAY)/$(a)/usr/bin/,pmcx signalled newthreads groupself pmclife pmci ktrread revoke rdpmc-example))
# The module, for the kernels of headers.tsv.
VM_KMODS   := $(patsubst %,$(VM_OVERLAY)/kmod/%/pmcbpf_msr.ko,6.1-x86 6.12-x86 6.1-arm64 6.12-arm64)

# PMUs for tests, likewise.
VM_KMODS   += $(patsubst %,$(VM_OVERLAY)/fakepmu/%/fakepmu.ko,6.1-x86 6.12-x86 6.1-arm64 6.12-arm64)

CHECKS  += check-vm check-hidden
LINT_C  += tests/vm/agent.c tests/vm/pmu_probe.c tests/vm/libs.c $(addprefix tests/vm/progs/,load.c hog.c preempt.c stand.c unmaps.c regs.c msrx.c kfunc.c counters.c)
LINT_SH += $(addprefix tests/vm/,fetch sysroot mkrootfs kmod matrix systemd host_disk hidden init helpers.bash)

# vm_cc ARCH - compiler and flags for programs of that guest architecture
vm_native  := $(shell dpkg --print-architecture)
vm_triplet_amd64 := x86_64-linux-gnu
vm_triplet_arm64 := aarch64-linux-gnu
vm_sysroot = $(shell tests/vm/sysroot $(1))
vm_cc = $(if $(filter $(1),$(vm_native)),gcc $(VM_CFLAGS) -I.,$(vm_triplet_$(1))-gcc $(VM_CFLAGS) -I.)
vm_dev = $(if $(filter $(1),$(vm_native)),,\
	$(call vm_dev_flags,$(call vm_sysroot,$(1)),$(vm_triplet_$(1))))
vm_dev_flags = -isystem $(1)/usr/include -isystem $(1)/usr/include/$(2) -L$(1)/usr/lib/$(2) \
	-Wl,-rpath-link,$(1)/usr/lib/$(2)

$(VM_OVERLAY)/%/usr/bin/pmu_probe: tests/vm/pmu_probe.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_cc,$*) -static -o $@ $<

$(VM_OVERLAY)/%/usr/bin/pmcbpf-libs: tests/vm/libs.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_cc,$*) -o $@ $< $(call vm_dev,$*) -lbpf -lelf -ldw -lz -lpfm -linih

$(VM_OVERLAY)/%/usr/bin/load $(VM_OVERLAY)/%/usr/bin/hog $(VM_OVERLAY)/%/usr/bin/preempt: \
		$(addprefix tests/vm/progs/,load.c hog.c preempt.c places.h spin.h)
	$(call say,CC,$(VM_OVERLAY)/$*/usr/bin/load and others)
	@mkdir -p $(VM_OVERLAY)/$*/usr/bin
	$(Q)for p in load hog preempt; do \
		$(call vm_cc,$*) -static -pthread -o $(VM_OVERLAY)/$*/usr/bin/$$p tests/vm/progs/$$p.c || exit; \
	done

$(VM_OVERLAY)/%/usr/bin/stand $(VM_OVERLAY)/%/usr/bin/unmaps $(VM_OVERLAY)/%/usr/bin/regs: \
		$(addprefix tests/vm/progs/,stand.c unmaps.c regs.c)
	$(call say,CC,$(VM_OVERLAY)/$*/usr/bin/stand and others)
	@mkdir -p $(VM_OVERLAY)/$*/usr/bin
	$(Q)for p in stand unmaps regs; do \
		$(call vm_cc,$*) -static -o $(VM_OVERLAY)/$*/usr/bin/$$p tests/vm/progs/$$p.c || exit; \
	done

$(VM_OVERLAY)/%/usr/bin/msrx: tests/vm/progs/msrx.c tests/vm/progs/kfunc.c tests/vm/progs/kfunc.h kmod/pmcbpf_msr.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_cc,$*) -o $@ $(filter %.c,$^) $(call vm_dev,$*) -lbpf -lelf -lz

$(VM_OVERLAY)/%/usr/bin/counters: tests/vm/progs/counters.c bpf/count/count_abi.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_cc,$*) -o $@ $< $(call vm_dev,$*) -lbpf -lelf -lz

$(VM_OVERLAY)/%/usr/bin/deep: tests/e2e/deep.c tests/vm/progs/spin.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_cc,$*) -fno-omit-frame-pointer -fno-optimize-sibling-calls -no-pie -static -o $@ $<

$(VM_OVERLAY)/%/usr/bin/waited: tests/e2e/waited.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_cc,$*) -D_GNU_SOURCE -fno-omit-frame-pointer -fno-optimize-sibling-calls -no-pie -static -pthread -o $@ $<

# Return addresses are signed where the CPU can do so.  A shape runs so long that the samples of its start are few.
$(VM_OVERLAY)/%/usr/bin/unwound: tests/e2e/unwound.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_cc,$*) -D_GNU_SOURCE -DRUN_NS=600000000 -Wno-unused-parameter -fomit-frame-pointer \
		-fno-optimize-sibling-calls $(if $(filter arm64,$*),-mbranch-protection=pac-ret) -pthread -o $@ $<

# The raw client of tests/e2e, for behaviour that depends on the kernel.
$(VM_OVERLAY)/%/usr/bin/wireclient: $(WIRECLIENT_SRCS) tests/e2e/wireclient.h lib/base/wire.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_cc,$*) -Wno-unused-parameter -D_GNU_SOURCE -Ilib/include -static -pthread -o $@ $(WIRECLIENT_SRCS)

$(VM_OVERLAY)/%/usr/bin/model: $(MODEL_SRCS) $(wildcard tests/model/*.h) lib/base/wire.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_cc,$*) -D_GNU_SOURCE -Ilib/include -static -pthread -o $@ $(MODEL_SRCS)

# Traced programs, and programs that move and interrupt their threads.
VM_KTR := $(foreach a,amd64 arm64,$(addprefix $(VM_OVERLAY)/$(a)/usr/bin/,ktr-show ktr-asm ktr-storm))
vm_ktr = $(call vm_cc,$(1)) -Wno-unused-parameter -D_GNU_SOURCE -I$(VM_OVERLAY)/$(1)/usr/local/include/pmcbpf \
	-static -pthread -o $@ $(2) $(VM_OVERLAY)/$(1)/usr/local/lib/libktr.a

$(VM_OVERLAY)/%/usr/bin/ktr-show: tests/ktr/show.c tests/ktr/rings.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_ktr,$*,tests/ktr/show.c)

$(VM_OVERLAY)/%/usr/bin/ktr-asm: tests/ktr/asm.c tests/ktr/asm_points.S tests/ktr/rings.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_ktr,$*,tests/ktr/asm.c tests/ktr/asm_points.S)

$(VM_OVERLAY)/%/usr/bin/ktr-storm: tests/ktr/storm.c tests/ktr/rings.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_ktr,$*,tests/ktr/storm.c)

# Clients of the library are built against the files installed into the overlay.
$(VM_OVERLAY)/%/usr/bin/pmcx: tests/vm/progs/pmcx.c tests/vm/progs/spin.h
	$(call say,CC,$@)
	$(Q)$(call vm_cc,$*) -I$(VM_OVERLAY)/$*/usr/local/include/pmcbpf -pthread -o $@ $< \
		-L$(VM_OVERLAY)/$*/usr/local/lib -lpmc-compat $(call vm_dev,$*) -Wl,--allow-shlib-undefined

$(VM_OVERLAY)/%/usr/bin/revoke: tests/vm/progs/revoke.c tests/vm/progs/spin.h
	$(call say,CC,$@)
	$(Q)$(call vm_cc,$*) -I$(VM_OVERLAY)/$*/usr/local/include/pmcbpf -o $@ $< \
		-L$(VM_OVERLAY)/$*/usr/local/lib -lpmc-compat $(call vm_dev,$*) -Wl,--allow-shlib-undefined

# The manual's example.
$(VM_OVERLAY)/%/usr/bin/rdpmc-example: man/pmc_get_msr.3
	$(call say,CC,$@)
	$(Q)sed -n '/^\.Bd -literal/,/^\.Ed/{/^\./d;s/\\e/\\/g;p}' $< | \
		$(call vm_cc,$*) -I$(VM_OVERLAY)/$*/usr/local/include/pmcbpf -o $@ -xc - -xnone \
		-L$(VM_OVERLAY)/$*/usr/local/lib -lpmc-compat $(call vm_dev,$*) -Wl,--allow-shlib-undefined

$(VM_OVERLAY)/%/usr/bin/pmci: tests/vm/progs/pmci.c tests/vm/progs/spin.h
	$(call say,CC,$@)
	$(Q)$(call vm_cc,$*) -I$(VM_OVERLAY)/$*/usr/local/include/pmcbpf -o $@ $< \
		-L$(VM_OVERLAY)/$*/usr/local/lib -lpmc-compat $(call vm_dev,$*) -Wl,--allow-shlib-undefined

$(VM_OVERLAY)/%/usr/bin/pmclife: tests/vm/progs/pmclife.c
	$(call say,CC,$@)
	$(Q)$(call vm_cc,$*) -I$(VM_OVERLAY)/$*/usr/local/include/pmcbpf -o $@ $< \
		-L$(VM_OVERLAY)/$*/usr/local/lib -lpmc-compat $(call vm_dev,$*) -Wl,--allow-shlib-undefined

define vm_e2e_client
$(VM_OVERLAY)/%/usr/bin/$(1): tests/e2e/$(1).c
	$$(call say,CC,$$@)
	$$(Q)$$(call vm_cc,$$*) -D_GNU_SOURCE -I$(VM_OVERLAY)/$$*/usr/local/include/pmcbpf -pthread -o $$@ $$< \
		-L$(VM_OVERLAY)/$$*/usr/local/lib -lpmc-compat $$(call vm_dev,$$*) -Wl,--allow-shlib-undefined
endef
$(foreach client,signalled newthreads groupself ktrread,$(eval $(call vm_e2e_client,$(client))))

$(VM_OVERLAY)/kmod/%/pmcbpf_msr.ko: $(KMOD_SRCS) tests/vm/headers.tsv tests/vm/kmod
	$(call say,KMOD,$*)
	$(Q)tests/vm/kmod $* $(@D) $(VM_OVERLAY)

$(VM_OVERLAY)/fakepmu/%/fakepmu.ko: $(wildcard tests/vm/fakepmu/*) tests/vm/headers.tsv tests/vm/kmod
	$(call say,KMOD,fakepmu-$*)
	$(Q)tests/vm/kmod $* $(@D) $(VM_OVERLAY) tests/vm/fakepmu fakepmu

.PHONY: vm-fetch vm-kmod vm-progs vm-clients vm-truth vm-overlay vm-smoke check-vm check-hidden
vm-fetch:  ## download the kernels of the test guests into the cache
	tests/vm/fetch kernel $(or $(VM_KERNELS),--all)
	tests/vm/fetch headers 6.1-x86 6.12-x86 6.1-arm64 6.12-arm64
	tests/vm/sysroot arm64

vm-progs: $(VM_PROGS)

vm-kmod: $(VM_KMODS)

vm-overlay: vm-progs vm-kmod  ## build and install for both architectures into the guests' overlays
	$(Q)$(MAKE) ARCH=x86_64 install vm-truth DESTDIR=$(abspath $(VM_OVERLAY))/amd64
	$(Q)$(MAKE) ARCH=arm64 install vm-truth DESTDIR=$(abspath $(VM_OVERLAY))/arm64
	$(Q)$(MAKE) vm-clients

vm-clients: $(VM_CLIENTS) $(VM_KTR)

vm-truth: $(O)/tests/truth $(O)/tests/kallsyms
	$(Q)install -D -m 755 -t $(DESTDIR)/usr/bin $^

vm-smoke: vm-progs  ## boot every test guest and check the guests themselves
	$(Q)$(VM_MATRIX) tests/vm/smoke.bats

# Sets of files and their kernels; the files of a set run one after the other.
# Long ones first.  EVERY: the programs of each kernel.  ENDS: behaviour that depends on the kernel, on four of the six:
# each release and each architecture, with 6.1-arm64, where BPF has no trampolines.  The others: one or two kernels of
# each architecture prove it for all; in these files some tests run on 6.12 only, see vm_once.
VM_EVERY := tests/vm/kernels.bats
VM_ENDS  := $(addprefix tests/vm/,soft.bats ktr.bats sampling.bats life.bats)
VM_PMU   := $(addprefix tests/vm/,hardware.bats groups.bats)
VM_ONE   := $(addprefix tests/vm/,smoke.bats ops.bats ktr_user.bats)
VM_USERS := $(addprefix tests/vm/,model.bats access.bats)
VM_MSR   := $(addprefix tests/vm/,kmod.bats registers.bats pmus.bats)
VM_NAMED := $(addprefix tests/vm/,tracepoint.bats hits.bats probe.bats breakpoint.bats thread.bats cgroup.bats offcpu.bats wakers.bats)
check-vm: vm-overlay  ## everything that needs test guests: all kernels, the arm64 PMU
	$(Q)$(VM_MATRIX) --kernel 6.1-arm64 --kernel 6.12-arm64 $(VM_EVERY) $(VM_ENDS) \
		+ --kernel 6.1-x86 --kernel new-x86 $(VM_EVERY) $(VM_ENDS) \
		+ --kernel 6.1-arm64 $(VM_USERS) tests/vm/hotplug.bats \
		+ --arch arm64 $(VM_PMU) \
		+ --kernel 6.1-x86 --kernel 6.12-arm64 $(VM_NAMED) \
		+ --kernel 6.12-arm64 $(VM_ONE) tests/vm/doctor.bats tests/vm/rows.bats tests/vm/msr.bats tests/vm/req_hardware.bats \
		+ --kernel 6.12-x86 $(VM_EVERY) $(VM_ONE) tests/vm/hotplug.bats tests/vm/unit.bats \
			tests/vm/wakers.bats \
		+ --kernel new-x86 $(VM_USERS) tests/vm/hits.bats tests/vm/wakers.bats \
		+ --kernel 6.12-x86 $(VM_MSR) tests/vm/registers_cpu.bats \
		+ --kernel 6.1-x86 --kernel 6.12-arm64 $(VM_MSR) \
		+ --kernel 6.1-x86 --kernel new-arm64 tests/vm/pctr.bats \
		+ --kernel 6.1-x86 --kernel 6.12-arm64 tests/vm/ktr_crash.bats \
		+ --kernel new-arm64 $(VM_EVERY) \
		+ --kernel 6.1-x86 --kernel 6.12-arm64 --kernel new-x86 tests/vm/python.bats \
		+ --role refused tests/vm/smoke.bats tests/vm/kernels.bats

check-hidden: all $(E2E_NEEDS)  ## in a guest, the tests that had to be skipped because the kernel hid a context switch
	$(Q)tests/vm/hidden '$(abspath $(O))' $(addprefix '$(O)'/check/,e2e.log sandbox.log)
