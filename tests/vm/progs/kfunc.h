/* SPDX-License-Identifier: BSD-2-Clause */
/* The smallest program that calls a function of the module, without a daemon and without clang. */
#ifndef VM_KFUNC_H
#define VM_KFUNC_H

#include <stdint.h>

struct kfunc {
	int map, program, link, btf;	/* -1: none */
};

/* Calls the function with that argument at every context switch from now on; -1 with errno. */
int kfunc_load(struct kfunc *k, const char *function, uint64_t argument);
void kfunc_free(struct kfunc *k);
/* The last value that it returned on that CPU. */
int kfunc_value(const struct kfunc *k, unsigned int cpu, uint64_t *value);

/*
 * Acts as a security module that refuses raw registers to tasks of that user, while the returned
 * descriptor is open; -1 with errno.
 */
int deny_load(uint32_t uid);

#endif
