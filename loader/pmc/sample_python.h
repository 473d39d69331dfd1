/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Python frames of samples: from the programs' records to addresses of a log's call chains.
 *
 * A frame becomes an address that no code has (PMCLOG_PC_PYTHON): the number of its code object and
 * its line.  A code object has a number as long as the daemon knows it; a log that uses the number
 * has a MAP_IN record with the names.
 */
#ifndef PMCBPF_SAMPLE_PYTHON_H
#define PMCBPF_SAMPLE_PYTHON_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/log/log_abi.h"

struct kept_records;
struct logfile;
struct sample_python;
struct samplers;

/* NULL: no memory. */
struct sample_python *sample_python_new(struct kept_records *kept);
void sample_python_free(struct sample_python *s);
/* The programs send code objects again that are forgotten here. */
void sample_python_program(struct sample_python *s, struct samplers *samplers);

/* Remembers the code object of a record. */
void sample_python_code(struct sample_python *s, const uint64_t *data, size_t words);
/* The Python frames of a sample, once; valid until the next record is kept.  NULL: it has none. */
const struct abi_python *sample_python_frames(struct sample_python *s, const struct abi_rec *rec);
/* Writes the names of the frames that the log lacks to it. */
void sample_python_names(struct sample_python *s, struct logfile *log, uint64_t time,
			 const struct abi_python *frames);
/*
 * The addresses of a sample with its Python frames among them, *rec->n of them; valid until the
 * next call.  `data`: `frames` is NULL, or the log's format has none.  Names that the log lacks are
 * written to it.
 */
const uint64_t *sample_python_merge(struct sample_python *s, struct logfile *log,
				    struct abi_rec *rec, const uint64_t *data,
				    const struct abi_python *frames);

#endif
