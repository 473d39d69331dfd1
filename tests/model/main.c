/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The randomised model test of pmcbpfd: `model -n OPERATIONS -s SEED -d DAEMON`, half of the
 * operations with unprivileged_syspmcs 0, half with 1.  Prints TAP.  A difference is shown with the
 * seed and the latest steps, and the same seed reproduces it; -1 plays only that round, -v shows
 * every step.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "driver.h"

#define FAULTS 0x20007u			/* PAGE_FAULT.ALL */

struct options {
	const char *daemon;
	unsigned long operations;
	uint64_t seed;
	bool show;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* --- a round ------------------------------------------------------------------------------ */

/* Each actor has every actor's socket, under its number, so that a forked one finds its own. */
static int make_sockets(struct driver *d)
{
	for (unsigned int i = 0; i < M_PROCS; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) ||
		    dup2(pair[1], ACTOR_FD + (int)i) < 0)
			return differ(&d->m, "socketpair: %s", strerror(errno));
		close(pair[1]);
		fcntl(pair[0], F_SETFD, FD_CLOEXEC);
		d->ctl[i] = pair[0];
	}
	return 0;
}

static int learn_events(struct driver *d, int link, uint32_t class, struct m_events *events)
{
	const struct wire_dynevent_rep *rep = (void *)d->rep.data;

	events->class = class;
	if (!model_class(&d->m, class))
		return 0;
	d->cmd = (struct actor_cmd){ .op = WIRE_OP_GETDYNEVENTINFO,
				     .len = sizeof(struct wire_class_req) };
	*(struct wire_class_req *)d->cmd.arg = (struct wire_class_req){ .class = class };
	actor_send(link, &d->cmd, &d->rep);
	d->m.calls++;
	if (d->rep.error || !rep->count || rep->count > M_EVENTS)
		return differ(&d->m, "no list of events of class %u", class);
	events->n = rep->count;
	memcpy(events->event, rep + 1, rep->count * sizeof(events->event[0]));
	return 0;
}

/* The machine's properties are queried once, and do not change. */
/*
 * The first sampling PMC takes descriptors that stay: its programs and rings.  A kernel profile's
 * leaves nothing for helpers to close, so that the daemon is at rest soon.
 */
static int sample_once(struct driver *d, int link)
{
	struct wire_allocate_req *a = (struct wire_allocate_req *)d->cmd.arg;

	d->cmd = (struct actor_cmd){ .op = WIRE_OP_PMCALLOCATE, .len = sizeof(*a) };
	*a = (struct wire_allocate_req){
		.class = PMC_CLASS_SOFT, .event = FAULTS, .mode = PMC_MODE_SS,
		.caps = PMC_CAP_INTERRUPT | PMC_CAP_READ, .flags = PMC_F_KGMON, .count = 1000,
	};
	actor_send(link, &d->cmd, &d->rep);
	return d->rep.error ? differ(&d->m, "no page faults can be sampled") : 0;
}

static int learn(struct driver *d, bool syspmcs)
{
	int link, err;

	if (actor_connect(&link))
		return differ(&d->m, "no connection");
	d->cmd = (struct actor_cmd){ .op = WIRE_OP_GETCPUINFO };
	actor_send(link, &d->cmd, &d->rep);
	if (d->rep.error || d->rep.len != sizeof(struct wire_cpuinfo))
		return differ(&d->m, "no description of the machine");
	model_init(&d->m, (struct wire_cpuinfo *)d->rep.data, syspmcs);
	if (d->m.info.npmc > M_ROWS || d->m.info.ncpu > M_CPUS)
		return differ(&d->m, "this machine is too large for the model");
	err = sample_once(d, link);
	d->m.calls = 2;
	err = err ?: learn_events(d, link, PMC_CLASS_SOFT, &d->m.soft) ?:
	      learn_events(d, link, PMC_CLASS_MSR, &d->m.msr);
	close(link);
	daemon_rests(d);
	return err;
}

/* Every slot enabled, and every row FREE. */
static int all_free(struct driver *d)
{
	struct wire_admin_req *a = (struct wire_admin_req *)d->cmd.arg;

	note(d, "p0 finds every row free");
	if (spawn(d, 0, true, true, false) || connect_actor(d, 0, 0))
		return -1;
	for (unsigned int row = 0; row < d->m.info.npmc; row++)
		for (unsigned int cpu = 0; cpu < d->m.info.ncpu; cpu++) {
			d->cmd = (struct actor_cmd){ .op = WIRE_OP_PMCADMIN, .len = sizeof(*a) };
			*a = (struct wire_admin_req){ .cpu = (int)cpu, .pmc = (int)row,
						      .state = PMC_STATE_FREE };
			if (request(d, 0, 0, M_PID_NONE))
				return -1;
		}
	for (unsigned int cpu = 0; cpu < d->m.info.ncpu; cpu++) {
		d->cmd = (struct actor_cmd){ .op = WIRE_OP_GETPMCINFO,
					     .len = sizeof(struct wire_cpu_req) };
		memcpy(d->cmd.arg, &cpu, sizeof(cpu));
		if (request(d, 0, 0, M_PID_NONE))
			return -1;
	}
	for (unsigned int row = 0; row < d->m.info.npmc; row++)
		if (d->m.row[row].balance)
			return differ(&d->m, "row %u is not free", row);
	return kill_actor(d, 0);
}

static int all_gone(struct driver *d)
{
	for (unsigned int p = 0; p < M_PROCS; p++)
		if (d->m.proc[p].alive && kill_actor(d, p))
			return -1;
	return 0;
}

static int play(struct driver *d, const struct options *o, unsigned long operations)
{
	while (d->steps < operations) {
		unsigned long before = d->steps;

		if (step(d))
			return -1;
		if (o->show && d->steps != before)
			printf("# %s\n", d->trace[d->steps % TRACE]);
	}
	return all_gone(d) ?: all_free(d);
}

/* The model's counters of requests start anew: many clients have sent requests meanwhile. */
static int play_storm(struct driver *d, unsigned int requests)
{
	struct wire_driverstats *s = (struct wire_driverstats *)d->rep.data;
	int link;

	if (!daemon_fds_are_back(d))
		return differ(&d->m, "the daemon keeps %u descriptors of %u", daemon_fds(d),
			      d->fds);
	note(d, "a storm of clients");
	if (storm(d, 8, requests))
		return -1;
	if (!daemon_fds_are_back(d))
		return differ(&d->m, "the daemon keeps %u descriptors of %u after the storm",
			      daemon_fds(d), d->fds);
	if (actor_connect(&link))
		return differ(&d->m, "no connection after the storm");
	d->cmd = (struct actor_cmd){ .op = WIRE_OP_GETDRIVERSTATS };
	actor_send(link, &d->cmd, &d->rep);
	close(link);
	d->m.calls = s->syscalls;
	d->m.errors = s->syscall_errors;
	return all_free(d);
}

/* --- reports ------------------------------------------------------------------------------ */

/* The end of the daemon's messages. */
static void show_log(const struct driver *d)
{
	char text[4096], *line, *rest = text;
	FILE *f = fopen(d->log, "r");
	size_t n;

	if (!f)
		return;
	if (fseek(f, -(long)sizeof(text) + 1, SEEK_END))
		rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	while ((line = strsep(&rest, "\n")))
		if (*line)
			printf("# daemon: %s\n", line);
}

static void report(const struct driver *d, const struct options *o, uint64_t seed)
{
	unsigned long first = d->steps >= TRACE ? d->steps - TRACE + 1 : 1;

	printf("# difference at step %lu: %s\n# again: model -n %lu -s %llu -1\n", d->steps,
	       d->m.diff, o->operations, (unsigned long long)seed);
	for (unsigned long i = d->steps; i >= first; i--)
		printf("# %s\n", d->trace[i % TRACE]);
	show_log(d);
}

/* One line of TAP for the model, one for the storm. */
static int play_round(const struct options *o, uint64_t seed, unsigned int number)
{
	static struct driver drivers[2];
	struct driver *d = &drivers[number % 2];
	unsigned int requests = (unsigned int)(o->operations / 20);
	double began;
	int failed;

	d->random = seed;
	failed = make_sockets(d) ?: start_daemon(d, o->daemon, seed & 1) ?: learn(d, seed & 1);
	began = now();
	failed = failed ?: play(d, o, o->operations);
	printf("%s %u - model: %lu operations with seed %llu, unprivileged_syspmcs %u, "
	       "%.0f a second\n", failed ? "not ok" : "ok", 2 * number - 1,
	       failed ? d->steps : o->operations, (unsigned long long)seed,
	       (unsigned int)(seed & 1), (double)d->steps / (now() - began));
	if (failed) {
		report(d, o, seed);
		return 1;
	}
	failed = play_storm(d, requests) ?: stop_daemon(d);
	printf("%s %u - storm: 8 clients of %u requests leave every row free\n",
	       failed ? "not ok" : "ok", 2 * number, requests);
	if (failed)
		report(d, o, seed);
	unlink(d->log);
	return failed != 0;
}

/* The daemon is private to the test: its socket is in a folder of our own, which all may enter. */
static int prepare(char *dir, char *path, size_t size)
{
	if (!mkdtemp(dir) || chmod(dir, 0755))
		return -1;
	snprintf(path, size, "%s/pmc.sock", dir);
	return setenv("PMCBPF_SOCKET", path, 1) ?: prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int main(int argc, char **argv)
{
	struct options o = { .daemon = "pmcbpfd", .operations = 10000,
			     .seed = (uint64_t)time(NULL) };
	char dir[] = "/tmp/pmcbpf-model.XXXXXX", path[64];
	unsigned int rounds = 2;
	int c, failed = 0;

	if (argc == 6 && !strcmp(argv[1], "actor"))
		actor_again(argv + 2);
	while ((c = getopt(argc, argv, "n:s:d:1v")) != -1) {
		if (c == 'n')
			o.operations = strtoul(optarg, NULL, 0);
		else if (c == 's')
			o.seed = strtoull(optarg, NULL, 0);
		else if (c == 'd')
			o.daemon = optarg;
		else if (c == '1')
			rounds = 1;
		else if (c == 'v')
			o.show = true;
		else
			return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	if (prepare(dir, path, sizeof(path))) {
		perror("model");
		return 2;
	}
	printf("1..%u\n", 2 * rounds);
	o.operations /= rounds;
	for (unsigned int i = 1; i <= rounds && !failed; i++)
		failed = play_round(&o, o.seed + i - 1, i);
	unlink(path);
	rmdir(dir);
	return failed;
}
