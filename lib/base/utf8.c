/* SPDX-License-Identifier: BSD-2-Clause */
/* See utf8.h. */
#include <stdint.h>

#include "utf8.h"

size_t utf8_length(const unsigned char *s)
{
	static const struct {
		unsigned char mask, lead, len;
		uint32_t least;
	} forms[] = {
		{ 0xe0, 0xc0, 2, 0x80 }, { 0xf0, 0xe0, 3, 0x800 }, { 0xf8, 0xf0, 4, 0x10000 },
	};

	if (s[0] < 0x80)
		return 1;
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		uint32_t code = s[0] & ~forms[f].mask;

		if ((s[0] & forms[f].mask) != forms[f].lead)
			continue;
		for (size_t i = 1; i < forms[f].len; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (s[i] & 0x3f);
		}
		if (code < forms[f].least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			return 0;
		return forms[f].len;
	}
	return 0;
}
