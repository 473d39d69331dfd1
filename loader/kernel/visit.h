/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks over the kernel's tasks, by iterator programs (bpf/count/task.bpf.c). */
#ifndef PMCBPF_VISIT_H
#define PMCBPF_VISIT_H

#include <stdbool.h>

#include "bpf/count/count_abi.h"

struct bpf_program;
struct engine;

/* Runs the program over all tasks, or those of args->tgid; the result is in args as well. */
int visit_run(const struct engine *e, struct abi_visit_args *args);

/* Runs a program over all tasks. */
int visit_all(struct bpf_program *p);

/* Collects the executable mappings of one process, by its number in the daemon's namespace. */
int visit_process_mappings(const struct engine *e, uint32_t pid);

/*
 * Opens an iterator: reading it yields an array of struct abi_birth with every process and its
 * parent at that moment.  The caller closes it.
 */
int visit_processes(const struct engine *e);

/* Looks at the events of a process's threads, and at their forks, which are counted if watched. */
int visit_cover(const struct engine *e, uint32_t tgid, struct abi_cover *cover);
void visit_watch_forks(struct engine *e, bool watch);
/*
 * How many copies of an event, which threads have inherited, have no program; -EAGAIN: try again,
 * because a thread ended meanwhile.
 */
int visit_copies(const struct engine *e, int fd);

/* Has a PMC's only thread, whose number is noted there, identified by its task_struct as well. */
int visit_bind_thread(const struct engine *e, struct abi_alone_at at, uint32_t tid);

/* Changes whenever a target thread exits; odd while an exit is being accounted. */
uint64_t visit_exits(const struct engine *e);

#endif
