/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's trace rings (ktr(4)) as the daemon holds them: their configuration, and freezing,
 * clearing, marking and copying.  kernel/ktrload.c creates the rings and attaches the programs.
 *
 * Callers: op/ for the operations, the daemon for tunables at start and at run time.
 *
 * Threads.  All functions are called by the event loop.  ktr_configure() only leaves its request:
 * one thread of this room, started by the first request for rings, loads and attaches, because the
 * kernel takes seconds for that.  It signals the loop through ktr_event().  Operations on existing
 * rings take effect at once, under the lock of struct ktr; the thread releases that lock while the
 * kernel works, and the thread alone replaces `load`.
 *
 * Freezing nests: the mask in the shared control page is empty while a client holds a freeze or a
 * trigger (a signal, the OOM killer, a panic, a tracepoint) has stopped the rings.  A trigger sets
 * `stopped` before it clears the mask, so the daemon writes the mask first and then reads `stopped`
 * again.  Programs of classes that are off, or of rings that stay frozen, are detached some seconds
 * later, so that a short freeze costs nothing.  Example: two clients freeze, one thaws: the rings
 * stay frozen; the other thaws: the mask returns, and programs detached meanwhile are attached.
 */
#ifndef PMCBPF_KTR_H
#define PMCBPF_KTR_H

#include "loader/config/config.h"

struct ktr;

/* Nothing is loaded, and there is no thread yet. */
int ktr_new(struct ktr **out, unsigned int ncpu, struct reason *why);
void ktr_free(struct ktr *k);

/*
 * Makes the thread apply the tunables, unless they are in effect.  -EINVAL: no such CPU.  The
 * number of the latest request is ktr_ticket().
 */
int ktr_configure(struct ktr *k, const struct ktr_conf *conf, struct reason *why);
uint64_t ktr_ticket(struct ktr *k);
/* The configuration in effect. */
void ktr_now(struct ktr *k, struct ktr_conf *conf);
#define KTR_LATER 1
/* KTR_LATER, 0, or the error: the configuration is then as ktr_now() returns it. */
int ktr_result(struct ktr *k, uint64_t ticket, struct reason *why);

/* Readable after the thread has finished a request, until ktr_seen(), which returns a message. */
int ktr_event(const struct ktr *k);
void ktr_seen(struct ktr *k, struct reason *note);

void ktr_info(struct ktr *k, struct wire_ktr *info);

/* The client of a request, for the trace entry about it. */
struct ktr_asker {
	uint32_t pid;
	const char *program;
};
/* -ENXIO: there are no rings.  Thaw: -EINVAL without a freeze. */
int ktr_freeze(struct ktr *k, const struct ktr_asker *by, struct reason *why);
int ktr_thaw(struct ktr *k, const struct ktr_asker *by, struct reason *why);
int ktr_clear(struct ktr *k, struct reason *why);
/* -EAGAIN while frozen. */
int ktr_mark(struct ktr *k, const struct ktr_asker *by, const char *text, struct reason *why);
/* A descriptor of the rings, or of a copy without the parts for privileged users only. */
int ktr_open(struct ktr *k, bool whole, struct reason *why);

#endif
