/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An owner's log.  Records go into buffers of a common pool, of which each user has a share; one
 * thread per log writes full buffers to the owner's file, with the owner's ids.  A reader that does
 * not read, a full disk or a closed pipe holds up that thread and nothing else.
 */
#ifndef PMCBPF_LOADER_LOGFILE_H
#define PMCBPF_LOADER_LOGFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/policy/policy.h"
#include "loader/base/base.h"
#include "logdest.h"
#include "logrec.h"

struct engine;
struct logfile;
struct logpool;

struct logpool_config {
	struct user_table *users;	/* the pools that buffers and logs are charged to */
	unsigned int buffers;		/* kern.hwpmc.nbuffers */
	unsigned int size;		/* bytes each: kern.hwpmc.logbuffersize */
	const char *kallsyms;		/* of tests; NULL: /proc/kallsyms */
	const struct engine *engine;	/* is asked for names of the kernel's functions */
	const struct messages *messages;	/* for messages about missing parts of logs */
};

/*
 * *event becomes readable when a log has failed, has ended, or has completed a flush, and when the
 * names of the kernel's functions are known: call logpool_reap() then.
 */
int logpool_new(struct logpool **out, const struct logpool_config *config, int *event,
		struct reason *why);
/* Waits up to a second for logs to be written, and up to another one for abandoned logs to end. */
void logpool_free(struct logpool *pool);
/* Frees logs that have ended, and empties the event. */
void logpool_reap(struct logpool *pool);
/*
 * Wakes the threads of logs with full buffers.  Call it after a batch of records: until this call
 * or a flush, full buffers are collected, so that a thread is woken once for many.
 */
void logpool_push(struct logpool *pool);
/* Requests for buffers, and those that failed: pm_buffer_requests{,_failed}. */
void logpool_stats(const struct logpool *pool, uint32_t *requests, uint32_t *failed);

/*
 * Replaces the numbers of processes and threads in records by those in the owner's PID namespace.
 * event() returns false if the record's process has none there: the record is left out.
 */
struct log_numbers {
	bool (*event)(struct log_numbers *n, uint64_t ns, struct pmclog_ev *ev);
	void (*sample)(struct log_numbers *n, uint64_t ns, struct pmclog_ev_callchain *c);
	void (*end)(struct log_numbers *n);
};

struct logfile_config {
	int fd;
	struct logdest dest;		/* logdest_check() of `fd` */
	struct identity *id;		/* of the owner */
	struct user *user;		/* the log and its buffers are charged to it */
	struct user_stats *owner_stats;	/* counts them as well, until logfile_free(); or NULL */
	struct log_numbers *numbers;	/* NULL: the owner is in the daemon's PID namespace */
	uint64_t kilobytes;		/* to be written in a second at most; 0: no limit */
	enum logfmt format;
	uint32_t cputype;
	const char *cpuid;
};

/*
 * Takes over `fd`, `id` and `numbers`, unless it fails.  -EAGAIN: no thread, or the user has as
 * many logs as it may; -ENOMEM: no buffer for INITIALIZE, which is the first record.
 */
int logfile_new(struct logpool *pool, const struct logfile_config *config, struct logfile **out,
		struct reason *why);

/*
 * Appends a record with the time `ns` of CLOCK_MONOTONIC, or with the time of the record before it,
 * if that is later.  -ENOMEM: no buffer; the record is counted, and a DROPNOTIFY marks the gap as
 * soon as there is a buffer.  -EPIPE: the log has been closed, or has failed.
 */
int logfile_put(struct logfile *l, uint64_t ns, const struct pmclog_ev *ev);
/* Does the log's format have records of the type? */
bool logfile_has(const struct logfile *l, enum pmclog_type type);
/* The most addresses of a call chain that readers of the log's format accept. */
unsigned int logfile_chain_room(const struct logfile *l);
int logfile_callchain(struct logfile *l, uint64_t ns, const struct pmclog_ev_callchain *c,
		      const uint64_t *pc);

/*
 * True if the log does not remember the number: the caller names in the log what it uses by it.
 * Names that are written again do no harm.
 */
bool logfile_names(struct logfile *l, uint32_t number);

/*
 * A call chain that is not complete yet, a part of the caller's: later records wait behind it, and
 * no other log is late.  write() is called by logfile_release(): it writes the chain by
 * logfile_callchain() with the time `ns`, and may free it.  False: not yet; never if `now`.
 */
struct log_late {
	uint64_t ns;
	bool (*write)(struct log_late *late, bool now);
};
/* False: no memory, or the log is closed. */
bool logfile_defer(struct logfile *l, uint64_t ns, struct log_late *late);
/* Writes chains that are complete, or `now` all, and what waits behind them. */
void logfile_release(struct logfile *l, bool now);
/* True if records up to that time wait. */
bool logfile_is_late(const struct logfile *l, uint64_t until);

/* True if it has struct log_numbers. */
bool logfile_renumbers(const struct logfile *l);
/* Stops writing names of kernel functions: the owner may know their addresses only. */
void logfile_hide_names(struct logfile *l);

/* Marks a gap: an unknown number of records was lost before they got here. */
void logfile_gap(struct logfile *l);
/* `n` records of this log are missing here. */
void logfile_lost(struct logfile *l, uint64_t n);

/* Hands over the buffered records; they are written when logfile_written() reaches the result. */
uint64_t logfile_flush(struct logfile *l);
uint64_t logfile_written(const struct logfile *l);
/* 0, or the error of the first failed write, for good; *news: no earlier call returned it. */
int logfile_error(struct logfile *l, bool *news);

/*
 * Writes CLOSELOG, the last record; the file is closed once all is written.  Further records are
 * dropped without a mark.
 */
void logfile_close(struct logfile *l);
/* The same, and gives the log up: its thread has a second for each 64 KB (logpool.h). */
void logfile_free(struct logfile *l);

#endif
