/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's trace region: its layout, its header and table of formats, and copies that any user
 * may see.  Memory only; loader/kernel/ktrload.c has the kernel's side.
 */
#ifndef PMCBPF_KTRREGION_H
#define PMCBPF_KTRREGION_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/ktr/ktr_abi.h"
#include "loader/base/base.h"

struct ktr_layout {
	unsigned int ncpu;
	uint32_t entries;
	uint32_t generation;	/* 16 bits, not 0: differs from earlier rings' */
	uint32_t first;		/* slot of the first ring */
	uint32_t stride;	/* slots from one to the next */
	uint64_t slots;
};

/* -E2BIG: more slots than a map may have. */
int ktrregion_layout(struct ktr_layout *l, unsigned int ncpu, uint32_t entries, struct reason *why);
size_t ktrregion_size(const struct ktr_layout *l);
size_t ktrregion_slot(const struct ktr_layout *l, unsigned int cpu);

/* Fills everything before the first ring, `first` slots of zeroes. */
void ktrregion_header(struct ktr_region *r, const struct ktr_layout *l);

/* Number of entries written so far to all rings. */
uint64_t ktrregion_written(const struct ktr_region *r);

/*
 * Copies the rings to a sealed file: at most KTR_COPY bytes of the latest entries, without
 * addresses, kernel messages and unused words, which unprivileged users must not see.  Returns a
 * descriptor or -errno.
 */
#define KTR_COPY (16u << 20)
int ktrregion_copy(const struct ktr_region *r, struct reason *why);

/* An event and its tracepoint ("" for none); false if no event has this number. */
struct ktr_event_info {
	const char *tp;
	uint32_t classes, argtypes;
	const char *text;
};
bool ktrregion_event(unsigned int id, struct ktr_event_info *info);

#endif
