/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that hang a process that closes, inspects or reads them. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strangers.h"

/* --- a socket whose close waits for a reader ------------------------------------------------ */

#define FULL   (1u << 30)
#define UNSENT (128u * 1024)		/* more than its reader has room for, less than it takes */

/* A TCP connection that lingers for up to an hour on unsent data; *reader is its other end. */
static int lingering(int *reader, unsigned int most)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger l = { .l_onoff = 1, .l_linger = 3600 };
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096, fd;
	int large = 4 << 20;
	unsigned int sent = 0;
	static const char data[65536];

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&a, &len))
		attack_skip("no TCP on 127.0.0.1: %s", strerror(errno));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
		attack_skip("no TCP on 127.0.0.1: %s", strerror(errno));
	*reader = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
	while (sent < most && send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		sent += sizeof(data);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	return fd;
}

/*
 * If the daemon has already closed the descriptor, the close here is the last, and lingers.  So a
 * child holds it as well: a process's exit does not wait for the peer.
 */
static void send_away(int sock, uint16_t op, const void *arg, size_t len, int fd)
{
	struct packet p = { .op = op, .arg = arg, .len = len, .fds = &fd, .nfds = 1 };
	pid_t pid = crew_fork();

	if (pid == 0)
		for (;;)
			pause();
	link_send(sock, &p, 0);
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* With a request that takes no descriptor, with one that takes another, and twice with it. */
static void linger(void)
{
	struct wire_version v = { .version = PMC_VERSION };
	struct wire_attach_req a = { .pid = 1 };
	int reader[3], sock[3];

	for (unsigned int i = 0; i < 3; i++)
		sock[i] = link_open();
	send_away(sock[0], WIRE_OP_GETMODULEVERSION, &v, sizeof(v), lingering(&reader[0], FULL));
	if (!link_allocate(sock[1], PMC_MODE_TC, 0x2000b, 0, &a.pmcid))
		send_away(sock[1], WIRE_OP_PMCATTACH, &a, sizeof(a), lingering(&reader[1], FULL));
	send_away(sock[2], 999, NULL, 0, lingering(&reader[2], FULL));
	attack_hold();
}

/* As the log of a client that is gone: its writer waits for room, or in close(2). */
static void log_there(unsigned int most)
{
	struct wire_writelog_req w = { .userdata = 1 };
	struct wire_configurelog_req end = { .logfd = -1 };
	struct packet p = { .op = WIRE_OP_CONFIGURELOG, .arg = &end, .len = sizeof(end) };
	int reader, fd = lingering(&reader, most), sock;
	pid_t pid = crew_fork();

	if (pid == 0) {
		sock = link_open();
		if (!link_log(sock, fd))
			link_call(sock, WIRE_OP_WRITELOG, &w, sizeof(w), -1, NULL);
		close(fd);
		link_send(sock, &p, 0);
		_exit(0);
	}
	/* Only the daemon has the socket then, and nothing reads from it. */
	close(fd);
	waitpid(pid, NULL, 0);
}

static void linger_log(void)
{
	log_there(FULL);
	log_there(UNSENT);
	attack_hold();
}

/* --- a file system that does not answer ----------------------------------------------------- */

static bool mounted, laid_over;

static void mount_fuse(void)
{
	mounted = fuse_mount();
}

static void mount_overlay(void)
{
	laid_over = fuse_overlay();
}

static void unmount(void)
{
	fuse_end();
	mounted = laid_over = false;
}

static int file_on(const char *fs, const char *name, int flags)
{
	char path[128];
	int fd;

	if (!mounted && !laid_over)
		attack_skip("FUSE, or overlay on top of it, cannot be mounted");
	snprintf(path, sizeof(path), "%s/%s/%s", stage->dir, fs, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		attack_skip("%s: %s", path, strerror(errno));
	return fd;
}

/* No other process may close it: that would hang us, not the daemon. */
static void pass_and_forget(uint16_t op, const void *arg, size_t len, const char *name)
{
	if (crew_fork() == 0) {
		int sock = link_open(), fd = file_on("fuse", name, O_RDWR);
		struct packet p = { .op = op, .arg = arg, .len = len, .fds = &fd, .nfds = 1 };

		link_send(sock, &p, 0);
		attack_hold();
		_exit(0);
	}
}

static void fuse_close(void)
{
	struct wire_version v = { .version = PMC_VERSION };

	file_on("fuse", "stat", O_PATH);
	pass_and_forget(WIRE_OP_GETMODULEVERSION, &v, sizeof(v), "flush");
	attack_hold();
}

/* fstat() of the log does not come back. */
static void fuse_stat(void)
{
	struct wire_configurelog_req r = { .logfd = 0 };

	file_on("fuse", "stat", O_PATH);
	pass_and_forget(WIRE_OP_CONFIGURELOG, &r, sizeof(r), "stat");
	attack_hold();
}

/* A log on that file system: written, flushed, and left behind by a client that has ended. */
static void fuse_log(void)
{
	int fd = file_on("fuse", "write", O_WRONLY);
	struct wire_configurelog_req r = { .logfd = 0 };
	struct wire_writelog_req w = { .userdata = 1 };
	pid_t pid = crew_fork();

	if (pid == 0) {
		int sock = link_open();
		struct packet p = { .op = WIRE_OP_CONFIGURELOG, .arg = &r, .len = sizeof(r),
				    .fds = &fd, .nfds = 1 };

		link_send(sock, &p, 0);
		p = (struct packet){ .op = WIRE_OP_WRITELOG, .arg = &w, .len = sizeof(w) };
		for (unsigned int i = 0; i < 10000; i++)
			if (link_send(sock, &p, MSG_DONTWAIT))
				break;
		p = (struct packet){ .op = WIRE_OP_FLUSHLOG };
		link_send(sock, &p, MSG_DONTWAIT);
		/* Its own FLUSH is answered; the daemon's copy stays open. */
		_exit(0);
	}
	attack_hold();
}

/* The daemon reads a process's mapped files for their build ids. */
static void overlay_map(void)
{
	int fd = file_on("over", "read", O_RDONLY), sock = link_open(), null;
	void *at = mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	struct packet p = { .op = WIRE_OP_PMCATTACH };
	struct wire_attach_req a = { .pid = 0 };

	if (at == MAP_FAILED)
		attack_skip("a file of overlay over FUSE cannot be mapped: %s", strerror(errno));
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (link_log(sock, null) || link_allocate(sock, PMC_MODE_TS, 0x20000, 0, &a.pmcid))
		attack_note("refused: %s", link_reason());
	p.arg = &a;
	p.len = sizeof(a);
	link_send(sock, &p, 0);
	attack_hold();
}

const struct attack hang_attacks[] = {
	{ .name = "linger", .run = linger },
	{ .name = "linger-log", .run = linger_log, .gone = true },
	{ .name = "fuse-close", .prepare = mount_fuse, .run = fuse_close, .clean = unmount },
	{ .name = "fuse-stat", .prepare = mount_fuse, .run = fuse_stat, .clean = unmount },
	{ .name = "fuse-log", .prepare = mount_fuse, .run = fuse_log, .clean = unmount },
	{ .name = "overlay-fuse-map", .prepare = mount_overlay, .run = overlay_map,
	  .clean = unmount },
	{ .name = NULL }
};
