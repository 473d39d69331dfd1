# SPDX-License-Identifier: BSD-2-Clause
# lib/: libpmc-compat, which programs link; tools link $(LIBPMC) with $(LIBPMC_LINK) and see
# lib/include only.
LIBPMC_SRCS := lib/alias.c lib/client.c lib/event.c lib/evlist.c lib/intern.c lib/names.c lib/pfm.c \
	lib/pmc.c lib/pmu.c lib/pmufile.c lib/query.c lib/read.c lib/readtab.c lib/reason.c \
	lib/resolve.c lib/spawn.c
LIBPMC_OBJS := $(LIBPMC_SRCS:%.c=$(O)/obj/%.o)
LIBPMC_SONAME := libpmc-compat.so.0
LIBPMC      := $(O)/lib/libpmc-compat.so
LIBPMC_A    := $(O)/lib/libpmc-compat.a
LIBPMC_MAP  := lib/libpmc-compat.map
LIBPMC_LINK  = -L$(O)/lib -lpmc-compat
INC_lib     := -Ilib/include

ALL    += $(LIBPMC) $(LIBPMC_A)
LINT_C += $(LIBPMC_SRCS)

$(O)/lib/$(LIBPMC_SONAME): $(LIBPMC_OBJS) $(LIBPMC_MAP)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(LIBPMC_SONAME) -Wl,--version-script,$(LIBPMC_MAP) \
		-Wl,-z,defs,-z,relro,-z,now $(ALL_LDFLAGS) -o $@ $(LIBPMC_OBJS) -lpthread -ldl

$(LIBPMC): $(O)/lib/$(LIBPMC_SONAME)
	$(Q)ln -sf $(LIBPMC_SONAME) $@

$(LIBPMC_A): $(LIBPMC_OBJS)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(CROSS_COMPILE)ar rcs $@ $^

INSTALL += install-lib
.PHONY: install-lib
install-lib: $(LIBPMC)
	$(call say,INSTALL,$(DESTDIR)$(LIBDIR)/$(LIBPMC_SONAME))
	$(Q)install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/sys
	$(Q)install -m 755 $(O)/lib/$(LIBPMC_SONAME) $(DESTDIR)$(LIBDIR)/$(LIBPMC_SONAME)
	$(Q)ln -sf $(LIBPMC_SONAME) $(DESTDIR)$(LIBDIR)/libpmc-compat.so
	$(Q)ln -sf $(LIBPMC_SONAME) $(DESTDIR)$(LIBDIR)/libpmc.so
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' lib/libpmc-compat.pc.in >$(O)/lib/libpmc-compat.pc
	$(Q)install -m 644 $(O)/lib/libpmc-compat.pc $(DESTDIR)$(LIBDIR)/pkgconfig
	$(Q)install -m 644 lib/include/*.h $(DESTDIR)$(INCLUDEDIR)
	$(Q)install -m 644 lib/include/sys/*.h $(DESTDIR)$(INCLUDEDIR)/sys
