/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the groups of the benchmark share: time, series of measurements, PMCs and perf events on a
 * process, and the line that each figure becomes.
 */
#ifndef PMCBPF_BENCH_H
#define PMCBPF_BENCH_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <pmc.h>

#define SERIES_MAX 64
#define COUNTERS_MAX 8
#define TRACEPOINTS_MAX 4

struct series {
	unsigned int n;
	double v[SERIES_MAX];
};

/* The same event, as named by libpmc-compat and by perf_event_open(2). */
struct event {
	const char *spec;
	uint32_t type;
	uint64_t config;
};

struct bench {
	const char *daemon;	/* path of pmcbpfd */
	const char *unit;	/* unit of times: ns, or instr with icount */
	bool icount;		/* an instruction takes 1 ns */
	unsigned int reps;	/* number of measurements; odd */
	double seconds;		/* of sampling */
	bool perf;		/* perf is installed, and real time is measured */
	cpu_set_t cpus;		/* that this process may use */
	int home, arena;	/* CPU of this process, CPU of the measured one; may be the same */
	bool hardware;		/* some class counts instructions and cycles */
	bool registers;		/* hardware counters count processes */
	bool tracepoints;	/* tracefs has them */
	char dir[64];		/* for the sockets */
	int log;		/* the daemons' messages */
	pid_t main_daemon;
};

enum judge {
	JUDGE_NOT,
	JUDGE_RATIO,		/* ours / other <= goal */
	JUDGE_DIFFERENCE,	/* ours - other <= goal */
	JUDGE_VALUE,		/* ours <= goal */
};
struct figure {
	const char *name, *unit;
	const struct series *ours;
	const char *other_name;	/* NULL: compared with nothing */
	const struct series *other;
	enum judge judge;
	double goal;
};

/* bench.c */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);
void check_pmc(int result, const char *what);
double now(void);		/* ns */
void pin(int cpu);
void pin_process(pid_t pid, int cpu);	/* its every thread; cpu -1: anywhere */
void pin_any(const struct bench *b);	/* as it was in the beginning */
void realtime(void);
void add(struct series *s, double v);
double median(const struct series *s);
void subtract(struct series *s, const struct series *base);
void report(const struct figure *f);
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
pid_t fork_child(void);		/* it ends with us; 0 in the child */
void collect(pid_t pid);	/* waits for it; its failure ends the benchmark */
void end(pid_t pid);
void path_beside(char *path, size_t size, const char *name);	/* … this program */
void sleep_for(double seconds);
double cpu_time(pid_t pid);	/* ns */
bool room_for(const char *dir, double bytes);

/* The resources that a program used from start to end.  Its failure ends the benchmark. */
struct used {
	double seconds;		/* of CPU time */
	double mb;		/* resident, at most */
};
/* `in` is its standard input, NULL: empty; its output is discarded. */
struct used run(const struct bench *b, char *const argv[], const char *in);

pid_t sleeper(void);		/* a process that sleeps */

/* counters.c: `n` events on a process, by us or by perf. */
enum how {
	HOW_BASE,		/* nothing */
	HOW_OURS,
	HOW_PERF,
	HOW_LOGGED,		/* ours, with a PROCCSW record for every slice */
	HOW_RECORDS,		/* the events of `perf record --switch-events` */
	HOW_WAITS,		/* ours: OFFCPU_TIME, whose threshold no wait reaches */
	HOW_WAKERS,		/* … and each wait's waker */
	HOW_SWITCHES,		/* the event of `perf record -e sched:sched_switch` */
	HOW_WAKEUPS,		/* … of `perf record -g -e sched:sched_waking` */
	HOW_FLOOR,		/* an empty BPF program at sched_switch */
	HOW_FLOOR_CALL,		/* … at the entry of system calls */
	HOW_FLOOR_CALLS,	/* … and another one at the exit */
	HOW_COUNT
};
struct counters {
	enum how how;
	unsigned int n;
	pmc_id_t id[COUNTERS_MAX];
	int fd[COUNTERS_MAX];
	pid_t floor;		/* the process that holds the empty BPF program */
	void *ring;		/* of HOW_RECORDS */
};
extern const struct event soft_events[4], soft_slice[1], hard_events[4], msr_events[2];
void counters_open(struct counters *c, enum how how, const struct event *ev, unsigned int n,
		   pid_t pid, bool descendants);
void counters_close(struct counters *c);
void log_to_nowhere(void);

/* cgroup.c: cgroups, one event in each; false: they cannot be made here, which is noted */
#define CGROUPS 20
struct cgroups {
	char top[128];		/* of the hierarchy */
	bool mounted;		/* … by us */
	pid_t pid;
	unsigned int n;
	int folder[CGROUPS];
	enum how how;
	pmc_id_t id[CGROUPS];
	int fd[CGROUPS];
};
bool cgroups_make(const struct bench *b, struct cgroups *g);
void cgroups_remove(struct cgroups *g);
void cgroup_enter(const struct cgroups *g, unsigned int i);
void cgroups_count(const struct bench *b, struct cgroups *g, enum how how, const struct event *ev);
void cgroups_count_end(struct cgroups *g);
/* switch.c: until the programs of the last measurement are detached */
void settle(void);
/* tracepoint.c: numbered if bench_has_tracepoints() */
extern struct event tracepoint_events[TRACEPOINTS_MAX];	/* of system calls */
extern struct event rare_tracepoints[TRACEPOINTS_MAX];	/* that no switch passes */
bool bench_has_tracepoints(void);
int perf_open(const struct event *ev, pid_t pid, bool inherit);
pmc_id_t pmc_open(const struct event *ev, pid_t pid, uint32_t flags);

/* The groups. */
void bench_start(struct bench *b);	/* leaves a daemon running for the groups that follow */
void bench_switch(struct bench *b);
void bench_tracepoint(struct bench *b);
void bench_probe(struct bench *b);
void bench_read(struct bench *b);
void bench_fork(struct bench *b);
void bench_calls(struct bench *b);
void bench_ops(struct bench *b);
void bench_many(struct bench *b);
void bench_policy(struct bench *b);
void bench_sample(struct bench *b);
void bench_stacks(struct bench *b);
void bench_ktr(struct bench *b);
void bench_report(struct bench *b);

/* lines.c, live.c */
void bench_lines(const struct bench *b);
void bench_live(const struct bench *b);

/* made.c: chains go from the sampled address outwards; pid UINT32_MAX is the kernel. */
FILE *made_begin(const char *path);
void made_mapping(FILE *f, uint32_t pid, uint64_t start, const char *path);
void made_process(FILE *f, uint32_t pid);
void made_sample(FILE *f, uint64_t number, uint32_t pid, uint32_t tid, const uint64_t *chain,
		 unsigned int n);
void made_end(FILE *f, uint64_t samples);
uint64_t made_random(uint64_t seed);

/* stacks.c: a log of programs that never ran; the addresses belong to real functions. */
void stacks_log(const char *path, uint64_t samples);

/* dump.c */
void dump_compare(const struct bench *b, const char *log, const char *data, double samples);

/* ktr_decode.c */
void bench_ktr_decode(const struct bench *b);

/* needs.c: prints a line for each group that is left out, with the reason. */
void left_out(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A program on PATH, or with "./" or "../" beside this one. */
bool has_program(const char *program);
/* A list that ends with NULL: if one is missing, `what` is left out. */
bool lacks(const char *what, const char *const *programs);

/* start.c */
pid_t daemon_start(const struct bench *b, const char *socket, const char *option, double *ms);
void daemon_end(pid_t pid);

#endif
