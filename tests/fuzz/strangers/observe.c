/* SPDX-License-Identifier: BSD-2-Clause */
/* Two users with ordinary requests, and the time that each request takes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "strangers.h"

#define CONTEXT_SWITCHES 0x2000b
#define FRESH		 4u		/* rounds of a connection */

/* --- figures ------------------------------------------------------------------------------- */

/* 16 buckets for each power of two; a quantile is reported as its bucket's lower bound. */
static unsigned int bucket_of(uint64_t ns)
{
	unsigned int log = 63 - (unsigned int)__builtin_clzll(ns | 16);

	return (log - 4) * 16 + (unsigned int)(ns >> (log - 4) & 15) + (ns >= 16 ? 16 : 0);
}

static uint64_t bucket_floor(unsigned int b)
{
	return b < 16 ? b : (16 + (b & 15ull)) << (b / 16 - 1);
}

void times_add(struct times *t, uint64_t ns)
{
	t->bucket[bucket_of(ns) % BUCKETS]++;
	if (ns > t->max_ns)
		t->max_ns = ns;
	t->n++;
}

uint64_t times_quantile(const struct times *t, unsigned int permille)
{
	uint64_t wanted_n = t->n * permille / 1000, seen = 0;

	for (unsigned int b = 0; b < BUCKETS; b++) {
		seen += t->bucket[b];
		if (seen > wanted_n)
			return bucket_floor(b);
	}
	return t->max_ns;
}

/* --- an observer --------------------------------------------------------------------------- */

struct view {
	struct observer *o;
	bool root;
	int sock;
	int echo;
	int null;
};

static void complain(struct view *v, uint16_t op, int err)
{
	if (v->o->refused++ == 0)
		snprintf(v->o->refusal, sizeof(v->o->refusal), "%s: %s%s%.120s", link_op(op),
			 err == LINK_CLOSED ? "closed" : strerror(-err), *link_reason() ? ": " : "",
			 link_reason());
}

static void begin(struct view *v, uint16_t op)
{
	v->o->op = op;
	__atomic_store_n(&v->o->since, now_ns(), __ATOMIC_RELAXED);
}

static void end(struct view *v, uint16_t op, int err)
{
	uint64_t took = now_ns() - v->o->since;

	__atomic_store_n(&v->o->since, 0, __ATOMIC_RELAXED);
	if (took > v->o->times.max_ns)
		v->o->max_op = op;
	times_add(&v->o->times, took);
	if (err)
		complain(v, op, err);
}

static int ask(struct view *v, uint16_t op, const void *arg, size_t len)
{
	int err;

	begin(v, op);
	err = link_call(v->sock, op, arg, len, -1, NULL);
	end(v, op, err);
	return err;
}

static int join(struct view *v)
{
	begin(v, WIRE_OP_HELLO);
	v->sock = link_open();
	end(v, WIRE_OP_HELLO, v->sock < 0 ? v->sock : 0);
	return v->sock < 0 ? v->sock : 0;
}

static int count_once(struct view *v, uint32_t mode)
{
	struct wire_rw_req rw = { .flags = PMC_F_OLDVALUE };
	struct wire_id_req id = { 0 };
	int err;

	begin(v, WIRE_OP_PMCALLOCATE);
	err = link_allocate(v->sock, mode, CONTEXT_SWITCHES, 0, &id.pmcid);
	end(v, WIRE_OP_PMCALLOCATE, err);
	if (err)
		return err;
	rw.pmcid = id.pmcid;
	err = ask(v, WIRE_OP_PMCSTART, &id, sizeof(id));
	if (!err)
		err = ask(v, WIRE_OP_PMCRW, &rw, sizeof(rw));
	return ask(v, WIRE_OP_PMCRELEASE, &id, sizeof(id)) ?: err;
}

/* Excludes the writer's time: only whether a log can be opened counts. */
static void log_once(struct view *v)
{
	struct wire_writelog_req w = { .userdata = 1 };
	int err = link_log(v->sock, v->null);

	if (!err)
		err = link_call(v->sock, WIRE_OP_WRITELOG, &w, sizeof(w), -1, NULL);
	if (!err)
		err = link_log(v->sock, -1);
	if (err)
		complain(v, WIRE_OP_CONFIGURELOG, err);
}

static void do_round(struct view *v, unsigned int number)
{
	struct wire_version version = { .version = PMC_VERSION };
	struct wire_cpu_req cpu = { .cpu = 0 };
	uint32_t mode = v->root && number % 2 ? PMC_MODE_SC : PMC_MODE_TC;
	bool closed = ask(v, WIRE_OP_GETMODULEVERSION, &version, sizeof(version)) == LINK_CLOSED ||
		      ask(v, WIRE_OP_GETPMCINFO, &cpu, sizeof(cpu)) == LINK_CLOSED ||
		      count_once(v, mode) == LINK_CLOSED;

	if (!closed && number % FRESH == FRESH - 1)
		log_once(v);
	if (closed || number % FRESH == FRESH - 1) {
		close(v->sock);
		v->sock = -1;
	}
}

static void echo_once(struct view *v)
{
	uint64_t t = now_ns();
	char byte = 0;

	if (send(v->echo, &byte, 1, MSG_NOSIGNAL) == 1 && recv(v->echo, &byte, 1, 0) == 1)
		times_add(&stage->echo, now_ns() - t);
}

static void observe(struct view *v)
{
	for (unsigned int i = 0; !__atomic_load_n(&stage->quiet, __ATOMIC_RELAXED); i++) {
		if (!v->root)
			echo_once(v);
		if (v->sock >= 0 || !join(v))
			do_round(v, i);
		usleep(500);
	}
}

static void answer_echoes(int sock)
{
	char byte;

	while (recv(sock, &byte, 1, 0) == 1)
		send(sock, &byte, 1, MSG_NOSIGNAL);
}

void observers_start(pid_t *pids)
{
	int pair[2], null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	memset(stage->observer, 0, sizeof(stage->observer));
	memset(&stage->echo, 0, sizeof(stage->echo));
	stage->quiet = 0;
	if (null < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die("socketpair: %s", strerror(errno));
	for (unsigned int i = 0; i < OBSERVERS; i++) {
		struct view v = { .o = &stage->observer[i], .root = i == 0, .sock = -1,
				  .echo = pair[0], .null = null };

		pids[i] = crew_fork();
		if (pids[i])
			continue;
		close(pair[1]);
		if (!v.root)
			crew_become(OBSERVER);
		observe(&v);
		_exit(0);
	}
	pids[OBSERVERS] = crew_fork();
	if (!pids[OBSERVERS]) {
		close(pair[0]);
		answer_echoes(pair[1]);
		_exit(0);
	}
	close(pair[0]);
	close(pair[1]);
	close(null);
}

/* --- what comes of it ---------------------------------------------------------------------- */

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* A request in progress has taken its time so far. */
static uint64_t waiting(const struct observer *o)
{
	uint64_t since = __atomic_load_n(&o->since, __ATOMIC_RELAXED), now = now_ns();

	return since && now > since ? now - since : 0;
}

double observers_max(void)
{
	uint64_t max = 0;

	for (unsigned int i = 0; i < OBSERVERS; i++) {
		const struct observer *o = &stage->observer[i];

		max = o->times.max_ns > max ? o->times.max_ns : max;
		max = waiting(o) > max ? waiting(o) : max;
	}
	return ms(max);
}

void observers_tell(const char *name)
{
	const struct observer *o = stage->observer, *slow = &o[0], *stuck = NULL;
	struct times all = o[0].times;

	for (unsigned int i = 1; i < OBSERVERS; i++) {
		for (unsigned int b = 0; b < BUCKETS; b++)
			all.bucket[b] += o[i].times.bucket[b];
		all.n += o[i].times.n;
		if (o[i].times.max_ns > slow->times.max_ns)
			slow = &o[i];
	}
	for (unsigned int i = 0; i < OBSERVERS; i++)
		if (waiting(&o[i]) > slow->times.max_ns &&
		    (!stuck || waiting(&o[i]) > waiting(stuck)))
			stuck = &o[i];
	printf("%s: max %.1f ms%s, median %.3f ms of %llu requests (99.9 %%: %.1f ms; longest: %s; "
	       "an echo meanwhile: max %.1f ms)%s%s\n",
	       name, observers_max(), stuck ? " and still waiting" : "",
	       ms(times_quantile(&all, 500)), (unsigned long long)all.n,
	       ms(times_quantile(&all, 999)), link_op((uint16_t)(stuck ? stuck->op : slow->max_op)),
	       ms(stage->echo.max_ns), stage->note[0] ? "; " : "", stage->note);
	for (unsigned int i = 0; i < OBSERVERS; i++)
		if (o[i].refused)
			printf("%s: %u requests of %s were refused, first %s\n", name, o[i].refused,
			       i ? "another user" : "root", o[i].refusal);
}
