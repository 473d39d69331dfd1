/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of the kernel's functions in a log: they are known here and now, and seldom where the
 * log is read.  The thread that writes a log looks for them in what it writes, so that nobody
 * waits; the table of names, which takes long, is read by a thread of its own, once for all logs.
 * The loop starts that thread, because a thread has the ids of the one that starts it.
 */
#ifndef PMCBPF_KERNEL_NAMES_H
#define PMCBPF_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "loader/base/messages.h"
#include "logrec.h"

struct kernel_names;
struct name_search;

/*
 * What logs have in common.  `file`: /proc/kallsyms, but for tests.  The daemon's log hears, once,
 * that names are missing for want of memory or of the file; that the kernel hides them is no news.
 * ready() is called, by any thread, when the table has been read, so that logs may be due, and when
 * it is to be read: call kernel_names_serve() then.  NULL: no memory.
 */
struct kernel_names *kernel_names_new(const char *file, const struct log *log,
				      void (*ready)(void *arg), void *arg);
void kernel_names_free(struct kernel_names *n);
/* Starts the thread that reads the table, if a log needs it. */
void kernel_names_serve(struct kernel_names *n);
/* How often it has been read. */
unsigned int kernel_names_reads(const struct kernel_names *n);

/* Of one log, whose records are made by the clock.  NULL: no memory. */
struct name_search *name_search_new(struct kernel_names *n, const struct logclock *clock);
void name_search_free(struct name_search *l);
/* No more names from now on; of any thread. */
void name_search_hide(struct name_search *l);

/*
 * Looks through whole records that are about to be written.  Returns where names belong: behind
 * them, or before a CLOSELOG.
 */
size_t name_search_scan(struct name_search *l, const uint8_t *data, size_t len);
/*
 * The records that can be made now, to be written there; the log's own until the next call.  Before
 * CLOSELOG it waits for the table.
 */
size_t name_search_records(struct name_search *l, const uint8_t **records);
/* More can be made than at the last call. */
bool name_search_due(const struct name_search *l);

#endif
