# loader/: the daemon.  Only engine.c sees libbpf and the skeleton of bpf/.
PMCBPFD      := $(O)/sbin/pmcbpfd
PMCBPFD_SRCS := $(sort $(wildcard loader/*.c))
PMCBPFD_OBJS := $(PMCBPFD_SRCS:%.c=$(O)/obj/%.o)
PMCBPFD_LIBS := -lbpf -lelf -lz
INC_loader   := -Iloader -Ilib/include -I$(O)/bpf -Ibpf

ALL    += $(if $(wildcard loader/check.c),$(PMCBPFD))
LINT_C += $(PMCBPFD_SRCS)

$(O)/obj/loader/engine.o: $(BPF_SKEL)

$(PMCBPFD): $(PMCBPFD_OBJS)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -pie -Wl,-z,relro,-z,now $(ALL_LDFLAGS) -o $@ $^ $(PMCBPFD_LIBS)

INSTALL += install-loader
.PHONY: install-loader
install-loader: $(PMCBPFD)
	$(call say,INSTALL,$(DESTDIR)$(SBINDIR)/pmcbpfd)
	$(Q)install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(PREFIX)/lib/systemd/system
	$(Q)install -m 755 $(PMCBPFD) $(DESTDIR)$(SBINDIR)/pmcbpfd
	$(Q)sed -e 's|@SBINDIR@|$(SBINDIR)|' packaging/systemd/pmcbpfd.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/pmcbpfd.service
	$(Q)install -m 644 packaging/systemd/pmcbpfd.socket \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/pmcbpfd.socket
