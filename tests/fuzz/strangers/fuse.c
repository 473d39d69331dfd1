/* SPDX-License-Identifier: BSD-2-Clause */
/* A file system on /dev/fuse that never answers one kind of request for each of its files. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "strangers.h"

#define FIRST 2u			/* node of the first file; 1 is the root */
#define SIZE  65536u

static const struct {
	const char *name;
	uint32_t silent;		/* the operation that is never answered */
} files[] = {
	{ "flush", FUSE_FLUSH }, { "read", FUSE_READ }, { "write", FUSE_WRITE },
	{ "stat", FUSE_GETATTR }, { "open", FUSE_OPEN },
};
#define FILES (sizeof(files) / sizeof(files[0]))

static pid_t server;

pid_t fuse_server(void)
{
	return server;
}

static void attributes(struct fuse_attr *a, uint64_t node)
{
	memset(a, 0, sizeof(*a));
	a->ino = node;
	a->nlink = 1;
	a->mode = node == 1 ? S_IFDIR | 0777 : S_IFREG | 0777;
	a->size = node == 1 ? 0 : SIZE;
	a->blocks = a->size / 512;
	a->blksize = 4096;
}

static void answer(int dev, const struct fuse_in_header *in, int err, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + len), .error = -err,
				       .unique = in->unique };
	struct iovec iov[2] = { { &out, sizeof(out) }, { (void *)data, len } };

	if (writev(dev, iov, len ? 2 : 1) < 0 && errno != ENOENT)
		_exit(1);
}

static void init(int dev, const struct fuse_in_header *in, const struct fuse_init_in *asked)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = asked->max_readahead, .max_background = 1000,
		.congestion_threshold = 1000, .max_write = 65536,
	};

	if (asked->minor < out.minor)
		out.minor = asked->minor;
	answer(dev, in, 0, &out, sizeof(out));
}

static void lookup(int dev, const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out e = { .entry_valid = 3600 };

	for (unsigned int i = 0; i < FILES; i++) {
		if (strcmp(name, files[i].name))
			continue;
		e.nodeid = FIRST + i;
		/* Short validity makes the kernel ask again. */
		e.attr_valid = files[i].silent == FUSE_GETATTR ? 0 : 3600;
		attributes(&e.attr, e.nodeid);
		answer(dev, in, 0, &e, sizeof(e));
		return;
	}
	answer(dev, in, ENOENT, NULL, 0);
}

static void serve(int dev, const struct fuse_in_header *in, const void *arg)
{
	static const char zeroes[SIZE];
	struct fuse_attr_out attr = { .attr_valid = in->nodeid == 1 ? 3600 : 0 };
	struct fuse_open_out open_out = { .open_flags = FOPEN_KEEP_CACHE };
	struct fuse_statfs_out statfs_out = { .st = { .bsize = 4096, .namelen = 255 } };
	const struct fuse_read_in *r = arg;
	const struct fuse_write_in *w = arg;
	struct fuse_write_out written;

	if (in->nodeid >= FIRST && in->nodeid < FIRST + FILES &&
	    files[in->nodeid - FIRST].silent == in->opcode)
		return;
	switch (in->opcode) {
	case FUSE_INIT:
		init(dev, in, arg);
		break;
	case FUSE_LOOKUP:
		lookup(dev, in, arg);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		attributes(&attr.attr, in->nodeid);
		answer(dev, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(dev, in, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		answer(dev, in, 0, zeroes, r->size < SIZE ? r->size : SIZE);
		break;
	case FUSE_WRITE:
		written = (struct fuse_write_out){ .size = w->size };
		answer(dev, in, 0, &written, sizeof(written));
		break;
	case FUSE_READDIR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
	case FUSE_FSYNC:
		answer(dev, in, 0, NULL, 0);
		break;
	case FUSE_FLUSH:
		answer(dev, in, 0, NULL, 0);
		break;
	case FUSE_STATFS:
		answer(dev, in, 0, &statfs_out, sizeof(statfs_out));
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(dev, in, ENOSYS, NULL, 0);
	}
}

static void serve_all(int dev)
{
	static union {
		struct fuse_in_header h;
		char room[SIZE * 4];
	} in;

	for (;;) {
		ssize_t n = read(dev, &in, sizeof(in));

		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n < (ssize_t)sizeof(in.h))
			_exit(0);
		serve(dev, &in.h, &in.h + 1);
	}
}

bool fuse_mount(void)
{
	char at[96], options[128];
	int dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (dev < 0)
		return false;
	snprintf(at, sizeof(at), "%s/fuse", stage->dir);
	mkdir(at, 0755);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40777,user_id=0,group_id=0,allow_other",
		 dev);
	if (mount("strangers", at, "fuse", MS_NOSUID | MS_NODEV, options)) {
		close(dev);
		return false;
	}
	server = crew_fork();
	if (server == 0)
		serve_all(dev);
	/* The connection must end with the server. */
	close(dev);
	return true;
}

bool fuse_overlay(void)
{
	char at[96], lower[96], options[300];

	if (!fuse_mount())
		return false;
	snprintf(at, sizeof(at), "%s/over", stage->dir);
	snprintf(lower, sizeof(lower), "%s/lower", stage->dir);
	mkdir(at, 0755);
	mkdir(lower, 0755);
	snprintf(options, sizeof(options), "lowerdir=%s:%s/fuse", lower, stage->dir);
	return !mount("strangers", at, "overlay", MS_NOSUID | MS_NODEV, options);
}

void fuse_end(void)
{
	char at[96];

	if (server)
		crew_kill(server);
	server = 0;
	snprintf(at, sizeof(at), "%s/over", stage->dir);
	umount2(at, MNT_DETACH);
	snprintf(at, sizeof(at), "%s/fuse", stage->dir);
	umount2(at, MNT_DETACH);
}
