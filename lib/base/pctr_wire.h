/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract between libpctr and pctrd: one SOCK_SEQPACKET message for a request and one for its
 * reply, on the socket beside the stand-in for /dev/pctr ("/run/pmcbpf/pctr" and ".sock").  A
 * request carries the descriptor that the program has opened: a program that could open the file
 * for writing may set counters.  Requests have the ioctls' numbers, in Linux's encoding or
 * OpenBSD's.
 */
#ifndef PMCBPF_PCTR_WIRE_H
#define PMCBPF_PCTR_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include <machine/pctr.h>

#define PCTR_WIRE_MAGIC 0x52544350u	/* "PCTR" */
#define PCTR_FILE	"pctr"		/* in the run-time directory; its socket: ".sock" */

struct pctr_wire_request {
	uint32_t magic;
	uint32_t request;	/* PCIOC… */
	uint32_t value;		/* PCIOCS0 … 3: the function */
	uint32_t cpu;		/* PCIOCRD: the caller's */
};
struct pctr_wire_reply {
	int32_t error;		/* 0 or -errno */
	uint32_t reserved;
	struct pctrst state;	/* PCIOCRD */
};

/* Is it that request?  OpenBSD has the two bits of the direction the other way round. */
static inline bool pctr_is(uint32_t number, uint32_t request)
{
	return number == request || number == (request ^ 3u << _IOC_DIRSHIFT);
}

_Static_assert(sizeof(struct pctrst) == 56, "OpenBSD's layout");
_Static_assert(sizeof(struct pctr_wire_request) == 16, "wire");
_Static_assert(sizeof(struct pctr_wire_reply) == 64, "wire");

#endif
