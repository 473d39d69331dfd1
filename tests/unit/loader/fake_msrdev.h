/* SPDX-License-Identifier: BSD-2-Clause */
/* The companion module as the daemon sees it: registers that the test makes up. */
#ifndef PMCBPF_FAKE_MSRDEV_H
#define PMCBPF_FAKE_MSRDEV_H

#include "loader/machine/msrdev.h"

struct fake_msr {
	uint32_t reg;
	uint64_t value;
	bool faults;
};
struct fake_module {
	int refuse_open, refuse_list;	/* 0: it is there */
	struct fake_msr reg[16];
	/* what is seen */
	unsigned int open;
	struct msrlist list;
};
extern struct fake_module fake_module;

void fake_module_reset(void);		/* none is loaded */
void fake_module_set(uint32_t reg, uint64_t value, bool faults);

#endif
