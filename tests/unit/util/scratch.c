/* SPDX-License-Identifier: BSD-2-Clause */
/* See scratch.h.  A failure here fails the test program. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scratch.h"

static char folder[] = "/tmp/pmcbpf-unit-XXXXXX";
static pid_t owner;

static void demand(int good, const char *what)
{
	if (!good) {
		perror(what);
		abort();
	}
}

static void clean(void)
{
	/* Children end too. */
	if (getpid() == owner && scratch_run("chmod -R u+w . && rm -rf %s", folder) != 0)
		fprintf(stderr, "%s is left behind\n", folder);
}

const char *scratch(void)
{
	if (!owner) {
		demand(mkdtemp(folder) != NULL, folder);
		owner = getpid();
		demand(atexit(clean) == 0, "atexit");
	}
	return folder;
}

const char *scratch_file(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned int next;
	char *p = path[next++ % 4];

	snprintf(p, PATH_MAX, "%s/%s", scratch(), name);
	return p;
}

void scratch_write(const char *name, const void *data, size_t size)
{
	FILE *f = fopen(scratch_file(name), "we");

	demand(f && fwrite(data, 1, size, f) == size && fclose(f) == 0, name);
}

void *scratch_read(const char *name, size_t *size)
{
	FILE *f = fopen(scratch_file(name), "re");
	char *data = NULL;
	long len;

	demand(f && fseek(f, 0, SEEK_END) == 0, name);
	len = ftell(f);
	demand(len >= 0 && fseek(f, 0, SEEK_SET) == 0, name);
	data = malloc((size_t)len + 1);
	demand(data && fread(data, 1, (size_t)len, f) == (size_t)len, name);
	data[len] = '\0';
	fclose(f);
	if (size)
		*size = (size_t)len;
	return data;
}

int scratch_run(const char *format, ...)
{
	char command[4096];
	va_list args;
	int n = snprintf(command, sizeof(command), "cd %s && ", scratch());

	va_start(args, format);
	vsnprintf(command + n, sizeof(command) - (size_t)n, format, args);
	va_end(args);
	return system(command);	/* NOLINT(concurrency-mt-unsafe,bugprone-command-processor) */
}
