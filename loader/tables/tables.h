/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables for unwinding, of the files that run on this machine.
 *
 * The programs of bpf/mapping give each file a number when it is mapped executable and note it if
 * it has no table.  This room takes the notes, has a worker without privileges compile the file's
 * call frame information (loader/unwind), and publishes the table (loader/kernel/unwinder.h).
 * Chains of samples end in a file until its table is there.
 *
 * A file is NEW, then ASKED from its note to the worker's answer, then READY.  If it has no such
 * information, frame pointers are used for it; if the worker refuses it, chains end in it.  If its
 * process is gone before the worker has opened it, the worker opens it by the path that the kernel
 * has recorded; if that is another file, it is NEW again, until the next mapping.  Few
 * workers run at a time, and files of root are served first, then those of all users in turn.
 *
 * loader/daemon makes it, loader/server calls tables_run() when there are notes; all of it but
 * tables_job(), which runs in a helper, belongs to the event loop's thread.
 */
#ifndef PMCBPF_TABLES_H
#define PMCBPF_TABLES_H

#include <sys/types.h>

#include "lib/base/helper.h"
#include "loader/base/base.h"

struct engine;
struct errands;
struct tables;

/* `mb`: the memory that tables may take, in megabytes. */
int tables_new(struct engine *e, struct errands *es, unsigned int mb, struct tables **out,
	       struct reason *why);
/* No worker is begun any more.  Then the engine and the errands are freed, then the tables. */
void tables_stop(struct tables *t);
void tables_free(struct tables *t);
/* Readable when there are notes: call tables_run(). */
int tables_fd(const struct tables *t);
void tables_run(struct tables *t);
/* Reads the mappings of a process that runs already, if samples are unwound now. */
void tables_learn(struct tables *t, pid_t pid);

/* The helper's job: opens a mapped file and compiles it; its descriptor is the table's memory. */
int tables_job(struct helper_call *call);

#endif
