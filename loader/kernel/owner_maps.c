/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The maps that hold owners' counts.  Whenever user space changes a map of maps, the kernel waits
 * for an RCU grace period of some 10 ms, but only once for many changes made together.  The event
 * loop cannot wait that long, so a thread of this file puts maps in and takes them out, all that
 * are due together.  It also keeps spare maps: the more owners there are, the more spares, because
 * more clients may come at once.  The thread calls bpf(2) and nothing else.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "pmcbpf.skel.h"

#define SPARES_MIN 16
#define SPARES_MAX 256
#define BATCH	   256		/* changes at once, at most */
#define QUIET	   100		/* ms without new owners, after which the spares are filled up */

enum slot_state {
	SLOT_FREE,
	SLOT_USED,		/* by an owner, or a spare */
	SLOT_TRASH,		/* to be taken out */
};

struct owner_maps {
	int owners;
	int vacant;		/* the map in slots without an owner */
	unsigned int ncpu;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;	/* protects all below */
	pthread_cond_t work, done;
	bool stop, quiet;
	int error;		/* why there are no spares, until the next try */
	unsigned int nspare, nused, ntrash;
	struct owner_counts spare[SPARES_MAX];
	uint8_t slot[ABI_MAX_OWNERS];	/* enum slot_state */
};

int owner_maps_create(unsigned int ncpu)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "pmc_counts", sizeof(uint32_t),
			      sizeof(struct abi_counts), ncpu, &opts);
}

static void counts_close(const struct owner_maps *p, struct owner_counts *c)
{
	if (c->cpu)
		munmap((void *)c->cpu, p->ncpu * sizeof(struct abi_counts));
	c->cpu = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* Creates the map of a slot and maps it. */
static int counts_open(const struct owner_maps *p, unsigned int slot, struct owner_counts *c)
{
	size_t size = p->ncpu * sizeof(struct abi_counts);
	void *at;
	int err;

	*c = (struct owner_counts){ .slot = slot, .fd = owner_maps_create(p->ncpu) };
	if (c->fd < 0)
		return c->fd;
	/*
	 * Frozen, because this very descriptor is passed to the owner, and the kernel maps no BPF
	 * map through a read-only one.  From here on only the programs can write to it.
	 */
	err = bpf_map_freeze(c->fd) ? -errno : 0;
	if (!err) {
		at = mmap(NULL, size, PROT_READ, MAP_SHARED, c->fd, 0);
		err = at == MAP_FAILED ? -errno : 0;
		c->cpu = err ? NULL : at;
	}
	if (err)
		counts_close(p, c);
	return err;
}

/* Finds the lowest slot in state `from` and sets it to `to`; ABI_MAX_OWNERS if there is none. */
static unsigned int slot_claim(struct owner_maps *p, enum slot_state from, enum slot_state to)
{
	const uint8_t *at = memchr(p->slot, from, ABI_MAX_OWNERS);

	if (!at)
		return ABI_MAX_OWNERS;
	p->slot[at - p->slot] = (uint8_t)to;
	return (unsigned int)(at - p->slot);
}

static unsigned int spares_wanted(const struct owner_maps *p)
{
	unsigned int n = SPARES_MIN + p->nused / 4;

	return n < SPARES_MAX ? n : SPARES_MAX;
}

/* Number of spares to make: none until few are left, so that many are made together. */
static unsigned int spares_missing(const struct owner_maps *p)
{
	unsigned int want = spares_wanted(p), enough = p->quiet ? want : want / 2 + 1;

	return p->nspare >= enough ? 0 : want - p->nspare;
}

static void counts_trash(struct owner_maps *p, struct owner_counts *c)
{
	p->slot[c->slot] = SLOT_TRASH;
	p->ntrash++;
	counts_close(p, c);
}

/* Changes made together: trash is removed first, then spares are added. */
struct map_batch {
	unsigned int ntrash, n;
	uint32_t slot[BATCH];
	int fd[BATCH];
	struct owner_counts made[BATCH];	/* for the slots after the trash */
};

/* The lock is held. */
static void batch_plan(struct owner_maps *p, struct map_batch *b)
{
	unsigned int more = spares_missing(p), slot;

	b->n = 0;
	for (; p->ntrash && b->n < BATCH - SPARES_MIN; p->ntrash--)
		b->slot[b->n++] = slot_claim(p, SLOT_TRASH, SLOT_USED);
	b->ntrash = b->n;
	for (; more && b->n < BATCH; more--) {
		slot = slot_claim(p, SLOT_FREE, SLOT_USED);
		if (slot == ABI_MAX_OWNERS)
			break;
		b->slot[b->n++] = slot;
	}
	if (more && !b->n)
		p->error = -ENOSPC;
}

/* Without the lock: the kernel waits here.  Returns how many changes, from the first, succeeded. */
static unsigned int batch_run(const struct owner_maps *p, struct map_batch *b, int *err)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t n = 0, done;

	for (; n < b->ntrash; n++)
		b->fd[n] = p->vacant;
	for (*err = 0; n < b->n && !*err; n += !*err) {
		*err = counts_open(p, b->slot[n], &b->made[n]);
		b->fd[n] = b->made[n].fd;
	}
	done = n;
	if (!n || !bpf_map_update_batch(p->owners, b->slot, b->fd, &done, &opts))
		return n;
	*err = -errno;
	return done < n ? done : 0;
}

/* The lock is held, except during the change itself. */
static void batch_make(struct owner_maps *p, struct map_batch *b)
{
	unsigned int done;
	int err;

	for (unsigned int i = 0; i < b->n; i++)
		b->made[i] = (struct owner_counts){ .fd = -1 };
	pthread_mutex_unlock(&p->lock);
	done = batch_run(p, b, &err);
	for (unsigned int i = done; i < b->n; i++)
		counts_close(p, &b->made[i]);
	pthread_mutex_lock(&p->lock);
	p->error = err;
	for (unsigned int i = 0; i < b->n; i++) {
		bool trash = i < b->ntrash;

		if (!trash && i < done)
			p->spare[p->nspare++] = b->made[i];
		else
			p->slot[b->slot[i]] = trash && i >= done ? SLOT_TRASH : SLOT_FREE;
		p->ntrash += trash && i >= done;
	}
}

/* Waits for work.  The lock is held, except during the wait. */
static void owner_maps_wait(struct owner_maps *p)
{
	struct timespec until;

	if (p->error || p->nspare == spares_wanted(p)) {
		pthread_cond_wait(&p->work, &p->lock);
		p->quiet = false;
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += QUIET * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	p->quiet = pthread_cond_timedwait(&p->work, &p->lock, &until) == ETIMEDOUT;
	while (p->quiet && p->nspare > spares_wanted(p))
		counts_trash(p, &p->spare[--p->nspare]);
}

static void *owner_maps_work(void *arg)
{
	struct owner_maps *p = arg;
	struct map_batch b;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		b.n = 0;
		if (!p->error && (p->ntrash || spares_missing(p)))
			batch_plan(p, &b);
		if (b.n)
			batch_make(p, &b);
		pthread_cond_signal(&p->done);
		if (!b.n)
			owner_maps_wait(p);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int owner_maps_new(const struct engine *e, struct owner_maps **out, struct reason *why)
{
	struct owner_maps *p = calloc(1, sizeof(*p));
	pthread_condattr_t monotonic;
	int err;

	if (!p)
		return -ENOMEM;
	p->owners = bpf_map__fd(e->skel->maps.owners);
	p->ncpu = e->ncpu;
	p->vacant = owner_maps_create(e->ncpu);
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_cond_init(&p->done, NULL);
	*out = p;
	if (p->vacant < 0)
		return deny(why, p->vacant, "cannot make a map of counts: %s",
			    strerror(-p->vacant));
	err = worker_start(&p->thread, owner_maps_work, p, 0);
	p->started = !err;
	return err ? deny(why, err, "cannot start a thread: %s", strerror(-err)) : 0;
}

void owner_maps_free(struct owner_maps *p)
{
	if (!p)
		return;
	if (p->started) {
		pthread_mutex_lock(&p->lock);
		p->stop = true;
		pthread_cond_signal(&p->work);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
	}
	for (unsigned int i = 0; i < p->nspare; i++)
		counts_close(p, &p->spare[i]);
	if (p->vacant >= 0)
		close(p->vacant);
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

int owner_maps_take(struct owner_maps *p, struct owner_counts *c, struct reason *why)
{
	int err = 0;

	c->fd = -1;
	pthread_mutex_lock(&p->lock);
	p->error = 0;
	pthread_cond_signal(&p->work);
	/* All spares are taken: wait for the next one. */
	while (!p->nspare && !p->error)
		pthread_cond_wait(&p->done, &p->lock);
	if (p->nspare) {
		*c = p->spare[--p->nspare];
		p->nused++;
	} else {
		err = p->error;
	}
	pthread_mutex_unlock(&p->lock);
	if (err == -ENOSPC)
		return deny(why, -ENOMEM, "%d processes own PMCs already; release some",
			    ABI_MAX_OWNERS);
	return err ? deny(why, err, "cannot make a map of counts: %s", strerror(-err)) : 0;
}

void owner_maps_give(struct owner_maps *p, struct owner_counts *c)
{
	if (c->fd < 0)
		return;
	pthread_mutex_lock(&p->lock);
	counts_trash(p, c);
	p->nused--;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

struct abi_account *owner_maps_accounts(const struct engine *e)
{
	return e->skel->bss->accounts;
}

struct abi_owner *owner_maps_owner(const struct engine *e, unsigned int slot)
{
	return &e->skel->bss->owner_state[slot];
}
