/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks over the kernel's tasks, by iterator programs (bpf/count/task.bpf.c). */
#ifndef PMCBPF_VISIT_H
#define PMCBPF_VISIT_H

#include "bpf/count/count_abi.h"

struct bpf_program;

/* Runs the program over all tasks, or args->tgid's; `shared` is where it reads its arguments. */
int visit_run(struct bpf_program *p, struct abi_visit_args *shared, struct abi_visit_args *args);

/* A descriptor to read an array of struct abi_birth from: every process and its parent. */
int visit_processes(struct bpf_program *p);

#endif
