/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A screen as text, so that what is shown can be made and tested without a terminal: lines that fit
 * the columns and are closed by newlines.  Between them only printable characters, and the bytes
 * HEAT_* that say how what follows is coloured.
 */
#ifndef PMCBPF_CLI_TOP_PICTURE_H
#define PMCBPF_CLI_TOP_PICTURE_H

#include "cli/common/common.h"

enum heat { HEAT_NONE = 1, HEAT_LOW, HEAT_MIDDLE, HEAT_HIGH, HEAT_LAST = HEAT_HIGH };

/* Of a picture that no terminal limits. */
#define PICTURE_ROWS 256u
#define PICTURE_COLS 1024u

struct picture {
	struct buf text;
	unsigned int rows, cols;	/* room */
	unsigned int row, col;		/* where the next character goes */
};

/* An empty picture; the old one's memory is used again. */
void picture_begin(struct picture *p, unsigned int rows, unsigned int cols);
void picture_free(struct picture *p);

/* Appends to the line what still fits; what cannot be shown becomes '?'. */
void picture_text(struct picture *p, const char *text);
void picture_printf(struct picture *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Exactly so many columns of it: cut, or blanks behind. */
void picture_field(struct picture *p, const char *text, unsigned int width);
void picture_skip(struct picture *p, unsigned int cols);

/* A share, "%5.1f" or as the format says, in the colour of its size. */
void picture_share(struct picture *p, double percent, const char *format)
	__attribute__((format(printf, 3, 0)));

/* Columns that the text takes. */
unsigned int picture_width(const char *text);

/* Ends the line.  Is there room for one more? */
bool picture_line(struct picture *p);

/* The next run of one colour: its length and heat, 0 at the end; *text then is behind it. */
size_t picture_run(const char **text, const char *end, enum heat *heat);

/* All of it without colours. */
void picture_plain(const struct picture *p, struct buf *out);

#endif
