/* SPDX-License-Identifier: BSD-2-Clause */
/* What a descriptor proves about a process: runs bpf/policy/proof.bpf.c. */
#ifndef PMCBPF_PROOF_H
#define PMCBPF_PROOF_H

#include "bpf/count/count_abi.h"

struct engine;

/* Shows the program this process's own files.  Unless that succeeds every check is UNKNOWN. */
void proof_learn(const struct engine *e);
/* Of the process behind a pidfd; both descriptors are the daemon's by now. */
enum abi_proof proof_check(const struct engine *e, int pidfd, int proof);

#endif
