/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of files and sockets that a log is written to. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "logdest.h"

#define CONFIGFS_MAGIC 0x62656570l

/* The kernel's own files, where a write is a command. */
static bool fs_is_pseudo(long type)
{
	static const long pseudo[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, SECURITYFS_MAGIC,
		CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC, SELINUX_MAGIC,
		CONFIGFS_MAGIC, PSTOREFS_MAGIC, EFIVARFS_MAGIC,
	};

	for (unsigned int i = 0; i < sizeof(pseudo) / sizeof(pseudo[0]); i++)
		if (type == pseudo[i])
			return true;
	return false;
}

static int dest_refuse(struct reason *why)
{
	return deny(why, -EBADF, "a log is written to a file, a pipe, a socket or a terminal, not "
		    "to a device or a file of the kernel");
}

static int dest_check_file(int fd, struct logdest *dest, struct reason *why)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return deny(why, -EBADF, "the log's descriptor is of no use: %m");
	if (fs_is_pseudo(fs.f_type))
		return dest_refuse(why);
	if (!file_system_is_local(fs.f_type))
		return deny(why, -EXDEV, "the log is on a file system of type 0x%lx, where a write "
			    "may wait for a program or another machine (overlay, FUSE, NFS …); "
			    "choose a local one, or write the file yourself: "
			    "pmcstat -O - ... | cat >log",
			    (unsigned long)fs.f_type);
	dest->kind = LOGDEST_FILE;
	return 0;
}

static int socket_option(int fd, int name)
{
	socklen_t len = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) ? -1 : value;
}

/* A log is one stream: a datagram may be lost or too long, and the log would not show it. */
static int dest_check_socket(int fd, struct logdest *dest, struct reason *why)
{
	int domain = socket_option(fd, SO_DOMAIN), type = socket_option(fd, SO_TYPE);
	int protocol = socket_option(fd, SO_PROTOCOL);

	if (domain == AF_UNIX && (type == SOCK_STREAM || type == SOCK_SEQPACKET)) {
		dest->kind = LOGDEST_UNIX;
		return 0;
	}
	if ((domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM &&
	    (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP)) {
		dest->kind = LOGDEST_TCP;
		return 0;
	}
	return deny(why, -EBADF, "a log is written to a connected socket of TCP or AF_UNIX, not to "
		    "one of family %d and type %d", domain, type);
}

static int dest_check_device(int fd, dev_t device, struct logdest *dest, struct reason *why)
{
	if (device == makedev(1, 3) || device == makedev(1, 7))
		dest->kind = LOGDEST_NULL;
	else if (isatty(fd))
		dest->kind = LOGDEST_TERMINAL;
	else
		return dest_refuse(why);
	return 0;
}

int logdest_check(int fd, struct logdest *dest, struct reason *why)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY)
		return deny(why, -EBADF, "the log's descriptor is not open for writing");
	if (fstat(fd, &st))
		return deny(why, -EBADF, "the log's descriptor is of no use: %m");
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return dest_check_file(fd, dest, why);
	case S_IFSOCK:
		return dest_check_socket(fd, dest, why);
	case S_IFCHR:
		return dest_check_device(fd, st.st_rdev, dest, why);
	case S_IFIFO:
		dest->kind = LOGDEST_PIPE;
		return 0;
	default:
		return dest_refuse(why);
	}
}
