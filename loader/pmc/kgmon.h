/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel profile of kgmon(8): how often each address of the kernel was sampled.
 *
 * The profile is off or on.  While it is on, samples come from one source: the running PMCs with
 * PMC_F_KGMON, or the profiling clock if no such PMC runs when it is turned on.  All samples of a
 * profile are of one event at one period, so that they can be added: another source is refused
 * until the profile is reset, and so is a PMC that differs from the running ones.
 *
 * Everything here runs in the event loop.  sample_log.c adds the samples; op/ serves the requests.
 * The memory is charged to no user: only privileged processes can start a profile, and it has at
 * most KGMON_HITS addresses.  Samples that find no room are counted as lost.
 */
#ifndef PMCBPF_LOADER_KGMON_H
#define PMCBPF_LOADER_KGMON_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock_rates.h"
#include "loader/base/base.h"
#include "profile_source.h"

#define KGMON_RATE CLOCK_PROF_HZ	/* ticks a second on each CPU, as FreeBSD's profhz */
#define KGMON_HITS (1u << 18)	/* distinct addresses of a profile */

struct kgmon;

struct kgmon *kgmon_new(void);		/* NULL: no memory */
void kgmon_free(struct kgmon *k);

/* A PMC with PMC_F_KGMON starts, and has stopped.  -EBUSY: the profile has another source. */
int kgmon_join(struct kgmon *k, const struct profile_source *pmc, struct reason *why);
void kgmon_leave(struct kgmon *k);

/*
 * Turns the profile on or off.  Once it is on, kgmon_takes_clock() returns whether the profiling
 * clock has to run.  -EBUSY: it holds samples of another source.
 */
int kgmon_start(struct kgmon *k, struct reason *why);
void kgmon_stop(struct kgmon *k);
bool kgmon_takes_clock(const struct kgmon *k);

void kgmon_reset(struct kgmon *k);

/* Adds a sample of the source, or lost ones; ignored while the profile is off. */
void kgmon_sample(struct kgmon *k, bool clock, bool user, uint64_t address);
void kgmon_lost(struct kgmon *k, bool clock, uint64_t samples);

bool kgmon_is_on(const struct kgmon *k);
void kgmon_info(const struct kgmon *k, struct wire_kgmon *info);

/* A sealed memory file of struct wire_kgmon_hit by address, or -errno. */
int kgmon_dump(const struct kgmon *k, struct reason *why);

#endif
