/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --folded: one line for each stack, "process;outermost;…;innermost COUNT", the common format of
 * flame graph tools.
 */
#include <stdlib.h>

#include "fold.h"

/* Suffixes by which tools choose colours. */
static const char *const marks[] = {
	[KIND_PROCESS] = "", [KIND_USER] = "", [KIND_KERNEL] = "_[k]", [KIND_JIT] = "_[j]",
	[KIND_INLINED] = "_[i]", [KIND_CUT] = "",
};

static void folded_line(struct buf *out, struct buf *label, const struct folds *f,
			const uint32_t *path)
{
	uint32_t depth = f->nodes[*path].depth;

	for (uint32_t i = depth; i-- > 0;) {
		const struct fold *fold = &f->nodes[path[i]];

		label->len = 0;
		fold_label(label, fold);
		buf_add(label, "", 1);
		if (label->failed)
			break;
		report_put_plain(out, label->data, ";", ':');
		buf_printf(out, "%s%c", marks[fold->kind], i > 0 ? ';' : ' ');
	}
	buf_printf(out, "%llu\n", (unsigned long long)f->nodes[*path].self);
}

void report_folded(const struct report *r, struct buf *out)
{
	struct folds f = { 0 };
	struct buf label = { 0 };
	uint32_t *path = NULL, deepest = 0;

	out->failed |= folds_build(&f, r) < 0;
	for (size_t i = 0; i < f.n; i++)
		if (f.nodes[i].depth > deepest)
			deepest = f.nodes[i].depth;
	path = calloc(deepest + 1, sizeof(*path));
	out->failed |= !path;
	if (out->failed)
		goto out;
	for (uint32_t node = fold_next(&f, FOLD_ROOT); node; node = fold_next(&f, node)) {
		if (f.nodes[node].self == 0)
			continue;
		path[0] = node;
		for (uint32_t i = 1; i < f.nodes[node].depth; i++)
			path[i] = f.nodes[path[i - 1]].parent;
		folded_line(out, &label, &f, path);
	}
	out->failed |= label.failed;
out:
	free(path);
	buf_free(&label);
	folds_free(&f);
}
