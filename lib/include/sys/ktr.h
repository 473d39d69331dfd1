/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trace points after BSD/OS's ktr(4), for C, C++ and assembly.  A point that is on costs little
 * more than reading the clock, one that is off costs the test of a variable, one that is not
 * compiled in costs nothing.  Link with -lktr.  ktr(4) lists the options to define before this file
 * is included, or with -D; ktr(9) the macros.
 */
#ifndef _SYS_KTR_H_
#define _SYS_KTR_H_

#include <sys/ktr_class.h>

#define KTR_VERSION	1

#if defined(KTR) && !defined(__ASSEMBLER__) && !defined(LOCORE)
#include <sys/ktr_options.h>
#endif

/* Classes that are compiled in, and classes that are on at the start. */
#ifndef KTR
#undef KTR_COMPILE
#define KTR_COMPILE	0
#elif !defined(KTR_COMPILE)
#define KTR_COMPILE	(~(KTR_SPL))
#endif
#ifndef KTR_MASK
#define KTR_MASK	(~(KTR_SPL | KTR_CLK))
#endif

/* The offsets of an entry's parameters. */
#define KTR_PARM1	24
#define KTR_PARM2	32
#define KTR_PARM3	40
#define KTR_PARM4	48
#define KTR_PARM5	56

#if defined(__ASSEMBLER__) || defined(LOCORE)
#include <sys/ktr_asm.h>
#else

#ifdef KTR
#include <sys/ktr_point.h>
#define KTR_STOP_IF(condition)	do { if (condition) ktr_mask = 0; } while (0)
#else
#define __KTR_POINT(m, format, n, types, words, arguments)	((void)0)
#define KTR_STOP_IF(condition)	((void)0)
#endif

#define CTR0(m, format) \
	__KTR_POINT(m, format, 0, 0, (__ktr_site), (format))
#define CTR1(m, format, a) \
	__KTR_POINT(m, format, 1, __KTR_T(a, 0), (__ktr_site, __KTR_W(a)), (format, a))
#define CTR2(m, format, a, b) \
	__KTR_POINT(m, format, 2, __KTR_T(a, 0) | __KTR_T(b, 1), \
		    (__ktr_site, __KTR_W(a), __KTR_W(b)), (format, a, b))
#define CTR3(m, format, a, b, c) \
	__KTR_POINT(m, format, 3, __KTR_T(a, 0) | __KTR_T(b, 1) | __KTR_T(c, 2), \
		    (__ktr_site, __KTR_W(a), __KTR_W(b), __KTR_W(c)), (format, a, b, c))
#define CTR4(m, format, a, b, c, d) \
	__KTR_POINT(m, format, 4, __KTR_T(a, 0) | __KTR_T(b, 1) | __KTR_T(c, 2) | __KTR_T(d, 3), \
		    (__ktr_site, __KTR_W(a), __KTR_W(b), __KTR_W(c), __KTR_W(d)), \
		    (format, a, b, c, d))
#define CTR5(m, format, a, b, c, d, e) \
	__KTR_POINT(m, format, 5, __KTR_T(a, 0) | __KTR_T(b, 1) | __KTR_T(c, 2) | __KTR_T(d, 3) | \
		    __KTR_T(e, 4), (__ktr_site, __KTR_W(a), __KTR_W(b), __KTR_W(c), __KTR_W(d), \
		    __KTR_W(e)), (format, a, b, c, d, e))

/* An integer or an address. */
#ifdef __cplusplus
#define __KTR_LONG(a)	static_cast<unsigned long>(__KTR_W(a))
#else
#define __KTR_LONG(a)	((unsigned long)__KTR_W(a))
#endif

/* Six parameters take two entries, if the program defines KTR_CTR6. */
#ifdef KTR_CTR6
#define CTR6(m, format, a, b, c, d, e, f) do { \
		__KTR_POINT(m, format, 5, __KTR_T(a, 0) | __KTR_T(b, 1) | __KTR_T(c, 2) | \
			    __KTR_T(d, 3) | __KTR_T(e, 4), (__ktr_site, __KTR_W(a), __KTR_W(b), \
			    __KTR_W(c), __KTR_W(d), __KTR_W(e)), (format, a, b, c, d, e, f)); \
		CTR1(m, "... and %lx", __KTR_LONG(f)); \
	} while (0)
#else
#define CTR6(m, format, a, b, c, d, e, f) \
	KTR_trace_points_have_at_most_5_parameters__see_KTR_CTR6_in_ktr_9
#endif

#define TR0(format)			CTR0(KTR_GEN, format)
#define TR1(format, a)			CTR1(KTR_GEN, format, a)
#define TR2(format, a, b)		CTR2(KTR_GEN, format, a, b)
#define TR3(format, a, b, c)		CTR3(KTR_GEN, format, a, b, c)
#define TR4(format, a, b, c, d)		CTR4(KTR_GEN, format, a, b, c, d)
#define TR5(format, a, b, c, d, e)	CTR5(KTR_GEN, format, a, b, c, d, e)
#define TR6(format, a, b, c, d, e, f)	CTR6(KTR_GEN, format, a, b, c, d, e, f)

#define ITR0(format)			CTR0(KTR_INIT, format)
#define ITR1(format, a)			CTR1(KTR_INIT, format, a)
#define ITR2(format, a, b)		CTR2(KTR_INIT, format, a, b)
#define ITR3(format, a, b, c)		CTR3(KTR_INIT, format, a, b, c)
#define ITR4(format, a, b, c, d)	CTR4(KTR_INIT, format, a, b, c, d)
#define ITR5(format, a, b, c, d, e)	CTR5(KTR_INIT, format, a, b, c, d, e)
#define ITR6(format, a, b, c, d, e, f)	CTR6(KTR_INIT, format, a, b, c, d, e, f)

#include <sys/ktr_event.h>

#endif
#endif
