/* SPDX-License-Identifier: BSD-2-Clause */
/* What the records' side of a log (logfile.c) and the writing side (logpool.c) have in common. */
#ifndef PMCBPF_LOADER_LOGPOOL_H
#define PMCBPF_LOADER_LOGPOOL_H

#include <pthread.h>

#include "logfile.h"
#include "lognames.h"
#include "user.h"

#define LOG_KICK SIGUSR2		/* gets a thread out of a write() at shutdown */

struct logbuf {
	struct logbuf *next;
	uint32_t used;
	uint8_t data[];
};

struct logpool {
	struct logpool_config config;
	int event;
	unsigned int used;		/* buffers in use, by the loop's count */
	unsigned int held;		/* handed over, and no thread has been called yet */
	uint32_t requests, failed;
	struct logfile *logs;
	struct names *names;
	unsigned int names_reads;	/* threads were called for so many tables of names */

	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t room;
	unsigned int returned;		/* what threads have freed since `used` was counted */
};

struct logfile {
	struct logfile *next;
	struct logpool *pool;
	struct logclock clock;
	struct user_stats *stats;	/* of its user, the loop's alone; NULL: none any more */
	pthread_t thread;
	struct lognames *names;		/* the thread's alone */
	struct logbuf *current;		/* the loop's alone */
	uint64_t last;			/* time of the latest record: it never goes back */
	uint64_t queued;		/* buffers handed over so far */
	bool dropped;			/* records are missing that no DROPNOTIFY has marked */
	bool closed, owned, told;
	bool ending;			/* its last records need no room in the pool */
	bool held;			/* the thread has not been called yet */
	bool regular;			/* it takes what it is given, whoever reads */
	uint64_t stuck;			/* … but did not, when so many had been written */

	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t work;
	struct logbuf *head, **tail;
	uint64_t written, awaited;	/* … of buffers; somebody waits for the latter */
	int fd, error;
	bool end, abandon, done;
};

/* The thread of a log. */
void *log_writer(void *arg);
/* Makes the loop call logpool_reap(). */
void log_tell_loop(const struct logpool *pool);
/* NULL: there is none, or no memory. */
struct logbuf *log_buffer(struct logfile *l);
/* The loop has filled one. */
void log_queue(struct logfile *l, struct logbuf *b);

#endif
