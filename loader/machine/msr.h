/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of class MSR: one for each register that the module reads, by the list, or that perf's
 * msr and power PMUs count as an event.
 */
#ifndef PMCBPF_MSR_H
#define PMCBPF_MSR_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu.h"
#include "loader/config/msrlist.h"
#include "loader/kernel/kernel.h"

struct debug;
struct msrdev;

#define MSR_FIXED    12u		/* perf events that may be rows */
#define MSR_ROWS_MAX (MSRLIST_MAX + MSR_FIXED)

struct msr_row {
	char name[MSRLIST_NAME];	/* APERF, 0x611 */
	bool listed;			/* reg, mask: from the list */
	uint32_t reg;
	uint64_t mask;			/* the bits that count, from bit 0 on */
	bool module;			/* the module reads it */
	bool perf;			/* perf counts it, as `event` */
	struct perf_event_spec event;
	bool energy;			/* the package's energy: system scope only, in 2^-32 J … */
	unsigned int shift;		/* … and the register's unit is 2^shift of that */
	bool admin;
};

struct msrs {
	char file[WIRE_TUNABLE_MAX];	/* of the list */
	struct msrlist list;
	struct msrdev *dev;		/* NULL: no module … */
	int dev_err;
	struct reason no_dev;		/* … for this reason */
	bool kfunc;			/* programs read registers as well … */
	const char *no_kfunc;		/* … or do not, for this reason */
	bool counters;			/* programs read hardware counters by the module, too */
	unsigned int n;
	struct msr_row row[MSR_ROWS_MAX];
	const char *name[MSR_ROWS_MAX];
};

enum msr_vendor msr_vendor(const struct cpu *cpu);

/*
 * Reads the list and passes it to the module, if there is one.  If the list cannot be read, nothing
 * is changed.
 */
int msr_load(struct msrs *m, const char *file, const struct cpu *cpu, struct reason *why);
void msr_free(struct msrs *m);

/* Fills the rows with the registers readable now; debug output lists all others. */
void msr_discover(struct msrs *m, const struct cpu *cpu, const struct debug *debug);

/* Row of the class for a register, or -1. */
int msr_find(const struct msrs *m, uint32_t reg);

/*
 * Chooses the reader of the row for a PMC; `raw`: the bare register instead of joules.
 * -EOPNOTSUPP: there is none in that scope.
 */
int msr_provider(const struct msrs *m, const struct msr_row *r, bool system, bool raw,
		 struct perf_event_spec *event, struct reason *why);

/* WIRE_MSR_… of the row. */
uint32_t msr_flags(const struct msrs *m, const struct msr_row *r);

/* 0 if PMCs may change these bits; else -EPERM, naming the list. */
int msr_may_select(const struct msrs *m, uint32_t reg, uint64_t value, struct reason *why);

#endif
