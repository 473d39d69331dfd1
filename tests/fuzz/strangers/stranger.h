/* SPDX-License-Identifier: BSD-2-Clause */
/* A client that acts at random: one life, determined by the seed. */
#ifndef PMCBPF_STRANGER_H
#define PMCBPF_STRANGER_H

#include "strangers.h"

#define SOCKS	 6u			/* connections at a time */
#define IDS	 24u			/* PMCs that it remembers */
#define KEPT	 48u			/* peers of descriptors that it gave away */
#define CHILDREN 5u
#define FRAME	 2048u

struct stranger {
	uint64_t random;
	uint32_t seq;
	int sock[SOCKS];
	unsigned int unread[SOCKS];	/* replies */
	uint32_t id[IDS];
	int kept[KEPT];
	unsigned int nkept;
	pid_t child[CHILDREN];
	int from_daemon;		/* a descriptor that a reply carried, or -1 */
};

/* --- stranger.c -------------------------------------------------------------------------- */

uint32_t pick(struct stranger *s, uint32_t n);		/* 0 … n - 1 */
bool chance(struct stranger *s, unsigned int percent);
/* Lives until it dies or has sent so many messages. */
void stranger_live(uint64_t seed, uint64_t messages) __attribute__((noreturn));
/* The program that a stranger execs, with its connection. */
void stranger_inherit(int sock, uint64_t seed) __attribute__((noreturn));

/* --- message.c --------------------------------------------------------------------------- */

struct frame {
	uint8_t bytes[FRAME];
	size_t len;
	uint16_t op;			/* the intended operation */
	bool takes_fd;
};
void message_make(struct stranger *s, struct frame *f);

/* --- kinds.c ----------------------------------------------------------------------------- */

/* A descriptor of any kind, or -1 if this machine has none of that kind.  Its peers are kept. */
int kind_make(struct stranger *s);
/* One that a log may be written to, or a process's. */
int kind_log(struct stranger *s);
int kind_process(struct stranger *s);
void kind_keep(struct stranger *s, int fd);
unsigned int kind_count(void);

#endif
