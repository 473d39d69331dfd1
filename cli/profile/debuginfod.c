/* SPDX-License-Identifier: BSD-2-Clause */
/* See debuginfod.h. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "cli/common/common.h"
#include "object.h"

#define LIBRARY	    "libdebuginfod.so.1"
#define FETCHES_MAX 8u		/* at a time */

int debuginfod_check(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *library;

	if (!urls || !*urls)
		return fail(EX_USAGE, "ERROR: --debuginfod needs the servers' addresses in "
			    "DEBUGINFOD_URLS.");
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return fail(EX_UNAVAILABLE, "ERROR: --debuginfod needs " LIBRARY
			    " (Debian: libdebuginfod1).");
	dlclose(library);
	return 0;
}

/* --- a child -------------------------------------------------------------------------------- */

typedef void *begin_function(void);
typedef int find_function(void *client, const unsigned char *id, int idlen, char **path);

static void file_fetch(const struct debuginfod_file *f)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	begin_function *begin = library ? (begin_function *)dlsym(library, "debuginfod_begin") :
					  NULL;
	find_function *find = library ?
		(find_function *)dlsym(library, f->executable ? "debuginfod_find_executable" :
						"debuginfod_find_debuginfo") : NULL;
	void *client = begin && find ? begin() : NULL;
	char *path = NULL;

	if (client && find(client, f->id, (int)f->idlen, &path) >= 0 && path &&
	    write(f->answer, path, strlen(path)) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}

/* The child dies with this process, and its silence is the answer if it cannot be made. */
static void file_begin(struct debuginfod_file *f)
{
	int ends[2];
	pid_t self = getpid();

	f->done = pipe2(ends, O_CLOEXEC) != 0;
	if (f->done)
		return;
	f->child = fork();
	if (f->child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		f->answer = ends[1];
		if (getppid() == self)
			file_fetch(f);
		_exit(EXIT_FAILURE);
	}
	close(ends[1]);
	f->answer = ends[0];
}

static void file_end(struct debuginfod_file *f)
{
	if (f->child > 0) {
		kill(f->child, SIGKILL);
		while (waitpid(f->child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (f->answer >= 0)
		close(f->answer);
	f->answer = -1;
	f->child = 0;
}

static void file_read(struct debuginfod_file *f)
{
	size_t len = strlen(f->path);
	ssize_t n = read(f->answer, f->path + len, sizeof(f->path) - 1 - len);

	if (n < 0 && errno == EINTR)
		return;
	if (n > 0) {
		f->path[len + (size_t)n] = '\0';
		return;
	}
	f->done = true;
	file_end(f);
}

/* --- all files ------------------------------------------------------------------------------ */

static void debuginfod_begin_more(struct debuginfod *d)
{
	unsigned int running = 0;

	for (size_t i = 0; i < d->n; i++)
		running += d->files[i]->child > 0;
	for (size_t i = 0; i < d->n && running < FETCHES_MAX; i++) {
		struct debuginfod_file *f = d->files[i];

		if (f->done || f->child)
			continue;
		file_begin(f);
		running++;
	}
}

static struct debuginfod_file *debuginfod_find(const struct debuginfod *d, const void *id,
					       size_t idlen, bool executable)
{
	for (size_t i = 0; i < d->n; i++) {
		struct debuginfod_file *f = d->files[i];

		if (f->executable == executable && f->idlen == idlen &&
		    memcmp(f->id, id, idlen) == 0)
			return f;
	}
	return NULL;
}

static void debuginfod_add(struct debuginfod *d, const void *id, size_t idlen, bool executable)
{
	struct debuginfod_file *f = calloc(1, sizeof(*f));

	if (!f || array_reserve(d->files, d->room, d->n + 1) != 0) {
		free(f);
		return;
	}
	f->answer = -1;
	f->executable = executable;
	f->idlen = idlen;
	memcpy(f->id, id, idlen);
	d->files[d->n++] = f;
	debuginfod_begin_more(d);
}

int debuginfod_get(struct symbols *s, const void *id, size_t idlen, bool executable, char **path)
{
	const struct debuginfod_file *f;
	int fd;

	if (!s->config.debuginfod || idlen < 2 || idlen > sizeof(f->id))
		return -ENOENT;
	f = debuginfod_find(&s->debuginfod, id, idlen, executable);
	if (!f && !s->debuginfod.settled)
		debuginfod_add(&s->debuginfod, id, idlen, executable);
	if (!f || !f->done || !*f->path)
		return -ENOENT;
	fd = file_open(NULL, f->path);
	if (fd < 0)
		return -ENOENT;
	*path = strdup(f->path);
	if (*path)
		return fd;
	close(fd);
	return -ENOENT;
}

static int64_t debuginfod_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads the answers that come within `ms`.  How many files are not there yet? */
static size_t debuginfod_step(struct debuginfod *d, int ms)
{
	struct pollfd ready[FETCHES_MAX];
	struct debuginfod_file *of[FETCHES_MAX];
	nfds_t n = 0;
	size_t late = 0;

	debuginfod_begin_more(d);
	for (size_t i = 0; i < d->n; i++) {
		late += !d->files[i]->done;
		if (d->files[i]->child <= 0 || n == FETCHES_MAX)
			continue;
		of[n] = d->files[i];
		ready[n++] = (struct pollfd){ .fd = d->files[i]->answer, .events = POLLIN };
	}
	if (!late || poll(ready, n, ms) <= 0)
		return late;
	for (nfds_t i = 0; i < n; i++)
		if (ready[i].revents)
			file_read(of[i]);
	return late;
}

size_t debuginfod_wait(struct symbols *s, int64_t until)
{
	size_t late;

	do {
		int64_t left = until - debuginfod_now();

		late = debuginfod_step(&s->debuginfod, left > 0 ? (int)left : 0);
	} while (late && debuginfod_now() < until);
	return late;
}

void debuginfod_free(struct debuginfod *d)
{
	for (size_t i = 0; i < d->n; i++) {
		file_end(d->files[i]);
		free(d->files[i]);
	}
	free(d->files);
}
