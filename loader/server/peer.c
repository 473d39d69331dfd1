/* SPDX-License-Identifier: BSD-2-Clause */
/* Unix sockets: making the listening one, identifying the connected ones. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "peer.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77			/* Linux 6.5 */
#endif
#define BACKLOG 128

/* --- the listening socket ---------------------------------------------------------------- */

static int pass_credentials(int fd)
{
	int on = 1;

	return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ? -errno : 0;
}

/* Makes the directory of path if it is missing. */
static int make_directory(const char *path, struct why *why)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *slash;
	int fd, err = 0;

	strcpy(dir, path);
	slash = strrchr(dir, '/');
	if (!slash)
		strcpy(dir, ".");
	else
		slash[slash == dir] = '\0';
	if (mkdir(dir, 0755))
		return errno == EEXIST ? 0 : deny(why, -errno, "cannot make the socket's directory "
						  "%s: %m", dir);
	/* Whatever root's umask is, it is for everybody, as the socket. */
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0755))
		err = deny(why, -errno, "cannot open the socket's directory %s: %m", dir);
	if (fd >= 0)
		close(fd);
	return err;
}

/* 0: a process listens on the socket, *pid: that, or 0; else -errno. */
static int try_connect(const struct sockaddr_un *sun, pid_t *pid)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0;
	struct ucred peer = { .pid = 0 };
	socklen_t len = sizeof(peer);

	if (fd < 0 || (connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) && errno != EAGAIN))
		err = -errno;
	else if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		*pid = peer.pid;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Removes a socket that nobody answers on.  A daemon that was killed loses its lock before that. */
static int clear_stale(const struct sockaddr_un *sun, struct why *why)
{
	long deadline = lockfile_deadline();
	pid_t pid = 0;
	struct stat st;
	int err;

	if (lstat(sun->sun_path, &st))
		return errno == ENOENT ? 0 : deny(why, -errno, "%s: %m", sun->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return deny(why, -EEXIST, "%s exists and is no socket; remove it or choose another "
			    "with -s", sun->sun_path);
	do
		err = try_connect(sun, &pid);
	while (!err && pid > 0 && lockfile_outlasts(pid, deadline));
	if (!err)
		return deny(why, -EADDRINUSE, "already running: process %d listens on %s; stop it, "
			    "or choose another socket with -s", pid, sun->sun_path);
	if (err != -ECONNREFUSED)
		return deny(why, err, "%s is in the way: %s", sun->sun_path, strerror(-err));
	if (unlink(sun->sun_path) && errno != ENOENT)
		return deny(why, -errno, "cannot remove the old socket %s: %m", sun->sun_path);
	return 0;
}

static int find_group(const char *name, gid_t *gid, struct why *why)
{
	const struct group *g = getgrnam(name);	/* NOLINT(concurrency-mt-unsafe): no thread yet */

	if (!g)
		return deny(why, -EINVAL, "socket.group=\"%s\": there is no such group; make it "
			    "with groupadd, or choose another", name);
	*gid = g->gr_gid;
	return 0;
}

/* With its group and mode from the first moment on; who may do what is decided per request. */
static int bind_socket(int fd, const struct sockaddr_un *sun, const gid_t *group)
{
	mode_t mask = umask(group ? 0117 : 0111);
	int err;

	if (group)
		syscall(SYS_setfsgid, *group);
	err = bind(fd, (const struct sockaddr *)sun, sizeof(*sun)) ? -errno : 0;
	if (group)
		syscall(SYS_setfsgid, getegid());
	umask(mask);
	return err;
}

static int bind_and_listen(struct listener *l, const struct sockaddr_un *sun, const gid_t *group,
			   struct why *why)
{
	struct stat st;
	int err;

	l->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return deny(why, -errno, "cannot make a socket: %m");
	err = bind_socket(l->fd, sun, group);
	if (!err && lstat(sun->sun_path, &st))
		err = -errno;
	else if (!err && group && st.st_gid != *group)
		err = -EXDEV;
	else if (!err && listen(l->fd, BACKLOG))
		err = -errno;
	if (!err)
		err = pass_credentials(l->fd);
	if (err) {
		close(l->fd);
		l->fd = -1;
		if (err == -EXDEV)
			unlink(sun->sun_path);
		return err == -EXDEV ? deny(why, -EINVAL, "socket.group: %s gets the group of its "
					    "folder; chmod g-s that", sun->sun_path) :
				       deny(why, err, "cannot listen on %s: %s", sun->sun_path,
					    strerror(-err));
	}
	strcpy(l->path, sun->sun_path);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return 0;
}

/* Two daemons that start together must not remove each other's socket. */
static int take_lock(struct listener *l, const char *path, struct why *why)
{
	char reason[sizeof(why->text)];
	int err = lockfile_take(&l->lock, path, reason, sizeof(reason));

	if (err == -EADDRINUSE)
		return deny(why, err, "%s; stop it, or choose another socket with -s", reason);
	return err ? deny(why, err, "%s", reason) : 0;
}

int listener_open(struct listener *l, const char *path, const char *group, struct why *why)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	gid_t gid;
	int err;

	if (!*path || strlen(path) >= sizeof(sun.sun_path))
		return deny(why, -ENAMETOOLONG, "a socket's path has 1 to %zu bytes: %s",
			    sizeof(sun.sun_path) - 1, path);
	strcpy(sun.sun_path, path);
	err = *group ? find_group(group, &gid, why) : 0;
	if (!err)
		err = make_directory(path, why);
	if (!err)
		err = take_lock(l, path, why);
	if (!err)
		err = clear_stale(&sun, why);
	if (!err)
		err = bind_and_listen(l, &sun, *group ? &gid : NULL, why);
	return err;
}

static bool is_seqpacket(int fd, int listening)
{
	int type = 0, domain = 0, accepts = -1;
	socklen_t len = sizeof(int);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_SEQPACKET &&
	       !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX &&
	       !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &len) && accepts == listening;
}

int listener_adopt(struct listener *l, int fd, const char *group, struct why *why)
{
	if (*group)
		return deny(why, -EINVAL, "socket.group=\"%s\" is for sockets that pmcbpfd makes: "
			    "write SocketGroup= and SocketMode=0660 to the service manager's "
			    ".socket unit", group);
	if (!is_seqpacket(fd, 1))
		return deny(why, -EINVAL, "the socket passed by the service manager is not one of "
			    "ListenSequentialPacket=");
	if (fcntl(fd, F_SETFL, O_NONBLOCK) || pass_credentials(fd))
		return deny(why, -errno, "cannot use the socket passed by the service manager: %m");
	l->fd = fd;
	l->path[0] = '\0';
	return 0;
}

void listener_close(struct listener *l)
{
	struct stat st;

	if (l->fd < 0)
		return;
	if (l->path[0] && !lstat(l->path, &st) && st.st_dev == l->dev && st.st_ino == l->ino)
		unlink(l->path);
	close(l->fd);
	l->fd = -1;
}

void listener_unlock(struct listener *l)
{
	lockfile_release(&l->lock);
}

/* --- the other end ------------------------------------------------------------------------- */

bool peer_is_client(int fd)
{
	return is_seqpacket(fd, 0);
}

/*
 * Before Linux 6.5 the pidfd is found by number.  The number is the peer's as long as the
 * connection stands; a message's credentials are compared with the process's later as well.
 */
static int open_pidfd(int fd, pid_t pid)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	socklen_t len = sizeof(int);
	int pidfd = -1;

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len))
		return pidfd;
	if (errno != ENOPROTOOPT)
		return -errno;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	if (poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLRDHUP | POLLERR)) {
		close(pidfd);
		return -ESRCH;
	}
	return pidfd;
}

int peer_process(int fd, pid_t *pid, int *pidfd, struct why *why)
{
	socklen_t len = sizeof(struct ucred);
	struct ucred peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || pass_credentials(fd))
		return deny(why, -errno, "cannot tell who connects: %m");
	if (peer.pid <= 0)
		return deny(why, -EPERM,
			    "the process is outside of the daemon's pid namespace; run "
			    "pmcbpfd on the host");
	*pid = peer.pid;
	*pidfd = open_pidfd(fd, peer.pid);
	return *pidfd < 0 ? deny(why, -ESRCH, "the connecting process has exited") : 0;
}
