/* SPDX-License-Identifier: BSD-2-Clause */
/* A loop of known length: two user-mode instructions a round. */
#ifndef VM_SPIN_H
#define VM_SPIN_H

#include <stdint.h>

static inline void spin(uint64_t rounds)
{
#if defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
#elif defined(__x86_64__)
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
#else
#error "no loop for this architecture"
#endif
}

#endif
