/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of hardware PMUs have names, no numbers: this table gives each name that the process meets
 * a number of its own, so that struct pmc_info and pmc_name_of_event() work for them.
 */
#ifndef PMCBPF_INTERN_H
#define PMCBPF_INTERN_H

#include <stdint.h>

/*
 * The number of a name, PMC_EV_PMU_FIRST and up, the same each time; 0 when memory or numbers run
 * out. *text, if wanted, is the name as the table keeps it: as long as the process lives.
 */
uint32_t intern_event(const char *name, const char **text);

/* NULL if no name has this number. */
const char *intern_name(uint32_t event);

#endif
