/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's side of trace rings: the map
 * that is the region, the programs that write to it, and what stops them.  Everything here may
 * take the kernel's grace periods but what says otherwise.
 */
#ifndef PMCBPF_KTRLOAD_H
#define PMCBPF_KTRLOAD_H

#include "ktrregion.h"
#include "loader/config/config.h"

struct ktrload;

/* Rings without a program; the region is complete and nobody in user space can write to it. */
int ktrload_new(struct ktrload **out, const struct ktr_layout *layout, struct reason *why);
/* Also what was pinned. */
void ktrload_free(struct ktrload *l);

/*
 * Loads and unloads programs, so that those of `classes` are there.  Classes that the kernel has
 * nothing for, or refuses, are left out: *missing; why, in `note`.  Returns those that are loaded.
 */
uint32_t ktrload_classes(struct ktrload *l, uint32_t classes, uint32_t *missing,
			 struct reason *note);
/*
 * Attaches the programs of these classes and no others.  One that cannot be attached is left out,
 * which `note` reports unless it has a report already.
 */
void ktrload_attach(struct ktrload *l, uint32_t classes, struct reason *note);
/* Sets the stop triggers.  -ENOENT: a tracepoint that the kernel lacks. */
int ktrload_stop(struct ktrload *l, const struct ktr_conf *conf, struct reason *why);
/*
 * Pins the rings in the BPF file system under the usual name, or, if another daemon has it, under
 * one with our pid.
 */
int ktrload_pin(struct ktrload *l, struct reason *why);

/* --- cheap --------------------------------------------------------------------------------- */

int ktrload_fd(const struct ktrload *l);
const struct ktr_region *ktrload_region(const struct ktrload *l);
const struct ktr_layout *ktrload_layout(const struct ktrload *l);
volatile struct ktr_control *ktrload_control(const struct ktrload *l);
/* An entry on this CPU. */
int ktrload_entry(struct ktrload *l, enum ktr_event id, uint32_t tid, const uint64_t words[5]);
/* Puts `n` bytes into the region's header, from `field` on, which is part of ktrload_region(). */
int ktrload_put(struct ktrload *l, const void *field, const void *data, size_t n);
/* All rings are empty. */
int ktrload_clear(struct ktrload *l);

#endif
