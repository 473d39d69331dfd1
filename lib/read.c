/* SPDX-License-Identifier: BSD-2-Clause */
/* How a count is put together without the daemon; each way is one function of a table. */
#include <errno.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "counter.h"
#include "read.h"

#define READ_TRIES 1000		/* a writer that takes longer than this is asked instead */

#define load(p)		__atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

static __thread pid_t thread_id;

pid_t read_thread(void)
{
	if (!thread_id)
		thread_id = syscall(SYS_gettid);
	return thread_id;
}

void read_forget_thread(void)
{
	thread_id = 0;
}

bool read_alive(const struct read_table *t)
{
	return t->alive && !(load_acquire(&t->alive->futex) & FUTEX_OWNER_DIED);
}

uint64_t read_scale(uint64_t figure, uint32_t rate)
{
	return rate ? (unsigned __int128)figure * rate / 1000000000u : figure;
}

/* --- perf events ------------------------------------------------------------------------------ */

/* What an event's page tells its own thread. */
enum page_state {
	PAGE_SILENT,		/* nothing: ask the kernel */
	PAGE_SAVED,		/* not counting now; the value is what it had counted */
	PAGE_COUNTING,		/* the register, put right by the page */
};

static enum page_state event_page(const struct perf_event_mmap_page *page, read_counter_fn *counter,
				  uint64_t *value)
{
	unsigned int tries;

	for (tries = 0; tries < READ_TRIES; tries++) {
		uint32_t lock = load_acquire(&page->lock), index = load(&page->index);
		uint16_t width = load(&page->pmc_width);
		struct perf_event_mmap_page cap = { .capabilities = load(&page->capabilities) };
		uint64_t count = load(&page->offset), raw = 0;

		/* cap_user_rdpmc alone proves nothing: Linux 6.1 sets it for software events. */
		if (!cap.cap_bit0_is_deprecated || !cap.cap_user_rdpmc)
			return PAGE_SILENT;
		if (index && (width == 0 || width > 64 || !counter(index - 1, &raw)))
			return PAGE_SILENT;
		if (index)
			raw = (uint64_t)((int64_t)(raw << (64 - width)) >> (64 - width));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (load(&page->lock) == lock) {
			*value = count + raw;
			return index ? PAGE_COUNTING : PAGE_SAVED;
		}
	}
	return PAGE_SILENT;
}

static uint64_t coarse_ns(void)
{
	struct timespec ts = { .tv_sec = 0 };

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/*
 * Pages tell a thread's own count: those of threads born later are in what the kernel sums.  Nor do
 * they tell that the event of a CPU which the thread has left was lost there: read(2) has to say so
 * now and then.
 */
static bool pages_suffice(const struct read_slot *slot)
{
	return slot->tid && __libc_single_threaded && slot->tid == read_thread() &&
	       coarse_ns() - load(slot->checked) < READ_CHECK_NS;
}

/*
 * The sum of a thread's events, one for each CPU, without a system call.  The event of the CPU that
 * runs this must be counting: if none is, one has lost its counter, and the kernel is asked which.
 * A thread that moves between two pages gets a sum between its counts before and after, as with any
 * read.
 */
static bool events_pages(const struct read_table *t, const struct read_slot *slot, uint64_t *sum)
{
	read_counter_fn *counter = t->counter ? t->counter : counter_pmc;
	bool counting = false;
	uint64_t one = 0;
	unsigned int i;

	for (i = 0; i < slot->nevents; i++) {
		enum page_state state = PAGE_SILENT;

		if (slot->events[i].page)
			state = event_page(slot->events[i].page, counter, &one);
		if (state == PAGE_SILENT)
			return false;
		counting |= state == PAGE_COUNTING;
		*sum += one;
	}
	return counting;
}

static int event_value(const struct read_event *e, uint64_t *value, struct reason *why)
{
	uint64_t data[4];
	ssize_t n;

	do
		n = read(e->fd, data, sizeof(data));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return refuse(why, -EBUSY, "the counter was taken away by another user of the "
			      "hardware, such as the NMI watchdog: the count is lost");
	if (n != sizeof(data[0]))
		return READ_ASK;
	*value = data[0];
	return READ_DONE;
}

/* --- one function for each way --------------------------------------------------------------- */

/* A consistent copy of a page's entry, and where it came from. */
struct entry {
	const struct read_table *t;
	const struct read_slot *slot;
	unsigned int pos;
	uint32_t how, generation, quantity, rate;
	uint64_t base, raw;
};

typedef int how_fn(const struct entry *e, uint64_t *value, struct reason *why);

static int how_ask(const struct entry *e, uint64_t *value, struct reason *why)
{
	return READ_ASK;
}

static int how_value(const struct entry *e, uint64_t *value, struct reason *why)
{
	*value = e->base;
	return READ_DONE;
}

/* A slice adds its count before it clears its bit: no bit set, nothing missing. */
static inline bool counts_sum(const struct read_table *t, unsigned int pos, uint64_t *sum)
{
	const struct wire_counts *c = t->counts;

	if (!c)
		return false;
	for (uint32_t cpu = 0; cpu < t->ncpu; cpu++, c++) {
		if (load_acquire(&c->open) >> pos & 1)
			return false;
		*sum += load(&c->count[pos]);
	}
	return true;
}

static int how_counts(const struct entry *e, uint64_t *value, struct reason *why)
{
	*value = e->base;
	return counts_sum(e->t, e->pos, value) ? READ_DONE : READ_ASK;
}

/* How to compute enum wire_quantity from struct rusage; those that it lacks have no entry here. */
static uint64_t quantity_figure(const struct rusage *ru, uint32_t quantity)
{
	switch (quantity) {
	case WIRE_Q_MINFLT:	return ru->ru_minflt;
	case WIRE_Q_MAJFLT:	return ru->ru_majflt;
	case WIRE_Q_FLT:	return ru->ru_minflt + ru->ru_majflt;
	case WIRE_Q_NVCSW:	return ru->ru_nvcsw;
	case WIRE_Q_NIVCSW:	return ru->ru_nivcsw;
	default:		return ru->ru_nvcsw + ru->ru_nivcsw;
	}
}

/* The caller's own figure, by the cheapest call that tells it; false: only the daemon knows. */
static bool self_figure(uint32_t quantity, uint64_t *figure)
{
	struct timespec ts;
	struct rusage ru;

	if (quantity == WIRE_Q_CPU_NS) {
		if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) < 0)
			return false;
		*figure = ts.tv_sec * 1000000000ull + ts.tv_nsec;
		return true;
	}
	if (quantity >= WIRE_Q_MIGRATIONS || getrusage(RUSAGE_SELF, &ru) < 0)
		return false;
	*figure = quantity_figure(&ru, quantity);
	return true;
}

static int how_rusage(const struct entry *e, uint64_t *value, struct reason *why)
{
	uint64_t figure;

	if (!self_figure(e->quantity, &figure))
		return READ_ASK;
	*value = e->base + read_scale(e->raw + figure, e->rate);
	return READ_DONE;
}

static int how_events(const struct entry *e, uint64_t *value, struct reason *why)
{
	const struct read_slot *slot = e->slot;
	uint64_t sum = 0, one = 0;
	unsigned int i;
	int err;

	if (slot->nevents == 0 || slot->generation != e->generation)
		return READ_ASK;
	if (pages_suffice(slot) && events_pages(e->t, slot, &sum)) {
		*value = e->base + sum;
		return READ_DONE;
	}
	sum = e->base;
	for (i = 0; i < slot->nevents; i++) {
		err = event_value(&slot->events[i], &one, why);
		if (err)
			return err;
		sum += one;
	}
	__atomic_store_n(slot->checked, coarse_ns(), __ATOMIC_RELAXED);
	*value = sum;
	return READ_DONE;
}

static int how_tsc(const struct entry *e, uint64_t *value, struct reason *why)
{
	return counter_tsc(value) ? READ_DONE : READ_ASK;
}

static how_fn *const hows[] = {
	[WIRE_HOW_ASK] = how_ask,
	[WIRE_HOW_VALUE] = how_value,
	[WIRE_HOW_COUNTS] = how_counts,
	[WIRE_HOW_RUSAGE] = how_rusage,
	[WIRE_HOW_EVENTS] = how_events,
	[WIRE_HOW_TSC] = how_tsc,
};

static const struct read_slot *find_slot(const struct read_table *t, uint32_t pmcid)
{
	unsigned int i;

	for (i = 0; i < t->top; i++)
		if (t->slots[i].pmcid == pmcid && t->slots[i].used)
			return &t->slots[i];
	return NULL;
}

bool read_quick(const struct read_table *t, uint32_t pmcid, uint64_t *value)
{
	const struct read_slot *slot = find_slot(t, pmcid);
	const struct wire_page_pmc *p;
	uint64_t sum, figure;
	bool done = false;
	uint32_t seq;

	if (!slot || !t->page || !read_alive(t))
		return false;
	p = &t->page->pmc[slot - t->slots];
	seq = load_acquire(&p->seq);
	sum = load(&p->base);
	if (seq & 1 || load(&p->pmcid) != pmcid)
		return false;
	switch (load(&p->how)) {
	case WIRE_HOW_VALUE:
		done = true;
		break;
	case WIRE_HOW_COUNTS:
		done = counts_sum(t, slot - t->slots, &sum);
		break;
	case WIRE_HOW_RUSAGE:
		done = self_figure(load(&p->quantity), &figure);
		if (done)
			sum += read_scale(load(&p->raw) + figure, load(&p->rate));
		break;
	case WIRE_HOW_EVENTS:
		done = slot->nevents && slot->generation == load(&p->generation) &&
		       pages_suffice(slot) && events_pages(t, slot, &sum);
		break;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!done || load(&p->seq) != seq)
		return false;
	*value = sum;
	return true;
}

int read_value(const struct read_table *t, uint32_t pmcid, uint64_t *value, struct reason *why)
{
	const struct read_slot *slot = find_slot(t, pmcid);
	const struct wire_page_pmc *p;
	unsigned int tries;

	if (!slot || !t->page || !read_alive(t))
		return READ_ASK;
	p = &t->page->pmc[slot - t->slots];
	for (tries = 0; tries < READ_TRIES; tries++) {
		uint32_t seq = load_acquire(&p->seq);
		struct entry e = {
			.t = t, .slot = slot, .pos = slot - t->slots,
			.how = load(&p->how), .generation = load(&p->generation),
			.quantity = load(&p->quantity), .rate = load(&p->rate),
			.base = load(&p->base), .raw = load(&p->raw),
		};
		uint64_t result = 0;
		int err;

		if (seq & 1) {
			counter_relax();
			continue;
		}
		if (load(&p->pmcid) != pmcid || e.how >= sizeof(hows) / sizeof(hows[0]))
			return READ_ASK;
		err = hows[e.how](&e, &result, why);
		/*
		 * What was computed belongs to one state of the PMC only if nothing moved
		 * meanwhile.
		 */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (load(&p->seq) != seq)
			continue;
		if (err == READ_DONE)
			*value = result;
		return err;
	}
	return READ_ASK;
}
