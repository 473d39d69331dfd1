/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an output must not replace.  An option that lacks its argument takes the next word, so
 * `pmc report --flamegraph build.log` names the log as the picture: a recording, a trace, a program
 * or an input that is lost cannot be made again.  Each function returns 0, or an exit code with its
 * line printed.  What is no regular file is written to as it is, and nothing is lost.
 */
#ifndef PMCBPF_CLI_GUARD_H
#define PMCBPF_CLI_GUARD_H

#include <stddef.h>

enum guard {
	GUARD_TEXT,	/* a report or an export: replaces no log, trace, program or core dump */
	GUARD_LOG,	/* a log: replaces an old log or an empty file, nothing else */
	GUARD_TRACE,	/* saved rings: the same of traces */
};

int guard_output(const char *path, enum guard guard);

/* `path` is not the file that is open as `input`, by this or another name; `what` is read there. */
int guard_input(const char *path, int input, const char *what);
/* The same of a file that is read by name, "-": standard input; NULL or a missing file is none. */
int guard_input_file(const char *path, const char *input, const char *what);

/* Two outputs go to two files; a terminal, a pipe and NULL take any number. */
int guard_second(const char *path, const char *first);

#endif
