/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a live view shows: the head with the PMC, and below it functions with their callers, a call
 * tree, processes or threads, of one event of a profile.
 */
#ifndef PMCBPF_CLI_TOP_VIEW_H
#define PMCBPF_CLI_TOP_VIEW_H

#include "cli/profile/profile.h"
#include "cli/report/print.h"
#include "picture.h"

enum view_kind { VIEW_CALLERS, VIEW_TREE, VIEW_PROCESSES, VIEW_THREADS, VIEW_KINDS };

/* How it is to be looked at: what keys and options change. */
struct look {
	enum view_kind kind;
	uint32_t event;		/* number of an event of the profile */
	bool apart;		/* PMCs of one event each for itself */
	bool addresses;		/* instead of names */
	bool offsets;		/* behind names */
	bool skip_links;	/* dots for functions that only pass the call on */
	bool total;		/* functions: samples below them count as theirs */
	const char *only;	/* rows with this text; "": all */
	double threshold;	/* percent: what is below is left out */
	unsigned int depth;	/* levels of the call tree, 0: all */
};

/* Does the event, with `apart` a single PMC, have a view of its own?  Others are part of its. */
bool view_has(const struct profile *profile, const struct look *look, uint32_t event);

/* `remark` is line 2.  0 or -ENOMEM. */
int view_draw(const struct profile *profile, const struct look *look, const char *remark,
	      struct picture *p);

/* --- what views share ------------------------------------------------------------------------- */

struct view {
	const struct profile *profile;
	const struct look *look;
	const struct symbol **symbols;	/* of the places; NULL: nobody has asked yet */
	uint64_t samples;		/* what shares are of */
	bool failed;			/* no memory for a symbol */
};

/* Below the head; no newline before, one behind.  0 or -ENOMEM. */
int view_list(struct view *v, struct picture *p);
int view_tree(struct view *v, struct picture *p);

/* Does the tally count? */
bool view_counts(const struct view *v, const struct tally *tally);

/* The function at a place, and its name as the look wants it. */
const struct symbol *view_symbol(struct view *v, uint32_t place);
const char *view_name(const struct look *look, const struct symbol *symbol, char room[static 24]);

#endif
