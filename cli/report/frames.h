/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries that all writers make: events of a profile, chains of frames, the name of a frame. */
#ifndef PMCBPF_CLI_REPORT_FRAMES_H
#define PMCBPF_CLI_REPORT_FRAMES_H

#include "lib/base/json.h"
#include "chain.h"
#include "event.h"
#include "report.h"

enum kind { KIND_PROCESS, KIND_USER, KIND_KERNEL, KIND_JIT, KIND_INLINED, KIND_CUT };

enum kind frame_kind(const struct symbol *symbol);

/* "name", "[libc.so.6] 0x1234", "[unknown] 0x1234". */
void frame_label(struct buf *out, const struct symbol *symbol);

/*
 * Text as proper UTF-8 in one line, and as XML may hold it (U+FFFE and U+FFFF are replaced),
 * without the characters of `avoid`: they and controls become `instead`.
 */
void report_put_plain(struct buf *out, const char *text, const char *avoid, char instead);

/* Are samples missing, or the log's end? */
bool report_is_partial(const struct report *r);

/* How the chains ended, as members of the current object: "chains_cut", "chains_whole", … */
void report_put_ends(struct json *json, const struct chains *c);

/* Names of image states, as JSON has them. */
const char *report_image_state(enum image_state state);

/* "1f2e…", NULL without a build id. */
const char *report_image_id(const struct image *image, char room[static IMAGE_ID_TEXT]);

#endif
