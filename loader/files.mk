# SPDX-License-Identifier: BSD-2-Clause
# loader/: the daemon.  Only engine.c sees libbpf and the skeleton of bpf/.
PMCBPFD      := $(O)/sbin/pmcbpfd
PMCBPFD_SRCS := $(sort $(wildcard loader/*.c))
PMCBPFD_OBJS := $(PMCBPFD_SRCS:%.c=$(O)/obj/%.o)
PMCBPFD_LIBS := -lbpf -lelf -lz
INC_loader   := -Iloader -Ilib/include -I$(O)/bpf -Ibpf

ALL    += $(PMCBPFD)
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

# Unit tests link what they test; the operations run over tests/unit/loader/fake_count.c.
LOADER_FAKE_SRCS := $(wildcard tests/unit/loader/*.c)
LOADER_OPS_SRCS := loader/alive.c loader/config.c loader/cpu.c loader/daemon.c loader/op_alloc.c \
	loader/op_admin.c loader/op_attach.c loader/op_info.c loader/op_pmc.c loader/ops.c loader/owner.c loader/pmc.c \
	loader/policy.c loader/proc.c loader/row.c loader/soft.c loader/why.c
LOADER_FAKE  := $(LOADER_FAKE_SRCS:%.c=$(O)/obj/%.o) $(LOADER_OPS_SRCS:%.c=$(O)/obj/%.o)
LINT_C       += $(LOADER_FAKE_SRCS)
UNIT_OBJS_loader_row := $(O)/obj/loader/row.o $(O)/obj/loader/why.o
UNIT_OBJS_loader_config := $(O)/obj/loader/config.o $(O)/obj/loader/why.o
UNIT_OBJS_loader_policy := $(addprefix $(O)/obj/loader/,policy.o proc.o config.o why.o)
UNIT_OBJS_loader_alive := $(addprefix $(O)/obj/loader/,alive.o why.o)
UNIT_OBJS_loader_ops := $(LOADER_FAKE)
UNIT_OBJS_loader_alloc := $(LOADER_FAKE)
UNIT_OBJS_loader_state := $(LOADER_FAKE)
FUZZ_SRCS_wire := $(LOADER_FAKE_SRCS) $(LOADER_OPS_SRCS)
FUZZ_SRCS_config := loader/config.c loader/why.c
