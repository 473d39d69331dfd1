/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wakers of threads that have waited.  The record before a sample has the waker, which becomes
 * frames of the sample's stack, between the thread that has waited and the reason of the wait.
 * Its name is a frame, too: each name has an address of its own among the kernel's.
 *
 * Example: cat waits in read(2) of a pipe until tr, in write(2), has put something there.  Folded:
 * main (of cat) … schedule, then pipe_write … main (of tr), [woken by tr], [sleep].
 */
#ifndef PMCBPF_CLI_PROFILE_WAKERS_H
#define PMCBPF_CLI_PROFILE_WAKERS_H

#include "lib/base/index.h"
#include "walk.h"

#define WAKERS_IMAGE "[waker]"
/* The address of the first name: above the reasons of waits, below any code. */
#define WAKERS_PC    (PMCLOG_PC_WAIT + 0x100)

struct waker_name {
	char text[sizeof(WAKERS_IMAGE "[woken by another process]") + PMCLOG_COMM];
};

struct wakers {
	bool there;			/* of the sample that comes next … */
	pmc_id_t id;			/* … of this PMC */
	struct walk_waker next;
	uintfptr_t pc[PMC_CALLCHAIN_DEPTH_MAX];
	struct index index;		/* of `names` */
	struct waker_name *names;
	size_t nnames, room;
};

/*
 * Keeps a record; `process`: the waker's, or NULL if it is no thread.  Returns the name with its
 * image, if it is a new one whose address is next.name; NULL: it is known.  -ENOMEM in *err.
 */
const char *wakers_note(struct wakers *ws, const struct pmclog_ev_waker *ev,
			const struct walk_process *process, int *err);
/* The waker of the PMC's next sample, valid until another record; NULL: it is not in the log. */
const struct walk_waker *wakers_take(struct wakers *ws, pmc_id_t id);
/* Another log begins. */
void wakers_forget(struct wakers *ws);

#endif
