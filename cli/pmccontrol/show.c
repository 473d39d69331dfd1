/* SPDX-License-Identifier: BSD-2-Clause */
/* pmccontrol -L -l.  Scripts parse the text: its form never changes.  JSON has the same data. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pmc.h>

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
