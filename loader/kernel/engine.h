/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine: the loaded programs and the parts that work on them; kernel.h has the model. */
#ifndef PMCBPF_ENGINE_H
#define PMCBPF_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/count_abi.h"
#include "cpu_bell.h"
#include "flush.h"
#include "loader/base/base.h"
#include "owner_maps.h"
#include "perf.h"
#include "programs.h"
#include "proof.h"
#include "shares.h"
#include "sources.h"
#include "switches.h"
#include "target_map.h"
#include "visit.h"

struct debug;
struct fibers;
struct helpers;
struct hotplug;
struct msrdev;
struct notes;
struct pmcbpf;
struct targets;

struct engine {
	unsigned int ncpu;
	const struct debug *debug;
	struct pmcbpf *skel;		/* of this room only */
	volatile struct abi_cpu *cpus;	/* what the programs keep for each CPU */
	volatile struct abi_set *sets;
	struct programs *programs;	/* which are attached */
	struct sources *sources;	/* the per-CPU events that slices are cut from */
	struct flush *flush;		/* ends the open slices of CPUs */
	struct cpu_bell *cpu_bell;	/* CPUs that go and come */
	struct notes *notes;		/* what the programs report */
	struct owner_maps *owner_maps;	/* owners' counts */
	unsigned int walks;		/* under way: forks are noted for them, see target_map.h */
	struct fibers *fibers;
	char *log;			/* the verifier's, during load */
	/* Not the engine's: */
	struct msrdev *msrdev;		/* the open module, NULL: none; the daemon's */
	struct targets *targets;	/* loader/count's, from count_init() on */
	struct hotplug *hotplug;
};

/* Loads and verifies everything; -errno with the verifier's last lines in `why` on failure. */
int engine_new(struct engine **out, struct reason *why);
void engine_free(struct engine *e);

/* Debug output of the engine's parts; there is none before this. */
void engine_debug_to(struct engine *e, const struct debug *debug);

/*
 * Long work calls engine_breathe() between its steps, where an operation's fiber lets others go on;
 * programs whose detachment takes long are left to helpers.  Before engine_waits_by() everything is
 * done at once.
 */
void engine_waits_by(struct engine *e, struct fibers *fibers, struct helpers *helpers);
void engine_breathe(const struct engine *e);
/* While it is held, engine_breathe() lets no other operation go on. */
void engine_hold(const struct engine *e, bool hold);

int engine_need(struct engine *e, enum engine_need what, struct reason *why);
void engine_unneed(struct engine *e, enum engine_need what);
/*
 * Detaches programs that nothing has needed for a moment; returns the ms until there may be some,
 * -1 if there are none.
 */
int engine_settle(struct engine *e);

/*
 * `pmcbpfd -t`: calls say() with one line for each kernel feature that is missing, naming it and
 * the remedy; returns how many are.
 */
unsigned int engine_check(void (*say)(void *arg, const char *line), void *arg);

/* A feature of the kernel: `finding` and the remedy where it is missing, NULL where it works. */
typedef void engine_tell(void *arg, const char *what, const char *finding, const char *remedy);
/* The part of the check that is cheap and holds nothing; returns how many features are missing. */
unsigned int engine_probe(engine_tell *tell, void *arg);

#endif
