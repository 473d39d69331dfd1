/* SPDX-License-Identifier: BSD-2-Clause */
/* See pmus.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cpuranges.h"
#include "loader/base/base.h"
#include "perf.h"
#include "pmus.h"

#define SYSFS_PMUS  "/sys/bus/event_source/devices"
#define EVENTS_MAX  32u		/* of a PMU's list, that are tried */
#define ROWS_OF_PMU 8u		/* more counters than that are not looked for */
#define ROWS_BLIND  4u		/* of a PMU that takes none of the events tried */

static int pmu_line(const char *name, const char *file, char *text, size_t size)
{
	char path[512];

	snprintf(path, sizeof(path), SYSFS_PMUS "/%s/%s", name, file);
	return file_line(path, text, size);
}

static int pmu_cpu_list(const char *name, char *list, size_t size)
{
	int err = pmu_line(name, "cpumask", list, size);

	return err ? pmu_line(name, "cpus", list, size) : 0;
}

static int pmu_type(const char *name, uint32_t *type)
{
	char text[32];
	int err = pmu_line(name, "type", text, sizeof(text));

	if (!err)
		*type = (uint32_t)strtoul(text, NULL, 10);
	return err;
}

int pmus_cpus(const struct pmus_one *pmu, char *list, size_t size)
{
	uint32_t type;

	if (pmu_type(pmu->name, &type) || type != pmu->type ||
	    pmu_cpu_list(pmu->name, list, size))
		return -ESRCH;
	return 0;
}

const struct pmus_one *pmus_find(const struct pmus *p, uint32_t type)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (p->one[i].type == type)
			return &p->one[i];
	return NULL;
}

/* --- counters -------------------------------------------------------------------------------- */

/* Numbers of events: 0, and those of the PMU's list that are one number. */
static unsigned int pmu_numbers(const char *name, uint64_t *number)
{
	char path[512], file[300], text[64];
	unsigned int n = 0;
	struct dirent *d;
	DIR *dir;

	number[n++] = 0;
	snprintf(path, sizeof(path), SYSFS_PMUS "/%s/events", name);
	dir = opendir(path);
	while (dir && n < EVENTS_MAX && (d = readdir(dir))) {
		unsigned long long value;
		int end = 0;

		snprintf(file, sizeof(file), "events/%s", d->d_name);
		if (!pmu_line(name, file, text, sizeof(text)) &&
		    sscanf(text, "event=%llx%n", &value, &end) == 1 && !text[end])
			number[n++] = value;
	}
	if (dir)
		closedir(dir);
	return n;
}

/*
 * The number of pinned events that fit on the CPU, or -errno if there is none.  Each event of the
 * list is opened until it fails, because a counter may be fixed to one event.
 */
static int pmus_count_free(const struct pmus_one *pmu, unsigned int cpu)
{
	uint64_t number[EVENTS_MAX];
	int fds[ROWS_OF_PMU], err = -EINVAL, fd;
	unsigned int n = 0, numbers = pmu_numbers(pmu->name, number);

	for (unsigned int i = 0; i < numbers; i++) {
		struct perf_event_spec spec = { .type = pmu->type, .config = number[i] };

		while (n < ROWS_OF_PMU && (fd = perf_open_cpu(&spec, cpu)) >= 0)
			fds[n++] = fd;
		if (n < ROWS_OF_PMU && fd != -EINVAL)
			err = fd;
	}
	for (unsigned int i = 0; i < n; i++)
		close(fds[i]);
	return n ? (int)n : err;
}

/* The number that fits on each of the PMU's CPUs; 0: it counts nothing now. */
static unsigned int pmu_rows(const struct pmus_one *pmu, const char *cpus,
			     const struct debug *debug)
{
	unsigned int rows = ROWS_OF_PMU, ncpu = perf_ncpu(), tried = 0;

	for (unsigned int cpu = 0; cpu < ncpu && rows; cpu++) {
		int n;

		if (!cpuranges_has(cpus, cpu) || !perf_cpu_online(cpu))
			continue;
		tried++;
		n = pmus_count_free(pmu, cpu);
		if (n < 0)
			DEBUG(debug, MD, INIT, "PMU %s counts nothing on CPU %u: %s", pmu->name,
			      cpu, strerror(-n));
		if (n == -EINVAL)
			n = ROWS_BLIND;
		if (n < (int)rows)
			rows = n < 0 ? 0 : (unsigned int)n;
	}
	return tried ? rows : 0;
}

/* --- discovery ------------------------------------------------------------------------------- */

static bool pmus_probe(const char *name, struct pmus_one *pmu, const struct debug *debug)
{
	char cpus[4096];

	*pmu = (struct pmus_one){ .first = 0 };
	if (*name == '.' || strlen(name) >= sizeof(pmu->name) || perf_is_core(name) ||
	    pmu_cpu_list(name, cpus, sizeof(cpus)) || pmu_type(name, &pmu->type))
		return false;
	strcpy(pmu->name, name);
	pmu->rows = pmu_rows(pmu, cpus, debug);
	return pmu->rows;
}

static int pmus_by_name(const void *a, const void *b)
{
	return strcmp(((const struct pmus_one *)a)->name, ((const struct pmus_one *)b)->name);
}

/* Where there are too few rows, each PMU has the same share. */
static void pmus_share(struct pmus *p, unsigned int rows)
{
	unsigned int share;

	if (rows > PMUS_ROWS)
		rows = PMUS_ROWS;
	if (p->n > rows) {
		p->left_out += p->n - rows;
		p->n = rows;
	}
	share = p->n ? rows / p->n : 0;
	p->rows = 0;
	for (unsigned int i = 0; i < p->n; i++) {
		struct pmus_one *pmu = &p->one[i];
		char name[sizeof(pmu->name)];

		pmu->first = p->rows;
		if (pmu->rows > share)
			pmu->rows = share;
		memcpy(name, pmu->name, sizeof(name));
		for (unsigned int j = 0; j < pmu->rows; j++) {
			char *text = p->text[p->rows];

			snprintf(text, sizeof(p->text[0]), "%s-%u", name, j);
			p->row[p->rows++] = text;
		}
	}
}

void pmus_discover(struct pmus *p, unsigned int rows, const struct debug *debug)
{
	DIR *dir = opendir(SYSFS_PMUS);
	struct pmus_one pmu;
	struct dirent *d;

	p->n = p->left_out = 0;
	while (dir && (d = readdir(dir))) {
		if (!pmus_probe(d->d_name, &pmu, debug))
			continue;
		if (p->n < PMUS_MAX)
			p->one[p->n++] = pmu;
		else
			p->left_out++;
	}
	if (dir)
		closedir(dir);
	qsort(p->one, p->n, sizeof(p->one[0]), pmus_by_name);
	pmus_share(p, rows);
}
