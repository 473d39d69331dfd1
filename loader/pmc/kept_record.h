/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that belong to a sample: its values, a copy of its stack, its Python frames.  The program
 * puts them into its CPU's ring right before the sample, and they are kept here until it comes.
 *
 * A hit's program can be interrupted there by another PMC's overflow, and that one by a third, so
 * a CPU has places for the records of several samples.  One whose sample found no room in the ring
 * stays until its place is needed.
 */
#ifndef PMCBPF_KEPT_RECORD_H
#define PMCBPF_KEPT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/log/log_abi.h"

struct kept_records;

/* NULL: no memory. */
struct kept_records *kept_records_new(unsigned int ncpu);
void kept_records_free(struct kept_records *k);

/* Keeps a copy of a record.  Without memory it is lost. */
void kept_record_add(struct kept_records *k, const struct abi_rec *rec, const uint64_t *data);
/*
 * The words of the record of that kind which belongs to the sample, once; NULL: there is none.
 * They are valid until the next record is kept.
 */
const uint64_t *kept_record_take(struct kept_records *k, uint16_t kind,
				 const struct abi_rec *sample, size_t *words);

#endif
