# SPDX-License-Identifier: BSD-2-Clause
# lib/: libpmc-compat, libktr and libpctr, which programs link; tools link $(LIBPMC) with $(LIBPMC_LINK) and see
# lib/include only.
LIBPMC_SRCS := lib/alias.c lib/call.c lib/client.c lib/event.c lib/evlist.c lib/gates.c lib/intern.c lib/kgmon.c lib/ktrkern.c lib/log.c lib/names.c lib/nearest.c lib/ownfd.c lib/pfm.c \
	lib/pmc.c lib/pmclog.c lib/pmclogera.c lib/pmclogjson.c lib/pmu.c lib/pmufile.c lib/pmuindex.c lib/proof.c lib/query.c lib/read.c lib/readshare.c lib/readtab.c lib/reason.c \
	lib/resolve.c lib/spawn.c lib/suggest.c lib/sysctl.c lib/trap.c lib/tunable.c lib/utf8.c
LIBPMC_OBJS := $(LIBPMC_SRCS:%.c=$(O)/obj/%.o)
LIBPMC_SONAME := libpmc-compat.so.0
LIBPMC      := $(O)/lib/libpmc-compat.so
LIBPMC_A    := $(O)/lib/libpmc-compat.a
LIBPMC_MAP  := lib/libpmc-compat.map
LIBPMC_LINK  = -L$(O)/lib -lpmc-compat
INC_lib     := -Ilib/include

ALL    += $(LIBPMC) $(LIBPMC_A)
LINT_C += $(LIBPMC_SRCS) lib/confine.c lib/ktrmask.c lib/lockfile.c

# It stays once it is loaded: it has a signal handler.
$(O)/lib/$(LIBPMC_SONAME): $(LIBPMC_OBJS) $(LIBPMC_MAP)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(LIBPMC_SONAME) -Wl,--version-script,$(LIBPMC_MAP) \
		-Wl,-z,defs,-z,nodelete $(ALL_LDFLAGS) -o $@ $(LIBPMC_OBJS) -lpthread -ldl

$(LIBPMC): $(O)/lib/$(LIBPMC_SONAME)
	$(Q)ln -sf $(LIBPMC_SONAME) $@

$(LIBPMC_A): $(LIBPMC_OBJS)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(CROSS_COMPILE)ar rcs $@ $^

# Helper processes of a daemon.
BASE_SRCS := lib/base/helper.c lib/base/helper_process.c lib/base/message.c
BASE_OBJS := $(BASE_SRCS:%.c=$(O)/obj/%.o)
LINT_C += $(BASE_SRCS)

# libktr, which traced programs link: small, and of what is fast only.
LIBKTR_SRCS := lib/ktr.c lib/ktrclock.c lib/ktrmask.c lib/ktrregion.c lib/ktrsay.c lib/ktrstop.c lib/ktrwish.c \
	lib/ktrwrite.c
LIBKTR_ASM  := $(wildcard lib/ktr_$(ARCH).S)
LIBKTR_OBJS := $(LIBKTR_SRCS:%.c=$(O)/obj/%.o) $(LIBKTR_ASM:%.S=$(O)/obj/%.o)
LIBKTR_SONAME := libktr.so.0
LIBKTR      := $(O)/lib/libktr.so
LIBKTR_A    := $(O)/lib/libktr.a
LIBKTR_MAP  := lib/libktr.map

ALL    += $(LIBKTR) $(LIBKTR_A)
LINT_C += $(LIBKTR_SRCS)

$(O)/obj/%.o: %.S $(O)/flags
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fsanitize%,$(CFLAGS)) $(TARGET_INC) -MMD -MP $(INC_$(firstword $(subst /, ,$*))) -c -o $@ $<

# It stays once it is loaded: threads and signal handlers may be in it.
$(O)/lib/$(LIBKTR_SONAME): $(LIBKTR_OBJS) $(LIBKTR_MAP)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(LIBKTR_SONAME) -Wl,--version-script,$(LIBKTR_MAP) \
		-Wl,-z,defs,-z,nodelete $(ALL_LDFLAGS) -o $@ $(LIBKTR_OBJS)

$(LIBKTR): $(O)/lib/$(LIBKTR_SONAME)
	$(Q)ln -sf $(LIBKTR_SONAME) $@

$(LIBKTR_A): $(LIBKTR_OBJS)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(CROSS_COMPILE)ar rcs $@ $^

# libpctr, which programs for pctr(4) link or have preloaded: it needs the C library only.
LIBPCTR_SRCS := lib/openbsd.c lib/pctr.c
LIBPCTR_OBJS := $(LIBPCTR_SRCS:%.c=$(O)/obj/%.o)
LIBPCTR_SONAME := libpctr.so.0
LIBPCTR      := $(O)/lib/libpctr.so
LIBPCTR_MAP  := lib/libpctr.map

ALL    += $(LIBPCTR)
LINT_C += $(LIBPCTR_SRCS)

$(O)/lib/$(LIBPCTR_SONAME): $(LIBPCTR_OBJS) $(LIBPCTR_MAP)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(LIBPCTR_SONAME) -Wl,--version-script,$(LIBPCTR_MAP) \
		-Wl,-z,defs $(ALL_LDFLAGS) -o $@ $(LIBPCTR_OBJS)

$(LIBPCTR): $(O)/lib/$(LIBPCTR_SONAME)
	$(Q)ln -sf $(LIBPCTR_SONAME) $@

INSTALL += install-lib
.PHONY: install-lib
install-lib: $(LIBPMC) $(LIBKTR) $(LIBKTR_A) $(LIBPCTR)
	$(call say,INSTALL,$(DESTDIR)$(LIBDIR)/$(LIBPMC_SONAME))
	$(Q)install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/sys
	$(Q)install -m 755 $(O)/lib/$(LIBPMC_SONAME) $(DESTDIR)$(LIBDIR)/$(LIBPMC_SONAME)
	$(Q)ln -sf $(LIBPMC_SONAME) $(DESTDIR)$(LIBDIR)/libpmc-compat.so
	$(Q)ln -sf $(LIBPMC_SONAME) $(DESTDIR)$(LIBDIR)/libpmc.so
	$(call say,INSTALL,$(DESTDIR)$(LIBDIR)/$(LIBKTR_SONAME))
	$(Q)install -m 755 $(O)/lib/$(LIBKTR_SONAME) $(DESTDIR)$(LIBDIR)/$(LIBKTR_SONAME)
	$(Q)ln -sf $(LIBKTR_SONAME) $(DESTDIR)$(LIBDIR)/libktr.so
	$(Q)install -m 644 $(LIBKTR_A) $(DESTDIR)$(LIBDIR)
	$(Q)install -m 755 $(O)/lib/$(LIBPCTR_SONAME) $(DESTDIR)$(LIBDIR)/$(LIBPCTR_SONAME)
	$(Q)ln -sf $(LIBPCTR_SONAME) $(DESTDIR)$(LIBDIR)/libpctr.so
	$(Q)for pc in libpmc-compat libktr libpctr; do \
		sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' \
			-e 's|@VERSION@|$(VERSION)|' lib/$$pc.pc.in >$(O)/lib/$$pc.pc || exit; \
		install -m 644 $(O)/lib/$$pc.pc $(DESTDIR)$(LIBDIR)/pkgconfig || exit; \
	done
	$(Q)ln -sf libpctr.pc $(DESTDIR)$(LIBDIR)/pkgconfig/pctr.pc
	$(Q)install -m 644 lib/include/*.h $(DESTDIR)$(INCLUDEDIR)
	$(Q)install -m 644 lib/include/sys/*.h $(DESTDIR)$(INCLUDEDIR)/sys
	$(Q)for dir in machine openbsd openbsd/machine openbsd/sys; do \
		install -d $(DESTDIR)$(INCLUDEDIR)/$$dir && \
		install -m 644 lib/include/$$dir/*.h $(DESTDIR)$(INCLUDEDIR)/$$dir || exit; \
	done
UNIT_OBJS_base_helper := $(BASE_OBJS) $(O)/obj/tests/unit/util/open_files.o
