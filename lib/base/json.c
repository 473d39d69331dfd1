/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "json.h"
#include "utf8.h"

static void json_quote(struct buf *out, const char *text)
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

static void json_key(struct json *json, const char *key)
{
	if (json->comma)
		buf_add(json->out, ",", 1);
	json->comma = true;
	if (key) {
		json_quote(json->out, key);
		buf_add(json->out, ":", 1);
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	json_key(json, key);
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
	json_key(json, key);
	json_quote(json->out, text);
}

void json_number(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	buf_printf(json->out, "%llu", (unsigned long long)number);
}

void json_seconds(struct json *json, const char *key, double seconds)
{
	json_key(json, key);
	buf_printf(json->out, "%.6f", seconds);
}

void json_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	buf_printf(json->out, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
	json_key(json, key);
	buf_printf(json->out, "null");
}
