/* SPDX-License-Identifier: BSD-2-Clause */
/* See reply.h. */
#include <string.h>
#include <unistd.h>

#include "reply.h"

void reply_begin(struct reply *r)
{
	r->payload = 0;
	r->nfds = 0;
	r->own_fd = -1;
	r->why.text[0] = '\0';
	r->close = false;
	r->later = false;
}

void *reply_room(struct reply *r, size_t len)
{
	uint8_t *p = r->data + sizeof(struct wire_hdr) + r->payload;

	if (len > WIRE_MAX_REPLY - WIRE_MAX_REASON - sizeof(struct wire_hdr) - r->payload)
		return NULL;
	r->payload += (uint32_t)len;
	return memset(p, 0, len);
}

void reply_finish(struct reply *r, uint16_t op, uint32_t seq, int err)
{
	struct wire_hdr h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = op, .seq = seq,
			      .error = err };

	if (err) {
		r->payload = 0;
		r->nfds = 0;
		h.reason_len = (uint32_t)strlen(r->why.text);
	}
	h.len = r->payload;
	memcpy(r->data, &h, sizeof(h));
	memcpy(r->data + sizeof(h) + h.len, r->why.text, h.reason_len);
	r->len = sizeof(h) + h.len + h.reason_len;
}

void reply_end(struct reply *r)
{
	if (r->own_fd >= 0)
		close(r->own_fd);
	r->own_fd = -1;
}
