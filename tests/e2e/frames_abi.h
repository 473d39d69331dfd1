/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What frames.bpf.c takes of a thread. */
#ifndef FRAMES_ABI_H
#define FRAMES_ABI_H

#include "bpf/python/python_abi.h"

#define FRAMES_ROOM 512u		/* a power of two */

struct frames_taken {
	__u32 n;
	__s32 step;			/* how the walk ended: enum python_step */
	__u64 ns;
	struct python_frame frame[FRAMES_ROOM];
};

#endif
