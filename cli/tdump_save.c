/* SPDX-License-Identifier: BSD-2-Clause */
/* tdump --save: all rings, and what their addresses stand for: a file that needs nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "msg.h"
#include "tdump.h"

/* Each entry is decoded once, so that whatever it refers to is looked up and noted down. */
static int save_entries(struct tdump *t, int fd)
{
	struct points *points = t->points[0];
	char text[FORMAT_ROOM];
	struct item *item;
	int err = 0;
	bool own;

	while (!err && (item = merge_next(&t->merge))) {
		const struct point *point = entry_point(t, item, points, &own);

		if (points->failed)
			return -ENOMEM;
		points_text(points, point, item, text);
		err = saver_entry(fd, item);
	}
	return err;
}

int save_rings(struct tdump *t)
{
	struct saver saver = { 0 };
	struct ktr_stamp now;
	bool stamped = stamp_now(t->rings[0]->header.clock, &now) && t->rings[0]->mem->live;
	int fd, err;

	if (t->nrings > 1)
		return fail(EX_USAGE, "ERROR: --save takes the rings of one source: not with -k");
	fd = open(t->opt.saved, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_errno(EX_CANTCREAT, "ERROR: cannot write \"%s\"", t->opt.saved);
	t->points[0]->saver = &saver;
	err = saver_begin(fd, t->rings[0], stamped ? &now : NULL);
	if (!err)
		err = save_entries(t, fd);
	if (!err)
		err = saver_end(fd, &t->merge, &saver);
	if (close(fd) != 0 && !err)
		err = -errno;
	t->points[0]->saver = NULL;
	buf_free(&saver.text);
	if (err)
		return fail(EX_IOERR, "ERROR: cannot write \"%s\": %s", t->opt.saved,
			    strerror(-err));
	if (merge_error(&t->merge))
		return fail(EX_UNAVAILABLE, "ERROR: %s: saved as far as it could be read",
			    t->rings[0]->name);
	return 0;
}
