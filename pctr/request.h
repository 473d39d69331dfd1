/* SPDX-License-Identifier: BSD-2-Clause */
/* The numbers of pctr(4)'s requests, Linux's and OpenBSD's: their direction bits are swapped. */
#ifndef PMCBPF_PCTR_REQUEST_H
#define PMCBPF_PCTR_REQUEST_H

#include <stdint.h>

#define REQUEST_READ -1		/* PCIOCRD; PCIOCS0 … 3 are 0 … 3 */

/* -EINVAL: of pctr's type, but unknown; -ENOTTY: of another type. */
int request_decode(uint32_t number, int *what);

#endif
