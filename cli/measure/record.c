/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measurements that leave a log.  With -O the daemon writes to that file.  Otherwise it writes to a
 * pipe that a process of our own reads and prints, so the log is read even while this one waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/analysis/analysis.h"
#include "cli/common/common.h"
#include "measure.h"

#define READER_MS 50	/* between two looks for the reader of a FIFO */

bool record_wanted(const struct measure *m)
{
	return m->live || m->threads || m->seen & (SEEN_SAMPLING | SEEN_EXIT_LOG | SEEN_SWITCH_LOG);
}

/* --- the log's destination ------------------------------------------------------------------ */

static int log_connect(const char *name, const char *colon, int *fd)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	char *host = strndup(name, (size_t)(colon - name));
	int err = host ? getaddrinfo(host, colon + 1, &hints, &list) : EAI_MEMORY;

	free(host);
	if (err)
		return fail(EX_OSERR, "ERROR: Cannot open \"%s\" for writing: %s.", name,
			    gai_strerror(err));
	for (const struct addrinfo *a = list; a && *fd < 0; a = a->ai_next) {
		int sock = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (sock >= 0 && connect(sock, a->ai_addr, a->ai_addrlen) == 0) {
			*fd = sock;
			continue;
		}
		err = errno;
		if (sock >= 0)
			close(sock);
	}
	freeaddrinfo(list);
	if (*fd < 0)
		return fail(EX_OSERR, "ERROR: Cannot open \"%s\" for writing: %s.", name,
			    strerror(err));
	return 0;
}

/* The FIFO behind a path, which blocks in no open(2); -1: it is none. */
static int fifo_find(const char *name)
{
	int fd = open(name, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * Signals are blocked, and would not end an open(2) that waits for the reader of a FIFO.  *fd keeps
 * the reader from an end of file until the log is open.
 */
static int log_await_reader(const struct measure *m, const char *name, int *fd)
{
	struct pollfd signal = { .fd = m->signal_fd, .events = POLLIN };
	int fifo = fifo_find(name), code = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fifo);
	while (fifo >= 0 && *fd < 0 && !code) {
		*fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (*fd < 0 && errno != ENXIO)
			break;		/* log_open_file() will report it */
		if (*fd < 0 && poll(&signal, 1, READER_MS) == 1 && run_asked_to_end(m))
			code = fail(EX_OSERR, "ERROR: nobody reads \"%s\", so nothing was "
				    "recorded%s", name,
				    m->command ? ", and the command was not run" : "");
	}
	if (fifo >= 0)
		close(fifo);
	return code;
}

static int log_open_file(const struct measure *m, const char *name, int *fd)
{
	struct output file;
	int held = -1, code = log_await_reader(m, name, &held);

	if (!code && output_create(&file, name, OUTPUT_GROWING, 0666) < 0)
		code = fail(EX_OSERR, "ERROR: Cannot open \"%s\" for writing: %s.", name, file.why);
	else if (!code)
		*fd = file.fd;
	if (held >= 0)
		close(held);
	return code;
}

static int log_open_output(const struct measure *m, const char *name, int *fd)
{
	const char *colon = log_port(name);

	if (strcmp(name, "-") != 0)
		return colon ? log_connect(name, colon, fd) : log_open_file(m, name, fd);
	*fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (*fd < 0)
		return fail(EX_OSERR, "ERROR: Cannot open \"%s\" for writing: %s.", name,
			    strerror(errno));
	return 0;
}

/* A log that is analysed at the end has to be a file: -O's, or a temporary one. */
static int log_open_both(struct measure *m, int *fd)
{
	char path[32];
	struct stat st;
	int code = m->log ? log_open_output(m, m->log, fd) : analysis_temporary(fd);

	if (code)
		return code;
	if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode))
		return fail(EX_USAGE, "ERROR: \"%s\" is not a file: it cannot be analysed as well; "
			    "use -R where the log goes.", m->log);
	/* Opened through procfs: the path may lead to another file by the end. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	m->recorded = m->log ? open(path, O_RDONLY | O_CLOEXEC) : fcntl(*fd, F_DUPFD_CLOEXEC, 0);
	return m->recorded < 0 ? fail_errno(EX_OSERR, "ERROR: Cannot read the log") : 0;
}

/* Starts a process that prints the log; *fd is the end of its pipe that the daemon writes to. */
static int record_start_printer(struct measure *m, int *fd)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return fail_errno(EX_OSERR, "ERROR: Cannot create a pipe for the log");
	m->printer = fork();
	if (m->printer == 0) {
		close(ends[1]);
		signal(SIGINT, SIG_IGN);	/* the end of the log ends this process */
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		_exit(measure_print_log(m, ends[0], "the log"));
	}
	close(ends[0]);
	*fd = ends[1];
	if (m->printer < 0) {
		m->printer = 0;
		return fail_errno(EX_OSERR, "ERROR: Cannot start a process to print the log");
	}
	return 0;
}

static int record_start_live(struct measure *m, int *fd)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return fail_errno(EX_OSERR, "ERROR: Cannot create a pipe for the log");
	m->log_fd = ends[0];
	*fd = ends[1];
	return m->live(m, LIVE_BEGIN);
}

/* Is the log analysed when it has been recorded? */
static bool record_is_analysed(const struct measure *m)
{
	return m->threads || (m->analysis && m->analysis->seen & ANALYSIS_OUTPUT);
}

/* --- beginning and end ------------------------------------------------------------------------ */

int record_prepare(struct measure *m)
{
	if (!record_wanted(m))
		return 0;
	if (m->live)
		return record_start_live(m, &m->record_fd);
	return m->log || record_is_analysed(m) ? 0 : record_start_printer(m, &m->record_fd);
}

int record_begin(struct measure *m)
{
	int fd = m->record_fd, code = 0;

	if (!record_wanted(m))
		return 0;
	m->record_fd = -1;
	if (fd < 0)
		code = record_is_analysed(m) ? log_open_both(m, &fd) :
					       log_open_output(m, m->log, &fd);
	if (!code && pmc_configure_logfile(fd) != 0)
		code = fail_pmc(EX_OSERR, "ERROR: Cannot configure log file");
	m->logging = !code;
	if (!code && (pmc_get_driver_stats(&m->before) != 0 ||
		      pmc_get_chains(PMC_ID_INVALID, &m->chains_before) != 0))
		code = fail_pmc(EX_OSERR, "ERROR: Unable to retrieve driver statistics");
	/* Only the daemon may hold the log open, or a reader would see no end of file. */
	if (fd >= 0)
		close(fd);
	return code;
}

static void record_show_progress(const struct measure *m)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (m->progress && stat(m->log, &st) == 0)
		fprintf(stderr, "\r%lld s, %.1f MB", (long long)(now.tv_sec - m->started.tv_sec),
			(double)st.st_size / 1e6);
}

int record_flush(struct measure *m)
{
	if (m->logging && m->top)
		m->live(m, LIVE_WAIT);
	if (m->logging && pmc_flush_logfile() != 0)
		return fail_pmc(EX_OSERR, "ERROR: logging failed");
	record_show_progress(m);
	return 0;
}

static void record_warn_cut(const struct measure *m, const struct pmc_chains *now)
{
	const struct pmc_chains *before = &m->chains_before;
	struct chains c = {
		.samples = now->pm_chains - before->pm_chains,
		.cut = now->pm_cut - before->pm_cut, .ended = now->pm_ended - before->pm_ended,
		.whole = now->pm_whole - before->pm_whole,
	};

	for (uint32_t i = 0; i < CHAIN_ENDS; i++)
		c.cuts[i] = now->pm_cuts[i] - before->pm_cuts[i];
	chains_note_cut(m->log, &c);
}

static void record_warn_losses(const struct measure *m)
{
	struct pmc_driverstats now;
	unsigned int full, failed;
	struct pmc_chains chains;

	if (!m->verbosity || pmc_get_driver_stats(&now) != 0 ||
	    pmc_get_chains(PMC_ID_INVALID, &chains) != 0)
		return;
	full = now.pm_intr_bufferfull - m->before.pm_intr_bufferfull;
	failed = now.pm_buffer_requests_failed - m->before.pm_buffer_requests_failed;
	if (full && !(m->seen & SEEN_SAMPLING))
		note("WARNING: the log lacks at least %u record%s: the kernel has hidden context "
		     "switches, or there was no room (pmccontrol --doctor)", full,
		     full == 1 ? "" : "s");
	else if (full)
		note("WARNING: sampling was paused at least %u time%s. "
		     "Please consider tuning the \"kern.hwpmc.nsamples\" tunable; the kernel "
		     "itself pauses events above kernel.perf_event_max_sample_rate, and those "
		     "whose counter another user of the PMU takes (pmccontrol --doctor).", full,
		     full == 1 ? "" : "s");
	if (failed)
		note("WARNING: at least %u event%s were discarded while running. "
		     "Please consider tuning the \"kern.hwpmc.nbuffers\" tunable.", failed,
		     failed == 1 ? "" : "s");
	/* An analysis prints this warning itself. */
	if (m->log && !m->reported && !record_is_analysed(m))
		record_warn_cut(m, &chains);
}

int record_end(struct measure *m)
{
	int code = 0, status = 0;

	if (m->logging) {
		/* After an earlier failure no second message. */
		code = m->code ? 0 : record_flush(m);
		m->logging = false;
		if (pmc_configure_logfile(-1) != 0 && !code && !m->code)
			code = fail_pmc(EX_OSERR, "ERROR: logging failed");
		if (m->progress)
			fputs("\r\033[K", stderr);
		if (!code)
			record_warn_losses(m);
		if (!code && m->live)
			code = m->live(m, LIVE_DRAIN);
	}
	if (m->live && m->top)
		m->live(m, LIVE_END);
	if (m->record_fd >= 0) {	/* the measurement failed before the log began */
		if (m->printer > 0)
			kill(m->printer, SIGTERM);
		close(m->record_fd);
		m->record_fd = -1;
	}
	if (m->printer > 0 && waitpid(m->printer, &status, 0) == m->printer && !code)
		code = WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE;
	m->printer = 0;
	return code;
}
