/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes.  In user code a probe is a place in a file, where the kernel puts a breakpoint into the
 * memory of every process that has the file mapped, now and later.  One program counts the hits of
 * all.  In the kernel (kprobes) it is a place in a function, and the kernel itself counts its hits,
 * for each CPU.
 *
 * A file is known by its descriptor, which a client has opened with its own rights, never by a
 * path.  The kernel keeps the file itself, the inode: a new file of that name is another one.
 */
#ifndef PMCBPF_PROBES_H
#define PMCBPF_PROBES_H

#include <stdint.h>

#include "lib/base/wire.h"
#include "loader/base/base.h"
#include "hit_sampler.h"

struct engine;
struct helpers;
struct perf_event_spec;
struct probe;
struct probe_sites;

struct probe_spec {
	uint32_t kind;				/* enum wire_probe */
	int file;				/* the caller's */
	const char *name;			/* for messages */
	const char *function;			/* the kernel's; NULL: the place is in the file */
	unsigned int nsites;
	uint64_t site[WIRE_PROBE_SITES];	/* offsets in the file, or one in the function */
	uint64_t semaphore[WIRE_PROBE_SITES];	/* … of the count of each one's users; 0: none */
	bool samples;				/* its program samples the hits, too */
};

#define PROBE_FUNCTION 128u			/* bytes of a kernel function's name, with NUL */

/* Probes with the same bytes here are the same. */
struct probe_id {
	uint64_t device, inode, kind, nsites, samples;
	uint64_t site[WIRE_PROBE_SITES], semaphore[WIRE_PROBE_SITES];
	char function[PROBE_FUNCTION];
};

/* 0 or -errno. */
int probe_identify(const struct probe_spec *spec, struct probe_id *id);

/* True if this kernel has probes in user code, or kprobes. */
bool probes_here(void);
bool probes_in_kernel(void);

/*
 * 0 if the kernel has one function of this name, with that offset; -EINVAL with the nearest name
 * if it has none or several.  Reads all of the kernel's names, and lets other operations run
 * meanwhile.
 */
int probe_check_function(const struct engine *e, const char *function, uint64_t offset,
			 struct reason *why);

/*
 * Puts the probe in place: its hits count on counter `slot` from now on, until probe_close().
 * -EOPNOTSUPP: the kernel refuses a probe there.
 */
int probe_open(struct engine *e, const struct probe_spec *spec, unsigned int slot,
	       struct probe **out, struct reason *why);
/* NULL: its hits are not sampled. */
struct hit_sampler *probe_sampler(const struct probe *p);
/* The kind of the program that samples it. */
enum hit_kind probe_hit_kind(const struct probe_spec *spec);
/*
 * No hit counts from now on.  The kernel takes its time to remove the breakpoints; a helper waits
 * for that, unless `helpers` is NULL.
 */
void probe_close(struct engine *e, struct probe *p, struct helpers *helpers);

/*
 * The places of a probe of calls, for events of single tasks: the kernel puts the breakpoints into
 * the memory of these tasks only, and counts their hits.  -EOPNOTSUPP: it refuses a place.
 */
int probe_sites_new(const struct engine *e, const struct probe_spec *spec,
		    struct probe_sites **out, struct reason *why);
unsigned int probe_sites_n(const struct probe_sites *s);
/* Makes `event` the one of the i-th place; it is valid as long as `s` is. */
void probe_sites_event(const struct probe_sites *s, unsigned int i, struct perf_event_spec *event);
void probe_sites_free(struct probe_sites *s);

/*
 * The number of hits that the kernel did not report: returns of calls that were nested too deeply,
 * of measured processes or of all processes; and hits of a kprobe inside of others.
 */
uint64_t probe_missed(const struct engine *e, const struct probe *p, bool all);

#endif
