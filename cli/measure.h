/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmcstat: one measurement, from the command line to the last row.  struct measure is all its
 * state; main() owns it and hands it through the phases of pmcstat.c.  Functions that return int
 * return 0 or the exit code, and have printed their line when it is not 0.
 */
#ifndef PMCBPF_CLI_MEASURE_H
#define PMCBPF_CLI_MEASURE_H

#include <regex.h>
#include <signal.h>
#include <time.h>

#include <pmc.h>

#include "out.h"
#include "table.h"

/* What the command line has shown; the checks of stat_check.c look at these. */
enum seen {
	SEEN_SYSTEM_PMC = 1 << 0,
	SEEN_PROCESS_PMC = 1 << 1,
	SEEN_TARGET = 1 << 2,
	SEEN_COMMAND = 1 << 3,
	SEEN_DESCENDANTS = 1 << 4,
	SEEN_CPUS = 1 << 5,
	SEEN_JSON = 1 << 6,
	SEEN_CSV = 1 << 7,
	SEEN_EXIT_STATUS = 1 << 8,
};

/* A -t: a process by number, or every process whose name matches. */
struct wanted {
	const char *text;
	pid_t pid;		/* 0: `name` counts */
	regex_t name;
};

/* A process under measurement that is not ours.  pidfd is -1 once it is gone. */
struct target {
	pid_t pid;
	int pidfd;
	bool attached;
};

struct child {
	pid_t pid;		/* 0: none, or collected */
	int pidfd;
	int sock;		/* '!' goes out, an errno comes back if exec fails, else EOF */
	int asked;		/* the signal that we sent it */
	int status;		/* wait status, once `collected` */
	bool collected;
};

struct measure {
	unsigned int seen;	/* enum seen */
	int verbosity;
	double interval;	/* seconds */
	double duration;	/* 0: no limit */
	char **command;

	struct column *columns;
	size_t ncolumns;
	struct wanted *wanted;
	size_t nwanted;
	struct target *targets;
	size_t ntargets;
	size_t nliving;
	struct child child;

	struct out out;
	const struct format *format;
	struct table table;
	struct timespec started;

	sigset_t old_mask;
	struct sigaction old_pipe, old_child;
	int signal_fd, tick_fd, end_fd;
	int code;		/* what to exit with; not 0: no more rows */
	bool done;
};

/* stat_args.c: the command line.  *ended: --help or --version has said all. */
int args_parse(struct measure *m, int argc, char *argv[], bool *ended);
int args_usage(void);

/* stat_check.c: do the options go together? */
int args_check(struct measure *m);

/* stat_pmc.c: the PMCs themselves. */
int pmcs_allocate(struct measure *m);
int pmcs_attach(struct measure *m);
int pmcs_start(struct measure *m);
int pmcs_read(struct measure *m);
int pmcs_release(struct measure *m);

/* stat_target.c: the processes of -t. */
int targets_find(struct measure *m);
void targets_free(struct measure *m);

/*
 * stat_child.c: the command.  child_spawn() leaves it waiting, child_go() lets it exec,
 * child_abort() ends one that still waits, child_collect() takes the status of one that is gone,
 * child_ask() sends a signal and returns false if there is nobody to ask.
 */
int child_spawn(struct measure *m);
int child_go(struct measure *m);
void child_abort(struct measure *m);
void child_collect(struct measure *m);
int child_exit_code(const struct child *child);
bool child_ask(struct measure *m, int signo);

/* stat_run.c: signals, timers, rows. */
int run_prepare(struct measure *m);
int run_loop(struct measure *m);
int run_finish(struct measure *m);

#endif
