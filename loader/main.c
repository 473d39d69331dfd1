/* SPDX-License-Identifier: BSD-2-Clause */
/* pmcbpfd: checks of the machine, the order of the start, background, end. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "loader/daemon/daemon.h"
#include "loader/daemon/notify.h"
#include "loader/config/config.h"
#include "loader/process/mappings_read.h"
#include "loader/server/server.h"
#include "loader/tables/tables.h"

#define MIN_MAJOR   6
#define MIN_MINOR   1
#define WANTED_FDS  65536
#define NICE	    (-10)
#define BIG_ALLOC   (128 * 1024)
#define START_HEAP  (32 << 20)
#define HUGE_PAGE   (2u << 20)

static void tunable_report(void *arg, const char *line)
{
	messages_put_hwpmc(arg, LOG_WARNING, "%s", line);
}

static void missing_report(void *arg, const char *line)
{
	messages_put(arg, LOG_ERR, "%s", line);
}

static int tunables_reread(void *arg, struct config *config, struct reason *why)
{
	return options_tunables(arg, config, why);
}

/* --- requirements on the machine --------------------------------------------------------- */

static int check_root(struct reason *why)
{
	if (geteuid() == 0)
		return 0;
	return deny(why, -EPERM,
		    "must be started as root: it loads BPF programs and opens counters of "
		    "whole CPUs; try sudo pmcbpfd");
}

static int check_kernel(struct reason *why)
{
	int reaches = version_reaches(MIN_MAJOR, MIN_MINOR);
	struct utsname u;

	if (reaches < 0 || uname(&u))
		return deny(why, -ENOSYS, "this kernel's release names no version");
	if (reaches)
		return 0;
	return deny(why, -ENOSYS,
		    "Linux %.40s is older than %u.%u, the first kernel with all that "
		    "pmcbpfd's BPF programs need; boot a newer one",
		    u.release, MIN_MAJOR, MIN_MINOR);
}

static helper_job *const errand_jobs[ERRAND_JOBS] = {
	[ERRAND_RECEIVE] = receive_job,
	[ERRAND_MAPPINGS] = mappings_read_job,
	[ERRAND_NAMES] = site_name_job,
	[ERRAND_FILTER] = tracefs_filter_job,
	[ERRAND_TABLE] = tables_job,
};

/* The list must be valid.  A missing module is no failure: only its registers are out of reach. */
static unsigned int check_registers(struct daemon *d)
{
	struct reason why;
	int err;

	if (!*d->config.msr_list)	/* not a path, and reported already */
		return 0;
	cpu_identify(&d->cpu);
	err = msr_load(&d->msr, d->config.msr_list, &d->cpu, &why);
	if (err)
		missing_report(&d->messages, why.text);
	else if (d->msr.dev_err && d->msr.dev_err != -EBUSY)	/* busy: another daemon runs */
		messages_put(&d->messages, LOG_NOTICE, "only perf's registers can be counted: %s",
			d->msr.no_dev.text);
	msr_free(&d->msr);
	return err != 0;
}

/* With helpers, as in the daemon: the first error ends the reading. */
static unsigned int check_rules(struct daemon *d)
{
	struct site_rules *rules;
	struct reason why;
	int err;

	if (!*d->config.policy_dir)	/* not a path, and reported already */
		return 0;
	user_table_init(&d->users, &d->config);
	err = errands_new(&d->errands, &d->users, errand_jobs, &why);
	err = err ?: daemon_read_rules(d, &rules, &why);
	if (err)
		missing_report(&d->messages, why.text);
	else
		site_free(rules);
	errands_free(&d->errands);
	return err != 0;
}

/* For -t: reports each missing part, and returns their number. */
static unsigned int check_machine(struct daemon *d)
{
	struct reason why;
	unsigned int missing = 0;

	if (check_kernel(&why)) {
		missing_report(&d->messages, why.text);
		missing++;
	}
	return missing + engine_check(missing_report, &d->messages) + check_registers(d);
}

static void limit_raise(int what, rlim_t wanted)
{
	struct rlimit r;

	if (getrlimit(what, &r) || r.rlim_cur == RLIM_INFINITY ||
	    (wanted != RLIM_INFINITY && r.rlim_cur >= wanted))
		return;
	r.rlim_cur = wanted;
	if (r.rlim_max != RLIM_INFINITY && (wanted == RLIM_INFINITY || r.rlim_max < wanted))
		r.rlim_max = wanted;
	/* Without the right to raise the hard limit: raises the soft limit to it. */
	if (setrlimit(what, &r) && !getrlimit(what, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(what, &r);
	}
}

/*
 * Requests wait for the event loop, which takes a moment for each: it runs before processes that
 * compute.  Helper processes may take long and keep their priority.
 */
static void priority_raise(void)
{
	if (getpriority(PRIO_PROCESS, 0) > NICE)
		(void)setpriority(PRIO_PROCESS, 0, NICE);
}

/* --- background --------------------------------------------------------------------------- */

/*
 * The first process waits until the second one is ready, so that its exit status shows whether the
 * daemon runs.  Returns in the second only: the descriptor to report readiness with.
 */
static int daemon_background(struct reason *why)
{
	int fds[2], status = 1;
	pid_t pid;
	char ok;

	if (pipe2(fds, O_CLOEXEC))
		return deny(why, -errno, "cannot go into the background: %m");
	pid = fork();
	if (pid < 0)
		return deny(why, -errno, "cannot go into the background: %m");
	if (pid > 0) {
		close(fds[1]);
		status = read(fds[0], &ok, 1) != 1;
		_exit(status);
	}
	close(fds[0]);
	setsid();
	return fds[1];
}

static void daemon_leave_terminal(struct daemon *d, int ready)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	messages_background(&d->messages);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (chdir("/"))
		messages_put(&d->messages, LOG_WARNING, "cannot change to /: %m");
	if (write(ready, "", 1) != 1)
		messages_put(&d->messages, LOG_WARNING, "cannot notify the starting process: %m");
	close(ready);
}

/* --- service ------------------------------------------------------------------------------ */

static int endpoint_begin(struct endpoint *e, const struct options *o, struct reason *why)
{
	const char *group = o->set.socket_group;
	int fd = notify_listen_fd();

	return fd >= 0 ? endpoint_adopt(e, fd, group, why) :
			 endpoint_open(e, o->socket, group, why);
}

/*
 * libbpf reads megabytes of the kernel's type information for each object, and frees them.  They
 * come from one piece of memory in huge pages: where page faults are dear, as under some
 * hypervisors, these would be a third of the start.
 */
static void start_memory(void)
{
	char *heap;

	mallopt(M_MMAP_THRESHOLD, 2 * START_HEAP);
	mallopt(M_TRIM_THRESHOLD, 2 * START_HEAP);
	heap = malloc(START_HEAP);
	if (heap) {
		char *aligned = heap + (HUGE_PAGE - (uintptr_t)heap % HUGE_PAGE);

		(void)madvise(aligned, START_HEAP - HUGE_PAGE, MADV_HUGEPAGE);
	}
	free(heap);
}

/* A log buffer goes back to the kernel when it has been written: malloc would keep it. */
static void start_memory_end(void)
{
	mallopt(M_MMAP_THRESHOLD, BIG_ALLOC);
	mallopt(M_TRIM_THRESHOLD, BIG_ALLOC);
	malloc_trim(0);
}

static int start_engine(struct daemon *d, struct reason *why)
{
	int err;

	start_memory();
	err = engine_new(&d->engine, why);
	if (!err)
		err = daemon_init(d, why);
	if (!err) {
		engine_debug_to(d->engine, &d->debug);
		engine_waits_by(d->engine, d->errands.fibers, d->errands.helpers);
		DEBUG(&d->debug, MODULE, INIT, "pmcbpfd " PMCBPF_VERSION ": %u CPUs, %u classes, "
		      "%u rows", d->rows.ncpu, d->rows.nclass, d->rows.nrow);
	}
	start_memory_end();
	return err;
}

static void announce(struct daemon *d)
{
	char line[512];

	daemon_announcement(d, line, sizeof(line));
	messages_put_hwpmc(&d->messages, LOG_INFO, "%s", line);
}

/* Clients must see that counts are void before their PMCs go. */
static void heartbeat_stop(struct daemon *d)
{
	DEBUG(&d->debug, MODULE, EXIT, "%u owners are let go", d->owners.owners);
	heartbeat_free(d->heartbeat);
	d->heartbeat = NULL;
}

/* The private daemon of one program: no file, no announcement, ends with the connection. */
static int serve_one(struct daemon *d, const struct options *o, struct reason *why)
{
	struct server *s = NULL;
	int err = 0;

	if (!peer_is_seqpacket(o->client_fd, 0))
		return deny(why, -EINVAL, "--client-fd=%d is no connected SOCK_SEQPACKET socket",
			    o->client_fd);
	fcntl(o->client_fd, F_SETFD, FD_CLOEXEC);
	err = caps_confine(why);
	if (!err)
		err = start_engine(d, why);
	if (!err)
		err = server_new(&s, d, why);
	if (!err)
		err = server_adopt(s, o->client_fd, why);
	if (!err)
		err = server_run(s, why);
	heartbeat_stop(d);
	server_free(s);
	return err;
}

static int serve_all(struct daemon *d, const struct options *o, struct endpoint *e, int ready,
		     struct reason *why)
{
	struct server *s = NULL;
	int err = endpoint_begin(e, o, why);

	/* From here on there are threads, and clients. */
	if (!err)
		err = caps_confine(why);
	if (!err)
		err = start_engine(d, why);
	if (!err)
		err = server_new(&s, d, why);
	if (!err)
		err = server_listen(s, e, why);
	if (!err) {
		announce(d);
		if (ready >= 0)
			daemon_leave_terminal(d, ready);
		notify_send("READY=1");
		err = server_run(s, why);
		notify_send("STOPPING=1");
	}
	/* No new client may connect while the others are disconnected. */
	endpoint_close(e);
	heartbeat_stop(d);
	server_free(s);
	return err;
}

static int daemon_run(struct daemon *d, const struct options *o, struct reason *why)
{
	int ready = -1, err = check_kernel(why);
	struct endpoint e = ENDPOINT_NONE;

	if (err)
		return err;
	signal(SIGPIPE, SIG_IGN);
	limit_raise(RLIMIT_MEMLOCK, RLIM_INFINITY);
	limit_raise(RLIMIT_NOFILE, WANTED_FDS);
	if (o->client_fd < 0 && !o->foreground) {
		ready = daemon_background(why);
		if (ready < 0)
			return ready;
	}
	server_hold_signals();
	err = errands_new(&d->errands, &d->users, errand_jobs, why);
	if (err)
		return err;
	if (o->client_fd < 0)
		priority_raise();
	err = o->client_fd >= 0 ? serve_one(d, o, why) : serve_all(d, o, &e, ready, why);
	daemon_free(d);
	endpoint_unlock(&e);
	return err;
}

int main(int argc, char **argv)
{
	static struct daemon d;
	struct options o;
	struct reason why = { "" };
	int err = options_parse(&o, argc, argv, &why);

	if (err == OPTIONS_DONE)
		return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	if (!err) {
		d.config = o.set;
		d.config_file = o.config;
		d.reread = tunables_reread;
		d.reread_arg = &o;
		config_check(&d.config, tunable_report, &d.messages);
		err = check_root(&why);
	}
	if (o.test) {
		unsigned int missing = err != 0;

		if (err)
			missing_report(&d.messages, why.text);
		missing += check_rules(&d);
		if (geteuid() == 0)
			missing += check_machine(&d);
		if (!missing)
			puts("pmcbpfd: nothing is missing");
		return missing || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	if (!err)
		err = daemon_run(&d, &o, &why);
	if (err)
		messages_put(&d.messages, LOG_ERR, "%s", why.text[0] ? why.text : strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
