# SPDX-License-Identifier: BSD-2-Clause
# tests/model/: the reference model of the operations, played against a real daemon by many processes.
MODEL_SRCS := $(wildcard tests/model/*.c)
MODEL      := $(O)/tests/model
# Half of them with system counting closed to ordinary users, half with it open.
MODEL_OPS  ?= 50000

LINT_C += $(MODEL_SRCS)

$(MODEL): $(MODEL_SRCS:%.c=$(O)/obj/%.o)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread

CHECKS += check-model
.PHONY: check-model
NEEDS_model = $(MODEL)
check-model: all $(NEEDS_model)  ## random operations against a model of hwpmc; root and BTF
	$(Q)timeout 900 $(MODEL) -n $(MODEL_OPS) -d $(abspath $(PMCBPFD))
