/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Part of <sys/ktr.h>: passes a program's options to the library.  A file that defines an option
 * describes it in an object that the library's constructor looks for.  Several files may do so if
 * they agree; if they do not, KTR_DEFINE_OPTIONS selects one file.
 */
#ifndef _SYS_KTR_OPTIONS_H_
#define _SYS_KTR_OPTIONS_H_

typedef __UINT64_TYPE__ __ktr_word_t;

#ifdef __cplusplus
#define __KTR_U32(value)	static_cast<unsigned int>(value)
#else
#define __KTR_U32(value)	((unsigned int)(value))
#endif

struct ktr_options {
	unsigned int version;		/* KTR_VERSION */
	unsigned int given;		/* which of these: __KTR_HAS_… */
	unsigned int compile, mask, verbose, reserved;
	__ktr_word_t size;		/* of a ring, bytes */
	__ktr_word_t cpumask[16];
};

#define __KTR_HAS_COMPILE	0x1u
#define __KTR_HAS_MASK		0x2u
#define __KTR_HAS_VERBOSE	0x4u
#define __KTR_HAS_SIZE		0x8u
#define __KTR_HAS_CPUMASK	0x10u
#define __KTR_HAS_OLDCPU	0x20u

#if defined(KTR_SIZE) && ((KTR_SIZE) & ((KTR_SIZE) - 1))
#error KTR_SIZE is not a power of two
#elif defined(KTR_SIZE) && (KTR_SIZE) > 1073741824
#error KTR_SIZE is more than 1073741824 (1 GB)
#elif defined(KTR_ENTRIES) && ((KTR_ENTRIES) & ((KTR_ENTRIES) - 1))
#error KTR_ENTRIES is not a power of two
#elif defined(KTR_ENTRIES) && (KTR_ENTRIES) > 16777216
#error KTR_ENTRIES is more than 16777216 (1 GB)
#elif defined(KTR_SIZE) && defined(KTR_ENTRIES) && (KTR_SIZE) != (KTR_ENTRIES) * 64
#error KTR_SIZE is not 64 times KTR_ENTRIES
#endif

#if defined(KTR_DEFINE_OPTIONS)
#define __KTR_LINKAGE __attribute__((__visibility__("default"), __used__))
#elif defined(KTR_COMPILE) || defined(KTR_MASK) || defined(KTR_VERBOSE) || defined(KTR_SIZE) || \
	defined(KTR_ENTRIES) || defined(KTR_CPUMASK) || defined(KTR_OLDCPU)
#define __KTR_LINKAGE __attribute__((__visibility__("default"), __used__, __weak__))
#endif

#ifdef __KTR_LINKAGE
#ifdef __cplusplus
extern "C" {
extern
#else
extern const struct ktr_options ktr_options;
#endif
__KTR_LINKAGE const struct ktr_options ktr_options = {
	KTR_VERSION,
	0
#ifdef KTR_COMPILE
	| __KTR_HAS_COMPILE
#endif
#ifdef KTR_MASK
	| __KTR_HAS_MASK
#endif
#ifdef KTR_VERBOSE
	| __KTR_HAS_VERBOSE
#endif
#if defined(KTR_SIZE) || defined(KTR_ENTRIES)
	| __KTR_HAS_SIZE
#endif
#ifdef KTR_CPUMASK
	| __KTR_HAS_CPUMASK
#endif
#ifdef KTR_OLDCPU
	| __KTR_HAS_OLDCPU
#endif
	,
#ifdef KTR_COMPILE
	__KTR_U32(KTR_COMPILE),
#else
	0,
#endif
#ifdef KTR_MASK
	__KTR_U32(KTR_MASK),
#else
	0,
#endif
#ifdef KTR_VERBOSE
	KTR_VERBOSE + 0,
#else
	0,
#endif
	0,
#ifdef KTR_SIZE
	KTR_SIZE,
#elif defined(KTR_ENTRIES)
	(KTR_ENTRIES) * 64,
#else
	0,
#endif
#ifdef KTR_CPUMASK
	{ KTR_CPUMASK }
#else
	{ 0 }
#endif
};
#ifdef __cplusplus
}
#endif
#endif

#endif
