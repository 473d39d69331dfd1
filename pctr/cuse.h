/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /dev/pctr as a character device with this program as its driver: the kernel's CUSE, spoken on
 * /dev/cuse directly.  A driver that only has ioctls needs four of its requests; libfuse would
 * bring threads, signal handlers and options that pctrd cannot use.
 */
#ifndef PMCBPF_PCTR_CUSE_H
#define PMCBPF_PCTR_CUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "core.h"
#include "watch.h"

#define CUSE_FRAME_MAX 16384		/* the kernel insists on 8192 */
#define CUSE_REPLY_MAX 4096

struct cuse {
	struct watch watch;
	struct core *core;
	const struct messages *messages;
	int (*cpu_of)(pid_t tid);
	char name[64];			/* of the node in /dev */
	bool ready, ended;
};

/*
 * Opens /dev/cuse and registers the device; the node then exists, for root only.  -errno: -ENOENT
 * and -ENODEV where the kernel has no CUSE.
 */
int cuse_open(struct cuse *c, const char *name, struct core *core, const struct messages *messages);
void cuse_close(struct cuse *c);

/*
 * The answer to a frame from the kernel: bytes in `reply`, which has CUSE_REPLY_MAX; 0: none is
 * due; -EPROTO: that was no frame.
 */
int cuse_answer(struct cuse *c, const void *frame, size_t len, void *reply);

#endif
