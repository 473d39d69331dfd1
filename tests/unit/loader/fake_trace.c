/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracing without a kernel: sampling PMCs get a source without any samples. */
#include <stdlib.h>

#include "loader/pmc/lifetime.h"
#include "loader/log/lognumbers.h"
#include "loader/pmc/mappings.h"
#include "loader/kernel/programs.h"
#include "loader/pmc/sample_log.h"
#include "loader/tables/tables.h"

struct sample_log {
	int unused;
};
struct recorder {
	const struct pmc *pmc;
};
struct lifetime {
	int unused;
};

int sample_log_new(struct sample_log **out, const struct samplers_config *config,
	      struct engine *engine, struct lifetime *life, struct kgmon *kgmon, struct reason *why)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -12;
}

void sample_log_free(struct sample_log *t) { free(t); }
bool sample_log_prepare(struct sample_log *t, bool wakers, struct user *user) { return false; }
int sample_log_fd(const struct sample_log *t) { return -1; }
void sample_log_drain(struct sample_log *t) {}
void sample_log_complete(struct sample_log *t) {}
void sample_log_write(struct sample_log *t, struct owner *o) {}
void sample_log_finish(struct sample_log *t, struct owner *o) {}
int sample_log_flush(struct sample_log *t) { return 0; }
void sample_log_listen(struct sample_log *t, bool on) {}
void sample_log_stats(const struct sample_log *t, struct wire_driverstats *stats) {}
int tables_new(struct engine *e, struct errands *es, unsigned int mb, struct tables **out,
	       struct reason *why)
{
	return 0;
}

void tables_stop(struct tables *t)
{
}

void tables_free(struct tables *t)
{
}

void tables_learn(struct tables *t, pid_t pid)
{
}


const struct wire_losses *sample_log_losses(const struct sample_log *t)
{
	static const struct wire_losses losses = { .cut = 3 };

	return &losses;
}

int recorder_new(struct sample_log *t, struct pmc *p, uint32_t rate, struct recorder **out,
		 struct reason *why)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -12;
	(*out)->pmc = p;
	return 0;
}

int recorder_wait(struct recorder *tr, struct reason *why)
{
	return 0;
}

/* As the real one does, which settles its account first. */
void recorder_free(struct recorder *tr)
{
	if (tr && tr->pmc->count)
		(void)count_is_lost(tr->pmc->count);
	free(tr);
}

void recorder_finish(struct recorder *tr) {}
int recorder_start(struct recorder *tr, struct reason *why) { return 0; }
void recorder_stop(struct recorder *tr) {}
int recorder_set_signal(struct recorder *tr, int signal, bool waits, uint32_t n) { return 0; }

uint64_t recorder_overflows(const struct recorder *tr, struct sampler_signals *signals)
{
	*signals = (struct sampler_signals){ .left = 0 };
	return 0;
}

int sample_log_clock(struct sample_log *t, bool on, struct reason *why) { return 0; }
uint64_t recorder_left(struct recorder *tr, pid_t tgid) { return 0; }
void recorder_log_share(struct recorder *tr, pid_t tgid, uint64_t time, uint64_t share) {}
uint32_t recorder_id(const struct recorder *tr) { return 0; }
int recorder_program(const struct recorder *tr) { return -1; }
uint64_t recorder_tag(const struct recorder *tr) { return 0; }

int lifetime_new(struct engine *e, struct errands *es, struct lifetime **out, struct reason *why)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -12;
}

void lifetime_free(struct lifetime *l) { free(l); }
int lifetime_fd(const struct lifetime *l) { return -1; }
int lifetime_listen(struct lifetime *l, struct owner *o, struct reason *why) { return 0; }
bool lifetime_leave(struct lifetime *l, struct owner *o) { return false; }
bool lifetime_follows(struct lifetime *l, const struct pmc *p, pid_t tgid) { return false; }
bool lifetime_attach(struct lifetime *l, struct pmc *p, pid_t tgid, uint64_t since) { return true; }

void lifetime_prune(struct lifetime *l, struct pmc *p, void (*gone)(void *arg, pid_t tgid),
		   void *arg)
{
}

bool lifetime_followed(struct lifetime *l, pid_t tgid) { return false; }

void lifetime_secure(struct lifetime *l, pid_t tgid, bool complete) {}

void lifetime_forget(struct pmc *p) {}
void lifetime_start(struct lifetime *l, struct pmc *p) {}
void lifetime_stop(struct pmc *p) {}
uint64_t lifetime_collect(struct lifetime *l, uint64_t horizon) { return horizon; }
void lifetime_write(struct lifetime *l, uint64_t until) {}
bool lifetime_shows(struct lifetime *l, const struct pmc *p, pid_t tgid) { return true; }
bool lifetime_late(struct lifetime *l) { return false; }
void lifetime_name(struct lifetime *l, const struct pmc *p, pid_t tid, const char *comm) {}
void lifetime_retry(struct lifetime *l, struct pmc *p) {}

bool lifetime_awaits(struct lifetime *l, const struct pmc *p, pid_t tgid, uint64_t since)
{
	return true;
}

void lifetime_parting(struct pmc *p) {}
void lifetime_parted(struct lifetime *l, struct pmc *p) {}

void mappings_of_process(struct errands *es, struct user *u, struct logfile *l, pid_t pid,
			 mappings_show_fn *shows, mappings_name_fn *named, void *arg)
{
}

/* --- lognumbers.h, programs.h: a single PID namespace ----------------------------------------- */

int lognumbers_new(struct engine *e, const struct cred *viewer, struct log_numbers **out,
		   struct reason *why)
{
	*out = NULL;
	return 0;
}

const struct abi_level *programs_nested(const struct programs *p) { return NULL; }
