/* SPDX-License-Identifier: BSD-2-Clause */
/* The page from which an owner reads its counts without the daemon. */
#ifndef PMCBPF_PAGE_H
#define PMCBPF_PAGE_H

#include "count_state.h"

int page_new(struct count_owner *o, struct reason *why);
void page_free(struct count_owner *o);
/* Called after any change that the owner's reads depend on. */
void page_update(struct count *c);

#endif
