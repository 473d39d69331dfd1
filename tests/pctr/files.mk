# SPDX-License-Identifier: BSD-2-Clause
# tests/pctr/: a program for pctr(4), written as on OpenBSD; it runs over the device and over libpctr.
PCTR_PROG := $(O)/tests/pctr-prog

LINT_C += tests/pctr/prog.c

pctr_prog = -D_GNU_SOURCE -Ilib/include -Ilib/include/openbsd -o $@ tests/pctr/prog.c

$(PCTR_PROG): tests/pctr/prog.c lib/include/machine/pctr.h $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -D_GNU_SOURCE -MMD -MP,$(ALL_CFLAGS)) $(pctr_prog)

check-e2e: $(PCTR_PROG)
vm-clients: $(foreach a,amd64 arm64,$(VM_OVERLAY)/$(a)/usr/bin/pctr-prog)
$(VM_OVERLAY)/%/usr/bin/pctr-prog: tests/pctr/prog.c lib/include/machine/pctr.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call vm_cc,$*) $(pctr_prog)
$(O)/lint/tests/pctr/prog: INC_tests += -Ilib/include/openbsd
