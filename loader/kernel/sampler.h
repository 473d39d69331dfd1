/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that all sampling PMCs share, and the rings that it fills.  Both are made for the
 * first sampling PMC and kept.
 */
#ifndef PMCBPF_SAMPLER_H
#define PMCBPF_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

struct abi_offcpu_stop;
struct engine;
struct samplers;

struct samplers_config {
	unsigned int ncpu;
	unsigned int nsamples;		/* entries of a CPU's ring: kern.hwpmc.nsamples */
	const int *depth;		/* addresses of a side: kern.hwpmc.callchaindepth, which may
					   change: a PMC keeps the value of its allocation */
	int map;			/* of the rings; the engine's */
	const int *unwind;		/* kern.hwpmc.unwind, likewise: 0: frame pointers only */
	const struct engine *engine;	/* whose tables the program unwinds by */
	int offcpus, offcpu_waits;	/* the maps of waits, likewise */
	const struct abi_level *level;	/* programs_nested() */
};

int samplers_new(const struct samplers_config *config, struct samplers **out, struct reason *why);
void samplers_free(struct samplers *s);

/*
 * Loads the program in the `user`'s turn (load_thread_do()), unless it is loaded; true: the fiber
 * has waited.  If that fails, samplers_program() returns the reason.  To be called before any
 * function below.
 */
bool samplers_prepare(struct samplers *s, uint64_t *user);
/* After that, in the same way, the program of wakers; samplers_wakers() returns the reason. */
bool samplers_prepare_wakers(struct samplers *s, uint64_t *user);

/* Creates the rings, if there are none yet. */
int samplers_begin(struct samplers *s, struct reason *why);
/* The program sends all code objects of Python again that samples meet. */
void samplers_forget_codes(struct samplers *s);
/* Readable when a ring is half full; -1 and NULL before samplers_begin(). */
int samplers_fd(const struct samplers *s);
struct rings *samplers_rings(const struct samplers *s);

/*
 * The program to attach to perf events; events inherited from those have it, too.  -errno: this
 * kernel refuses it.
 */
int samplers_program(const struct samplers *s, struct reason *why);

/* What programs that sample hits share with this one; -1 and 0 if it does not load. */
struct samplers_maps {
	int rings, samplers, hit_rooms, hit_scratch, hit_walks, hit_stacks, hit_pythons;
	int hit_codes, hit_values, codes_sent;
	uint32_t max_stack;
	const struct abi_level *level;	/* NULL: the initial namespace */
};
const struct samplers_maps *samplers_maps(const struct samplers *s);

/*
 * While a PMC samples waits, their program runs at the end of each switch.  Any number of calls of
 * the first function, each with one of the second.
 */
int samplers_wait(struct samplers *s, struct reason *why);
void samplers_unwait(struct samplers *s);
/* The same for wakers: waker.h. */
int samplers_wakers(struct samplers *s, struct reason *why);
void samplers_unwakers(struct samplers *s);
/* Records the waits that have not ended, of a PMC of processes that has stopped. */
int samplers_wait_open(struct samplers *s, const struct abi_offcpu_stop *stop);

/* One PMC, as the program records it. */
struct sampler_spec {
	uint32_t id;			/* the number in its records */
	bool chain;
	bool both_sides;
	bool hides_kernel;		/* no kernel address reaches the ring */
	uint32_t values;		/* enum pmclog_value: of each sample */
	bool unwind;			/* the user's side by tables, not by frame pointers */
	int signal;			/* to the thread of each sample; 0: none */
};

/* Signals of a PMC's samples, since sampler_set(). */
struct sampler_signals {
	uint32_t unsent;		/* samples without one */
	uint32_t left;			/* further samples … */
	bool limited;			/* … and no more than these */
};
#define SAMPLER_LEFT_MAX 1000000000u

/* True if the kernel collects values of samples before the program runs, as since Linux 6.3. */
bool sampler_collects(void);
/* The kernel's limit of samples a second; 0: unknown. */
uint64_t sampler_max_rate(void);

/*
 * The program knows the PMC of this number until sampler_clear().  Returns the tag of the PMC's
 * events.  Two numbers that differ by a multiple of ABI_SAMPLERS must not be set at the same time.
 */
uint64_t sampler_set(struct samplers *s, const struct sampler_spec *spec);
void sampler_clear(struct samplers *s, uint32_t id);
/*
 * The only thread whose hits or waits the PMC of that tag samples, by the number of the initial
 * namespace; ABI_THREAD_GONE: none; 0, as at the beginning: all.
 */
int sampler_set_thread(struct samplers *s, uint32_t tag, uint32_t tid);
/* The period of a PMC whose hits a program counts, by its tag; and the hits since it was set. */
void sampler_set_period(struct samplers *s, uint32_t tag, uint64_t period);
uint64_t sampler_hits(const struct samplers *s, uint32_t tag);
/*
 * The signal from now on; `waits`, as at the beginning: also to a thread that blocks it and has no
 * handler.  n: takes n further samples only, in addition to those that are left; 0: takes all.
 * -ERANGE: more than SAMPLER_LEFT_MAX.
 */
int sampler_set_signal(struct samplers *s, uint32_t tag, int signal, bool waits, uint32_t n);
struct sampler_signals sampler_signals(const struct samplers *s, uint32_t tag);
/* Sums over this number and earlier ones in the same place: the caller takes differences. */
struct abi_samples sampler_counts(const struct samplers *s, uint32_t id);

#endif
