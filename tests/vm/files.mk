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
	$(addprefix $(VM_OVERLAY)/$(a)/usr/bin/,pmu_probe pmcbpf-libs load hog))
VM_CLIENTS := $(foreach a,amd64 arm64,$(VM_OVERLAY)/$(a)/usr/bin/pmcx)

CHECKS  += check-vm
LINT_C  += tests/vm/agent.c tests/vm/pmu_probe.c tests/vm/libs.c $(addprefix tests/vm/progs/,load.c hog.c)
LINT_SH += $(addprefix tests/vm/,fetch sysroot mkrootfs matrix init helpers.bash)

# vm_cc ARCH - compiler and flags for programs of that guest architecture
vm_native  := $(shell dpkg --print-architecture)
vm_triplet_amd64 := x86_64-linux-gnu
vm_triplet_arm64 := aarch64-linux-gnu
vm_sysroot = $(shell tests/vm/sysroot $(1))
vm_cc = $(if $(filter $(1),$(vm_native)),gcc $(VM_CFLAGS),$(vm_triplet_$(1))-gcc $(VM_CFLAGS))
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
	$(Q)$(call vm_cc,$*) -o $@ $< $(call vm_dev,$*) -lbpf -lelf -lz -lpfm -linih

$(VM_OVERLAY)/%/usr/bin/load $(VM_OVERLAY)/%/usr/bin/hog: tests/vm/progs/load.c tests/vm/progs/hog.c \
		tests/vm/progs/spin.h
	$(call say,CC,$(VM_OVERLAY)/$*/usr/bin/load and hog)
	@mkdir -p $(VM_OVERLAY)/$*/usr/bin
	$(Q)for p in load hog; do \
		$(call vm_cc,$*) -static -pthread -o $(VM_OVERLAY)/$*/usr/bin/$$p tests/vm/progs/$$p.c || exit; \
	done

# Clients of the library are built against what was installed into the overlay.
$(VM_OVERLAY)/%/usr/bin/pmcx: tests/vm/progs/pmcx.c tests/vm/progs/spin.h
	$(call say,CC,$@)
	$(Q)$(call vm_cc,$*) -I$(VM_OVERLAY)/$*/usr/local/include/pmcbpf -pthread -o $@ $< \
		-L$(VM_OVERLAY)/$*/usr/local/lib -lpmc-compat $(call vm_dev,$*) -Wl,--allow-shlib-undefined

.PHONY: vm-fetch vm-progs vm-clients vm-overlay vm-smoke check-vm
vm-fetch:  ## download the kernels of the test guests into the cache
	tests/vm/fetch kernel $(or $(VM_KERNELS),--all)
	tests/vm/sysroot arm64

vm-progs: $(VM_PROGS)

vm-overlay: vm-progs  ## build and install for both architectures into the guests' overlays
	$(Q)$(MAKE) ARCH=x86_64 install DESTDIR=$(abspath $(VM_OVERLAY))/amd64
	$(Q)$(MAKE) ARCH=arm64 install DESTDIR=$(abspath $(VM_OVERLAY))/arm64
	$(Q)$(MAKE) vm-clients

vm-clients: $(VM_CLIENTS)

vm-smoke: vm-progs  ## boot every test guest and check the guests themselves
	$(Q)$(VM_MATRIX) tests/vm/smoke.bats

check-vm: vm-overlay  ## everything that needs test guests: all kernels, the arm64 PMU
	$(Q)failed=0; \
	$(VM_MATRIX) tests/vm/smoke.bats tests/vm/kernels.bats || failed=1; \
	$(VM_MATRIX) --role supported tests/vm/soft.bats tests/vm/tools.bats || failed=1; \
	$(VM_MATRIX) --arch arm64 tests/vm/hardware.bats || failed=1; \
	exit $$failed
