/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's side-band events, as every profiler gets them from perf_event_open(2): births, ends,
 * execs and executable mappings of all processes, in the order of time.  Open while there is a log.
 */
#ifndef PMCBPF_PROCESS_EVENTS_H
#define PMCBPF_PROCESS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buildid.h"
#include "loader/base/base.h"

enum proc_what {
	PROC_FORK,			/* pid is the child, other the parent */
	PROC_EXIT,			/* the last thread of pid */
	PROC_EXEC,			/* text: the path; addr: dynamic linker, len: load base */
	PROC_MAP,			/* text: the file; addr, len; an executable mapping */
	PROC_UNMAP,			/* addr, len: of executable memory; from the rings */
	PROC_THREAD,			/* tid is new in pid; comm */
	PROC_NAME,			/* tid of pid is called comm from now on */
	PROC_THREAD_EXIT,
	PROC_SECURE,			/* a set-id exec of pid (0: of any process) begins */
	PROC_LOST,			/* records are missing here; pid: only of that process */
	PROC_NOTHING,			/* ignored */
};

#define PROC_TEXT      4096u		/* the kernel replaces a longer path by this one: */
#define PROC_LONG_PATH FILE_LONG_PATH

#define PROC_COMM 16u			/* bytes of a thread's name and its NUL */

struct proc_event {
	uint64_t time;			/* CLOCK_MONOTONIC, ns */
	enum proc_what what;
	pid_t pid, tid, other;
	uint64_t addr, len;
	uint64_t entry;			/* EXEC: of the first instruction; 0: not known */
	const char *text;		/* "" if there is none */
	struct buildid id;		/* MAP: of the file */
	bool asked;			/* EXEC's text, THREAD's comm: read from /proc later, and
					   maybe of another program */
	pid_t creator;			/* FORK, THREAD: the thread that called clone(2) */
	char comm[PROC_COMM];		/* EXEC, NAME, THREAD; "": not known */
};

struct engine;
struct process_events;
struct threads;

int process_events_new(struct engine *e, struct process_events **out, struct reason *why);
void process_events_free(struct process_events *p);
/* The state of a CPU; `downs` counts how often it has gone offline. */
int process_events_cpu(struct process_events *p, unsigned int cpu, bool here, uint32_t downs);
struct threads *process_events_threads(struct process_events *p);
/* Readable when a buffer is half full. */
int process_events_fd(const struct process_events *p);

/*
 * Reads the events up to `horizon`, for process_events_next().  Returns the time up to which all
 * events are known: an earlier one while an exec is in progress.  If an exec of a target takes
 * long, its events are held back until the kernel's verdict, and are delivered late.
 */
uint64_t process_events_collect(struct process_events *p, uint64_t horizon);
/* The next event up to `until`, valid until the next call; NULL: none. */
const struct proc_event *process_events_next(struct process_events *p, uint64_t until);

/* An exec of the target, or of any, was in progress at that time, and has no verdict yet. */
bool process_events_pending(const struct process_events *p, pid_t pid, uint64_t time);
bool process_events_any_pending(const struct process_events *p, uint64_t time);
/*
 * Reads the notes.  True if an exec of the target has no verdict, or was secure and PROC_SECURE has
 * not been collected.  `within`: the target is in an exec whose beginning may not have been noted.
 */
bool process_events_execs(struct process_events *p, pid_t pid, bool within);

#endif
