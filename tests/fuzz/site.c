/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the parser of the administrator's rules, and then has the rules judge: every refusal is
 * one line and names the place, and what has been parsed can be matched and judged.
 */
#include <stdlib.h>
#include <string.h>

#include "loader/policy/setting.h"
#include "loader/policy/site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *line)
{
	if (strncmp(line, "f:", 2) || strchr(line, '\n'))
		abort();
}

static void warn(void *arg, const char *line)
{
	check_line(line);
}

static void judge(const struct site_rule *r, const struct config *config)
{
	static const struct cred client = { .uid = { 5, 5, 5 } };
	const struct setting_question q = {
		.target = &client, .mode = 3, .class = "SOFT", .event = "PAGE_FAULT.ALL",
		.number = "0xc0", .kernel = true, .pmcs = 3, .period = 9, .ticks = 1000,
	};
	struct reason why;

	for (enum setting s = 0; s < SETTINGS; s++)
		if (r->set >> s & 1 && setting_points(s) &&
		    setting_judge(s, r, config, &client, &q, &why) && !strstr(why.text, "(f:"))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const gid_t groups[] = { 1, 2 };
	const struct site_subject subject = { .uid = 5, .cgroup = "/a/b.service", .groups = groups,
					      .ngroups = 2 };
	struct site_rules *s = calloc(1, sizeof(*s));
	struct reason why = { "" };
	struct config config;

	if (!s)
		return 0;
	config_init(&config);
	if (site_text(s, "f", (const char *)data, size, &why) ||
	    site_settle(s, NULL, warn, NULL, &why))
		check_line(why.text);
	for (unsigned int i = 0; i < s->n; i++)
		if (site_matches(&s->rule[i], &subject))
			judge(&s->rule[i], &config);
	site_free(s);
	return 0;
}
