# SPDX-License-Identifier: BSD-2-Clause
# tests/unit/: every NAME.c is a cmocka program, every NAME.sh a script that prints TAP; cli/ has
# bats files of the tools over a library of known counts (cli/fakepmc.c).  What a program is linked with is named by the
# folder under test: UNIT_OBJS_NAME, and UNIT_LIBS_NAME if need be.
UNIT_SRCS := $(wildcard tests/unit/*.c)
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(O)/tests/unit/%)
UNIT_SCRIPTS := $(wildcard tests/unit/*.sh)
UNIT_BATS    := $(wildcard tests/unit/cli/*.bats)
INC_tests += -I. -Ilib/include -Itests/unit/util

# The library under test, and a server that stands in for the daemon.
$(UNIT_UTIL_A): $(patsubst %.c,$(O)/obj/%.o,$(wildcard tests/unit/util/*.c))
	$(archive)
$(foreach name,$(patsubst tests/unit/%.c,%,$(wildcard tests/unit/lib_*.c)),\
	$(eval UNIT_OBJS_$(name) := $(UNIT_UTIL_A) $(LIBPMC_A) $(BASE_A)))
UNIT_LIBS_lib_refused := -Wl,--wrap=connect
UNIT_LIBS_lib_group := -Wl,--wrap=client_table_change
UNIT_OBJS_lib_pctr := $(LIBPCTR_OBJS)
UNIT_OBJS_lib_openbsd := $(LIBPCTR_OBJS)
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
NEEDS_unit = $(UNIT_BINS) $(LIBPMC) $(LIBKTR) $(LIBPCTR) $(KTR_PROGS)
check-unit: $(NEEDS_unit)  ## unit tests: no root, no daemon, no hardware counters
	$(Q)O='$(O)' CC='$(CC)' tests/unit/run $(UNIT_BATS) $(UNIT_SCRIPTS) $(UNIT_BINS)
