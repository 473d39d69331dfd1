/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PMCBPF_TESTS_PCTR_CORE_H
#define PMCBPF_TESTS_PCTR_CORE_H

#include <stdio.h>

#include "pctr/core.h"

#define WORD (PCTR_EN | PCTR_U | 0x76)

/* --- a core whose counters say which CPU they are of ---------------------------------------- */

static int one_connect(void *arg) { return 1; }

static int one_allocate(void *arg, const char *spec, unsigned int cpu, uint32_t *id)
{
	*id = cpu;
	return 0;
}

static int one_start(void *arg, uint32_t id) { return 0; }

static int one_read(void *arg, uint32_t id, uint64_t *value)
{
	*value = 100 + id;
	return 0;
}

static void one_release(void *arg, uint32_t id) {}

static int one_pmu(void *arg, unsigned int cpu, char *name, size_t size)
{
	snprintf(name, size, "cpu");
	return 0;
}

static uint64_t one_tsc(void *arg) { return 77; }

static const struct source one_source = {
	.connect = one_connect, .allocate = one_allocate, .start = one_start,
	.read = one_read, .release = one_release, .pmu = one_pmu, .tsc = one_tsc,
};

static const struct messages quiet = { .background = true };

#endif
