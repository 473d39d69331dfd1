/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors of all kinds that an unprivileged user may have. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "stranger.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

void kind_keep(struct stranger *s, int fd)
{
	int *place = &s->kept[s->nkept++ % KEPT];

	if (*place >= 0)
		close(*place);
	*place = fd;
}

static int open_pidfd(pid_t pid, unsigned int flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

static pid_t some_child(struct stranger *s)
{
	pid_t pid = s->child[pick(s, CHILDREN)];

	return pid > 0 ? pid : getpid();
}

/* --- processes ----------------------------------------------------------------------------- */

static int make_self(struct stranger *s) { return open_pidfd(getpid(), 0); }
static int make_child(struct stranger *s) { return open_pidfd(some_child(s), 0); }

/* Any process: init, the daemon, an observer, another stranger. */
static int make_foreign(struct stranger *s)
{
	pid_t from = stage->first;

	return open_pidfd(chance(s, 20) ? 1 : chance(s, 25) ? stage->daemon :
			  from + (pid_t)pick(s, 64), 0);
}

static int make_thread(struct stranger *s) { return open_pidfd(some_child(s), PIDFD_THREAD); }

static int make_dead(struct stranger *s)
{
	pid_t pid = crew_fork();
	int fd;

	if (pid == 0)
		_exit(0);
	fd = open_pidfd(pid, 0);
	return fd;
}

static int open_of(struct stranger *s, const char *file, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", some_child(s), file);
	return open(path, flags | O_CLOEXEC);
}

static int make_proc_dir(struct stranger *s) { return open_of(s, "", O_RDONLY | O_DIRECTORY); }

static int make_proc_mem(struct stranger *s)
{
	return open_of(s, "mem", chance(s, 50) ? O_RDWR : O_RDONLY);
}

static int make_proc_maps(struct stranger *s) { return open_of(s, "maps", O_RDONLY); }
static int make_namespace(struct stranger *s) { return open_of(s, "ns/user", O_RDONLY); }

/* --- files --------------------------------------------------------------------------------- */

static int make_temporary(int flags) { return open("/tmp", O_TMPFILE | flags | O_CLOEXEC, 0600); }

static int make_file(struct stranger *s)
{
	static const int flags[] = { O_WRONLY, O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_NONBLOCK };

	return make_temporary(flags[pick(s, 4)]);
}

static int make_read_only(struct stranger *s) { return open(stage->plain, O_RDONLY | O_CLOEXEC); }

static int make_directory(struct stranger *s)
{
	return open(stage->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int make_path(struct stranger *s) { return open(stage->plain, O_PATH | O_CLOEXEC); }

static int make_memfd(struct stranger *s)
{
	int fd = (int)syscall(SYS_memfd_create, "strangers", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && chance(s, 50))
		fcntl(fd, F_ADD_SEALS, chance(s, 50) ? F_SEAL_WRITE : F_SEAL_GROW);
	return fd;
}

static int open_device(const char *path) { return open(path, O_RDWR | O_CLOEXEC | O_NOCTTY); }
static int make_null(struct stranger *s) { return open_device("/dev/null"); }
static int make_zero(struct stranger *s) { return open_device("/dev/zero"); }
static int make_full(struct stranger *s) { return open_device("/dev/full"); }
static int make_self_mem(struct stranger *s) { return open_device("/proc/self/mem"); }

/* --- pipes and terminals --------------------------------------------------------------------- */

static void fill_up(int fd)
{
	static const char zeroes[4096];
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	while (write(fd, zeroes, sizeof(zeroes)) > 0)
		;
	fcntl(fd, F_SETFL, flags);
}

static int make_pipe(struct stranger *s)
{
	unsigned int how = pick(s, 4);
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	if (how == 0) {
		kind_keep(s, ends[1]);
		return ends[0];
	}
	if (how == 1)
		fill_up(ends[1]);
	if (how == 2)
		close(ends[0]);
	else
		kind_keep(s, ends[0]);
	return ends[1];
}

static int make_fifo(struct stranger *s)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/open/fifo.%d", stage->dir, getpid());
	if (mkfifo(path, 0600))
		return -1;
	fd = open(path, O_RDWR | O_CLOEXEC);
	unlink(path);
	return fd;
}

static int make_terminal(struct stranger *s)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1;

	if (master < 0)
		return -1;
	if (!grantpt(master) && !unlockpt(master))
		slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (chance(s, 50)) {
		if (slave >= 0 && chance(s, 70))
			kind_keep(s, slave);
		else if (slave >= 0)
			close(slave);
		return master;
	}
	if (chance(s, 70))
		kind_keep(s, master);
	else
		close(master);
	return slave;
}

/* --- sockets --------------------------------------------------------------------------------- */

static int make_unix(struct stranger *s)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	int pair[2];

	if (socketpair(AF_UNIX, types[pick(s, 3)] | SOCK_CLOEXEC, 0, pair))
		return -1;
	if (chance(s, 30))
		fill_up(pair[0]);
	if (chance(s, 20))
		close(pair[1]);
	else
		kind_keep(s, pair[1]);
	return pair[0];
}

static int make_connection(struct stranger *s)
{
	int fd = s->sock[pick(s, SOCKS)];

	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int make_tcp(struct stranger *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger l = { .l_onoff = 1, .l_linger = 3600 };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	socklen_t len = sizeof(a);

	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&a, &len) || chance(s, 10))
		return listener;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(listener);
		return fd;
	}
	kind_keep(s, accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	close(listener);
	if (wanted("linger") && chance(s, 50)) {
		fill_up(fd);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	}
	return fd;
}

static int make_udp(struct stranger *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(9),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)))
		errno = 0;
	return fd;
}

static int make_netlink(struct stranger *s)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

/* --- objects without a file ------------------------------------------------------------------ */

static int make_eventfd(struct stranger *s) { return eventfd(pick(s, 3), EFD_CLOEXEC); }

static int make_epoll(struct stranger *s)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), first = eventfd(0, EFD_CLOEXEC);

	for (unsigned int n = pick(s, chance(s, 95) ? 4 : 300); n; n--) {
		struct epoll_event e = { .events = EPOLLIN };
		int fd = fcntl(first, F_DUPFD_CLOEXEC, 0);

		if (fd >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e))
			kind_keep(s, fd);
		else if (fd >= 0)
			close(fd);
	}
	close(first);
	return epoll;
}

static int make_timerfd(struct stranger *s) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); }

static int make_signalfd(struct stranger *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int make_inotify(struct stranger *s)
{
	int fd = inotify_init1(IN_CLOEXEC);

	if (fd >= 0)
		inotify_add_watch(fd, "/tmp", IN_CREATE);
	return fd;
}

static int make_fanotify(struct stranger *s)
{
	return (int)syscall(SYS_fanotify_init, 0x200 /* FAN_REPORT_FID */ | 1 /* FAN_CLOEXEC */, 0);
}

static int make_userfaultfd(struct stranger *s)
{
	return (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
}

static int make_perf(struct stranger *s)
{
	struct perf_event_attr a = { .size = sizeof(a), .type = PERF_TYPE_SOFTWARE,
				     .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1 };

	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int make_bpf(struct stranger *s)
{
	union bpf_attr a = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8,
			     .max_entries = 1 };

	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a));
}

static int make_mqueue(struct stranger *s)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "strangers.%d", getpid());
	fd = (int)syscall(SYS_mq_open, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600, NULL);
	if (fd >= 0)
		syscall(SYS_mq_unlink, name);
	return fd;
}

static int make_io_uring(struct stranger *s)
{
	uint32_t params[30] = { 0 };

	return (int)syscall(SYS_io_uring_setup, 1, params);
}

static int make_landlock(struct stranger *s)
{
	uint64_t handled = 1;

	return (int)syscall(444 /* landlock_create_ruleset */, &handled, sizeof(handled), 0);
}

/* Descriptors that the daemon has handed out. */
static int make_returned(struct stranger *s)
{
	return s->from_daemon < 0 ? -1 : fcntl(s->from_daemon, F_DUPFD_CLOEXEC, 0);
}

/* --- FUSE ------------------------------------------------------------------------------------ */

/*
 * Closing such a file blocks, so a separate process passes it on and ends with the file system. A
 * few are enough.
 */
static int give_fuse(struct stranger *s)
{
	static const char *const names[] = { "fuse/flush", "fuse/read", "fuse/write", "fuse/stat",
					     "over/read" };
	const char *name = names[pick(s, 5)];
	struct wire_configurelog_req r = { .logfd = 3 };
	uint16_t op = chance(s, 60) ? WIRE_OP_CONFIGURELOG : WIRE_OP_GETCPUINFO;
	char path[128];

	if (!stage->fuse || __atomic_fetch_add(&stage->stuck, 1, __ATOMIC_RELAXED) >= STUCK)
		return -1;
	snprintf(path, sizeof(path), "%s/%s", stage->dir, name);
	if (crew_fork() == 0) {
		int sock = link_open(), fd = open(path, O_RDWR | O_CLOEXEC);
		struct packet p = { .op = op, .arg = &r, .fds = &fd, .nfds = fd >= 0 };

		p.len = op == WIRE_OP_CONFIGURELOG ? sizeof(r) : 0;
		if (sock >= 0)
			link_send(sock, &p, 0);
		pause();
		_exit(0);
	}
	return -1;
}

/* --- all ------------------------------------------------------------------------------------- */

static const struct kind {
	const char *name;		/* of a kind that can be left out */
	int (*make)(struct stranger *s);
} kinds[] = {
	{ "pidfd", make_self },		{ "pidfd", make_child },
	{ "pidfd", make_foreign },	{ "pidfd", make_thread },
	{ "pidfd", make_dead },		{ "proc", make_proc_dir },
	{ "proc", make_proc_mem },	{ "proc", make_proc_maps },
	{ "proc", make_self_mem },	{ "namespace", make_namespace },
	{ "file", make_file },		{ "file", make_read_only },
	{ "directory", make_directory }, { "path", make_path },
	{ "memfd", make_memfd },	{ "null", make_null },
	{ "zero", make_zero },		{ "full", make_full },
	{ "pipe", make_pipe },		{ "fifo", make_fifo },
	{ "terminal", make_terminal },	{ "unix", make_unix },
	{ "connection", make_connection }, { "tcp", make_tcp },
	{ "udp", make_udp },		{ "netlink", make_netlink },
	{ "eventfd", make_eventfd },	{ "epoll", make_epoll },
	{ "timerfd", make_timerfd },	{ "signalfd", make_signalfd },
	{ "inotify", make_inotify },	{ "fanotify", make_fanotify },
	{ "userfaultfd", make_userfaultfd }, { "perf", make_perf },
	{ "bpf", make_bpf },		{ "mqueue", make_mqueue },
	{ "io_uring", make_io_uring },	{ "landlock", make_landlock },
	{ "returned", make_returned },	{ "fuse", give_fuse },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

unsigned int kind_count(void) { return KINDS; }

int kind_make(struct stranger *s)
{
	const struct kind *k = &kinds[pick(s, KINDS)];

	return wanted(k->name) ? k->make(s) : -1;
}

int kind_log(struct stranger *s)
{
	static const struct kind logs[] = {
		{ "file", make_file }, { "null", make_null }, { "pipe", make_pipe },
		{ "unix", make_unix }, { "terminal", make_terminal }, { "tcp", make_tcp },
		{ "fifo", make_fifo }, { "memfd", make_memfd },
	};
	const struct kind *k = &logs[pick(s, 8)];

	return wanted(k->name) ? k->make(s) : -1;
}

int kind_process(struct stranger *s)
{
	return chance(s, 70) ? make_child(s) : chance(s, 70) ? make_self(s) : make_foreign(s);
}
