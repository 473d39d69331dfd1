# SPDX-License-Identifier: BSD-2-Clause
# loader/: the daemon.  Only kernel/ sees libbpf and the skeletons of bpf/.
PMCBPFD      := $(O)/sbin/pmcbpfd
PMCBPFD_SRCS := $(sort $(wildcard loader/*.c loader/*/*.c))
PMCBPFD_OBJS := $(PMCBPFD_SRCS:%.c=$(O)/obj/%.o)
LOADER_A     := $(O)/lib/loader.a
PMCBPFD_LIBS := -lbpf -lelf -lz
INC_loader   := -I. -Ilib/include -I$(O)/bpf

ALL    += $(PMCBPFD)
LINT_C += $(PMCBPFD_SRCS)

$(patsubst %.c,$(O)/obj/%.o,$(shell grep -l 'skel\.h"' loader/*.c loader/*/*.c)): $(BPF_SKEL)

$(LOADER_A): $(filter-out $(O)/obj/loader/main.o,$(PMCBPFD_OBJS))
	$(archive)

$(PMCBPFD): $(O)/obj/loader/main.o $(LOADER_A) $(BASE_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(PMCBPFD_LIBS)

INSTALL += install-loader
.PHONY: install-loader
install-loader: $(PMCBPFD)
	$(call say,INSTALL,$(DESTDIR)$(SBINDIR)/pmcbpfd)
	$(Q)install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(UNITDIR) $(DESTDIR)$(SYSCONFDIR)/pmcbpf/policy.d
	$(Q)install -m 755 $(PMCBPFD) $(DESTDIR)$(SBINDIR)/pmcbpfd
	@# The administrator's own files stay.
	$(Q)for file in msr.list pmcbpf.conf; do \
		[ -e $(DESTDIR)$(SYSCONFDIR)/pmcbpf/$$file ] || \
		install -m 644 packaging/$$file $(DESTDIR)$(SYSCONFDIR)/pmcbpf/$$file || exit; done
	$(Q)sed -e 's|@SBINDIR@|$(SBINDIR)|g' packaging/systemd/pmcbpfd.service \
		>$(DESTDIR)$(UNITDIR)/pmcbpfd.service
	$(Q)install -m 644 packaging/systemd/pmcbpfd.socket \
		$(DESTDIR)$(UNITDIR)/pmcbpfd.socket

# Operations run over tests/unit/loader/fake_count.c, whose definitions come before the archive's.
LOADER_FAKE_SRCS := $(wildcard tests/unit/loader/*.c)
LINT_C           += $(LOADER_FAKE_SRCS)
LOADER_TEST      := $(LOADER_A) $(UNIT_UTIL_A) $(LIBPMC_A) $(BASE_A)
$(foreach name,$(patsubst tests/unit/%.c,%,$(wildcard tests/unit/loader_*.c)),\
	$(eval UNIT_OBJS_$(name) := $(LOADER_TEST)) $(eval UNIT_LIBS_$(name) := $(PMCBPFD_LIBS)))
$(foreach name,registers ops alloc state gates msr,\
	$(eval UNIT_OBJS_loader_$(name) := $(LOADER_FAKE_SRCS:%.c=$(O)/obj/%.o) $(LOADER_TEST)))
UNIT_LIBS_loader_sample_python += -Wl,--wrap=logfile_put -Wl,--wrap=logfile_has -Wl,--wrap=logfile_names
UNIT_LIBS_loader_lognames += -Wl,--wrap=kernel_symbols_find
UNIT_LIBS_loader_msrdev += -Wl,--wrap=open -Wl,--wrap=ioctl
UNIT_LIBS_loader_logend += -Wl,--wrap=setsockopt -Wl,--wrap=close -Wl,--wrap=clock_gettime
UNIT_LIBS_loader_process += -Wl,--wrap=perf_open_life -Wl,--wrap=epoll_ctl -Wl,--wrap=notes_execs_fd -Wl,--wrap=notes_execs
UNIT_LIBS_loader_breakpoints += -Wl,--wrap=perf_open_task -Wl,--wrap=perf_enable -Wl,--wrap=perf_read -Wl,--wrap=close
UNIT_LIBS_loader_unwind += -ldw -lelf
UNIT_OBJS_base_helper := $(UNIT_UTIL_A) $(BASE_A)
UNIT_OBJS_base_journal := $(O)/obj/loader/base/messages.o $(BASE_A)
LOADER_OPS_SRCS := loader/policy/access.c loader/daemon/heartbeat.c loader/process/buildid.c loader/config/config.c loader/machine/cpu.c loader/daemon/daemon.c loader/base/debug.c loader/errand/errand.c loader/base/fiber.c loader/base/file.c \
	loader/op/doctor.c loader/policy/identity.c loader/pmc/kgmon.c loader/log/ksyms.c loader/config/ktrconf.c loader/base/messages.c loader/op/logbook.c loader/log/logdest.c loader/log/logfile.c loader/log/kernel_names.c loader/log/logpool.c loader/log/logrec.c loader/log/loglate.c loader/log/logwriter.c loader/process/mappings_read.c \
	loader/machine/msr.c loader/config/msrlist.c loader/op/alloc.c loader/op/admin.c loader/op/group.c loader/op/overflow.c loader/op/attach.c loader/op/gates.c loader/op/info.c loader/op/kgmon.c loader/op/ktr.c loader/op/policy.c \
	loader/op/log.c loader/op/start.c loader/op/tunable.c loader/op/op.c loader/pmc/owner.c loader/op/permit.c loader/op/release.c loader/op/reply.c loader/op/sampling.c loader/op/request.c loader/op/rw.c loader/pmc/pmc.c loader/policy/cred.c loader/policy/grant.c loader/policy/setting.c loader/policy/site.c loader/policy/site_name.c loader/policy/rules.c loader/daemon/raise.c loader/daemon/rules_read.c \
	loader/server/receive.c loader/op/refusal.c loader/pmc/detachment.c loader/pmc/pmc_release.c loader/row/class.c loader/row/class_hardware.c loader/row/class_msr.c loader/row/class_perf.c loader/row/class_soft.c loader/row/class_tracepoint.c loader/row/class_probe.c loader/row/class_breakpoint.c loader/kernel/tracefs_name.c loader/row/class_tsc.c loader/row/row.c loader/row/soft.c loader/policy/user.c loader/daemon/watchdog.c loader/daemon/notify.c loader/base/text.c loader/base/worker.c $(BASE_SRCS)
FUZZ_SRCS_wire := $(LOADER_FAKE_SRCS) $(LOADER_OPS_SRCS)
FUZZ_SRCS_unwind := $(filter-out loader/unwind/unwind_%,$(wildcard loader/unwind/*.c)) lib/base/reason.c
FUZZ_SRCS_msrlist := loader/config/msrlist.c loader/base/file.c lib/base/reason.c
FUZZ_SRCS_config := loader/config/config.c loader/config/ktrconf.c lib/base/journal.c lib/base/ktrmask.c lib/base/nearest.c loader/base/debug.c loader/base/messages.c loader/base/text.c lib/base/reason.c
FUZZ_SRCS_site := loader/policy/site.c loader/policy/setting.c loader/base/fiber.c $(FUZZ_SRCS_config)
