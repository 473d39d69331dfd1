/* SPDX-License-Identifier: BSD-2-Clause */
/* The PMCs of a measurement: allocate, attach, start, read, release. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/common.h"
#include "measure.h"
#include "place.h"

#define WIDTH_UNKNOWN 64u
#define ROW_CHANGES   3		/* for a PMC whose process another owner measures */

static const char *column_scope(const struct column *column)
{
	return PMC_IS_SYSTEM_MODE(column->mode) ? "system" : "process";
}

/* The default: a clock a thousand times a second, other events as the PMU's tables suggest. */
static pmc_value_t column_rate(const struct column *column)
{
	/* A column's name ends at a blank, an event's need not. */
	char *event = column->rate ? NULL : strndup(column->spec, strcspn(column->spec, ","));
	pmc_value_t rate = event ? pmc_pmu_sample_rate_get(event) : column->rate;

	free(event);
	return rate;
}

/* 1 + the index of the column, from the same -s, that shows the sum for this unit; 0: none yet. */
static size_t column_find_sum(const struct measure *m, const struct column *added)
{
	for (const struct column *column = m->columns; *added->unit && column < added; column++)
		if (column->spec == added->spec && !column->part &&
		    strcmp(column->unit, added->unit) == 0)
			return 1 + (size_t)(column - m->columns);
	return 0;
}

int pmcs_add(struct measure *m, const struct column *column)
{
	char *name = array_extend(m->columns, m->ncolumns) == 0 ? column_name(column->spec) : NULL;
	struct column *added = &m->columns[m->ncolumns];

	if (!name)
		return fail_errno(EX_OSERR, "ERROR");
	*added = *column;
	added->name = name;
	added->id = PMC_ID_INVALID;
	added->part = column_find_sum(m, added);
	m->ncolumns++;
	return 0;
}

static int column_fail(const struct measure *m, const struct column *column)
{
	size_t place = 0;

	for (const struct column *before = m->columns; before < column; before++)
		place += before->leader && before->leader == column->leader;
	if (!column->leader)
		return fail_pmc(EX_OSERR, "ERROR: Cannot allocate %s-mode pmc with specification "
				"\"%s\"", column_scope(column), column->spec);
	return fail_pmc(EX_OSERR, "ERROR: Cannot allocate %s-mode pmc with specification \"%s\", "
			"member %zu of a group", column_scope(column), column->spec, 1 + place);
}

static int column_allocate(struct measure *m, struct column *column, const char *spec)
{
	uint32_t bits;

	if (targets_are_thread(m) && PMC_IS_VIRTUAL_MODE(column->mode))
		column->flags |= PMC_F_THREAD;
	if (cgroup_rows_fd(m, column) >= 0 && PMC_IS_VIRTUAL_MODE(column->mode))
		column->flags |= PMC_F_CGROUP;
	if (m->threads)
		column->flags |= PMC_F_LOG_THREXIT;
	if ((column->leader ? pmc_allocate_group : (pmc_allocate))(
		    spec, column->mode, column->flags, column->cpu, &column->id,
		    PMC_IS_SAMPLING_MODE(column->mode) ? column_rate(column) : 0) != 0)
		return column_fail(m, column);
	column->allocated = true;
	if (PMC_ID_TO_CLASS(column->id) == PMC_CLASS_PERF &&
	    pmc_event_unit(spec, &column->scale, column->scaled, sizeof(column->scaled)) != 0)
		*column->scaled = '\0';
	if (*column->unit || pmc_width(column->id, &bits) != 0)
		bits = WIDTH_UNKNOWN;
	column_measure(column, bits);
	if (m->verbosity < 2)
		return 0;
	if (PMC_IS_SYSTEM_MODE(column->mode))
		note("pmc 0x%x \"%s\": row %u of CPU %d", column->id, column->spec,
		     PMC_ID_TO_ROWINDEX(column->id), column->cpu);
	else if (column->flags & PMC_F_CGROUP)
		note("pmc 0x%x \"%s\": row %u, a cgroup", column->id, column->spec,
		     PMC_ID_TO_ROWINDEX(column->id));
	else if (column->flags & PMC_F_THREAD)
		note("pmc 0x%x \"%s\": row %u, a thread", column->id, column->spec,
		     PMC_ID_TO_ROWINDEX(column->id));
	else
		note("pmc 0x%x \"%s\": row %u, processes%s", column->id, column->spec,
		     PMC_ID_TO_ROWINDEX(column->id),
		     column->flags & PMC_F_DESCENDANTS ? " and their descendants" : "");
	return 0;
}

int pmcs_allocate(struct measure *m)
{
	int code = 0;

	if (pmc_init() != 0)
		return fail_pmc(EX_UNAVAILABLE,
				"ERROR: Initialization of the pmc(3) library failed");
	if (pmc_npmc(0) < 0)
		return fail_pmc(EX_OSERR, "ERROR: Cannot determine the number of PMCs on CPU 0");
	code = kinds_split(m);
	for (size_t i = 0; i < m->ncolumns && !code; i++) {
		struct column *column = &m->columns[i];

		if (column->kinds)
			column_measure(column, WIDTH_UNKNOWN);
		else if (!place_waits(column))
			code = column_allocate(m, column, column->spec);
		else if (column->leader)
			return fail(EX_USAGE, "ERROR: \"%s\" in a group: a symbol has an address "
				    "after the exec only, when the group counts: write the "
				    "address, or count it outside of the group.", column->spec);
	}
	return code ? code : groups_commit(m);
}

static int process_attach_one(const struct measure *m, const struct column *column, pid_t pid)
{
	bool waits = pid == m->child.pid ? m->from != FROM_FORK : m->from == FROM_EXEC;

	return (waits ? pmc_attach_exec : pmc_attach)(column->id, pid);
}

/*
 * Another owner measures the process by a PMC on the same row.  A PMC that is allocated beside this
 * one gets another row.
 */
static int column_change_row(struct measure *m, struct column *column)
{
	const pmc_id_t refused = column->id;
	int code = column_allocate(m, column, column->spec);

	if (!code && pmc_release(refused) != 0)
		code = fail_pmc(EX_OSERR, "ERROR: cannot release pmc 0x%x \"%s\"", refused,
				column->name);
	return code;
}

/*
 * A process that has ended meanwhile is an error only if no other is left.  `first`: the PMC has no
 * process yet.
 */
static int column_attach(struct measure *m, struct column *column, pid_t pid, bool first,
			 size_t *attached)
{
	int err = process_attach_one(m, column, pid);

	for (int tries = 0; err && errno == EBUSY && first && !column->leader &&
			    tries < ROW_CHANGES; tries++) {
		int code = column_change_row(m, column);

		if (code)
			return code;
		err = process_attach_one(m, column, pid);
	}
	/* With -d it may be attached already, as the descendant of another target. */
	if (!err || (errno == EEXIST && column->flags & PMC_F_DESCENDANTS)) {
		++*attached;
		return 0;
	}
	if (errno == ESRCH)
		return 0;
	return fail_pmc(EX_OSERR, "ERROR: cannot attach pmc \"%s\" to process %d", column->name,
			(int)pid);
}

/* True for a PMC of processes by which its group is attached. */
static bool column_attaches(const struct measure *m, const struct column *column)
{
	return PMC_IS_VIRTUAL_MODE(column->mode) && column->allocated && groups_lead(m, column);
}

static int column_attach_thread(const struct column *column, pid_t tid, size_t *attached)
{
	if (pmc_attach_thread(column->id, tid) == 0)
		++*attached;
	else if (errno != ESRCH)
		return fail_pmc(EX_OSERR, "ERROR: cannot attach pmc \"%s\" to thread %d",
				column->name, (int)tid);
	return 0;
}

static int thread_attach(struct measure *m, pid_t tid, size_t *attached)
{
	int code = 0;

	for (size_t i = 0; i < m->ncolumns && !code; i++)
		if (column_attaches(m, &m->columns[i]))
			code = column_attach_thread(&m->columns[i], tid, attached);
	if (!code && *attached && m->verbosity >= 2)
		note("attached to thread %d", (int)tid);
	return code;
}

static int process_attach(struct measure *m, pid_t pid, size_t *attached)
{
	size_t before = *attached;
	int code = 0;

	for (size_t i = 0; i < m->ncolumns && !code; i++) {
		if (column_attaches(m, &m->columns[i]))
			code = column_attach(m, &m->columns[i], pid, before == 0, attached);
	}
	if (!code && *attached > before && m->verbosity >= 2)
		note("attached to process %d", (int)pid);
	return code;
}

/* A command is not counted by itself: it ends the measurement. */
static int cgroup_attach(struct measure *m)
{
	for (size_t i = 0; i < m->ncolumns; i++) {
		if (!column_attaches(m, &m->columns[i]))
			continue;
		if (pmc_attach_cgroup(m->columns[i].id, cgroup_rows_fd(m, &m->columns[i])) != 0)
			return fail_pmc(EX_OSERR, "ERROR: cannot attach pmc \"%s\" to \"%s\"",
					m->columns[i].name, m->ncgroups ?
					m->cgroups[m->columns[i].cgroup - 1].path :
					m->wanted[0].text);
	}
	if (m->verbosity >= 2)
		note("attached to %s", m->each ? m->each : m->wanted[0].text);
	return 0;
}

int pmcs_attach(struct measure *m)
{
	size_t attached = 0, wanted = 0;
	int code = place_check(m);

	if (code || !(m->seen & SEEN_PROCESS_PMC))
		return code;
	if (targets_cgroup(m) >= 0 || m->ncgroups)
		return cgroup_attach(m);
	for (size_t i = 0; i < m->ncolumns; i++)
		wanted += column_attaches(m, &m->columns[i]);
	if (m->child.pid)
		code = process_attach(m, m->child.pid, &attached);
	for (size_t i = 0; i < m->ntargets && !code; i++)
		code = m->targets[i].tid ? thread_attach(m, m->targets[i].tid, &attached) :
					   process_attach(m, m->targets[i].pid, &attached);
	if (!code && attached == 0 && wanted)
		code = targets_none_left(m);
	return code;
}

/* A counter that cannot be set, as the time-stamp counter, counts from boot. */
static int column_take_base(struct column *column)
{
	uint32_t caps;

	if (pmc_capabilities(column->id, &caps) != 0)
		return -1;
	return caps & PMC_CAP_WRITE ? 0 : pmc_read(column->id, &column->base);
}

static int column_start(const struct measure *m, struct column *column)
{
	if (groups_lead(m, column) && pmc_start(column->id) != 0)
		return fail_pmc(EX_OSERR, "ERROR: Cannot start pmc 0x%x \"%s\"", column->id,
				column->name);
	if (column_take_base(column) != 0)
		return fail_pmc(EX_OSERR, "ERROR: Cannot read pmc \"%s\"", column->name);
	return 0;
}

int pmcs_join(struct measure *m, struct column *column, const char *spec)
{
	int code = column_allocate(m, column, spec);
	size_t attached = 0;

	if (!code && m->child.pid && pmc_attach(column->id, m->child.pid) != 0)
		code = fail_pmc(EX_OSERR, "ERROR: cannot attach pmc \"%s\" to process %d",
				column->name, (int)m->child.pid);
	attached += m->child.pid != 0;
	for (size_t i = 0; i < m->ntargets && !code; i++)
		code = m->targets[i].tid ?
			       column_attach_thread(column, m->targets[i].tid, &attached) :
			       column_attach(m, column, m->targets[i].pid, false, &attached);
	if (!code && attached == 0)
		code = targets_none_left(m);
	return code ? code : column_start(m, column);
}

int pmcs_start(struct measure *m)
{
	int code = 0;

	for (size_t i = 0; i < m->ncolumns && !code; i++)
		if (m->columns[i].allocated)
			code = column_start(m, &m->columns[i]);
	if (code)
		return code;
	clock_gettime(CLOCK_MONOTONIC, &m->started);
	return 0;
}

/* Has the PMC's CPU gone offline?  It counts again when the CPU is back. */
static bool column_went_offline(const struct measure *m, struct column *column)
{
	if (errno != ENXIO || !PMC_IS_SYSTEM_MODE(column->mode))
		return false;
	if (!column->away && m->verbosity > 0)
		note("WARNING: CPU %d is offline: \"%s\" stands still", column->cpu, column->name);
	column->away = true;
	return true;
}

static int column_read(struct measure *m, struct column *column)
{
	pmc_value_t value;

	if (column->leader)
		return groups_read(m, column);
	if (pmc_read(column->id, &value) != 0)
		return -1;
	column->value = value - column->base;
	return 0;
}

int pmcs_read(struct measure *m)
{
	for (size_t i = 0; i < m->ncolumns; i++) {
		struct column *column = &m->columns[i];

		if (column->kinds || !groups_lead(m, column) ||
		    PMC_IS_SAMPLING_MODE(column->mode))
			continue;
		if (column_read(m, column) == 0) {
			column->away = false;
		} else if (!column_went_offline(m, column)) {
			return fail_pmc(EX_OSERR, "ERROR: Cannot read pmc \"%s\"", column->name);
		}
	}
	return 0;
}

static bool sigio_take(void)
{
	const struct timespec now = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	return sigtimedwait(&set, NULL, &now) == SIGIO;
}

/*
 * Reading a PMC that has no targets raises SIGIO.  The first read flushes out signals that were
 * already due, the second one decides.
 */
static bool column_has_targets(const struct column *column)
{
	pmc_value_t value;

	if (pmc_read(column->id, &value) != 0)
		return false;
	sigio_take();
	return pmc_read(column->id, &value) == 0 && !sigio_take();
}

bool pmcs_have_descendants(const struct measure *m)
{
	for (size_t i = 0; i < m->ncolumns; i++) {
		const struct column *column = &m->columns[i];

		if (PMC_IS_VIRTUAL_MODE(column->mode) && column->flags & PMC_F_DESCENDANTS &&
		    !column->kinds && column_has_targets(column))
			return true;
	}
	return false;
}

/* Stops and releases all PMCs, whatever fails; returns the first failure. */
int pmcs_release(struct measure *m)
{
	int code = 0;

	for (size_t i = 0; i < m->ncolumns; i++) {
		struct column *column = &m->columns[i];

		if (!column->allocated)
			continue;
		column->allocated = false;
		if (!groups_lead(m, column))	/* it goes with the first of its group */
			continue;
		if (pmc_stop(column->id) != 0 && !column_went_offline(m, column) && !code)
			code = fail_pmc(EX_OSERR, "ERROR: cannot stop pmc 0x%x \"%s\"", column->id,
					column->name);
		if (m->threads && pmc_read(column->id, &column->value) != 0 && !code)
			code = fail_pmc(EX_OSERR, "ERROR: Cannot read pmc \"%s\"", column->name);
		if (pmc_release(column->id) != 0 && !code)
			code = fail_pmc(EX_OSERR, "ERROR: cannot release pmc 0x%x \"%s\"",
					column->id, column->name);
	}
	return code;
}
