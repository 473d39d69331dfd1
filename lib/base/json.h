/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A JSON writer (RFC 8259).  The caller nests objects and arrays properly; the writer adds commas,
 * quotes and escapes.  `key` is NULL for elements of an array and for the outermost value.  The
 * output is UTF-8 whatever bytes a text has.
 */
#ifndef PMCBPF_BASE_JSON_H
#define PMCBPF_BASE_JSON_H

#include <stdint.h>

#include "buf.h"

struct json {
	struct buf *out;
	bool comma;	/* a value precedes the next one at this level */
};

void json_open(struct json *json, const char *key, char bracket);	/* '{' or '[' */
void json_close(struct json *json, char bracket);			/* '}' or ']' */
void json_string(struct json *json, const char *key, const char *text);	/* NULL: null */
void json_number(struct json *json, const char *key, uint64_t number);
void json_seconds(struct json *json, const char *key, double seconds);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

#endif
