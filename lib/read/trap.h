/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counter instructions that may trap.  Once the administrator withdraws user access, the next
 * instruction raises a signal; the event's page shows it only after the thread's next switch
 * (arm64) or never (x86).  A handler resumes after our instruction and leaves every other signal to
 * the program.
 */
#ifndef PMCBPF_TRAP_H
#define PMCBPF_TRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "counter.h"

/* The time without instructions after one has trapped. */
#define TRAP_REST_NS 1000000000u

/*
 * May counters be read by instruction for the next moment?  Installs the handler the first time.
 * False for a while after one has trapped, and where the signal would not reach the handler: the
 * program has put its own in place since, or blocks the signal.  Makes system calls.  For the only
 * thread of a process.
 */
bool trap_ready(void);

/* Has one trapped in the last moments?  The first call after a trap begins them. */
bool trap_lately(void);

/* The section that the handler searches: functions with counter_pmc() belong there. */
#define TRAP_SECTION __attribute__((noinline, section("pmc_counter")))

extern volatile unsigned int trap_count;	/* the handler's */

/* A read_counter_fn, after trap_ready() only.  False also when the instruction trapped. */
bool trap_counter(uint32_t index, uint64_t *value);

#endif
