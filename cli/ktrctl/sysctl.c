/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ktrctl debug.ktr.NAME[=VALUE]: the other commands under FreeBSD's names, printed as sysctl(8)
 * does: "name: value", and "name: old -> new" after a change.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/common.h"
#include "ktrctl.h"

#define PREFIX "debug.ktr."
#define VALUE_MAX 4096

/* The target of a get or set: the kernel, or an open process. */
struct sysctl_place {
	struct tracee *proc;	/* NULL: the kernel */
	struct pmc_ktr info;	/* of the kernel */
};

typedef int get_value(struct sysctl_place *place, char *text, size_t size);
typedef int set_value(struct sysctl_place *place, const char *text);

static int sysctl_put_number(char *text, size_t size, uint64_t number)
{
	snprintf(text, size, "%llu", (unsigned long long)number);
	return 0;
}

static int sysctl_put_bits(char *text, size_t size, uint32_t bits)
{
	snprintf(text, size, "0x%x", bits);
	return 0;
}

/* The current mask, 0 while the rings are frozen. */
static int mask_get(struct sysctl_place *place, char *text, size_t size)
{
	uint32_t mask = place->info.pk_mask, saved;
	int code = place->proc ? process_get_mask(place->proc, &mask, &saved) : 0;

	return code ? code : sysctl_put_bits(text, size, mask);
}

static int mask_set(struct sysctl_place *place, const char *text)
{
	uint32_t mask;
	int code = ktrctl_parse_classes(text, &mask);

	if (code)
		return code;
	return place->proc ? process_set_mask(place->proc, mask) : kern_set_mask(mask);
}

static int compile_get(struct sysctl_place *place, char *text, size_t size)
{
	return sysctl_put_bits(text, size,
			       place->proc ? place->proc->head.compile : place->info.pk_compile);
}

static int entries_get(struct sysctl_place *place, char *text, size_t size)
{
	return sysctl_put_number(text, size,
				 place->proc ? place->proc->head.entries : place->info.pk_entries);
}

static int entries_set(struct sysctl_place *place, const char *text)
{
	const struct ktrctl ctl = {
		.args = (char *[]){ (char *)text }, .nargs = 1,
	};

	return place->proc ? process_entries(&ctl) : kern_entries(&ctl);
}

static int version_get(struct sysctl_place *place, char *text, size_t size)
{
	return sysctl_put_number(text, size,
				 place->proc ? place->proc->head.version : KTR_REGION_VERSION);
}

/* The kernel has no such switch: tdump --follow prints entries as they come. */
static int verbose_get(struct sysctl_place *place, char *text, size_t size)
{
	return sysctl_put_number(text, size, place->proc ? place->proc->head.verbose : 0);
}

/* The fast writers ignore verbose and cpumask; setting one at the start selects the slow ones. */
static int verbose_check(const struct tracee *proc)
{
	if (proc->head.flags & KTR_REGION_RSEQ)
		return fail(EX_UNAVAILABLE, "process %d was started without KTR_CPUMASK and "
			    "KTR_VERBOSE: it looks at neither", (int)proc->pid);
	return 0;
}

static int verbose_set(struct sysctl_place *place, const char *text)
{
	uint32_t verbose = (uint32_t)text[0] - '0';
	int err, code;

	if (verbose > 2 || text[1])
		return fail(EX_DATAERR, "\"%s\" is no verbosity: 0, 1 or 2", text);
	if (!place->proc)
		return fail(EX_USAGE, "debug.ktr.verbose is a program's (-p PID): \"tdump -l\" "
			    "prints the kernel's entries");
	code = verbose_check(place->proc);
	if (code)
		return code;
	err = tracee_write(place->proc, offsetof(struct ktr_region, verbose), &verbose,
			    sizeof(verbose));
	place->proc->head.verbose = verbose;
	return err ? process_fail(place->proc->pid, err, NULL) : 0;
}

static int clear_get(struct sysctl_place *place, char *text, size_t size)
{
	return sysctl_put_number(text, size, 0);
}

static int clear_set(struct sysctl_place *place, const char *text)
{
	if (place->proc)
		return fail(EX_USAGE, "option -p is not used with debug.ktr.clear");
	return strcmp(text, "0") ? kern_control(PMC_KTR_CLEAR, NULL) : 0;
}

static int cpumask_get(struct sysctl_place *place, char *text, size_t size)
{
	struct pmc_tunable cpus;
	struct cpulist list = { 0 };
	size_t used = 0;
	int code;

	if (!place->proc) {
		code = kern_get("ktr.cpumask", &cpus);
		if (!code)
			snprintf(text, size, "%s", cpus.pm_value);
		return code;
	}
	memcpy(list.bits, place->proc->head.cpumask, sizeof(place->proc->head.cpumask));
	text[0] = '\0';
	for (int cpu = cpulist_next(&list, 0), end; cpu >= 0 && used < size;
	     cpu = cpulist_next(&list, end + 1)) {
		for (end = cpu; cpulist_next(&list, end + 1) == end + 1;)
			end++;
		used += (size_t)snprintf(text + used, size - used, "%s%d", used ? "," : "", cpu);
		if (end > cpu && used < size)
			used += (size_t)snprintf(text + used, size - used, "-%d", end);
	}
	return 0;
}

static int cpumask_set(struct sysctl_place *place, const char *text)
{
	struct cpulist list;
	int err, code;

	if (!place->proc)
		return kern_set("ktr.cpumask", text);
	if (cpulist_parse(text, &list) || cpulist_next(&list, KTR_REGION_CPUS) >= 0)
		return fail(EX_DATAERR, "\"%s\" is no list of CPUs: 0-3,5", text);
	code = verbose_check(place->proc);
	if (code)
		return code;
	memcpy(place->proc->head.cpumask, list.bits, sizeof(place->proc->head.cpumask));
	err = tracee_write(place->proc, offsetof(struct ktr_region, cpumask), list.bits,
			    sizeof(place->proc->head.cpumask));
	return err ? process_fail(place->proc->pid, err, NULL) : 0;
}

static const struct {
	const char *name;
	get_value *get;
	set_value *set;
	const char *why_not;	/* only without `set` */
} values[] = {
	{ "clear", clear_get, clear_set, NULL },
	{ "compile", compile_get, NULL, "\"ktrctl compile CLASSES\" loads the kernel's classes" },
	{ "cpumask", cpumask_get, cpumask_set, NULL },
	{ "entries", entries_get, entries_set, NULL },
	{ "mask", mask_get, mask_set, NULL },
	{ "verbose", verbose_get, verbose_set, NULL },
	{ "version", version_get, NULL, "it is the version of the rings' layout" },
};
#define NVALUES (sizeof(values) / sizeof(values[0]))

bool sysctl_is_name(const char *word)
{
	return !strcmp(word, "debug.ktr") || !strncmp(word, PREFIX, sizeof(PREFIX) - 1);
}

static int sysctl_look(struct sysctl_place *place, const struct ktrctl *ctl)
{
	if (!ctl->pid)
		return kern_info(&place->info);
	if (place->proc->pid)
		tracee_close(place->proc);
	place->proc->pid = 0;
	return process_open(place->proc, ctl->pid);
}

static int sysctl_one(struct sysctl_place *place, const struct ktrctl *ctl, size_t i,
		      const char *value, struct buf *out)
{
	char before[VALUE_MAX], after[VALUE_MAX];
	int code = values[i].get(place, before, sizeof(before));

	if (!value) {
		buf_printf(out, PREFIX "%s: %s\n", values[i].name, before);
		return code;
	}
	if (!code)
		code = values[i].set(place, value);
	if (!code)
		code = sysctl_look(place, ctl);
	if (!code)
		code = values[i].get(place, after, sizeof(after));
	buf_printf(out, PREFIX "%s: %s -> %s\n", values[i].name, before, after);
	return code;
}

static int sysctl_all(struct sysctl_place *place, const struct ktrctl *ctl, struct buf *out)
{
	int code = 0;

	for (size_t i = 0; i < NVALUES && !code; i++)
		code = sysctl_one(place, ctl, i, NULL, out);
	return code;
}

/* The index of a name in values[], NVALUES if there is none. */
static size_t sysctl_find(const char *name, size_t len)
{
	size_t i = 0;

	while (i < NVALUES && (strlen(values[i].name) != len ||
			       strncmp(values[i].name, name, len) != 0))
		i++;
	return i;
}

int sysctl_run(const struct ktrctl *ctl)
{
	const char *name = strcmp(ctl->command, "debug.ktr") ? ctl->command + sizeof(PREFIX) - 1 :
			   NULL;
	size_t len = name ? strcspn(name, "=") : 0, i = name ? sysctl_find(name, len) : 0;
	const char *value = name && name[len] ? name + len + 1 : NULL;
	struct tracee proc = { .fd = -1 };
	struct sysctl_place place = { .proc = ctl->pid ? &proc : NULL };
	struct buf out = { 0 };
	int code;

	if (ctl->nargs)
		return fail(EX_USAGE, "\"%s\" is one word too many: debug.ktr.NAME=VALUE",
			    ctl->args[0]);
	if (i == NVALUES)
		return fail(EX_DATAERR, "\"%.*s\" is not known: \"ktrctl debug.ktr\" lists all",
			    (int)len, name);
	if (value && !values[i].set)
		return fail(EX_DATAERR, PREFIX "%s is read-only: %s", values[i].name,
			    values[i].why_not);
	code = sysctl_look(&place, ctl);
	if (!code)
		code = name ? sysctl_one(&place, ctl, i, value, &out) :
			      sysctl_all(&place, ctl, &out);
	tracee_close(&proc);
	return ktrctl_put(&out, code);
}
