/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where rows go.  Writing never blocks: what a pipe or terminal does not take now waits in memory
 * and goes out when poll(2) says so.  Nothing is made non-blocking, because a descriptor's flags
 * belong to everybody who shares it.
 */
#ifndef PMCBPF_CLI_OUT_H
#define PMCBPF_CLI_OUT_H

#include "cli/common/buf.h"
#include "cli/common/output.h"

struct out {
	int fd;
	const char *name;	/* for messages */
	struct buf text;	/* not yet written */
	bool paced;		/* may block: written in pieces that fit */
	bool opened;		/* ours to close … */
	struct output file;	/* … and, with a folder, to be put into its place */
	bool complete;
};

#define OUT_BACKLOG (1u << 20)	/* with more than this waiting, rows wait too */

void out_use(struct out *out, int fd, const char *name);

/* 0 or an exit code, the line printed. */
int out_open(struct out *out, const char *path, enum output_kind kind);

/* All of it has been written, or will be by out_close(): only then does a whole file appear. */
static inline void out_complete(struct out *out)
{
	out->complete = true;
}

/* Writes what can be written now.  0 or an exit code; text stays when it is 0. */
int out_push(struct out *out);

/* Writes all and waits for who reads it: of a log, as there is nothing to measure meanwhile. */
int out_push_all(struct out *out);

/* Closes; 0 or an exit code (a disk may report its errors only now). */
int out_close(struct out *out);

static inline bool out_waits(const struct out *out)
{
	return out->text.len > 0;
}

#endif
