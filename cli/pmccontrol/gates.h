/* SPDX-License-Identifier: BSD-2-Clause */
/* The gates that the doctor checks without a daemon: kernel, caller, socket. */
#ifndef PMCBPF_CLI_CTL_GATES_H
#define PMCBPF_CLI_CTL_GATES_H

#include <stdbool.h>
#include <stddef.h>

#include <pmc.h>

#define GATES_MAX 96

struct gates {
	struct pmc_gate gate[GATES_MAX];
	size_t count;
};

/* Texts are cut to size and made printable; after GATES_MAX gates no more are added. */
void gate_add(struct gates *gates, enum pmc_gate_state state, const char *name, const char *remedy,
	      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Files are read below `root`: "" except in tests. */
void gates_of_kernel(struct gates *gates, const char *root);
void gates_of_caller(struct gates *gates, const char *root);

/* The daemon's socket.  True if a daemon accepts connections. */
bool gate_of_socket(struct gates *gates);

#endif
