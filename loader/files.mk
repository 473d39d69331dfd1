# SPDX-License-Identifier: BSD-2-Clause
# loader/: the daemon.  Only engine.c and its parts, and ktrload.c, see libbpf and the
# skeletons of bpf/.
PMCBPFD      := $(O)/sbin/pmcbpfd
PMCBPFD_SRCS := $(sort $(wildcard loader/*.c))
PMCBPFD_OBJS := $(PMCBPFD_SRCS:%.c=$(O)/obj/%.o) $(O)/obj/lib/ktrmask.o $(O)/obj/lib/nearest.o $(O)/obj/lib/confine.o $(O)/obj/lib/lockfile.o $(BASE_OBJS)
PMCBPFD_LIBS := -lbpf -lelf -lz
INC_loader   := -Iloader -Ilib/include -I$(O)/bpf -Ibpf

ALL    += $(PMCBPFD)
LINT_C += $(PMCBPFD_SRCS)

$(O)/obj/loader/engine.o $(O)/obj/loader/flush.o $(O)/obj/loader/programs.o $(O)/obj/loader/sampler.o $(O)/obj/loader/ktrload.o \
  $(O)/obj/loader/shares.o $(O)/obj/loader/switches.o: $(BPF_SKEL)

$(PMCBPFD): $(PMCBPFD_OBJS)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(PMCBPFD_LIBS)

INSTALL += install-loader
.PHONY: install-loader
install-loader: $(PMCBPFD)
	$(call say,INSTALL,$(DESTDIR)$(SBINDIR)/pmcbpfd)
	$(Q)install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(PREFIX)/lib/systemd/system \
		$(DESTDIR)$(SYSCONFDIR)/pmcbpf
	$(Q)install -m 755 $(PMCBPFD) $(DESTDIR)$(SBINDIR)/pmcbpfd
	@# The administrator's own list stays.
	$(Q)[ -e $(DESTDIR)$(SYSCONFDIR)/pmcbpf/msr.list ] || \
		install -m 644 packaging/msr.list $(DESTDIR)$(SYSCONFDIR)/pmcbpf/msr.list
	$(Q)sed -e 's|@SBINDIR@|$(SBINDIR)|' packaging/systemd/pmcbpfd.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/pmcbpfd.service
	$(Q)install -m 644 packaging/systemd/pmcbpfd.socket \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/pmcbpfd.socket

# Unit tests link what they test; the operations run over tests/unit/loader/fake_count.c.
LOADER_FAKE_SRCS := $(wildcard tests/unit/loader/*.c)
LOADER_OPS_SRCS := loader/access.c loader/alive.c loader/buildid.c loader/config.c loader/cpu.c loader/daemon.c loader/debug.c loader/errand.c loader/fiber.c loader/file.c \
	loader/gates.c loader/identity.c loader/kgmon.c loader/ksyms.c loader/ktrconf.c loader/log.c loader/logbook.c loader/logdest.c loader/logfile.c loader/lognames.c loader/logpool.c loader/logrec.c loader/logwriter.c loader/mappings_read.c \
	loader/msr.c loader/msrlist.c loader/op_alloc.c loader/op_admin.c loader/op_attach.c loader/op_gates.c loader/op_info.c loader/op_kgmon.c loader/op_ktr.c \
	loader/op_log.c loader/op_pmc.c loader/op_tunable.c loader/ops.c loader/owner.c loader/permit.c loader/pmc.c loader/policy.c loader/proc.c loader/raise.c \
	loader/receive.c loader/refusal.c loader/row.c loader/soft.c loader/user.c loader/watchdog.c loader/notify.c loader/why.c lib/ktrmask.c lib/nearest.c $(BASE_SRCS)
LOADER_FAKE  := $(LOADER_FAKE_SRCS:%.c=$(O)/obj/%.o) $(LOADER_OPS_SRCS:%.c=$(O)/obj/%.o)
LINT_C       += $(LOADER_FAKE_SRCS)
UNIT_OBJS_loader_msrlist := $(addprefix $(O)/obj/loader/,msrlist.o file.o why.o)
UNIT_OBJS_loader_msrdev := $(addprefix $(O)/obj/loader/,msrdev.o file.o why.o)
UNIT_LIBS_loader_msrdev := -Wl,--wrap=open -Wl,--wrap=ioctl
UNIT_OBJS_loader_registers := $(LOADER_FAKE)
UNIT_OBJS_loader_row := $(O)/obj/loader/row.o $(O)/obj/loader/why.o
UNIT_OBJS_loader_config := $(addprefix $(O)/obj/loader/,config.o ktrconf.o debug.o log.o why.o) $(O)/obj/lib/ktrmask.o $(O)/obj/lib/nearest.o
UNIT_OBJS_loader_user := $(addprefix $(O)/obj/loader/,user.o policy.o proc.o file.o config.o ktrconf.o debug.o log.o why.o) $(O)/obj/lib/ktrmask.o $(O)/obj/lib/nearest.o
UNIT_OBJS_loader_policy := $(addprefix $(O)/obj/loader/,policy.o proc.o file.o config.o ktrconf.o debug.o log.o why.o) $(O)/obj/lib/ktrmask.o $(O)/obj/lib/nearest.o
UNIT_OBJS_loader_access := $(addprefix $(O)/obj/loader/,access.o policy.o proc.o file.o config.o ktrconf.o debug.o log.o why.o) $(O)/obj/lib/ktrmask.o $(O)/obj/lib/nearest.o
UNIT_OBJS_loader_why := $(O)/obj/loader/why.o
UNIT_OBJS_loader_execs := $(O)/obj/loader/execs.o
UNIT_OBJS_loader_follows := $(O)/obj/loader/follows.o
UNIT_OBJS_loader_threads := $(addprefix $(O)/obj/loader/,threads.o file.o)
UNIT_OBJS_loader_raise := $(addprefix $(O)/obj/loader/,raise.o file.o)
UNIT_OBJS_loader_alive := $(addprefix $(O)/obj/loader/,alive.o why.o)
UNIT_OBJS_loader_logfile := $(UNIT_OBJS_loader_user) $(addprefix $(O)/obj/loader/,identity.o logdest.o logfile.o ksyms.o lognames.o logpool.o logrec.o \
	logwriter.o) $(LIBPMC_A)
UNIT_OBJS_loader_logend := $(UNIT_OBJS_loader_logfile)
UNIT_LIBS_loader_logend := -Wl,--wrap=setsockopt -Wl,--wrap=close -Wl,--wrap=clock_gettime
UNIT_OBJS_loader_logdest := $(addprefix $(O)/obj/loader/,logdest.o why.o)
UNIT_OBJS_loader_identity := $(addprefix $(O)/obj/loader/,identity.o file.o)
UNIT_OBJS_loader_logrec := $(O)/obj/loader/logrec.o $(LIBPMC_A)
UNIT_OBJS_loader_ksyms := $(O)/obj/loader/ksyms.o
UNIT_OBJS_loader_lognames := $(UNIT_OBJS_loader_logfile) $(O)/obj/tests/unit/util/scratch.o
UNIT_OBJS_loader_buildid := $(addprefix $(O)/obj/loader/,buildid.o file.o)
UNIT_OBJS_loader_target := $(addprefix $(O)/obj/loader/,account.o set.o target.o) $(UNIT_OBJS_loader_user)
UNIT_OBJS_loader_sources := $(addprefix $(O)/obj/loader/,sources.o why.o)
UNIT_LIBS_loader_sources := -lbpf
UNIT_OBJS_loader_errand := $(addprefix $(O)/obj/loader/,errand.o fiber.o) $(BASE_OBJS) $(UNIT_OBJS_loader_user)
UNIT_OBJS_loader_fiber := $(O)/obj/loader/fiber.o
UNIT_OBJS_loader_receive := $(O)/obj/tests/unit/util/open_files.o $(O)/obj/loader/receive.o $(BASE_OBJS) $(UNIT_OBJS_loader_logfile)
UNIT_OBJS_loader_work := $(addprefix $(O)/obj/loader/,work.o fiber.o receive.o why.o) $(BASE_OBJS)
UNIT_OBJS_loader_ops := $(LOADER_FAKE)
UNIT_OBJS_loader_alloc := $(LOADER_FAKE)
UNIT_OBJS_loader_state := $(LOADER_FAKE)
UNIT_OBJS_loader_gates := $(LOADER_FAKE)
UNIT_OBJS_loader_kgmon := $(LOADER_FAKE)
UNIT_OBJS_loader_profclock := $(addprefix $(O)/obj/loader/,profclock.o why.o)
UNIT_OBJS_loader_tunable := $(LOADER_FAKE)
UNIT_OBJS_loader_msr := $(LOADER_FAKE)
UNIT_OBJS_loader_ktr := $(LOADER_FAKE)
UNIT_OBJS_loader_ktrconf := $(UNIT_OBJS_loader_config)
UNIT_OBJS_loader_ktrregion := $(addprefix $(O)/obj/loader/,ktrregion.o why.o)
UNIT_OBJS_loader_debug := $(addprefix $(O)/obj/loader/,debug.o log.o why.o)
UNIT_OBJS_loader_caps := $(addprefix $(O)/obj/loader/,caps.o why.o) $(O)/obj/lib/confine.o
FUZZ_SRCS_wire := $(LOADER_FAKE_SRCS) $(LOADER_OPS_SRCS)
FUZZ_SRCS_msrlist := loader/msrlist.c loader/file.c loader/why.c
FUZZ_SRCS_config := loader/config.c loader/ktrconf.c lib/ktrmask.c lib/nearest.c loader/debug.c loader/log.c loader/why.c
