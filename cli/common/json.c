/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON writer of --json (RFC 8259): output is UTF-8 whatever bytes a name holds. */
#include <string.h>

#include "lib/base/utf8.h"
#include "json.h"

static void put_quoted(struct buf *out, const char *text)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	const unsigned char *s = (const unsigned char *)text;

	buf_add(out, "\"", 1);
	while (*s) {
		size_t len = utf8_length(s);
		const char *known = strchr(plain, *s);

		if (known) {
			buf_printf(out, "\\%c", letter[known - plain]);
		} else if (len == 0) {
			buf_printf(out, "\\ufffd");
			len = 1;
		} else if (*s < 0x20) {
			buf_printf(out, "\\u%04x", *s);
		} else {
			buf_add(out, (const char *)s, len);
		}
		s += len;
	}
	buf_add(out, "\"", 1);
}

static void put_key(struct json *json, const char *key)
{
	if (json->comma)
		buf_add(json->out, ",", 1);
	json->comma = true;
	if (key) {
		put_quoted(json->out, key);
		buf_add(json->out, ":", 1);
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	put_key(json, key);
	buf_add(json->out, &bracket, 1);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	buf_add(json->out, &bracket, 1);
	json->comma = true;
}

void json_string(struct json *json, const char *key, const char *text)
{
	if (!text) {
		json_null(json, key);
		return;
	}
	put_key(json, key);
	put_quoted(json->out, text);
}

void json_number(struct json *json, const char *key, uint64_t number)
{
	put_key(json, key);
	buf_printf(json->out, "%llu", (unsigned long long)number);
}

void json_seconds(struct json *json, const char *key, double seconds)
{
	put_key(json, key);
	buf_printf(json->out, "%.6f", seconds);
}

void json_bool(struct json *json, const char *key, bool value)
{
	put_key(json, key);
	buf_printf(json->out, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
	put_key(json, key);
	buf_printf(json->out, "null");
}
