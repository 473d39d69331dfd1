/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries that all writers make: events of a profile, frames of a stack, the name of a frame. */
#ifndef PMCBPF_CLI_REPORT_FRAMES_H
#define PMCBPF_CLI_REPORT_FRAMES_H

#include "report.h"

/* PMCs of one event are shown as one, under the number of the first. */
uint32_t event_first(const struct profile *p, uint32_t event);
/* Samples of all PMCs of the event `first`; of a PMC that is not the first of its event, 0. */
uint64_t event_total(const struct profile *p, uint32_t first);
/* Events that have samples. */
size_t event_count(const struct profile *p);

/*
 * The weight of samples of an event, by its period: nanoseconds of a clock, or events; INT64_MAX
 * at most.  0: the log has no period.
 */
uint64_t event_weight(const struct walk_event *event, uint64_t samples);
bool event_is_clock(const struct walk_event *event);

/* A frame of a stack and the place it is at. */
struct link {
	const struct frame *frame;
	const struct place *place;
};

struct chain {
	struct link *links;	/* the outermost caller first, inlined functions behind their own */
	size_t n, room;
};

/* 0 or -ENOMEM.  A chain may be filled again; chain_free() after the last time. */
int chain_fill(struct chain *chain, const struct profile *p, uint32_t stack);
void chain_free(struct chain *chain);

enum kind { KIND_PROCESS, KIND_USER, KIND_KERNEL, KIND_JIT, KIND_INLINED };

enum kind symbol_kind(const struct symbol *symbol);

/* "name", "[libc.so.6] 0x1234", "[unknown] 0x1234". */
void symbol_label(struct buf *out, const struct symbol *symbol);

/*
 * Text as proper UTF-8 in one line, and as XML may hold it (U+FFFE and U+FFFF are replaced),
 * without the characters of `avoid`: they and controls become `instead`.
 */
void put_plain(struct buf *out, const char *text, const char *avoid, char instead);

/* Are samples missing, or the log's end? */
bool report_is_partial(const struct report *r);

/* Names of image states, as JSON has them. */
const char *image_state_name(enum image_state state);

/* "1f2e…", NULL without a build id. */
const char *image_id_text(const struct image *image, char room[static IMAGE_ID_TEXT]);

#endif
