/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile clients against a live daemon.  The first process runs as root.  It starts a daemon on a
 * socket of its own and two observers, root and an ordinary user, which measure how long plain
 * requests take.  It then runs one attack after another as users without privilege, and checks that
 * the observers are answered during the attack and that the daemon gives everything back after it.
 *
 * An attack prepares itself, reports that it is in place, and stays in place until each observer
 * has been answered a given number of times; then it ends.  No result depends on the speed of the
 * machine: the patience only bounds how long an unanswered request is waited for.
 *
 * Everything runs in a private mount namespace, and the first process adopts orphans and kills all
 * its descendants at the end, so that no mount and no process outlives it.
 */
#ifndef PMCBPF_STRANGERS_H
#define PMCBPF_STRANGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sys/pmc.h>

#include "lib/base/wire.h"

#define NOBODY	   65534u
#define OBSERVER   2003u		/* the ordinary user who observes */
#define USERS	   3u			/* the attacking users */
#define OBSERVERS  2u			/* root first */
#define STUCK	   12u
#define BUCKETS	   1024u		/* of 1/16 octave each, in ns */

/* A histogram of durations. */
struct times {
	uint64_t n, max_ns;
	uint64_t bucket[BUCKETS];
};

struct observer {
	struct times times;		/* of requests */
	uint64_t since;			/* ns: start of the request in progress */
	uint32_t op, max_op;		/* operation in progress, and the slowest one */
	uint32_t refused;
	char refusal[200];		/* the first one */
};

/* Shared by all processes. */
struct stage {
	char dir[64];			/* a folder that all may enter … */
	char socket[80], plain[80];	/* … with the daemon's socket and an ordinary file */
	pid_t first;			/* the process that directs all others */
	pid_t daemon;
	unsigned int ncpu;
	unsigned int scale;		/* percent of an attack's usual numbers */
	uint64_t seed;
	uint64_t limit;			/* number of random messages; 0: as many as time permits */
	unsigned int seconds;		/* of random messages; 0: no limit */
	uint32_t held;			/* the attack is in place */
	uint32_t over;			/* it must now end */
	uint32_t quiet;			/* the observers must end */
	uint64_t messages;		/* random messages */
	uint32_t stuck;			/* files of FUSE given away, at most STUCK */
	bool fuse;			/* there is such a file system */
	char failure[200];		/* the defect of a reply */
	char skipped[200];		/* why this machine cannot make the attack */
	char note[200];			/* the attack's progress */
	struct observer observer[OBSERVERS];
	struct times echo;		/* time of a message to a process that answers at once */
};
extern struct stage *stage;

extern const uid_t users[USERS];

/* --- main.c: is this attack or kind selected? -------------------------------------------- */

bool wanted(const char *name);

/* --- crew.c: processes ------------------------------------------------------------------- */

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
uint64_t now_ns(void);
/* A process that ends with us.  Returns 0 in the child. */
pid_t crew_fork(void);
/* Drops all privileges; the process stays visible to others of the same user. */
void crew_become(uid_t uid);
/* Kills all descendants except those that must stay, and waits for their ends. */
void crew_clear(const pid_t *stay, unsigned int n);
/* A process that shares our memory and only waits, much cheaper than a fork.  Its pid or -errno. */
pid_t crew_sleeper(void);
void crew_kill(pid_t pid);
bool crew_patient(bool (*done)(void *arg), void *arg, unsigned int seconds);
/* The scaled number, at least 1. */
unsigned int scaled(unsigned int n);

/* --- link.c: the daemon's socket --------------------------------------------------------- */

#define LINK_CLOSED 1			/* the connection is over */

struct packet {
	uint16_t op;
	const void *arg;
	size_t len;
	const int *fds;
	unsigned int nfds;
};

int link_connect(void);			/* or -errno */
int link_open(void);			/* and greeted */
int link_send(int sock, const struct packet *p, int flags);
/* The reply's error; its payload in *reply until the next call, its reason in link_reason(). */
int link_receive(int sock, void **reply);
int link_call(int sock, uint16_t op, const void *arg, size_t len, int fd, void **reply);
const char *link_reason(void);
const char *link_op(uint16_t op);

/* Shorthands: PMCALLOCATE's number in *id. */
int link_allocate(int sock, uint32_t mode, uint32_t event, uint32_t flags, uint32_t *id);
int link_id(int sock, uint16_t op, uint32_t id);
int link_attach(int sock, uint32_t id, pid_t pid);
int link_log(int sock, int fd);

/* --- host.c: the daemon ------------------------------------------------------------------ */

void host_start(const char *path, char *const *options, unsigned int noptions);
/* Records the resources in use: the daemon must return to them. */
void host_remember(void);
/* Prints resources that have not been returned within the patience; false then. */
bool host_restored(const char *name, unsigned int patience);
bool host_alive(void);
/* Prints a sanitizer's findings, or a wrong exit status. */
bool host_stop(unsigned int patience);
bool host_clean(void);

/* --- observe.c --------------------------------------------------------------------------- */

void times_add(struct times *t, uint64_t ns);
uint64_t times_quantile(const struct times *t, unsigned int permille);
void observers_start(pid_t *pids);	/* OBSERVERS, and the one that echoes */
/* "NAME: max N ms, median N ms of M requests …". */
void observers_tell(const char *name);
double observers_max(void);		/* ms */

/* --- attacks ----------------------------------------------------------------------------- */

struct attack {
	const char *name;
	void (*prepare)(void);		/* as root, in the first process; or NULL */
	void (*run)(void);		/* as user nobody, in a process of its own */
	void (*clean)(void);		/* as root, after success and failure */
	bool as_root;			/* it makes its own users */
	bool gone;			/* its clients are gone by the time it is in place, */
};					/* and what they held is given back meanwhile */
extern const struct attack hang_attacks[], log_attacks[], crowd_attacks[], size_attacks[],
	random_attacks[];

/* Reports that the attack is in place; returns when the observers have been answered meanwhile. */
void attack_hold(void);
/* Reports that the attack is in place; true if it must end. */
void attack_in_place(void);
bool attack_over(void);
/* The progress, for the line of the attack. */
void attack_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Reports that this machine cannot make the attack. */
void attack_skip(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* --- fuse.c: a file system that does not answer ------------------------------------------ */

/*
 * Files: still (all requests but FLUSH are answered), read, write, stat: that request is never
 * answered.
 */
bool fuse_mount(void);			/* at DIR/fuse; false: not possible here */
bool fuse_overlay(void);		/* and DIR/over on top of it */
void fuse_end(void);
pid_t fuse_server(void);

#endif
