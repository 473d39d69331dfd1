/* SPDX-License-Identifier: BSD-2-Clause */
/* pmccontrol -L -l -s.  Scripts parse the text: its form never changes.  JSON has the same data. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pmc.h>

#include "lib/base/chain_end.h"
#include "cli/common/common.h"
#include "pmccontrol.h"

int show_print(struct buf *out, int code)
{
	if (!code && out->failed) {
		errno = ENOMEM;
		code = fail_errno(EX_OSERR, "ERROR");
	}
	if (!code) {
		fwrite(out->data, 1, out->len, stdout);
		code = opt_flush_stdout();
	}
	buf_free(out);
	return code;
}

static int machine_find(const struct pmc_cpuinfo **info)
{
	if (pmc_cpuinfo(info) != 0)
		return fail_pmc(EX_OSERR, "Unable to determine CPU information");
	return 0;
}

static const char *name_or_unknown(const char *name)
{
	return name ? name : "UNKNOWN";
}

/* --- -l ------------------------------------------------------------------------------------- */

/* Another owner's hardware event has no name in this library: prints its number. */
static const char *row_event_name(const struct pmc_info *row, char *room, size_t size)
{
	const char *name = pmc_name_of_event(row->pm_event);

	if (name)
		return name;
	snprintf(room, size, "0x%x", (unsigned int)row->pm_event);
	return room;
}

static void row_put_text(struct buf *out, uint32_t number, const struct pmc_info *row)
{
	char room[16];

	buf_printf(out, " %-2u %-16s %-6s %-8s %-10s", number, row->pm_name,
		   name_or_unknown(pmc_name_of_class(row->pm_class)),
		   row->pm_enabled ? "ENABLED" : "DISABLED",
		   name_or_unknown(pmc_name_of_disposition(row->pm_rowdisp)));
	if (row->pm_ownerpid != -1) {
		buf_printf(out, " (pid %d)", (int)row->pm_ownerpid);
		buf_printf(out, " %-32s", row_event_name(row, room, sizeof(room)));
		if (PMC_IS_SAMPLING_MODE(row->pm_mode))
			buf_printf(out, " (reload count %jd)", (intmax_t)row->pm_reloadcount);
	}
	buf_add(out, "\n", 1);
}

static void cpu_put_text(struct buf *out, int index, const struct pmc_pmcinfo *info, uint32_t npmc)
{
	buf_printf(out, "#CPU %d:\n#N  NAME             CLASS  STATE    ROW-DISP\n", index);
	for (uint32_t i = 0; i < npmc; i++)
		row_put_text(out, i, &info->pm_pmcs[i]);
}

static void row_put_json(struct json *json, uint32_t number, const struct pmc_info *row)
{
	char room[16];

	json_open(json, NULL, '{');
	json_number(json, "row", number);
	json_string(json, "name", row->pm_name);
	json_string(json, "class", pmc_name_of_class(row->pm_class));
	json_bool(json, "enabled", row->pm_enabled);
	json_string(json, "disposition", pmc_name_of_disposition(row->pm_rowdisp));
	if (row->pm_ownerpid == -1) {
		json_null(json, "owner");
	} else {
		json_open(json, "owner", '{');
		json_number(json, "pid", (uint64_t)row->pm_ownerpid);
		json_string(json, "event", row_event_name(row, room, sizeof(room)));
		json_string(json, "mode", pmc_name_of_mode(row->pm_mode));
		if (PMC_IS_SAMPLING_MODE(row->pm_mode))
			json_number(json, "reload_count", row->pm_reloadcount);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void cpu_put_json(struct json *json, int cpu, const struct pmc_pmcinfo *info, uint32_t npmc)
{
	json_open(json, NULL, '{');
	json_number(json, "cpu", (uint64_t)cpu);
	json_open(json, "rows", '[');
	for (uint32_t i = 0; i < npmc; i++)
		row_put_json(json, i, &info->pm_pmcs[i]);
	json_close(json, ']');
	json_close(json, '}');
}

/* Every CPU that is online. */
static int cpus_put(const struct control *control, const struct pmc_cpuinfo *info,
		    struct json *json)
{
	int index = 0;

	for (int cpu = 0; cpu < (int)info->pm_ncpu; cpu++) {
		struct pmc_pmcinfo *rows;

		if (pmc_pmcinfo(cpu, &rows) != 0) {
			if (errno == ENXIO)
				continue;
			return fail_pmc(EX_OSERR, "Unable to get PMC status for CPU %d", cpu);
		}
		if (control->json)
			cpu_put_json(json, cpu, rows, info->pm_npmc);
		else
			cpu_put_text(json->out, index, rows, info->pm_npmc);
		index++;
		free(rows);
	}
	return 0;
}

int show_rows(const struct control *control)
{
	const struct pmc_cpuinfo *info;
	struct buf out = { 0 };
	struct json json = { .out = &out };
	const char *type;
	int code = machine_find(&info);

	if (code)
		return code;
	if (info->pm_npmc == 0)
		return fail(EX_CONFIG, "No PMCs found");
	type = pmc_name_of_cputype(info->pm_cputype);
	if (!control->json) {
		buf_printf(&out, "%u %s CPUs present, with %u PMCs per CPU\n", info->pm_ncpu,
			   name_or_unknown(type), info->pm_npmc);
		return show_print(&out, cpus_put(control, info, &json));
	}
	json_open(&json, NULL, '{');
	json_string(&json, "cputype", type);
	json_number(&json, "ncpu", info->pm_ncpu);
	json_number(&json, "npmc", info->pm_npmc);
	json_open(&json, "cpus", '[');
	code = cpus_put(control, info, &json);
	json_close(&json, ']');
	json_close(&json, '}');
	buf_add(&out, "\n", 1);
	return show_print(&out, code);
}

/* --- -L ------------------------------------------------------------------------------------- */

static void class_put(const struct control *control, struct json *json, const char *class_,
		      const char **names, int count)
{
	if (!control->json) {
		buf_printf(json->out, "%s\n", class_);
		for (int i = 0; i < count; i++)
			buf_printf(json->out, "\t%s\n", names[i]);
		return;
	}
	json_open(json, NULL, '{');
	json_string(json, "class", class_);
	json_open(json, "events", '[');
	for (int i = 0; i < count; i++)
		json_string(json, NULL, names[i]);
	json_close(json, ']');
	json_close(json, '}');
}

int show_events(const struct control *control)
{
	const struct pmc_cpuinfo *info;
	struct buf out = { 0 };
	struct json json = { .out = &out };
	int code = machine_find(&info);

	if (code)
		return code;
	if (control->json) {
		json_open(&json, NULL, '{');
		json_open(&json, "classes", '[');
	}
	for (uint32_t i = 0; i < info->pm_nclass && !code; i++) {
		enum pmc_class class = info->pm_classes[i].pm_class;
		const char *class_ = name_or_unknown(pmc_name_of_class(class));
		const char **names;
		int count;

		if (pmc_event_names_of_class(class, &names, &count) != 0) {
			code = fail_pmc(EX_OSERR, "ERROR: Cannot find information for event class "
					"\"%s\"", class_);
			break;
		}
		class_put(control, &json, class_, names, count);
		free(names);
	}
	if (control->json) {
		json_close(&json, ']');
		json_close(&json, '}');
		buf_add(&out, "\n", 1);
	}
	return show_print(&out, code);
}

/* --- -s ------------------------------------------------------------------------------------- */

#define FIGURE_LINE "%-40s "
static const struct figure {
	const char *text, *key;
	size_t offset;
} figures[] = {
#define FIGURE(text, member) { text, #member, offsetof(struct pmc_driverstats, pm_##member) }
	FIGURE("interrupts processed:", intr_processed),
	FIGURE("non-PMC interrupts:", intr_ignored),
	FIGURE("sampling stalls due to space shortages:", intr_bufferfull),
	FIGURE("system calls:", syscalls),
	FIGURE("system calls with errors:", syscall_errors),
	FIGURE("buffer requests:", buffer_requests),
	FIGURE("buffer requests failed:", buffer_requests_failed),
	FIGURE("sampling log sweeps:", log_sweeps),
#undef FIGURE
};

static void chains_put_json(struct json *json, const struct pmc_chains *c)
{
	json_number(json, "chains_cut", c->pm_cut);
	json_number(json, "chains", c->pm_chains);
	json_number(json, "chains_ended", c->pm_ended);
	json_number(json, "chains_whole", c->pm_whole);
	json_number(json, "chains_pointers", c->pm_pointers);
	json_number(json, "chains_completed", c->pm_completed);
	json_number(json, "chains_late", c->pm_late);
	json_open(json, "cuts", '{');
	for (uint32_t i = 0; i < CHAIN_ENDS; i++)
		if (c->pm_cuts[i])
			json_number(json, chain_end_cut_key(i), c->pm_cuts[i]);
	json_close(json, '}');
}

/* The first line is older than the others. */
static void chains_put_text(struct buf *out, const struct pmc_chains *c)
{
	const struct {
		const char *text;
		uint64_t value;
	} lines[] = {
		{ "call chains that lack callers:", c->pm_cut },
		{ "call chains:", c->pm_chains },
		{ "call chains whose end is known:", c->pm_ended },
		{ "whole call chains:", c->pm_whole },
		{ "call chains by frame pointers in part:", c->pm_pointers },
		{ "call chains completed afterwards:", c->pm_completed },
		{ "call chains for which that was too late:", c->pm_late },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		buf_printf(out, FIGURE_LINE "%llu\n", lines[i].text,
			   (unsigned long long)lines[i].value);
	for (uint32_t i = 0; i < CHAIN_ENDS; i++)
		if (c->pm_cuts[i])
			buf_printf(out, "cut: %-35s %llu\n", chain_end_cut_text(i),
				   (unsigned long long)c->pm_cuts[i]);
}

int show_statistics(const struct control *control)
{
	struct pmc_driverstats stats;
	struct buf out = { 0 };
	struct json json = { .out = &out };
	struct pmc_chains chains;

	if (pmc_get_driver_stats(&stats) != 0 || pmc_get_chains(PMC_ID_INVALID, &chains) != 0)
		return fail_pmc(EX_OSERR, "ERROR: cannot retrieve driver statistics");
	if (control->json)
		json_open(&json, NULL, '{');
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		unsigned int value;

		memcpy(&value, (const char *)&stats + figures[i].offset, sizeof(value));
		if (control->json)
			json_number(&json, figures[i].key, value);
		else
			buf_printf(&out, FIGURE_LINE "%u\n", figures[i].text, value);
	}
	if (control->json) {
		chains_put_json(&json, &chains);
		json_close(&json, '}');
		buf_add(&out, "\n", 1);
	} else {
		chains_put_text(&out, &chains);
	}
	return show_print(&out, 0);
}
