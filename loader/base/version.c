/* SPDX-License-Identifier: BSD-2-Clause */
/* See version.h. */
#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "version.h"

int version_reaches(unsigned int major, unsigned int minor)
{
	unsigned int is_major, is_minor;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &is_major, &is_minor) != 2)
		return -ENOSYS;
	return is_major > major || (is_major == major && is_minor >= minor);
}
