/* SPDX-License-Identifier: BSD-2-Clause */
/* See raise.h; handlers and masks are read from /proc. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "raise.h"

/*
 * The C library's own signals, which no program can block: a thread that blocks them, too, is in
 * the middle of a fork or the like, and does not wait for a signal.
 */
#define LIBRARY_SIGNALS (1ull << (32 - 1) | 1ull << (33 - 1))

struct masks {
	uint64_t caught, ignored, blocked;
};

static uint64_t masks_line(const char *status, const char *name)
{
	const char *p = strstr(status, name);

	return p ? strtoull(p + strlen(name), NULL, 16) : 0;
}

static bool masks_read(const char *path, struct masks *m)
{
	char text[4096];

	if (file_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	m->caught = masks_line(text, "\nSigCgt:\t");
	m->ignored = masks_line(text, "\nSigIgn:\t");
	m->blocked = masks_line(text, "\nSigBlk:\t");
	return true;
}

static bool threads_block(pid_t pid, uint64_t bit)
{
	char path[300];
	struct dirent *d;
	struct masks m;
	bool all = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (all && (d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, d->d_name);
		/* A thread that has exited meanwhile takes no signal. */
		if (masks_read(path, &m))
			all = m.blocked & bit && (m.blocked & LIBRARY_SIGNALS) != LIBRARY_SIGNALS;
	}
	closedir(dir);
	return all;
}

static bool masks_of(pid_t pid, struct masks *m)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return masks_read(path, m);
}

bool raise_handled(pid_t pid, int signo)
{
	struct masks m;

	return masks_of(pid, &m) && m.caught >> (signo - 1) & 1;
}

bool raise_wanted(pid_t pid, int signo)
{
	uint64_t bit = 1ull << (signo - 1);
	struct masks m;

	if (!masks_of(pid, &m) || m.ignored & bit)
		return false;
	return m.caught & bit || threads_block(pid, bit);
}

void raise_signal(const struct owner *o, int signo)
{
	if (o->signals_known ? o->signals >> (signo - 1) & 1 : raise_wanted(o->cred.pid, signo))
		(void)syscall(SYS_pidfd_send_signal, o->pidfd, signo, NULL, 0);
}
