/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of saved rings, written and read: see save.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/pwrite.h"
#include "save.h"
#include "region.h"

#define SAVE_MAGIC "KTRSAVE"
#define SAVE_MAX   (256u << 20)

struct save_head {
	char magic[8];
	uint64_t size;		/* bytes of records that follow */
};

enum save_kind { SAVE_POINT = 1, SAVE_STRING };

/*
 * Each record: this header, then its texts with their NULs; the next one starts at a multiple of 8.
 */
struct save_record {
	uint32_t kind;
	uint32_t size;		/* of the whole record, rounded up */
	uint64_t key;
	struct ktr_site site;
};

/* The text at *at, which is moved behind it; NULL if it is not terminated. */
static const char *saved_take_text(const char **at, const char *end)
{
	const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

	*at = nul ? nul + 1 : end;
	return nul ? text : NULL;
}

static int saved_take_record(struct saved *s, const char *at, const struct save_record *r)
{
	const char *end = at + r->size, *text, *file;

	at += sizeof(*r);
	text = saved_take_text(&at, end);
	if (!text)
		return -EBADMSG;
	if (r->kind == SAVE_STRING) {
		s->strings[s->nstrings++] = (struct saved_text){ r->key, text };
		return 0;
	}
	file = saved_take_text(&at, end);
	if (r->kind != SAVE_POINT || !file)
		return -EBADMSG;
	s->points[s->npoints++] = (struct saved_point){ r->key, r->site, text, file };
	return 0;
}

static int saved_key_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int saved_take_records(struct saved *s, size_t size)
{
	size_t most = size / sizeof(struct save_record);
	int err = 0;

	s->points = calloc(most + 1, sizeof(*s->points));
	s->strings = calloc(most + 1, sizeof(*s->strings));
	if (!s->points || !s->strings)
		return -ENOMEM;
	for (size_t at = 0; at < size && !err;) {
		struct save_record r;

		if (size - at < sizeof(r))
			return -EBADMSG;
		memcpy(&r, s->data + at, sizeof(r));
		if (r.size < sizeof(r) || r.size > size - at)
			return -EBADMSG;
		err = saved_take_record(s, s->data + at, &r);
		at += r.size;
	}
	qsort(s->points, s->npoints, sizeof(*s->points), saved_key_order);
	qsort(s->strings, s->nstrings, sizeof(*s->strings), saved_key_order);
	return err;
}

int saved_open(struct saved *s, const struct rings *rings)
{
	uint64_t at = rings->base + region_tail(&rings->header);
	struct save_head head;
	int err = memory_get(rings->mem, at, &head, sizeof(head));

	*s = (struct saved){ 0 };
	if (err)
		return err == -EFAULT ? -ENOENT : err;
	if (memcmp(head.magic, SAVE_MAGIC, sizeof(head.magic)) != 0)
		return -ENOENT;
	if (head.size > SAVE_MAX || (rings->mem->size && head.size > rings->mem->size))
		return -EBADMSG;
	s->data = malloc((size_t)head.size + 1);
	err = s->data ? memory_get(rings->mem, at + sizeof(head), s->data, (size_t)head.size) :
		-ENOMEM;
	if (!err)
		err = saved_take_records(s, (size_t)head.size);
	if (err)
		saved_close(s);
	return err == -EFAULT ? -EBADMSG : err;
}

void saved_close(struct saved *s)
{
	free(s->data);
	free(s->points);
	free(s->strings);
	*s = (struct saved){ 0 };
}

const struct saved_point *saved_point(const struct saved *s, uint64_t key)
{
	return bsearch(&key, s->points, s->npoints, sizeof(*s->points), saved_key_order);
}

const char *saved_string(const struct saved *s, uint64_t address)
{
	const struct saved_text *found =
		bsearch(&address, s->strings, s->nstrings, sizeof(*s->strings), saved_key_order);

	return found ? found->text : NULL;
}

static void saver_record(struct saver *saver, struct save_record *r, const char *text,
			 const char *file)
{
	static const char zeros[8];
	size_t len = strlen(text) + 1 + (file ? strlen(file) + 1 : 0);

	r->size = (uint32_t)((sizeof(*r) + len + 7) & ~(size_t)7);
	buf_add(&saver->text, (const char *)r, sizeof(*r));
	buf_add(&saver->text, text, strlen(text) + 1);
	if (file)
		buf_add(&saver->text, file, strlen(file) + 1);
	buf_add(&saver->text, zeros, r->size - sizeof(*r) - len);
}

void saver_point(struct saver *saver, uint64_t key, const struct ktr_site *site, const char *text,
		 const char *file)
{
	saver_record(saver, &(struct save_record){ .kind = SAVE_POINT, .key = key, .site = *site },
		     text, file);
}

void saver_string(struct saver *saver, uint64_t address, const char *text)
{
	saver_record(saver, &(struct save_record){ .kind = SAVE_STRING, .key = address }, text,
		     NULL);
}

static struct ktr_region saver_header(const struct rings *rings)
{
	struct ktr_region h = rings->header;
	uint64_t formats = (uint64_t)h.formats * sizeof(struct ktr_format);

	memcpy(h.magic, KTR_REGION_MAGIC, sizeof(h.magic));
	h.formats_offset = h.formats ? KTR_REGION_PAGE : 0;
	h.hdrsize = KTR_REGION_PAGE + (uint32_t)((formats + KTR_REGION_PAGE - 1) &
						 ~(uint64_t)(KTR_REGION_PAGE - 1));
	return h;
}

/* Slots without an entry stay empty: the file has holes there. */
int saver_begin(int fd, const struct rings *rings, const struct ktr_stamp *now)
{
	struct ktr_region h = saver_header(rings);
	int err;

	if (now)
		h.last = *now;
	if (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)region_tail(&h)) != 0)
		return -errno;
	err = pwrite_all(fd, &h, sizeof(h), 0);
	if (!err && h.formats)
		err = pwrite_all(fd, rings->formats, h.formats * sizeof(*rings->formats),
				h.formats_offset);
	return err;
}

static uint64_t saver_ring(const struct rings *rings, uint32_t ring)
{
	return saver_header(rings).hdrsize + ring * rings->header.stride;
}

int saver_entry(int fd, const struct item *item)
{
	return pwrite_all(fd, item->entry, sizeof(*item->entry),
			 saver_ring(item->rings, item->cpu) + sizeof(struct ktr_ring) +
				 (uint64_t)item->index * KTR_ENTRY_SIZE);
}

/* Heads come last: a file that was cut short shows no entries rather than wrong ones. */
int saver_end(int fd, const struct merge *merge, const struct saver *saver)
{
	struct save_head head = { SAVE_MAGIC, saver->text.len };
	struct ktr_region h;
	uint64_t at = 0;
	int err = saver->text.failed ? -ENOMEM : 0;

	for (size_t i = 0; i < merge->ncursors && !err; i++) {
		const struct cursor *c = &merge->cursors[i];
		struct ktr_ring ring = { .head = c->end, .cpu = c->cpu };

		h = saver_header(c->rings);
		at = region_tail(&h);
		err = pwrite_all(fd, &ring, sizeof(ring), saver_ring(c->rings, c->ring));
	}
	if (!err)
		err = pwrite_all(fd, &head, sizeof(head), at);
	return err ? err : pwrite_all(fd, saver->text.data, saver->text.len, at + sizeof(head));
}
