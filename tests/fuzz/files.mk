# SPDX-License-Identifier: BSD-2-Clause
# tests/fuzz/: every NAME.c is a libFuzzer target; FUZZ_SRCS_NAME names what it is linked with, and
# NAME.seeds/ holds its first inputs.  Objects are built once more, with clang's coverage and sanitizers.
FUZZ_SRCS := $(wildcard tests/fuzz/*.c)
FUZZ_BINS := $(FUZZ_SRCS:tests/fuzz/%.c=$(O)/fuzz/%)
FUZZ_FLAGS := -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
FUZZ_TIME ?= 60
LINT_C += $(FUZZ_SRCS)

FUZZ_SRCS_evspec := lib/event.c lib/alias.c lib/pmufile.c lib/reason.c
FUZZ_SRCS_pmclog := lib/pmclog.c
FUZZ_LIBS_ktr := -lelf
FUZZ_SRCS_ktr := cli/buf.c $(filter-out cli/ktr_kernel.c cli/ktr_remote.c cli/running.c,$(KTR_SRCS))
FUZZ_LIBS_symbols = $(PROFILE_LIBS)
FUZZ_SRCS_symbols := $(SYMBOL_OBJS:$(O)/obj/%.o=%.c)
FUZZ_INC_symbols  := -Icli

define FUZZ_RULE
$$(O)/fuzz/$(1): tests/fuzz/$(1).c $$(FUZZ_SRCS_$(1))
	$$(call say,FUZZ,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CLANG) -std=gnu11 $$(WARN) $$(FUZZ_FLAGS) $$(DEFS) -Ilib -Ilib/include $$(FUZZ_INC_$(1)) \
		-o $$@ $$^ $$(FUZZ_LIBS_$(1))
endef
$(foreach name,$(FUZZ_SRCS:tests/fuzz/%.c=%),$(eval $(call FUZZ_RULE,$(name))))

# Seeds are copied: libFuzzer adds what it finds to the folder.
fuzz: $(FUZZ_BINS)  ## run every fuzz target for FUZZ_TIME seconds
	$(Q)set -e; for f in $(FUZZ_BINS); do name=$$(basename $$f); \
		mkdir -p $(O)/fuzz/$$name.corpus; cp tests/fuzz/$$name.seeds/* $(O)/fuzz/$$name.corpus; \
		echo "== $$name"; $$f -max_total_time=$(FUZZ_TIME) -print_final_stats=1 -verbosity=0 \
			-artifact_prefix=$(O)/fuzz/ $(O)/fuzz/$$name.corpus; done

# Strangers: hostile clients of a live daemon, and what others notice of them.
STRANGERS_SRCS := $(wildcard tests/fuzz/strangers/*.c)
STRANGERS := $(O)/tests/strangers
LINT_C += $(STRANGERS_SRCS)

$(STRANGERS): $(STRANGERS_SRCS:%.c=$(O)/obj/%.o)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread
