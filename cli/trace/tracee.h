/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tracee is a process with a trace region: the region is found in its mappings, checked and read,
 * and its mask written.  The process may change everything at any time, so anything that is read is
 * checked in a copy before it is used.
 */
#ifndef PMCBPF_CLI_TRACE_TRACEE_H
#define PMCBPF_CLI_TRACE_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sys/ktr_region.h>

#include "lib/base/buf.h"

struct tracee {
	pid_t pid;
	int fd;			/* the region's file if the kernel permits opening it, else -1 */
	uint64_t base, size;	/* the mapping */
	struct ktr_region head;	/* checked */
};

/*
 * 0; -ESRCH no such process; -EACCES, -EPERM no permission; -ENXIO it has no region; -EBADMSG its
 * region is unsound, with the reason in *fault.
 */
int tracee_open(struct tracee *proc, pid_t pid, const char **fault);
void tracee_close(struct tracee *proc);

/* At an offset of the region.  0; -ESRCH the process has ended; or -errno. */
int tracee_read(const struct tracee *proc, uint64_t offset, void *data, size_t len);
int tracee_write(const struct tracee *proc, uint64_t offset, const void *data, size_t len);

/* Checks that the region is still where it was: 0, or -errno. */
int tracee_still(const struct tracee *proc);

/* Entries ever written to all rings. */
int tracee_written(const struct tracee *proc, uint64_t *written);

/*
 * ktr_mask, and the value that a thaw will restore after a freeze from outside (0: not frozen).  A
 * child of fork(2) shares its parent's region, but not the variable.  -EFAULT: by the region's data
 * the variable is where none can be.
 */
int tracee_get_mask(const struct tracee *proc, uint32_t *mask, uint32_t *saved);
int tracee_set_mask(const struct tracee *proc, uint32_t mask);

/* The lines of /proc/PID/maps that name files, by which a decoder finds formats. */
int tracee_files(pid_t pid, struct buf *text);

#endif
