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

# Operations run over tests/unit/loader/fake_count.c, whose definitions come before the archive's.
LOADER_FAKE_SRCS := $(wildcard tests/unit/loader/*.c)
LINT_C           += $(LOADER_FAKE_SRCS)
LOADER_TEST      := $(LOADER_A) $(UNIT_UTIL_A) $(LIBPMC_A) $(BASE_A)
$(foreach name,$(patsubst tests/unit/%.c,%,$(wildcard tests/unit/loader_*.c)),\
	$(eval UNIT_OBJS_$(name) := $(LOADER_TEST)) $(eval UNIT_LIBS_$(name) := $(PMCBPFD_LIBS)))
$(foreach name,registers ops alloc state gates kgmon tunable msr ktr,\
	$(eval UNIT_OBJS_loader_$(name) := $(LOADER_FAKE_SRCS:%.c=$(O)/obj/%.o) $(LOADER_TEST)))
UNIT_LIBS_loader_msrdev += -Wl,--wrap=open -Wl,--wrap=ioctl
UNIT_LIBS_loader_logend += -Wl,--wrap=setsockopt -Wl,--wrap=close -Wl,--wrap=clock_gettime
UNIT_OBJS_base_helper := $(UNIT_UTIL_A) $(BASE_A)
LOADER_OPS_SRCS := loader/policy/access.c loader/server/heartbeat.c loader/process/buildid.c loader/config/config.c loader/row/cpu.c loader/daemon.c loader/base/debug.c loader/helper/errand.c loader/base/fiber.c loader/base/file.c \
	loader/op/gates.c loader/policy/identity.c loader/pmc/kgmon.c loader/log/ksyms.c loader/config/ktrconf.c loader/base/messages.c loader/op/logbook.c loader/log/logdest.c loader/log/logfile.c loader/log/kernel_names.c loader/log/logpool.c loader/log/logrec.c loader/log/logwriter.c loader/process/mappings_read.c \
	loader/row/msr.c loader/row/msrlist.c loader/op/op_alloc.c loader/op/op_admin.c loader/op/op_attach.c loader/op/op_gates.c loader/op/op_info.c loader/op/op_kgmon.c loader/op/op_ktr.c \
	loader/op/op_log.c loader/op/op_pmc.c loader/op/op_tunable.c loader/op/ops.c loader/pmc/owner.c loader/op/permit.c loader/pmc/pmc.c loader/policy/policy.c loader/policy/proc.c loader/server/raise.c \
	loader/helper/receive.c loader/op/refusal.c loader/row/row.c loader/row/soft.c loader/policy/user.c loader/server/watchdog.c loader/server/notify.c loader/base/why.c $(BASE_SRCS)
FUZZ_SRCS_wire := $(LOADER_FAKE_SRCS) $(LOADER_OPS_SRCS)
FUZZ_SRCS_msrlist := loader/row/msrlist.c loader/base/file.c loader/base/why.c
FUZZ_SRCS_config := loader/config/config.c loader/config/ktrconf.c lib/base/ktrmask.c lib/base/nearest.c loader/base/debug.c loader/base/messages.c loader/base/why.c
