/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc for mappings, processes, and the kernel's own addresses. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "buildid.h"
#include "clock.h"
#include "file.h"
#include "mappings.h"
#include "ring.h"

#define KERNEL_PID (-1)

static void map_in(struct logfile *l, pid_t pid, uint64_t start, const char *path,
		   const struct buildid *id)
{
	struct pmclog_ev ev;
	size_t len = strlen(path);

	if (len > LOGREC_PATH - 1)
		len = LOGREC_PATH - 1;
	ev.pl_type = PMCLOG_TYPE_MAP_IN;
	ev.pl_u.pl_mi.pl_pid = pid;
	ev.pl_u.pl_mi.pl_start = start;
	memcpy(ev.pl_u.pl_mi.pl_pathname, path, len);
	ev.pl_u.pl_mi.pl_pathname[len] = '\0';
	ev.pl_u.pl_mi.pl_buildidlen = id->len;
	memcpy(ev.pl_u.pl_mi.pl_buildid, id->id, id->len);
	(void)logfile_put(l, clock_ns(), &ev);
}

/* The one character that the kernel writes in octal, because a line ends there. */
static void unescape(char *path)
{
	for (char *p = path; (p = strstr(p, "\\012")); p++) {
		*p = '\n';
		memmove(p + 1, p + 4, strlen(p + 4) + 1);
	}
}

/* What has been asked already: most processes have the same files. */
struct known {
	uint64_t ino;
	unsigned int major, minor;
	struct buildid id;
};
#define KNOWN 256u

/* A line of /proc/PID/maps, "start-end perms offset dev inode   path". */
struct line {
	uint64_t start, end, offset, ino;
	unsigned int major, minor;
	char perms[5];
};

/*
 * Is the file system another machine's, or a program's, that may never answer?  Those have no
 * device of their own, as many harmless ones; asked without touching it.
 */
static bool is_remote(pid_t pid, const struct line *m)
{
	static const char *const types[] = { " - nfs", " - cifs", " - smb3", " - fuse", " - 9p",
					     " - ceph", " - afs", " - virtiofs" };
	char path[32], *text = NULL;
	bool remote = false;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	f = m->major ? NULL : fopen(path, "re");
	while (f && !remote && getline(&text, &size, f) > 0) {
		unsigned int major, minor;

		if (sscanf(text, "%*d %*d %u:%u", &major, &minor) != 2 || major != m->major ||
		    minor != m->minor)
			continue;
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			remote |= strstr(text, types[i]) != NULL;
	}
	free(text);
	if (f)
		fclose(f);
	return remote;
}

static const struct buildid *id_of(struct known *known, pid_t pid, const struct line *m)
{
	struct known *k = &known[m->ino % KNOWN];
	char path[80];

	if (k->ino == m->ino && k->major == m->major && k->minor == m->minor)
		return &k->id;
	*k = (struct known){ .ino = m->ino, .major = m->major, .minor = m->minor };
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
		 m->end);
	if (m->ino && !is_remote(pid, m))
		buildid_of_file(&k->id, path);
	return &k->id;
}

static void map_line(struct logfile *l, struct known *known, pid_t pid, char *text)
{
	struct buildid vdso;
	struct line m;
	int at = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m.start,
		   &m.end, m.perms, &m.offset, &m.major, &m.minor, &m.ino, &at) < 7 ||
	    !at || m.perms[2] != 'x')
		return;
	unescape(text + at);
	if (text[at] == '/')
		map_in(l, pid, m.start - m.offset, text + at, id_of(known, pid, &m));
	if (strcmp(text + at, "[vdso]"))
		return;
	buildid_of_vdso(&vdso, m.start);
	map_in(l, pid, m.start, text + at, &vdso);
}

static void maps_of(struct logfile *l, struct known *known, pid_t pid)
{
	char path[32], *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return;			/* it has exited */
	while (getline(&line, &size, f) > 0)
		map_line(l, known, pid, line);
	free(line);
	fclose(f);
}

void mappings_of_process(struct logfile *l, pid_t pid)
{
	struct known known[KNOWN] = { 0 };

	maps_of(l, known, pid);
}

/* --- everybody ------------------------------------------------------------------------------- */

static void threads_of(struct logfile *l, pid_t pid)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_THR_CREATE };
	char path[64];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		ev.pl_u.pl_tc.pl_tid = atoi(d->d_name);
		ev.pl_u.pl_tc.pl_pid = pid;
		snprintf(path, sizeof(path), "/proc/%d/task/%.12s/comm", pid, d->d_name);
		(void)file_line(path, ev.pl_u.pl_tc.pl_tdname, PMCLOG_COMM);
		(void)logfile_put(l, clock_ns(), &ev);
	}
	if (dir)
		closedir(dir);
}

static void process(struct logfile *l, struct known *known, pid_t pid)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_PROC_CREATE };
	char path[32];

	ev.pl_u.pl_pc.pl_pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	(void)file_line(path, ev.pl_u.pl_pc.pl_pcomm, PMCLOG_COMM);
	(void)logfile_put(l, clock_ns(), &ev);
	threads_of(l, pid);
	maps_of(l, known, pid);
}

void mappings_of_all(struct logfile *l)
{
	struct known known[KNOWN] = { 0 };
	DIR *dir = opendir("/proc");
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			process(l, known, atoi(d->d_name));
	if (dir)
		closedir(dir);
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* The image with symbols if there is one, else the name that stands for /proc/kallsyms. */
static void kernel_path(char *path, size_t size)
{
	static const char *const places[] = {
		"/usr/lib/debug/boot/vmlinux-%s", "/usr/lib/debug/lib/modules/%s/vmlinux",
		"/lib/modules/%s/build/vmlinux", "/boot/vmlinux-%s",
	};
	struct utsname u;

	for (unsigned int i = 0; !uname(&u) && i < sizeof(places) / sizeof(places[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, size, places[i], u.release);
#pragma GCC diagnostic pop
		if (!access(path, R_OK))
			return;
	}
	snprintf(path, size, "[kernel.kallsyms]");
}

static uint64_t kernel_start(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	uint64_t address = 0, start = 0;
	char line[512], name[256];

	while (f && !start && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) == 2 &&
		    (!strcmp(name, "_stext") || !strcmp(name, "_text")))
			start = address;
	if (f)
		fclose(f);
	return start;
}

/* "name size refs users state address"; 0 where addresses are hidden. */
static void modules(struct logfile *l)
{
	FILE *f = fopen("/proc/modules", "re");
	char line[4096], name[64], path[128];
	struct buildid id;
	uint64_t address;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %*s %*s %*s %*s %" SCNx64, name, &address) == 2 && address) {
			snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id",
				 name);
			buildid_of_notes_file(&id, path);
			snprintf(path, sizeof(path), "[%s]", name);
			map_in(l, KERNEL_PID, address, path, &id);
		}
	if (f)
		fclose(f);
}

bool mappings_of_kernel(struct logfile *l)
{
	char path[512];
	uint64_t start = kernel_start();
	struct buildid id;

	/* Nothing is better than a wrong address. */
	if (!start)
		return false;
	kernel_path(path, sizeof(path));
	buildid_of_notes_file(&id, "/sys/kernel/notes");
	map_in(l, KERNEL_PID, start, path, &id);
	modules(l);
	return true;
}
