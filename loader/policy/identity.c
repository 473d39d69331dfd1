/* SPDX-License-Identifier: BSD-2-Clause */
/* See identity.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "identity.h"
#include "lib/base/number.h"
#include "loader/base/base.h"

#define STATUS_MAX (1024u * 1024)	/* bytes: 65536 groups of 11 characters are the most */
#define LIMITS_MAX 4096

/* setfsuid(2) and its like take 16-bit ids elsewhere. */
_Static_assert(sizeof(long) == 8, "64-bit systems only");

enum { STATUS_REAL, STATUS_EFFECTIVE, STATUS_SAVED, STATUS_FILESYSTEM, STATUS_IDS };

/* --- from /proc ------------------------------------------------------------------------------- */

/* The numbers of a line, at most `max`; returns how many the line has. */
static unsigned int status_numbers(const char *text, const char *name, unsigned int *to,
				   unsigned int max)
{
	const char *p = strstr(text, name);
	unsigned int n = 0;
	uint64_t value;

	for (p = p ? p + strlen(name) : ""; !number_read(&p, 10, UINT32_MAX, &value); n++) {
		if (n < max)
			to[n] = (unsigned int)value;
		p += strspn(p, " \t");
	}
	return n;
}

/* "Max file size             4096                 unlimited            bytes" */
static bool limits_parse(const char *limits, uint64_t *limit)
{
	static const char name[] = "\nMax file size";
	const char *p = strstr(limits, name);

	if (!p)
		return false;
	p += sizeof(name) - 1;
	p += strspn(p, " ");
	if (number_read(&p, 10, UINT64_MAX, limit))
		*limit = UINT64_MAX;
	return true;
}

static int identity_parse(const char *status, const char *limits, struct identity **out)
{
	unsigned int uid[STATUS_IDS], gid[STATUS_IDS], n;
	struct identity *id;

	if (status_numbers(status, "\nUid:\t", uid, STATUS_IDS) != STATUS_IDS ||
	    status_numbers(status, "\nGid:\t", gid, STATUS_IDS) != STATUS_IDS)
		return -ESRCH;
	n = status_numbers(status, "\nGroups:\t", NULL, 0);
	id = malloc(sizeof(*id) + n * sizeof(id->groups[0]));
	if (!id)
		return -ENOMEM;
	id->uid = uid[STATUS_FILESYSTEM];
	id->gid = gid[STATUS_FILESYSTEM];
	id->sender = (struct ucred){ .pid = getpid(), .uid = uid[STATUS_REAL],
				     .gid = gid[STATUS_REAL] };
	id->ngroups = status_numbers(status, "\nGroups:\t", id->groups, n);
	if (!limits_parse(limits, &id->file_limit)) {
		free(id);
		return -ESRCH;
	}
	*out = id;
	return 0;
}

/* The whole file: the line of groups may be long. */
static int status_read(int dir, char *text)
{
	int fd = openat(dir, "status", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -ESRCH;
	while (used < STATUS_MAX - 1 && (n = read(fd, text + used, STATUS_MAX - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(fd);
	return n < 0 ? -ESRCH : 0;
}

int identity_read(pid_t pid, struct identity **out)
{
	char path[32], limits[LIMITS_MAX], *status = malloc(STATUS_MAX);
	int dir, err = -ESRCH;

	if (!status)
		return -ENOMEM;
	/* The descriptor stays with the process, even if its number is used again. */
	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && !status_read(dir, status) &&
	    file_read(dir, "limits", limits, sizeof(limits)) > 0)
		err = identity_parse(status, limits, out);
	if (dir >= 0)
		close(dir);
	free(status);
	return err;
}

/* --- in the thread: system calls only, because the C library changes all threads -------------- */

/* True if setgroups(2), which may be forbidden, is not needed. */
static bool identity_has_groups(const struct identity *id)
{
	bool same = false;
	gid_t *now;

	if (syscall(SYS_getgroups, 0, NULL) != (long)id->ngroups)
		return false;
	now = malloc((id->ngroups + 1) * sizeof(*now));
	if (now && syscall(SYS_getgroups, id->ngroups, now) == (long)id->ngroups)
		same = !memcmp(now, id->groups, id->ngroups * sizeof(*now));
	free(now);
	return same;
}

/* These calls return the previous id and no error; -1 changes nothing. */
static bool identity_set_id(long call, unsigned int id)
{
	(void)syscall(call, id);
	return (unsigned int)syscall(call, -1) == id;
}

static uint32_t cap_bit(int cap)
{
	return 1u << cap;
}

static bool identity_drop_capabilities(bool sender)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	uint32_t keep = sender ? cap_bit(CAP_SETUID) | cap_bit(CAP_SETGID) : 0;
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return false;
	keep &= d[0].permitted;
	memset(d, 0, sizeof(d));
	d[0].permitted = d[0].effective = keep;
	return syscall(SYS_capset, &h, d) == 0;
}

int identity_take_on(const struct identity *id, bool sender, const char **call)
{
	*call = "setgroups";
	if (!identity_has_groups(id) && syscall(SYS_setgroups, id->ngroups, id->groups))
		return -errno;
	*call = "setfsgid";
	if (!identity_set_id(SYS_setfsgid, id->gid))
		return -EPERM;
	*call = "setfsuid";
	if (!identity_set_id(SYS_setfsuid, id->uid))
		return -EPERM;
	*call = "capset";
	return identity_drop_capabilities(sender) ? 0 : -errno;
}
