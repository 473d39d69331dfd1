/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source files, by the names that compilers wrote into debug information: read whole, once, and
 * only if they are regular files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "pmcannotate.h"
#include "cli/common/common.h"

#define SOURCE_MAX (64u << 20)

struct source_file {
	char *name;
	char *text;		/* NULL: cannot be read */
	size_t *lines;		/* where each begins; one more: the end */
	size_t nlines;
	dev_t dev;		/* which file it is, if there is `text` */
	ino_t ino;
};

static int source_open(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && (fstat(fd, st) != 0 || !S_ISREG(st->st_mode) || st->st_size > SOURCE_MAX)) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

/* Below --source: the recorded name, else the longest end of it that is a file's path. */
static int source_find(const struct sources *s, const char *name, struct stat *st)
{
	int fd = -1;

	if (!s->dir)
		return source_open(name, st);
	for (const char *tail = name; fd < 0 && tail; tail = strchr(tail, '/')) {
		char *path = NULL;

		tail += strspn(tail, "/");
		if (asprintf(&path, "%s/%s", s->dir, tail) < 0) {
			errno = ENOMEM;
			return -1;
		}
		fd = source_open(path, st);
		free(path);
	}
	return fd;
}

static bool source_read(int fd, char *text, size_t size)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < size && n > 0) {
		n = read(fd, text + done, size - done);
		done += n > 0 ? (size_t)n : 0;
	}
	return done == size;
}

static bool source_index(struct source_file *file, size_t size)
{
	size_t n = 1, at = 0;

	for (const char *c = file->text; (c = memchr(c, '\n', size - (size_t)(c - file->text)));
	     c++)
		n++;
	file->lines = calloc(n + 1, sizeof(*file->lines));
	if (!file->lines)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (file->text[i] == '\n')
			file->lines[++at] = i + 1;
	}
	file->nlines = n;
	file->lines[n] = size + 1;
	return true;
}

static void source_load(const struct sources *s, struct source_file *file)
{
	struct stat st = { 0 };
	int fd = source_find(s, file->name, &st);
	bool good = false;

	if (fd >= 0) {
		file->text = malloc((size_t)st.st_size + 1);
		good = file->text && source_read(fd, file->text, (size_t)st.st_size) &&
		       source_index(file, (size_t)st.st_size);
		close(fd);
		file->dev = st.st_dev;
		file->ino = st.st_ino;
	}
	if (!good) {
		free(file->text);
		file->text = NULL;
		note("the source file \"%s\" cannot be read%s%s%s: its lines are numbers only%s",
		     file->name, s->dir ? " below \"" : "", s->dir ? s->dir : "",
		     s->dir ? "\"" : "", s->dir ? "" : " (--source says where files are)");
	} else if (s->compiled && st.st_mtime > s->compiled) {
		note("WARNING: the source file \"%s\" is newer than the binary: lines may have "
		     "moved", file->name);
	}
}

static struct source_file *sources_get(struct sources *s, const char *name)
{
	struct source_file *file;

	for (size_t i = 0; i < s->nfiles; i++) {
		if (strcmp(s->files[i].name, name) == 0)
			return &s->files[i];
	}
	if (array_extend(s->files, s->nfiles) != 0)
		return NULL;
	file = &s->files[s->nfiles];
	*file = (struct source_file){ .name = strdup(name) };
	if (!file->name)
		return NULL;
	source_load(s, file);
	s->nfiles++;
	return file;
}

const char *source_line(struct sources *s, const char *file, unsigned int line, size_t *len)
{
	const struct source_file *source = sources_get(s, file);

	if (!source || !source->text || !line || line > source->nlines)
		return NULL;
	*len = source->lines[line] - source->lines[line - 1] - 1;
	return source->text + source->lines[line - 1];
}

int sources_guard(const struct sources *s, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return 0;
	for (size_t i = 0; i < s->nfiles; i++) {
		const struct source_file *file = &s->files[i];

		if (file->text && file->dev == st.st_dev && file->ino == st.st_ino)
			return fail(EX_USAGE, "ERROR: \"%s\" is a source file that is read; "
				    "write to another file", path);
	}
	return 0;
}

void sources_free(struct sources *s)
{
	for (size_t i = 0; i < s->nfiles; i++) {
		free(s->files[i].name);
		free(s->files[i].text);
		free(s->files[i].lines);
	}
	free(s->files);
}
