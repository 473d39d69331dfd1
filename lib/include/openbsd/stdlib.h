/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's <stdlib.h> and strtonum(3), which is in libpctr. */
#ifndef PMCBPF_OPENBSD_STDLIB_H
#define PMCBPF_OPENBSD_STDLIB_H
#pragma GCC system_header

#include_next <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the decimal number and sets *errstr to NULL, or returns 0 and sets *errstr to the reason:
 * "invalid" (errno EINVAL), "too small" or "too large" (ERANGE).
 */
long long strtonum(const char *text, long long min, long long max,
		   const char **errstr) __asm__("pctr_strtonum");

#ifdef __cplusplus
}
#endif
#endif
