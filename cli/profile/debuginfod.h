/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files by build id from the servers in DEBUGINFOD_URLS, if the configuration asks for it.  Each is
 * fetched by a child process with libdebuginfod, which keeps it in its cache, while the log is
 * read; nobody waits before debuginfod_settle().
 */
#ifndef PMCBPF_CLI_PROFILE_DEBUGINFOD_H
#define PMCBPF_CLI_PROFILE_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct symbols;

struct debuginfod_file {
	uint8_t id[64];
	size_t idlen;
	bool executable;	/* else its debug information */
	pid_t child;		/* 0: not begun, or ended */
	int answer;		/* from the child: the path in the cache */
	bool done;
	char path[4096];	/* "": no server has it, or it is not there yet */
};

struct debuginfod {
	struct debuginfod_file **files;
	size_t n, room;
	bool settled;		/* no more files are asked for */
};

/* An option's check: 0, or an exit code and its line if files cannot be fetched. */
int debuginfod_check(void);

/* A descriptor of the file, and its path; -ENOENT: it is not there, but asked for from now on. */
int debuginfod_get(struct symbols *s, const void *id, size_t idlen, bool executable, char **path);

/*
 * Waits until all files are there, but no longer than `until` (ms of CLOCK_MONOTONIC).  Returns how
 * many are late; these are given up.
 */
size_t debuginfod_wait(struct symbols *s, int64_t until);
void debuginfod_free(struct debuginfod *d);

#endif
