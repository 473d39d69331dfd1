/* SPDX-License-Identifier: BSD-2-Clause */
/* A daemon without sockets, and processes that talk to it; a test sets their credentials. */
#ifndef PMCBPF_LOADER_HARNESS_H
#define PMCBPF_LOADER_HARNESS_H

#include "loader/op/op.h"
#include "loader/server/receive.h"
#include "fake_count.h"

extern struct daemon harness;
/* The kernel's answer: whether a client may debug a process. */
extern bool harness_may_debug;
/* It cannot be asked: -errno. */
extern int harness_no_answer;
/* Security labels: of the process `harness_labelled`, and of all others. */
extern const char *harness_label, *harness_labels;
extern pid_t harness_labelled;
/* The list of registers; NULL: where it is by default. */
extern const char *harness_msr_list;

void harness_start(void);
void harness_stop(void);

/* A process of a made-up number: the rules see `cred`; its pidfd is this test's own. */
struct actor {
	struct session session;
	struct cred cred;
};
/* Connected, HELLO said. */
void actor_join(struct actor *a, pid_t pid, uid_t uid);
void actor_leave(struct actor *a);

/* Rules of the administrator, which apply to this one from now on. */
void actor_rules(struct actor *a, const char *text);

/* The error of one request; payload and reason stay readable until the next one. */
int ask(struct actor *a, uint16_t op, const void *arg, size_t len);
int ask_fd(struct actor *a, uint16_t op, const void *arg, size_t len, int fd);
int ask_fds(struct actor *a, uint16_t op, const void *arg, size_t len, const int *fds,
	    unsigned int n);
int ask_message(struct actor *a, const struct packet *m);
const void *payload(void);
size_t payload_len(void);
const char *reason(void);
const struct reply *last_reply(void);

#endif
