/* SPDX-License-Identifier: BSD-2-Clause */
/* pmccontrol --policy: the administrator's rules in the form of pmcbpf.policy(5). */
#include <errno.h>
#include <stdlib.h>

#include <pmc.h>

#include "cli/common/common.h"
#include "pmccontrol.h"

static void policy_put_text(struct buf *out, const struct pmc_policy *policy)
{
	buf_printf(out, "%s  # %s", policy->pp_text,
		   *policy->pp_origin ? policy->pp_origin : "default");
	if (policy->pp_line)
		buf_printf(out, ":%u", policy->pp_line);
	buf_add(out, "\n", 1);
}

static void policy_put_json(struct json *json, const struct pmc_policy *policy)
{
	json_open(json, NULL, '{');
	json_string(json, "rule", policy->pp_text);
	json_string(json, policy->pp_line ? "file" : "tunable",
		    *policy->pp_origin ? policy->pp_origin : NULL);
	if (policy->pp_line)
		json_number(json, "line", policy->pp_line);
	json_close(json, '}');
}

/* The super-user gets all rules, other users get their own settings. */
int policy_run(const struct control *control)
{
	struct pmc_policy *list;
	struct buf out = { 0 };
	struct json json = { .out = &out };
	unsigned int count;
	int err = pmc_policy(1, &list, &count);

	if (err && errno == EPERM)
		err = pmc_policy(0, &list, &count);
	if (err)
		return fail_pmc(EX_OSERR, "Cannot list the rules");
	if (control->json) {
		json_open(&json, NULL, '{');
		json_open(&json, "policy", '[');
	}
	for (unsigned int i = 0; i < count; i++)
		if (control->json)
			policy_put_json(&json, &list[i]);
		else
			policy_put_text(&out, &list[i]);
	if (control->json) {
		json_close(&json, ']');
		json_close(&json, '}');
		buf_add(&out, "\n", 1);
	} else if (!count) {
		buf_printf(&out, "# no rules: the tunables decide, see pmcbpf.policy(5)\n");
	}
	free(list);
	return show_print(&out, 0);
}
