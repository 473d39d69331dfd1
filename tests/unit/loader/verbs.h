/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations as functions, for tests. */
#ifndef PMCBPF_LOADER_VERBS_H
#define PMCBPF_LOADER_VERBS_H

#include <sys/pmc.h>

#include "harness.h"
#include "unit.h"

static inline uint32_t allocate(struct actor *a, uint32_t mode, uint32_t flags)
{
	struct wire_allocate_req r = {
		.caps = PMC_CAP_READ,
		.class = PMC_CLASS_SOFT,
		.event = 0x20004,
		.mode = mode,
		.flags = flags,
		.cpu = PMC_IS_SYSTEM_MODE(mode) ? 1 : (uint32_t)PMC_CPU_ANY,
		.count = 1000,
	};

	assert_int_equal(ask(a, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), 0);
	return ((const struct wire_allocate_rep *)payload())->pmcid;
}

static inline int by_id(struct actor *a, uint16_t op, uint32_t id)
{
	struct wire_id_req r = { .pmcid = id };

	return ask(a, op, &r, sizeof(r));
}

static inline int start(struct actor *a, uint32_t id) { return by_id(a, WIRE_OP_PMCSTART, id); }
static inline int stop(struct actor *a, uint32_t id) { return by_id(a, WIRE_OP_PMCSTOP, id); }
static inline int release(struct actor *a, uint32_t id) { return by_id(a, WIRE_OP_PMCRELEASE, id); }

static inline int attach(struct actor *a, uint32_t id, int pid, int fd)
{
	struct wire_attach_req r = { .pmcid = id, .pid = pid };

	return ask_fd(a, WIRE_OP_PMCATTACH, &r, sizeof(r), fd);
}

/* With any descriptor as the proof; fake.proof defines its kind. */
static inline int attach_proven(struct actor *a, uint32_t id, int pid, int fd)
{
	struct wire_attach_req r = { .pmcid = id, .pid = pid };
	const int fds[2] = { fd, fd };

	return ask_fds(a, WIRE_OP_PMCATTACH, &r, sizeof(r), fds, 2);
}

static inline int detach(struct actor *a, uint32_t id, int pid, int fd)
{
	struct wire_attach_req r = { .pmcid = id, .pid = pid };

	return ask_fd(a, WIRE_OP_PMCDETACH, &r, sizeof(r), fd);
}

static inline int rw(struct actor *a, uint32_t id, uint32_t flags, uint64_t value)
{
	struct wire_rw_req r = { .pmcid = id, .flags = flags, .value = value };

	return ask(a, WIRE_OP_PMCRW, &r, sizeof(r));
}

static inline uint64_t value(struct actor *a, uint32_t id)
{
	assert_int_equal(rw(a, id, PMC_F_OLDVALUE, 0), 0);
	return ((const struct wire_rw_rep *)payload())->value;
}

static inline struct wire_pmcinfo info(struct actor *a, uint32_t cpu, uint32_t row)
{
	struct wire_cpu_req r = { .cpu = cpu };
	struct wire_pmcinfo i;

	assert_int_equal(ask(a, WIRE_OP_GETPMCINFO, &r, sizeof(r)), 0);
	memcpy(&i, (const uint8_t *)payload() + sizeof(struct wire_pmcinfo_rep) + row * sizeof(i),
	       sizeof(i));
	return i;
}

#endif
