/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of refusals that are about rows: which, who has them, what would work. */
#ifndef PMCBPF_REFUSAL_H
#define PMCBPF_REFUSAL_H

#include "request.h"

/* Rows that were not acceptable.  Mostly another one is, and nobody asks for the words. */
struct refusals {
	unsigned int n;
	struct {
		unsigned int row;
		enum row_verdict verdict;
	} row[ROW_MAX];
};

void refusals_add(struct refusals *rs, unsigned int row, enum row_verdict v);

/*
 * Puts them into the reply's reason, those with the same reason together: alone, or behind what it
 * says of the rows that were tried.  Returns -EINVAL.
 */
int refusals_tell(const struct refusals *rs, struct request *rq, const struct row_class *class,
		  unsigned int cpu);

/* "held by pid 17 (cc1)", as far as the caller may know; p is NULL: held by nobody. */
void describe_holder(const struct request *rq, const struct pmc *p, char *buf, size_t size);

/* What count_attach() refused, if so, in the caller's numbers and with the holder.  Returns err. */
int refuse_attach(struct request *rq, const struct pmc *p, const struct cred *target, int err);

#endif
