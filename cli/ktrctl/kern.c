/* SPDX-License-Identifier: BSD-2-Clause */
/* ktrctl on the kernel's rings, which pmcbpfd owns; their settings are its tunables ktr.*. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ktrctl.h"
#include "cli/common/common.h"

int kern_connect(void)
{
	if (running_connect() != 0)
		return fail_pmc(EX_UNAVAILABLE, "The kernel's rings are pmcbpfd's");
	return 0;
}

static int exit_code(void)
{
	switch (errno) {
	case EINVAL:
		return EX_DATAERR;
	case EPERM:
		return EX_NOPERM;
	case ENXIO:
		return EX_UNAVAILABLE;
	default:
		return EX_OSERR;
	}
}

int kern_info(struct pmc_ktr *info)
{
	int code = kern_connect();

	if (!code && pmc_ktr_info(info) != 0)
		code = fail_pmc(exit_code(), "Cannot read the state of the kernel's rings");
	return code;
}

int kern_get(const char *tunable, struct pmc_tunable *value)
{
	int code = kern_connect();

	if (!code && pmc_tunable_get(tunable, value) != 0)
		code = fail_pmc(exit_code(), "Cannot read %s", tunable);
	return code;
}

int kern_set(const char *tunable, const char *value)
{
	int code = kern_connect();

	if (!code && pmc_tunable_set(tunable, value) != 0)
		code = fail_pmc(exit_code(), "Cannot set %s to \"%s\"", tunable, value);
	return code;
}

int kern_control(enum pmc_ktr_op op, const char *text)
{
	static const char *const names[] = {
		[PMC_KTR_FREEZE] = "freeze", [PMC_KTR_THAW] = "thaw", [PMC_KTR_CLEAR] = "clear",
		[PMC_KTR_MARK] = "mark",
	};
	int code = kern_connect();

	if (!code && pmc_ktr_control(op, text) != 0)
		code = fail_pmc(exit_code(), "Cannot %s the kernel's rings", names[op]);
	return code;
}

int kern_set_mask(uint32_t mask)
{
	char text[KTRMASK_TEXT];
	struct pmc_ktr info;
	int code;

	ktrmask_text(mask, text, sizeof(text));
	code = kern_set("ktr.mask", text);
	if (!code)
		code = kern_info(&info);
	if (code)
		return code;
	ktrctl_warn_of_mask(mask, info.pk_compile, true);
	if (info.pk_frozen)
		note("the kernel's rings are frozen: this holds after \"ktrctl thaw\"");
	return 0;
}

/* For frozen rings, the mask that a thaw will restore. */
int kern_mask(const struct ktrctl *ctl)
{
	struct pmc_ktr info;
	uint32_t mask;
	int code;

	if (ctl->nargs) {
		code = ktrctl_parse_classes(ctl->args[0], &mask);
		return code ? code : kern_set_mask(mask);
	}
	code = kern_info(&info);
	if (code)
		return code;
	if (info.pk_frozen)
		note("the kernel's rings are frozen: nothing is traced until \"ktrctl thaw\"");
	return ktrctl_put_classes(info.pk_frozen ? info.pk_saved : info.pk_mask);
}

int kern_compile(const struct ktrctl *ctl)
{
	char text[KTRMASK_TEXT];
	struct pmc_ktr info;
	uint32_t mask;
	int code;

	if (!ctl->nargs) {
		code = kern_info(&info);
		return code ? code : ktrctl_put_classes(info.pk_compile);
	}
	code = ktrctl_parse_classes(ctl->args[0], &mask);
	if (code)
		return code;
	ktrmask_text(mask, text, sizeof(text));
	code = kern_set("ktr.compile", text);
	if (!code)
		code = kern_info(&info);
	if (!code && info.pk_missing & mask) {
		ktrmask_text(info.pk_missing & mask, text, sizeof(text));
		note("%s: not loaded: this kernel has no events of them", text);
	}
	return code;
}

int kern_set_entries(uint64_t entries)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)entries * KTR_ENTRY_SIZE);
	return kern_set("ktr.size", text);
}

int kern_entries(const struct ktrctl *ctl)
{
	struct buf out = { 0 };
	struct pmc_ktr info;
	uint64_t entries;
	int code;

	if (ctl->nargs) {
		if (opt_number(ctl->args[0], 0, 1, KTR_REGION_ENTRIES, &entries) ||
		    (entries & (entries - 1)))
			return fail(EX_DATAERR, "\"%s\" is no power of two from 1 to %u",
				    ctl->args[0], KTR_REGION_ENTRIES);
		return kern_set_entries(entries);
	}
	code = kern_info(&info);
	if (!code)
		buf_printf(&out, "%u\n", info.pk_entries);
	return ktrctl_put(&out, code);
}

int kern_freeze(const struct ktrctl *ctl)
{
	return kern_control(PMC_KTR_FREEZE, NULL);
}

int kern_thaw(const struct ktrctl *ctl)
{
	return kern_control(PMC_KTR_THAW, NULL);
}

int kern_clear(const struct ktrctl *ctl)
{
	return kern_control(PMC_KTR_CLEAR, NULL);
}

int kern_mark(const struct ktrctl *ctl)
{
	const char *text = ctl->args[0];

	if (strlen(text) > 31)
		note("\"%s\" is cut to 31 bytes", text);
	return kern_control(PMC_KTR_MARK, text);
}

int kern_stop(const struct ktrctl *ctl)
{
	struct pmc_tunable triggers;
	struct buf out = { 0 };
	struct pmc_ktr info;
	int code;

	if (ctl->nargs)
		return kern_set("ktr.stop", ctl->args[0]);
	code = kern_get("ktr.stop", &triggers);
	if (!code)
		code = kern_info(&info);
	if (!code)
		buf_printf(&out, "%s\n", triggers.pm_value);
	if (!code && *info.pk_stopped)
		note("frozen by %s: \"ktrctl thaw\" goes on", info.pk_stopped);
	return ktrctl_put(&out, code);
}
