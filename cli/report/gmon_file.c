/* SPDX-License-Identifier: BSD-2-Clause */
/* The two layouts of gprof files: see gmon.h. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/pwrite.h"
#include "gmon.h"

#define BSD_VERSION 0x51879
#define GNU_GAP	    4096u	/* pieces of code that are closer are one */
#define GNU_COUNTER UINT16_MAX

struct bsd_header {
	uint64_t low, high;
	int32_t size;			/* of this and the histogram */
	int32_t version;
	int32_t rate;
	int32_t counter;		/* bits of the histogram's, 0: 16 */
	int32_t spare[2];
};

struct bsd_arc {
	uint64_t from, to;
	int64_t count;
};

static int gmon_write_buf(int fd, struct buf *data, uint64_t at)
{
	int err = data->failed ? -ENOMEM : pwrite_all(fd, data->data, data->len, at);

	buf_free(data);
	return err;
}

/* Counters that are not written are holes in the file, and 0. */
static int gmon_write_hits(const struct gmon_file *file, int fd, bool wide, bool *over)
{
	size_t width = wide ? sizeof(uint64_t) : sizeof(uint16_t);
	int err = 0;

	for (size_t i = 0; !err && i < file->nhits; i++) {
		const struct gmon_hit *hit = &file->hits[i];
		uint64_t bucket = (hit->address - file->low) / GMON_BUCKET;
		uint16_t narrow = hit->samples > UINT16_MAX ? UINT16_MAX : (uint16_t)hit->samples;

		*over |= !wide && hit->samples > UINT16_MAX;
		err = pwrite_all(fd, wide ? (const void *)&hit->samples : &narrow, width,
				sizeof(struct bsd_header) + bucket * width);
	}
	return err;
}

int gmon_write_bsd(const struct gmon_file *file, int fd, bool wide)
{
	uint64_t buckets = (file->high - file->low) / GMON_BUCKET;
	uint64_t width = wide ? sizeof(uint64_t) : sizeof(uint16_t);
	struct bsd_header header = {
		.low = file->low, .high = file->high, .version = BSD_VERSION,
		.counter = wide ? 64 : 0,
	};
	struct buf arcs = { 0 };
	bool over = false;
	int err;

	if (buckets > (INT_MAX - sizeof(header)) / width)
		return -E2BIG;
	header.size = (int32_t)(sizeof(header) + buckets * width);
	for (size_t i = 0; i < file->narcs; i++) {
		const struct bsd_arc arc = {
			file->arcs[i].from, file->arcs[i].to, (int64_t)file->arcs[i].count,
		};

		buf_add(&arcs, (const char *)&arc, sizeof(arc));
	}
	err = ftruncate(fd, header.size) < 0 ? -errno : 0;
	if (!err)
		err = pwrite_all(fd, &header, sizeof(header), 0);
	if (!err)
		err = gmon_write_hits(file, fd, wide, &over);
	if (err)
		buf_free(&arcs);
	else
		err = gmon_write_buf(fd, &arcs, header.size);
	return err ? err : over ? -EOVERFLOW : 0;
}

/* One histogram of hits, without `done` samples of each in earlier ones.  True: more are left. */
static bool gnu_put_histogram(struct buf *out, const struct gmon_hit *hits, size_t n, uint64_t done,
			      uint32_t ticks)
{
	uint64_t low = hits[0].address, high = hits[n - 1].address + GMON_BUCKET;
	bool more = false;
	uint32_t buckets = (uint32_t)((high - low) / GMON_BUCKET), rate = ticks ? ticks : 1;
	/* The abbreviation is the last. */
	const char *unit = ticks ? "seconds\0\0\0\0\0\0\0\0s" : "samples\0\0\0\0\0\0\0\0s";

	buf_add(out, "\0", 1);
	buf_add(out, (const char *)&low, sizeof(low));
	buf_add(out, (const char *)&high, sizeof(high));
	buf_add(out, (const char *)&buckets, sizeof(buckets));
	buf_add(out, (const char *)&rate, sizeof(rate));
	buf_add(out, unit, 16);
	for (uint64_t address = low; address < high; address += GMON_BUCKET) {
		uint64_t left = 0;
		uint16_t counter;

		if (hits->address == address) {
			left = hits->samples > done ? hits->samples - done : 0;
			hits++;
		}
		counter = left > GNU_COUNTER ? GNU_COUNTER : (uint16_t)left;
		more |= left > GNU_COUNTER;
		buf_add(out, (const char *)&counter, sizeof(counter));
	}
	return more;
}

static void gnu_put_arc(struct buf *out, const struct gmon_arc *arc)
{
	uint64_t left = arc->count;

	while (left > 0) {
		uint32_t count = left > INT32_MAX ? INT32_MAX : (uint32_t)left;

		buf_add(out, "\1", 1);
		buf_add(out, (const char *)&arc->from, sizeof(arc->from));
		buf_add(out, (const char *)&arc->to, sizeof(arc->to));
		buf_add(out, (const char *)&count, sizeof(count));
		left -= count;
	}
}

int gmon_write_gnu(const struct gmon_file *file, int fd)
{
	static const char header[20] = "gmon\1";	/* the version, little-endian */
	struct buf out = { 0 };
	size_t to;

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the version above");
	buf_add(&out, header, sizeof(header));
	for (size_t from = 0; from < file->nhits; from = to) {
		uint64_t done = 0;

		to = from + 1;
		while (to < file->nhits &&
		       file->hits[to].address - file->hits[to - 1].address < GNU_GAP)
			to++;
		while (gnu_put_histogram(&out, &file->hits[from], to - from, done, file->rate))
			done += GNU_COUNTER;
	}
	for (size_t i = 0; i < file->narcs; i++)
		gnu_put_arc(&out, &file->arcs[i]);
	return gmon_write_buf(fd, &out, 0);
}
