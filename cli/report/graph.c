/* SPDX-License-Identifier: BSD-2-Clause */
/* pmcstat -G: each event's sampled functions and their callers, in FreeBSD's form. */
#include <stdio.h>

#include "event.h"
#include "print.h"
#include "report.h"

#define COUNT_WIDTH 12

struct graph {
	struct buf *out;
	const struct report *r;
	uint64_t samples;		/* of the event */
	const struct image *image;	/* of the line before */
};

static void graph_node(struct graph *g, const struct tree_node *node,
		       const struct tree_node *parent, int depth)
{
	double share = percent(node->total, parent->total);
	const struct symbol *symbol = node->symbol;
	char room[24], count[32];

	buf_printf(g->out, "%*s", depth, "");
	/* A share that would round to 100.00 is one column too wide. */
	buf_printf(g->out, share >= 99.995 ? "100.0%% " : "%05.2f%% ", share);
	snprintf(count, sizeof(count), " [%llu] ", (unsigned long long)node->total);
	buf_printf(g->out, "%-*s%*s", COUNT_WIDTH, count, depth, "");
	print_text(g->out, symbol_text(symbol, room));
	if (symbol->image && (symbol->image != g->image || !depth)) {
		buf_add(g->out, " @ ", 3);
		print_text(g->out, symbol->image->path);
	}
	buf_add(g->out, "\n", 1);
	g->image = symbol->image;
}

/* A chain is at most as deep as the log's longest, which has a limit. */
static void graph_children(struct graph *g, const struct tree_node *node, int depth)
{
	for (size_t i = 0; i < node->nchild; i++) {
		const struct tree_node *child = node->child[i];

		if (percent(child->total, g->samples) < g->r->threshold)
			break;
		graph_node(g, child, node, depth);
		graph_children(g, child, depth + 1);
		if (!depth)
			buf_add(g->out, "\n", 1);
	}
}

void report_graph(const struct report *r, struct buf *out)
{
	const struct walk *w = r->profile->walk;
	const struct walk_event *event;

	for (uint32_t i = 0; (event = walk_event(w, i)); i++) {
		const struct tree_select select = { .event = i, .process = TREE_ANY,
						    .inlines = true, .depth = r->depth };
		struct graph g = { .out = out, .r = r };
		struct tree_node *root;

		if (event->first != i)
			continue;
		root = tree_build(r->profile, &select, TREE_CALLERS);
		if (!root) {
			out->failed = true;
			return;
		}
		g.samples = root->total;
		if (g.samples) {
			buf_add(out, "@ ", 2);
			print_text(out, event->name);
			buf_printf(out, " [%llu %s]\n\n", (unsigned long long)g.samples,
				   event_unit(r->profile, i));
			graph_children(&g, root, 0);
		}
		tree_free(root);
	}
}
