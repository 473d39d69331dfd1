/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The call tree, from the outermost callers inwards.  A function that does little but call one
 * other shares its line: a line begins where the tree branches, and its share holds for all of it.
 */
#include <errno.h>

#include "cli/profile/profile.h"
#include "view.h"

/* The next function on the same line, or NULL. */
static const struct tree_node *tree_find_link(const struct view *v, const struct tree_node *node)
{
	uint64_t rest;

	if (!node->nchild)
		return NULL;
	rest = node->total - node->child[0]->total;
	if (rest && percent(rest, v->samples) >= v->look->threshold)
		return NULL;
	return node->child[0];
}

/* Draws a line; returns its last function. */
static const struct tree_node *tree_draw_links(const struct view *v, const struct tree_node *node,
						struct picture *p)
{
	for (const struct tree_node *next; ; node = next) {
		char room[24];

		next = tree_find_link(v, node);
		picture_skip(p, 1);
		picture_text(p, next && v->look->skip_links ? "." :
			     view_name(v->look, node->symbol, room));
		if (!next)
			return node;
	}
}

/* Draws the callees.  False: the picture is full. */
static bool tree_draw_below(const struct view *v, const struct tree_node *parent,
			    unsigned int level, struct picture *p)
{
	for (size_t i = 0; i < parent->nchild; i++) {
		const struct tree_node *node = parent->child[i];

		if (percent(node->total, v->samples) < v->look->threshold)
			break;
		if (!picture_line(p))
			return false;
		picture_share(p, percent(node->total, v->samples), "%5.1f");
		picture_skip(p, level);
		if (!tree_draw_below(v, tree_draw_links(v, node, p), level + 1, p))
			return false;
	}
	return true;
}

int view_tree(struct view *v, struct picture *p)
{
	const struct tree_select select = { .event = v->look->event, .process = TREE_ANY,
					    .apart = v->look->apart, .depth = v->look->depth };
	struct tree_node *root = tree_build(v->profile, &select, TREE_CALLEES);

	if (!root)
		return -ENOMEM;
	picture_text(p, "%SAMP CALLTREE");
	if (tree_draw_below(v, root, 0, p))
		picture_line(p);
	tree_free(root);
	return 0;
}
