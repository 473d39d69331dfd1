/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of kernel functions in a log: the machine that reads the log seldom has them.  They are
 * written as MAP_IN records of pid -1, behind the samples that need them.
 *
 * The kernel is asked for the functions of the sampled addresses (kernel_symbols.h).  The few that
 * it does not find by address are in its table of all names.
 *
 * Threads.  A log's thread (logwriter.c) calls name_search_*() on the records that it is about to
 * write.  It has no capabilities: the loop asks the kernel for it.  The table takes a tenth of a
 * second to read; a thread of its own does that, for all logs.  The loop starts it, because a
 * thread inherits the ids of the thread that starts it.
 */
#ifndef PMCBPF_KERNEL_NAMES_H
#define PMCBPF_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "loader/base/base.h"
#include "logrec.h"

struct engine;
struct kernel_names;
struct name_search;

/*
 * The names of all logs.  Only tests have another `file` than /proc/kallsyms, or no engine: then
 * the file has all names.  One message is sent if names are missing because of memory or the file;
 * none if the kernel hides them.  ready() is called, in any thread, when names have come, so that
 * logs may be due, and when they are wanted: call kernel_names_serve() then.  NULL: no memory.
 */
struct kernel_names *kernel_names_new(const char *file, const struct engine *engine,
				      const struct messages *messages, void (*ready)(void *arg),
				      void *arg);
void kernel_names_free(struct kernel_names *n);
/* The loop's: asks the kernel, and starts the thread that reads the table, if a log needs them. */
void kernel_names_serve(struct kernel_names *n);
/* The number of answers of the kernel and of readings of the table. */
unsigned int kernel_names_news(const struct kernel_names *n);

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
 * call.  Before CLOSELOG it waits for the names.
 */
size_t name_search_records(struct name_search *l, const uint8_t **records);
/* Names have come since the last call, and addresses wait for them. */
bool name_search_due(const struct name_search *l);

#endif
