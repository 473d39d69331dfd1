/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting, perf and BPF as the operations see them, without any of the three. */
#ifndef PMCBPF_FAKE_COUNT_H
#define PMCBPF_FAKE_COUNT_H

#include "loader/count/count.h"

#define FAKE_CPUS 4u
#define FAKE_ROWS 256u

enum fake_register {
	FAKE_TSC, FAKE_APERF, FAKE_SMI, FAKE_ENERGY_PKG, FAKE_ENERGY_RAM, FAKE_REGISTERS
};

#define FAKE_TRACEPOINTS 2500

struct fake {
	bool tracefs;			/* there are tracepoints */
	bool probes;			/* there are probes */
	unsigned int breakpoints;	/* registers for them */
	bool offline[FAKE_CPUS];
	unsigned int pmus;		/* that perf_discover() finds: 4 rows each */
	bool same_class;		/* … of one class, as two kinds of CPUs have */
	bool one_kind;			/* … of a kind of CPUs: CPU 1 */
	bool uncore;			/* pmus_discover() finds a PMU … */
	bool uncore_gone;		/* … which has gone since */
	int rank[FAKE_ROWS];		/* what count_rank() says of a row */
	int refuse_new[FAKE_ROWS];	/* and count_new() */
	int refuse_owner, refuse_attach, refuse_start, refuse_stop;
	unsigned int no_page;		/* count_pos() is ~0 */
	unsigned int self_fds;		/* after START */
	unsigned int lacks_hooks;	/* bit per enum abi_hook that this "kernel" lacks */
	unsigned int foreign[FAKE_CPUS]; /* counters that others hold */
	bool watchdog, pmu_taken;
	bool moved;			/* process-scope PMCs hold no counter: per-task events */
	pid_t descendant;		/* of whatever is attached */
	void (*on_attach)(void);	/* what happens to the target just then */
	unsigned int perf_registers;	/* bit per enum fake_register that perf counts */
	bool kfunc;			/* programs read registers */
	const char *lacks_perf;		/* what engine_probe() finds */
	unsigned int precise;		/* the most precise samples of a PMU */
	bool branches;			/* a PMU records branches */
	uint64_t max_rate;		/* samples a second; 0: unknown */
	bool collects;			/* the kernel is of 6.3 or newer */
	uint64_t hidden;		/* what count_hidden_switches() does */
	enum abi_proof proof;		/* what a second descriptor is */
	/* what is seen */
	unsigned int counts, owners;	/* alive */
	unsigned int proofs;		/* looked at */
	unsigned int stale;		/* questions about counts that were freed */
	struct count_spec last;		/* that count_new() got, failed or not */
	struct count *list;
};
extern struct fake fake;

void fake_reset(void);
/* The process has exited: it is no target any more. */
void fake_exit(pid_t tgid);

#endif
