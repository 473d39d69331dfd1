/* SPDX-License-Identifier: BSD-2-Clause */
/* What the doctor sees without a daemon: files of the kernel, and who the caller is. */
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

/* Texts are cut to size and made printable; what does not fit any more is left out. */
void gate_add(struct gates *gates, enum pmc_gate_state state, const char *name, const char *remedy,
	      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The files are looked for below `root`: "", but for tests. */
void gates_of_kernel(struct gates *gates, const char *root);
void gates_of_caller(struct gates *gates, const char *root);

/* Is there a pmcbpfd to talk to?  True when somebody listens. */
bool gate_of_socket(struct gates *gates);

#endif
