/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server that speaks the wire format and can misbehave at a chosen request.  It runs as a thread
 * of the test, so that a test sees what it received and sets what it answers.
 */
#ifndef PMCBPF_FAKE_DAEMON_H
#define PMCBPF_FAKE_DAEMON_H

#include <pthread.h>
#include <stdbool.h>

#include "lib/base/wire.h"

#define FAKE_NCPU 2u
#define FAKE_NPMC 3u
#define FAKE_ID	  0xfff30f00u	/* of every PMC it allocates, plus `other` */

enum fake_fault {
	FAKE_NO_FAULT,
	FAKE_HANG_UP,		/* closes the connection instead of answering */
	FAKE_WRONG_SEQ,
	FAKE_WRONG_OP,
	FAKE_WRONG_MAGIC,
	FAKE_WRONG_WIRE,	/* header of another version */
	FAKE_SHORT_HEADER,
	FAKE_SHORT_PAYLOAD,
	FAKE_LONG_PAYLOAD,
	FAKE_WRONG_LENGTH,	/* len says more than there is */
	FAKE_POSITIVE_ERROR,
	FAKE_TOO_LONG,		/* more than WIRE_MAX_REPLY */
	FAKE_REFUSE,		/* -`error` with `reason` */
	FAKE_NO_FD,		/* leaves the descriptors out */
	FAKE_REFUSE_AT_ONCE,	/* -`error` with `reason`, before anything was sent … */
	FAKE_REFUSE_UNREAD,	/* … or read; then it hangs up */
	FAKE_REFUSE_AND_END,	/* the same instead of answering */
	FAKE_SILENT,		/* never answers */
};

struct fake {
	char dir[64], path[96];
	int listener, stop[2];
	pthread_t thread;

	enum fake_fault fault;
	int error;
	uint16_t fault_op, strike_op;
	bool policy_again;		/* the rules are read again after the first reply */
	bool got_fd;			/* the last request had a descriptor */
	const char *reason;
	uint32_t version, cputype, ncpu, start_fds, wire_version;
	const char *pmu;		/* of class PERF, which is there if it is not NULL */
	int start_fd;			/* what START hands out, `start_fds` times */
	uint64_t value;			/* what RW answers */
	uint32_t other;			/* added to the handles of PMCs */
	uint32_t gates;			/* the number of gates that GATES claims; it sends two */

	uint32_t policies;		/* rules that POLICY has */
	uint32_t policy_lies;		/* not 0: the number of them that a reply claims */
	uint32_t policy_generation;
	struct wire_policy_req policy;

	/* Done once to `struck` when a request of `strike_op` has come, and is not answered yet. */
	void (*strike)(pthread_t thread);
	pthread_t struck;

	unsigned int connections, requests[128];
	char proof[64];			/* a second one's, by which it was opened */
	struct wire_allocate_req allocate;
	struct wire_attach_req attach;
	struct wire_rw_req rw;
	struct wire_admin_req admin;
	struct wire_overflows_req overflows;
	struct wire_tunable_req tunable;
	uint32_t tunables;		/* number that it claims to list */
	struct wire_ktr_req ktr;
	uint32_t ktr_fds;		/* that KTR hands out */
	struct wire_kgmon_req kgmon;
	uint32_t kgmon_fds;		/* that KGMON hands out */
	struct wire_hello_req hello;

	int alive_fd, page_fd, counts_fd;
	struct wire_alive *alive;
	struct wire_page *page;
	struct wire_counts *counts;
};

/* Starts it on a socket of its own and points PMCBPF_SOCKET there. */
void fake_start(struct fake *f);
void fake_stop(struct fake *f);

/* The library's state as at the program's start. */
void fake_forget(void);
/* A test's setup and teardown: a server, with the library connected to it, or not yet. */
int fake_setup(void **state);
int fake_setup_unconnected(void **state);
int fake_teardown(void **state);

#endif
