/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors and sources that PMCs hold, charged to their users. */
#ifndef PMCBPF_COUNT_PAY_H
#define PMCBPF_COUNT_PAY_H

#include "count_row.h"

/* Charges the PMC itself; both charges last until its end. */
int count_pay(struct count *c, unsigned int events, unsigned int sources, struct reason *why);
void count_pay_back(struct count *c);
/*
 * For a source that several PMCs share, of c->source: each user pays once.  When the PMC that pays
 * ends, another one of its user pays on.
 */
int count_pay_source(struct count *c, struct reason *why);
void count_pay_source_back(struct count *c);

/* Charges the source of a row to the user of one of its PMCs. */
int count_pay_row(struct count_row *row, const struct count *c, struct reason *why);
void count_pay_row_back(struct count_row *row);
/* A PMC has left the row: if its user paid for the source, another PMC's user does from now on. */
void count_pay_row_on(struct count_row *row);

#endif
