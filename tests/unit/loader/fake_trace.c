/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracing without a kernel: sampling PMCs get a source that never says anything. */
#include <stdlib.h>

#include "loader/pmc/lifetime.h"
#include "loader/log/lognumbers.h"
#include "loader/pmc/mappings.h"
#include "loader/kernel/programs.h"
#include "loader/pmc/sample_log.h"

struct trace {
	int unused;
};
struct tracer {
	int unused;
};
struct lifelog {
	int unused;
};

int trace_new(struct trace **out, const struct samplers_config *config,
	      struct engine *engine, struct lifelog *life, struct kgmon *kgmon, struct why *why)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -12;
}

void trace_free(struct trace *t)
{
	free(t);
}

int trace_fd(const struct trace *t)
{
	return -1;
}

void trace_drain(struct trace *t)
{
}

void trace_flush(struct trace *t)
{
}

void trace_listen(struct trace *t, bool on)
{
}

void trace_stats(const struct trace *t, struct wire_driverstats *stats)
{
}

uint64_t trace_chains_cut(const struct trace *t)
{
	return 3;
}

int tracer_new(struct trace *t, struct pmc *p, struct tracer **out, struct why *why)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -12;
}

void tracer_free(struct tracer *tr)
{
	free(tr);
}

void tracer_drain(struct tracer *tr)
{
}

int tracer_start(struct tracer *tr, struct why *why)
{
	return 0;
}

void tracer_stop(struct tracer *tr)
{
}

int trace_clock(struct trace *t, bool on, struct why *why)
{
	return 0;
}

void tracer_left(struct tracer *tr, pid_t tgid, bool exec)
{
}

uint32_t tracer_id(const struct tracer *tr)
{
	return 0;
}

int tracer_program(const struct tracer *tr)
{
	return -1;
}

uint64_t tracer_tag(const struct tracer *tr)
{
	return 0;
}

int lifelog_new(struct engine *e, struct errands *es, struct lifelog **out, struct why *why)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -12;
}

void lifelog_free(struct lifelog *l)
{
	free(l);
}

int lifelog_fd(const struct lifelog *l)
{
	return -1;
}

int lifelog_listen(struct lifelog *l, struct owner *o, struct why *why)
{
	return 0;
}

bool lifelog_leave(struct lifelog *l, struct owner *o)
{
	return false;
}

bool lifelog_follows(struct lifelog *l, const struct pmc *p, pid_t tgid)
{
	return false;
}

bool lifelog_attach(struct lifelog *l, struct pmc *p, pid_t tgid, uint64_t since)
{
	return true;
}

void lifelog_prune(struct lifelog *l, struct pmc *p, void (*gone)(void *arg, pid_t tgid),
		   void *arg)
{
}

bool lifelog_followed(struct lifelog *l, pid_t tgid)
{
	return false;
}

void lifelog_secure(struct lifelog *l, pid_t tgid,
		    void (*left)(void *arg, struct pmc *p, pid_t tgid), void *arg)
{
}

void lifelog_forget(struct pmc *p)
{
}

void lifelog_start(struct lifelog *l, const struct pmc *p)
{
}

uint64_t lifelog_collect(struct lifelog *l, uint64_t horizon)
{
	return horizon;
}

void lifelog_tell(struct lifelog *l, uint64_t until)
{
}

bool lifelog_shows(struct lifelog *l, const struct pmc *p, pid_t tgid)
{
	return true;
}

bool lifelog_late(struct lifelog *l)
{
	return false;
}

void lifelog_name(struct lifelog *l, const struct pmc *p, pid_t tid, const char *comm)
{
}

void lifelog_retry(struct lifelog *l, struct pmc *p)
{
}

bool lifelog_awaits(struct lifelog *l, const struct pmc *p, pid_t tgid, uint64_t since)
{
	return true;
}

void lifelog_parting(struct pmc *p)
{
}

void lifelog_parted(struct lifelog *l, struct pmc *p)
{
}

void mappings_of_process(struct errands *es, struct user *u, struct logfile *l, pid_t pid,
			 mappings_show_fn *shows, mappings_name_fn *named, void *arg)
{
}

/* --- lognumbers.h, programs.h: everybody is in one PID namespace ------------------------------ */

int lognumbers_new(struct engine *e, const struct cred *viewer, struct log_numbers **out,
		   struct why *why)
{
	*out = NULL;
	return 0;
}

const struct abi_level *programs_nested(const struct programs *p)
{
	return NULL;
}
