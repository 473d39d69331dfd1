/* SPDX-License-Identifier: BSD-2-Clause */
/* Start, event loop and end of pctrd: see pctr.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <pmc.h>

#include "lib/base/confine.h"
#include "lib/base/lockfile.h"
#include "pctr.h"

#define EVENTS	    16
/* Besides clients and counters: two for each helper, those that wait to be closed, our own. */
#define MORE_FDS    (2 * SOCK_HELPERS + 2 * SOCK_WAITING + 64u)
/* pmcbpfd requires it for counting on CPUs. */
#define COUNTS	    (1ull << CAP_PERFMON)
/* Reads the callers' CPU where /proc is mounted with hidepid. */
#define LOOKS	    (1ull << CAP_SYS_PTRACE)

struct pctrd {
	struct messages messages;
	struct options options;
	struct core core;
	struct cuse cuse;
	struct sock sock;
	struct helpers *helpers;
	struct lockfile lock;		/* guards the socket and all files of pctrd */
	struct watch signals, timer;
	int epoll;
	int stand_in;
	bool linked, ticking;
	char file[PATH_MAX], socket[PATH_MAX];
};

/* --- the device ----------------------------------------------------------------------------- */

/* The name of a node that CUSE can make: one directly below /dev. */
static const char *node_device_name(const char *node)
{
	if (strncmp(node, "/dev/", 5) || !node[5] || strchr(node + 5, '/') ||
	    strlen(node + 5) >= sizeof(((struct cuse *)0)->name))
		return NULL;
	return node + 5;
}

static int pctrd_begin_cuse(struct pctrd *p, const char *name)
{
	int err = cuse_open(&p->cuse, name, &p->core, &p->messages);

	if (err) {
		messages_put(&p->messages, LOG_INFO, "no device (CUSE) here: /dev/cuse: %s",
			     strerror(-err));
		return err;
	}
	err = node_open_up(name);
	if (err)
		messages_put(&p->messages, LOG_WARNING,
			     "%s is for root only: its mode cannot be set: %s",
			     p->options.node, strerror(-err));
	messages_put(&p->messages, LOG_INFO, "%s is a device (CUSE)", p->options.node);
	return watch_add(p->epoll, &p->cuse.watch);
}

/* Where there is no CUSE, the node leads to the stand-in, and libpctr does the rest. */
static void pctrd_begin_link(struct pctrd *p)
{
	int err = node_link(p->options.node, p->file);

	p->linked = !err;
	if (err)
		messages_put(&p->messages, LOG_WARNING, "cannot link %s to %s: %s", p->options.node,
			     p->file, strerror(-err));
	else
		messages_put(&p->messages, LOG_INFO, "%s leads to %s, for programs with libpctr",
			     p->options.node, p->file);
}

static void pctrd_begin_node(struct pctrd *p)
{
	const char *name = node_device_name(p->options.node);
	int err;

	if (!*p->options.node)
		return;
	err = node_clear(p->options.node, p->file);
	if (err) {
		messages_put(&p->messages, LOG_WARNING,
			     "%s is not pctrd's and stays as it is: programs that open it are not "
			     "served; remove it and start pctrd anew, or choose another name with "
			     "-n", p->options.node);
		return;
	}
	if (!name || pctrd_begin_cuse(p, name))
		pctrd_begin_link(p);
}

/* --- signals and time ----------------------------------------------------------------------- */

static void pctrd_signal(struct watch *w)
{
	/* The loop ends when this descriptor is closed. */
	close(w->fd);
	w->fd = -1;
}

static void pctrd_timer(struct watch *w)
{
	struct pctrd *p = (struct pctrd *)((char *)w - offsetof(struct pctrd, timer));
	uint64_t times;

	if (read(w->fd, &times, sizeof(times)) == sizeof(times))
		core_tick(&p->core);
}

static void pctrd_arm_timer(struct pctrd *p)
{
	struct itimerspec every = { .it_interval.tv_sec = core_active(&p->core),
				    .it_value.tv_sec = core_active(&p->core) };

	if (p->ticking != core_active(&p->core) &&
	    !timerfd_settime(p->timer.fd, 0, &every, NULL))
		p->ticking = !p->ticking;
}

static int pctrd_begin_waiting(struct pctrd *p)
{
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	p->signals = (struct watch){ .fd = signalfd(-1, &set, SFD_CLOEXEC), .ready = pctrd_signal };
	p->timer = (struct watch){ .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC),
				   .ready = pctrd_timer };
	if (p->epoll < 0 || p->signals.fd < 0 || p->timer.fd < 0)
		return -errno;
	err = watch_add(p->epoll, &p->signals);
	return err ? err : watch_add(p->epoll, &p->timer);
}

static int pctrd_loop(struct pctrd *p)
{
	struct epoll_event events[EVENTS];

	while (p->signals.fd >= 0) {
		int n = epoll_wait(p->epoll, events, EVENTS, -1);

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++) {
			struct watch *w = events[i].data.ptr;

			if (w->fd >= 0)
				w->ready(w);
		}
		sock_settle(&p->sock);
		if (helpers_lost(p->helpers)) {
			messages_put(&p->messages, LOG_ERR,
				     "the process that starts pctrd's helpers has died; start "
				     "pctrd anew");
			return -EIO;
		}
		if (p->cuse.ended)
			return -EIO;
		pctrd_arm_timer(p);
	}
	return 0;
}

/* --- begin and end ------------------------------------------------------------------------ */

static void pctrd_raise_limit(unsigned int ncpu)
{
	rlim_t wanted = SOCK_CLIENTS + MORE_FDS + PCTR_NUM * (rlim_t)ncpu;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= wanted)
		return;
	r.rlim_cur = wanted;
	if (r.rlim_max < wanted)
		r.rlim_max = wanted;
	/* If it cannot be raised, fewer programs can connect. */
	(void)setrlimit(RLIMIT_NOFILE, &r);
}

/* All capabilities but those listed above.  The systemd unit has the same list. */
static int pctrd_confine(const struct pctrd *p)
{
	int err = confine_capabilities(COUNTS | LOOKS, COUNTS | LOOKS);

	confine_core();
	umask(077);
	if (err)
		messages_put(&p->messages, LOG_ERR, "cannot give up capabilities: %s",
			     strerror(-err));
	return err;
}

static int pctrd_begin_core(struct pctrd *p)
{
	struct core_config *config = &p->options.set;

	int ncpu = machine_ncpu();

	if (ncpu < 0)
		return ncpu;
	config->vendor = machine_vendor();
	config->ncpu = (unsigned int)ncpu;
	if (config->vendor == VENDOR_INTEL)
		config->counters = p->options.intel_counters;
	else if (config->vendor != VENDOR_NONE || config->soft)
		config->counters = PCTR_NUM;
	pctrd_raise_limit(config->ncpu);
	if (pctrd_confine(p))
		return -EPERM;
	return core_init(&p->core, config, &service_source, &p->messages);
}

static int pctrd_take_lock(struct pctrd *p)
{
	char why[512];
	int err = lockfile_take(&p->lock, p->socket, why, sizeof(why));

	if (err)
		messages_put(&p->messages, LOG_ERR, "%s; %schoose another folder with -d", why,
			     err == -EADDRINUSE ? "stop it, or " : "");
	return err;
}

/* First of all: helpers inherit every descriptor that is open. */
static int pctrd_begin_helpers(struct pctrd *p)
{
	int err = helpers_new(&p->helpers, &(struct helpers_spec){
		.name = "pctrd-helper", .jobs = sock_jobs, .njobs = SOCK_JOBS, .max = SOCK_HELPERS,
	});

	if (err)
		messages_put(&p->messages, LOG_ERR, "cannot start helper processes: %s",
			     strerror(-err));
	return err;
}

static int pctrd_begin(struct pctrd *p)
{
	const char *dir = p->options.dir;
	int err = pctrd_begin_helpers(p);

	if (err)
		return err;
	if ((size_t)snprintf(p->file, sizeof(p->file), "%s/" PCTR_FILE, dir) >= sizeof(p->file) ||
	    (size_t)snprintf(p->socket, sizeof(p->socket), "%s/" PCTR_FILE ".sock", dir) >=
		    sizeof(p->socket))
		err = -ENAMETOOLONG;
	if (!err)
		err = pctrd_begin_waiting(p);
	if (!err)
		err = pctrd_begin_core(p);
	if (err) {
		messages_put(&p->messages, LOG_ERR, "cannot start: %s", strerror(-err));
		return err;
	}
	err = node_folder(dir, &p->messages);
	if (!err)
		err = pctrd_take_lock(p);
	if (err)
		return err;
	p->stand_in = node_stand_in(dir, PCTR_FILE, &p->messages);
	if (p->stand_in < 0)
		return p->stand_in;
	err = sock_open(&p->sock, p->socket, p->stand_in, p->epoll, p->helpers, &p->core,
			&p->messages);
	if (!err)
		pctrd_begin_node(p);
	return err;
}

static void pctrd_end(struct pctrd *p)
{
	bool served = p->sock.watch.fd >= 0;

	if (p->linked)
		(void)node_clear(p->options.node, p->file);
	cuse_close(&p->cuse);
	sock_close(&p->sock);
	helpers_free(p->helpers);
	sock_bury(&p->sock);
	/* The file of another pctrd stays. */
	if (served)
		unlink(p->file);
	core_free(&p->core);
	lockfile_release(&p->lock);
}

/* Returns in the child, with the descriptor on which it reports that it serves. */
static int pctrd_go_background(const struct pctrd *p)
{
	pid_t pid = -1;
	int fds[2];
	char ok;

	if (!pipe2(fds, O_CLOEXEC))
		pid = fork();
	if (pid < 0) {
		messages_put(&p->messages, LOG_ERR, "cannot go into the background: %m");
		return -EAGAIN;
	}
	if (pid > 0) {
		close(fds[1]);
		_exit(read(fds[0], &ok, 1) != 1);
	}
	close(fds[0]);
	setsid();
	return fds[1];
}

static void pctrd_leave_terminal(struct pctrd *p, int ready)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	messages_background(&p->messages);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (chdir("/") || write(ready, "", 1) != 1)
		messages_put(&p->messages, LOG_WARNING, "going into the background: %m");
	close(ready);
}

static int pctrd_serve(struct pctrd *p)
{
	int ready = p->options.foreground ? -1 : pctrd_go_background(p);
	int err = ready < 0 && !p->options.foreground ? ready : pctrd_begin(p);

	if (!err) {
		messages_put(&p->messages, LOG_INFO, "serving %s", p->socket);
		if (ready >= 0)
			pctrd_leave_terminal(p, ready);
		err = pctrd_loop(p);
	}
	pctrd_end(p);
	return err;
}

/* -t: 0 if nothing is missing. */
static int pctrd_check(struct pctrd *p)
{
	int n = service_source.connect(NULL), missing = 0;

	if (n < 0) {
		messages_put(&p->messages, LOG_ERR, "%s", pmc_errstr());
		missing++;
	}
	if (n == 0 || machine_vendor() == VENDOR_NONE) {
		messages_put(&p->messages, LOG_ERR,
			     "no counters: pmccontrol --doctor says why; only the TSC can be read");
		missing++;
	}
	if (*p->options.node && access("/dev/cuse", R_OK | W_OK)) {
		messages_put(&p->messages, LOG_ERR,
			     "/dev/cuse: %s; modprobe cuse, or link programs with "
			     "libpctr", strerror(errno));
		missing++;
	}
	if (!missing)
		puts("pctrd: nothing is missing");
	return missing || fflush(stdout) ? -ENODEV : 0;
}

int main(int argc, char **argv)
{
	static struct pctrd p = { .epoll = -1, .stand_in = -1, .signals.fd = -1, .timer.fd = -1,
				  .lock.fd = -1, .cuse.watch.fd = -1, .sock.watch.fd = -1 };
	int err = options_parse(&p.options, argc, argv, &p.messages);

	if (err == OPTIONS_DONE)
		return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	if (!err && geteuid()) {
		messages_put(&p.messages, LOG_ERR,
			     "must be started as root: it counts on whole CPUs and "
			     "makes /dev/pctr; try sudo pctrd");
		err = -EPERM;
	}
	if (!err)
		err = p.options.test ? pctrd_check(&p) : pctrd_serve(&p);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
