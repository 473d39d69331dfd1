/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An owner's log: records go into buffers of a common pool, and one thread per log writes full
 * buffers to the file that the owner has handed over.  A reader that does not read, a full disk or
 * a closed pipe holds up that thread and nothing else.  All functions are the event loop's.
 */
#ifndef PMCBPF_LOADER_LOGFILE_H
#define PMCBPF_LOADER_LOGFILE_H

#include <stdbool.h>

#include "log.h"
#include "logrec.h"
#include "why.h"

struct logfile;
struct logpool;

struct logpool_config {
	unsigned int buffers;		/* kern.hwpmc.nbuffers */
	unsigned int size;		/* bytes each: kern.hwpmc.logbuffersize */
	const char *kallsyms;		/* NULL: /proc/kallsyms, as but for tests */
	const struct log *log;		/* for what logs lack */
};

/*
 * *event becomes readable when a log has failed or ended, or written what was flushed, or the names
 * of the kernel's functions are known: call logpool_reap() then.
 */
int logpool_new(struct logpool **out, const struct logpool_config *config, int *event,
		struct why *why);
/* Waits up to a second for logs to be written, then gives the rest up. */
void logpool_free(struct logpool *pool);
/* Frees logs that have ended, and empties the event. */
void logpool_reap(struct logpool *pool);
/*
 * Starts writing what the last records filled. Until then, or a flush, buffers wait for company; to
 * be called soon after records have been put.
 */
void logpool_push(struct logpool *pool);
/* How often a buffer was asked for, and there was none: pm_buffer_requests{,_failed}. */
void logpool_stats(const struct logpool *pool, uint32_t *requests, uint32_t *failed);
/* The same of the log's user, who has the log until logfile_free(). */
struct user_stats;
void logfile_count_for(struct logfile *l, struct user_stats *stats);

/* May logs be written to this descriptor? -EBADF and the reason if not. */
int logfile_check(int fd, struct why *why);

/*
 * Takes `fd` over, whatever happens.  -ENOMEM: no buffer for INITIALIZE, which is the first record;
 * -EAGAIN: no thread.
 */
int logfile_new(struct logpool *pool, int fd, enum logfmt format, uint32_t cputype,
		const char *cpuid, struct logfile **out, struct why *why);

/*
 * Appends a record, of `ns` on CLOCK_MONOTONIC or of the time of the one before, if that is later.
 * -ENOMEM: no buffer; the gap is marked by a DROPNOTIFY as soon as there is one.  -EPIPE: the log
 * has been closed, or has failed.
 */
int logfile_put(struct logfile *l, uint64_t ns, const struct pmclog_ev *ev);
int logfile_callchain(struct logfile *l, uint64_t ns, const struct pmclog_ev_callchain *c,
		      const uint64_t *pc);

/* Records are missing here that never came as far as this. */
void logfile_gap(struct logfile *l);

/* Hands over what is buffered; written when logfile_written() reaches the number returned. */
uint64_t logfile_flush(struct logfile *l);
uint64_t logfile_written(const struct logfile *l);
/* 0, or what the first failed write said, for good; *news: nobody who asked has been told yet. */
int logfile_error(struct logfile *l, bool *news);

/*
 * CLOSELOG: the last record, then the file is closed once all is written.  Further records are
 * dropped without a mark.
 */
void logfile_close(struct logfile *l);
/* The same, and the log is no longer the caller's. */
void logfile_free(struct logfile *l);

#endif
