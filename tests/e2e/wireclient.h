/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the raw client share. */
#ifndef PMCBPF_WIRECLIENT_H
#define PMCBPF_WIRECLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/wire.h"

struct client {
	int sock;
	uint32_t seq;
	uint32_t pmcid;			/* of the latest allocation */
	int send_fds[300];
	unsigned int nsend;		/* go along with the next message */
	int fds[WIRE_MAX_FDS];
	unsigned int nfds;
	volatile struct wire_alive *alive;
	struct wire_hdr h;		/* of the latest reply */
	union {
		uint8_t bytes[WIRE_MAX_REPLY];
		uint64_t align;
	} reply;
};

extern struct client c;

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
unsigned long long number(const char *text);

void make_connection(void);
int send_bytes(const void *data, size_t len, int flags);
/* The reply's error, or 1 when the daemon has closed the connection. */
int call(uint16_t op, const void *arg, size_t len);
void *payload(void);
/* The line of a word is complete: "-- reason" and all. */
void finish(int err);

/* Words; `arg` is what follows them. */
void do_hello(char **arg);
void do_start(char **arg);
void do_release(char **arg);
void do_read(char **arg);
void do_crowd(char **arg);
void do_many(char **arg);
void do_notified(char **arg);
void do_activate(char **arg);
void do_private(char **arg);
void do_leave(char **arg);

#endif
