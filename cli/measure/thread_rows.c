/* SPDX-License-Identifier: BSD-2-Clause */
/* --per-thread: the log's counts of threads as rows. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmclog.h>

#include "cli/common/common.h"
#include "lib/base/array.h"
#include "lib/base/index.h"
#include "measure.h"

/* A thread, and one value for each column; a number may be another thread's later. */
struct thread_counts {
	pid_t pid, tid;
	char name[PMCLOG_COMM + 1];
	pmc_value_t *value;
	bool *known;
};

struct thread_rows {
	struct measure *m;
	struct thread_counts *list;
	size_t n, room;
	struct index latest;		/* the latest thread of a number */
	bool gap;			/* the log lacks records */
};

int thread_rows_check(const struct measure *m)
{
	if (!m->threads)
		return 0;
	for (size_t i = 0; i < m->ncolumns; i++)
		if (m->columns[i].mode != PMC_MODE_TC || m->columns[i].cumulative ||
		    m->columns[i].leader)
			return fail(EX_USAGE, "ERROR: --per-thread is for -p without -C and "
				    "groups: CPUs have no threads, samples name theirs, and its "
				    "rows are totals.");
	if (!m->ncolumns)
		return fail(EX_USAGE, "ERROR: --per-thread requires a -p.");
	if (targets_are_thread(m) || targets_cgroup(m) >= 0)
		return fail(EX_USAGE, "ERROR: --per-thread is for processes, not for -t %s.",
			    m->wanted[0].text);
	if (m->seen & (SEEN_EXIT_LOG | SEEN_SWITCH_LOG) && !m->log)
		return fail(EX_USAGE, "ERROR: -E and -W write to the log, which --per-thread "
			    "reads: name a file by -O.");
	return 0;
}

static uint32_t thread_hash(const struct pmclog_ev_threadvalue *v)
{
	return index_fold(index_mix((uint64_t)v->pl_pid, (uint64_t)v->pl_tid));
}

struct thread_search {
	const struct thread_rows *rows;
	const struct pmclog_ev_threadvalue *value;
};

static bool thread_is(const void *arg, uint32_t position)
{
	const struct thread_search *s = arg;
	const struct thread_counts *t = &s->rows->list[position];

	return t->pid == s->value->pl_pid && t->tid == s->value->pl_tid;
}

static int thread_rows_full(void)
{
	return fail_errno(EX_OSERR, "ERROR: Cannot list the threads");
}

/* Appends a thread, which takes its number from an earlier one. */
static int thread_rows_add(struct thread_rows *rows, const struct pmclog_ev_threadvalue *v,
			   struct index_slot *slot)
{
	struct thread_counts t = { .pid = v->pl_pid, .tid = v->pl_tid };
	size_t columns = rows->m->ncolumns;

	t.value = calloc(columns, sizeof(*t.value) + sizeof(*t.known));
	if (!t.value || array_reserve(rows->list, rows->room, rows->n + 1) != 0) {
		free(t.value);
		return thread_rows_full();
	}
	t.known = (bool *)(t.value + columns);
	rows->list[rows->n++] = t;
	if (slot)
		slot->next = (uint32_t)rows->n;
	else if (index_add(&rows->latest, thread_hash(v), (uint32_t)rows->n - 1) != 0)
		return thread_rows_full();
	return 0;
}

static int thread_rows_take(struct thread_rows *rows, size_t column,
			    const struct pmclog_ev_threadvalue *v)
{
	const struct thread_search search = { rows, v };
	uint32_t hash = thread_hash(v), at = index_find(&rows->latest, hash, thread_is, &search);
	struct thread_counts *t;
	int code = 0;

	if (at == INDEX_NONE || rows->list[at].known[column])
		code = thread_rows_add(rows, v, at == INDEX_NONE ? NULL :
				       index_slot(&rows->latest, hash, thread_is, &search));
	if (code)
		return code;
	at = index_find(&rows->latest, hash, thread_is, &search);
	t = &rows->list[at];
	t->value[column] = v->pl_value;
	t->known[column] = true;
	snprintf(t->name, sizeof(t->name), "%.*s", (int)sizeof(v->pl_tdname), v->pl_tdname);
	return 0;
}

static int thread_rows_record(void *arg, const struct pmclog_ev *ev)
{
	struct thread_rows *rows = arg;
	int code = 0;

	rows->gap |= ev->pl_type == PMCLOG_TYPE_DROPNOTIFY;
	if (ev->pl_type != PMCLOG_TYPE_THR_VALUE)
		return 0;
	for (size_t i = 0; i < rows->m->ncolumns && !code; i++)
		if (rows->m->columns[i].id == ev->pl_u.pl_tv.pl_pmcid)
			code = thread_rows_take(rows, i, &ev->pl_u.pl_tv);
	return code;
}

static int thread_rows_read(struct thread_rows *rows, int fd)
{
	const struct log_user user = { .record = thread_rows_record, .arg = rows };
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	void *parser = NULL;
	int code;

	if (lseek(fd, 0, SEEK_SET) == 0)
		parser = pmclog_open(fd);
	if (!ev || !parser)
		code = fail_errno(EX_OSERR, "ERROR: Cannot read the log");
	else
		code = log_pass(parser, fd, ev, &user);
	if (!code)
		code = log_damage(parser, ev);
	pmclog_close(parser);
	free(ev);
	return code;
}

/* Every event is some thread's.  A thread without events may be missing as well. */
static int thread_rows_add_up(const struct thread_rows *rows)
{
	for (size_t i = 0; i < rows->m->ncolumns; i++) {
		const struct column *column = &rows->m->columns[i];
		pmc_value_t sum = 0;

		for (size_t t = 0; t < rows->n; t++)
			sum += rows->list[t].value[i];
		if (sum != column->value || rows->gap)
			return fail(EX_SOFTWARE, "ERROR: \"%s\" has counted %llu, and the threads "
				    "in the log %llu: records are missing. A larger "
				    "kern.hwpmc.nsamples or user.share may help.", column->name,
				    (unsigned long long)column->value, (unsigned long long)sum);
	}
	return 0;
}

static int thread_order(const void *a, const void *b)
{
	const struct thread_counts *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static void thread_rows_put(struct thread_rows *rows)
{
	struct measure *m = rows->m;

	if (rows->n)
		qsort(rows->list, rows->n, sizeof(*rows->list), thread_order);
	for (size_t t = 0; t < rows->n; t++) {
		const struct row_label label = { rows->list[t].pid, rows->list[t].tid,
						 rows->list[t].name };

		m->table.label = &label;
		for (size_t i = 0; i < m->ncolumns; i++) {
			m->columns[i].value = rows->list[t].value[i];
			m->columns[i].printed = 0;
		}
		m->format->row(&m->out.text, &m->table, 0, m->columns, m->ncolumns);
	}
	m->format->end(&m->out.text, &m->table);
	m->table.label = NULL;
}

int thread_rows_print(struct measure *m)
{
	struct thread_rows rows = { .m = m };
	int code = thread_rows_read(&rows, m->recorded);

	code = code ? code : thread_rows_add_up(&rows);
	if (!code) {
		thread_rows_put(&rows);
		m->out.paced = false;
		code = out_push_all(&m->out);
	}
	for (size_t t = 0; t < rows.n; t++)
		free(rows.list[t].value);
	free(rows.list);
	index_free(&rows.latest);
	return code;
}
