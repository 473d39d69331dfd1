/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Part of <sys/ktr.h>: entries that schedgraph draws, as FreeBSD's ktr(9) names them.  Groups and
 * attributes are literals; an attribute is its format, "prio:%d", and its value.
 */
#ifndef _SYS_KTR_EVENT_H_
#define _SYS_KTR_EVENT_H_

#define KTR_ATTR_LINKED	"linkedto:\"%s\""

#define __KTR_EVENT(group, kind) \
	"KTRGRAPH group:\"" group "\", id:\"%s\", " kind ", attributes: "

#define KTR_EVENT0(m, group, ident, kind, data) \
	CTR2(m, __KTR_EVENT(group, kind) "none", ident, data)
#define KTR_EVENT1(m, group, ident, kind, data, a0, v0) \
	CTR3(m, __KTR_EVENT(group, kind) a0, ident, data, v0)
#define KTR_EVENT2(m, group, ident, kind, data, a0, v0, a1, v1) \
	CTR4(m, __KTR_EVENT(group, kind) a0 ", " a1, ident, data, v0, v1)
#define KTR_EVENT3(m, group, ident, kind, data, a0, v0, a1, v1, a2, v2) \
	CTR5(m, __KTR_EVENT(group, kind) a0 ", " a1 ", " a2, ident, data, v0, v1, v2)

/* Six parameters: without KTR_CTR6's second entry, the fourth attribute is left out. */
#ifdef KTR_CTR6
#define KTR_EVENT4(m, group, ident, kind, data, a0, v0, a1, v1, a2, v2, a3, v3) do { \
		KTR_EVENT3(m, group, ident, kind, data, a0, v0, a1, v1, a2, v2); \
		CTR1(m, "... and " a3, v3); \
	} while (0)
#else
#ifdef KTR
typedef int __ktr_without_the_fourth_attribute
	__attribute__((__deprecated__("KTR_EVENT4 drops the fourth attribute: see KTR_CTR6")));
#define __KTR_DROPPED ((void)sizeof(__ktr_without_the_fourth_attribute))
#else
#define __KTR_DROPPED ((void)0)
#endif
#define KTR_EVENT4(m, group, ident, kind, data, a0, v0, a1, v1, a2, v2, a3, v3) do { \
		__KTR_DROPPED; \
		KTR_EVENT3(m, group, ident, kind, data, a0, v0, a1, v1, a2, v2); \
	} while (0)
#endif

#define __KTR_STATE	"state:\"%s\""
#define KTR_STATE0(m, group, ident, state) \
	KTR_EVENT0(m, group, ident, __KTR_STATE, state)
#define KTR_STATE1(m, group, ident, state, a0, v0) \
	KTR_EVENT1(m, group, ident, __KTR_STATE, state, a0, v0)
#define KTR_STATE2(m, group, ident, state, a0, v0, a1, v1) \
	KTR_EVENT2(m, group, ident, __KTR_STATE, state, a0, v0, a1, v1)
#define KTR_STATE3(m, group, ident, state, a0, v0, a1, v1, a2, v2) \
	KTR_EVENT3(m, group, ident, __KTR_STATE, state, a0, v0, a1, v1, a2, v2)
#define KTR_STATE4(m, group, ident, state, a0, v0, a1, v1, a2, v2, a3, v3) \
	KTR_EVENT4(m, group, ident, __KTR_STATE, state, a0, v0, a1, v1, a2, v2, a3, v3)

#define __KTR_COUNTER	"counter:%d"
#define KTR_COUNTER0(m, group, ident, counter) \
	KTR_EVENT0(m, group, ident, __KTR_COUNTER, counter)
#define KTR_COUNTER1(m, group, ident, counter, a0, v0) \
	KTR_EVENT1(m, group, ident, __KTR_COUNTER, counter, a0, v0)
#define KTR_COUNTER2(m, group, ident, counter, a0, v0, a1, v1) \
	KTR_EVENT2(m, group, ident, __KTR_COUNTER, counter, a0, v0, a1, v1)
#define KTR_COUNTER3(m, group, ident, counter, a0, v0, a1, v1, a2, v2) \
	KTR_EVENT3(m, group, ident, __KTR_COUNTER, counter, a0, v0, a1, v1, a2, v2)
#define KTR_COUNTER4(m, group, ident, counter, a0, v0, a1, v1, a2, v2, a3, v3) \
	KTR_EVENT4(m, group, ident, __KTR_COUNTER, counter, a0, v0, a1, v1, a2, v2, a3, v3)

#define __KTR_POINTS	"point:\"%s\""
#define KTR_POINT0(m, group, ident, point) \
	KTR_EVENT0(m, group, ident, __KTR_POINTS, point)
#define KTR_POINT1(m, group, ident, point, a0, v0) \
	KTR_EVENT1(m, group, ident, __KTR_POINTS, point, a0, v0)
#define KTR_POINT2(m, group, ident, point, a0, v0, a1, v1) \
	KTR_EVENT2(m, group, ident, __KTR_POINTS, point, a0, v0, a1, v1)
#define KTR_POINT3(m, group, ident, point, a0, v0, a1, v1, a2, v2) \
	KTR_EVENT3(m, group, ident, __KTR_POINTS, point, a0, v0, a1, v1, a2, v2)
#define KTR_POINT4(m, group, ident, point, a0, v0, a1, v1, a2, v2, a3, v3) \
	KTR_EVENT4(m, group, ident, __KTR_POINTS, point, a0, v0, a1, v1, a2, v2, a3, v3)

/* A key is a number or an address. */
#define __KTR_START	"start:0x%lX"
#define KTR_START0(m, group, ident, key) \
	KTR_EVENT0(m, group, ident, __KTR_START, __KTR_LONG(key))
#define KTR_START1(m, group, ident, key, a0, v0) \
	KTR_EVENT1(m, group, ident, __KTR_START, __KTR_LONG(key), a0, v0)
#define KTR_START2(m, group, ident, key, a0, v0, a1, v1) \
	KTR_EVENT2(m, group, ident, __KTR_START, __KTR_LONG(key), a0, v0, a1, v1)
#define KTR_START3(m, group, ident, key, a0, v0, a1, v1, a2, v2) \
	KTR_EVENT3(m, group, ident, __KTR_START, __KTR_LONG(key), a0, v0, a1, v1, a2, v2)
#define KTR_START4(m, group, ident, key, a0, v0, a1, v1, a2, v2, a3, v3) \
	KTR_EVENT4(m, group, ident, __KTR_START, __KTR_LONG(key), a0, v0, a1, v1, a2, v2, a3, v3)

#define __KTR_STOP	"stop:0x%lX"
#define KTR_STOP0(m, group, ident, key) \
	KTR_EVENT0(m, group, ident, __KTR_STOP, __KTR_LONG(key))
#define KTR_STOP1(m, group, ident, key, a0, v0) \
	KTR_EVENT1(m, group, ident, __KTR_STOP, __KTR_LONG(key), a0, v0)
#define KTR_STOP2(m, group, ident, key, a0, v0, a1, v1) \
	KTR_EVENT2(m, group, ident, __KTR_STOP, __KTR_LONG(key), a0, v0, a1, v1)
#define KTR_STOP3(m, group, ident, key, a0, v0, a1, v1, a2, v2) \
	KTR_EVENT3(m, group, ident, __KTR_STOP, __KTR_LONG(key), a0, v0, a1, v1, a2, v2)
#define KTR_STOP4(m, group, ident, key, a0, v0, a1, v1, a2, v2, a3, v3) \
	KTR_EVENT4(m, group, ident, __KTR_STOP, __KTR_LONG(key), a0, v0, a1, v1, a2, v2, a3, v3)

#endif
