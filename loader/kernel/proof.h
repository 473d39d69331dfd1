/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs bpf/policy/proof.bpf.c; part of the engine. */
#ifndef PMCBPF_PROOF_H
#define PMCBPF_PROOF_H

#include "bpf/count/count_abi.h"

/* Shows the program this process's own files.  Unless that succeeds every check is UNKNOWN. */
void proof_learn(int prog);
enum abi_proof proof_check(int prog, int pidfd, int proof);

#endif
