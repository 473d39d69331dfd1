/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a log may be written to.  The descriptor is a client's, and a system call on it may wait
 * for as long as the client likes: a FUSE server answers fstat(2) and fstatfs(2).  The check uses
 * nothing but the descriptor, so that it can run where waiting harms nobody, and finds out all that
 * the log's writer has to know; nothing else is asked of the descriptor later.
 */
#ifndef PMCBPF_LOGDEST_H
#define PMCBPF_LOGDEST_H

#include "loader/base/why.h"

enum logdest_kind {
	LOGDEST_FILE,			/* regular, on a local file system */
	LOGDEST_PIPE,
	LOGDEST_TERMINAL,
	LOGDEST_NULL,			/* /dev/null, and /dev/full, where each write fails */
	LOGDEST_UNIX,			/* a connection of AF_UNIX */
	LOGDEST_TCP
};

struct logdest {
	enum logdest_kind kind;
};

/*
 * -EBADF: nothing that a log is written to; -EXDEV: a file on a file system that is not known to
 * complete a write without the help of a program or another machine.
 */
int logdest_check(int fd, struct logdest *dest, struct why *why);

#endif
