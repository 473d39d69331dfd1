/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of processes on a machine whose CPUs are of several kinds: a PMC for each kind, whose
 * column is shown, and before them a column of their sum.  Samples have no sum.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/common/common.h"
#include "lib/base/array.h"
#include "measure.h"

int kinds_find(const char *spec, enum pmc_mode mode, char ***specs)
{
	int n;

	*specs = NULL;
	if (!PMC_IS_VIRTUAL_MODE(mode) || pmc_event_kinds(spec, mode, specs, &n) != 0)
		return 0;
	if (n == 0) {
		free(*specs);
		*specs = NULL;
	}
	return n;
}

/* Columns behind `at` have moved by `more`. */
static void columns_renumber(struct measure *m, size_t at, size_t more)
{
	for (size_t i = 0; i < m->ncolumns; i++) {
		struct column *column = &m->columns[i];

		if (column->leader > at + 1)
			column->leader += more;
		if (column->part > at + 1)
			column->part += more;
	}
}

/* Makes room for `more` columns behind one. */
static int columns_insert(struct measure *m, size_t at, size_t more)
{
	for (size_t i = 0; i < more; i++) {
		if (array_extend(m->columns, m->ncolumns) != 0)
			return fail_errno(EX_OSERR, "ERROR");
		m->columns[m->ncolumns++] = (struct column){ .spec = "", .id = PMC_ID_INVALID };
	}
	memmove(&m->columns[at + 1 + more], &m->columns[at + 1],
		(m->ncolumns - at - 1 - more) * sizeof(*m->columns));
	columns_renumber(m, at, more);
	return 0;
}

/* The sum is in no group: its first part leads the group that it has led. */
static void column_become_sum(struct measure *m, size_t at, size_t n)
{
	const size_t leader = m->columns[at].leader;

	m->columns[at].kinds = n;
	m->columns[at].leader = 0;
	for (size_t i = 0; i < m->ncolumns && leader == at + 1; i++)
		if (m->columns[i].leader == leader)
			m->columns[i].leader = leader + 1;
}

static int column_split(struct measure *m, size_t at)
{
	const struct column whole = m->columns[at];
	bool sum = PMC_IS_COUNTING_MODE(whole.mode);
	char **specs;
	size_t n = (size_t)kinds_find(whole.spec, whole.mode, &specs), first = at + sum;
	int code = n ? columns_insert(m, at, n - !sum) : 0;

	if (code || !n) {
		free(specs);
		return code;
	}
	if (!sum)
		free(whole.name);
	for (size_t i = 0; i < n; i++) {
		struct column *column = &m->columns[first + i];

		*column = whole;
		column->spec = specs[i];
		column->name = column_name(specs[i]);
		if (!column->name)
			code = fail_errno(EX_OSERR, "ERROR");
	}
	m->columns[at].specs = specs;
	if (sum)
		column_become_sum(m, at, n);
	return code;
}

int kinds_split(struct measure *m)
{
	int code = 0;

	for (size_t i = 0; i < m->ncolumns && !code; i++) {
		if (place_waits(&m->columns[i]))
			continue;
		code = column_split(m, i);
		i += m->columns[i].kinds;
	}
	return code;
}
