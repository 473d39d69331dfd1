/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

#define BUF_MIN 512u

static size_t buf_room(const struct buf *buf)
{
	return buf->len < buf->size ? buf->size - buf->len : 0;
}

static bool buf_make_room(struct buf *buf, size_t more)
{
	size_t size = buf->size ? buf->size : BUF_MIN;
	char *data;

	if (buf->failed)
		return false;
	while (size - buf->len < more)
		size *= 2;
	if (size == buf->size)
		return true;
	data = realloc(buf->data, size);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->size = size;
	return true;
}

void buf_add(struct buf *buf, const char *data, size_t len)
{
	size_t room = buf_room(buf);

	if (!buf->fixed && !buf_make_room(buf, len))
		return;
	if (!buf->fixed || len < room)
		room = len;
	if (room)
		memcpy(buf->data + buf->len, data, room);
	buf->len += len;
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 || (!buf->fixed && !buf_make_room(buf, (size_t)len + 1))) {
		buf->failed = true;
		return;
	}
	if (buf_room(buf)) {
		va_start(args, format);
		vsnprintf(buf->data + buf->len, buf_room(buf), format, args);
		va_end(args);
	}
	buf->len += (size_t)len;
}

size_t buf_end(struct buf *buf)
{
	if (buf->size)
		buf->data[buf->len < buf->size ? buf->len : buf->size - 1] = '\0';
	return buf->len;
}

void buf_skip(struct buf *buf, size_t len)
{
	if (len == 0)
		return;
	memmove(buf->data, buf->data + len, buf->len - len);
	buf->len -= len;
}

void buf_free(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){ 0 };
}

const char *buf_hex(const uint8_t *bytes, size_t len, char *room)
{
	room[0] = '\0';
	for (size_t i = 0; i < len; i++)
		snprintf(room + 2 * i, 3, "%02x", bytes[i]);
	return room;
}
