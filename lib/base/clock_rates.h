/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates of the SOFT class's clocks, in the daemon and in reports: see pmc.soft(3). */
#ifndef PMCBPF_BASE_CLOCK_RATES_H
#define PMCBPF_BASE_CLOCK_RATES_H

/* Ticks a second of CPU time: FreeBSD's hz, stathz and profhz. */
#define CLOCK_HARD_HZ 1000u
#define CLOCK_STAT_HZ 127u
#define CLOCK_PROF_HZ 8128u

#endif
