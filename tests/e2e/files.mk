# SPDX-License-Identifier: BSD-2-Clause
# tests/e2e/: bats on the running kernel, as root, against a daemon of the test's own.
E2E_BATS := $(wildcard tests/e2e/*.bats)
WIRECLIENT := $(O)/tests/wireclient
WIRECLIENT_SRCS := tests/e2e/wireclient.c tests/e2e/wireothers.c

LINT_C  += $(WIRECLIENT_SRCS)
LINT_SH += tests/e2e/helpers.bash

$(WIRECLIENT): $(WIRECLIENT_SRCS:%.c=$(O)/obj/%.o)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

# What the tests call, besides the tools.
E2E_NEEDS += $(WIRECLIENT)

CHECKS += check-e2e
.PHONY: check-e2e
check-e2e: all $(E2E_NEEDS)  ## tests on the running kernel; root and BTF
	$(Q)BUILD='$(abspath $(O))' bats --print-output-on-failure $(E2E_BATS)
