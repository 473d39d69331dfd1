/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's trace rings as the daemon has them: what the tunables ask for is done by a thread,
 * since the kernel takes its time to load and attach programs; what is done to rings that are
 * there is done at once.
 */
#ifndef PMCBPF_KTR_H
#define PMCBPF_KTR_H

#include "loader/config/ktrconf.h"

struct ktr;

/* Nothing is loaded, and there is no thread yet. */
int ktr_new(struct ktr **out, unsigned int ncpu, struct why *why);
void ktr_free(struct ktr *k);

/*
 * Begins to do what the tunables say, unless that is so already.  -EINVAL: no such CPU.  What was
 * begun last is ktr_ticket().
 */
int ktr_configure(struct ktr *k, const struct ktr_conf *conf, struct why *why);
uint64_t ktr_ticket(struct ktr *k);
/* What is in effect. */
void ktr_now(struct ktr *k, struct ktr_conf *conf);
#define KTR_LATER 1
/* KTR_LATER, 0, or why it was not done: all is as ktr_now() says. */
int ktr_result(struct ktr *k, uint64_t ticket, struct why *why);

/* Readable when something is done, until ktr_seen(), which tells what is worth a message, or "". */
int ktr_event(const struct ktr *k);
void ktr_seen(struct ktr *k, struct why *note);

void ktr_info(struct ktr *k, struct wire_ktr *info);

/* Who asks, for the entry that tells of it. */
struct ktr_asker {
	uint32_t pid;
	const char *program;
};
/* -ENXIO: there are no rings.  Thaw: -EINVAL without a freeze. */
int ktr_freeze(struct ktr *k, const struct ktr_asker *by, struct why *why);
int ktr_thaw(struct ktr *k, const struct ktr_asker *by, struct why *why);
int ktr_clear(struct ktr *k, struct why *why);
/* -EAGAIN while frozen. */
int ktr_mark(struct ktr *k, const struct ktr_asker *by, const char *text, struct why *why);
/* A descriptor of the rings, or of a copy without what only the privileged may see. */
int ktr_open(struct ktr *k, bool whole, struct why *why);

#endif
