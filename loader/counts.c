/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The maps that hold owners' counts.  The kernel waits for an RCU grace period, some 10 ms,
 * whenever user space puts a map into the map of maps or takes one out, and the event loop
 * cannot wait that long: the daemon's only other thread does both, keeping spares.  It calls
 * bpf(2) and nothing else.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counts.h"

#define SPARES 8

enum slot_state {
	SLOT_FREE,
	SLOT_USED,		/* by an owner, or a spare */
	SLOT_TRASH,		/* to be taken out */
};

struct counts_pool {
	int owners;
	unsigned int ncpu;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;	/* of all below */
	pthread_cond_t work;
	bool stop, failed;	/* failed: no more spares until somebody asks again */
	unsigned int nspare, ntrash;
	struct engine_counts spare[SPARES];
	uint8_t slot[ABI_MAX_OWNERS];	/* enum slot_state */
};

int counts_map_create(unsigned int ncpu)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "pmc_counts", sizeof(uint32_t),
			      sizeof(struct abi_counts), ncpu, &opts);
}

static void counts_close(const struct counts_pool *p, struct engine_counts *c)
{
	if (c->cpu)
		munmap((void *)c->cpu, p->ncpu * sizeof(struct abi_counts));
	c->cpu = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* A map in its slot of the map of maps, mapped here. */
static int counts_open(const struct counts_pool *p, unsigned int slot, struct engine_counts *c)
{
	size_t size = p->ncpu * sizeof(struct abi_counts);
	void *at;
	int err;

	*c = (struct engine_counts){ .slot = slot, .fd = counts_map_create(p->ncpu) };
	if (c->fd < 0)
		return c->fd;
	/*
	 * Frozen, because the owner gets this very descriptor: the kernel maps no BPF map through a
	 * read-only one.  From here on only the programs write to it, nobody in user space.
	 */
	err = bpf_map_freeze(c->fd) ? -errno : 0;
	if (!err) {
		at = mmap(NULL, size, PROT_READ, MAP_SHARED, c->fd, 0);
		err = at == MAP_FAILED ? -errno : 0;
		c->cpu = err ? NULL : at;
	}
	if (!err)
		err = bpf_map_update_elem(p->owners, &slot, &c->fd, BPF_ANY) ? -errno : 0;
	if (err)
		counts_close(p, c);
	return err;
}

/* The lowest slot in the state, marked anew; ABI_MAX_OWNERS: none. */
static unsigned int slot_claim(struct counts_pool *p, enum slot_state from, enum slot_state to)
{
	unsigned int slot = 0;

	while (slot < ABI_MAX_OWNERS && p->slot[slot] != from)
		slot++;
	if (slot < ABI_MAX_OWNERS)
		p->slot[slot] = (uint8_t)to;
	return slot;
}

/* Both with the lock held, which they let go of while the kernel waits. */
static void make_spare(struct counts_pool *p)
{
	unsigned int slot = slot_claim(p, SLOT_FREE, SLOT_USED);
	struct engine_counts c;
	int err = -ENOSPC;

	if (slot < ABI_MAX_OWNERS) {
		pthread_mutex_unlock(&p->lock);
		err = counts_open(p, slot, &c);
		pthread_mutex_lock(&p->lock);
		if (err)
			p->slot[slot] = SLOT_FREE;
	}
	p->failed = err != 0;
	if (!err)
		p->spare[p->nspare++] = c;
}

static void take_out(struct counts_pool *p)
{
	unsigned int slot = slot_claim(p, SLOT_TRASH, SLOT_USED);

	pthread_mutex_unlock(&p->lock);
	(void)bpf_map_delete_elem(p->owners, &slot);
	pthread_mutex_lock(&p->lock);
	p->slot[slot] = SLOT_FREE;
	p->ntrash--;
}

static void *work(void *arg)
{
	struct counts_pool *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		if (p->nspare < SPARES && !p->failed)
			make_spare(p);
		else if (p->ntrash)
			take_out(p);
		else
			pthread_cond_wait(&p->work, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int counts_pool_new(int owners, unsigned int ncpu, struct counts_pool **out, struct why *why)
{
	struct counts_pool *p = calloc(1, sizeof(*p));
	sigset_t all, before;
	int err;

	if (!p)
		return -ENOMEM;
	p->owners = owners;
	p->ncpu = ncpu;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&p->thread, NULL, work, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	p->started = !err;
	*out = p;
	return err ? deny(why, err, "cannot start a thread: %s", strerror(-err)) : 0;
}

void counts_pool_free(struct counts_pool *p)
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
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

int counts_pool_take(struct counts_pool *p, struct engine_counts *c, struct why *why)
{
	unsigned int slot;
	int err = 0;

	c->fd = -1;
	pthread_mutex_lock(&p->lock);
	p->failed = false;
	if (p->nspare) {
		*c = p->spare[--p->nspare];
		pthread_cond_signal(&p->work);
		pthread_mutex_unlock(&p->lock);
		return 0;
	}
	slot = slot_claim(p, SLOT_FREE, SLOT_USED);
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	if (slot == ABI_MAX_OWNERS)
		return deny(why, -ENOMEM, "%d processes own PMCs already; release some",
			    ABI_MAX_OWNERS);
	/* All spares are taken at once: this one waits for its own. */
	err = counts_open(p, slot, c);
	if (!err)
		return 0;
	pthread_mutex_lock(&p->lock);
	p->slot[slot] = SLOT_FREE;
	pthread_mutex_unlock(&p->lock);
	return deny(why, err, "cannot make a map of counts: %s", strerror(-err));
}

void counts_pool_give(struct counts_pool *p, struct engine_counts *c)
{
	if (c->fd < 0)
		return;
	counts_close(p, c);
	pthread_mutex_lock(&p->lock);
	p->slot[c->slot] = SLOT_TRASH;
	p->ntrash++;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}
