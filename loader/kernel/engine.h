/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only user of libbpf: loads the programs, attaches each while somebody needs it, owns the maps
 * and the free-running sources that slices are cut from.
 */
#ifndef PMCBPF_ENGINE_H
#define PMCBPF_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/count_abi.h"
#include "perf.h"
#include "loader/base/why.h"

struct debug;
struct engine;

/* Loads and verifies everything; -errno with the verifier's last lines in `why` on failure. */
int engine_new(struct engine **out, struct why *why);
void engine_free(struct engine *e);

/* Where what is behind the engine tells of itself; silent until somebody says. */
void engine_debug_to(struct engine *e, const struct debug *debug);
const struct debug *engine_debug(const struct engine *e);

/*
 * What `pmcbpfd -t` asks: calls say() with one line for every kernel feature that is missing,
 * naming it and the remedy; returns how many are.
 */
unsigned int engine_check(void (*say)(void *arg, const char *line), void *arg);

/* A feature of the kernel: `finding` and what to do where it is missing, NULL where it works. */
typedef void engine_tell(void *arg, const char *what, const char *finding, const char *remedy);
/* The part of the check that is cheap and holds nothing; returns how many features are missing. */
unsigned int engine_probe(engine_tell *tell, void *arg);

/* May sources be registers?  The module was there when the programs were loaded, with its kfunc. */
bool engine_reads_msr(const struct engine *e);
const char *engine_no_msr(const struct engine *e);	/* … and if not, why */
/* The open module, which count.c opens rows with; NULL: none.  The daemon's, and outlives it. */
struct msrdev;
void engine_msr_from(struct engine *e, struct msrdev *dev);
struct msrdev *engine_msrdev(const struct engine *e);

/*
 * What takes long calls engine_breathe() between its steps, where an operation's fiber lets others
 * go on; programs whose detachment takes long are left to helpers.  Before engine_waits_by()
 * everything is done at once.
 */
struct fibers;
struct helpers;
void engine_waits_by(struct engine *e, struct fibers *fibers, struct helpers *helpers);
void engine_breathe(const struct engine *e);

/* The user side of sets and targets, which lives as long as the maps. */
struct targets;
struct targets *engine_targets(const struct engine *e);

/* What the programs have to tell. */
struct notes;
struct notes *engine_notes(const struct engine *e);

/* Who must know of CPUs that go and come. */
struct hotplug;
struct hotplug *engine_hotplug(const struct engine *e);

unsigned int engine_ncpu(const struct engine *e);

/* --- programs: attached from the first need to a moment after the last ------------------------ */

enum engine_need {
	NEED_SWITCH,	/* slices */
	NEED_FINAL,	/* CPU time of exited threads, where there are no slices */
	NEED_LIFE,	/* fork and exit of targets */
	NEED_EXEC,	/* exec of targets and of processes with connections: always */
	NEED_FAULT,	/* the hooks' counters */
	NEED_LOCK,
	NEED_KIND,
	NEED_UNMAP,	/* executable memory that targets unmap; takes tracefs */
	NEEDS
};
int engine_need(struct engine *e, enum engine_need what, struct why *why);
void engine_unneed(struct engine *e, enum engine_need what);
/*
 * Detaches programs that nobody has needed for a moment; returns the ms until there may be some, -1
 * if there are none.
 */
int engine_settle(struct engine *e);

/* --- sources ---------------------------------------------------------------------------------- */

/*
 * A per-CPU event that runs from now on, on every CPU that is online or comes later.  Source number
 * or -errno.
 */
int engine_source_open(struct engine *e, const struct perf_event_spec *spec, struct why *why);
void engine_source_close(struct engine *e, int source);
/* On one CPU only: there it counts nothing any more and its counter is free. */
void engine_source_close_cpu(struct engine *e, int source, unsigned int cpu);
/* True once a program could not read the source: its counter was taken away. */
bool engine_source_lost(const struct engine *e, int source);

/* --- CPUs that go and come ------------------------------------------------------------------- */

/* Readable when any CPU went or came, until engine_cpus_seen(). */
int engine_cpus_fd(const struct engine *e);
void engine_cpus_seen(struct engine *e);
/* Grows with each change of any CPU; costs one load. */
uint64_t engine_cpu_changes(const struct engine *e);

struct engine_cpu {
	bool here;			/* perf takes events on it */
	uint32_t changes;
	uint32_t downs;			/* events opened before the last one are dead */
};
struct engine_cpu engine_cpu(const struct engine *e, unsigned int cpu);
/*
 * Opens the sources anew on a CPU that came back.  Bit per source: targets ran there without it.
 */
uint64_t engine_sources_renew(struct engine *e, unsigned int cpu);

/* A hook's counter on a CPU. */
uint64_t engine_hook_read(const struct engine *e, unsigned int hook, unsigned int cpu);

/* --- owners' counts, sets, targets ------------------------------------------------------------ */

struct engine_counts {
	unsigned int slot;		/* index of the `owners` map */
	int fd;				/* frozen, may be passed to the owner */
	const volatile struct abi_counts *cpu; /* one element per CPU */
};
int engine_counts_new(struct engine *e, struct engine_counts *c, struct why *why);
void engine_counts_free(struct engine *e, struct engine_counts *c);

/* The kernel's copy of a set, written in place. */
volatile struct abi_set *engine_set(struct engine *e, unsigned int id);

int engine_target_ctl(struct engine *e, enum abi_ctl op, uint32_t tgid, uint32_t set,
		      uint64_t keep);
int engine_target_get(const struct engine *e, uint32_t tgid, struct abi_target *t);
/* A walk over all targets: begins with `more` true and the rest 0. */
struct engine_walk {
	uint32_t at;
	bool begun, more;
};
/* The next ones, at most `max`; returns how many. */
unsigned int engine_targets_next(const struct engine *e, struct engine_walk *w, uint32_t *tgid,
				 struct abi_target *t, unsigned int max);
/* Whom the programs charge for what they take by themselves: account.c. */
struct abi_account *engine_accounts(const struct engine *e);
struct abi_owner *engine_owner(const struct engine *e, unsigned int slot);

/*
 * Between the two, every fork of the system is noted.  Several walks may be under way: each begins
 * with the number of forks that have been noted before it, and looks at those behind that.
 */
uint32_t engine_walk_begin(struct engine *e);
void engine_walk_end(struct engine *e);
/* So many forks have been noted; of these the last ABI_MAX_BIRTHS can be looked at. */
uint32_t engine_births(const struct engine *e);
struct abi_birth engine_birth(const struct engine *e, uint32_t n);

/* Brings one CPU's open slice up to date, or all online CPUs'; also a barrier for set changes. */
void engine_flush(struct engine *e, unsigned int cpu);
void engine_flush_all(struct engine *e);

/* What a descriptor proves about the process behind a pidfd; both are the daemon's by now. */
enum abi_proof engine_prove(const struct engine *e, int pidfd, int proof);

/* Runs the task iterator over args (in and out). */
int engine_visit(struct engine *e, struct abi_visit_args *args);
/*
 * A descriptor to read an array of struct abi_birth from, every process and its parent at the
 * moment it is read; the caller's to close.
 */
int engine_processes(const struct engine *e);
/* The map of per-CPU rings that records for logs go into, for samplers_new(). */
int engine_rings(const struct engine *e);
/* Records of no PMC that found no room so far. */
uint64_t engine_lost_records(const struct engine *e);
/* With NEED_UNMAP: not the targets' memory only, but everybody's. */
void engine_unmap_all(struct engine *e, bool all);
/* What a process has had of a logged PMC of the owner in that slot, which is forgotten here. */
uint64_t engine_share_take(struct engine *e, unsigned int slot, uint32_t log, uint32_t tgid);
/* What all have had of it is forgotten. */
void engine_shares_forget(struct engine *e, unsigned int slot, uint32_t log);

/* What concerns the PID namespaces of the daemon and of others: programs.h */
struct programs;
struct programs *engine_programs(const struct engine *e);
/* With which credentials the other end of an accepted socket has connected. */
int engine_peer(struct engine *e, int fd, struct abi_cred *cred);

/*
 * Context switches that the kernel has not reported to the programs so far, while there were slices
 * or NEED_SWITCH.
 */
uint64_t engine_hidden(const struct engine *e);

/* Changes whenever a target thread exits; odd while an exit is being accounted. */
uint64_t engine_exits(const struct engine *e);

#endif
