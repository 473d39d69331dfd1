/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Actors: the processes of the game.  Each obeys one socket; the driver sends one order at a time
 * and waits for the answer, so that the order of all events is known.
 */
#ifndef PMCBPF_TESTS_ACTOR_H
#define PMCBPF_TESTS_ACTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model.h"

#define ACTOR_FD 200			/* + number of the actor: its end, across fork and exec */

enum actor_do {
	DO_CONNECT,			/* link; HELLO included */
	DO_CLOSE,			/* link */
	DO_SEND,			/* link, frame, pidfd: one request, one reply */
	DO_FORK,			/* number: the child is that actor */
	DO_EXEC,			/* keep: the links stay open */
	DO_THREAD,			/* one more thread; its id is the answer */
	DO_WORK,			/* number: so many new pages are written to */
};

struct actor_cmd {
	uint32_t what;
	uint32_t link;
	int32_t number;
	int32_t pidfd;			/* a descriptor of this process to send along; 0: none */
	uint32_t keep;
	uint16_t op;
	uint16_t len;
	uint8_t arg[WIRE_MAX_REQUEST];
};

struct actor_rep {
	int32_t error;			/* errno or M_CLOSED */
	int32_t number;
	uint32_t len, reason_len;	/* of data */
	union {
		uint8_t data[WIRE_MAX_REPLY];
		uint64_t align;
	};
};
#define ACTOR_REP_HEAD offsetof(struct actor_rep, data)

/* The life of an actor; does not return. */
void actor_live(unsigned int number, const int link[M_LINKS]) __attribute__((noreturn));
/* The arguments that DO_EXEC passes to the new program: "actor NUMBER LINK LINK LINK". */
void actor_again(char **argv) __attribute__((noreturn));

/* A connection of this process, after HELLO: 0 or an errno. */
int actor_connect(int *link);
/* One request; `r` gets the reply. */
void actor_send(int link, const struct actor_cmd *cmd, struct actor_rep *r);

#endif
