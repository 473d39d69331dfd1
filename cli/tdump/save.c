/* SPDX-License-Identifier: BSD-2-Clause */
/* tdump --save: all rings with their trace points and strings, in one self-contained file. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "tdump.h"

/* Decodes each entry once, so that every trace point and string it refers to is recorded. */
static int save_entries(struct tdump *t, int fd)
{
	struct points *points = t->points[0];
	char text[FORMAT_ROOM];
	struct item *item;
	int err = 0;
	bool own;

	while (!err && (item = merge_next(&t->merge))) {
		const struct point *point = tdump_point(t, item, points, &own);

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
	bool stamped = sources_stamp(t->rings[0]->header.clock, &now) && t->rings[0]->mem->live;
	struct output file;
	int err, closed;

	if (t->nrings > 1)
		return fail(EX_USAGE, "ERROR: --save takes the rings of one source: not with -k");
	if (output_create(&file, t->opt.saved, OUTPUT_WHOLE, 0600) < 0)
		return fail(EX_CANTCREAT, "ERROR: cannot write \"%s\": %s", t->opt.saved, file.why);
	t->points[0]->saver = &saver;
	err = saver_begin(file.fd, t->rings[0], stamped ? &now : NULL);
	if (!err)
		err = save_entries(t, file.fd);
	if (!err)
		err = saver_end(file.fd, &t->merge, &saver);
	closed = output_finish(&file, !err);
	err = err ? err : closed;
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
