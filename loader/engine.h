/* SPDX-License-Identifier: BSD-2-Clause */
/* The only user of libbpf: loads the programs, attaches them while somebody needs them, owns the maps. */
#ifndef PMCBPF_ENGINE_H
#define PMCBPF_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "why.h"

struct engine;

/* Loads and verifies everything; -errno with the verifier's last lines in the log on failure. */
int engine_new(struct engine **out, struct why *why);
void engine_free(struct engine *e);

/*
 * What `pmcbpfd -t` asks: calls say() with one line for every kernel feature that is missing, naming
 * it and the remedy; returns how many are.
 */
unsigned int engine_check(void (*say)(void *arg, const char *line), void *arg);

/* False for a SOFT event whose tracepoint this kernel lacks; such an event is not registered. */
bool engine_has_soft(const struct engine *e, uint32_t code);

#endif
