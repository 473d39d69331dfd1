/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of tracepoints' records, which FIELD records describe: those of each PMC, in one
 * array.
 */
#ifndef PMCBPF_LIB_PMCLOGFIELDS_H
#define PMCBPF_LIB_PMCLOGFIELDS_H

#include <pmclog.h>

struct pmclogfields {
	struct pmclogfields_pmc {
		pmc_id_t id;
		unsigned int n, room;
		struct pmclog_ev_field *field;
	} *pmc;
	unsigned int n, room;
	unsigned int latest;		/* the PMC that was looked for last */
	unsigned int total;		/* fields of all */
};

/* 0, -ENOMEM, or -E2BIG: a log may be hostile. */
int pmclogfields_add(struct pmclogfields *f, const struct pmclog_ev_field *field);
/* A new PMC has this number. */
void pmclogfields_forget(struct pmclogfields *f, pmc_id_t id);
/* The fields of a PMC and their number; valid until the next one is added. */
const struct pmclog_ev_field *pmclogfields_of(struct pmclogfields *f, pmc_id_t id,
					      unsigned int *n);
void pmclogfields_free(struct pmclogfields *f);

#endif
