/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that an output must not replace: recordings, traces, programs and inputs, which cannot be
 * made again.  An option that lacks its argument takes the next word, so `pmc report --flamegraph
 * build.log` would write the picture over the log.  Each function returns 0, or an exit code and
 * has printed its line.  Only regular files are guarded: writing to others loses nothing.
 */
#ifndef PMCBPF_CLI_GUARD_H
#define PMCBPF_CLI_GUARD_H

#include <stddef.h>

enum guard {
	GUARD_TEXT,	/* a report or an export: replaces no log, trace, program or core dump */
	GUARD_LOG,	/* a log: replaces an old log or an empty file, nothing else */
	GUARD_TRACE,	/* saved rings: replace an old trace or an empty file, nothing else */
};

int guard_output(const char *path, enum guard guard);

/* Refuses a `path` to the file that is open as `input`, which messages call `what`. */
int guard_input(const char *path, int input, const char *what);
/* The same for an input by name: "-" is standard input; NULL or a missing file is no input. */
int guard_input_file(const char *path, const char *input, const char *what);

/* Two outputs need two files; a terminal or a pipe takes any number.  `first` may be NULL. */
int guard_second(const char *path, const char *first);

#endif
