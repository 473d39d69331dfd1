/* SPDX-License-Identifier: BSD-2-Clause */
/* The table behind fast reading: mapping pages, keeping descriptors, letting go of both. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read_table.h"

#define READ_MAX_CPUS 65536u

/* Maps `size` bytes of a descriptor, after making sure that a file is that long (no SIGBUS). */
static int page_map(int fd, size_t size, const void **out)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size < size)
		return -EPROTO;
	p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

static void page_unmap(const void *p, size_t size)
{
	if (p)
		munmap((void *)p, size);
}

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* The events of a slot, in a mapping of their own: START may be called in a signal handler. */
struct event_block {
	struct read_stay stay;
	struct read_event events[];
};

static size_t block_size(unsigned int n)
{
	return sizeof(struct event_block) + n * sizeof(struct read_event);
}

static size_t group_size(const struct read_group *g)
{
	return sizeof(*g) + (size_t)g->groups * g->places * sizeof(struct read_event);
}

static void events_close(struct read_event *events, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		page_unmap(events[i].page, page_size());
		ownfd_close(&events[i].own);
	}
}

static void slot_close_group(struct read_slot *slot)
{
	struct read_group *g = slot->group;

	if (!g)
		return;
	slot->group = NULL;
	events_close(g->events, g->groups * g->places);
	page_unmap(g, group_size(g));
}

static void slot_forget_events(struct read_slot *slot)
{
	slot->events = NULL;
	slot->stay = NULL;
	slot->nevents = 0;
	slot->tid = 0;
}

static void slot_close_events(struct read_slot *slot)
{
	events_close(slot->events, slot->nevents);
	page_unmap(slot->stay, block_size(slot->nevents));
	slot_forget_events(slot);
}

static bool slot_has_events(const struct read_table *t, unsigned int pos,
			    const struct read_event *events)
{
	return t && t->slots[pos].events == events;
}

static bool slot_has_group(const struct read_table *t, unsigned int pos,
			   const struct read_group *group)
{
	return t && t->slots[pos].group == group;
}

void read_table_drop(struct read_table *t, const struct read_table *one,
		     const struct read_table *two)
{
	for (unsigned int i = 0; i < t->top; i++) {
		const struct read_event *events = t->slots[i].events;
		const struct read_group *group = t->slots[i].group;

		if (!slot_has_group(one, i, group) && !slot_has_group(two, i, group))
			slot_close_group(&t->slots[i]);
		if (!slot_has_events(one, i, events) && !slot_has_events(two, i, events))
			slot_close_events(&t->slots[i]);
	}
	if ((!one || one->page != t->page) && (!two || two->page != t->page))
		page_unmap(t->page, sizeof(*t->page));
	if ((!one || one->counts != t->counts) && (!two || two->counts != t->counts))
		page_unmap(t->counts, t->ncpu * sizeof(*t->counts));
	if ((!one || one->alive != t->alive) && (!two || two->alive != t->alive))
		page_unmap(t->alive, sizeof(*t->alive));
}

int read_table_alive(struct read_table *t, int fd)
{
	const struct wire_alive *alive;
	const void *p;
	int err = page_map(fd, sizeof(*alive), &p);

	if (err)
		return err;
	alive = p;
	if (alive->magic != WIRE_MAGIC) {
		page_unmap(p, sizeof(*alive));
		return -EPROTO;
	}
	t->alive = alive;
	return 0;
}

int read_table_pages(struct read_table *t, int page_fd, int counts_fd, uint32_t ncpu)
{
	const struct wire_page *page;
	const void *p;
	int err;

	err = page_map(page_fd, sizeof(*page), &p);
	if (err)
		return err;
	page = p;
	if (page->magic != WIRE_MAGIC || page->version != WIRE_VERSION) {
		page_unmap(page, sizeof(*page));
		return -EPROTO;
	}
	memset(t->slots, 0, sizeof(t->slots));
	t->top = 0;
	t->page = page;
	t->counts = NULL;
	t->ncpu = 0;
	/* Only one way of reading needs the counts: without them it asks, the others go on. */
	if (ncpu == 0 || ncpu > READ_MAX_CPUS)
		return -EPROTO;
	err = page_map(counts_fd, ncpu * sizeof(*t->counts), &p);
	if (err)
		return err;
	t->counts = p;
	t->ncpu = ncpu;
	return 0;
}

void read_table_add(struct read_table *t, uint32_t pos, uint32_t pmcid)
{
	struct read_slot *slot;

	if (pos >= WIRE_PAGE_PMCS)
		return;
	slot = &t->slots[pos];
	t->hint[pmcid % READ_HINTS] = (uint16_t)(pos * sizeof(*slot));
	/* Known, and read by the daemon only. */
	if (!t->page) {
		*slot = (struct read_slot){ .pmcid = pmcid };
		return;
	}
	*slot = (struct read_slot){ .pmcid = pmcid, .pos = pos, .entry = &t->page->pmc[pos] };
	if (pos >= t->top)
		t->top = pos + 1;
}

bool read_table_has(const struct read_table *t, uint32_t pmcid)
{
	bool found = false;

	for (unsigned int i = 0; i < WIRE_PAGE_PMCS && !found; i++)
		found = pmcid && t->slots[i].pmcid == pmcid;
	return found;
}

static struct read_slot *slot_find(struct read_table *t, uint32_t pmcid)
{
	unsigned int i;

	for (i = 0; i < t->top; i++)
		if (t->slots[i].entry && t->slots[i].pmcid == pmcid)
			return &t->slots[i];
	return NULL;
}

void read_table_remove(struct read_table *t, uint32_t pmcid)
{
	for (unsigned int i = 0; i < WIRE_PAGE_PMCS; i++)
		if (t->slots[i].pmcid == pmcid)
			t->slots[i] = (struct read_slot){ .entry = NULL };
	while (t->top > 0 && !t->slots[t->top - 1].entry)
		t->top--;
}

static void fds_close(const int *fds, unsigned int n)
{
	while (n > 0)
		close(fds[--n]);
}

static void event_take(struct read_event *e, int fd, bool maps)
{
	const void *page = NULL;

	fd = ownfd_raise(fd);
	/* A reading that finds none asks the daemon. */
	e->own = ownfd_identify(fd);
	/* read(2) works without a page. */
	if (maps && fd >= 0 && page_map(fd, page_size(), &page) == 0)
		e->page = page;
}

int read_table_events(struct read_table *t, uint32_t pmcid, uint32_t generation, const int *fds,
		      unsigned int n, pid_t tid)
{
	struct read_slot *slot = slot_find(t, pmcid);
	struct event_block *block;
	unsigned int i;

	if (!slot) {
		fds_close(fds, n);
		return 0;
	}
	/* START of a PMC that runs already may bring nothing new. */
	if (n == 0 && slot->generation == generation)
		return 0;
	slot_forget_events(slot);
	if (n == 0)
		return 0;
	block = mmap(NULL, block_size(n), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (block == MAP_FAILED) {
		fds_close(fds, n);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		event_take(&block->events[i], fds[i], tid);
	slot->events = block->events;
	slot->stay = &block->stay;
	slot->nevents = n;
	slot->generation = generation;
	slot->tid = tid;
	return 0;
}

static bool slot_group_fill(struct read_group *g, struct read_table *t, const uint32_t *pmcid)
{
	for (unsigned int i = g->members; i--; ) {
		const struct read_slot *slot = slot_find(t, pmcid[i]);

		if (!slot || g->place[i] >= g->places)
			return false;
		g->entry[i] = slot->entry;
		g->pmcid[i] = pmcid[i];
		g->owner[g->place[i]] = (uint8_t)i;
	}
	return true;
}

static struct read_group *slot_group_new(struct read_table *t, const uint32_t *pmcid,
				    const struct wire_start_rep *rep, pid_t tid)
{
	struct read_group head = {
		.generation = rep->generation, .members = rep->members, .places = rep->places,
		.tid = tid, .ran = rep->ran, .since = rep->since,
	}, *g;

	if (!rep->places || rep->members > WIRE_GROUP_MAX || rep->nfds % rep->places)
		return NULL;
	head.groups = rep->nfds / rep->places;
	memcpy(head.place, rep->place, sizeof(head.place));
	if (!slot_group_fill(&head, t, pmcid))
		return NULL;
	g = mmap(NULL, group_size(&head), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	if (g == MAP_FAILED)
		return NULL;
	*g = head;
	return g;
}

int read_table_group(struct read_table *t, const uint32_t *pmcid, const struct wire_start_rep *rep,
		     const int *fds, pid_t tid)
{
	struct read_slot *slot = slot_find(t, pmcid[0]);
	struct read_group *g = slot ? slot_group_new(t, pmcid, rep, tid) : NULL;

	if (!g) {
		fds_close(fds, rep->nfds);
		return slot ? -ENOMEM : 0;
	}
	for (unsigned int i = 0; i < rep->nfds; i++)
		event_take(&g->events[i], fds[i], tid);
	slot->group = g;
	return 0;
}
