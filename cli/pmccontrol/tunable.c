/* SPDX-License-Identifier: BSD-2-Clause */
/* pmccontrol --tunable: hwpmc's sysctl(8) variables.  The list has the form of pmcbpf.conf(5). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pmc.h>

#include "cli/common/common.h"
#include "pmccontrol.h"

static void tunable_put_json(struct json *json, const struct pmc_tunable *tunable)
{
	json_open(json, NULL, '{');
	json_string(json, "name", tunable->pm_name);
	json_string(json, "value", tunable->pm_value);
	json_bool(json, "writable", tunable->pm_writable);
	json_close(json, '}');
}

static int tunable_show_all(const struct control *control)
{
	struct pmc_tunable *list;
	struct buf out = { 0 };
	struct json json = { .out = &out };
	unsigned int count;

	if (pmc_tunable_list(&list, &count) != 0)
		return fail_pmc(EX_OSERR, "Cannot list the tunables");
	if (control->json) {
		json_open(&json, NULL, '{');
		json_open(&json, "tunables", '[');
	}
	for (unsigned int i = 0; i < count; i++)
		if (control->json)
			tunable_put_json(&json, &list[i]);
		else
			buf_printf(&out, "%s=\"%s\"%s\n", list[i].pm_name, list[i].pm_value,
				   list[i].pm_writable ? "" : "  # read-only");
	if (control->json) {
		json_close(&json, ']');
		json_close(&json, '}');
		buf_add(&out, "\n", 1);
	}
	free(list);
	return show_print(&out, 0);
}

/* EINVAL: the caller's name or value is wrong. */
static int tunable_exit_code(void)
{
	return errno == EINVAL ? EX_DATAERR : EX_OSERR;
}

static int tunable_show_one(const struct control *control)
{
	struct pmc_tunable tunable;
	struct buf out = { 0 };
	struct json json = { .out = &out };

	if (pmc_tunable_get(control->tunable, &tunable) != 0)
		return fail_pmc(tunable_exit_code(), "Cannot read %s", control->tunable);
	if (control->json)
		tunable_put_json(&json, &tunable);
	else
		buf_add(&out, tunable.pm_value, strlen(tunable.pm_value));
	buf_add(&out, "\n", 1);
	return show_print(&out, 0);
}

static int tunable_set_one(const struct control *control, const char *equals)
{
	char *name = strndup(control->tunable, (size_t)(equals - control->tunable));
	int code = 0;

	if (!name) {
		errno = ENOMEM;
		return fail_errno(EX_OSERR, "ERROR");
	}
	if (pmc_tunable_set(name, equals + 1) != 0)
		code = fail_pmc(tunable_exit_code(), "Cannot set %s", name);
	free(name);
	return code;
}

int tunable_run(const struct control *control)
{
	const char *equals = control->tunable ? strchr(control->tunable, '=') : NULL;

	if (!control->tunable)
		return tunable_show_all(control);
	return equals ? tunable_set_one(control, equals) : tunable_show_one(control);
}
