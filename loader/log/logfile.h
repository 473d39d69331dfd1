/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An owner's log: records go into buffers of a common pool, of which each user has a share, and one
 * thread per log writes full buffers to the file that the owner has handed over, with the owner's
 * ids.  A reader that does not read, a full disk or a closed pipe holds up that thread and nothing
 * else.  All functions are the event loop's, and none of them waits.
 */
#ifndef PMCBPF_LOADER_LOGFILE_H
#define PMCBPF_LOADER_LOGFILE_H

#include <stdbool.h>

#include "loader/policy/identity.h"
#include "loader/base/messages.h"
#include "logdest.h"
#include "logrec.h"
#include "loader/policy/user.h"
#include "loader/base/why.h"

struct logfile;
struct logpool;

struct logpool_config {
	struct user_table *users;	/* whose pools the buffers and the logs are */
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
/* Waits up to a second for logs to be written, then gives the rest up, within another second. */
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

/*
 * How processes and threads of records get the numbers that the log's owner knows them by.  event()
 * is false of a record about a process that has none: it is left out.  end() frees it.
 */
struct log_numbers {
	bool (*event)(struct log_numbers *n, uint64_t ns, struct pmclog_ev *ev);
	void (*sample)(struct log_numbers *n, uint64_t ns, struct pmclog_ev_callchain *c);
	void (*end)(struct log_numbers *n);
};

struct logfile_config {
	int fd;				/* logdest_check() has found … */
	struct logdest dest;		/* … this */
	struct identity *id;		/* of the owner */
	struct user *user;		/* whom the log and its buffers are charged to */
	struct user_stats *owner_stats;	/* … and counted for, until logfile_free(); NULL: nobody */
	struct log_numbers *numbers;	/* NULL: those of the daemon */
	enum logfmt format;
	uint32_t cputype;
	const char *cpuid;
};

/*
 * Takes over `fd`, `id` and `numbers`, unless it fails.  -EAGAIN: no thread, or the user has as
 * many logs as it may; -ENOMEM: no buffer for INITIALIZE, which is the first record.
 */
int logfile_new(struct logpool *pool, const struct logfile_config *config, struct logfile **out,
		struct why *why);

/*
 * Appends a record, of `ns` on CLOCK_MONOTONIC or of the time of the one before, if that is later.
 * -ENOMEM: no buffer; the record is counted, and a DROPNOTIFY marks the gap as soon as there is
 * one.  -EPIPE: the log has been closed, or has failed.
 */
int logfile_put(struct logfile *l, uint64_t ns, const struct pmclog_ev *ev);
/* Addresses of a call chain for which the format's readers have room. */
unsigned int logfile_chain_room(const struct logfile *l);
int logfile_callchain(struct logfile *l, uint64_t ns, const struct pmclog_ev_callchain *c,
		      const uint64_t *pc);

/* Has it numbers of its own? */
bool logfile_renumbers(const struct logfile *l);
/* From now on the kernel's functions are not named: the owner may know their addresses only. */
void logfile_hide_names(struct logfile *l);

/* Records are missing here that never came as far as this; nobody knows how many are the log's. */
void logfile_gap(struct logfile *l);
/* `n` records of this log are missing here. */
void logfile_lost(struct logfile *l, uint64_t n);

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
/*
 * The same, and the log is no longer the caller's: what its file does not take within a second is
 * given up.
 */
void logfile_free(struct logfile *l);

#endif
