/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mappings and names that exist before a log begins, as MAP_IN, PROC_CREATE and THR_CREATE records.
 * Those of processes are read by a helper (process/mappings_read.c): a process may have many
 * thousands of mappings, and their files may be on file systems that never answer.
 */
#ifndef PMCBPF_MAPPINGS_H
#define PMCBPF_MAPPINGS_H

#include <stdbool.h>
#include <sys/types.h>

struct errands;
struct logfile;
struct user;

/*
 * Each mapping is logged with the address of its file's first byte, even if only the text is
 * mapped.  The errand is charged to the user; unreadable mappings leave a gap in the log.
 *
 * shows() is called after each part has been read and before it is written: true if the log may
 * have it.  If not, that part and all later ones are left out, without a gap.
 */
typedef bool mappings_show_fn(void *arg, pid_t pid);
/* Called with the name of each thread that was logged. */
typedef void mappings_name_fn(void *arg, pid_t tid, const char *name);
/* Logs the mappings of a process, then the names of its threads. */
void mappings_of_process(struct errands *es, struct user *u, struct logfile *l, pid_t pid,
			 mappings_show_fn *shows, mappings_name_fn *named, void *arg);
/* Logs every process with its threads, then its mappings. */
void mappings_of_all(struct errands *es, struct user *u, struct logfile *l);
/* Logs a name for the number that stands for all processes outside the daemon's PID namespace. */
void mappings_of_outside(struct logfile *l);
/* Logs the kernel and its modules, with pid -1.  False: it hides its addresses, no record. */
bool mappings_of_kernel(struct logfile *l);

#endif
