/* SPDX-License-Identifier: BSD-2-Clause */
/* The tunables ktr.* of the kernel's trace rings, as text and parsed. */
#ifndef PMCBPF_KTRCONF_H
#define PMCBPF_KTRCONF_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/ktr_class.h>
#include <sys/ktr_region.h>

#include "loader/base/base.h"

enum {
	KTR_TEXTS = 5,			/* tunables that struct config keeps here */
	KTRCONF_STOP_TPS = 4,		/* tracepoints that may stop tracing … */
	KTRCONF_TP_NAME = 32,		/* … and the size of their names */
};

struct ktr_conf {
	char text[KTR_TEXTS][WIRE_TUNABLE_MAX];	/* as written; all others are parsed */
	uint32_t compile;	/* classes with loaded programs */
	uint32_t mask;		/* traced classes */
	uint32_t entries;	/* of each ring; 0: no rings */
	uint64_t cpumask[KTR_REGION_CPUS / 64];
	/* Stop triggers */
	uint64_t signals;	/* bit n - 1: signal n */
	bool oom, panic;
	unsigned int ntp;
	char tp[KTRCONF_STOP_TPS][KTRCONF_TP_NAME];
};

/* Compares the parsed values. */
bool ktrconf_same(const struct ktr_conf *a, const struct ktr_conf *b);

/* Each parses the text of one tunable; -EINVAL with the invalid word and an example. */
int ktrconf_compile(struct ktr_conf *c, const char *text, struct reason *why);
int ktrconf_mask(struct ktr_conf *c, const char *text, struct reason *why);
int ktrconf_size(struct ktr_conf *c, const char *text, struct reason *why);
int ktrconf_cpumask(struct ktr_conf *c, const char *text, struct reason *why);
int ktrconf_stop(struct ktr_conf *c, const char *text, struct reason *why);

#endif
