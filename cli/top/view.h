/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views of one event of a profile: a head with the PMC, and below it functions with their callers,
 * a call tree, processes or threads.
 */
#ifndef PMCBPF_CLI_TOP_VIEW_H
#define PMCBPF_CLI_TOP_VIEW_H

#include "cli/profile/profile.h"
#include "cli/report/report.h"
#include "picture.h"

enum view_kind { VIEW_CALLERS, VIEW_TREE, VIEW_PROCESSES, VIEW_THREADS, VIEW_KINDS };

/* The settings of a view, which keys and options change. */
struct look {
	enum view_kind kind;
	uint32_t event;		/* number of an event of the profile */
	bool apart;		/* PMCs of one event are shown apart */
	bool addresses;		/* instead of names */
	bool offsets;		/* behind names */
	bool skip_links;	/* call tree: dots for functions that only pass calls on */
	bool total;		/* functions: with the samples of their callees */
	const char *only;	/* only rows with this text; "": all */
	double threshold;	/* percent: smaller shares are left out */
	unsigned int depth;	/* levels of the call tree, 0: all */
};

/* Does the event have its own view?  Unless `apart`, only the first PMC of each event has one. */
bool view_has(const struct profile *profile, const struct look *look, uint32_t event);

/* Draws a view; `remark` is its second line.  0 or -ENOMEM. */
int view_draw(const struct profile *profile, const struct look *look, const char *remark,
	      struct picture *p);

/* --- shared by all views ---------------------------------------------------------------------- */

struct view {
	const struct profile *profile;
	const struct look *look;
	const struct symbol **symbols;	/* of the places; NULL: not looked up yet */
	uint64_t samples;		/* all samples: 100 percent */
	bool failed;			/* no memory for a symbol */
};

/* Draw the part below the head, which ends with a newline.  0 or -ENOMEM. */
int view_list(struct view *v, struct picture *p);
int view_tree(struct view *v, struct picture *p);

/* Does the tally belong to the event in view? */
bool view_counts(const struct view *v, const struct tally *tally);

/* The function at a place; its name, or its address if the look wants that. */
const struct symbol *view_symbol(struct view *v, uint32_t place);
const char *view_name(const struct look *look, const struct symbol *symbol, char room[static 24]);

#endif
