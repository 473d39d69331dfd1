/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting, perf and BPF as the operations see them, without any of the three. */
#ifndef PMCBPF_FAKE_COUNT_H
#define PMCBPF_FAKE_COUNT_H

#include "../../../loader/count.h"

#define FAKE_CPUS 4u
#define FAKE_ROWS 256u

struct fake {
	bool offline[FAKE_CPUS];
	unsigned int pmus;		/* that perf_discover() finds: 4 rows each */
	int rank[FAKE_ROWS];		/* what count_rank() says of a row */
	int refuse_new[FAKE_ROWS];	/* and count_new() */
	int refuse_owner, refuse_attach, refuse_start, refuse_stop;
	unsigned int no_page;		/* count_pos() is ~0 */
	unsigned int self_fds;		/* after START */
	uint32_t lacks_soft;		/* a code that this "kernel" does not have */
	/* what is seen */
	unsigned int counts, owners;	/* alive */
	struct count_spec last;		/* that count_new() got, failed or not */
	struct count *list;
};
extern struct fake fake;

void fake_reset(void);
/* The process has exited: nobody has it as a target any more. */
void fake_exit(pid_t tgid);
/* The latest count is one of another row from now on. */
void fake_move(unsigned int row);

#endif
