/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the parts of the raw client share. */
#ifndef PMCBPF_WIRECLIENT_H
#define PMCBPF_WIRECLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/wire.h"

struct client {
	int sock;
	uint32_t seq;
	uint32_t pmcid;			/* of the latest allocation */
	uint32_t caps;			/* of the next ones */
	uint64_t rate;			/* samples a second of the next one; then 0 */
	int send_fds[300];
	char name[WIRE_NAME_MAX];	/* of a tracepoint, and the filter … */
	char filter[WIRE_FILTER_MAX];	/* … of the next allocations */
	uint32_t probe;			/* their kind of probe, 0: none … */
	uint64_t probe_site;		/* … its place … */
	char probe_path[4096];		/* … in this file; "": none goes along */
	uint32_t group;			/* 1: they are for a group … */
	struct wire_commitgroup_req members;	/* … this one */
	uint64_t config[3];		/* a breakpoint's address, length and type, likewise */
	unsigned int nsend;		/* go along with the next message */
	unsigned int unread;		/* replies to a flood */
	bool unheard;			/* the next request's reply comes later */
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
int receive(void);
void *payload(void);
/* Prints "word error" and leaves the rest of the line to the caller. */
int say(const char *word, int err);
/* Completes the line of a word: "-- reason". */
void finish(int err);

/* Performs the words of a command line. */
void do_words(int n, char **word);

/* Words; `arg` is what follows them. */
void do_hello(char **arg);
void do_start(char **arg);
void do_tracepoint(char **arg);
void do_filter(char **arg);
void do_probe(char **arg);
/* Fills in the probe; its file is sent with the next message. */
void send_probe(struct wire_allocate_req *r);
void do_breakpoint(char **arg);
void do_release(char **arg);
void do_read(char **arg);
void do_write(char **arg);
void do_group(char **arg);
void do_member(char **arg);
void do_commitgroup(char **arg);
void do_readgroup(char **arg);
void do_crowd(char **arg);
void do_many(char **arg);
void do_other(char **arg);
void do_unheard(char **arg);
void do_heard(char **arg);
void do_notified(char **arg);
void do_activate(char **arg);
void do_private(char **arg);
void do_leave(char **arg);
void do_orders(char **arg);
void do_caps(char **arg);
void do_rate(char **arg);
void do_setcount(char **arg);
void do_losses(char **arg);
void do_rw(char **arg);
void do_info(char **arg);
void do_classes(char **arg);
void do_counters(char **arg);
void do_admin(char **arg);
void do_pages(char **arg);
void do_rdtsc(char **arg);
void do_who(char **arg);
void do_bye(char **arg);
void do_catch(char **arg);
void do_ignore(char **arg);
void do_forget(char **arg);
void do_block(char **arg);
void do_expose(char **arg);
void do_came(char **arg);
void do_await(char **arg);
void do_become(char **arg);
void do_inherited(char **arg);
void do_heir(char **arg);
void do_headless(char **arg);
void do_behead(char **arg);
void do_keep(char **arg);
void do_proof(char **arg);
void do_setid(char **arg);
void do_inside(char **arg);
void do_passed(char **arg);
void do_thread(char **arg);
void do_log(char **arg);
void do_logto(char **arg);
void do_logfd(char **arg);
void do_dropfd(char **arg);
void do_figures(char **arg);
void do_endlog(char **arg);
void do_flushlog(char **arg);
void do_closelog(char **arg);
void do_writelog(char **arg);
void do_bequeath(char **arg);
void do_fork(char **arg);
void do_spawn(char **arg);
void do_exec(char **arg);
void do_copy(char **arg);
void do_again(char **arg);
void do_listen(char **arg);
void do_settunable(char **arg);
void do_named(char **arg);
void do_mute(char **arg);
void do_chorus(char **arg);
void do_sing(char **arg);

/* The descriptor and number of a target: a pid, "heir" or "kept". */
int target_fd(const char *name, pid_t *pid);
/* The proof to send with it: the one made by `proof`, else its /proc/PID/mem. */
void send_proof(int pidfd);

#endif
