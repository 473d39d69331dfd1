/* SPDX-License-Identifier: BSD-2-Clause */
/* One line on stderr, "program: text", and its exit code. */
#ifndef PMCBPF_CLI_MSG_H
#define PMCBPF_CLI_MSG_H

#include <sysexits.h>

/* Standard output has lost its reader: no message, and the status that shells give for SIGPIPE. */
#define EX_READER_LEFT 141

#define MSG_FORMAT(first, rest) __attribute__((format(printf, first, rest)))

/*
 * Each prints its line and returns `code`: a caller writes `return fail(EX_USAGE, …)`.  The name is
 * in parentheses because cmocka has a macro called fail.
 */
int (fail)(int code, const char *format, ...) MSG_FORMAT(2, 3);

/* Appends ": " and the text of errno. */
int fail_errno(int code, const char *format, ...) MSG_FORMAT(2, 3);

/* After a function of pmc(3): appends ": ", pmc_errstr(), and errno's text if that differs. */
int fail_pmc(int code, const char *format, ...) MSG_FORMAT(2, 3);

/* Prints a line; the exit code is not affected. */
void note(const char *format, ...) MSG_FORMAT(1, 2);

/*
 * Call this first in main().  If 0, 1 or 2 is closed, a socket or file would get that number, and
 * messages would go there.  The descriptors that are opened here are closed on exec.
 */
void msg_open_standard(void);

#endif
