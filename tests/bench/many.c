/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scale: the cost of one client's operations, and the memory of daemon and kernel, with ten owners
 * and with 1,000, and with ten and with 10,000 targets of one PMC.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define FEW_OWNERS   10
#define SOME_OWNERS  100	/* for memory: ten are served from the spares */
#define MANY_OWNERS  1000
#define PMCS	     4		/* of an owner */
#define FEW_TARGETS  10
#define MANY_TARGETS 10000
#define ROUNDS	     51
#define FLAT	     1.5
#define STACK	     4096	/* of a process that only sleeps */

static const char *const steps[] = {
	"pmc_allocate", "pmc_attach", "pmc_start", "pmc_read", "pmc_stop", "pmc_detach",
	"pmc_release", "pmc_pmcinfo", "connect and first PMC",
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* --- memory ---------------------------------------------------------------------------------- */

static double line_value(const char *path, const char *name)
{
	FILE *f = fopen(path, "re");
	size_t len = strlen(name);
	char line[256];
	double v = -1;

	while (f && v < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len))
			v = strtod(line + len, NULL);
	if (f)
		fclose(f);
	return v;
}

/* Bytes of all BPF maps that the daemon holds. */
static double map_bytes(pid_t pid)
{
	char dir[64], path[512];
	struct dirent *d;
	double sum = 0;
	DIR *fds;

	snprintf(dir, sizeof(dir), "/proc/%d/fdinfo", (int)pid);
	fds = opendir(dir);
	if (!fds)
		die("%s: %s", dir, strerror(errno));
	while ((d = readdir(fds))) {
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		if (line_value(path, "map_id:") > 0)
			sum += line_value(path, "memlock:");
	}
	closedir(fds);
	return sum;
}

struct memory {
	double resident, maps;		/* kB */
};

/* After the daemon has refilled its spares. */
static struct memory memory(const struct bench *b)
{
	char path[64];

	poll(NULL, 0, 500);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)b->main_daemon);
	return (struct memory){ line_value(path, "VmRSS:"), map_bytes(b->main_daemon) / 1024 };
}

/* --- owners ---------------------------------------------------------------------------------- */

static const struct event *const owned[PMCS] = {
	&soft_events[0], &soft_events[1], &soft_events[2], &soft_slice[0],
};

static pid_t owner(int ready)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	for (unsigned int i = 0; i < PMCS; i++)
		(void)pmc_open(owned[i], 0, 0);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void gather(pid_t *pids, unsigned int n)
{
	int ready[2];
	char c;

	if (pipe(ready))
		die("pipe: %s", strerror(errno));
	for (unsigned int i = 0; i < n; i++) {
		pids[i] = owner(ready[1]);
		if (read(ready[0], &c, 1) != 1)
			die("an owner is gone");
	}
	close(ready[0]);
	close(ready[1]);
}

static double first_pmc(void)
{
	double *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			 0), taken;
	pid_t pid = fork();

	if (pid == 0) {
		pmc_id_t id = 0;

		*t = now();
		check_pmc(pmc_init(), "pmc_init");
		check_pmc(pmc_allocate(soft_events[0].spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0),
			  "pmc_allocate");
		*t = now() - *t;
		_exit(0);
	}
	collect(pid);
	taken = *t;
	munmap(t, sizeof(*t));
	return taken;
}

/* One client's whole life of a PMC, step by step. */
static void live(const struct event *ev, pid_t target, struct series s[STEPS])
{
	struct pmc_pmcinfo *info;
	pmc_value_t value;
	pmc_id_t id = 0;
	double t[STEPS + 1];

	t[0] = now();
	check_pmc(pmc_allocate(ev->spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), ev->spec);
	t[1] = now();
	check_pmc(pmc_attach(id, target), "pmc_attach");
	t[2] = now();
	check_pmc(pmc_start(id), "pmc_start");
	t[3] = now();
	check_pmc(pmc_read(id, &value), "pmc_read");
	t[4] = now();
	check_pmc(pmc_stop(id), "pmc_stop");
	t[5] = now();
	check_pmc(pmc_detach(id, target), "pmc_detach");
	t[6] = now();
	check_pmc(pmc_release(id), "pmc_release");
	t[7] = now();
	check_pmc(pmc_pmcinfo(0, &info), "pmc_pmcinfo");
	t[8] = now();
	free(info);
	for (unsigned int i = 0; i < 8; i++)
		add(&s[i], (t[i + 1] - t[i]) / 1000);
	add(&s[8], first_pmc() / 1000);
}

/* The owners run elsewhere; this client is one more, with a target of its own. */
static struct memory beside(const struct bench *b, unsigned int owners,
			    struct series figures[STEPS], struct series slices[STEPS],
			    struct series *gathering)
{
	static pid_t pids[MANY_OWNERS];
	struct memory m = memory(b), n;
	pid_t target = sleeper();
	struct series unused[STEPS];
	double t = now();

	gather(pids, owners);
	add(gathering, (now() - t) / owners / 1000);
	n = memory(b);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		memset(unused, 0, sizeof(unused));
		live(soft_events, target, i ? figures : unused);
		live(soft_slice, target, i ? slices : unused);
	}
	for (unsigned int i = 0; i < owners; i++)
		kill(pids[i], SIGKILL);
	for (unsigned int i = 0; i < owners; i++)
		waitpid(pids[i], NULL, 0);
	end(target);
	(void)first_pmc();	/* answered in order: the daemon has seen the others end */
	return (struct memory){ (n.resident - m.resident) / owners, (n.maps - m.maps) / owners };
}

static void flat(const char *name, const char *unit, const struct series *many,
		 const struct series *few, const char *few_name)
{
	report(&(struct figure){ .name = name, .unit = unit, .ours = many, .other = few,
				 .other_name = few_name, .judge = JUDGE_RATIO, .goal = FLAT });
}

static void owners(const struct bench *b)
{
	struct series few[2][STEPS] = { 0 }, many[2][STEPS] = { 0 }, gathering[3] = { 0 };
	struct series unused[2][STEPS] = { 0 };
	struct series resident[2] = { 0 }, maps[2] = { 0 };
	struct memory m;
	char name[96];

	(void)beside(b, FEW_OWNERS, few[0], few[1], &gathering[0]);
	m = beside(b, SOME_OWNERS, unused[0], unused[1], &gathering[2]);
	add(&resident[0], m.resident);
	add(&maps[0], m.maps);
	m = beside(b, MANY_OWNERS, many[0], many[1], &gathering[1]);
	add(&resident[1], m.resident);
	add(&maps[1], m.maps);
	for (unsigned int how = 0; how < 2; how++)
		for (unsigned int i = 0; i < STEPS; i++) {
			if (how && i == STEPS - 1)
				continue;
			snprintf(name, sizeof(name), "%s%s, %d owners", steps[i],
				 i >= 7 ? "" : how ? ", sliced" : ", figures", MANY_OWNERS);
			if (how && i == 7)
				continue;
			flat(name, "us", &many[how][i], &few[how][i], "10 owners");
		}
	flat("an owner with 4 PMCs comes, as one of 1000", "us", &gathering[1], &gathering[0],
	     "10 owners");
	flat("pmcbpfd resident per owner, 1000 owners", "kB", &resident[1], &resident[0],
	     "100 owners");
	flat("BPF maps per owner, 1000 owners", "kB", &maps[1], &maps[0], "100 owners");
}

/* --- targets --------------------------------------------------------------------------------- */

static int sleep_on(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
	return 0;
}

/* Processes that share their parent's memory: only a stack is allocated for each. */
static void targets_make(pid_t *pids, unsigned int n, char *stacks)
{
	for (unsigned int i = 0; i < n; i++) {
		pids[i] = clone(sleep_on, stacks + (size_t)(i + 1) * STACK, CLONE_VM | SIGCHLD,
				NULL);
		if (pids[i] < 0)
			die("clone of process %u: %s", i, strerror(errno));
	}
}

enum { T_ATTACH, T_READ, T_READ_STOPPED, T_START, T_STOP, T_DETACH, T_RELEASE, T_STEPS };
static const char *const target_steps[T_STEPS] = {
	"pmc_attach", "pmc_read, running", "pmc_read, stopped", "pmc_start", "pmc_stop",
	"pmc_detach", "pmc_release, attached to all",
};

static double each(int (*call)(pmc_id_t id, pid_t pid), pmc_id_t id, const pid_t *pids,
		   unsigned int n, const char *what)
{
	double t = now();

	for (unsigned int i = 0; i < n; i++)
		check_pmc(call(id, pids[i]), what);
	return (now() - t) / n / 1000;
}

static void measure_targets(const struct event *ev, const pid_t *pids, unsigned int n,
			    struct series s[T_STEPS])
{
	pmc_value_t value;
	pmc_id_t id = 0;
	double t;

	check_pmc(pmc_allocate(ev->spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), ev->spec);
	add(&s[T_ATTACH], each(pmc_attach, id, pids, n, "pmc_attach"));
	for (unsigned int i = 0; i < 5; i++) {
		t = now();
		check_pmc(pmc_start(id), "pmc_start");
		add(&s[T_START], (now() - t) / 1000);
		t = now();
		check_pmc(pmc_read(id, &value), "pmc_read");
		add(&s[T_READ], (now() - t) / 1000);
		t = now();
		check_pmc(pmc_stop(id), "pmc_stop");
		add(&s[T_STOP], (now() - t) / 1000);
		t = now();
		check_pmc(pmc_read(id, &value), "pmc_read");
		add(&s[T_READ_STOPPED], (now() - t) / 1000);
	}
	add(&s[T_DETACH], each(pmc_detach, id, pids, n, "pmc_detach"));
	for (unsigned int i = 0; i < n; i++)
		check_pmc(pmc_attach(id, pids[i]), "pmc_attach");
	t = now();
	check_pmc(pmc_release(id), "pmc_release");
	add(&s[T_RELEASE], (now() - t) / 1000);
}

static void targets(void)
{
	static const struct { const char *name; const struct event *ev; } how[] = {
		{ "figures", soft_events }, { "sliced", soft_slice },
	};
	static pid_t pids[MANY_TARGETS];
	size_t size = (size_t)MANY_TARGETS * STACK;
	char *stacks = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char name[96];

	if (stacks == MAP_FAILED)
		die("mmap of %d stacks: %s", MANY_TARGETS, strerror(errno));
	targets_make(pids, MANY_TARGETS, stacks);
	/* With ten targets, too, the other processes exist: only the number of targets differs. */
	for (unsigned int h = 0; h < 2; h++) {
		struct series few[T_STEPS] = { 0 }, many[T_STEPS] = { 0 };

		for (unsigned int i = 0; i < 3; i++)
			measure_targets(how[h].ev, pids, FEW_TARGETS, few);
		measure_targets(how[h].ev, pids, MANY_TARGETS, many);
		for (unsigned int i = 0; i < T_STEPS; i++) {
			snprintf(name, sizeof(name), "%s, %s, %d targets", target_steps[i],
				 how[h].name, MANY_TARGETS);
			flat(name, "us", &many[i], &few[i], "10 targets");
		}
	}
	for (unsigned int i = 0; i < MANY_TARGETS; i++)
		kill(pids[i], SIGKILL);
	for (unsigned int i = 0; i < MANY_TARGETS; i++)
		waitpid(pids[i], NULL, 0);
	munmap(stacks, size);
}

void bench_many(struct bench *b)
{
	if (b->icount) {
		left_out("many", "measured in real time only");
		return;
	}
	/* On one CPU: compares the work, not wakeups across CPUs. */
	pin_process(b->main_daemon, b->home);
	owners(b);
	targets();
	pin_process(b->main_daemon, -1);
}
