# SPDX-License-Identifier: BSD-2-Clause
# pctr/: pctrd, the daemon behind /dev/pctr.  It is a client of pmcbpfd's, and sees installed headers only.
PCTRD       := $(O)/sbin/pctrd
PCTRD_SRCS  := $(sort $(wildcard pctr/*.c))
INC_pctr    := -I. -Ilib/include

ALL    += $(PCTRD)
LINT_C += $(PCTRD_SRCS)

$(PCTRD): $(PCTRD_SRCS:%.c=$(O)/obj/%.o) $(BASE_A) $(LIBPMC)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) $(CLI_LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LIBPMC_LINK) -ldl

INSTALL += install-pctr
.PHONY: install-pctr
install-pctr: $(PCTRD)
	$(call say,INSTALL,$(DESTDIR)$(SBINDIR)/pctrd)
	$(Q)install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(UNITDIR) $(DESTDIR)$(UDEVDIR)/rules.d
	$(Q)install -m 755 $(PCTRD) $(DESTDIR)$(SBINDIR)/pctrd
	$(Q)sed -e 's|@SBINDIR@|$(SBINDIR)|g' packaging/systemd/pctrd.service \
		>$(DESTDIR)$(UNITDIR)/pctrd.service
	$(Q)install -m 644 packaging/udev/60-pctr.rules $(DESTDIR)$(UDEVDIR)/rules.d

check-unit: $(PCTRD)
# The device over counters of the tests' own.
UNIT_OBJS_pctr_core := $(patsubst %,$(O)/obj/pctr/%.o,core function messages request) $(BASE_A)
UNIT_OBJS_pctr_words := $(patsubst %,$(O)/obj/pctr/%.o,function messages options request) $(BASE_A)
UNIT_OBJS_pctr_doors := $(patsubst %,$(O)/obj/pctr/%.o,core cuse function messages machine request) $(BASE_A)
UNIT_OBJS_pctr_sock := $(patsubst %,$(O)/obj/pctr/%.o,core function messages receive request sock watch) $(UNIT_UTIL_A) $(BASE_A)
