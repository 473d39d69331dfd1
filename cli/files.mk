# SPDX-License-Identifier: BSD-2-Clause
# cli/: the tools.  They see installed headers only and find libpmc-compat beside themselves, in the
# build tree as well as below any PREFIX with bin/ and lib/.
INC_cli := -I. -Ilib/include

# A folder for each tool; the others hold shared code, which is in one archive.
CLI_TOOLS   := pmcstat pmccontrol pmc pmcannotate kgmon ktrctl tdump pctr
CLI_ROOMS   := common log analysis measure profile report top trace
CLI_A       := $(O)/lib/cli.a
CLI_A_SRCS  := $(foreach room,$(CLI_ROOMS),$(wildcard cli/$(room)/*.c))
CLI_SRCS    := $(CLI_A_SRCS) $(foreach tool,$(CLI_TOOLS),$(wildcard cli/$(tool)/*.c))
CLI_BINS    := $(CLI_TOOLS:%=$(O)/bin/%)
PROFILE_LIBS := -ldw -lelf -lz -liberty
# Disassembly needs Capstone, for a cross-build the target's.
ANNOTATE_LIBS := $(shell echo 'int main(void) { return 0; }' | $(CC) $(TARGET_INC) $(TARGET_LIB) \
	-include capstone/capstone.h -x c - -lcapstone -o /dev/null 2>/dev/null && echo -lcapstone)
$(O)/obj/cli/pmcannotate/disasm.o: CFLAGS += $(if $(ANNOTATE_LIBS),,-DNO_CAPSTONE)
# DT_RUNPATH, so that LD_LIBRARY_PATH still comes first.  Packages, whose libraries every program finds, empty it.
comma       := ,
RUNPATH     ?= $$ORIGIN/../lib
CLI_LDFLAGS = $(if $(RUNPATH),-Wl$(comma)--enable-new-dtags$(comma)-rpath$(comma)'$(RUNPATH)')

$(CLI_A): $(CLI_A_SRCS:%.c=$(O)/obj/%.o)
	$(archive)

define CLI_RULE
$$(O)/bin/$(1): $$(patsubst %.c,$$(O)/obj/%.o,$$(wildcard cli/$(1)/*.c))
endef
$(foreach tool,$(CLI_TOOLS),$(eval $(call CLI_RULE,$(tool))))
$(O)/bin/ktrctl: | $(LIBKTR)
$(O)/bin/pctr: | $(LIBPCTR)
$(O)/bin/tdump: CLI_LIBS := -lelf
$(O)/bin/pctr: CLI_LIBS := -lpctr
$(O)/bin/pmcstat: CLI_LIBS := $(PROFILE_LIBS) -lncursesw -lpthread
$(O)/bin/pmc: CLI_LIBS := $(PROFILE_LIBS)
$(O)/bin/pmcannotate: CLI_LIBS := $(PROFILE_LIBS) $(ANNOTATE_LIBS)
# Files that flame.c embeds.
$(O)/obj/cli/report/flame.o: cli/report/flame.css cli/report/flame.js
$(CLI_BINS): $(CLI_A) $(BASE_A) $(O)/lib/libpmc-compat.so
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) $(CLI_LDFLAGS) -o $@ $(filter %.o,$^) $(CLI_A) $(BASE_A) -L$(O)/lib -lpmc-compat -ldl $(CLI_LIBS)

$(O)/bin/ktrdump: $(O)/bin/tdump
	$(Q)ln -sf tdump $@

ALL     += $(CLI_BINS) $(O)/bin/ktrdump
LINT_C  += $(CLI_SRCS)

# Unit tests of the pure parts, and of whole tools over a library of known counts.
CLI_TEST := $(CLI_A) $(LIBPMC_A) $(BASE_A)
SCRATCH  := $(O)/obj/tests/unit/util/scratch.o
UNIT_OBJS_cli_table := $(CLI_TEST)
UNIT_OBJS_cli_alq   := $(O)/obj/cli/ktrctl/alq.o $(CLI_TEST)
UNIT_OBJS_cli_output := $(SCRATCH) $(CLI_TEST)
UNIT_LIBS_cli_output := -Wl,--wrap=openat
UNIT_OBJS_cli_kgmon := $(patsubst %,$(O)/obj/cli/kgmon/%.o,dump kernel symbols) $(CLI_TEST)
UNIT_OBJS_cli_gates := $(O)/obj/cli/pmccontrol/gates.o $(CLI_TEST)
UNIT_OBJS_cli_top   := $(CLI_TEST)
UNIT_OBJS_cli_opt   := $(CLI_TEST)
UNIT_OBJS_cli_pctr  := $(patsubst %,$(O)/obj/cli/pctr/%.o,amd arch args core2 model p6 word) \
	$(LIBPCTR_OBJS) $(CLI_TEST)
$(foreach name,walk tree span dwarf symbol names,\
	$(eval UNIT_OBJS_profile_$(name) := $(SCRATCH) $(CLI_TEST)) $(eval UNIT_LIBS_profile_$(name) := $(PROFILE_LIBS)))
UNIT_OBJS_ktr_format := $(CLI_TEST)
UNIT_OBJS_ktr_merge  := $(CLI_TEST)
UNIT_OBJS_report_formats := $(CLI_TEST)
UNIT_OBJS_report_gmon    := $(CLI_TEST)
UNIT_LIBS_report_formats := $(PROFILE_LIBS)
UNIT_LIBS_report_gmon    := $(PROFILE_LIBS)
FAKEPMC := $(O)/tests/fakepmc.so
$(FAKEPMC): tests/unit/cli/fakepmc.c lib/include/pmc.h lib/include/sys/pmc.h
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fPIC -shared -Ilib/include -o $@ $<
check-unit: $(CLI_BINS) $(O)/bin/ktrdump $(FAKEPMC)
LINT_C  += tests/unit/cli/fakepmc.c
LINT_SH += tests/unit/cli/helpers.bash tests/unit/cli/tdump.bash packaging/completions/pmcbpf.bash

# Completions come from the option tables, as the preprocessor leaves them.
COMPLETION_SRCS := $(shell grep -lE '^(static const struct [a-z_]*opt [a-z_]*options|} (sub)?commands)\[\]' $(CLI_SRCS))
COMPLETIONS     := $(patsubst %,$(O)/completions/pmcbpf.%,bash zsh fish)
$(O)/completions/tables: packaging/completions/tables.awk $(COMPLETION_SRCS:%.c=$(O)/obj/%.o)
	@mkdir -p $(@D)
	$(Q)for file in $(COMPLETION_SRCS); do \
		$(CC) -E -P $(DEFS) $(TARGET_INC) $(INC_cli) $$file | awk -v file=$$file -f $< || exit; done >$@
$(COMPLETIONS): $(O)/completions/pmcbpf.%: packaging/completions/generate.awk $(O)/completions/tables packaging/completions/pmcbpf.%
	$(call say,GEN,$@)
	$(Q)awk -v shell=$* -f $^ >$@
ALL += $(COMPLETIONS)
check-unit: $(COMPLETIONS)

INSTALL += install-cli
SHAREDIR := $(DESTDIR)$(PREFIX)/share
BASH_COMPLETIONS := $(SHAREDIR)/bash-completion/completions
FISH_COMPLETIONS := $(SHAREDIR)/fish/vendor_completions.d
.PHONY: install-cli
install-cli: $(CLI_BINS) $(COMPLETIONS)
	$(call say,INSTALL,$(DESTDIR)$(BINDIR))
	$(Q)install -d $(DESTDIR)$(BINDIR) $(BASH_COMPLETIONS) $(SHAREDIR)/zsh/site-functions $(FISH_COMPLETIONS)
	$(Q)install -m 755 $(CLI_BINS) $(DESTDIR)$(BINDIR)
	$(Q)ln -sf tdump $(DESTDIR)$(BINDIR)/ktrdump
	$(Q)install -m 644 $(O)/completions/pmcbpf.bash $(BASH_COMPLETIONS)/pmcstat
	$(Q)install -m 644 $(O)/completions/pmcbpf.zsh $(SHAREDIR)/zsh/site-functions/_pmcbpf
	$(Q)install -m 644 $(O)/completions/pmcbpf.fish $(FISH_COMPLETIONS)/pmcstat.fish
	$(Q)for tool in $(filter-out pmcstat,$(CLI_TOOLS)) ktrdump; do \
		ln -sf pmcstat $(BASH_COMPLETIONS)/$$tool; \
		ln -sf pmcstat.fish $(FISH_COMPLETIONS)/$$tool.fish; done
	$(Q)install -d $(SHAREDIR)/pmcbpf
	$(Q)install -m 644 share/pmcbpf/ktr-gdb.py $(SHAREDIR)/pmcbpf
