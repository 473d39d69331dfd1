/* SPDX-License-Identifier: BSD-2-Clause */
/* One line on stderr, "program: text", and the exit code that goes with it. */
#ifndef PMCBPF_CLI_MSG_H
#define PMCBPF_CLI_MSG_H

#include <sysexits.h>

/* Standard output has no reader any more: no message, and the status that shells give SIGPIPE. */
#define EX_READER_LEFT 141

#define MSG_FORMAT(first, rest) __attribute__((format(printf, first, rest)))

/*
 * Each prints its line and returns `code`: a caller writes `return fail(EX_USAGE, …)`.  The name is
 * in parentheses because cmocka has a macro called fail.
 */
int (fail)(int code, const char *format, ...) MSG_FORMAT(2, 3);

/* … with ": " and the text of errno. */
int fail_errno(int code, const char *format, ...) MSG_FORMAT(2, 3);

/* … after a function of pmc(3): with ": ", pmc_errstr(), and errno's text where that is other. */
int fail_pmc(int code, const char *format, ...) MSG_FORMAT(2, 3);

/* A line that changes no exit code. */
void note(const char *format, ...) MSG_FORMAT(1, 2);

/*
 * First in main(): a caller may have closed 0, 1 or 2, and then a socket or a file would get that
 * number and our messages.  What is opened here is closed again on exec.
 */
void msg_open_standard(void);

#endif
