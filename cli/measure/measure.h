/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One measurement, from its PMCs to the last row or the end of its log.  pmcstat(8), `pmc stat` and
 * `pmc record` call in; each fills a struct measure from its command line and hands it through the
 * phases that it needs.  Everything runs in the calling program's main thread.
 *
 * struct measure is the whole state.  pmcstat(8) has these phases, in this order:
 *
 *   child_check    the command exists; nothing has been done for it yet
 *   record_prepare a process that prints the log is forked before libpmc-compat has a connection,
 *                  which it must not inherit
 *   pmcs_allocate  a PMC that is refused has cost nothing so far
 *   run_prepare    signals become readable from a descriptor, so none is lost from here on
 *   child_spawn    the command is forked and waits; its pid can be attached to
 *   targets_find   the processes of -t, each held by a pidfd; never the waiting command
 *   pmcs_attach    attaches the PMCs to all of these
 *   record_begin   opens the log of -O, which destroys an old one: nothing can be refused any more
 *   pmcs_start     then child_go, which lets the command exec: no event of it is missed
 *   place_all      breakpoints on symbols: after the exec, when their addresses are known
 *   run_loop       rows, or flushes of the log, until the command, the targets, -l or a signal
 *                  end it
 *   run_finish     the last row, PMCs released, the command collected, the log complete
 *
 * Each phase returns 0 or an exit code, and has printed its line if that is not 0; the first phase
 * that fails is the last.  measure_end() releases whatever the phases before have left.  Inside the
 * loop a failure is kept in `code` instead, because a command that has the terminal runs to its end
 * even when rows can no longer be written.
 */
#ifndef PMCBPF_CLI_MEASURE_H
#define PMCBPF_CLI_MEASURE_H

#include <regex.h>
#include <signal.h>
#include <time.h>

#include <pmc.h>

#include "cli/common/common.h"
#include "cli/log/log.h"
#include "table.h"

/* Kinds of options on the command line; pmcstat/check.c has the rules for them. */
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
	SEEN_INPUT = 1 << 9,
	SEEN_OUTPUT = 1 << 10,
	SEEN_SAMPLING = 1 << 11,	/* -P, -S */
	SEEN_COUNTING = 1 << 12,	/* -p, -s */
	SEEN_LOG = 1 << 13,		/* -O */
	SEEN_EXIT_LOG = 1 << 14,	/* -E */
	SEEN_SWITCH_LOG = 1 << 15,	/* -W */
	SEEN_RATE = 1 << 16,		/* -n */
	SEEN_CHAIN = 1 << 17,		/* -N */
	SEEN_CUMULATIVE = 1 << 18,	/* -C */
	SEEN_DURATION = 1 << 19,	/* -l */
	SEEN_BOTH_SIDES = 1 << 20,	/* -U */
	SEEN_CGROUPS = 1 << 21,		/* --for-each-cgroup */
	SEEN_PACE = 1 << 22,		/* -w */
};
/* … and the bits of enum analysis_seen. */
#define SEEN_OF(analysis) ((uint64_t)(analysis) << 32)

struct analysis;
struct event_group;

/* The members of {a,b,c}, as they are typed elsewhere. */
struct event_list {
	size_t n;
	const char *member[PMC_GROUP_MAX_MEMBERS];
};

/* The time at which counting of a process begins. */
enum from {
	FROM_USUAL,		/* the command at its exec, processes of -t at once */
	FROM_EXEC,		/* --from-exec: all at their next exec */
	FROM_FORK,		/* --from-fork: all at once */
	FROM_BOTH,		/* both options, which are refused */
};

/* A -t: a process by number, or all processes with a matching name. */
struct target_wanted {
	const char *text;
	pid_t pid;		/* 0: use `name` … */
	pid_t tid;		/* … or this thread, if not 0 … */
	int cgroup;		/* … or the cgroup of this folder, if not -1 */
	regex_t name;
};

/* A cgroup of --for-each-cgroup. */
struct cgroup_row {
	char *path;		/* below the mount; "/": all */
	int fd;			/* of its folder */
};

struct top;

/* A process of -t.  pidfd is -1 once it has ended. */
struct target {
	pid_t pid;
	pid_t tid;		/* only this thread is counted; 0: the process */
	int pidfd;
	bool attached;
};

struct child {
	pid_t pid;		/* 0: none, or collected */
	int pidfd;
	int sock;		/* '!' lets it exec; then an errno, or end of file: it runs */
	int output;		/* replaces the terminal for it; -1: nothing does */
	int asked;		/* the signal that it was sent */
	int status;		/* wait status, once `collected` */
	bool collected;
	bool traced;		/* it will stop at its exec: place.c */
};

/* Events of a measurement with a live view (top/). */
enum live_event {
	LIVE_BEGIN,		/* the view takes over `log_fd`, where the log comes from */
	LIVE_OPEN,		/* the measurement runs */
	LIVE_LOG,		/* `log_fd` is readable */
	LIVE_KEY,		/* `key_fd` is */
	LIVE_TICK,		/* the end of an interval; the log was flushed */
	LIVE_RESIZE,		/* the terminal has changed, or the process continues */
	LIVE_STOP,		/* the process is about to stop (^Z) */
	LIVE_WAIT,		/* the loop waits for the daemon to write all it has */
	LIVE_DRAIN,		/* the log was closed: read it to its end */
	LIVE_END,
};

struct measure {
	uint64_t seen;		/* enum seen */
	int verbosity;
	double interval;	/* seconds */
	double duration;	/* 0: no limit */
	char **command;
	const char *output;	/* where rows and text go, NULL: to standard error or output */
	const char *input;	/* a log to read instead of measuring */
	const char *log;	/* where the log goes; NULL: to `printer`, as text */
	struct analysis *analysis;	/* outputs to make of the log, or NULL */
	int recorded;		/* the log, for the analysis at the end; -1: none */
	int record_fd;		/* for the daemon, from record_prepare() to record_begin() */
	pid_t printer;		/* 0: none */
	enum from from;
	bool threads;		/* --per-thread */
	const char *each;	/* --for-each-cgroup, or NULL */
	struct cgroup_row *cgroups;	/* its cgroups, by path */
	size_t ncgroups;
	bool logging;		/* the log is configured */
	/* The live view (top/), or NULL.  0 or an exit code. */
	int (*live)(struct measure *m, enum live_event event);
	struct top *top;	/* the view's state between LIVE_BEGIN and LIVE_END */
	int log_fd, key_fd;	/* the view's descriptors for the loop, or -1 */
	bool progress;		/* show the log's size as it grows */
	bool reported;		/* a report follows, which warns of missing records */
	struct pmc_driverstats before;
	struct pmc_chains chains_before;

	struct column *columns;
	size_t ncolumns;
	struct event_group *groups;
	struct target_wanted *wanted;
	size_t nwanted;
	struct target *targets;
	size_t ntargets;
	size_t nliving;
	struct child child;

	struct out out;
	const struct count_format *format;
	struct count_table table;
	struct timespec started;

	sigset_t old_mask;
	struct sigaction old_pipe, old_child, old_io;
	int signal_fd, tick_fd, end_fd;
	int code;		/* the exit code; not 0: no more rows */
	bool done;
};

/* pmcs.c.  pmcs_add() adds a copy of a column, which pmcs_allocate() allocates later. */
int pmcs_add(struct measure *m, const struct column *column);
int pmcs_allocate(struct measure *m);
int pmcs_attach(struct measure *m);
int pmcs_start(struct measure *m);
int pmcs_read(struct measure *m);
int pmcs_release(struct measure *m);
/* Allocates, attaches and starts a PMC that the phases have left out, as this specifier. */
int pmcs_join(struct measure *m, struct column *column, const char *spec);
/* Does a PMC that counts descendants still have a process to count?  Needs SIGIO blocked. */
bool pmcs_have_descendants(const struct measure *m);

/*
 * kinds.c: CPUs of several kinds.  kinds_find() stores the specifiers that count an event of
 * processes on each kind, for free(3), and returns their number; 0: one PMC counts it, or none, as
 * pmc_allocate() will report.  kinds_split() makes columns of them.
 */
int kinds_find(const char *spec, enum pmc_mode mode, char ***specs);
int kinds_split(struct measure *m);

/*
 * groups.c.  groups_split() splits {a,b,c}, which it keeps, into the specifiers of a group's
 * columns; NULL: `arg` is one event.  groups_commit() follows the allocation of all columns.
 * groups_read() takes the values of a group's columns, or returns -1 with errno.
 */
int groups_split(struct measure *m, const char *arg, const struct event_list **list);
void groups_free(struct measure *m);
/*
 * The length of the first event of a list, with its qualifiers.  `ends`: "," and what else ends an
 * event.
 */
size_t groups_member(const char *text, const char *ends);
int groups_commit(const struct measure *m);
int groups_read(struct measure *m, struct column *leader);
/* True if the column is in no group, or the first of one: only then its PMC is started, … */
bool groups_lead(const struct measure *m, const struct column *column);

/*
 * targets.c.  targets_want() notes a -t: a number, tid:NUMBER, cgroup:PATH or a regular
 * expression.
 */
int targets_want(struct measure *m, const char *text);
int targets_find(struct measure *m);
/* Handles --from-exec and --from-fork; false for any other option. */
bool targets_from(struct measure *m, int code);
/*
 * Refuses these two options unless PMCs count `processes`, and a thread beside other targets, a
 * command, descendants and their logs.
 */
int targets_check(const struct measure *m, bool processes);
/* True if a single thread is to be counted. */
bool targets_are_thread(const struct measure *m);
/* The folder of the cgroup that is to be counted, -1: none is. */
int targets_cgroup(const struct measure *m);
/* Prints the reason why no process of -t could be attached to.  Returns the exit code. */
int targets_none_left(const struct measure *m);
void targets_free(struct measure *m);

/*
 * child.c.  child_check() refuses a command that does not exist, child_spawn() forks it and leaves
 * it waiting, child_go() lets it exec, child_abort() ends one that still waits, child_collect()
 * takes the exit status, child_ask() sends a signal: false if no command runs.
 */
int child_check(struct measure *m);
int child_spawn(struct measure *m);
int child_go(struct measure *m);
void child_abort(struct measure *m);
void child_collect(struct measure *m);
int child_exit_code(const struct child *child, bool asked);
/*
 * Waits for the exec of a command that is traced, which stops there.  held: it has; else it has
 * ended.  child_release() lets it run, or ends it if `code` is not 0, which is returned.
 */
int child_hold(struct measure *m, bool *held);
int child_release(struct measure *m, int code);
bool child_ask(struct measure *m, int signo);

/* log.c: a log as text or analysed.  measure_dump_log() prints -R's. */
int measure_dump_log(struct measure *m);
/* Analyses the log of -R, or the one that has just been recorded. */
int measure_analyse_log(struct measure *m);
/* Prints the log behind a descriptor, called `name` in messages. */
int measure_print_log(struct measure *m, int fd, const char *name);

/*
 * record.c: a measurement's log, to -O, to the live view or to a process that prints it.
 * record_flush() has the daemon write all records so far; record_end() waits for the last one.
 */
bool record_wanted(const struct measure *m);
int record_prepare(struct measure *m);
int record_begin(struct measure *m);
int record_flush(struct measure *m);
int record_end(struct measure *m);

/*
 * thread_rows.c: --per-thread.  The log has each thread's counts.  thread_rows_check() refuses PMCs
 * and options that do not go with it; thread_rows_print() prints the rows, and fails if they do not
 * add up to the counts.
 */
int thread_rows_check(const struct measure *m);
int thread_rows_print(struct measure *m);

/*
 * cgroup_rows.c: --for-each-cgroup.  cgroup_rows_find() finds the cgroups and gives each its own
 * columns, cgroup_rows_fd() is the folder of a column's, cgroup_rows_put() appends a row for each.
 */
int cgroup_rows_find(struct measure *m);
int cgroup_rows_fd(const struct measure *m, const struct column *column);
void cgroup_rows_put(struct measure *m, double seconds);
void cgroup_rows_free(struct measure *m);

/* place.c: the phase of breakpoints on symbols of the processes, and whether a column is one. */
int place_all(struct measure *m);
bool place_waits(const struct column *column);

/*
 * run.c: signals, timers, rows.  measure_begin() initializes an empty measurement, MEASURE_RUN()
 * runs phases until one fails, measure_end() releases all that is held and waits for a log that is
 * still being written.
 */
typedef int measure_phase(struct measure *m);
int measure_run(struct measure *m, measure_phase *const phases[], size_t count);
#define MEASURE_RUN(m, phases) measure_run(m, phases, sizeof(phases) / sizeof((phases)[0]))
void measure_begin(struct measure *m, const struct count_format *format);
int measure_end(struct measure *m);
int run_prepare(struct measure *m);
int run_loop(struct measure *m);
int run_finish(struct measure *m);
/* Takes the signals so far; true if one of them ends the measurement. */
bool run_asked_to_end(const struct measure *m);

#endif
