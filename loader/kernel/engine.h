/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine: the loaded programs and the parts that work on them; kernel.h has the model. */
#ifndef PMCBPF_ENGINE_H
#define PMCBPF_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/count/count_abi.h"
#include "breakpoints.h"
#include "cgroups.h"
#include "cpu_bell.h"
#include "flush.h"
#include "gauge.h"
#include "loader/base/base.h"
#include "offcpu.h"
#include "owner_maps.h"
#include "perf.h"
#include "perf_group.h"
#include "pmus.h"
#include "probes.h"
#include "programs.h"
#include "proof.h"
#include "shares.h"
#include "sources.h"
#include "switches.h"
#include "target_map.h"
#include "tracefs.h"
#include "tracepoints.h"
#include "unwinder.h"
#include "visit.h"

struct debug;
struct fibers;
struct helpers;
struct hit_sampler;
struct hotplug;
struct load_thread;
struct msrdev;
struct notes;
struct pmcbpf;
struct samplers;
struct targets;
struct tracepoints;

struct engine {
	unsigned int ncpu;
	const struct debug *debug;
	struct pmcbpf *skel;		/* for this room only */
	volatile struct abi_cpu *cpus;	/* the programs' state of each CPU */
	volatile struct abi_set *sets;
	struct programs *programs;	/* which are attached */
	struct sources *sources;	/* the per-CPU events that slices are cut from */
	struct tracepoints *tracepoints; /* the counters of tracepoints, likewise */
	struct breakpoints breakpoints;	/* found at the start */
	struct pmus pmus;		/* likewise */
	struct flush *flush;		/* ends the open slices of CPUs */
	struct cpu_bell *cpu_bell;	/* CPU hotplug */
	struct notes *notes;		/* the programs' reports */
	struct unwinder *unwinder;	/* tables and mappings for stacks */
	struct owner_maps *owner_maps;	/* owners' counts */
	struct offcpus *offcpus;	/* PMCs that sample waits */
	struct cgroups *cgroups;	/* PMCs of cgroups */
	struct load_thread *load_thread; /* loads what operations need besides */
	struct hit_sampler *hit_spare;	/* of no counter yet; NULL: none */
	unsigned int walks;		/* under way: forks are noted for them, see target_map.h */
	unsigned int fork_watches;	/* likewise: threads' forks are counted, see visit.h */
	uint64_t tags;			/* given to events of PMCs that count */
	struct fibers *fibers;
	char *log;			/* the verifier's, during load */
	bool scheduler_ends;		/* the kernel has the tracepoint sched_exit_tp */
	/* Not the engine's: */
	struct samplers *samplers;	/* sampling PMCs; sample_log's */
	/* NULL, or called for each file that is mapped executable, while a log is open. */
	void (*mapped)(void *arg, pid_t pid, uint64_t start, const char *path);
	void *mapped_arg;
	struct msrdev *msrdev;		/* the open module, NULL: none; the daemon's */
	struct targets *targets;	/* loader/count's, from count_init() on */
	struct hotplug *hotplug;
};

/* Loads and verifies everything.  On failure -errno, with the verifier's last lines in `why`. */
int engine_new(struct engine **out, struct reason *why);
void engine_free(struct engine *e);

/* Directs the debug output of the engine's parts; before this call there is none. */
void engine_debug_to(struct engine *e, const struct debug *debug);

/*
 * Long work calls engine_breathe() between its steps, where an operation's fiber lets others run.
 * Programs that take long to detach are left to helpers.  Before engine_waits_by() is called,
 * everything is done at once.
 */
void engine_waits_by(struct engine *e, struct fibers *fibers, struct helpers *helpers);
void engine_breathe(const struct engine *e);
/* While held, engine_breathe() lets no other operation run. */
void engine_hold(const struct engine *e, bool hold);

int engine_need(struct engine *e, enum engine_need what, struct reason *why);
void engine_unneed(struct engine *e, enum engine_need what);
/*
 * Detaches programs that have not been needed for a moment.  Returns the ms until the next may be
 * due, -1 if there are none.
 */
int engine_settle(struct engine *e);

/*
 * `pmcbpfd -t`: calls say() with one line for each missing kernel feature and its remedy.  Returns
 * the number of missing features.
 */
unsigned int engine_check(void (*say)(void *arg, const char *line), void *arg);

/* A kernel feature: `finding` and `remedy` if it is missing, else NULL. */
typedef void engine_report(void *arg, const char *what, const char *finding, const char *remedy);
/* The cheap part of the check, which holds nothing.  Returns the number of missing features. */
unsigned int engine_probe(engine_report *report, void *arg);

#endif
