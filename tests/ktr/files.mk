# SPDX-License-Identifier: BSD-2-Clause
# tests/ktr/: traced programs that several suites run.
KTR_PROGS := $(addprefix $(O)/tests/ktr/,page show show-static asm storm show-portable storm-portable)

LINT_C += $(addprefix tests/ktr/,page.c show.c asm.c storm.c)

$(O)/tests/ktr/%: $(O)/obj/tests/ktr/%.o $(LIBKTR)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< -L$(O)/lib -lktr -Wl,-rpath,'$$ORIGIN/../../lib'

# Sanitizers do not support static programs.
KTR_STATIC = $(if $(findstring -fsanitize,$(ALL_LDFLAGS)),,-static)
$(O)/tests/ktr/%-static: $(O)/obj/tests/ktr/%.o $(LIBKTR_A)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(KTR_STATIC) -o $@ $< $(LIBKTR_A)

$(O)/tests/ktr/asm: $(O)/obj/tests/ktr/asm.o $(O)/obj/tests/ktr/asm_points.o $(LIBKTR)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) -L$(O)/lib -lktr -Wl,-rpath,'$$ORIGIN/../../lib'

# Programs and library as on a machine without libktr's assembly.
KTR_PORTABLE := $(LIBKTR_SRCS:%.c=$(O)/portable/%.o)
-include $(wildcard $(O)/portable/*/*.d $(O)/portable/*/*/*.d)

$(O)/portable/%.o: %.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -D__KTR_PORTABLE -fPIC $(INC_$(firstword $(subst /, ,$*))) -c -o $@ $<

$(O)/tests/ktr/%-portable: $(O)/portable/tests/ktr/%.o $(KTR_PORTABLE)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread
