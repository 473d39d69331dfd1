/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private to this room: the structures that the loop's side of a log (logfile.c), its thread
 * (logwriter.c) and the pool (logpool.c) share.
 *
 * The loop fills buffers and queues them; a thread per log writes them, with the ids of the owner.
 * The client decides how long each system call on its descriptor takes: write, poll, shutdown and
 * close alike.  The thread makes none of them with a lock held, so the loop never waits for one.
 *
 * A log whose owner is gone has LOG_GRACE_NS to write LOG_STEP bytes of its buffers, and as long
 * again for each further step.  Then the loop abandons it: its buffers go back to the pool, and its
 * thread gets a signal, repeatedly because a signal just before a system call interrupts nothing,
 * until it has closed the descriptor and ended.  Only then is the log no longer charged to its
 * user.  If the kernel does not let the thread be interrupted, the log stays, and counts against
 * its user's limit.
 */
#ifndef PMCBPF_LOADER_LOGPOOL_H
#define PMCBPF_LOADER_LOGPOOL_H

#include <pthread.h>
#include <signal.h>
#include <sys/queue.h>

#include "lib/base/number_set.h"
#include "logfile.h"
#include "kernel_names.h"
#include "loader/policy/policy.h"

#define LOG_KICK     SIGUSR2		/* interrupts the thread's system call */
#define LOG_GRACE_NS NS_PER_S
#define LOG_STEP     65536u		/* bytes of one write, which fill a pipe */
#define LOG_BATCH    16u		/* buffers of one write at most */

/* The pool that a buffer was taken from. */
enum logbuf_pool { LOGBUF_ALL, LOGBUF_FILES, LOGBUF_POOLS, LOGBUF_NONE = LOGBUF_POOLS };

struct logbuf {
	struct logbuf *next;
	uint32_t used, size;
	enum logbuf_pool pool;
	uint8_t data[];
};

struct logpool {
	struct logpool_config config;
	int event;			/* epoll: of the bell and the timer */
	int bell, timer;
	uint64_t alarm;			/* ns: when the timer rings; 0: it does not */
	unsigned int held;		/* queued buffers whose threads have not been woken … */
	size_t held_bytes;		/* … and the bytes in them */
	uint32_t requests, failed;
	struct logfile *logs;
	struct kernel_names *names;
	unsigned int names_news;	/* kernel_names_news() when threads were last woken */
	/* Abandoned logs that no message has reported yet, and their buffers. */
	unsigned int given_up;
	uint64_t lost, said;
	bool complained;		/* atomic: about ids that cannot be taken on */

	pthread_mutex_t lock;		/* protects all below */
	struct logfile *returning;	/* logs whose `returned` is not 0 */
};

struct logfile {
	struct logfile *next;
	struct logpool *pool;
	struct logclock clock;
	struct user_stats *owner_stats;	/* the loop's; NULL: the owner is gone */
	pthread_t thread;
	struct logdest dest;
	struct identity *id;
	struct user *user;		/* exists while anything is charged to it */
	struct log_numbers *numbers;	/* the loop's; NULL: none, or the owner is gone */
	uint64_t kilobytes;		/* a second at most; 0: no limit */
	uint64_t due_to_write;		/* ns: earlier writes used up the time until then */
	struct name_search *names;		/* the thread's alone, but for name_search_hide() */
	struct logbuf *current;		/* the loop's alone, … */
	struct number_set named;	/* … for logfile_names() */
	uint64_t last;			/* time of the latest record: it never goes back */
	uint64_t queued;		/* buffers handed over so far */
	unsigned int charged[LOGBUF_POOLS];
	bool dropped;			/* records are missing that no DROPNOTIFY has marked, … */
	uint64_t lost;			/* … at least so many of them */
	/* Records behind a struct log_late, … */
	TAILQ_HEAD(log_waiting_list, log_waiting) waiting;
	bool releases;			/* … which are being written now */
	bool closed, owned, reported;
	bool ending;			/* its last records need no room in the pool */
	bool held;			/* the thread has not been woken yet */
	/* For a log without an owner: */
	uint64_t seen;			/* of `steps`, at the latest look */
	uint64_t due, pause;		/* ns: the next look or kick, and the delay behind it */

	struct logfile *next_returning;	/* this and the next one: under the pool's lock */
	unsigned int returned[LOGBUF_POOLS];

	pthread_mutex_t lock;		/* protects all below */
	pthread_cond_t work;
	struct logbuf *head, **tail;
	uint64_t written, awaited;	/* buffers; a flush waits for the latter */
	int fd, error;
	bool end, done;
	bool abandoned;			/* atomic */
	uint64_t steps;			/* atomic: writes that have ended, of LOG_STEP each */
};

/* --- logfile.c -------------------------------------------------------------------------------- */

static inline bool log_failed(struct logfile *l)
{
	return __atomic_load_n(&l->error, __ATOMIC_RELAXED) != 0;
}

/* Marks a gap before the next record, if there is one to mark; false: there is no room. */
bool log_mark_gap(struct logfile *l, uint64_t ns);
/* Puts a record that was encoded before; it is counted if there is no room. */
int log_put_encoded(struct logfile *l, uint64_t ns, const uint8_t *record, size_t len);

/* --- loglate.c -------------------------------------------------------------------------------- */

/* True: records wait behind a call chain. */
bool log_waits(const struct logfile *l);
/* Before a record is encoded: makes room for it if it has to wait, or ends the wait. */
void log_wait_reserve(struct logfile *l);
/* The room for a record that waits. */
uint8_t *log_wait_room(struct logfile *l, size_t len);

/* --- logwriter.c ------------------------------------------------------------------------------ */

/* The thread of a log. */
void *log_writer(void *arg);

/* --- logpool.c -------------------------------------------------------------------------------- */

/* Any thread: makes the loop call logpool_reap(). */
void logpool_wake_loop(const struct logpool *pool);
/* Any thread: so many buffers of each pool have been freed. */
void log_give_back(struct logfile *l, const unsigned int n[LOGBUF_POOLS]);
/* A buffer with room for `needs` bytes.  NULL: the pool is empty, or there is no memory. */
struct logbuf *log_buffer(struct logfile *l, size_t needs);
/* A log's first buffer; NULL and the reason if there is none. */
struct logbuf *log_first_buffer(struct logfile *l, struct reason *why);
/* Queues a full buffer. */
void log_queue(struct logfile *l, struct logbuf *b);
/* Frees a buffer that was not queued. */
void log_drop_buffer(struct logfile *l, struct logbuf *b);
/* The log has lost its owner: logpool_reap() ends it. */
void log_leave(struct logfile *l);

#endif
