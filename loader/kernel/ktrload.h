/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's side of trace rings: the map that is the region, the programs that write to it, and
 * the triggers that stop them.  Every function may wait for the kernel's grace periods, except for
 * those under "cheap".
 */
#ifndef PMCBPF_KTRLOAD_H
#define PMCBPF_KTRLOAD_H

#include "ktrregion.h"
#include "loader/config/config.h"

struct ktrload;

/* Creates rings without programs.  The region is complete, and read-only for user space. */
int ktrload_new(struct ktrload **out, const struct ktr_layout *layout, struct reason *why);
/* Frees everything and removes the pins. */
void ktrload_free(struct ktrload *l);

/*
 * Loads and unloads programs until exactly those of `classes` are loaded.  Classes that this kernel
 * lacks or refuses are put in *missing, with the reason in `note`.  Returns the loaded ones.
 */
uint32_t ktrload_classes(struct ktrload *l, uint32_t classes, uint32_t *missing,
			 struct reason *note);
/*
 * Attaches the programs of these classes and no others.  A program that cannot be attached is left
 * out; `note` reports the first one, unless it has text already.
 */
void ktrload_attach(struct ktrload *l, uint32_t classes, struct reason *note);
/* Sets the stop triggers.  -ENOENT: this kernel lacks one of the tracepoints. */
int ktrload_stop(struct ktrload *l, const struct ktr_conf *conf, struct reason *why);
/*
 * Pins the rings in the BPF file system, under the usual name or, if another daemon has that, under
 * a name with this daemon's pid.
 */
int ktrload_pin(struct ktrload *l, struct reason *why);

/* --- cheap --------------------------------------------------------------------------------- */

int ktrload_fd(const struct ktrload *l);
const struct ktr_region *ktrload_region(const struct ktrload *l);
const struct ktr_layout *ktrload_layout(const struct ktrload *l);
volatile struct ktr_control *ktrload_control(const struct ktrload *l);
/* Writes an entry on this CPU. */
int ktrload_entry(struct ktrload *l, enum ktr_event id, uint32_t tid, const uint64_t words[5]);
/* Copies `n` bytes to `field`, a place in the header of ktrload_region(). */
int ktrload_put(struct ktrload *l, const void *field, const void *data, size_t n);
/* Empties all rings. */
int ktrload_clear(struct ktrload *l);

#endif
