/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes that programs declare themselves (USDT, SDT_PROBE() of <sys/sdt.h>): a section of notes
 * has their names and places.
 */
#ifndef PMCBPF_EVENT_ELF_USDT_H
#define PMCBPF_EVENT_ELF_USDT_H

#include <stdint.h>

#include "lib/base/reason.h"

/*
 * Stores the file offsets of all places of a probe, at most `max`, and of the semaphore of each, 0:
 * it has none.  Returns the number of places, or -EINVAL with the reason.
 */
int elf_usdt_find(int fd, const char *path, const char *provider, const char *name,
		  uint64_t *site, uint64_t *semaphore, unsigned int max, struct reason *why);

#endif
