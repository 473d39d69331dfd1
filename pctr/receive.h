/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of libpctr.  Their descriptors come from clients, and fstat(2) or close(2) of them may
 * block for as long as a client wants: a helper process receives them (lib/base/helper.h).
 */
#ifndef PMCBPF_PCTR_RECEIVE_H
#define PMCBPF_PCTR_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/helper.h"
#include "lib/base/pctr_wire.h"

/* The stand-in: the argument of receive_job(). */
struct receive_file {
	uint64_t dev, ino;
};

/* A message and the state of its descriptor; the answer of receive_job(). */
struct received {
	int32_t error;			/* of the descriptor: 0 or -errno */
	uint32_t writes;		/* it is open for writing */
	uint32_t len;
	/* Room for more than a request, so that a longer message is seen as such. */
	_Alignas(8) uint8_t message[sizeof(struct pctr_wire_request) + 8];
};

/* The stand-in, open: 0; -EBADF: it is not open; -ENOTTY: another file. */
int receive_check(const struct receive_file *file, int fd, bool *writes);

/* A message that carries no descriptor. 1; 0: there is none yet; -errno: the end. */
int receive_plain(int socket, struct received *in);
/* In a helper: fds[0] is the connection, and one part is the answer. */
int receive_job(struct helper_call *call);

#endif
