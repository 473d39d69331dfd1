/* SPDX-License-Identifier: BSD-2-Clause */
/* The product's walk over Python's frames by a program in the kernel. */
#ifndef FRAMES_KERNEL_H
#define FRAMES_KERNEL_H

#include <sys/types.h>

#include "frames_abi.h"

/* From now on frames are taken at each system call of the process. */
void frames_kernel_begin(pid_t pid, const struct python_process *p);
/* Those at the thread's last one. */
const struct frames_taken *frames_kernel_taken(pid_t tid);

#endif
