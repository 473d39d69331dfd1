/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --flamegraph: one self-contained SVG file.  Its root is at the top, where a picture of any height
 * opens, and callees are below their callers; title and legend are above the picture.  The picture
 * is complete without its script (flame.js), which adds zooming and searching.  Names go into
 * attributes and text only, quoted for XML, and the script handles them as text.
 */
#include <stdlib.h>

#include "cli/common/common.h"
#include "fold.h"
#include "print.h"

#define WIDTH  1200.0	/* of the picture, until a script fits it to the window */
#define PAD    10
#define ROW    18
#define LEGEND 82
#define DETAIL 110
#define TOP    118
#define FOOT   10
#define CHAR   7.3	/* width of a letter */
#define NARROW 0.1	/* narrower frames are not drawn */

#define INCLUDE(name, file) \
	extern const char name[]; \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"" file "\"\n.byte 0\n.popsection\n")
INCLUDE(flame_css, "cli/report/flame.css");
INCLUDE(flame_js, "cli/report/flame.js");

/* All light enough for black text on them. */
static const struct {
	const char *name;
	unsigned char least[3], range[3];	/* red, green, blue */
} colours[] = {
	[KIND_PROCESS] = { "process", { 185, 195, 220 }, { 20, 20, 15 } },
	[KIND_USER] = { "user", { 238, 190, 90 }, { 17, 35, 40 } },
	[KIND_KERNEL] = { "kernel", { 235, 130, 95 }, { 20, 35, 35 } },
	[KIND_JIT] = { "JIT", { 130, 210, 110 }, { 40, 25, 40 } },
	[KIND_INLINED] = { "inlined", { 110, 205, 205 }, { 40, 25, 25 } },
	[KIND_CUT] = { "cut", { 190, 190, 190 }, { 20, 20, 20 } },
};
#define KINDS (sizeof(colours) / sizeof(colours[0]))

struct flame_spot {
	uint64_t from, filled;	/* in samples; the end of its children */
	bool drawn;
};

struct flame {
	struct folds folds;
	struct flame_spot *spots;	/* of each node */
	struct buf *out, name;
	const char *unit;
	double scale;		/* units for a sample */
	uint32_t deepest;	/* that is drawn */
	uint64_t lost;		/* samples in frames that are not drawn */
	size_t nlost;
	bool kinds[KINDS];
};

static void flame_string(struct buf *out, const char *text)
{
	struct buf plain = { 0 };

	report_put_plain(&plain, text, "", '?');
	print_markup(out, plain.data, plain.len);
	out->failed |= plain.failed;
	buf_free(&plain);
}

/* The node's label in f->name, as proper UTF-8; NULL: no memory. */
static const char *flame_label(struct flame *f, const struct fold *fold)
{
	struct buf raw = { 0 };

	f->name.len = 0;
	fold_label(&raw, fold);
	buf_add(&raw, "", 1);
	if (!raw.failed) {
		report_put_plain(&f->name, raw.data, "", '?');
		buf_add(&f->name, "", 1);
	}
	f->name.failed |= raw.failed;
	f->out->failed |= f->name.failed;
	buf_free(&raw);
	return f->name.failed ? NULL : f->name.data;
}

/* Bytes of the first `letters` letters of a text. */
static size_t flame_prefix(const char *text, size_t letters)
{
	size_t i = 0;

	while (text[i] && (letters > 0 || (text[i] & 0xc0) == 0x80)) {
		letters -= (text[i] & 0xc0) != 0x80;
		i++;
	}
	return i;
}

/* Cuts a name to the room in a frame; flame.js does the same. */
static void flame_fitting(struct buf *out, const char *name, double width)
{
	size_t room = width < 6 + 3 * CHAR ? 0 : (size_t)((width - 6) / CHAR);
	size_t len = flame_prefix(name, room);

	if (room == 0)
		return;
	print_markup(out, name, name[len] ? flame_prefix(name, room - 1) : len);
	if (name[len])
		buf_printf(out, "…");
}

static void flame_fill(struct buf *out, enum kind kind, const char *name)
{
	uint32_t hash = 2166136261u;
	unsigned int rgb[3];

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	for (size_t i = 0; i < 3; i++)
		rgb[i] = colours[kind].least[i] +
			 (hash >> 8 * i & 255) * colours[kind].range[i] / 255;
	buf_printf(out, "fill=\"#%02x%02x%02x\"", rgb[0], rgb[1], rgb[2]);
}

static double flame_share(const struct flame *f, uint64_t samples)
{
	return percent(samples, f->folds.nodes[FOLD_ROOT].total);
}

static void flame_frame(struct flame *f, uint32_t node)
{
	const struct fold *fold = &f->folds.nodes[node];
	const struct image *image = fold->symbol ? fold->symbol->image : NULL;
	double x = PAD + (double)f->spots[node].from * f->scale;
	double width = (double)fold->total * f->scale;
	uint32_t y = TOP + ROW * fold->depth;
	const char *name = flame_label(f, fold);

	if (!name)
		return;
	buf_printf(f->out, "<g class=\"frame %s\" data-depth=\"%u\" data-from=\"%llu\" "
		   "data-samples=\"%llu\" data-name=\"", colours[fold->kind].name, fold->depth,
		   (unsigned long long)f->spots[node].from, (unsigned long long)fold->total);
	print_markup(f->out, name, f->name.len - 1);
	buf_printf(f->out, "\"><title>");
	print_markup(f->out, name, f->name.len - 1);
	if (image) {
		buf_printf(f->out, " — ");
		flame_string(f->out, image->path);
	}
	buf_printf(f->out,
		   " (%llu %s, %.2f%%)</title><rect x=\"%.2f\" y=\"%u\" "
		   "width=\"%.2f\" height=\"%d\" rx=\"1\" ",
		   (unsigned long long)fold->total, f->unit, flame_share(f, fold->total), x, y,
		   width > 3 ? width - 0.6 : width, ROW - 1);
	flame_fill(f->out, fold->kind, name);
	buf_printf(f->out, "/><text x=\"%.2f\" y=\"%u\">", x + 3, y + ROW - 5);
	flame_fitting(f->out, name, width);
	buf_printf(f->out, "</text></g>\n");
	f->kinds[fold->kind] = true;
}

/* Places each node: children from the left, and right of them room for its own samples. */
static void flame_layout(struct flame *f)
{
	struct fold *nodes = f->folds.nodes;

	f->scale = nodes[FOLD_ROOT].total ?
		(WIDTH - 2 * PAD) / (double)nodes[FOLD_ROOT].total : 0;
	f->spots[FOLD_ROOT].drawn = true;
	for (uint32_t node = fold_next(&f->folds, FOLD_ROOT); node;
	     node = fold_next(&f->folds, node)) {
		struct flame_spot *spot = &f->spots[node], *below = &f->spots[nodes[node].parent];

		spot->from = spot->filled = below->filled;
		below->filled += nodes[node].total;
		spot->drawn = below->drawn && (double)nodes[node].total * f->scale >= NARROW;
		if (spot->drawn && nodes[node].depth > f->deepest)
			f->deepest = nodes[node].depth;
		f->nlost += !spot->drawn;
		if (below->drawn && !spot->drawn)
			f->lost += nodes[node].total;
	}
}

static void flame_ends(const struct flame *f, const struct chains *c)
{
	const uint64_t cut = c->cuts[PMC_CHAIN_NOT_RECORDED];

	if (c->ended) {
		buf_printf(f->out, ", whole chains ");
		chains_put_share(f->out, c);
	}
	if (c->pointers)
		buf_printf(f->out, ", %llu by frame pointers in part",
			   (unsigned long long)c->pointers);
	if (cut)
		buf_printf(f->out, " <tspan class=\"partial\">cut: the outermost callers of %llu "
			   "samples are missing</tspan>", (unsigned long long)cut);
}

static void flame_subtitle(const struct flame *f, const struct report *r)
{
	const struct profile *p = r->profile;
	const struct walk_stats *stats = walk_stats(p->walk);

	buf_printf(f->out, "<text class=\"say\" x=\"%d\" y=\"42\">", PAD);
	for (uint32_t event = 0; event < p->nevents; event++) {
		uint64_t samples = event_total(p, event);

		if (samples == 0)
			continue;
		flame_string(f->out, walk_event(p->walk, event)->name);
		buf_printf(f->out, ": %llu %s, ", (unsigned long long)samples,
			   event_unit(p, event));
	}
	buf_printf(f->out, "%.3f s", stats->seconds);
	if (report_is_partial(r))
		buf_printf(f->out, " <tspan class=\"partial\">partial: %s</tspan>",
			   stats->cut ? "the log has no proper end" : "the recording lost samples");
	flame_ends(f, &stats->ends);
	buf_printf(f->out, "</text>\n");
}

static void flame_head(const struct flame *f, const struct report *r, unsigned int height)
{
	buf_printf(f->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%u\" "
		   "viewBox=\"0 0 %.0f %u\" data-pad=\"%d\" data-row=\"%d\" data-top=\"%d\" "
		   "data-char=\"%.1f\" data-narrow=\"%.1f\" data-unit=\"%s\" "
		   "aria-labelledby=\"name\">\n<title id=\"name\">Flame graph of ",
		   WIDTH, height, WIDTH, height, PAD, ROW, TOP, CHAR, NARROW, f->unit);
	flame_string(f->out, r->log);
	buf_printf(f->out, "</title>\n<style><![CDATA[\n%s]]></style>\n"
		   "<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n"
		   "<text class=\"head\" x=\"%d\" y=\"22\">Flame graph of ", flame_css, PAD);
	flame_string(f->out, r->log);
	buf_printf(f->out, "</text>\n");
	flame_subtitle(f, r);
	buf_printf(f->out, "<foreignObject x=\"%d\" y=\"50\" width=\"700\" height=\"26\">"
		   "<div xmlns=\"http://www.w3.org/1999/xhtml\" id=\"controls\"></div>"
		   "</foreignObject>\n<g id=\"frames\">\n", PAD);
}

/* Lists the kinds that were drawn, which are known at the end only. */
static void flame_legend(const struct flame *f)
{
	unsigned int x = PAD;

	buf_printf(f->out, "<text class=\"say\" id=\"detail\" x=\"%d\" y=\"%d\"></text>\n", PAD,
		   DETAIL);
	for (size_t kind = 0; kind < KINDS; kind++) {
		if (!f->kinds[kind])
			continue;
		buf_printf(f->out, "<rect x=\"%u\" y=\"%d\" width=\"12\" height=\"12\" ", x,
			   LEGEND);
		flame_fill(f->out, (enum kind)kind, colours[kind].name);
		buf_printf(f->out, "/><text class=\"say\" x=\"%u\" y=\"%d\">%s</text>\n", x + 16,
			   LEGEND + 10, colours[kind].name);
		x += 75;
	}
	if (f->nlost > 0)
		buf_printf(f->out,
			   "<text class=\"say\" id=\"lost\" x=\"%u\" y=\"%d\">not drawn, "
			   "too narrow: %zu frames with %.2f%% of the %s</text>\n",
			   x, LEGEND + 10, f->nlost, flame_share(f, f->lost), f->unit);
}

int report_check_flamegraph(const struct report *r)
{
	if (event_unit_of_all(r->profile))
		return 0;
	return fail(EX_USAGE, "ERROR: --flamegraph: the events of \"%s\" have different units, "
		    "which give no sum: choose one by --event, or all time by --wall "
		    "--event " CLOCK_WALL, r->log);
}

void report_flamegraph(const struct report *r, struct buf *out)
{
	struct flame f = { .out = out, .unit = event_unit_of_all(r->profile) };
	unsigned int height;

	out->failed |= folds_build(&f.folds, r) < 0;
	f.spots = calloc(f.folds.n + 1, sizeof(*f.spots));
	out->failed |= !f.spots;
	if (out->failed)
		goto out;
	flame_layout(&f);
	height = TOP + ROW * (f.deepest + 1) + FOOT;
	flame_head(&f, r, height);
	flame_frame(&f, FOLD_ROOT);
	for (uint32_t node = fold_next(&f.folds, FOLD_ROOT); node; node = fold_next(&f.folds, node))
		if (f.spots[node].drawn)
			flame_frame(&f, node);
	buf_printf(out, "</g>\n");
	flame_legend(&f);
	buf_printf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", flame_js);
out:
	free(f.spots);
	buf_free(&f.name);
	folds_free(&f.folds);
}
