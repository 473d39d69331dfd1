/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace region of a process: found in its mappings, checked, read and in a few words written.
 * All that is read is that process's word: nothing of it is believed before it was checked.
 */
#ifndef PMCBPF_CLI_TRACE_TRACEE_H
#define PMCBPF_CLI_TRACE_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sys/ktr_region.h>

#include "cli/common/buf.h"

struct tracee {
	pid_t pid;
	int fd;			/* the region's file where the kernel lets us have it, else -1 */
	uint64_t base, size;	/* the mapping */
	struct ktr_region head;	/* checked */
};

/*
 * 0; -ESRCH no such process; -EACCES, -EPERM it is not ours to look at; -ENXIO it has no region;
 * -EBADMSG it has one that is none, *fault says why.
 */
int tracee_open(struct tracee *proc, pid_t pid, const char **fault);
void tracee_close(struct tracee *proc);

/* At an offset of the region.  0; -ESRCH it has ended; -errno. */
int tracee_read(const struct tracee *proc, uint64_t offset, void *data, size_t len);
int tracee_write(const struct tracee *proc, uint64_t offset, const void *data, size_t len);

/* The region is still where it was: 0, or -errno. */
int tracee_still(const struct tracee *proc);

/* Entries ever written to all rings. */
int tracee_written(const struct tracee *proc, uint64_t *written);

/*
 * ktr_mask, and what it will be when a freeze from outside is thawed, 0 if there is none: a child
 * of fork(2) shares its parent's region, but not the variable.  -EFAULT: the region says that it is
 * where no variable can be.
 */
int tracee_get_mask(const struct tracee *proc, uint32_t *mask, uint32_t *saved);
int tracee_set_mask(const struct tracee *proc, uint32_t mask);

/* The lines of /proc/PID/maps that are of files: what a decoder finds formats by. */
int tracee_files(pid_t pid, struct buf *text);

#endif
