/* SPDX-License-Identifier: BSD-2-Clause */
/* A library of unwound's; each of two has frames of another size. */
#include <string.h>

#ifndef ROOM
#define ROOM 100
#endif

void through(void (*function)(unsigned int n));

void through(void (*function)(unsigned int n))
{
	char room[ROOM];

	memset(room, 1, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	function(3);
	__asm__ volatile("" : : "r"(room) : "memory");
}
