/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of logs made by hand, by offset, independently of lib/base/logfmt.h; and a parser for
 * one of them.
 */
#ifndef LOGBYTES_H
#define LOGBYTES_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pmclog.h>

#include "unit.h"

struct bytes {
	uint8_t at[65536];
	size_t len;
};

static inline void u32(struct bytes *b, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		b->at[b->len++] = (uint8_t)(v >> 8 * i);
}

static inline void u64(struct bytes *b, uint64_t v)
{
	u32(b, (uint32_t)v);
	u32(b, (uint32_t)(v >> 32));
}

/* Text in n bytes; garbage follows its NUL, as in the kernel's. */
static inline void text(struct bytes *b, const char *s, size_t n)
{
	memset(b->at + b->len, 0xa5, n);
	memcpy(b->at + b->len, s, strlen(s) + 1 < n ? strlen(s) + 1 : n);
	b->len += n;
}

static inline size_t padded(const char *path)
{
	return (strlen(path) + 4) / 4 * 4;
}

#define SEC  0x5a000000u
#define NSEC 200000000u
#define TSC  0x0000012345678900ull

static inline void old(struct bytes *b, unsigned int type, size_t payload)
{
	u32(b, 0xee000000u | type << 16 | (uint32_t)(12 + payload));
	u32(b, SEC);
	u32(b, NSEC);
}

static inline void new(struct bytes *b, unsigned int type, size_t payload)
{
	u32(b, 0xee000000u | type << 16 | (uint32_t)(16 + payload));
	u32(b, 0xdeadbeef);		/* uninitialised in FreeBSD's logs */
	u64(b, TSC);
}

static inline void old_init(struct bytes *b)
{
	b->len = 0;
	old(b, 2, 8);
	u32(b, 0x03010000);
	u32(b, 0x91);
}

static inline void new_init(struct bytes *b, uint32_t version, uint64_t freq)
{
	b->len = 0;
	new(b, 3, 96);
	u32(b, version);
	u32(b, 0x98);
	u64(b, freq);
	u64(b, 1700000000);
	u64(b, 500000000);
	text(b, "GenuineIntel-6-5E-3", 64);
}

static struct pmclog_ev ev;

/* A parser that has got past INITIALIZE, and reads one record. */
static inline void *first_record(struct bytes *b, int expect)
{
	void *p = pmclog_open(PMCLOG_FD_NONE);

	assert_non_null(p);
	assert_int_equal(pmclog_feed(p, (char *)b->at, (int)b->len), 0);
	assert_int_equal(pmclog_read(p, &ev), 0);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_INITIALIZE);
	assert_int_equal(pmclog_read(p, &ev), expect);
	return p;
}

#define OLD(type, payload, code)								\
	do {											\
		old_init(&b);									\
		old(&b, type, payload);								\
		code;										\
		pmclog_close(first_record(&b, 0));						\
		assert_int_equal(ev.pl_state, PMCLOG_OK);					\
		assert_int_equal(ev.pl_offset, b.len);						\
		assert_int_equal(ev.pl_ts.tv_sec, SEC);						\
		assert_int_equal(ev.pl_ts.tv_nsec, NSEC);					\
	} while (0)
#define NEW(type, payload, code)								\
	do {											\
		new_init(&b, 0x0a000000, 2400000000);						\
		new(&b, type, payload);								\
		code;										\
		pmclog_close(first_record(&b, 0));						\
		assert_int_equal(ev.pl_type, type);						\
		assert_int_equal(ev.pl_offset, b.len);						\
		assert_int_equal(ev.pl_len, 16 + (payload));					\
		assert_true(ev.pl_tsc == TSC);							\
	} while (0)

#endif
