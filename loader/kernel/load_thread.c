/* SPDX-License-Identifier: BSD-2-Clause */
/* See load_thread.h. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "load_thread.h"

/* In the stack of its caller. */
struct load_job {
	TAILQ_ENTRY(load_job) next;
	uint64_t *user;			/* the turn in which the user had the thread last */
	void (*fn)(void *arg);
	void *arg;
	struct fiber *fiber;		/* waits for it; NULL: the whole thread does */
	bool done;
};

struct load_thread {
	pthread_t thread;
	bool started;			/* the event loop's, as are the fibers */
	struct fibers *fibers;
	int event;			/* rings when a job is done */
	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t work, done;
	uint64_t turns;
	TAILQ_HEAD(, load_job) jobs;	/* also those done, until the caller looks */
	bool stop;
};

struct load_thread *load_thread_new(void)
{
	struct load_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->event < 0) {
		free(t);
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->work, NULL);
	pthread_cond_init(&t->done, NULL);
	TAILQ_INIT(&t->jobs);
	return t;
}

void load_thread_free(struct load_thread *t)
{
	if (!t)
		return;
	if (t->started) {
		pthread_mutex_lock(&t->lock);
		t->stop = true;
		pthread_cond_signal(&t->work);
		pthread_mutex_unlock(&t->lock);
		pthread_join(t->thread, NULL);
	}
	close(t->event);
	pthread_cond_destroy(&t->done);
	pthread_cond_destroy(&t->work);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void load_thread_fibers_from(struct load_thread *t, struct fibers *fibers)
{
	t->fibers = fibers;
}

int load_thread_fd(const struct load_thread *t)
{
	return t->event;
}

/* --- in the thread ---------------------------------------------------------------------------- */

/* The oldest job of the user whose latest turn is the oldest; NULL: no job waits. */
static struct load_job *job_next(const struct load_thread *t)
{
	struct load_job *best = NULL, *j;

	TAILQ_FOREACH(j, &t->jobs, next)
		if (!j->done && (!best || *j->user < *best->user))
			best = j;
	return best;
}

/* The lock is held, except during the job. */
static void job_run(struct load_thread *t, struct load_job *j)
{
	const uint64_t one = 1;

	*j->user = ++t->turns;
	pthread_mutex_unlock(&t->lock);
	j->fn(j->arg);
	pthread_mutex_lock(&t->lock);
	j->done = true;
	pthread_cond_broadcast(&t->done);
	(void)!write(t->event, &one, sizeof(one));
}

static void *load_thread_work(void *arg)
{
	struct load_thread *t = arg;
	struct load_job *j;

	pthread_setname_np(pthread_self(), "pmcbpfd-load");
	pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		j = job_next(t);
		if (j)
			job_run(t, j);
		else
			pthread_cond_wait(&t->work, &t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* --- in the event loop ------------------------------------------------------------------------ */

static bool load_thread_start(struct load_thread *t)
{
	if (!t->started)
		t->started = !worker_start(&t->thread, load_thread_work, t, 0);
	return t->started;
}

static bool job_is_done(struct load_thread *t, const struct load_job *j)
{
	bool done;

	pthread_mutex_lock(&t->lock);
	done = j->done;
	pthread_mutex_unlock(&t->lock);
	return done;
}

void load_thread_do(struct load_thread *t, uint64_t *user, void (*fn)(void *arg), void *arg)
{
	struct load_job j = {
		.user = user, .fn = fn, .arg = arg, .fiber = fiber_current(t->fibers),
	};

	if (!load_thread_start(t)) {
		fn(arg);
		return;
	}
	pthread_mutex_lock(&t->lock);
	TAILQ_INSERT_TAIL(&t->jobs, &j, next);
	pthread_cond_signal(&t->work);
	pthread_mutex_unlock(&t->lock);
	while (j.fiber && !fibers_hurried(t->fibers) && !job_is_done(t, &j))
		fiber_park(t->fibers);
	pthread_mutex_lock(&t->lock);
	while (!j.done)
		pthread_cond_wait(&t->done, &t->lock);
	TAILQ_REMOVE(&t->jobs, &j, next);
	pthread_mutex_unlock(&t->lock);
}

void load_thread_wake(struct load_thread *t)
{
	const struct load_job *j;
	uint64_t n;

	(void)!read(t->event, &n, sizeof(n));
	pthread_mutex_lock(&t->lock);
	TAILQ_FOREACH(j, &t->jobs, next)
		if (j->done && j->fiber)
			fiber_wake(j->fiber);
	pthread_mutex_unlock(&t->lock);
}
