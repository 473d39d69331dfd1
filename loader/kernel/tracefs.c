/* SPDX-License-Identifier: BSD-2-Clause */
/* See tracefs.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter_place.h"
#include "lib/base/array.h"
#include "lib/base/nearest.h"
#include "lib/base/number.h"
#include "tracefs.h"

#define LIST_MAX (8u << 20)		/* bytes; kernels with all modules have less than 1 MB */

/* Either place, as distributions mount it; NULL: neither. */
static const char *tracefs_root(void)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[64];

	for (unsigned int i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(path, sizeof(path), "%s/events", roots[i]);
		if (!access(path, R_OK | X_OK))
			return roots[i];
	}
	return NULL;
}

static int tracefs_deny_missing(struct reason *why)
{
	return deny(why, -ENOENT, "tracefs is not mounted, or pmcbpfd may not read it: mount -t "
		    "tracefs tracefs /sys/kernel/tracing");
}

bool tracefs_here(void)
{
	return tracefs_root() != NULL;
}

/* The path of a file of an event, below a root or an instance. */
static void event_path(const char *root, const char *name, const char *file, char *path,
		       size_t size)
{
	int len = (int)strcspn(name, ":");

	snprintf(path, size, "%s/events/%.*s/%s/%s", root, len, name, name + len + 1, file);
}

static int event_deny_name(const char *name, struct reason *why)
{
	struct tracefs_list l;
	struct nearest near;
	int err = tracefs_list(&l, why);

	if (err)
		return err;
	nearest_begin(&near, name);
	for (unsigned int i = 0; i < l.n; i++)
		nearest_offer(&near, l.name[i]);
	tracefs_list_free(&l);
	return deny(why, -ENOENT, "this kernel has no tracepoint \"%s\"%s; \"pmc list-events "
		    "PATTERN\" finds those it has, and modules bring their own", name,
		    nearest_hint(&near, ""));
}

int tracefs_id(const char *name, uint64_t *id, struct reason *why)
{
	const char *root = tracefs_root();
	char path[256], text[32];
	int err;

	if (!root)
		return tracefs_deny_missing(why);
	event_path(root, name, "id", path, sizeof(path));
	err = file_line(path, text, sizeof(text));
	if (err == -ENOENT || err == -ENOTDIR)
		return event_deny_name(name, why);
	if (!err && number_parse(text, 10, INT32_MAX, id))
		err = -EPROTO;
	return err ? deny(why, err, "cannot read %s: %s", path, strerror(-err)) : 0;
}

/* --- the list --------------------------------------------------------------------------------- */

static int whole_read(const char *path, char **text)
{
	unsigned int room = 0, used = 0;
	ssize_t n = 1;
	int fd, err = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (n && !err) {
		err = used < LIST_MAX ? array_reserve(*text, room, used + 65536) : -E2BIG;
		n = err ? 0 : read(fd, *text + used, room - used - 1);
		if (n < 0)
			err = -errno;
		else
			used += (unsigned int)n;
	}
	close(fd);
	if (!err)
		(*text)[used] = '\0';
	return err;
}

int tracefs_format(const char *name, char **text, struct reason *why)
{
	const char *root = tracefs_root();
	char path[256];
	int err;

	*text = NULL;
	if (!root)
		return tracefs_deny_missing(why);
	event_path(root, name, "format", path, sizeof(path));
	err = whole_read(path, text);
	if (!err)
		return 0;
	free(*text);
	*text = NULL;
	return deny(why, err, "cannot read %s: %s", path, strerror(-err));
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int list_split(struct tracefs_list *l)
{
	unsigned int room = 0;
	char *rest = NULL;

	if (!l->text)
		return -EIO;
	for (char *line = strtok_r(l->text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!tracefs_name_valid(line))
			continue;
		if (array_reserve(l->name, room, l->n + 1))
			return -ENOMEM;
		l->name[l->n++] = line;
	}
	if (l->n)
		qsort(l->name, l->n, sizeof(*l->name), name_compare);
	return 0;
}

int tracefs_list(struct tracefs_list *l, struct reason *why)
{
	const char *root = tracefs_root();
	char path[64];
	int err;

	*l = (struct tracefs_list){ .n = 0 };
	if (!root)
		return tracefs_deny_missing(why);
	snprintf(path, sizeof(path), "%s/available_events", root);
	err = whole_read(path, &l->text) ?: list_split(l);
	if (!err)
		return 0;
	tracefs_list_free(l);
	return deny(why, err, "cannot read %s: %s", path, strerror(-err));
}

void tracefs_list_free(struct tracefs_list *l)
{
	free(l->name);
	free(l->text);
	*l = (struct tracefs_list){ .n = 0 };
}

/* --- filters ---------------------------------------------------------------------------------- */

/*
 * The kernel explains a filter only in the event's file, so the filter is written there, in an
 * instance of tracefs that exists for this moment: no other user's tracing changes.  The file then
 * has the filter, a caret below the place, and "parse_error: MESSAGE".
 */
static int filter_explain(const char *root, const char *name, const char *filter, char *text,
			  size_t size)
{
	char instance[128], path[320];
	int fd, err = -ENOENT;

	snprintf(instance, sizeof(instance), "%s/instances/pmcbpfd-%d", root, (int)getpid());
	if (mkdir(instance, 0700))
		return -errno;
	event_path(instance, name, "filter", path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		err = write(fd, filter, strlen(filter)) < 0 ? 0 : -EPROTO;
		close(fd);
	}
	if (!err)
		err = file_read(AT_FDCWD, path, text, size) > 0 ? 0 : -EIO;
	(void)rmdir(instance);
	return err;
}

/* Errors without a place have a number, which is 0 or -1 if a condition has no field. */
static int filter_deny_plain(const char *name, const char *text, struct reason *why)
{
	const char *error = strstr(text, "Error: (");
	int number = error ? abs(atoi(error + strlen("Error: ("))) : EINVAL;

	if (number <= 1)
		return deny(why, -EINVAL, "the kernel refuses the filter of %s: a condition of it "
			    "does not begin with a field, as \"count > 4096\" does; the fields are "
			    "in the event's format file in tracefs", name);
	return deny(why, -EINVAL, "the kernel refuses the filter of %s: %s", name,
		    strerror(number));
}

static int filter_deny(const char *name, const char *filter, struct reason *why)
{
	const char *root = tracefs_root(), *caret, *message;
	char text[2048];
	size_t at;

	if (!root || filter_explain(root, name, filter, text, sizeof(text)))
		return 0;
	caret = strchr(text, '\n');
	caret = caret ? caret + 1 : text;
	message = strstr(caret, "parse_error: ");
	if (!message)
		return filter_deny_plain(name, caret, why);
	message += strlen("parse_error: ");
	at = filter_place(filter, strspn(caret, " "), message);
	return deny(why, -EINVAL, "the kernel refuses the filter of %s at character %zu, "
		    "\"%.40s\": %.*s; the fields are in the event's format file in tracefs", name,
		    at + 1, filter + at, (int)strcspn(message, "\n"), message);
}

int tracefs_filter_job(struct helper_call *call)
{
	struct tracefs_filter f;
	struct reason why;

	if (call->len != sizeof(f))
		return -EINVAL;
	memcpy(&f, call->arg, sizeof(f));
	f.name[sizeof(f.name) - 1] = f.filter[sizeof(f.filter) - 1] = '\0';
	if (!filter_deny(f.name, f.filter, &why))
		return -ENOENT;
	return helper_emit(call, why.text, strlen(why.text), NULL, 0);
}
