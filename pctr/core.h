/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's state: four functions, and a PMC on every CPU for each that counts.  Settings belong
 * to the system: they outlive the program that made them, CPU hotplug, and pmcbpfd.
 */
#ifndef PMCBPF_PCTR_CORE_H
#define PMCBPF_PCTR_CORE_H

#include <machine/pctr.h>

#include "function.h"
#include "messages.h"

/*
 * Where PMCs come from: pmcbpfd, or a test.  Each returns 0 or -errno; -ENOSYS: it has gone away,
 * and every PMC with it.
 */
struct source {
	/* 1: there is one, with hardware counters; 0: without; -errno: there is none. */
	int (*connect)(void *arg);
	/* -ENXIO: the CPU is offline; -EBUSY: no counter is free. */
	int (*allocate)(void *arg, const char *spec, unsigned int cpu, uint32_t *id);
	int (*start)(void *arg, uint32_t id);
	int (*stop)(void *arg, uint32_t id);
	int (*read)(void *arg, uint32_t id, uint64_t *value);
	void (*release)(void *arg, uint32_t id);
	/* The name of the CPU's hardware counters; -ENXIO: offline, or it has none. */
	int (*pmu)(void *arg, unsigned int cpu, char *name, size_t size);
	uint64_t (*tsc)(void *arg);
	const char *(*reason)(void *arg);	/* why the last of them failed */
	void *arg;
};

struct core_config {
	enum vendor vendor;
	unsigned int ncpu;
	unsigned int counters;		/* 0 … PCTR_NUM that a function may be set for */
	unsigned int width;		/* bits of a value */
	bool en0;			/* no counter runs without PCTR_EN in counter 0 */
	bool all;			/* values are sums of all CPUs that are online */
	bool keep_same;			/* setting the same function again changes nothing */
	bool soft;			/* software events stand in for the hardware's */
};

struct core_counter {
	uint32_t fn;
	bool reported;			/* a failure has been logged for this setting */
	uint32_t *id;			/* by CPU; CORE_NO_PMC: none */
};

struct core {
	struct core_config config;
	const struct source *source;
	const struct messages *messages;
	bool up, reported;			/* connected; the lack of a connection was logged */
	bool hardware;
	struct core_counter counter[PCTR_NUM];
};

#define CORE_NO_PMC UINT32_MAX

/* One user of the device. */
struct core_caller {
	unsigned int cpu;
	bool writes;			/* the file was opened for writing */
};

/* -ENOMEM.  The source and the messages stay the caller's. */
int core_init(struct core *c, const struct core_config *config, const struct source *source,
	      const struct messages *messages);
void core_free(struct core *c);

/*
 * A request that request_decode() knows: REQUEST_READ fills *state, 0 to 3 set that counter.  In
 * this order: -ENXIO pmcbpfd does not run, -ENODEV no counters, -EINVAL not that many, -EPERM,
 * -EINVAL function, -EBUSY another user has the hardware: then the counter is off.  Reading fails
 * with -EINVAL (no such CPU), -ENXIO (it is offline and counters run) and -EBUSY (one was lost).
 */
int core_request(struct core *c, int what, const struct core_caller *who, uint32_t fn,
		 struct pctrst *state);

/* Once a second while core_active(): finds CPUs that came, and a pmcbpfd that went. */
bool core_active(const struct core *c);
void core_tick(struct core *c);

#endif
