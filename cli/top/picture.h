/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A screen as text, which needs no terminal: lines that fit the columns and end with newlines.
 * They have printable characters only, and the bytes HEAT_*, which set the colour from there on.
 */
#ifndef PMCBPF_CLI_TOP_PICTURE_H
#define PMCBPF_CLI_TOP_PICTURE_H

#include "cli/common/common.h"

enum heat { HEAT_NONE = 1, HEAT_LOW, HEAT_MIDDLE, HEAT_HIGH, HEAT_LAST = HEAT_HIGH };

/* The size of a picture without a terminal. */
#define PICTURE_ROWS 256u
#define PICTURE_COLS 1024u

struct picture {
	struct buf text;
	unsigned int rows, cols;	/* size */
	unsigned int row, col;		/* position of the next character */
};

/* Begins an empty picture, in the memory of the old one. */
void picture_begin(struct picture *p, unsigned int rows, unsigned int cols);
void picture_free(struct picture *p);

/* Appends as much of the text as the line has room for; unprintable characters become '?'. */
void picture_text(struct picture *p, const char *text);
void picture_printf(struct picture *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends exactly `width` columns: the text is cut, or padded with blanks. */
void picture_field(struct picture *p, const char *text, unsigned int width);
void picture_skip(struct picture *p, unsigned int cols);

/* Appends a share by `format`, such as "%5.1f", in the colour of its size. */
void picture_share(struct picture *p, double percent, const char *format)
	__attribute__((format(printf, 3, 0)));

/* The columns of a text. */
unsigned int picture_width(const char *text);

/* Ends the line.  False: the picture has no room for another. */
bool picture_line(struct picture *p);

/* Moves *text behind the next run of one colour.  Returns its length, 0 at the end. */
size_t picture_run(const char **text, const char *end, enum heat *heat);

/* Appends the picture to `out`, without colours. */
void picture_plain(const struct picture *p, struct buf *out);

#endif
