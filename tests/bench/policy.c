/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The administrator's rules: each request of a user without privilege, to a daemon with 1,000 rules
 * and to one without any.  The goal is for requests; a connection is judged once for all of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

#define RULES  1000
#define ROUNDS 41		/* of one client; odd */
#define GOAL   5		/* us, or kinstr */
#define NOBODY 65534

enum { CONNECT, LOG, ALLOCATE, ATTACH, SET, START, RELEASE, KINDS };
static const char *const names[KINDS] = {
	[CONNECT] = "pmc_init", [LOG] = "pmc_configure_logfile", [ALLOCATE] = "pmc_allocate",
	[ATTACH] = "pmc_attach", [SET] = "pmc_set", [START] = "pmc_start",
	[RELEASE] = "pmc_release",
};

/* The last rule decides all settings of the client; the others are for other users and groups. */
static void rules_write(const char *dir)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/50-bench.conf", dir);
	if (mkdir(dir, 0755) || !(f = fopen(path, "we")))
		die("%s: %s", path, strerror(errno));
	for (unsigned int i = 1; i < RULES; i++)
		fprintf(f, "%s=\"%u\" pmcs=\"8\" modes=\"TC\" events=\"SOFT\" log=\"64\"\n",
			i % 2 ? "user" : "group", 100000 + i);
	fprintf(f, "events=\"all\" modes=\"SC,TC,TS\" kernel=\"yes\" processes=\"any\" "
		"registers=\"any\" pmcs=\"100\" rate=\"1000000\" period=\"1\" log=\"1000000\" "
		"trace=\"no\" share=\"25\" reserve=\"10\"\n");
	if (fclose(f))
		die("%s: %s", path, strerror(errno));
}

static void rules_remove(const char *dir)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/50-bench.conf", dir);
	unlink(path);
	rmdir(dir);
}

/* --- one client ------------------------------------------------------------------------------- */

static void privilege_drop(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY) || prctl(PR_SET_DUMPABLE, 1))
		die("cannot become a user without privilege: %s", strerror(errno));
}

#define TIMED(s, call) do {							\
	double begun_ = now();							\
	check_pmc(call, #call);							\
	add(s, (now() - begun_) / 1000);					\
} while (0)

static void life(struct series s[KINDS], pid_t target, int log)
{
	pmc_id_t id = 0;

	TIMED(&s[LOG], pmc_configure_logfile(log));
	TIMED(&s[ALLOCATE], pmc_allocate("CLOCK.PROF", PMC_MODE_TS, 0, PMC_CPU_ANY, &id, 1000000));
	TIMED(&s[ATTACH], pmc_attach(id, target));
	TIMED(&s[SET], pmc_set(id, 2000000));
	TIMED(&s[START], pmc_start(id));
	check_pmc(pmc_stop(id), "pmc_stop");
	TIMED(&s[RELEASE], pmc_release(id));
	check_pmc(pmc_configure_logfile(-1), "pmc_configure_logfile(-1)");
}

/* A process that has not connected yet; its medians go to `result`. */
static void client(const char *socket, int log, double result[KINDS])
{
	struct series s[KINDS] = { 0 };
	pid_t target;

	if (setenv("PMCBPF_SOCKET", socket, 1))
		die("setenv: %s", strerror(errno));
	privilege_drop();
	target = sleeper();
	TIMED(&s[CONNECT], pmc_init());
	for (unsigned int i = 0; i < ROUNDS; i++)
		life(s, target, log);
	for (unsigned int i = 0; i < KINDS; i++)
		result[i] = median(&s[i]);
	end(target);
	_exit(0);
}

static void client_run(const char *socket, struct series to[KINDS])
{
	double *result = mmap(NULL, KINDS * sizeof(*result), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int log = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t pid;

	if (result == MAP_FAILED || log < 0)
		die("cannot start a client: %s", strerror(errno));
	pid = fork_child();
	if (pid == 0)
		client(socket, log, result);
	collect(pid);
	for (unsigned int i = 0; i < KINDS; i++)
		add(&to[i], result[i]);
	close(log);
	munmap(result, KINDS * sizeof(*result));
}

/* --- two daemons ------------------------------------------------------------------------------ */

struct side {
	char dir[96], socket[96];
	pid_t daemon;
	struct series s[KINDS];
};

static void side_start(const struct bench *b, struct side *side, const char *name, bool rules)
{
	char option[128];
	double ms;

	snprintf(side->dir, sizeof(side->dir), "%s/%s.d", b->dir, name);
	snprintf(side->socket, sizeof(side->socket), "%s/%s", b->dir, name);
	snprintf(option, sizeof(option), "policy.dir=%s", side->dir);
	if (rules)
		rules_write(side->dir);
	side->daemon = daemon_start(b, side->socket, option, &ms);
	pin_process(side->daemon, b->home);
}

void bench_policy(struct bench *b)
{
	const char *unit = b->icount ? "kinstr" : "us";
	static struct side many, none;
	char main_socket[128], name[64];

	/* Others must reach the sockets. */
	if (chmod(b->dir, 0755))
		die("%s: %s", b->dir, strerror(errno));
	snprintf(main_socket, sizeof(main_socket), "%s", getenv("PMCBPF_SOCKET"));
	side_start(b, &many, "rules", true);
	side_start(b, &none, "none", false);
	for (unsigned int i = 0; i < b->reps; i++) {
		client_run(many.socket, many.s);
		client_run(none.socket, none.s);
	}
	for (unsigned int i = 0; i < KINDS; i++) {
		snprintf(name, sizeof(name), "%s, %d rules", names[i], RULES);
		report(&(struct figure){ .name = name, .unit = unit, .ours = &many.s[i],
					 .other = &none.s[i], .other_name = "no rules",
					 .judge = i == CONNECT ? JUDGE_NOT : JUDGE_DIFFERENCE,
					 .goal = GOAL });
	}
	daemon_end(many.daemon);
	daemon_end(none.daemon);
	rules_remove(many.dir);
	if (setenv("PMCBPF_SOCKET", main_socket, 1))
		die("setenv: %s", strerror(errno));
}
