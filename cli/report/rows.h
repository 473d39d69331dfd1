/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of a list of samples: functions, or (-I) single addresses in them. */
#ifndef PMCBPF_CLI_REPORT_ROWS_H
#define PMCBPF_CLI_REPORT_ROWS_H

#include "report.h"

struct report_row {
	const struct symbol *symbol;
	uint64_t offset;		/* of a single address, from the start of its function */
	uint64_t self, total;
};

/* The rows of an event, in order; `apart`: addresses.  -ENOMEM or 0; *rows is the caller's. */
int rows_of(const struct profile *p, uint32_t event, bool apart, struct report_row **rows,
	    size_t *n);

/* "name", or with an offset "name+0x12", for free(3); NULL: no memory. */
char *row_text(const struct report_row *row, bool apart);

#endif
