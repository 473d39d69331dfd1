# SPDX-License-Identifier: BSD-2-Clause
# tests/fuzz/: every NAME.c is a libFuzzer target; FUZZ_SRCS_NAME names what it is linked with, and
# NAME.seeds/ holds its first inputs.  Objects are built once more, with clang's coverage and sanitizers.
# strangers/ attacks a live daemon, built once more as well.
FUZZ_SRCS := $(wildcard tests/fuzz/*.c)
FUZZ_BINS := $(FUZZ_SRCS:tests/fuzz/%.c=$(O)/fuzz/%)
FUZZ_FLAGS := -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
FUZZ_TIME ?= 60
LINT_C += $(FUZZ_SRCS)

FUZZ_SRCS_evspec := lib/event/evspec.c lib/event/probe_name.c lib/event/alias.c lib/event/pmu.c lib/base/nearest.c lib/base/reason.c
FUZZ_SRCS_pmclog := $(patsubst %,lib/base/%.c,buf chain_end json logfield logfmt logvalues utf8) \
	$(patsubst %,lib/pmclog/%.c,pmclog pmclogfields pmclogjson pmclognote pmclogvalue)
FUZZ_LIBS_ktr := -lelf
FUZZ_SRCS_ktr := lib/base/buf.c lib/base/pwrite.c $(filter-out cli/trace/kernel.c cli/trace/remote.c cli/trace/tracee.c,$(wildcard cli/trace/*.c))
FUZZ_LIBS_symbols = $(PROFILE_LIBS)
$(O)/fuzz/symbols: $(LIBPMC_A)
FUZZ_SRCS_symbols := $(patsubst %,cli/profile/%.c,symbol object files debug_file elf_names entries kernel jit dwarf \
	lines demangle spans arena item_table debuginfod jitdump python) $(patsubst %,lib/base/%.c,buf chain_end) cli/common/msg.c

define FUZZ_RULE
$$(O)/fuzz/$(1): tests/fuzz/$(1).c $$(FUZZ_SRCS_$(1))
	$$(call say,FUZZ,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CLANG) -std=gnu11 $$(WARN) $$(FUZZ_FLAGS) $$(DEFS) -I. -Ilib/include \
		-o $$@ $$^ $$(FUZZ_LIBS_$(1))
endef
$(foreach name,$(FUZZ_SRCS:tests/fuzz/%.c=%),$(eval $(call FUZZ_RULE,$(name))))

CHECKS += check-fuzz
NEEDS_fuzz = $(FUZZ_BINS)
.PHONY: check-fuzz
check-fuzz: $(NEEDS_fuzz)  ## fuzz targets, each once with its seeds
	$(Q)tests/fuzz/seeds $(FUZZ_BINS)
LINT_SH += tests/fuzz/seeds

# Seeds are copied: libFuzzer adds what it finds to the folder.
fuzz: $(FUZZ_BINS) fuzz-strangers  ## run every fuzz target for FUZZ_TIME seconds
	$(Q)set -e; for f in $(FUZZ_BINS); do name=$$(basename $$f); \
		mkdir -p $(O)/fuzz/$$name.corpus; cp tests/fuzz/$$name.seeds/* $(O)/fuzz/$$name.corpus; \
		echo "== $$name"; $$f -max_total_time=$(FUZZ_TIME) -print_final_stats=1 -verbosity=0 \
			-artifact_prefix=$(O)/fuzz/ $(O)/fuzz/$$name.corpus; done

# Strangers: three unprivileged users against a live daemon, and the effects on other users.
STRANGERS_SRCS := $(wildcard tests/fuzz/strangers/*.c)
STRANGERS := $(O)/tests/strangers
STRANGERS_DAEMON := $(O)/san/sbin/pmcbpfd
# Its other attacks: fewer processes and mappings than needed to measure an attack.
STRANGERS_FLAGS ?= --scale 10 --patience 300
LINT_C += $(STRANGERS_SRCS)
E2E_NEEDS += $(STRANGERS)

$(STRANGERS): $(STRANGERS_SRCS:%.c=$(O)/obj/%.o) $(O)/obj/lib/pmc/proof.o
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

$(STRANGERS_DAEMON): FORCE
	$(Q)$(MAKE) O=$(O)/san SAN='-fsanitize=address,undefined -fno-omit-frame-pointer' CFLAGS='-O1 -g' $@

.PHONY: fuzz-strangers
fuzz-strangers: $(STRANGERS) $(STRANGERS_DAEMON)  ## random messages of three users for FUZZ_TIME seconds, and every attack
	$(Q)echo "== strangers"; if [ "$$(id -u)" -eq 0 ]; then \
		$(STRANGERS) -d $(STRANGERS_DAEMON) -t $(FUZZ_TIME) $(STRANGERS_FLAGS); \
		else echo "strangers: skipped, it needs root"; fi
