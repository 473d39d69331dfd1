/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for probes, and words for breakpoints, of load.c. */
#ifndef VM_PLACES_H
#define VM_PLACES_H

#include <sched.h>
#include <stdint.h>

#define PLACE __attribute__((noinline, used))

PLACE static int load_call(int policy)
{
	return sched_get_priority_max(policy);
}

PLACE static unsigned long load_descend(unsigned long depth)
{
	unsigned long below = depth > 1 ? load_descend(depth - 1) : 0;

	__asm__ volatile("" : "+r"(below));	/* no loop */
	return below + 1;
}

volatile uint32_t load_word;
volatile uint64_t load_neighbour;	/* of another address, as often written */
void load_tick(void);

PLACE void load_tick(void)
{
	__asm__ volatile("");
}

#endif
