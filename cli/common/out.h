/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text on its way to a file, pipe or terminal.  Callers append to `text`; out_push() writes as much
 * as fits without blocking, and the rest waits in memory until poll(2) reports room.  O_NONBLOCK is
 * not set, because a descriptor's flags are shared with every process that has inherited it.
 */
#ifndef PMCBPF_CLI_OUT_H
#define PMCBPF_CLI_OUT_H

#include "lib/base/buf.h"
#include "output.h"

struct out {
	int fd;
	const char *name;	/* for messages */
	struct buf text;	/* not yet written */
	bool paced;		/* may block: written in pieces that fit */
	bool opened;		/* `file` is ours to finish */
	struct output file;
	bool complete;
};

#define OUT_BACKLOG (1u << 20)	/* no more rows are made while this much waits */

void out_use(struct out *out, int fd, const char *name);

/* 0, or an exit code and its line. */
int out_open(struct out *out, const char *path, enum output_kind kind);

/* The text is complete: out_close() may let an OUTPUT_WHOLE file appear. */
static inline void out_complete(struct out *out)
{
	out->complete = true;
}

/* Writes as much as fits without blocking; the rest stays.  0 or an exit code. */
int out_push(struct out *out);

/* Writes everything and waits for the reader: for reports, when nothing is being measured. */
int out_push_all(struct out *out);

/* Closes.  0 or an exit code: some file systems report errors only now. */
int out_close(struct out *out);

static inline bool out_waits(const struct out *out)
{
	return out->text.len > 0;
}

#endif
