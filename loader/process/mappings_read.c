/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc for processes, threads and mappings.  Runs in a helper: all of this may hang. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "loader/log/log.h"
#include "mappings_read.h"

#define KNOWN	  256u
#define DEVICES	  256u

/* An entry of a part; the name and its NUL follow, then zeros up to a multiple of 8. */
struct part_entry {
	uint32_t size;			/* of the whole entry */
	uint32_t what;			/* enum mapping_what */
	int32_t pid, tid;
	uint64_t start;
	uint32_t name_len;
	uint8_t id_len, id[PMCLOG_BUILDID_MAX];
};

bool mappings_read_next(const uint8_t *data, size_t len, size_t *at, struct mapping *m)
{
	struct part_entry e;

	if (len - *at < sizeof(e))
		return false;
	memcpy(&e, data + *at, sizeof(e));
	if (e.size > len - *at || e.size < sizeof(e) || e.name_len >= e.size - sizeof(e))
		return false;
	*m = (struct mapping){
		.what = e.what, .pid = e.pid, .tid = e.tid, .start = e.start,
		.name = (const char *)data + *at + sizeof(e),
	};
	buildid_set(&m->id, e.id, e.id_len);
	*at += e.size;
	return true;
}

/* Files with known build ids: most processes map the same ones. */
struct known {
	uint64_t ino;
	unsigned int major, minor;
	struct buildid id;
};

/* Devices without a disk, and whether their file systems may be read. */
struct device {
	unsigned int major, minor;
	bool local;
};

struct reader {
	const struct helper_call *call;
	struct mappings_request q;
	uint32_t entries;		/* so far */
	int err;
	struct known known[KNOWN];
	uint64_t mounts_of;		/* mount namespace of `device` */
	struct device device[DEVICES];
	uint8_t part[HELPER_MAX_PART];
	size_t len;
};

static void reader_flush(struct reader *r)
{
	if (r->len && !r->err)
		r->err = helper_emit(r->call, r->part, r->len, NULL, 0);
	r->len = 0;
}

static void reader_put(struct reader *r, const struct mapping *m)
{
	char name[LOGREC_PATH];
	size_t name_len = logrec_path(name, m->name, sizeof(name));
	struct part_entry e = {
		.size = (uint32_t)((sizeof(e) + name_len + 1 + 7) / 8 * 8), .what = m->what,
		.pid = m->pid, .tid = m->tid, .start = m->start, .name_len = (uint32_t)name_len,
		.id_len = m->id.len,
	};

	if (r->entries++ < r->q.from)
		return;
	memcpy(e.id, m->id.id, m->id.len);
	if (sizeof(r->part) - r->len < e.size)
		reader_flush(r);
	memset(r->part + r->len, 0, e.size);
	memcpy(r->part + r->len, &e, sizeof(e));
	memcpy(r->part + r->len + sizeof(e), name, name_len);
	r->len += e.size;
}

/* --- files ---------------------------------------------------------------------------------- */

/* A line of /proc/PID/maps, "start-end perms offset dev inode   path". */
struct maps_line {
	uint64_t start, end, offset, ino;
	unsigned int major, minor;
	char perms[5];
};

static struct device *device_find(struct reader *r, unsigned int major, unsigned int minor)
{
	return &r->device[(major * 31 + minor) % DEVICES];
}

/*
 * A file system without a device may depend on another machine or a program; these types are known
 * to be local, and files on all others are not opened.
 */
static bool mount_is_local(const char *mount)
{
	static const char *const types[] = { " - btrfs ", " - overlay ", " - tmpfs ", " - ramfs ",
					     " - zfs ", " - bcachefs ", " - hugetlbfs ",
					     " - rootfs " };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strstr(mount, types[i]))
			return true;
	return false;
}

/* Shared memory without a name and memfds are files of a mount that no process sees. */
static void memory_mount_read(struct reader *r)
{
	int fd = memfd_create("mount", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && !major(st.st_dev))
		*device_find(r, 0, minor(st.st_dev)) =
			(struct device){ 0, minor(st.st_dev), true };
	close(fd);
}

/* The mounts of a process's namespace, read once for consecutive processes in it. */
static void mounts_read(struct reader *r, pid_t pid)
{
	char path[48], *text = NULL;
	size_t size = 0;
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	if (stat(path, &st) || st.st_ino == r->mounts_of)
		return;
	r->mounts_of = st.st_ino;
	memset(r->device, 0, sizeof(r->device));
	memory_mount_read(r);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	f = fopen(path, "re");
	while (f && getline(&text, &size, f) > 0) {
		unsigned int major, minor;

		if (sscanf(text, "%*d %*d %u:%u", &major, &minor) != 2 || major)
			continue;
		*device_find(r, major, minor) =
			(struct device){ major, minor, mount_is_local(text) };
	}
	free(text);
	if (f)
		fclose(f);
}

static bool line_may_read(struct reader *r, pid_t pid, const struct maps_line *m)
{
	const struct device *d;

	if (!m->ino || r->q.without_ids)
		return false;
	if (m->major)
		return true;
	mounts_read(r, pid);
	d = device_find(r, m->major, m->minor);
	return d->local && d->major == m->major && d->minor == m->minor;
}

static const struct buildid *line_buildid(struct reader *r, pid_t pid, const struct maps_line *m)
{
	struct known *k = &r->known[m->ino % KNOWN];
	char path[80];

	if (k->ino == m->ino && k->major == m->major && k->minor == m->minor)
		return &k->id;
	*k = (struct known){ .ino = m->ino, .major = m->major, .minor = m->minor };
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
		 m->end);
	if (r->entries >= r->q.from && line_may_read(r, pid, m)) {
		/* The file may hang: deliver earlier entries first. */
		reader_flush(r);
		buildid_of_file(&k->id, path);
	}
	return &k->id;
}

/* The kernel writes a newline, and no other character, in octal. */
static void path_unescape(char *path)
{
	for (char *p = path; (p = strstr(p, "\\012")); p++) {
		*p = '\n';
		memmove(p + 1, p + 4, strlen(p + 4) + 1);
	}
}

/* Splits a line of executable memory; returns where its path begins, 0: it is none. */
static int line_split(char *text, struct maps_line *m)
{
	int at = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start,
		   &m->end, m->perms, &m->offset, &m->major, &m->minor, &m->ino, &at) < 7 ||
	    m->perms[2] != 'x')
		return 0;
	return at;
}

static void line_parse(struct reader *r, pid_t pid, char *text)
{
	struct mapping entry = { .what = MAPPING_FILE, .pid = pid };
	struct maps_line m;
	int at = line_split(text, &m);

	if (!at)
		return;
	path_unescape(text + at);
	entry.name = text + at;
	entry.start = m.start;
	if (text[at] == '/') {
		entry.start -= m.offset;
		entry.id = *line_buildid(r, pid, &m);
	} else if (!strcmp(text + at, "[vdso]")) {
		buildid_of_vdso(&entry.id, m.start);
	} else {
		return;
	}
	reader_put(r, &entry);
}

static void maps_read(struct reader *r, pid_t pid)
{
	char path[32], *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return;			/* it has exited */
	while (!r->err && getline(&line, &size, f) > 0)
		line_parse(r, pid, line);
	free(line);
	fclose(f);
}

/* --- processes ------------------------------------------------------------------------------- */

static void name_read(struct reader *r, enum mapping_what what, pid_t pid, pid_t tid,
		      const char *file)
{
	char name[PMCLOG_COMM];

	(void)file_line(file, name, sizeof(name));
	reader_put(r, &(struct mapping){ .what = what, .pid = pid, .tid = tid, .name = name });
}

static void threads_read(struct reader *r, pid_t pid)
{
	char path[64];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.12s/comm", pid, d->d_name);
		name_read(r, MAPPING_THREAD, pid, atoi(d->d_name), path);
	}
	if (dir)
		closedir(dir);
}

static void process_read(struct reader *r, pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	name_read(r, MAPPING_PROCESS, pid, pid, path);
	threads_read(r, pid);
	maps_read(r, pid);
}

/* A process that is named by its attachment, with the names of its threads. */
static void mappings_read_target(struct reader *r, pid_t pid)
{
	maps_read(r, pid);
	threads_read(r, pid);
}

static void mappings_read_all(struct reader *r)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	while (dir && !r->err && (d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			process_read(r, atoi(d->d_name));
	if (dir)
		closedir(dir);
}

/* --- one file -------------------------------------------------------------------------------- */

/* The link leads to the mapped file itself, in every mount namespace, also if it is deleted. */
static int line_open(struct reader *r, pid_t pid, const struct maps_line *m)
{
	char path[80];
	int fd;

	if (!line_may_read(r, pid, m))
		return -EOPNOTSUPP;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
		 m->end);
	/* A lease is not waited for. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int mappings_read_open(pid_t pid, uint32_t device, uint64_t inode)
{
	struct reader *r = calloc(1, sizeof(*r));
	char path[32], *line = NULL;
	struct maps_line m;
	int fd = -ENOENT;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = r ? fopen(path, "re") : NULL;
	while (f && fd == -ENOENT && getline(&line, &size, f) > 0)
		if (line_split(line, &m) && m.ino == inode &&
		    mappings_device(m.major, m.minor) == device)
			fd = line_open(r, pid, &m);
	free(line);
	if (f)
		fclose(f);
	free(r);
	return fd;
}

int mappings_read_job(struct helper_call *call)
{
	struct reader *r;
	int err;

	if (call->len != sizeof(r->q))
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	memcpy(&r->q, call->arg, sizeof(r->q));
	r->call = call;
	if (r->q.pid == MAPPINGS_OF_ALL)
		mappings_read_all(r);
	else
		mappings_read_target(r, r->q.pid);
	reader_flush(r);
	err = r->err;
	free(r);
	return err;
}
