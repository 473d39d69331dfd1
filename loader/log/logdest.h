/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that a log may be written to a descriptor.  The descriptor is a client's, and a system
 * call on it may take as long as the client likes: a FUSE server answers fstat(2) and fstatfs(2).
 * The check needs the descriptor only, so it runs in a helper, where waiting does no harm.  The
 * log's writer needs only its result.
 */
#ifndef PMCBPF_LOGDEST_H
#define PMCBPF_LOGDEST_H

#include "loader/base/base.h"

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
 * -EBADF: a kind of file that logs are not written to; -EXDEV: a file system where a write may need
 * the help of a program or another machine.
 */
int logdest_check(int fd, struct logdest *dest, struct reason *why);

#endif
