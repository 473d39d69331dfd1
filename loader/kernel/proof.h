/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks a descriptor as a proof of rights to a process: runs bpf/policy/proof.bpf.c. */
#ifndef PMCBPF_PROOF_H
#define PMCBPF_PROOF_H

#include "bpf/count/count_abi.h"

struct engine;

/* Shows the program this process's own files.  Until that succeeds every check is UNKNOWN. */
void proof_learn(const struct engine *e);
/* Checks a descriptor against the process of a pidfd; both are the daemon's copies. */
enum abi_proof proof_check(const struct engine *e, int pidfd, int proof);

#endif
