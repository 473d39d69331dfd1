/* SPDX-License-Identifier: BSD-2-Clause */
/* The composition of ioctl(2)'s requests: Linux's macros, and OpenBSD's names of their parts. */
#ifndef PMCBPF_OPENBSD_IOCCOM_H
#define PMCBPF_OPENBSD_IOCCOM_H

#include <sys/ioctl.h>

#define IOCPARM_LEN(request) _IOC_SIZE(request)
#define IOCGROUP(request)    _IOC_TYPE(request)
#define IOCBASECMD(request)  ((request) & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT))

#endif
