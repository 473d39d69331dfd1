/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups that are left out because this machine lacks what they need. */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

void left_out(const char *what, const char *fmt, ...)
{
	va_list ap;

	printf("left\t%s: ", what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static bool on_path(const char *program)
{
	char *folders = strdup(getenv("PATH") ?: "/bin:/usr/bin"), *save = NULL, path[PATH_MAX];
	bool found = false;

	for (char *f = strtok_r(folders, ":", &save); f && !found; f = strtok_r(NULL, ":", &save)) {
		snprintf(path, sizeof(path), "%s/%s", f, program);
		found = access(path, X_OK) == 0;
	}
	free(folders);
	return found;
}

bool has_program(const char *program)
{
	char path[PATH_MAX];

	if (*program != '.')
		return on_path(program);
	path_beside(path, sizeof(path), program);
	return access(path, X_OK) == 0;
}

bool lacks(const char *what, const char *const *programs)
{
	char missing[256] = "";
	size_t used = 0;

	for (; *programs; programs++) {
		if (has_program(*programs) || used >= sizeof(missing))
			continue;
		used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s",
					 used ? ", " : "", *programs + strspn(*programs, "./"));
	}
	if (used)
		left_out(what, "%s not found here", missing);
	return used;
}
