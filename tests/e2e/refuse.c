/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel that does not take one BPF program, $REFUSE, for LD_PRELOAD: what a verifier of another
 * release may do to any of them.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

long syscall(long number, ...)
{
	long (*real)(long number, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	const char *refuse = getenv("REFUSE");
	const union bpf_attr *attr;
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (unsigned int i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	attr = (const void *)a[1];
	if (number != __NR_bpf || a[0] != BPF_PROG_LOAD || !refuse ||
	    strncmp(attr->prog_name, refuse, sizeof(attr->prog_name)) != 0)
		return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (attr->log_level && attr->log_size)
		snprintf((char *)attr->log_buf, attr->log_size, "%s\nis not for me\n", refuse);
	errno = EACCES;
	return -1;
}
