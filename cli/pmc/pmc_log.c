/* SPDX-License-Identifier: BSD-2-Clause */
/* One pass over a log: see pmc_log.h. */
#include "lib/base/array.h"
#include "cli/common/common.h"
#include "pmc_log.h"
#include "cli/profile/profile.h"

struct wanted {
	const struct names *names;
	uint32_t id;
};

static bool name_same_id(const void *arg, uint32_t position)
{
	const struct wanted *w = arg;

	return w->names->list[position].id == w->id;
}

static struct name *name_find(const struct names *names, uint32_t id)
{
	const struct wanted wanted = { names, id };
	uint32_t hash = index_fold(index_mix(0, id));
	uint32_t at = index_find(&names->index, hash, name_same_id, &wanted);

	return at == INDEX_NONE ? NULL : &names->list[at];
}

const struct name *pmc_log_name(const struct names *names, uint32_t id)
{
	return name_find(names, id);
}

/* NULL: no memory. */
static struct name *name_add(struct names *names, uint32_t id)
{
	if (array_reserve(names->list, names->room, names->n + 1) != 0)
		return NULL;
	names->list[names->n] = (struct name){ .id = id };
	if (index_add(&names->index, index_fold(index_mix(0, id)), (uint32_t)names->n) != 0)
		return NULL;
	return &names->list[names->n++];
}

static int names_set(struct names *names, uint32_t id, const char *text, uint64_t rate)
{
	char *copy = strdup(text);	/* it may be one of these names */
	struct name *name = name_find(names, id);

	if (copy && !name)
		name = name_add(names, id);
	if (!copy || !name) {
		free(copy);
		return fail(EX_OSERR, "ERROR: no memory for the names in the log");
	}
	free(name->text);
	name->text = copy;
	name->rate = rate;
	return 0;
}

/* A child has its parent's name until it execs. */
static int log_learn_fork(struct names *processes, const struct pmclog_ev_procfork *fork)
{
	const struct name *parent = pmc_log_name(processes, (uint32_t)fork->pl_oldpid);

	return parent ? names_set(processes, (uint32_t)fork->pl_newpid, parent->text, 0) : 0;
}

/* After an exec the first thread has the program's name. */
static int log_learn_exec(struct log_names *names, uint32_t pid, const char *program)
{
	int code = names_set(&names->processes, pid, program, 0);

	if (!code && pmc_log_name(&names->threads, pid))
		code = names_set(&names->threads, pid, program, 0);
	return code;
}

int pmc_log_learn(struct log_names *names, const struct pmclog_ev *ev)
{
	switch (ev->pl_type) {
	case PMCLOG_TYPE_PMCALLOCATE:
		return names_set(&names->events, ev->pl_u.pl_a.pl_pmcid, ev->pl_u.pl_a.pl_evname,
				 ev->pl_u.pl_a.pl_rate);
	case PMCLOG_TYPE_PMCALLOCATEDYN:
		return names_set(&names->events, ev->pl_u.pl_ad.pl_pmcid, ev->pl_u.pl_ad.pl_evname,
				 ev->pl_u.pl_ad.pl_rate);
	case PMCLOG_TYPE_PMCATTACH:
		return names_set(&names->processes, (uint32_t)ev->pl_u.pl_t.pl_pid,
				 path_name(ev->pl_u.pl_t.pl_pathname), 0);
	case PMCLOG_TYPE_PROCEXEC:
		return log_learn_exec(names, (uint32_t)ev->pl_u.pl_x.pl_pid,
				      path_name(ev->pl_u.pl_x.pl_pathname));
	case PMCLOG_TYPE_PROC_CREATE:
		return names_set(&names->processes, (uint32_t)ev->pl_u.pl_pc.pl_pid,
				 ev->pl_u.pl_pc.pl_pcomm, 0);
	case PMCLOG_TYPE_THR_CREATE:
		return names_set(&names->threads, (uint32_t)ev->pl_u.pl_tc.pl_tid,
				 ev->pl_u.pl_tc.pl_tdname, 0);
	case PMCLOG_TYPE_PROCFORK:
		return log_learn_fork(&names->processes, &ev->pl_u.pl_f);
	default:
		return 0;
	}
}

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i].text);
	free(names->list);
	index_free(&names->index);
}

void pmc_log_names_free(struct log_names *names)
{
	names_free(&names->processes);
	names_free(&names->threads);
	names_free(&names->events);
}

int pmc_log_each(int fd, const char *file, const struct log_user *user)
{
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	void *parser = pmclog_open(fd);
	int code;

	if (!ev || !parser)
		code = fail(EX_OSERR, "ERROR: Cannot allocate memory to read \"%s\"", file);
	else
		code = log_pass(parser, fd, ev, user);
	if (!code && ev && ev->pl_state == PMCLOG_ERROR)
		code = fail(EX_DATAERR, "ERROR: \"%s\", record %zu at offset 0x%jx: %s", file,
			    ev->pl_count + 1, (intmax_t)ev->pl_offset, pmclog_errstr(parser));
	pmclog_close(parser);
	free(ev);
	return code;
}
