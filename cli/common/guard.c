/* SPDX-License-Identifier: BSD-2-Clause */
/* Refusing to replace files: see guard.h. */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pmclog.h>
#include <sys/ktr_region.h>

#include "guard.h"
#include "msg.h"

/* Does the file begin with a log's first record? */
static bool fd_is_log(int fd)
{
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	void *parser = pmclog_open(fd);
	bool log = ev && parser && lseek(fd, 0, SEEK_SET) == 0 && pmclog_read(parser, ev) == 0 &&
		   ev->pl_type == PMCLOG_TYPE_INITIALIZE;

	pmclog_close(parser);
	free(ev);
	return log;
}

static bool fd_is_trace(int fd)
{
	char magic[sizeof(KTR_REGION_MAGIC)];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       memcmp(magic, KTR_REGION_MAGIC, sizeof(magic)) == 0;
}

/* Names the file's kind if it cannot be made again; else NULL. */
static const char *fd_find_kind(int fd)
{
	Elf64_Ehdr elf;		/* the type is where Elf32_Ehdr has it */

	if (fd_is_log(fd))
		return "a log";
	if (fd_is_trace(fd))
		return "a trace";
	if (pread(fd, &elf, sizeof(Elf32_Ehdr), 0) < (ssize_t)sizeof(Elf32_Ehdr) ||
	    memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0)
		return NULL;
	return elf.e_type == ET_CORE ? "a core dump" : "a program";
}

/* A link of another user: output_create() refuses it, so its target is not opened here. */
static bool link_is_strange(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && st.st_uid != 0 &&
	       st.st_uid != geteuid();
}

int guard_output(const char *path, enum guard guard)
{
	const char *kind = NULL;
	struct stat st;
	int fd, code = 0;

	/* Opening a device could have an effect. */
	if (link_is_strange(path) || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return 0;
	fd = st.st_size ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (fd < 0)
		return 0;	/* empty, or output_create() reports why it cannot be opened */
	if (guard == GUARD_LOG && !fd_is_log(fd))
		code = fail(EX_CANTCREAT, "ERROR: \"%s\" is no log and is not overwritten: name "
			    "another file, or remove it", path);
	else if (guard == GUARD_TRACE && !fd_is_trace(fd))
		code = fail(EX_CANTCREAT, "ERROR: \"%s\" is no trace and is not overwritten: name "
			    "another file, or remove it", path);
	else if (guard == GUARD_TEXT && (kind = fd_find_kind(fd)))
		code = fail(EX_CANTCREAT, "ERROR: \"%s\" is %s and is not overwritten: name "
			    "another file to write to, or remove it", path, kind);
	close(fd);
	return code;
}

static bool file_is_same(const char *path, const struct stat *in)
{
	struct stat out;

	return stat(path, &out) == 0 && S_ISREG(in->st_mode) && in->st_dev == out.st_dev &&
	       in->st_ino == out.st_ino;
}

static int guard_refuse_input(const char *path, const char *what)
{
	return fail(EX_USAGE, "ERROR: \"%s\" is the %s that is read; write to another file", path,
		    what);
}

int guard_second(const char *path, const char *first)
{
	struct stat st;
	bool same;

	if (!first)
		return 0;
	same = stat(path, &st) == 0 ? file_is_same(first, &st) : strcmp(path, first) == 0;
	if (!same)
		return 0;
	return fail(EX_USAGE, "ERROR: two outputs go to \"%s\": name a file for each", path);
}

int guard_input(const char *path, int input, const char *what)
{
	struct stat in;

	return fstat(input, &in) == 0 && file_is_same(path, &in) ?
		       guard_refuse_input(path, what) : 0;
}

int guard_input_file(const char *path, const char *input, const char *what)
{
	struct stat in;

	if (input && strcmp(input, "-") == 0)
		return guard_input(path, STDIN_FILENO, what);
	return input && stat(input, &in) == 0 && file_is_same(path, &in) ?
		       guard_refuse_input(path, what) : 0;
}
