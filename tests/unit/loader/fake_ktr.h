/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace rings as the operations see them. */
#ifndef PMCBPF_FAKE_KTR_H
#define PMCBPF_FAKE_KTR_H

#include "loader/ktr/ktr.h"

struct fake_ktr {
	unsigned int ncpu;
	bool busy;			/* their thread has not done yet what it was asked to */
	int refuse;			/* how it ends */
	/* what is seen */
	struct ktr_conf conf;
	uint32_t asker;
	bool whole;
	char mark[32];
};
extern struct fake_ktr fake_ktr;

#endif
