/* SPDX-License-Identifier: BSD-2-Clause */
/* Records into buffers; the beginning and the end of logs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "clock.h"
#include "logpool.h"

/* --- records ------------------------------------------------------------------------------- */

static void hand_over(struct logfile *l)
{
	if (l->current)
		log_queue(l, l->current);
	l->current = NULL;
}

/* Room for a record of `len` bytes; a record never spans buffers. */
static uint8_t *room(struct logfile *l, size_t len)
{
	uint8_t *p;

	if (l->current && l->pool->config.size - l->current->used < len)
		hand_over(l);
	if (!l->current && len <= l->pool->config.size)
		l->current = log_buffer(l);
	if (!l->current)
		return NULL;
	p = l->current->data + l->current->used;
	l->current->used += (uint32_t)len;
	return p;
}

static bool append(struct logfile *l, const uint8_t *record, size_t len)
{
	uint8_t *p = room(l, len);

	if (p)
		memcpy(p, record, len);
	return p != NULL;
}

/* Not in one with its caller, whom a record's room on the stack would cost time for each sample. */
static __attribute__((noinline)) bool put_drop(struct logfile *l, uint64_t ns)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_DROPNOTIFY };
	uint8_t record[LOGREC_MAX];

	if (!append(l, record, logrec_encode(record, &l->clock, ns, &ev)))
		return false;
	l->dropped = false;
	return true;
}

/* Marks a gap before the first record behind it. */
static bool mark_gap(struct logfile *l, uint64_t ns)
{
	return !l->dropped || put_drop(l, ns);
}

static bool failed(struct logfile *l)
{
	return __atomic_load_n(&l->error, __ATOMIC_RELAXED) != 0;
}

static uint64_t in_order(struct logfile *l, uint64_t ns)
{
	if (ns > l->last)
		l->last = ns;
	return l->last;
}

static int put(struct logfile *l, uint64_t ns, const uint8_t *record, size_t len)
{
	if (mark_gap(l, ns) && append(l, record, len))
		return 0;
	l->dropped = true;
	return -ENOMEM;
}

int logfile_put(struct logfile *l, uint64_t ns, const struct pmclog_ev *ev)
{
	uint8_t record[LOGREC_MAX];
	size_t len;

	if (l->closed || failed(l))
		return -EPIPE;
	ns = in_order(l, ns);
	len = logrec_encode(record, &l->clock, ns, ev);
	/* Old logs know no threads: nothing is missing there. */
	return len ? put(l, ns, record, len) : 0;
}

int logfile_callchain(struct logfile *l, uint64_t ns, const struct pmclog_ev_callchain *c,
		      const uint64_t *pc)
{
	uint8_t *p;

	if (l->closed || failed(l))
		return -EPIPE;
	ns = in_order(l, ns);
	p = mark_gap(l, ns) ? room(l, logrec_callchain_size(&l->clock, (unsigned int)c->pl_npc)) :
			      NULL;
	if (!p) {
		l->dropped = true;
		return -ENOMEM;
	}
	logrec_callchain(p, &l->clock, ns, c, pc);
	return 0;
}

void logfile_gap(struct logfile *l)
{
	l->dropped = true;
}

uint64_t logfile_flush(struct logfile *l)
{
	hand_over(l);
	pthread_mutex_lock(&l->lock);
	l->awaited = l->queued;
	pthread_mutex_unlock(&l->lock);
	logpool_push(l->pool);
	return l->queued;
}

uint64_t logfile_written(const struct logfile *l)
{
	struct logfile *mutable = (struct logfile *)l;
	uint64_t written;

	pthread_mutex_lock(&mutable->lock);
	written = l->written;
	pthread_mutex_unlock(&mutable->lock);
	return written;
}

int logfile_error(struct logfile *l, bool *news)
{
	int err;

	pthread_mutex_lock(&l->lock);
	err = l->error;
	pthread_mutex_unlock(&l->lock);
	if (news) {
		*news = err && !l->told;
		l->told |= err != 0;
	}
	return err;
}

/* --- beginning and end ----------------------------------------------------------------------- */

static bool is_pseudo_file(int fd)
{
	static const long magic[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, SECURITYFS_MAGIC,
		CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC, SELINUX_MAGIC,
		0x62656570 /* configfs */, 0x6165676C /* pstore */, EFIVARFS_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	for (unsigned int i = 0; i < sizeof(magic) / sizeof(magic[0]); i++)
		if (fs.f_type == magic[i])
			return true;
	return false;
}

/*
 * The daemon writes as root what the owner has opened: never to where the kernel looks at who
 * writes instead of who opened.
 */
int logfile_check(int fd, struct why *why)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY)
		return deny(why, -EBADF, "the log's descriptor is not open for writing");
	if (fstat(fd, &st))
		return deny(why, -EBADF, "the log's descriptor is of no use: %m");
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
	    (S_ISREG(st.st_mode) && !is_pseudo_file(fd)) ||
	    (S_ISCHR(st.st_mode) && (st.st_rdev == makedev(1, 3) || isatty(fd))))
		return 0;
	return deny(why, -EBADF, "a log is written to a file, a pipe, a socket or a terminal, not "
		    "to a device or a file of the kernel");
}

static bool is_regular(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

static void initialize(struct pmclog_ev *ev, struct logfile *l, uint32_t cputype, const char *cpuid,
		       uint64_t mono)
{
	uint64_t wall = mono + (uint64_t)l->clock.to_wall;

	memset(ev, 0, sizeof(*ev));
	ev->pl_type = PMCLOG_TYPE_INITIALIZE;
	ev->pl_u.pl_i.pl_version = l->clock.format == LOGFMT_OLD ? LOGFMT_OLD_VERSION :
								   LOGFMT_NEW_VERSION;
	ev->pl_u.pl_i.pl_arch = cputype;
	ev->pl_u.pl_i.pl_tsc_freq = 1000000000;
	ev->pl_u.pl_i.pl_ts.tv_sec = (time_t)(wall / 1000000000u);
	ev->pl_u.pl_i.pl_ts.tv_nsec = (long)(wall % 1000000000u);
	memcpy(ev->pl_u.pl_i.pl_cpuid, cpuid, strnlen(cpuid, PMC_CPUID_LEN - 1));
}

int logfile_new(struct logpool *pool, int fd, enum logfmt format, uint32_t cputype,
		const char *cpuid, struct logfile **out, struct why *why)
{
	struct logfile *l = calloc(1, sizeof(*l));
	uint64_t mono = clock_ns();
	struct pmclog_ev ev;
	sigset_t all, before;
	int err = -ENOMEM;

	if (!l)
		goto no_log;
	l->pool = pool;
	l->fd = fd;
	l->regular = is_regular(fd);
	l->owned = true;
	l->tail = &l->head;
	l->clock.format = format;
	l->clock.to_wall = (int64_t)(clock_read(CLOCK_REALTIME) - mono);
	l->names = lognames_new(pool->names, &l->clock);
	if (!l->names)
		goto no_log;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->work, NULL);
	initialize(&ev, l, cputype, cpuid, mono);
	err = logfile_put(l, mono, &ev);
	if (err) {
		deny(why, err, "all %u log buffers are in use; raise kern.hwpmc.nbuffers",
		     pool->config.buffers);
		goto no_log;
	}
	/* The loop takes signals; the thread none but the kick. */
	sigfillset(&all);
	sigdelset(&all, LOG_KICK);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&l->thread, NULL, log_writer, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		deny(why, err, "cannot start a thread to write the log: %s", strerror(-err));
		goto no_log;
	}
	l->next = pool->logs;
	pool->logs = l;
	*out = l;
	return 0;
no_log:
	if (l && l->current) {
		free(l->current);
		pool->used--;
	}
	if (l)
		lognames_free(l->names);
	free(l);
	close(fd);
	return err;
}

void logfile_close(struct logfile *l)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_CLOSELOG };

	if (l->closed)
		return;
	l->ending = true;
	(void)logfile_put(l, clock_ns(), &ev);
	l->closed = true;
	hand_over(l);
	pthread_mutex_lock(&l->lock);
	l->end = true;
	pthread_cond_signal(&l->work);
	pthread_mutex_unlock(&l->lock);
}

void logfile_count_for(struct logfile *l, struct user_stats *stats)
{
	l->stats = stats;
}

void logfile_free(struct logfile *l)
{
	if (!l)
		return;
	logfile_close(l);
	l->stats = NULL;
	l->owned = false;
	/* The thread may have ended before: the reaper has to come by once more. */
	log_tell_loop(l->pool);
}
