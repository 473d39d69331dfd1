/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking up the users and groups that rules name.  A name service may answer from another machine,
 * or never: the questions go to a helper process, a few with each call.
 *
 *	daemon: site_name_ask()  ->  helper: site_name_job()  ->  daemon: site_name_answer()
 */
#ifndef PMCBPF_SITE_NAME_H
#define PMCBPF_SITE_NAME_H

#include "lib/base/helper.h"
#include "site.h"

/* Looks it up in this process.  -errno: the name service has failed. */
int site_name_find(struct site_name *n);

/* Fills `arg` with questions for names from `first` on; returns the number of names. */
unsigned int site_name_ask(const struct site_rules *s, unsigned int first,
			   char arg[HELPER_MAX_ARG], size_t *len);
/* The helper's job. */
int site_name_job(struct helper_call *call);
/* Takes the answers for `n` names from `first` on. */
int site_name_answer(struct site_rules *s, unsigned int first, unsigned int n,
		     const struct helper_part *part, struct reason *why);

#endif
