# SPDX-License-Identifier: BSD-2-Clause
# cli/: the tools.  They see installed headers only and find libpmc-compat beside themselves, in the
# build tree as well as below any PREFIX with bin/ and lib/.
INC_cli := -Ilib/include -Icli

CLI_SHARED   := cli/buf.c cli/cpulist.c cli/json.c cli/msg.c cli/opt.c lib/nearest.c lib/utf8.c
# From a log to names and sums (profile/), and what can be made of them (report/).
PROFILE_SRCS := $(wildcard cli/profile/*.c cli/report/*.c)
PROFILE_LIBS := -ldw -lelf -lz -liberty
# Names alone.
SYMBOL_OBJS  := $(patsubst %,$(O)/obj/cli/profile/%.o,symbol object files debug_file elf_names kernel jit dwarf \
	dies lines demangle span store) $(O)/obj/cli/buf.o
PMCSTAT_SRCS := $(PROFILE_SRCS) $(wildcard cli/top/*.c) cli/analysis.c cli/analysis_args.c cli/events.c cli/guard.c cli/stat_report.c \
	cli/logopen.c cli/logread.c cli/logtext.c cli/output.c cli/pager.c cli/progress.c cli/pmcstat.c cli/stat_args.c cli/stat_check.c cli/stat_child.c \
	cli/stat_log.c cli/stat_out.c cli/stat_pmc.c cli/stat_record.c cli/stat_run.c cli/stat_table.c cli/stat_target.c \
	$(CLI_SHARED)
PMCCONTROL_SRCS := cli/pmccontrol.c cli/ctl_admin.c cli/ctl_doctor.c cli/ctl_gates.c \
	cli/ctl_show.c cli/ctl_tunable.c $(CLI_SHARED)
KTRCTL_SRCS  := cli/guard.c cli/ktrctl.c cli/ktrctl_alq.c cli/ktrctl_kern.c cli/ktrctl_list.c cli/ktrctl_proc.c \
	cli/ktrctl_sysctl.c cli/ktrctl_test.c cli/alq.c cli/ktrproc.c cli/maps.c cli/output.c cli/region.c \
	cli/running.c lib/ktrmask.c $(CLI_SHARED)
# `pmc stat` measures as pmcstat does.
PMC_SRCS     := $(wildcard cli/pmc.c cli/pmc_*.c) \
	$(filter-out cli/pmcstat.c cli/stat_args.c cli/stat_check.c cli/top/%,$(PMCSTAT_SRCS))
ANNOTATE_SRCS := $(wildcard cli/annotate/*.c cli/profile/*.c) cli/report/put.c cli/logopen.c cli/logread.c cli/progress.c \
	cli/guard.c cli/output.c cli/stat_out.c \
	$(CLI_SHARED)
# Instructions are shown where Capstone is, also the target's.
ANNOTATE_LIBS := $(shell echo 'int main(void) { return 0; }' | $(CC) $(TARGET_INC) $(TARGET_LIB) \
	-include capstone/capstone.h -x c - -lcapstone -o /dev/null 2>/dev/null && echo -lcapstone)
$(O)/obj/cli/annotate/disasm.o: CFLAGS += $(if $(ANNOTATE_LIBS),,-DNO_CAPSTONE)
# tdump decodes trace rings; ktrdump is the same program.
KTR_SRCS     := $(wildcard cli/ktr_*.c) cli/maps.c cli/region.c cli/running.c
TDUMP_SRCS   := cli/guard.c cli/output.c cli/pager.c $(KTR_SRCS) $(wildcard cli/tdump*.c) lib/ktrmask.c $(CLI_SHARED)
PCTR_SRCS    := $(wildcard cli/pctr*.c) $(CLI_SHARED)
KGMON_SRCS   := $(wildcard cli/kgmon/*.c) cli/output.c cli/report/gmon_file.c cli/running.c $(CLI_SHARED)
CLI_SRCS     := $(sort $(PMCSTAT_SRCS) $(PMCCONTROL_SRCS) $(PMC_SRCS) $(ANNOTATE_SRCS) $(PCTR_SRCS) $(KGMON_SRCS) \
	$(filter cli/%,$(KTRCTL_SRCS) $(TDUMP_SRCS)))
CLI_TOOLS    := pmcstat pmccontrol pmc pmcannotate kgmon ktrctl tdump pctr
CLI_BINS     := $(CLI_TOOLS:%=$(O)/bin/%)

# DT_RUNPATH, so that LD_LIBRARY_PATH still comes first.
CLI_LDFLAGS = -Wl,--enable-new-dtags,-rpath,'$$ORIGIN/../lib'

$(O)/bin/pmcstat: $(PMCSTAT_SRCS:%.c=$(O)/obj/%.o)
$(O)/bin/pmccontrol: $(PMCCONTROL_SRCS:%.c=$(O)/obj/%.o)
$(O)/bin/pmc: $(PMC_SRCS:%.c=$(O)/obj/%.o)
$(O)/bin/pmcannotate: $(ANNOTATE_SRCS:%.c=$(O)/obj/%.o)
$(O)/bin/kgmon: $(KGMON_SRCS:%.c=$(O)/obj/%.o)
$(O)/bin/ktrctl: $(KTRCTL_SRCS:%.c=$(O)/obj/%.o) | $(LIBKTR)
$(O)/bin/tdump: $(TDUMP_SRCS:%.c=$(O)/obj/%.o)
$(O)/bin/tdump: CLI_LIBS := -lelf
$(O)/bin/pctr: $(PCTR_SRCS:%.c=$(O)/obj/%.o) | $(LIBPCTR)
$(O)/bin/pctr: CLI_LIBS := -lpctr
$(O)/bin/pmcstat: CLI_LIBS := $(PROFILE_LIBS) -lncursesw -lpthread
$(O)/bin/pmc: CLI_LIBS := $(PROFILE_LIBS)
$(O)/bin/pmcannotate: CLI_LIBS := $(PROFILE_LIBS) $(ANNOTATE_LIBS)
# What flame.c takes into itself.
$(O)/obj/cli/report/flame.o: cli/report/flame.css cli/report/flame.js
$(CLI_BINS): $(O)/lib/libpmc-compat.so
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) $(CLI_LDFLAGS) -o $@ $(filter %.o,$^) -L$(O)/lib -lpmc-compat -ldl $(CLI_LIBS)

$(O)/bin/ktrdump: $(O)/bin/tdump
	$(Q)ln -sf tdump $@

ALL     += $(CLI_BINS) $(O)/bin/ktrdump
LINT_C  += $(CLI_SRCS)

# Unit tests of the pure parts, and of whole tools over a library of known counts.
CLI_OBJS := $(CLI_SHARED:%.c=$(O)/obj/%.o)
UNIT_OBJS_cli_table := $(O)/obj/cli/stat_table.o $(O)/obj/cli/buf.o $(O)/obj/cli/json.o $(O)/obj/lib/utf8.o
UNIT_OBJS_cli_alq   := $(O)/obj/cli/alq.o $(O)/obj/cli/region.o
UNIT_OBJS_cli_output := $(O)/obj/cli/output.o $(O)/obj/tests/unit/util/scratch.o
UNIT_LIBS_cli_output := -Wl,--wrap=openat
UNIT_OBJS_cli_kgmon := $(patsubst %,$(O)/obj/cli/%.o,kgmon/dump kgmon/kernel kgmon/symbols report/gmon_file output msg buf) \
	$(O)/lib/libpmc-compat.a
UNIT_OBJS_cli_gates := $(O)/obj/cli/ctl_gates.o
UNIT_OBJS_cli_top   := $(patsubst %,$(O)/obj/cli/%.o,top/picture top/view top/view_list top/view_tree top/keys \
	profile/tree buf)
UNIT_OBJS_cli_opt   := $(CLI_OBJS) $(O)/lib/libpmc-compat.a
UNIT_OBJS_cli_pctr  := $(patsubst %,$(O)/obj/cli/pctr%.o,_amd _arch _args _core2 _model _p6 _word) \
	$(LIBPCTR_OBJS) $(CLI_OBJS) $(O)/lib/libpmc-compat.a
PROFILE_OBJS := $(patsubst %,$(O)/obj/cli/%.o,profile/space profile/walk profile/who profile/places profile/profile profile/tree \
	logread progress msg) $(SYMBOL_OBJS) $(O)/lib/libpmc-compat.a
UNIT_OBJS_profile_walk := $(PROFILE_OBJS)
UNIT_LIBS_profile_walk := $(PROFILE_LIBS)
UNIT_OBJS_profile_tree := $(patsubst %,$(O)/obj/cli/report/%.o,graph put rows stats text) $(PROFILE_OBJS)
UNIT_LIBS_profile_tree := $(PROFILE_LIBS)
UNIT_OBJS_profile_span := $(O)/obj/cli/profile/span.o $(O)/obj/cli/profile/store.o
UNIT_OBJS_profile_dwarf := $(SYMBOL_OBJS) $(O)/obj/tests/unit/util/scratch.o
UNIT_LIBS_profile_dwarf := $(PROFILE_LIBS)
UNIT_OBJS_profile_symbol := $(SYMBOL_OBJS) $(O)/obj/tests/unit/util/scratch.o
UNIT_LIBS_profile_symbol := $(PROFILE_LIBS)
UNIT_OBJS_profile_names := $(SYMBOL_OBJS) $(O)/obj/tests/unit/util/scratch.o
UNIT_LIBS_profile_names := $(PROFILE_LIBS)
UNIT_OBJS_ktr_format := $(O)/obj/cli/ktr_format.o
UNIT_OBJS_ktr_merge  := $(O)/obj/cli/ktr_merge.o $(O)/obj/cli/ktr_rings.o $(O)/obj/cli/ktr_mem.o \
	$(O)/obj/cli/region.o $(O)/obj/cli/msg.o $(O)/lib/libpmc-compat.a
REPORT_OBJS := $(patsubst %,$(O)/obj/cli/report/%.o,callgrind flame fold folded frames gmon gmon_file pairs pprof put stats \
	speedscope table weight) $(O)/obj/cli/profile/tree.o $(O)/obj/cli/buf.o $(O)/obj/cli/json.o $(O)/obj/lib/utf8.o $(O)/obj/cli/msg.o \
	$(O)/obj/cli/guard.o $(O)/obj/cli/logread.o $(O)/obj/cli/output.o $(O)/lib/libpmc-compat.a
UNIT_OBJS_report_formats := $(REPORT_OBJS)
UNIT_OBJS_report_gmon    := $(REPORT_OBJS)
UNIT_LIBS_report_formats := -lz
UNIT_LIBS_report_gmon    := -lz
FAKEPMC := $(O)/tests/fakepmc.so
$(FAKEPMC): tests/unit/cli/fakepmc.c lib/include/pmc.h lib/include/sys/pmc.h
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fPIC -shared -Ilib/include -o $@ $<
check-unit: $(CLI_BINS) $(O)/bin/ktrdump $(FAKEPMC)
LINT_C  += tests/unit/cli/fakepmc.c
LINT_SH += tests/unit/cli/helpers.bash tests/unit/cli/tdump.bash packaging/completions/pmcstat.bash \
	packaging/completions/kgmon.bash packaging/completions/ktrctl.bash packaging/completions/pctr.bash \
	packaging/completions/tdump.bash

INSTALL += install-cli
COMPLETIONS := $(DESTDIR)$(PREFIX)/share
.PHONY: install-cli
install-cli: $(CLI_BINS)
	$(call say,INSTALL,$(DESTDIR)$(BINDIR))
	$(Q)install -d $(DESTDIR)$(BINDIR) $(COMPLETIONS)/bash-completion/completions \
		$(COMPLETIONS)/zsh/site-functions $(COMPLETIONS)/fish/vendor_completions.d
	$(Q)install -m 755 $(CLI_BINS) $(DESTDIR)$(BINDIR)
	$(Q)ln -sf tdump $(DESTDIR)$(BINDIR)/ktrdump
	$(Q)install -m 644 packaging/completions/pmcstat.bash \
		$(COMPLETIONS)/bash-completion/completions/pmcstat
	$(Q)for tool in pmc pmcannotate pmccontrol; do \
		ln -sf pmcstat $(COMPLETIONS)/bash-completion/completions/$$tool; done
	$(Q)install -m 644 packaging/completions/_pmcstat $(COMPLETIONS)/zsh/site-functions
	$(Q)install -m 644 packaging/completions/pmc.fish \
		packaging/completions/pmcstat.fish packaging/completions/pmccontrol.fish \
		packaging/completions/pmcannotate.fish \
		packaging/completions/kgmon.fish packaging/completions/ktrctl.fish packaging/completions/pctr.fish packaging/completions/tdump.fish \
		$(COMPLETIONS)/fish/vendor_completions.d
	$(Q)install -m 644 packaging/completions/ktrctl.bash \
		$(COMPLETIONS)/bash-completion/completions/ktrctl
	$(Q)install -m 644 packaging/completions/kgmon.bash $(COMPLETIONS)/bash-completion/completions/kgmon
	$(Q)install -m 644 packaging/completions/pctr.bash $(COMPLETIONS)/bash-completion/completions/pctr
	$(Q)install -m 644 packaging/completions/tdump.bash $(COMPLETIONS)/bash-completion/completions/tdump
	$(Q)ln -sf tdump $(COMPLETIONS)/bash-completion/completions/ktrdump
	$(Q)install -m 644 packaging/completions/_kgmon packaging/completions/_ktrctl packaging/completions/_pctr packaging/completions/_tdump \
		$(COMPLETIONS)/zsh/site-functions
	$(Q)install -d $(DESTDIR)$(PREFIX)/share/pmcbpf
	$(Q)install -m 644 share/pmcbpf/ktr-gdb.py $(DESTDIR)$(PREFIX)/share/pmcbpf
