/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes a count without the daemon: one function for each enum wire_how. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "read.h"
#include "read_how.h"
#include "stay.h"

#define READ_TRIES 1000		/* then the daemon, which is still writing, is asked */

__thread pid_t read_thread_id;

pid_t read_thread(void)
{
	if (!read_thread_id)
		read_thread_id = syscall(SYS_gettid);
	return read_thread_id;
}

void read_forget_thread(void)
{
	read_thread_id = 0;
}

uint64_t read_scale(uint64_t figure, uint32_t rate)
{
	return rate ? (unsigned __int128)figure * rate / 1000000000u : figure;
}

/* --- perf events ------------------------------------------------------------------------------ */

static int event_value(const struct read_event *e, uint64_t *value, struct reason *why)
{
	uint64_t data[4];
	ssize_t n = event_page_ask(e, data, sizeof(data));

	if (n == 0)
		return event_page_lost(why);
	if (n != sizeof(data[0]))
		return READ_ASK;
	*value = data[0];
	return READ_DONE;
}

/* --- one function for each way --------------------------------------------------------------- */

/* A consistent copy of a page's entry, and where it came from. */
struct read_entry {
	const struct read_table *t;
	const struct read_slot *slot;
	uint32_t how, generation, quantity, rate;
	uint64_t base, raw;
};

typedef int how_fn(const struct read_entry *e, uint64_t *value, struct reason *why);

static int how_ask(const struct read_entry *e, uint64_t *value, struct reason *why)
{
	return READ_ASK;
}

static int how_value(const struct read_entry *e, uint64_t *value, struct reason *why)
{
	*value = e->base;
	return READ_DONE;
}

static int how_counts(const struct read_entry *e, uint64_t *value, struct reason *why)
{
	*value = e->base;
	return read_how_counts(e->t, e->slot->pos, value) ? READ_DONE : READ_ASK;
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

bool read_figure(uint32_t quantity, uint64_t *figure)
{
	struct timespec ts;
	struct rusage ru;

	if (quantity == WIRE_Q_CPU_NS) {
		if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) < 0)
			return false;
		*figure = ts.tv_sec * 1000000000ull + ts.tv_nsec;
		return true;
	}
	if (quantity >= WIRE_Q_COUNT || getrusage(RUSAGE_SELF, &ru) < 0)
		return false;
	*figure = quantity_figure(&ru, quantity);
	return true;
}

static int how_rusage(const struct read_entry *e, uint64_t *value, struct reason *why)
{
	uint64_t figure;

	if (!read_figure(e->quantity, &figure))
		return READ_ASK;
	*value = e->base + read_scale(e->raw + figure, e->rate);
	return READ_DONE;
}

static int how_events(const struct read_entry *e, uint64_t *value, struct reason *why)
{
	const struct read_slot *slot = e->slot;
	uint64_t sum = e->base, one = 0;
	struct stay_source from;
	unsigned int i;
	int err;

	if (slot->nevents == 0)
		return read_group_member(e->t, slot->pmcid, value, why);
	if (slot->generation != e->generation)
		return READ_ASK;
	for (i = 0; i < slot->nevents; i++) {
		err = event_value(&slot->events[i], &one, why);
		if (err)
			return err;
		sum += one;
	}
	from = stay_alone(slot);
	stay_check(e->t, slot->stay, slot->tid, &from,
		   &(struct pmc_group_member){ .pm_value = sum });
	*value = sum;
	return READ_DONE;
}

static int how_tsc(const struct read_entry *e, uint64_t *value, struct reason *why)
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

int read_value(const struct read_table *t, uint32_t pmcid, uint64_t *value, struct reason *why)
{
	const struct read_slot *slot = read_how_find(t, pmcid);
	const struct wire_page_pmc *p;
	unsigned int tries;

	if (!slot)
		return READ_ASK;
	p = slot->entry;
	for (tries = 0; tries < READ_TRIES; tries++) {
		uint32_t seq = load_acquire(&p->seq);
		struct read_entry e = {
			.t = t, .slot = slot,
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
		 * The result belongs to one state of the PMC only if the entry has not changed.
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

/* --- the register itself --------------------------------------------------------------------- */

static int register_none(struct reason *why)
{
	return deny(why, -ENOSYS, "this PMC is not read from a register; use pmc_read()");
}

/* If the instruction cannot be tried, the page is believed. */
static bool register_reads(const struct read_table *t, uint32_t index)
{
	uint64_t unused;

	if (t->counter)
		return t->counter(index, &unused);
	return (!trap_ready() || trap_counter(index, &unused)) && !trap_lately();
}

/* -EAGAIN: the event is not on this CPU. */
static int register_here(const struct read_table *t, const struct read_slot *slot, uint32_t *index,
			 struct reason *why)
{
	const struct stay_source from = stay_alone(slot);
	enum stay_state state = STAY_MOVING;
	uint32_t found;

	for (unsigned int tries = 0; state == STAY_MOVING && tries < READ_TRIES; tries++)
		state = stay_fill(slot->stay, &from);
	if (state == STAY_ELSEWHERE || state == STAY_MOVING)
		return -EAGAIN;
	found = load(&slot->stay->kept[0].counter);
	if (state == STAY_FORBIDDEN || !register_reads(t, found))
		return deny(why, -ENOSYS, "the kernel does not let programs read this counter; "
			    "/proc/sys/kernel/perf_user_access (arm64) or "
			    "/sys/bus/event_source/devices/*/rdpmc (x86) is 1 where it does, "
			    "when the PMC starts");
	*index = found;
	return 0;
}

int read_register(const struct read_table *t, uint32_t pmcid, uint32_t *index, struct reason *why)
{
	const struct read_slot *slot = read_how_find(t, pmcid);
	const struct wire_page_pmc *p;
	uint64_t value;
	int err;

	if (!slot)
		return register_none(why);
	p = slot->entry;
	if (load(&p->how) == WIRE_HOW_VALUE)
		return deny(why, -EAGAIN, "Linux gives a PMC its register when it runs: "
			    "pmc_start() it first");
	if (load(&p->how) != WIRE_HOW_EVENTS || !slot->nevents ||
	    slot->generation != load(&p->generation))
		return register_none(why);
	if (!slot->tid || slot->tid != read_thread() || !__libc_single_threaded)
		return deny(why, -ENOSYS, "a register counts for one thread, and this process "
			    "has had several; use pmc_read()");
	err = register_here(t, slot, index, why);
	if (err != -EAGAIN)
		return err;
	for (unsigned int i = 0; i < slot->nevents; i++) {
		err = event_value(&slot->events[i], &value, why);
		if (err < 0)
			return err;
	}
	return deny(why, -EAGAIN, "the PMC is on no register just now; try again");
}
