/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's <stdlib.h>, and strtonum(3); in libpctr. */
#ifndef PMCBPF_OPENBSD_STDLIB_H
#define PMCBPF_OPENBSD_STDLIB_H
#pragma GCC system_header

#include_next <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The decimal number, or 0 and in *errstr why not: "invalid" (EINVAL), "too small" or "too large"
 * (ERANGE); NULL where it is one.
 */
long long strtonum(const char *text, long long min, long long max,
		   const char **errstr) __asm__("pctr_strtonum");

#ifdef __cplusplus
}
#endif
#endif
