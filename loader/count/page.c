/* SPDX-License-Identifier: BSD-2-Clause */
/* The page from which an owner reads its counts without the daemon. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "page.h"

#define PAGE_MAGIC WIRE_MAGIC

_Static_assert((int)ABI_COUNTS == (int)WIRE_PAGE_PMCS &&
	       sizeof(struct abi_counts) == sizeof(struct wire_counts), "one layout of counts");

/*
 * This very file, sealed, is passed to the owner: it can be written only through the mapping made
 * before, and cannot be truncated under that mapping.
 */
int page_new(struct count_owner *o, struct reason *why)
{
	o->page_fd = memfd_create("pmcbpf-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (o->page_fd < 0 || ftruncate(o->page_fd, sizeof(*o->page)))
		goto fail;
	o->page = mmap(NULL, sizeof(*o->page), PROT_READ | PROT_WRITE, MAP_SHARED, o->page_fd, 0);
	if (o->page == MAP_FAILED) {
		o->page = NULL;
		goto fail;
	}
	if (fcntl(o->page_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE |
		  F_SEAL_SEAL))
		goto fail;
	o->page->magic = PAGE_MAGIC;
	o->page->version = WIRE_VERSION;
	o->page->npmc = WIRE_PAGE_PMCS;
	return 0;
fail:
	deny(why, -errno, "cannot make the owner's page: %m");
	page_free(o);
	return -ENOMEM;
}

void page_free(struct count_owner *o)
{
	if (o->page)
		munmap(o->page, sizeof(*o->page));
	o->page = NULL;
	if (o->page_fd >= 0)
		close(o->page_fd);
	o->page_fd = -1;
}

static enum wire_how page_how(const struct count *c)
{
	const struct backend *b = c->backend;

	if (c->lost || c->away || c->stopping || (b->missed && b->missed(c)))
		return WIRE_HOW_ASK;
	/* Without targets a read has to reach the daemon, which raises a signal. */
	if (!c->spec.system && !c->has_targets)
		return WIRE_HOW_ASK;
	if (!c->running)
		return b->how_stopped;
	return b->how ? b->how(c) : WIRE_HOW_ASK;
}

void page_update(struct count *c)
{
	struct wire_page_pmc *p;
	enum wire_how how = page_how(c);
	uint32_t seq;

	if (c->pos >= WIRE_PAGE_PMCS)
		return;
	p = &c->owner->page->pmc[c->pos];
	seq = p->seq;
	__atomic_store_n(&p->seq, seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	p->how = how;
	p->pmcid = c->spec.pmcid;
	p->generation = c->generation;
	p->base = c->base;
	p->raw = 0;
	p->quantity = 0;
	p->rate = 0;
	if (c->backend->fill)
		c->backend->fill(c, p);
	__atomic_store_n(&p->seq, seq + 2, __ATOMIC_RELEASE);
}
