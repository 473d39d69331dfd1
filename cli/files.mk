# SPDX-License-Identifier: BSD-2-Clause
# cli/: the tools.  They see installed headers only and find libpmc-compat beside themselves, in the
# build tree as well as below any PREFIX with bin/ and lib/.
INC_cli := -Ilib/include

CLI_SHARED   := cli/buf.c cli/cpulist.c cli/json.c cli/msg.c cli/opt.c
PMCSTAT_SRCS := cli/pmcstat.c cli/stat_args.c cli/stat_check.c cli/stat_child.c cli/stat_out.c \
	cli/stat_pmc.c cli/stat_run.c cli/stat_table.c cli/stat_target.c $(CLI_SHARED)
PMCCONTROL_SRCS := cli/pmccontrol.c cli/ctl_admin.c cli/ctl_show.c $(CLI_SHARED)
CLI_SRCS     := $(sort $(PMCSTAT_SRCS) $(PMCCONTROL_SRCS))
CLI_TOOLS    := pmcstat pmccontrol
CLI_BINS     := $(CLI_TOOLS:%=$(O)/bin/%)

# DT_RUNPATH, so that LD_LIBRARY_PATH still comes first.
CLI_LDFLAGS = -Wl,--enable-new-dtags,-rpath,'$$ORIGIN/../lib' -Wl,-z,relro,-z,now

$(O)/bin/pmcstat: $(PMCSTAT_SRCS:%.c=$(O)/obj/%.o)
$(O)/bin/pmccontrol: $(PMCCONTROL_SRCS:%.c=$(O)/obj/%.o)
$(CLI_BINS): $(O)/lib/libpmc-compat.so
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(CLI_LDFLAGS) -o $@ $(filter %.o,$^) -L$(O)/lib -lpmc-compat

ALL     += $(CLI_BINS)
LINT_C  += $(CLI_SRCS)

# Unit tests of the pure parts, and of whole tools over a library of known counts.
CLI_OBJS := $(CLI_SHARED:%.c=$(O)/obj/%.o)
UNIT_OBJS_cli_table := $(O)/obj/cli/stat_table.o $(O)/obj/cli/buf.o $(O)/obj/cli/json.o
UNIT_OBJS_cli_opt   := $(CLI_OBJS) $(O)/lib/libpmc-compat.a
FAKEPMC := $(O)/tests/fakepmc.so
$(FAKEPMC): tests/unit/cli/fakepmc.c lib/include/pmc.h lib/include/sys/pmc.h
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fPIC -shared -Ilib/include -o $@ $<
check-unit: $(CLI_BINS) $(FAKEPMC)
LINT_C  += tests/unit/cli/fakepmc.c
LINT_SH += tests/unit/cli/helpers.bash packaging/completions/pmcstat.bash

INSTALL += install-cli
COMPLETIONS := $(DESTDIR)$(PREFIX)/share
.PHONY: install-cli
install-cli: $(CLI_BINS)
	$(call say,INSTALL,$(DESTDIR)$(BINDIR))
	$(Q)install -d $(DESTDIR)$(BINDIR) $(COMPLETIONS)/bash-completion/completions \
		$(COMPLETIONS)/zsh/site-functions $(COMPLETIONS)/fish/vendor_completions.d
	$(Q)install -m 755 $(CLI_BINS) $(DESTDIR)$(BINDIR)
	$(Q)install -m 644 packaging/completions/pmcstat.bash \
		$(COMPLETIONS)/bash-completion/completions/pmcstat
	$(Q)ln -sf pmcstat $(COMPLETIONS)/bash-completion/completions/pmccontrol
	$(Q)install -m 644 packaging/completions/_pmcstat $(COMPLETIONS)/zsh/site-functions
	$(Q)install -m 644 packaging/completions/pmcstat.fish packaging/completions/pmccontrol.fish \
		$(COMPLETIONS)/fish/vendor_completions.d
