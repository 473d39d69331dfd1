/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon under test: real operations over the fake counting. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"
#include "loader/pmc/pmc_release.h"

#define MAX_ACTORS 32
#define MAX_RULES  32

struct daemon harness;
bool harness_may_debug;
int harness_no_answer;
const char *harness_label, *harness_labels;
pid_t harness_labelled;
const char *harness_msr_list;
static struct actor *actors[MAX_ACTORS];
/* Rules of before: they may still decide for other actors. */
static struct site_rules *earlier[MAX_RULES];
static unsigned int nearlier;
static struct reply answer;

static int fake_cred(pid_t pid, struct cred *cred)
{
	for (unsigned int i = 0; i < MAX_ACTORS; i++)
		if (actors[i] && actors[i]->cred.pid == pid) {
			*cred = actors[i]->cred;
			return 0;
		}
	/* Real processes are there as well, as targets. */
	return policy_read_cred(pid, cred);
}

/* Other pids share ours. */
static int fake_identity(pid_t pid, struct identity **id)
{
	return identity_read(getpid(), id);
}

static void unheard(int priority, const char *line) {}

/* The kernel's answer about real processes, for clients that are none. */
static int fake_debug(const struct access *a, struct reason *why)
{
	if (a->client_pidfd < 0 || a->target_pidfd < 0 || a->client == a->target)
		abort();
	if (harness_no_answer)
		return deny(why, harness_no_answer, "nobody has asked");
	return harness_may_debug ? 0 : deny(why, -EPERM, "the kernel refuses uid %u process %d",
					    a->client->uid[ID_REAL], a->named);
}

static int fake_label(pid_t pid, char *label, size_t size)
{
	snprintf(label, size, "%s", pid == harness_labelled ? harness_label : harness_labels);
	return 0;
}

static void fake_raise(const struct owner *o, int signo) {}

void harness_start(void)
{
	struct reason why;

	memset(&harness, 0, sizeof(harness));
	config_init(&harness.config);
	if (harness_msr_list && config_set(&harness.config, "msr.list", harness_msr_list, &why))
		abort();
	harness.config_file = "/etc/pmcbpf/pmcbpf.conf";
	harness.messages.sink = unheard;
	if (!answer.data)
		answer.data = malloc(WIRE_MAX_REPLY);
	harness.errands.users = &harness.users;
	if (!answer.data || engine_new(&harness.engine, &why) || daemon_init(&harness, &why))
		abort();
	harness.read_cred = fake_cred;
	harness.read_identity = fake_identity;
	harness.may_debug = fake_debug;
	harness.read_label = fake_label;
	harness_may_debug = false;
	harness_no_answer = 0;
	harness_label = harness_labels = "";
	harness.raise = fake_raise;
}

void harness_stop(void)
{
	daemon_free(&harness);
	while (nearlier > 0)
		site_free(earlier[--nearlier]);
}

void actor_join(struct actor *a, pid_t pid, uid_t uid)
{
	struct wire_hello_req hello = { .pid = (uint32_t)pid, .program = "test" };
	struct user *charged;
	unsigned int i = 0;

	memset(a, 0, sizeof(*a));
	a->cred = (struct cred){
		.pid = pid, .inner_pid = pid, .start = 1, .leader = true, .dumpable = true,
		.user_ns = 4026531837ull, .pid_ns = harness.pid_ns,
		.uid = { uid, uid, uid }, .gid = { uid, uid, uid },
		.effective = uid ? 0 : ~0ull, .permitted = uid ? 0 : ~0ull,
	};
	while (i < MAX_ACTORS && actors[i])
		i++;
	charged = user_get(&harness.users, &a->cred);
	if (i == MAX_ACTORS || !charged ||
	    owner_get(&harness.owners, charged, &a->cred,
		      (int)syscall(SYS_pidfd_open, getpid(), 0), &a->session.owner))
		abort();
	user_put(charged);
	a->session.cred = a->cred;
	actors[i] = a;
	if (ask(a, WIRE_OP_HELLO, &hello, sizeof(hello)))
		abort();
}

void actor_rules(struct actor *a, const char *text)
{
	const struct site_subject subject = { .uid = a->cred.uid[ID_REAL], .cgroup = "/" };
	struct reason why;

	if (nearlier == MAX_RULES)
		abort();
	earlier[nearlier++] = harness.site;
	harness.site = calloc(1, sizeof(*harness.site));
	if (!harness.site || site_text(harness.site, "test.conf", text, strlen(text), &why) ||
	    site_settle(harness.site, NULL, NULL, NULL, &why))
		abort();
	grant_match(&a->session.owner->grant, harness.site, &subject);
}

void actor_leave(struct actor *a)
{
	if (a->session.owner->connections == 1)
		pmc_release_all(&harness.rows, a->session.owner);
	owner_put(&harness.owners, a->session.owner);
	for (unsigned int i = 0; i < MAX_ACTORS; i++)
		if (actors[i] == a)
			actors[i] = NULL;
}

int ask_message(struct actor *a, const struct packet *m)
{
	struct wire_hdr h;

	op_handle(&harness, &a->session, m, &answer);
	memcpy(&h, answer.data, sizeof(h));
	if (answer.len != sizeof(h) + h.len + h.reason_len || h.magic != WIRE_MAGIC ||
	    h.version != WIRE_VERSION || (h.error && (h.len || !h.reason_len || answer.nfds)) ||
	    (!h.error && h.reason_len) || answer.len > WIRE_MAX_REPLY)
		abort();
	return h.error;
}

int ask_fds(struct actor *a, uint16_t op, const void *arg, size_t len, const int *fds,
	    unsigned int n)
{
	uint8_t data[WIRE_MAX_REQUEST];
	struct wire_hdr h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = op, .seq = 42,
			      .len = (uint32_t)len };
	struct logdest dest = { .kind = LOGDEST_NULL };
	int32_t passed[RECEIVE_FDS] = { 0 };
	int taken = n ? fds[0] : -1;
	struct reason refusal = { "" };
	struct packet m = { .data = data, .len = sizeof(h) + len, .fds = fds, .nfds = n,
			     .passed = passed, .refusal = &refusal, .dest = &dest,
			     .pid = a->cred.pid, .uid = a->cred.uid[ID_REAL] };

	/* A helper's handling of passed descriptors. */
	if (op == WIRE_OP_CONFIGURELOG && n)
		passed[0] = logdest_check(taken, &dest, &refusal);
	if (passed[0]) {
		taken = -1;
		m.fds = &taken;
	}
	memcpy(data, &h, sizeof(h));
	if (len)
		memcpy(data + sizeof(h), arg, len);
	return ask_message(a, &m);
}

int ask_fd(struct actor *a, uint16_t op, const void *arg, size_t len, int fd)
{
	return ask_fds(a, op, arg, len, &fd, fd >= 0);
}

int ask(struct actor *a, uint16_t op, const void *arg, size_t len)
{
	return ask_fd(a, op, arg, len, -1);
}

const void *payload(void)
{
	return answer.data + sizeof(struct wire_hdr);
}

size_t payload_len(void)
{
	return answer.payload;
}

const char *reason(void)
{
	return answer.why.text;
}

const struct reply *last_reply(void)
{
	return &answer;
}
