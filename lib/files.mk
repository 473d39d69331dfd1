# SPDX-License-Identifier: BSD-2-Clause
# lib/: libpmc-compat, libktr and libpctr, which programs link; tools link $(LIBPMC) with $(LIBPMC_LINK) and see
# lib/include only.
LIBPMC_SRCS := $(wildcard lib/pmc/*.c lib/event/*.c lib/pmclog/*.c lib/read/*.c) $(patsubst %,lib/base/%.c,buf chain_end generic json logfield logfmt logvalues nearest reason sigdefer thread utf8)
LIBPMC_OBJS := $(LIBPMC_SRCS:%.c=$(O)/obj/%.o)
LIBPMC_SONAME := libpmc-compat.so.0
LIBPMC      := $(O)/lib/libpmc-compat.so
LIBPMC_A    := $(O)/lib/libpmc-compat.a
LIBPMC_MAP  := lib/pmc/libpmc-compat.map
LIBPMC_LINK  = -L$(O)/lib -lpmc-compat
INC_lib     := -I. -Ilib/include

ALL    += $(LIBPMC) $(LIBPMC_A)
LINT_C += $(filter-out lib/base/%,$(LIBPMC_SRCS))

# It stays once it is loaded: it has a signal handler.
$(O)/lib/$(LIBPMC_SONAME): $(LIBPMC_OBJS) $(LIBPMC_MAP)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,$(LIBPMC_SONAME) -Wl,--version-script,$(LIBPMC_MAP) \
		-Wl,-z,defs,-z,nodelete $(ALL_LDFLAGS) -o $@ $(LIBPMC_OBJS) -lpthread -ldl

$(LIBPMC): $(O)/lib/$(LIBPMC_SONAME)
	$(Q)ln -sf $(LIBPMC_SONAME) $@

$(LIBPMC_A): $(LIBPMC_OBJS)
	$(archive)

# Code that the libraries, the daemons and the tools share.
BASE_SRCS := $(wildcard lib/base/*.c)
BASE_A    := $(O)/lib/base.a
LINT_C    += $(BASE_SRCS)
UNIT_OBJS_base_text := $(BASE_A)
$(BASE_A): $(BASE_SRCS:%.c=$(O)/obj/%.o)
	$(archive)

# libktr, which traced programs link: small and fast.
LIBKTR_SRCS := $(wildcard lib/ktr/*.c) lib/base/ktrmask.c
LIBKTR_ASM  := $(wildcard lib/ktr/ktr_$(ARCH).S)
LIBKTR_OBJS := $(LIBKTR_SRCS:%.c=$(O)/obj/%.o) $(LIBKTR_ASM:%.S=$(O)/obj/%.o)
LIBKTR_SONAME := libktr.so.0
LIBKTR      := $(O)/lib/libktr.so
LIBKTR_A    := $(O)/lib/libktr.a
LIBKTR_MAP  := lib/ktr/libktr.map

ALL    += $(LIBKTR) $(LIBKTR_A)
LINT_C += $(filter-out lib/base/%,$(LIBKTR_SRCS))

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
	$(archive)

# libpctr, which programs for pctr(4) link or have preloaded: it needs the C library only.
LIBPCTR_SRCS := $(wildcard lib/pctr/*.c)
LIBPCTR_OBJS := $(LIBPCTR_SRCS:%.c=$(O)/obj/%.o)
LIBPCTR_SONAME := libpctr.so.0
LIBPCTR      := $(O)/lib/libpctr.so
LIBPCTR_MAP  := lib/pctr/libpctr.map

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
	$(Q)for pc in pmc/libpmc-compat ktr/libktr pctr/libpctr; do \
		sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' \
			-e 's|@VERSION@|$(VERSION)|' lib/$$pc.pc.in >$(O)/lib/$${pc#*/}.pc || exit; \
		install -m 644 $(O)/lib/$${pc#*/}.pc $(DESTDIR)$(LIBDIR)/pkgconfig || exit; \
	done
	$(Q)ln -sf libpctr.pc $(DESTDIR)$(LIBDIR)/pkgconfig/pctr.pc
	$(Q)install -m 644 lib/include/*.h $(DESTDIR)$(INCLUDEDIR)
	$(Q)install -m 644 lib/include/sys/*.h $(DESTDIR)$(INCLUDEDIR)/sys
	$(Q)for dir in machine openbsd openbsd/machine openbsd/sys; do \
		install -d $(DESTDIR)$(INCLUDEDIR)/$$dir && \
		install -m 644 lib/include/$$dir/*.h $(DESTDIR)$(INCLUDEDIR)/$$dir || exit; \
	done
