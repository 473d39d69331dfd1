/* SPDX-License-Identifier: BSD-2-Clause */
/* Part of <sys/ktr.h>: the parts of a trace point of a C or C++ program. */
#ifndef _SYS_KTR_POINT_H_
#define _SYS_KTR_POINT_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Classes that are on; 0 stops all tracing, and the history is kept. */
extern volatile unsigned int ktr_mask;
extern int ktr_version;
extern int ktr_entries;			/* entries of each CPU's ring; 0: tracing is off */

/* Stops tracing until ktr_thaw() has been called as often. */
void ktr_freeze(void);
void ktr_thaw(void);
/* Makes new, empty rings of so many entries, a power of two.  Returns 0, or -1 with errno. */
int ktr_resize(unsigned int __entries);

/* The writers take a site, or a format's address with the top bit set, and parameters. */
#if defined(__x86_64__) && !defined(__clang__)
#define __KTR_WRITER	__attribute__((__noplt__))
#else
#define __KTR_WRITER
#endif
__KTR_WRITER void __ktr_w0(__ktr_word_t);
__KTR_WRITER void __ktr_w1(__ktr_word_t, __ktr_word_t);
__KTR_WRITER void __ktr_w2(__ktr_word_t, __ktr_word_t, __ktr_word_t);
__KTR_WRITER void __ktr_w3(__ktr_word_t, __ktr_word_t, __ktr_word_t, __ktr_word_t);
__KTR_WRITER void __ktr_w4(__ktr_word_t, __ktr_word_t, __ktr_word_t, __ktr_word_t, __ktr_word_t);
__KTR_WRITER void __ktr_w5(__ktr_word_t, __ktr_word_t, __ktr_word_t, __ktr_word_t, __ktr_word_t,
			   __ktr_word_t);

/* Does nothing: the compiler checks parameters against the format here. */
static __inline__ __attribute__((__format__(__printf__, 1, 2), __unused__))
void __ktr_printf(const char *__format, ...)
{
	(void)__format;
}

#ifdef __cplusplus
}
#endif

/*
 * A parameter's declared type: enum ktr_argtype of <sys/ktr_region.h>.  __KTR_T(a, i) is the type
 * of parameter i, shifted to its place in ktr_argtypes; __KTR_W(a) is the parameter as a word.
 */
#define __KTR_T(a, i)	(__KTR_U32(__KTR_TYPE(a)) << 4 * (i))
#ifndef __cplusplus
__extension__ typedef long long __ktr_llong_t;
__extension__ typedef unsigned long long __ktr_ullong_t;
#define __KTR_TYPE(a) __extension__ _Generic((a), \
	_Bool: 2, char: (char)-1 < 0 ? 1 : 2, signed char: 1, unsigned char: 2, \
	short: 3, unsigned short: 4, int: 5, unsigned int: 6, \
	long: sizeof(long) == 8 ? 7 : 5, unsigned long: sizeof(long) == 8 ? 8 : 6, \
	__ktr_llong_t: 7, __ktr_ullong_t: 8, \
	float: 10, double: 10, long double: 10, default: 9)
#define __KTR_W(a)	((__ktr_word_t)(a))
#else
extern "C++" {
template <typename T> struct __ktr_integer {
	enum { type = (sizeof(T) == 1 ? 1 : sizeof(T) == 2 ? 3 : sizeof(T) == 4 ? 5 : 7) +
		      (static_cast<T>(-1) > static_cast<T>(0)) };
};
template <typename T> struct __ktr_type { enum { type = sizeof(T) == 8 ? 7 : 5 }; };
template <typename T> struct __ktr_type<T *> { enum { type = 9 }; };
#define __KTR_INTEGER(t) \
	template <> struct __ktr_type<t> { enum { type = __ktr_integer<t>::type }; };
__KTR_INTEGER(bool) __KTR_INTEGER(char) __KTR_INTEGER(signed char) __KTR_INTEGER(unsigned char)
__KTR_INTEGER(short) __KTR_INTEGER(unsigned short) __KTR_INTEGER(int) __KTR_INTEGER(unsigned int)
__KTR_INTEGER(long) __KTR_INTEGER(unsigned long) __KTR_INTEGER(wchar_t)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
__KTR_INTEGER(long long) __KTR_INTEGER(unsigned long long)
#pragma GCC diagnostic pop
template <> struct __ktr_type<float> { enum { type = 10 }; };
template <> struct __ktr_type<double> { enum { type = 10 }; };
template <> struct __ktr_type<long double> { enum { type = 10 }; };
template <int N> struct __ktr_size { char bytes[N]; };
template <typename T> __ktr_size<__ktr_type<T>::type> __ktr_type_of(T);
template <typename T> inline __ktr_word_t __ktr_word(T v)
{
	return static_cast<__ktr_word_t>(v);
}
template <typename T> inline __ktr_word_t __ktr_word(T *p)
{
	return reinterpret_cast<__ktr_word_t>(p);
}
}
#define __KTR_TYPE(a)	sizeof(__ktr_type_of(a))
#define __KTR_W(a)	__ktr_word(a)
#endif

/*
 * The record of a trace point, in a section of its own and without relocations; `site` becomes its
 * address.  A format that is not a literal, and any format on other machines, is passed itself.
 */
#define __KTR_TEXT(format) \
	(__KTR_W(format) | __KTR_W(1) << 63)
#if defined(__KTR_PORTABLE)	/* as on machines without sites */
#elif defined(__x86_64__) && !defined(__ILP32__)
#define __KTR_ADDRESS	"leaq 7771b(%%rip), %0"
#define __KTR_SYMBOL	"i"
#elif defined(__aarch64__)
#define __KTR_ADDRESS	"adrp %0, 7771b\n\tadd %0, %0, :lo12:7771b"
#define __KTR_SYMBOL	"S"
#endif
#ifdef __KTR_ADDRESS
/* Evaluated early: an expression that only the optimizer finds constant does not count. */
#ifdef __cplusplus
#define __KTR_CHOOSE(format, text, yes, no) ((text)[0] == '"' ? (yes) : (no))
#else
#define __KTR_CHOOSE(format, text, yes, no) \
	__builtin_choose_expr(__builtin_constant_p(format), yes, no)
#endif
#define __KTR_SITE(site, m, format, text, types) do { \
	if (__KTR_CHOOSE(format, text, 1, 0)) \
		__asm__(".pushsection ktr_sites,\"a\",@progbits\n\t.balign 8\n" \
			"7771:\t.long %c1 - .\n\t.long %c2 - .\n\t" \
			".long %c3\n\t.long %c4\n\t.long %c5\n\t.long 0\n\t" \
			".popsection\n\t" __KTR_ADDRESS : "=r" (site) : \
			__KTR_SYMBOL (__KTR_CHOOSE(format, text, format, "")), \
			__KTR_SYMBOL (__FILE__), "i" (__LINE__), "i" (__KTR_U32(m)), "i" (types)); \
	else \
		site = __KTR_TEXT(format); \
	} while (0)
#else
#define __KTR_SITE(site, m, format, text, types) site = __KTR_TEXT(format)
#endif

/* A class has to be a constant: it is an enumerator here. */
#define __KTR_POINT_(m, format, text, n, types, words, arguments) do { \
	enum { __ktr_compiled = (__KTR_U32(KTR_COMPILE) & __KTR_U32(m)) != 0 }; \
	if (__ktr_compiled && \
	    __builtin_expect((ktr_mask & __KTR_U32(KTR_COMPILE) & __KTR_U32(m)) != 0, 0)) { \
		__ktr_word_t __ktr_site; \
		__KTR_SITE(__ktr_site, m, format, text, types); \
		__ktr_w##n words; \
	} \
	if (0) \
		__ktr_printf arguments; \
	} while (0)
#define __KTR_STRING(text)	#text
#define __KTR_POINT(m, format, n, types, words, arguments) \
	__KTR_POINT_(m, format, __KTR_STRING(format), n, types, words, arguments)

#endif
