/* SPDX-License-Identifier: BSD-2-Clause */
/* Drains the rings and writes their records to logs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "drain_waits.h"
#include "loader/base/base.h"
#include "kgmon.h"
#include "lifetime.h"
#include "loader/log/log.h"
#include "pmc.h"
#include "loader/kernel/kernel.h"
#include "recorder.h"
#include "sample_log.h"
#include "sample_chain.h"
#include "sample_needs.h"
#include "sample_values.h"
#include "waker_record.h"

#define MAX_RECORDERS ABI_SAMPLERS	/* an id is slot | generation * this */
_Static_assert(ABI_PC_KERNEL == PMCLOG_PC_KERNEL, "the log's value and the ring's");

#define TICK_NS	    50000000		/* between drains; a half-full ring causes one earlier */
#define WAIT_NS	    2000000		/* the same while a fiber waits for them */

struct sample_log {
	struct engine *engine;
	struct lifetime *life;
	uint64_t lost;			/* the part of programs_lost_records() accounted for */
	struct samplers *samplers;
	struct sample_chains chains;
	struct kgmon *kgmon;
	struct profclock *clock;	/* NULL: it does not run */
	uint32_t clock_id;
	struct abi_samples clock_accounted;	/* the part of sampler_counts() accounted for */
	bool rings;			/* the rings exist */
	int epoll, timer;
	unsigned int nrecorders, nlogs;
	struct sample_needs needs;
	uint32_t generation;
	struct wire_driverstats stats;
	struct drain_waits waits;
	struct recorder *slot[MAX_RECORDERS];
};

int sample_log_new(struct sample_log **out, const struct samplers_config *config,
	      struct engine *engine, struct lifetime *life, struct kgmon *kgmon, struct reason *why)
{
	struct samplers_config with_map = *config;
	struct sample_log *t = calloc(1, sizeof(*t));
	struct epoll_event e = { .events = EPOLLIN };
	int err;

	if (!t)
		return deny(why, -ENOMEM, "no memory for tracing");
	with_map.map = programs_rings(engine->programs);
	with_map.engine = engine;
	programs_offcpu_maps(engine->programs, &with_map.offcpus, &with_map.offcpu_waits);
	t->engine = engine;
	t->needs = (struct sample_needs){ .engine = engine, .unwind = config->unwind };
	t->life = life;
	t->kgmon = kgmon;
	drain_waits_init(&t->waits);
	t->chains.unwinder = engine->unwinder;
	t->chains.kept = kept_records_new(config->ncpu);
	t->chains.python = sample_python_new(t->chains.kept);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!t->chains.kept || !t->chains.python || t->epoll < 0 || t->timer < 0 ||
	    epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->timer, &e))
		err = deny(why, -errno, "cannot set up tracing: %m");
	else
		err = samplers_new(&with_map, &t->samplers, why);
	if (err) {
		sample_log_free(t);
		return err;
	}
	sample_python_program(t->chains.python, t->samplers);
	engine->samplers = t->samplers;
	*out = t;
	return 0;
}

void sample_log_free(struct sample_log *t)
{
	if (!t)
		return;
	profclock_free(t->clock);
	t->engine->samplers = NULL;
	samplers_free(t->samplers);
	sample_python_free(t->chains.python);
	kept_records_free(t->chains.kept);
	if (t->timer >= 0)
		close(t->timer);
	if (t->epoll >= 0)
		close(t->epoll);
	free(t);
}

int sample_log_fd(const struct sample_log *t)
{
	return t->epoll;
}

/* The timer drains rings and buffers that fill slowly. */
static void timer_set(const struct sample_log *t)
{
	bool on = t->nrecorders || t->nlogs || t->clock;
	long ns = drain_waits_any(&t->waits) ? WAIT_NS : on ? TICK_NS : 0;
	struct itimerspec when = { .it_value.tv_nsec = ns, .it_interval.tv_nsec = ns };

	timerfd_settime(t->timer, 0, &when, NULL);
}

void sample_log_listen(struct sample_log *t, bool on)
{
	struct epoll_event e = { .events = EPOLLIN };

	/* The reader removes itself from the loop when it is closed. */
	if (on && !t->nlogs++)
		(void)epoll_ctl(t->epoll, EPOLL_CTL_ADD, lifetime_fd(t->life), &e);
	t->nlogs -= !on;
	timer_set(t);
}

/* --- records -------------------------------------------------------------------------------- */

static void wait_put(struct sample_log *t, struct recorder *tr, const struct abi_rec *rec,
		     const uint64_t *data)
{
	struct pmclog_ev waker;		/* not worth clearing */
	bool woken = waker_record_make(&waker, t->life, t->chains.kept, tr->pmc, rec);

	sample_chain_put_wait(&t->chains, &tr->offcpu, tr->pmc, rec, data, woken ? &waker : NULL);
}

static void sample_put(struct sample_log *t, struct recorder *tr, const struct abi_rec *rec,
		       const uint64_t *data)
{
	enum admission admission = lifetime_admits(t->life, tr->pmc, (pid_t)rec->pid, rec->time);
	int err = 0;

	if (admission == ADMITTED_LATER) {
		t->stats.intr_bufferfull++;
		logfile_gap(tr->pmc->owner->log);
	}
	if (admission == ADMITTED && rec->kind == ABI_REC_OFFCPU) {
		wait_put(t, tr, rec, data);
		return;
	}
	if (admission == ADMITTED && tr->pmc->values)
		err = sample_values_put(t->chains.kept, rec, tr->pmc, &tr->clock);
	if (err == -ENOENT)
		owner_lost(tr->pmc->owner, &t->stats, 1, 0);
	if (admission == ADMITTED && !err)
		sample_chain_put(&t->chains, tr->pmc, rec, data);
}

/* Those that a program sends before a sample. */
static bool record_keep(struct sample_chains *cs, const struct abi_rec *rec, const uint64_t *data)
{
	switch (rec->kind) {
	case ABI_REC_VALUES:
	case ABI_REC_STACK:
	case ABI_REC_PYTHON:
	case ABI_REC_WAKER:
		kept_record_add(cs->kept, rec, data);
		return true;
	case ABI_REC_CODE:
		sample_python_code(cs->python, data, rec->n);
		return true;
	}
	return false;
}

static void record_take(void *arg, const struct abi_rec *rec, const uint64_t *data)
{
	struct sample_log *t = arg;
	struct recorder *tr = t->slot[rec->pmc % MAX_RECORDERS];

	lifetime_write(t->life, rec->time);
	if (record_keep(&t->chains, rec, data))
		return;
	if (rec->kind == ABI_REC_UNMAP) {
		if (rec->n == 2)
			lifetime_unmap(t->life, rec->time, (pid_t)rec->pid, data[0], data[1]);
		return;
	}
	if (t->clock && rec->pmc == t->clock_id && rec->n)
		kgmon_sample(t->kgmon, true, rec->flags & ABI_REC_USER, data[0]);
	/* Records of a PMC that was released or stopped are dropped. */
	if (!tr || tr->id != rec->pmc || tr->pmc->state != PMC_STATE_RUNNING || !rec->n)
		return;
	if (tr->profiles)
		kgmon_sample(t->kgmon, false, rec->flags & ABI_REC_USER, data[0]);
	else if (tr->pmc->owner->log && record_is_sample(rec))
		sample_put(t, tr, rec, data);
	else if (tr->pmc->owner->log)
		recorder_put_value(tr, rec, data);
}

static void owner_account_records(struct sample_log *t, struct owner *o)
{
	uint32_t lost = o->counts ? owner_maps_owner(t->engine, count_owner_slot(o->counts))
					    ->lost_records : 0;

	owner_lost(o, &t->stats, lost - o->lost_records, 0);
	o->lost_records = lost;
}

/* Logs the records that found no room in a ring, and pauses of sampling. */
static void recorder_account(struct sample_log *t, struct recorder *tr)
{
	struct owner *o = tr->pmc->owner;
	struct abi_samples now, *accounted = &tr->accounted;
	uint32_t missing, gaps;
	bool lost;

	if (!tr->samples) {
		owner_account_records(t, o);
		return;
	}
	if (tr->waits)
		offcpu_log_counts(&tr->offcpu, tr->pmc);
	/* A PMC has no count at the beginning of its allocation and at the end of its release. */
	lost = !tr->lost && tr->pmc->count && count_is_lost(tr->pmc->count);
	now = sampler_counts(t->samplers, tr->id);
	if (lost) {
		tr->lost = true;
		pmc_say_lost(tr->pmc, t->engine->debug->messages);
	}
	t->stats.intr_processed += (uint32_t)(now.samples - accounted->samples);
	o->stats.intr_processed += (uint32_t)(now.samples - accounted->samples);
	o->user->stats.intr_processed += (uint32_t)(now.samples - accounted->samples);
	missing = (uint32_t)(now.dropped - accounted->dropped);
	gaps = (uint32_t)(lost + now.paused - accounted->paused);
	if (tr->profiles) {
		kgmon_lost(t->kgmon, false, missing + gaps);
		t->stats.intr_bufferfull += missing + gaps;
	} else {
		owner_lost(o, &t->stats, missing, gaps);
	}
	if (now.dropped != accounted->dropped)
		DEBUG(t->engine->debug, SAMPLING, INTR,
		      "PMC 0x%08x: %llu samples found no room", tr->pmc->id,
		      (unsigned long long)(now.dropped - accounted->dropped));
	if (now.paused != accounted->paused && !tr->paused) {
		tr->paused = true;
		pmc_say_paused(tr->pmc, t->engine->debug->messages);
	}
	*accounted = now;
}

/* Accounts for the profiling clock's samples; the profile lacks those of CPUs without the clock. */
static void clock_account(struct sample_log *t)
{
	struct abi_samples now, *accounted = &t->clock_accounted;

	if (!t->clock)
		return;
	now = sampler_counts(t->samplers, t->clock_id);
	t->stats.intr_processed += (uint32_t)(now.samples - accounted->samples);
	t->stats.intr_bufferfull += (uint32_t)(now.dropped - accounted->dropped);
	kgmon_lost(t->kgmon, true, profclock_cpus(t->clock) + now.dropped - accounted->dropped +
				   now.paused - accounted->paused);
	*accounted = now;
}

/* Lost records of unmapped memory: every log lacks them, but each user is charged once. */
static void unmaps_account(struct sample_log *t)
{
	uint64_t lost = programs_lost_records(t->engine->programs);
	uint32_t n = (uint32_t)(lost - t->lost);
	struct user_table *users = NULL;
	struct user *u;

	t->lost = lost;
	t->stats.intr_bufferfull += n;
	for (unsigned int i = 0; n && i < MAX_RECORDERS; i++) {
		struct owner *o = t->slot[i] ? t->slot[i]->pmc->owner : NULL;

		if (!o || !o->log || o->lost_unmaps == lost)
			continue;
		o->lost_unmaps = lost;
		o->stats.intr_bufferfull += n;
		logfile_gap(o->log);
		users = o->user->table;
	}
	if (users)
		LIST_FOREACH(u, &users->users, next)
			u->stats.intr_bufferfull += n;
}

void sample_log_drain(struct sample_log *t)
{
	unsigned int left = t->nrecorders;
	uint64_t ticks, begun = clock_ns(), horizon = lifetime_collect(t->life, begun);

	(void)!read(t->timer, &ticks, sizeof(ticks));
	if (t->rings)
		horizon = rings_drain(samplers_rings(t->samplers), horizon, record_take, t);
	lifetime_write(t->life, horizon);
	if (t->rings)
		t->stats.log_sweeps++;
	unmaps_account(t);
	clock_account(t);
	for (unsigned int i = 0; left && i < MAX_RECORDERS; i++)
		if (t->slot[i]) {
			recorder_account(t, t->slot[i]);
			if (t->slot[i]->pmc->owner->log)
				logfile_release(t->slot[i]->pmc->owner->log, false);
			left--;
		}
	drain_waits_wake(&t->waits, begun, horizon);
}

/* False: some records up to now are still to come. */
static bool drain_complete(struct sample_log *t)
{
	struct fibers *fs = t->engine->fibers;
	uint64_t now = clock_ns();
	struct drain_wait w;

	sample_log_drain(t);
	if (t->waits.written < now && drain_wait_begin(&t->waits, fs, &w)) {
		timer_set(t);
		drain_wait_end(&t->waits, fs, &w, now);
		timer_set(t);
	}
	return t->waits.written >= now;
}

void sample_log_complete(struct sample_log *t)
{
	(void)drain_complete(t);
}

/* Late samples up to now are written by the next drains, or at once if no fiber can wait. */
static void late_finish(struct sample_log *t, struct owner *o)
{
	struct fibers *fs = t->engine->fibers;
	uint64_t now = clock_ns();
	struct drain_wait w;

	while (o->log && logfile_is_late(o->log, now)) {
		if (!drain_wait_begin(&t->waits, fs, &w)) {
			logfile_release(o->log, true);
			return;
		}
		timer_set(t);
		drain_wait_next(&t->waits, fs, &w);
		timer_set(t);
	}
}

void sample_log_write(struct sample_log *t, struct owner *o)
{
	(void)drain_complete(t);
	late_finish(t, o);
}

void sample_log_finish(struct sample_log *t, struct owner *o)
{
	uint64_t now = clock_ns();

	if (o->log && (!drain_complete(t) || lifetime_withholds(t->life, o, now)))
		owner_lost(o, &t->stats, 0, 1);
	late_finish(t, o);
}

int sample_log_flush(struct sample_log *t)
{
	int err = flush_all(t->engine->flush);

	sample_log_drain(t);
	return err;
}

void sample_log_stats(const struct sample_log *t, struct wire_driverstats *stats)
{
	stats->intr_processed += t->stats.intr_processed;
	stats->intr_bufferfull += t->stats.intr_bufferfull;
	stats->log_sweeps += t->stats.log_sweeps;
}

const struct wire_losses *sample_log_losses(const struct sample_log *t)
{
	return &t->chains.losses;
}

/* Finds a slot without a PMC or the profiling clock; -EAGAIN: none is left. */
static int slot_find_free(const struct sample_log *t, struct reason *why)
{
	for (unsigned int i = 0; i < MAX_RECORDERS; i++)
		if (!t->slot[i] && !(t->clock && t->clock_id % MAX_RECORDERS == i))
			return (int)i;
	return deny(why, -EAGAIN, "all %u places for sampling PMCs are taken, one of them perhaps "
		    "by the profiling clock (kgmon -h ends it)", MAX_RECORDERS);
}

/* --- the profiling clock -------------------------------------------------------------------- */

static int rings_make(struct sample_log *t, struct reason *why)
{
	struct epoll_event e = { .events = EPOLLIN };
	int err;

	if (t->rings)
		return 0;
	err = samplers_begin(t->samplers, why);
	if (!err && epoll_ctl(t->epoll, EPOLL_CTL_ADD, samplers_fd(t->samplers), &e) &&
	    errno != EEXIST)
		err = deny(why, -errno, "cannot watch the rings: %m");
	t->rings = !err;
	return err;
}

static int clock_begin(struct sample_log *t, struct reason *why)
{
	struct profclock_config config = { .engine = t->engine, .rate = KGMON_RATE };
	int err = rings_make(t, why), slot = err ?: slot_find_free(t, why);

	if (slot < 0)
		return slot;
	config.program = samplers_program(t->samplers, why);
	if (config.program < 0)
		return config.program;
	t->clock_id = ABI_LOG_ID(++t->generation * MAX_RECORDERS + (uint32_t)slot);
	t->clock_accounted = sampler_counts(t->samplers, t->clock_id);
	config.tag = sampler_set(t->samplers, &(struct sampler_spec){ .id = t->clock_id });
	err = profclock_new(&config, &t->clock, why);
	if (err)
		sampler_clear(t->samplers, t->clock_id);
	return err;
}

int sample_log_clock(struct sample_log *t, bool on, struct reason *why)
{
	int err = on && !t->clock ? clock_begin(t, why) : 0;

	if (!on && t->clock) {
		sampler_clear(t->samplers, t->clock_id);
		sample_log_drain(t);		/* the last samples belong to the profile */
		profclock_free(t->clock);
		t->clock = NULL;
	}
	timer_set(t);
	return err;
}

bool sample_log_prepare(struct sample_log *t, bool wakers, struct user *user)
{
	uint64_t *turn = &user->last_load;
	bool waited = samplers_prepare(t->samplers, turn);

	return (wakers && samplers_prepare_wakers(t->samplers, turn)) || waited;
}

/* --- sources -------------------------------------------------------------------------------- */

int recorder_new(struct sample_log *t, struct pmc *p, uint32_t rate, struct recorder **out,
		 struct reason *why)
{
	bool profiles = p->flags & PMC_F_KGMON;	/* only addresses are recorded */
	struct recorder *tr = NULL;
	int slot, err = rings_make(t, why);

	err = err ?: user_take(p->owner->user->table, p->owner->user, POOL_SAMPLERS, 1, why);
	if (err)
		return err;
	slot = slot_find_free(t, why);
	tr = slot < 0 ? NULL : calloc(1, sizeof(*tr));
	if (!tr) {
		user_give(p->owner->user->table, p->owner->user, POOL_SAMPLERS, 1);
		return slot < 0 ? slot : deny(why, -ENOMEM, "no memory for a sampling PMC");
	}
	tr->t = t;
	tr->engine = t->engine;
	tr->pmc = p;
	tr->clock.rate = rate;
	tr->id = ABI_LOG_ID(++t->generation * MAX_RECORDERS + (uint32_t)slot);
	tr->samples = pmc_is_sampling(p);
	if (tr->samples) {
		tr->program = samplers_program(t->samplers, why);
		err = tr->program < 0 ? tr->program : 0;
	}
	if (err) {
		user_give(p->owner->user->table, p->owner->user, POOL_SAMPLERS, 1);
		free(tr);
		return err;
	}
	if (tr->samples) {
		sample_needs_take(&t->needs, &tr->need, p, !profiles, !profiles &&
				  p->flags & (PMC_F_CALLCHAIN | PMC_F_USERCALLCHAIN));
		tr->accounted = sampler_counts(t->samplers, tr->id);
		tr->before = tr->accounted.samples;
		tr->samplers = t->samplers;
		tr->tag = sampler_set(t->samplers, &(struct sampler_spec){
			.id = tr->id,
			.chain = p->flags & (PMC_F_CALLCHAIN | PMC_F_USERCALLCHAIN) && !profiles,
			.both_sides = p->flags & PMC_F_USERCALLCHAIN && !profiles,
			.hides_kernel = p->kernel == KERNEL_HIDDEN,
			.values = p->values,
			.unwind = tr->need.mappings,
			.signal = p->signal,
		});
	}
	t->slot[slot] = tr;
	t->nrecorders++;
	timer_set(t);
	DEBUG(t->engine->debug, SAMPLING, ALLOCATE, "PMC of pid %d: number %u in records",
	      p->owner->cred.pid, tr->id);
	*out = tr;
	return 0;
}

void recorder_free(struct recorder *tr)
{
	if (!tr)
		return;
	recorder_account(tr->t, tr);
	if (tr->pmc->nlate)
		logfile_release(tr->pmc->owner->log, true);
	recorder_stop(tr);
	if (tr->waits && tr->pmc->flags & PMC_F_WAKERS)
		samplers_unwakers(tr->t->samplers);
	if (tr->waits)
		samplers_unwait(tr->t->samplers);
	if (tr->samples) {
		sampler_clear(tr->t->samplers, tr->id);
		sample_needs_give(&tr->t->needs, &tr->need, tr->pmc);
	} else {
		if (tr->pmc->owner->counts)
			shares_forget(tr->t->engine,
					     count_owner_slot(tr->pmc->owner->counts), tr->id);
	}
	user_give(tr->pmc->owner->user->table, tr->pmc->owner->user, POOL_SAMPLERS, 1);
	tr->t->slot[tr->id % MAX_RECORDERS] = NULL;
	tr->t->nrecorders--;
	timer_set(tr->t);
	free(tr);
}

int recorder_wait(struct recorder *tr, struct reason *why)
{
	int err = samplers_wait(tr->t->samplers, why);

	if (!err && tr->pmc->flags & PMC_F_WAKERS) {
		err = samplers_wakers(tr->t->samplers, why);
		if (err)
			samplers_unwait(tr->t->samplers);
	}
	tr->waits = !err;
	return err;
}

int recorder_start(struct recorder *tr, struct reason *why)
{
	const struct pmc *p = tr->pmc;
	struct profile_source source = p->profile;
	int err;

	tr->offcpu.log = NULL;
	if (!(p->flags & PMC_F_KGMON) || tr->profiles)
		return 0;
	source.period = p->reload;
	err = kgmon_join(tr->t->kgmon, &source, why);
	tr->profiles = !err;
	return err;
}

void recorder_stop(struct recorder *tr)
{
	if (tr->profiles)
		kgmon_leave(tr->t->kgmon);
	tr->profiles = false;
}

/* The rings have room for the records of some threads. */
void recorder_finish(struct recorder *tr)
{
	const struct pmc *p = tr->pmc;
	bool complete;

	do
		complete = drain_complete(tr->t);
	while (complete && p->flags & PMC_F_LOG_THREXIT &&
	       shares_record_threads(tr->t->engine, count_owner_slot(p->owner->counts), tr->id));
	if (!complete && tr->profiles)
		kgmon_lost(tr->t->kgmon, false, 1);
	else if (!complete)
		owner_lost(tr->pmc->owner, &tr->t->stats, 0, 1);
	late_finish(tr->t, p->owner);
}
