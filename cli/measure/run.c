/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop of a measurement: one poll(2) over descriptors for signals, timers, output, the
 * log, keys, the command and the targets.  A measurement ends when its command or its last target
 * has ended, when -l is over, or on a signal; then the last row is printed.  A command that still
 * runs is sent the same signal, or SIGTERM, and has GRACE seconds to end.
 *
 * If rows can no longer be written or read, the command still runs to its end.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "measure.h"

#define GRACE	      1.0	/* seconds that a command has to end after a signal */
#define DRAIN_SECONDS 30.0	/* seconds to wait for a stopped reader at the end */
#define TERMINAL_ROWS 24	/* of a terminal that does not report its size */

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP };
#define NENDING (sizeof(ending_signals) / sizeof(ending_signals[0]))

static double measure_time_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* Ignored signals stay ignored, except SIGINT, which shells ignore for background jobs. */
static int signals_take(struct measure *m)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction normal = { .sa_handler = SIG_DFL };
	struct sigaction old;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGIO);		/* a PMC has lost its last target */
	sigaction(SIGTSTP, NULL, &old);
	if (m->live && old.sa_handler != SIG_IGN)
		sigaddset(&set, SIGTSTP);
	for (size_t i = 0; i < NENDING; i++) {
		sigaction(ending_signals[i], NULL, &old);
		if (ending_signals[i] == SIGINT || old.sa_handler != SIG_IGN)
			sigaddset(&set, ending_signals[i]);
	}
	sigaction(SIGPIPE, &ignore, &m->old_pipe);
	sigaction(SIGCHLD, &normal, &m->old_child);
	sigaction(SIGIO, &normal, &m->old_io);	/* an ignored signal is never pending */
	sigprocmask(SIG_BLOCK, &set, &m->old_mask);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void measure_page(struct measure *m)
{
	struct winsize size;

	m->table.page = TABLE_PAGE_FILE;
	if (!isatty(m->out.fd))
		return;
	if (ioctl(m->out.fd, TIOCGWINSZ, &size) != 0 || size.ws_row < 2)
		size.ws_row = TERMINAL_ROWS;
	m->table.page = size.ws_row - 1u;
}

int run_prepare(struct measure *m)
{
	m->signal_fd = signals_take(m);
	m->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	m->end_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (m->signal_fd < 0 || m->tick_fd < 0 || m->end_fd < 0)
		return fail_errno(EX_OSERR, "ERROR: cannot create timers");
	measure_page(m);
	return 0;
}

static void timer_arm(int fd, double seconds, bool repeat)
{
	struct itimerspec when = { 0 };

	when.it_value.tv_sec = (time_t)seconds;
	when.it_value.tv_nsec = (long)((seconds - (double)when.it_value.tv_sec) * 1e9);
	if (repeat)
		when.it_interval = when.it_value;
	timerfd_settime(fd, 0, &when, NULL);
}

/* Sets the exit code.  Rows stop, but a command that has the terminal runs to its end. */
static void run_give_up(struct measure *m, int code)
{
	if (!code)
		return;
	m->code = code;
	if (!m->child.pid || m->child.output >= 0)
		m->done = true;
}

/* A count that no log has. */
static bool run_has_bare_count(const struct measure *m)
{
	const uint32_t logs = PMC_F_LOG_PROCEXIT | PMC_F_LOG_PROCCSW;

	for (size_t i = 0; i < m->ncolumns; i++)
		if (PMC_IS_COUNTING_MODE(m->columns[i].mode) && !(m->columns[i].flags & logs))
			return true;
	return false;
}

/*
 * Without -O, the text of a log is in the place of rows.  Counts that are in the log (-E, -W) have
 * rows if these were asked for.
 */
static bool run_has_rows(const struct measure *m)
{
	if (!record_wanted(m))
		return true;
	if (!m->log || !(m->seen & SEEN_COUNTING) || m->threads)
		return false;
	return m->seen & (SEEN_OUTPUT | SEEN_JSON | SEEN_CSV) || run_has_bare_count(m);
}

static void run_print_row(struct measure *m)
{
	double seconds = measure_time_since(&m->started);
	int code = pmcs_read(m);

	if (!code) {
		if (m->ncgroups)
			cgroup_rows_put(m, seconds);
		else
			m->format->row(&m->out.text, &m->table, seconds, m->columns,
				       m->ncolumns);
		for (size_t i = 0; i < m->ncolumns; i++)
			m->columns[i].printed = m->columns[i].value;
		code = out_push(&m->out);
	}
	run_give_up(m, code);
}

/* --- events --------------------------------------------------------------------------------- */

/* Ends the measurement if all processes of -t have ended, and with -d their descendants. */
static void run_check_targets(struct measure *m)
{
	if (m->ntargets && !m->nliving && !m->command && !pmcs_have_descendants(m))
		m->done = true;
}

/* Passes an event to the live view, if there is one. */
static void run_notify_live(struct measure *m, enum live_event event)
{
	if (m->top && !m->code)
		run_give_up(m, m->live(m, event));
}

static void run_on_resize(struct measure *m)
{
	measure_page(m);
	run_notify_live(m, LIVE_RESIZE);
}

/* Stops this process as SIGTSTP would if it were not blocked. */
static void run_stop_self(struct measure *m)
{
	sigset_t set;

	run_notify_live(m, LIVE_STOP);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	run_on_resize(m);
}

static void run_on_signal(struct measure *m)
{
	struct signalfd_siginfo info;

	while (read(m->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			run_on_resize(m);
		else if (info.ssi_signo == SIGTSTP)
			run_stop_self(m);
		else if (info.ssi_signo == SIGIO)
			run_check_targets(m);
		else if (m->child.asked || !child_ask(m, (int)info.ssi_signo))
			m->done = true;		/* no command, or the second signal */
		else
			timer_arm(m->end_fd, GRACE, false);
	}
}

/* If the end follows within a tenth of an interval, the last row covers this one too. */
static bool run_ends_now(const struct measure *m)
{
	struct itimerspec left;

	return m->duration > 0 && timerfd_gettime(m->end_fd, &left) == 0 &&
	       (double)left.it_value.tv_sec + (double)left.it_value.tv_nsec / 1e9 <
		       m->interval / 10;
}

/* A slow reader gets fewer rows; counts of a skipped row are part of the next. */
static void run_on_tick(struct measure *m)
{
	uint64_t ticks;

	if (read(m->tick_fd, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	if (m->code || m->done)
		return;
	if (record_wanted(m)) {
		run_give_up(m, record_flush(m));
		run_notify_live(m, LIVE_TICK);
	}
	if (run_has_rows(m) && !m->code && m->out.text.len <= OUT_BACKLOG && !run_ends_now(m))
		run_print_row(m);
}

static void run_on_end(struct measure *m)
{
	m->done = true;
}

static void run_on_output(struct measure *m)
{
	run_give_up(m, out_push(&m->out));
}

static void run_on_log(struct measure *m)
{
	run_notify_live(m, LIVE_LOG);
}

static void run_on_key(struct measure *m)
{
	run_notify_live(m, LIVE_KEY);
}

static void run_on_exec(struct measure *m)
{
	int err = 0;

	if (read(m->child.sock, &err, sizeof(err)) == sizeof(err)) {
		errno = err;
		m->code = fail_errno(EX_OSERR, "ERROR: execvp \"%s\" failed", m->command[0]);
		m->done = true;
	}
	close(m->child.sock);
	m->child.sock = -1;
}

/* The socket may have become readable after poll(2) returned, and it comes first. */
static void run_on_child(struct measure *m)
{
	if (m->child.sock >= 0)
		run_on_exec(m);
	m->done = true;
}

static void run_on_target(struct measure *m, struct target *target)
{
	close(target->pidfd);
	target->pidfd = -1;
	m->nliving--;
	run_check_targets(m);
}

/* In the order of service: a failed exec comes before the exit that follows. */
enum { AT_EXEC, AT_SIGNAL, AT_TICK, AT_END, AT_OUTPUT, AT_LOG, AT_KEY, AT_CHILD, NFIXED };

static void (*const handlers[NFIXED])(struct measure *m) = {
	[AT_EXEC] = run_on_exec, [AT_SIGNAL] = run_on_signal, [AT_TICK] = run_on_tick,
	[AT_END] = run_on_end,   [AT_OUTPUT] = run_on_output, [AT_LOG] = run_on_log,
	[AT_KEY] = run_on_key,   [AT_CHILD] = run_on_child,
};

/* poll(2) ignores negative descriptors. */
static void run_fill_fds(const struct measure *m, struct pollfd *fds)
{
	const int in[NFIXED] = {
		[AT_EXEC] = m->child.sock, [AT_SIGNAL] = m->signal_fd, [AT_TICK] = m->tick_fd,
		[AT_END] = m->end_fd,	   [AT_OUTPUT] = -1,	       [AT_LOG] = m->log_fd,
		[AT_KEY] = m->key_fd,	   [AT_CHILD] = m->child.pidfd,
	};

	for (int i = 0; i < NFIXED; i++)
		fds[i] = (struct pollfd){ .fd = in[i], .events = POLLIN };
	if (out_waits(&m->out))
		fds[AT_OUTPUT] = (struct pollfd){ .fd = m->out.fd, .events = POLLOUT };
	for (size_t i = 0; i < m->ntargets; i++)
		fds[NFIXED + i] = (struct pollfd){ .fd = m->targets[i].pidfd, .events = POLLIN };
}

static void run_serve(struct measure *m, const struct pollfd *fds)
{
	for (int i = 0; i < NFIXED; i++) {
		if (fds[i].revents)
			handlers[i](m);
	}
	for (size_t i = 0; i < m->ntargets; i++) {
		if (fds[NFIXED + i].revents)
			run_on_target(m, &m->targets[i]);
	}
}

int run_loop(struct measure *m)
{
	struct pollfd *fds = calloc(NFIXED + m->ntargets, sizeof(*fds));

	if (!fds)
		return fail_errno(EX_OSERR, "ERROR");
	/* In this order a delay between the two calls cannot put a tick just before the end. */
	if (m->duration > 0)
		timer_arm(m->end_fd, m->duration, false);
	timer_arm(m->tick_fd, m->interval, true);
	run_notify_live(m, LIVE_OPEN);
	while (!m->done) {
		run_fill_fds(m, fds);
		if (poll(fds, NFIXED + m->ntargets, -1) < 0 && errno != EINTR) {
			run_give_up(m, fail_errno(EX_OSERR, "ERROR: poll"));
			break;
		}
		run_serve(m, fds);
	}
	if (!m->code && run_has_rows(m))
		run_print_row(m);
	free(fds);
	return 0;
}

/* --- the end -------------------------------------------------------------------------------- */

static bool run_wait_child(const struct measure *m, double seconds)
{
	struct pollfd fd = { .fd = m->child.pidfd, .events = POLLIN };

	return poll(&fd, 1, (int)(seconds * 1000)) == 1;
}

/* After -l or a signal the command may still run. */
static void run_leave_child(struct measure *m)
{
	double grace = 0;

	if (!m->child.pid)
		return;
	if (!run_wait_child(m, 0) && !m->child.asked && child_ask(m, SIGTERM))
		grace = GRACE;
	if (run_wait_child(m, grace)) {
		child_collect(m);
		return;
	}
	if (m->verbosity > 0)
		note("WARNING: the command still runs as process %d", (int)m->child.pid);
	m->child.pid = 0;
}

bool run_asked_to_end(const struct measure *m)
{
	struct signalfd_siginfo info;

	while (read(m->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGWINCH && info.ssi_signo != SIGIO &&
		    info.ssi_signo != SIGTSTP)
			return true;
	}
	return false;
}

/* Waits for the reader of the rows.  PMCs are released and the command is collected by now. */
static int run_drain(struct measure *m)
{
	struct timespec start;
	double left = DRAIN_SECONDS;
	int code = out_push(&m->out);

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (!code && out_waits(&m->out)) {
		struct pollfd fds[2] = { { .fd = m->out.fd, .events = POLLOUT },
					 { .fd = m->signal_fd, .events = POLLIN } };

		poll(fds, 2, (int)(left * 1000) + 1);
		left = DRAIN_SECONDS - measure_time_since(&start);
		if (left <= 0 || run_asked_to_end(m))
			return fail(EX_OSERR, "ERROR: nobody reads \"%s\": %zu bytes were not "
				    "written", m->out.name, m->out.text.len);
		code = out_push(&m->out);
	}
	return code;
}

int run_finish(struct measure *m)
{
	/* After a failure PMCs are left to the end of the process. */
	if (!m->code)
		m->code = pmcs_release(m);
	run_leave_child(m);
	if (!m->code && run_has_rows(m)) {
		m->format->end(&m->out.text, &m->table);
		m->code = out_push(&m->out);	/* before messages about the log */
	}
	if (!m->code && record_wanted(m))
		m->code = record_end(m);
	/* A live view shows the records before a damage. */
	if (!m->code || m->live) {
		int code = run_drain(m);

		if (!m->code)
			m->code = code;
	}
	return m->code;
}

/* --- beginning and end ---------------------------------------------------------------- */

void measure_begin(struct measure *m, const struct count_format *format)
{
	*m = (struct measure){
		.verbosity = 1,
		.format = format,
		.child = { .pidfd = -1, .sock = -1, .output = -1 },
		.recorded = -1,
		.record_fd = -1,
		.log_fd = -1,
		.key_fd = -1,
		.signal_fd = -1,
		.tick_fd = -1,
		.end_fd = -1,
	};
}

static void fd_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

int measure_run(struct measure *m, measure_phase *const phases[], size_t count)
{
	int code = 0;

	for (size_t i = 0; i < count && !code; i++)
		code = phases[i](m);
	return code;
}

int measure_end(struct measure *m)
{
	int code;

	child_abort(m);
	code = record_end(m);
	if (out_close(&m->out) && !code)
		code = EX_OSERR;
	targets_free(m);
	for (size_t i = 0; i < m->ncolumns; i++)
		column_free(&m->columns[i]);
	free(m->columns);
	groups_free(m);
	cgroup_rows_free(m);
	fd_close(m->child.pidfd);
	fd_close(m->recorded);
	fd_close(m->signal_fd);
	fd_close(m->tick_fd);
	fd_close(m->end_fd);
	return code;
}
