/* SPDX-License-Identifier: BSD-2-Clause */
/* ktrctl alq: drains rings of the kernel or of a process into a file, until a signal or a limit. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "alq.h"
#include "cli/common/common.h"
#include "ktrctl.h"

#define MAX_BYTES  (64ull << 20)	/* without --max */
#define PAUSE_MS   5		/* between passes when little is written */
#define ENDING_MS  500		/* for an exit, which unmaps the memory first */
#define REFRESH_MS 1000		/* between checks of a process's mappings, or of the daemon */

struct origin {
	struct tracee proc;	/* -p */
	int pidfd;		/* … -1: the kernel */
	const unsigned char *map;	/* of the kernel's */
	size_t size;
	struct buf files;
};

/* --- the source of entries ------------------------------------------------------------------ */

static int origin_read_process(const void *source, uint64_t offset, void *data, size_t len)
{
	const struct origin *origin = source;

	/* The region was readable before: on any failure the process has ended or changed. */
	return tracee_read(&origin->proc, offset, data, len) ? -ESRCH : 0;
}

static int origin_read_kernel(const void *source, uint64_t offset, void *data, size_t len)
{
	const struct origin *origin = source;

	if (offset > origin->size || len > origin->size - offset)
		return -EFAULT;
	memcpy(data, origin->map + offset, len);
	return 0;
}

/* Maps all of the kernel's rings. */
static int origin_map_kernel(struct origin *origin, struct ktr_region *head, int fd)
{
	const char *fault;
	int err = region_map(fd, head, &origin->map, &fault);

	if (fault)
		return fail(EX_SOFTWARE, "The kernel's rings are unsound: %s", fault);
	if (err) {
		errno = -err;
		return fail_errno(EX_OSERR, "Cannot map the kernel's rings");
	}
	origin->size = region_size(head);
	if (head->flags & KTR_REGION_SCRUBBED)
		return fail(EX_NOPERM, "you may see copies of the kernel's rings only, which do "
			    "not go on: root may use alq");
	return 0;
}

static int origin_open_kernel(struct origin *origin, struct alq *alq)
{
	int fd, code = kern_connect();

	if (code)
		return code;
	fd = pmc_ktr_open();
	if (fd < 0)
		return fail_pmc(errno == EPERM ? EX_NOPERM : EX_UNAVAILABLE,
				"Cannot open the kernel's rings");
	code = origin_map_kernel(origin, &alq->head, fd);
	close(fd);
	alq->read = origin_read_kernel;
	return code;
}

static int origin_open_process(struct origin *origin, struct alq *alq, pid_t pid)
{
	int code;

	origin->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (origin->pidfd < 0)
		return process_fail(pid, errno == EINVAL ? -ESRCH : -errno, NULL);
	code = process_open(&origin->proc, pid);
	alq->head = origin->proc.head;
	alq->read = origin_read_process;
	return code;
}

static void origin_close(struct origin *origin)
{
	if (origin->map)
		munmap((void *)origin->map, origin->size);
	tracee_close(&origin->proc);
	if (origin->pidfd >= 0)
		close(origin->pidfd);
	buf_free(&origin->files);
}

/*
 * A decoder needs the files that the process had mapped, and after its end the list is gone: keeps
 * the last list that was read while the process still had these rings.
 */
static void origin_list_files(struct origin *origin, struct alq *alq)
{
	struct buf files = { 0 };

	if (origin->pidfd < 0 || tracee_files(origin->proc.pid, &files) ||
	    tracee_still(&origin->proc) || !files.len || files.failed) {
		buf_free(&files);
		return;
	}
	buf_free(&origin->files);
	origin->files = files;
	alq->files = files.data;
}

/*
 * No more entries will come: the process has called exec or made other rings, or the daemon has
 * ended or made other rings (another size, or fewer entries written).
 */
static bool origin_replaced(const struct origin *origin, const struct alq *alq)
{
	uint64_t before, after;
	struct pmc_ktr info;
	bool ours;

	if (origin->pidfd >= 0)
		return tracee_still(&origin->proc) != 0;
	before = alq_written(alq);
	if (pmc_ktr_info(&info) != 0) {
		note("pmcbpfd has ended: %s", pmc_errstr());
		return true;
	}
	after = alq_written(alq);
	/* A smaller number afterwards: the rings were cleared. */
	ours = after < before || (info.pk_written >= before && info.pk_written <= after);
	if (!ours || info.pk_entries != alq->head.entries)
		note("the kernel has other rings now: \"ktrctl alq\" would open those");
	return !ours || info.pk_entries != alq->head.entries;
}

/* --- draining ------------------------------------------------------------------------------- */

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* 0; 1: a signal arrived or the process ended; -errno. */
static int origin_wait(const struct origin *origin, int signals, int ms)
{
	struct pollfd fds[2] = {
		{ .fd = signals, .events = POLLIN }, { .fd = origin->pidfd, .events = POLLIN },
	};
	int ready = poll(fds, 2, ms);

	return ready < 0 && errno != EINTR ? -errno : ready > 0;
}

/* 0: ended by a signal or a limit; -ESRCH: the process has ended; or -errno of alq_pass(). */
static int origin_drain(const struct ktrctl *ctl, struct origin *origin, struct alq *alq,
			int signals)
{
	double begin = seconds_now(), refreshed = begin;
	int more = 0, ended = 0, err = 0;
	bool gone = false;

	while (!ended && !gone && !err) {
		double now = seconds_now();

		ended = origin_wait(origin, signals, more ? 0 : PAUSE_MS);
		if (ended < 0)
			return ended;
		if (ctl->seconds > 0 && now - begin >= ctl->seconds)
			ended = 1;
		if (now - refreshed >= REFRESH_MS / 1e3) {
			origin_list_files(origin, alq);
			gone = origin_replaced(origin, alq);
			refreshed = now;
		}
		/* Also runs after the end, for the last entries. */
		err = alq_pass(alq, &more);
	}
	return !err && gone ? -ESRCH : err;
}

static int origin_report(const struct ktrctl *ctl, const struct origin *origin,
			 const struct alq *alq, int err)
{
	struct pollfd process = { .fd = origin->pidfd, .events = POLLIN };
	struct buf out = { 0 };

	buf_printf(&out, "%s: %llu entries, %llu failed (overwritten unseen)\n", ctl->args[0],
		   (unsigned long long)alq->kept, (unsigned long long)alq->failed);
	if (err == -ENOBUFS)
		note("%s has as many entries as --max allows", ctl->args[0]);
	else if (err == -ESRCH && ctl->pid)
		note("process %d has %s; its last entries may not be there", (int)ctl->pid,
		     poll(&process, 1, ENDING_MS) == 1 ? "ended" : "other rings now, or none");
	return ktrctl_put(&out, 0);
}

static int alq_run(const struct ktrctl *ctl, struct origin *origin, struct alq *alq, int signals)
{
	int end, err;

	origin_list_files(origin, alq);
	err = alq_begin(alq);
	if (!err) {
		err = origin_drain(ctl, origin, alq, signals);
		if (err != -ESRCH)
			origin_list_files(origin, alq);
		end = alq_end(alq);
		if (end)
			err = end;
	}
	if (err && err != -ENOBUFS && err != -ESRCH) {
		errno = -err;
		return fail_errno(EX_OSERR, "%s", ctl->args[0]);
	}
	return origin_report(ctl, origin, alq, err);
}

/* A new file, readable by its owner only: a trace may hold secrets. */
static int alq_create(const char *path, int *fd)
{
	struct output file;
	struct stat st;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return fail(EX_CANTCREAT, "%s is not a file: alq writes here and there in it",
			    path);
	if (guard_output(path, GUARD_TRACE))
		return EX_CANTCREAT;
	if (output_create(&file, path, OUTPUT_GROWING, 0600) < 0)
		return fail(EX_CANTCREAT, "%s: %s", path, file.why);
	*fd = file.fd;
	return 0;
}

static int alq_open_signals(int *fd)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	*fd = sigprocmask(SIG_BLOCK, &set, NULL) ? -1 : signalfd(-1, &set, SFD_CLOEXEC);
	return *fd < 0 ? fail_errno(EX_OSERR, "Cannot wait for signals") : 0;
}

int alq_command(const struct ktrctl *ctl)
{
	struct origin origin = { .pidfd = -1, .proc.fd = -1 };
	struct alq alq = { .source = &origin, .fd = -1, .files = "",
			   .max = ctl->max ? ctl->max : MAX_BYTES };
	int signals = -1, code;

	code = ctl->pid ? origin_open_process(&origin, &alq, ctl->pid) :
			  origin_open_kernel(&origin, &alq);
	if (!code)
		code = alq_open_signals(&signals);
	if (!code)
		code = alq_create(ctl->args[0], &alq.fd);
	if (!code)
		code = alq_run(ctl, &origin, &alq, signals);
	alq_free(&alq);
	origin_close(&origin);
	if (signals >= 0)
		close(signals);
	if (alq.fd >= 0)
		close(alq.fd);
	return code;
}
