/* SPDX-License-Identifier: BSD-2-Clause */
/* The table behind fast reading: the daemon's pages, and each PMC's perf events. */
#ifndef PMCBPF_READ_TABLE_H
#define PMCBPF_READ_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/wire.h"
#include "ownfd.h"

struct perf_event_mmap_page;

/*
 * A perf event of one of the caller's threads, on one CPU or on all; `page` is NULL when only
 * read(2) may be used.
 */
struct read_event {
	struct ownfd own;
	const struct perf_event_mmap_page *page;
};

/*
 * Reads a counter register: its number as in the mapped page, minus 1.  False: there is none such.
 */
typedef bool read_counter_fn(uint32_t index, uint64_t *value);

/* A count on the CPU where the thread is. */
struct read_kept {
	const struct perf_event_mmap_page *page;	/* NULL: it is the count of member `as` */
	uint64_t rest;			/* what the register, or the other member's count, lacks */
	uint32_t counter;		/* the register, as counter_pmc() takes it */
	uint32_t shift;			/* bits of 64 that the register does not have */
	uint32_t as;
};

/* What holds for a thread's own counts as long as it stays on its CPU: stay.h. */
struct read_stay {
	/*
	 * For so long, on counter_clock(), pages and registers may be read: read(2) has proved that
	 * no event was lost.
	 */
	uint64_t until;
	uint64_t stamp;
	uint32_t version;		/* odd while it is filled */
	unsigned int n;			/* of `kept`; 0: none */
	struct read_kept kept[WIRE_GROUP_MAX];
};

/*
 * A group that its owner reads: groups of perf events, of which the first of each reads the others.
 * Those of group g are events[g * places] and after; member i counts by the event at place[i].
 */
struct read_group {
	uint32_t generation;
	unsigned int members, places, groups;
	pid_t tid;			/* as in struct read_slot */
	struct read_stay stay;
	uint64_t ran, since;		/* ns that it had run before `since` of CLOCK_MONOTONIC */
	const struct wire_page_pmc *entry[WIRE_GROUP_MAX];
	uint32_t pmcid[WIRE_GROUP_MAX];
	uint8_t place[WIRE_GROUP_MAX];
	uint8_t owner[WIRE_GROUP_MAX];	/* by place: the first member that counts by that event */
	struct read_event events[];
};

/* The client's state of the PMC at this position of the page. */
struct read_slot {
	uint32_t pmcid;
	unsigned int pos;
	const struct wire_page_pmc *entry;	/* NULL: unused, or read by the daemon only */
	uint32_t generation;		/* of `events` */
	unsigned int nevents;
	struct read_event *events;
	/*
	 * The only thread of the process at START, which may read registers and pages while no
	 * other exists; 0: there were more, so only read(2) sums up all.
	 */
	pid_t tid;
	struct read_stay *stay;
	struct read_group *group;	/* that the PMC leads; NULL: none that can be read so */
};

#define READ_HINTS 64u

/*
 * The pages of a connection.  Zero-filled is a valid, empty table.  Changes (read_table_*) release
 * nothing that they replace: read_table_drop() does, once no reader has the old table
 * (read_share.h).
 */
struct read_table {
	const struct wire_alive *alive;
	const struct wire_page *page;
	const struct wire_counts *counts;
	uint32_t ncpu;			/* elements of counts */
	unsigned int top;		/* slots from here on are unused */
	read_counter_fn *counter;	/* NULL: the instruction; tests have their own */
	/* By the last bits of a handle, its row's: the place of the latest such PMC, in bytes. */
	uint16_t hint[READ_HINTS];
	struct read_slot slots[WIRE_PAGE_PMCS];
};

/* Maps the page of struct wire_alive; the descriptor stays the caller's. */
int read_table_alive(struct read_table *t, int fd);
/*
 * Replaces the owner's page and counts; slots of an earlier page are forgotten.  With a page but no
 * counts the error is returned and the page used all the same.
 */
int read_table_pages(struct read_table *t, int page_fd, int counts_fd, uint32_t ncpu);
void read_table_add(struct read_table *t, uint32_t pos, uint32_t pmcid);
void read_table_remove(struct read_table *t, uint32_t pmcid);
/* Was it added, and not removed since? */
bool read_table_has(const struct read_table *t, uint32_t pmcid);
/*
 * Takes over n descriptors that START returned.  `tid` is the caller's when it is the only thread
 * of its process, else 0: a counter register is a thread's own.
 */
int read_table_events(struct read_table *t, uint32_t pmcid, uint32_t generation, const int *fds,
		      unsigned int n, pid_t tid);
/*
 * The same for a group, whose members and places `rep` and `pmcid` list.  Takes over rep->nfds
 * descriptors.
 */
int read_table_group(struct read_table *t, const uint32_t *pmcid, const struct wire_start_rep *rep,
		     const int *fds, pid_t tid);
/* Unmaps and closes all that `t` has and neither of two others (may be NULL) has. */
void read_table_drop(struct read_table *t, const struct read_table *one,
		     const struct read_table *two);

#endif
