/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace rings: the thread that loads and attaches programs, and the immediate operations. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "ktr.h"
#include "loader/kernel/kernel.h"

#define MASK_LINGER   (1 * NS_PER_S)	/* until programs of masked classes are detached … */
#define FREEZE_LINGER (10 * NS_PER_S)	/* … and all programs of frozen rings */
#define MARK_MAX      31		/* bytes of a mark's text */

struct ktr {
	unsigned int ncpu;
	int event;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;		/* protects all below */
	pthread_cond_t work;
	bool stop;
	struct ktr_conf want, now;	/* the latest request; the configuration in effect */
	uint64_t asked, done;		/* numbers of requests; failed ones count as done */
	uint64_t good;			/* the latest one that succeeded */
	int error;			/* of the latest one that failed */
	struct reason why, note;
	struct ktrload *load;		/* replaced by the thread alone; NULL: no rings */
	uint32_t missing;
	uint32_t freezes;
	uint64_t frozen_since;
	uint32_t attached;		/* classes whose programs are attached */
	uint64_t masked_since;		/* ns: the last change of the mask */
};

/* --- the mask: lock is held ---------------------------------------------------------------- */

static bool rings_frozen(const struct ktr *k)
{
	return k->freezes || ktrload_control(k->load)->stopped;
}

/* A trigger may fire meanwhile: it sets `stopped` before it clears the mask. */
static void mask_put(struct ktr *k)
{
	volatile struct ktr_control *c = ktrload_control(k->load);

	/* A program may serve more classes than were requested. */
	c->mask = rings_frozen(k) ? 0 : k->now.mask & ktrload_region(k->load)->compile;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (c->stopped)
		c->mask = 0;
}

/* --- the thread ---------------------------------------------------------------------------- */

static void cpus_set(struct ktrload *l, const struct ktr_conf *conf)
{
	const struct ktr_region *r = ktrload_region(l);
	volatile struct ktr_control *c = ktrload_control(l);
	uint64_t mask[KTR_REGION_CPUS / 64] = { 0 };

	for (unsigned int cpu = 0; cpu < r->ncpu; cpu++)
		mask[cpu / 64] |= conf->cpumask[cpu / 64] & 1ull << cpu % 64;
	for (unsigned int i = 0; i < KTR_REGION_CPUS / 64; i++)
		c->cpumask[i] = mask[i];
	ktrload_put(l, r->cpumask, mask, sizeof(mask));
}

/* Rings of the configured size, with their triggers: the existing ones or new ones. */
static int ktr_rings_make(const struct ktr *k, const struct ktr_conf *conf, struct ktrload **l,
		      struct reason *why)
{
	struct ktr_layout layout;
	struct reason unused;
	int err;

	*l = k->load;
	if (!*l || ktrload_layout(*l)->entries != conf->entries) {
		err = ktrregion_layout(&layout, k->ncpu, conf->entries, why);
		err = err ?: ktrload_new(l, &layout, why);
		if (err)
			return err;
	}
	err = ktrload_stop(*l, conf, why);
	if (err && *l != k->load)
		ktrload_free(*l);
	else if (err)
		ktrload_stop(*l, &k->now, &unused);
	return err;
}

/* Applies a configuration.  Steps that can fail come first, so that nothing is half done. */
static int conf_apply(struct ktr *k, const struct ktr_conf *conf, struct reason *why,
		      struct reason *note)
{
	struct ktrload *old = k->load, *l = NULL;
	uint32_t loaded, missing = 0, attached = 0;
	struct reason unpinned;
	int err = conf->compile && conf->entries ? ktr_rings_make(k, conf, &l, why) : 0;

	if (err)
		return err;
	if (l) {
		loaded = ktrload_classes(l, conf->compile, &missing, note);
		ktrload_put(l, &ktrload_region(l)->compile, &loaded, sizeof(loaded));
		cpus_set(l, conf);
		attached = conf->mask | (l == old ? k->attached : 0);
		ktrload_attach(l, attached, note);
	}
	pthread_mutex_lock(&k->lock);
	k->load = l;
	k->now = *conf;
	k->missing = missing;
	k->attached = attached;
	k->masked_since = clock_ns();
	if (l)
		mask_put(k);
	else
		k->freezes = 0;
	pthread_mutex_unlock(&k->lock);
	if (l == old)
		return 0;
	/* the old rings still have the pinned name */
	ktrload_free(old);
	if (l && ktrload_pin(l, &unpinned) && !note->text[0])
		*note = unpinned;
	return 0;
}

/* The time at which unused programs are detached; 0: there are none.  The lock is held. */
static uint64_t programs_detach_at(const struct ktr *k)
{
	if (k->load && k->freezes && k->attached)
		return k->frozen_since + FREEZE_LINGER;
	if (k->load && k->attached & ~k->now.mask)
		return k->masked_since + MASK_LINGER;
	return 0;
}

/* The lock is held, except while the kernel works. */
static void programs_detach(struct ktr *k)
{
	struct ktrload *l = k->load;
	struct reason none = { "" };

	/* so that a thaw meanwhile knows that programs have to be attached again */
	k->attached = k->freezes ? 0 : k->now.mask;
	pthread_mutex_unlock(&k->lock);
	ktrload_attach(l, k->attached, &none);
	pthread_mutex_lock(&k->lock);
}

/* The lock is held, except while the kernel works. */
static void conf_obey(struct ktr *k)
{
	const uint64_t one = 1;
	struct ktr_conf conf = k->want;
	uint64_t number = k->asked;
	struct reason why = { "" }, note = { "" };
	int err;

	pthread_mutex_unlock(&k->lock);
	err = conf_apply(k, &conf, &why, &note);
	/* as after the engine's start: the kernel's BTF took megabytes */
	malloc_trim(0);
	pthread_mutex_lock(&k->lock);
	k->done = number;
	if (err) {
		k->error = err;
		k->why = why;
	} else {
		k->good = number;
	}
	if (note.text[0])
		k->note = note;
	if (err && k->asked == number)
		k->want = k->now;
	/* fails only if the event is readable already */
	(void)!write(k->event, &one, sizeof(one));
}

static void *thread_run(void *arg)
{
	struct ktr *k = arg;

	pthread_mutex_lock(&k->lock);
	while (!k->stop) {
		uint64_t at = programs_detach_at(k);
		const struct timespec ts = { (time_t)(at / NS_PER_S), (long)(at % NS_PER_S) };

		if (k->done != k->asked)
			conf_obey(k);
		else if (!at)
			pthread_cond_wait(&k->work, &k->lock);
		else if (clock_ns() >= at)
			programs_detach(k);
		else
			pthread_cond_timedwait(&k->work, &k->lock, &ts);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static int thread_start(struct ktr *k, struct reason *why)
{
	int err = worker_start(&k->thread, thread_run, k, 0);

	k->started = !err;
	return err ? deny(why, err, "cannot start the thread of the trace rings: %s",
			  strerror(-err)) : 0;
}

int ktr_new(struct ktr **out, unsigned int ncpu, struct reason *why)
{
	struct ktr *k = calloc(1, sizeof(*k));
	pthread_condattr_t attr;

	if (!k)
		return deny(why, -ENOMEM, "no memory");
	k->ncpu = ncpu;
	k->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->work, &attr);
	pthread_condattr_destroy(&attr);
	if (k->event < 0) {
		int err = deny(why, -errno, "cannot make an event for trace rings: %m");

		ktr_free(k);
		return err;
	}
	*out = k;
	return 0;
}

void ktr_free(struct ktr *k)
{
	if (!k)
		return;
	if (k->started) {
		pthread_mutex_lock(&k->lock);
		k->stop = true;
		pthread_cond_signal(&k->work);
		pthread_mutex_unlock(&k->lock);
		pthread_join(k->thread, NULL);
	}
	ktrload_free(k->load);
	pthread_cond_destroy(&k->work);
	pthread_mutex_destroy(&k->lock);
	if (k->event >= 0)
		close(k->event);
	free(k);
}

/* --- requests ------------------------------------------------------------------------------ */

/* "all" stands for every possible CPU. */
static int conf_check_cpus(const struct ktr *k, const struct ktr_conf *conf, struct reason *why)
{
	bool all = true;

	for (unsigned int i = 0; i < KTR_REGION_CPUS / 64; i++)
		all = all && conf->cpumask[i] == ~0ull;
	for (unsigned int cpu = k->ncpu; !all && cpu < KTR_REGION_CPUS; cpu++)
		if (conf->cpumask[cpu / 64] >> cpu % 64 & 1)
			return deny(why, -EINVAL, "ktr.cpumask: this machine has no CPU %u, its "
				    "last is %u", cpu, k->ncpu - 1);
	return 0;
}

int ktr_configure(struct ktr *k, const struct ktr_conf *conf, struct reason *why)
{
	int err = conf_check_cpus(k, conf, why);

	if (err)
		return err;
	pthread_mutex_lock(&k->lock);
	/* The thread is started by the first request for rings. */
	if (!k->started && !(conf->compile && conf->entries)) {
		k->want = k->now = *conf;
	} else if (!ktrconf_same(&k->want, conf)) {
		err = k->started ? 0 : thread_start(k, why);
		if (!err) {
			k->want = *conf;
			k->asked++;
			pthread_cond_signal(&k->work);
		}
	}
	pthread_mutex_unlock(&k->lock);
	return err;
}

uint64_t ktr_ticket(struct ktr *k)
{
	uint64_t asked;

	pthread_mutex_lock(&k->lock);
	asked = k->asked;
	pthread_mutex_unlock(&k->lock);
	return asked;
}

void ktr_now(struct ktr *k, struct ktr_conf *conf)
{
	pthread_mutex_lock(&k->lock);
	*conf = k->now;
	pthread_mutex_unlock(&k->lock);
}

int ktr_result(struct ktr *k, uint64_t ticket, struct reason *why)
{
	int err = KTR_LATER;

	pthread_mutex_lock(&k->lock);
	if (k->good >= ticket) {
		err = 0;
	} else if (k->done >= ticket) {
		err = k->error;
		*why = k->why;
	}
	pthread_mutex_unlock(&k->lock);
	return err;
}

int ktr_event(const struct ktr *k)
{
	return k->event;
}

void ktr_seen(struct ktr *k, struct reason *note)
{
	uint64_t n;

	/* fails if the event was seen before */
	(void)!read(k->event, &n, sizeof(n));
	pthread_mutex_lock(&k->lock);
	*note = k->note;
	k->note.text[0] = '\0';
	pthread_mutex_unlock(&k->lock);
}

/* --- existing rings ------------------------------------------------------------------------ */

static int rings_missing(const struct ktr *k, struct reason *why)
{
	if (k->load)
		return 0;
	return deny(why, -ENXIO, "there are no trace rings: %s",
		    k->now.compile ? "ktr.size is 0" : "ktr.compile is \"none\"; "
		    "ktrctl compile SCHED,SYSC makes some");
}

static void stopped_text(const struct ktr *k, char *buf, size_t size)
{
	const struct ktr_control *c = (const struct ktr_control *)ktrload_control(k->load);

	switch (c->stopped) {
	case KTR_RUNNING:
		break;
	case KTR_STOPPED_SIGNAL:
		snprintf(buf, size, "signal %u to %u (%.15s)", c->stop_signal, c->stop_pid,
			 c->stop_comm);
		break;
	case KTR_STOPPED_OOM:
		snprintf(buf, size, "oom kill of %u (%.15s)", c->stop_pid, c->stop_comm);
		break;
	case KTR_STOPPED_PANIC:
		snprintf(buf, size, "panic");
		break;
	case KTR_STOPPED_TP:
		snprintf(buf, size, "tracepoint %.31s", c->stop_name);
		break;
	}
}

void ktr_info(struct ktr *k, struct wire_ktr *info)
{
	memset(info, 0, sizeof(*info));
	pthread_mutex_lock(&k->lock);
	info->ncpu = k->ncpu;
	info->saved = k->now.mask;
	if (k->load) {
		const struct ktr_region *r = ktrload_region(k->load);
		const volatile struct ktr_control *c = ktrload_control(k->load);

		info->compile = r->compile;
		info->missing = k->missing;
		info->mask = rings_frozen(k) ? 0 : k->now.mask;
		info->frozen = k->freezes + (c->stopped != KTR_RUNNING);
		info->entries = r->entries;
		info->written = ktrregion_written(r);
		stopped_text(k, info->stopped, sizeof(info->stopped));
	}
	pthread_mutex_unlock(&k->lock);
}

static int entry_put(struct ktr *k, enum ktr_event id, const struct ktr_asker *by,
		     const uint64_t words[5], struct reason *why)
{
	int err = ktrload_entry(k->load, id, by->pid, words);

	return err ? deny(why, err, "cannot write to the trace rings: %s", strerror(-err)) : 0;
}

/* Writes an entry that names the client: "tracing frozen by %s pid=%d". */
static int entry_put_asker(struct ktr *k, enum ktr_event id, const struct ktr_asker *by,
			   struct reason *why)
{
	uint64_t words[5] = { 0 };

	memcpy(words, by->program, strnlen(by->program, 15));
	words[2] = by->pid;
	return entry_put(k, id, by, words, why);
}

int ktr_freeze(struct ktr *k, const struct ktr_asker *by, struct reason *why)
{
	int err;

	pthread_mutex_lock(&k->lock);
	err = rings_missing(k, why);
	if (err)
		goto out;
	/* the program that writes this entry clears the mask */
	if (!rings_frozen(k))
		err = entry_put_asker(k, KTR_EV_FREEZE, by, why);
	if (!err && !k->freezes++)
		k->frozen_since = clock_ns();
	mask_put(k);
	pthread_cond_signal(&k->work);
out:
	pthread_mutex_unlock(&k->lock);
	return err;
}

/* A trigger's freeze is the outermost: a client's freeze and thaw for a copy do not end it. */
int ktr_thaw(struct ktr *k, const struct ktr_asker *by, struct reason *why)
{
	volatile struct ktr_control *c;
	int err;

	pthread_mutex_lock(&k->lock);
	err = rings_missing(k, why);
	if (!err && !rings_frozen(k))
		err = deny(why, -EINVAL, "tracing is not frozen");
	if (err)
		goto out;
	c = ktrload_control(k->load);
	if (k->freezes)
		k->freezes--;
	else
		__atomic_store_n(&c->stopped, KTR_RUNNING, __ATOMIC_SEQ_CST);
	if (!rings_frozen(k)) {
		err = entry_put_asker(k, KTR_EV_THAW, by, why);
		mask_put(k);
		/* programs that were detached meanwhile are attached again */
		k->asked += (k->now.mask & ~k->attached) != 0;
	}
	pthread_cond_signal(&k->work);
out:
	pthread_mutex_unlock(&k->lock);
	return err;
}

int ktr_clear(struct ktr *k, struct reason *why)
{
	int err;

	pthread_mutex_lock(&k->lock);
	err = rings_missing(k, why);
	if (!err && (err = ktrload_clear(k->load)))
		deny(why, err, "cannot clear the trace rings: %s", strerror(-err));
	pthread_mutex_unlock(&k->lock);
	return err;
}

int ktr_mark(struct ktr *k, const struct ktr_asker *by, const char *text, struct reason *why)
{
	uint64_t words[5] = { 0 };
	int err;

	memcpy(words, text, strnlen(text, MARK_MAX));
	pthread_mutex_lock(&k->lock);
	err = rings_missing(k, why);
	if (!err && rings_frozen(k))
		err = deny(why, -EAGAIN, "tracing is frozen; ktrctl thaw ends that");
	err = err ?: entry_put(k, KTR_EV_MARK, by, words, why);
	pthread_mutex_unlock(&k->lock);
	return err;
}

int ktr_open(struct ktr *k, bool whole, struct reason *why)
{
	int fd;

	pthread_mutex_lock(&k->lock);
	fd = rings_missing(k, why);
	if (!fd && whole) {
		fd = fcntl(ktrload_fd(k->load), F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			fd = deny(why, -errno, "cannot pass the trace rings on: %m");
	} else if (!fd) {
		fd = ktrregion_copy(ktrload_region(k->load), why);
	}
	pthread_mutex_unlock(&k->lock);
	return fd;
}
