/* SPDX-License-Identifier: BSD-2-Clause */
/* See endpoint.h. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "endpoint.h"
#include "peer.h"

#define BACKLOG 128

/* Makes the directory of path if it is missing. */
static int socket_make_directory(const char *path, struct reason *why)
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
	/* Every user may pass, regardless of root's umask. */
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0755))
		err = deny(why, -errno, "cannot open the socket's directory %s: %m", dir);
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * 0: a process listens on the socket; else -errno.  *pid is its number, 0 if it is in another
 * namespace; unchanged if too many connections wait there.
 */
static int socket_try(const struct sockaddr_un *sun, pid_t *pid)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0;
	struct ucred peer = { .pid = 0 };
	socklen_t len = sizeof(peer);

	if (fd < 0 || connect(fd, (const struct sockaddr *)sun, sizeof(*sun)))
		err = errno == EAGAIN ? 0 : -errno;
	else if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		*pid = peer.pid;
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Removes a socket that no process listens on.  A daemon that was killed loses its lock before it
 * loses its socket, hence the wait.
 */
static int socket_clear_stale(const struct sockaddr_un *sun, struct reason *why)
{
	long deadline = lockfile_deadline();
	char listener[32] = "another process";
	pid_t pid = -1;		/* not known yet */
	struct stat st;
	int err;

	if (lstat(sun->sun_path, &st))
		return errno == ENOENT ? 0 : deny(why, -errno, "%s: %m", sun->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return deny(why, -EEXIST, "%s exists and is no socket; remove it or choose another "
			    "with -s", sun->sun_path);
	do
		err = socket_try(sun, &pid);
	while (!err && pid && lockfile_outlasts(pid, deadline));
	if (pid > 0)
		snprintf(listener, sizeof(listener), "process %d", pid);
	if (!err)
		return deny(why, -EADDRINUSE, "already running: %s listens on %s; stop it, or "
			    "choose another socket with -s", listener, sun->sun_path);
	if (err != -ECONNREFUSED)
		return deny(why, err, "%s is in the way: %s", sun->sun_path, strerror(-err));
	if (unlink(sun->sun_path) && errno != ENOENT)
		return deny(why, -errno, "cannot remove the old socket %s: %m", sun->sun_path);
	return 0;
}

static int group_find(const char *name, gid_t *gid, struct reason *why)
{
	const struct group *g = getgrnam(name);	/* NOLINT(concurrency-mt-unsafe): no thread yet */

	if (!g)
		return deny(why, -EINVAL, "socket.group=\"%s\": there is no such group; make it "
			    "with groupadd, or choose another", name);
	*gid = g->gr_gid;
	return 0;
}

/* The file has its group and mode from the first moment on. */
static int socket_bind(int fd, const struct sockaddr_un *sun, const gid_t *group)
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

static int endpoint_listen(struct endpoint *e, const struct sockaddr_un *sun, const gid_t *group,
			   struct reason *why)
{
	struct stat st;
	int err;

	e->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (e->fd < 0)
		return deny(why, -errno, "cannot make a socket: %m");
	err = socket_bind(e->fd, sun, group);
	if (!err && lstat(sun->sun_path, &st))
		err = -errno;
	else if (!err && group && st.st_gid != *group)
		err = -EXDEV;
	else if (!err && listen(e->fd, BACKLOG))
		err = -errno;
	if (!err)
		err = peer_pass_credentials(e->fd);
	if (err) {
		close(e->fd);
		e->fd = -1;
		if (err == -EXDEV)
			unlink(sun->sun_path);
		return err == -EXDEV ? deny(why, -EINVAL, "socket.group: %s gets the group of its "
					    "folder; chmod g-s that", sun->sun_path) :
				       deny(why, err, "cannot listen on %s: %s", sun->sun_path,
					    strerror(-err));
	}
	strcpy(e->path, sun->sun_path);
	e->dev = st.st_dev;
	e->ino = st.st_ino;
	return 0;
}

/* Two daemons that start together must not remove each other's socket. */
static int endpoint_lock(struct endpoint *e, const char *path, struct reason *why)
{
	char reason[sizeof(why->text)];
	int err = lockfile_take(&e->lock, path, reason, sizeof(reason));

	if (err == -EADDRINUSE)
		return deny(why, err, "%s; stop it, or choose another socket with -s", reason);
	return err ? deny(why, err, "%s", reason) : 0;
}

int endpoint_open(struct endpoint *e, const char *path, const char *group, struct reason *why)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	gid_t gid;
	int err;

	if (!*path || strlen(path) >= sizeof(sun.sun_path))
		return deny(why, -ENAMETOOLONG, "a socket's path has 1 to %zu bytes: %s",
			    sizeof(sun.sun_path) - 1, path);
	strcpy(sun.sun_path, path);
	err = *group ? group_find(group, &gid, why) : 0;
	if (!err)
		err = socket_make_directory(path, why);
	if (!err)
		err = endpoint_lock(e, path, why);
	if (!err)
		err = socket_clear_stale(&sun, why);
	if (!err)
		err = endpoint_listen(e, &sun, *group ? &gid : NULL, why);
	return err;
}

int endpoint_adopt(struct endpoint *e, int fd, const char *group, struct reason *why)
{
	if (*group)
		return deny(why, -EINVAL, "socket.group=\"%s\" is for sockets that pmcbpfd makes: "
			    "write SocketGroup= and SocketMode=0660 to the service manager's "
			    ".socket unit", group);
	if (!peer_is_seqpacket(fd, 1))
		return deny(why, -EINVAL, "the socket passed by the service manager is not one of "
			    "ListenSequentialPacket=");
	if (fcntl(fd, F_SETFL, O_NONBLOCK) || peer_pass_credentials(fd))
		return deny(why, -errno, "cannot use the socket passed by the service manager: %m");
	e->fd = fd;
	e->path[0] = '\0';
	return 0;
}

void endpoint_close(struct endpoint *e)
{
	struct stat st;

	if (e->fd < 0)
		return;
	if (e->path[0] && !lstat(e->path, &st) && st.st_dev == e->dev && st.st_ino == e->ino)
		unlink(e->path);
	close(e->fd);
	e->fd = -1;
}

void endpoint_unlock(struct endpoint *e)
{
	lockfile_release(&e->lock);
}
