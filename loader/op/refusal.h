/* SPDX-License-Identifier: BSD-2-Clause */
/* Reasons of refusals that concern rows: which rows, their holders, and a remedy. */
#ifndef PMCBPF_REFUSAL_H
#define PMCBPF_REFUSAL_H

#include "request.h"

/* Rows that were refused.  Text is made only if no row was found. */
struct refusals {
	unsigned int n;
	struct {
		unsigned int row;
		enum row_verdict verdict;
	} row[ROW_MAX];
};

void refusals_add(struct refusals *rs, unsigned int row, enum row_verdict v);

/*
 * Appends them to the reply's reason, which describes the rows that were tried, if any were; groups
 * rows with the same reason.  Returns -EINVAL.
 */
int refusals_report(const struct refusals *rs, struct request *rq, const struct row_class *class,
		  unsigned int cpu);

/* "held by pid 17 (cc1)", as far as the caller may know; p is NULL: no holder. */
void refusal_holder(const struct request *rq, const struct pmc *p, char *buf, size_t size);

/* Makes the reason of count_attach()'s error, with the holder of the row.  Returns err. */
int refusal_attach(struct request *rq, const struct pmc *p, const struct cred *target, int err);

#endif
