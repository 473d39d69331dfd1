/* SPDX-License-Identifier: BSD-2-Clause */
/* See tracefs_name.h. */
#include <string.h>

#include "tracefs_name.h"

bool tracefs_name_valid(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-.";
	size_t len = strspn(name, letters), rest;

	if (!len || *name == '.' || name[len] != ':' || name[len + 1] == '.')
		return false;
	rest = strspn(name + len + 1, letters);
	return rest && !name[len + 1 + rest];
}
