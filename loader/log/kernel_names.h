/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of kernel functions in a log: the machine that reads the log seldom has them.  They are
 * written as MAP_IN records of pid -1, behind the samples that need them.
 *
 * Threads.  A log's thread (logwriter.c) calls name_search_*() on the records that it is about to
 * write.  The table of names takes a tenth of a second to read; a thread of its own does that, for
 * all logs.  The loop starts it, because a thread inherits the ids of the thread that starts it.
 */
#ifndef PMCBPF_KERNEL_NAMES_H
#define PMCBPF_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "loader/base/base.h"
#include "logrec.h"

struct kernel_names;
struct name_search;

/*
 * The table of all logs.  `file`: /proc/kallsyms, except in tests.  One message is sent if names
 * are missing because of memory or the file; none if the kernel hides them.  ready() is called, in
 * any thread, when the table has been read, so that logs may be due, and when it has to be read:
 * call kernel_names_serve() then.  NULL: no memory.
 */
struct kernel_names *kernel_names_new(const char *file, const struct messages *messages,
				      void (*ready)(void *arg), void *arg);
void kernel_names_free(struct kernel_names *n);
/* The loop's: starts the thread that reads the table, if a log needs it. */
void kernel_names_serve(struct kernel_names *n);
/* The number of readings of the table. */
unsigned int kernel_names_reads(const struct kernel_names *n);

/* Creates the search of one log; `clock` is its records' clock.  NULL: no memory. */
struct name_search *name_search_new(struct kernel_names *n, const struct logclock *clock);
void name_search_free(struct name_search *l);
/* Any thread: no more names from now on. */
void name_search_hide(struct name_search *l);

/*
 * Looks for kernel addresses in whole records that are about to be written.  Returns the offset
 * where names belong: the end, or before a CLOSELOG.
 */
size_t name_search_scan(struct name_search *l, const uint8_t *data, size_t len);
/*
 * The records of names that are known by now, to be written at that offset; valid until the next
 * call.  Before CLOSELOG it waits for the table.
 */
size_t name_search_records(struct name_search *l, const uint8_t **records);
/* The table is newer than at the last call, and addresses wait for it. */
bool name_search_due(const struct name_search *l);

#endif
