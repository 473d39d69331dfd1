# SPDX-License-Identifier: BSD-2-Clause
# tests/unit/: every NAME.c is a cmocka program, every NAME.sh a script that prints TAP.  What a program
# is linked with is named by the folder under test: UNIT_OBJS_NAME, and UNIT_LIBS_NAME if need be.
UNIT_SRCS := $(wildcard tests/unit/*.c)
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(O)/tests/unit/%)
UNIT_SCRIPTS := $(wildcard tests/unit/*.sh)
UNIT_UTIL := $(patsubst %.c,$(O)/obj/%.o,$(wildcard tests/unit/util/*.c))
INC_tests += -Ilib -Ilib/include -Itests/unit/util

# The library under test, and a server that stands in for the daemon.
UNIT_LIB := $(UNIT_UTIL) $(LIBPMC_A)
UNIT_OBJS_lib_event := $(UNIT_LIB)
UNIT_OBJS_lib_gates := $(UNIT_LIB)
UNIT_OBJS_lib_pmu := $(UNIT_LIB)
UNIT_OBJS_lib_names := $(UNIT_LIB)
UNIT_OBJS_lib_nearest := $(UNIT_LIB)
UNIT_OBJS_lib_read := $(UNIT_LIB)
UNIT_OBJS_lib_client := $(UNIT_LIB)
UNIT_OBJS_lib_calls := $(UNIT_LIB)
UNIT_OBJS_lib_ownfd := $(UNIT_LIB)
UNIT_OBJS_lib_share := $(UNIT_LIB)
UNIT_OBJS_lib_refused := $(UNIT_LIB)
UNIT_LIBS_lib_refused := -Wl,--wrap=connect
UNIT_OBJS_lib_pfm := $(UNIT_LIB)
UNIT_OBJS_lib_pmclog := $(UNIT_LIB)
UNIT_OBJS_lib_pmclog_input := $(UNIT_LIB)
UNIT_OBJS_lib_spawn := $(UNIT_LIB)
UNIT_OBJS_lib_tunable := $(UNIT_LIB)
UNIT_OBJS_lib_msr := $(UNIT_LIB)
UNIT_OBJS_lib_page := $(UNIT_LIB)
UNIT_OBJS_lib_trap := $(UNIT_LIB)
UNIT_OBJS_lib_kgmon := $(UNIT_LIB)
UNIT_OBJS_lib_ktrkern := $(UNIT_LIB)
UNIT_OBJS_lib_pctr := $(LIBPCTR_OBJS)
UNIT_OBJS_lib_openbsd := $(LIBPCTR_OBJS)
UNIT_OBJS_lib_lockfile := $(O)/obj/lib/lockfile.o $(O)/obj/tests/unit/util/scratch.o
UNIT_OBJS_ktr_rings := $(LIBKTR_A)
UNIT_OBJS_ktr_say := $(LIBKTR_A)

define UNIT_RULE
$$(O)/tests/unit/$(1): $$(O)/obj/tests/unit/$(1).o $$(UNIT_OBJS_$(1))
	$$(call say,LINK,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$^ $$(UNIT_LIBS_$(1)) -lcmocka -lpthread -ldl
endef
$(foreach name,$(UNIT_SRCS:tests/unit/%.c=%),$(eval $(call UNIT_RULE,$(name))))

CHECKS += check-unit
LINT_C += $(UNIT_SRCS) $(wildcard tests/unit/util/*.c)
LINT_SH += $(UNIT_SCRIPTS) tests/unit/run tests/unit/util/tap.bash
.PHONY: check-unit
check-unit: $(UNIT_BINS) $(LIBPMC) $(LIBKTR) $(LIBPCTR) $(KTR_PROGS)  ## unit tests: no root, no daemon, no hardware counters
	$(Q)O='$(O)' CC='$(CC)' tests/unit/run $(UNIT_BINS) $(UNIT_SCRIPTS)
