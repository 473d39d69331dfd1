/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that a process has compiled itself: /tmp/perf-PID.map, lines of START SIZE NAME in hex, or a
 * jitdump (jitdump.c) that the process has mapped.  The process may still be writing: if an address
 * is not found, new lines are read.  /tmp is open to all users, so the file must belong to the user
 * of the process, to us or to root.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/number.h"
#include "object.h"

#define MAP_MOST  (1u << 30)	/* bytes */
#define NAME_MOST 4096u

/* The state of reading the file. */
struct jit {
	char root[32];		/* of the process; "" if it has ended */
	const char *path;	/* of the map, below `root` … */
	char room[32];		/* … if it is no jitdump */
	bool dump;
	uid_t user;		/* of the process, or ours */
	ino_t ino;
	struct timespec mtime;
	off_t size, done;
	uint64_t bad;		/* malformed lines */
};

static const char *jit_root(const struct object *o)
{
	return *o->jit->root ? o->jit->root : o->symbols->config.root;
}

/* -errno, or the descriptor of a map of a trusted user. */
static int jit_open_map(struct object *o, struct stat *st)
{
	const char *root = jit_root(o);
	int fd = file_open_itself(root, o->jit->path);

	if (fd < 0)
		return fd;
	if (fstat(fd, st) == 0 && (st->st_uid == o->jit->user || st->st_uid == geteuid() ||
				   st->st_uid == 0))
		return fd;
	if (o->image.state != IMAGE_BAD)
		object_state(o, IMAGE_BAD, "%s%s belongs to user %u, not to that of the process, "
			     "to you or to root", root ? root : "", o->jit->path,
			     (unsigned int)st->st_uid);
	close(fd);
	return -EPERM;
}

/* A line without its end. */
static int jit_add_line(struct object *o, char *line)
{
	const char *at = line;
	uint64_t start, size;
	char *name;

	if (number_read(&at, 16, UINT64_MAX, &start) || *at++ != ' ' ||
	    number_read(&at, 16, UINT64_MAX, &size) || *at++ != ' ' || !size ||
	    start + size < start || !*at)
		goto bad;
	name = line + (at - line);
	if (strlen(name) > NAME_MOST)
		name[NAME_MOST] = '\0';
	name = arena_string(&o->symbols->arena, name);
	if (!name)
		return -ENOMEM;
	/* Newer code replaces older code at the same address. */
	return entries_add(&o->names, (struct entry){ .name = name, .start = start, .size = size },
			   start + size, (uint32_t)o->names.n);
bad:
	o->jit->bad++;
	return 0;
}

/* The last line may be incomplete: it is read again when there is more. */
static int jit_add_lines(struct object *o, char *text, size_t len)
{
	char *line = text, *end;
	int err = 0;

	for (; !err && line < text + len; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + len - line));
		if (!end) {
			err = jit_add_line(o, line);
			break;
		}
		*end = '\0';
		err = jit_add_line(o, line);
	}
	o->jit->done += line - text;
	return err ? err : spans_sort(&o->names.spans);
}

static int jit_read_map(struct object *o, int fd, const struct stat *st)
{
	struct jit *j = o->jit;
	size_t len = 0, room;
	ssize_t n = 1;
	char *text;
	int err;

	room = st->st_size - j->done > MAP_MOST ? MAP_MOST : (size_t)(st->st_size - j->done);
	text = malloc(room + 1);
	if (!text)
		return -ENOMEM;
	while (len < room && n > 0) {
		n = pread(fd, text + len, room - len, j->done + (off_t)len);
		len += n > 0 ? (size_t)n : 0;
	}
	text[len] = '\0';
	err = jit_add_lines(o, text, len);
	free(text);
	return err;
}

static int jit_read(struct object *o, int fd, const struct stat *st)
{
	struct jit *j = o->jit;
	int err;

	if (st->st_ino != j->ino || st->st_size < j->done) {
		entries_free(&o->names);
		j->done = 0;
		j->bad = 0;
	}
	err = j->dump ? jitdump_read(o, fd, st->st_size, &j->done, &j->bad) :
			jit_read_map(o, fd, st);
	j->ino = st->st_ino;
	j->size = st->st_size;
	j->mtime = st->st_mtim;
	o->generation++;
	return err;
}

bool jit_refresh(struct object *o)
{
	struct jit *j = o->jit;
	const char *root = jit_root(o);
	bool changed = false;
	struct stat st;
	int fd = jit_open_map(o, &st);

	if (fd < 0)
		return false;
	if (!j->ino || st.st_ino != j->ino || st.st_size != j->size ||
	    st.st_mtim.tv_sec != j->mtime.tv_sec || st.st_mtim.tv_nsec != j->mtime.tv_nsec) {
		changed = jit_read(o, fd, &st) == 0;
		o->image.state = IMAGE_OPEN;
		o->image.why = NULL;
		if (j->bad)
			object_state(o, o->names.n ? IMAGE_OPEN : IMAGE_BAD, "%s%s: %" PRIu64
				     "%s", root ? root : "", j->path, j->bad,
				     j->dump ? " records are not a jitdump's" :
					       " lines are not START SIZE NAME");
	}
	close(fd);
	return changed;
}

struct entry *jit_find(struct object *o, uint64_t address)
{
	struct entry *e = entries_find(&o->names, address);

	return e || !jit_refresh(o) ? e : entries_find(&o->names, address);
}

/* The pid of the process in its own pid namespace. */
static pid_t pid_innermost(pid_t pid)
{
	char path[32], line[512];
	const char *last;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "NSpid:", 6) == 0 && (last = strrchr(line, '\t')))
			pid = (pid_t)atoi(last + 1);
	if (f)
		fclose(f);
	return pid;
}

/* With -r the log is from another machine: a process here with that pid is another one. */
static void jit_locate(struct object *o, pid_t pid)
{
	const char *root = o->symbols->config.root;
	struct jit *j = o->jit;
	struct stat st;

	j->user = geteuid();
	snprintf(j->room, sizeof(j->room), "/proc/%d", (int)pid);
	if ((!root || !*root) && stat(j->room, &st) == 0) {
		j->user = st.st_uid;
		snprintf(j->root, sizeof(j->root), "/proc/%d/root", (int)pid);
		pid = pid_innermost(pid);
	}
	snprintf(j->room, sizeof(j->room), "/tmp/perf-%d.map", (int)pid);
	j->dump = jitdump_path(o->image.path);
	j->path = j->dump ? o->image.path : j->room;
}

int jit_open(struct object *o, pid_t pid)
{
	struct stat st;
	int fd;

	if (!o->jit) {
		o->jit = arena_alloc(&o->symbols->arena, sizeof(*o->jit));
		if (!o->jit)
			return -ENOMEM;
		o->kind = OBJECT_JIT;
		jit_locate(o, pid);
	}
	if (o->jit->ino)
		return 0;
	fd = jit_open_map(o, &st);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}
