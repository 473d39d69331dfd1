/* SPDX-License-Identifier: BSD-2-Clause */
/* OpenBSD's sysctl(2), in libpctr, for the names that identify a CPU. */
#ifndef PMCBPF_OPENBSD_SYSCTL_H
#define PMCBPF_OPENBSD_SYSCTL_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CTL_HW	    6
#define CTL_MACHDEP 7		/* second level: see <machine/cpu.h> */
#define HW_MACHINE  1		/* "amd64", "arm64" */

/*
 * 0, or -1 with errno.  EPERM: no value can be set; EOPNOTSUPP: another name; ENOMEM: *oldlen is
 * too small.
 */
int sysctl(const int *name, unsigned int namelen, void *oldp, size_t *oldlen, void *newp,
	   size_t newlen) __asm__("pctr_sysctl");

#ifdef __cplusplus
}
#endif
#endif
