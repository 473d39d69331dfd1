/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The additional cost of a system call when the hits of its tracepoint are counted, and of the
 * allocation of such a PMC.  Each measurement is paired with one without PMCs.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define TRACEFS "/sys/kernel/tracing/events/"
#define CHUNKS	21
#define CALLS	2000		/* of a chunk */

struct event tracepoint_events[TRACEPOINTS_MAX] = {
	{ "syscalls:sys_enter_sched_get_priority_max", PERF_TYPE_TRACEPOINT, 0 },
	{ "syscalls:sys_exit_sched_get_priority_max", PERF_TYPE_TRACEPOINT, 0 },
	{ "raw_syscalls:sys_enter", PERF_TYPE_TRACEPOINT, 0 },
	{ "raw_syscalls:sys_exit", PERF_TYPE_TRACEPOINT, 0 },
};
struct event rare_tracepoints[TRACEPOINTS_MAX] = {
	{ "sched:sched_process_fork", PERF_TYPE_TRACEPOINT, 0 },
	{ "sched:sched_process_exec", PERF_TYPE_TRACEPOINT, 0 },
	{ "sched:sched_process_exit", PERF_TYPE_TRACEPOINT, 0 },
	{ "signal:signal_deliver", PERF_TYPE_TRACEPOINT, 0 },
};
/* One that the call does not hit. */
static const struct event others[1] = {
	{ "syscalls:sys_enter_sched_get_priority_min", PERF_TYPE_TRACEPOINT, 0 },
};

/* "SYSTEM:NAME" is a folder of tracefs. */
static bool event_number(struct event *ev)
{
	const char *colon = strchr(ev->spec, ':');
	unsigned long long id = 0;
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), TRACEFS "%.*s/%s/id", (int)(colon - ev->spec), ev->spec,
		 colon + 1);
	f = fopen(path, "r");
	if (f && fscanf(f, "%llu", &id) != 1)
		id = 0;
	if (f)
		fclose(f);
	ev->config = id;
	return id != 0;
}

static bool events_number(struct event *ev)
{
	for (unsigned int i = 0; i < TRACEPOINTS_MAX; i++)
		if (!event_number(&ev[i])) {
			note("no tracepoints: %s is not in tracefs", ev[i].spec);
			return false;
		}
	return true;
}

bool bench_has_tracepoints(void)
{
	return events_number(tracepoint_events) && events_number(rare_tracepoints);
}

/* One call, in ns; the median ignores ticks. */
static double calls_median(void)
{
	struct series chunks = { 0 };

	for (unsigned int i = 0; i < CHUNKS; i++) {
		double begin = now();

		for (unsigned int k = 0; k < CALLS; k++)
			(void)sched_get_priority_max(SCHED_OTHER);
		add(&chunks, (now() - begin) / CALLS);
	}
	return median(&chunks);
}

static double call_time(enum how how, const struct event *ev, unsigned int n)
{
	struct counters c;
	double ns;

	counters_open(&c, how, ev, n, getpid(), false);
	ns = calls_median();
	counters_close(&c);
	/* Programs that linger would be part of the next measurement. */
	settle();
	return ns;
}

/* Of one tracepoint also with a program there that does nothing. */
static void hit_test(const struct bench *b, const char *name, unsigned int first, unsigned int n,
		     double goal)
{
	struct series base = { 0 }, ours = { 0 }, perf = { 0 }, floor = { 0 };
	const struct figure f = {
		.name = name, .unit = b->unit, .ours = &ours, .other = &perf,
		.other_name = "perf per task", .judge = JUDGE_RATIO, .goal = goal,
	};
	const struct figure alone = {
		.name = "an empty program there", .unit = b->unit, .ours = &floor, .other = &perf,
		.other_name = "perf per task", .judge = JUDGE_NOT,
	};

	for (unsigned int i = 0; i < b->reps; i++) {
		add(&base, call_time(HOW_BASE, NULL, 0));
		if (n == 1)
			add(&floor, call_time(HOW_FLOOR_CALL, NULL, 0));
		add(&ours, call_time(HOW_OURS, &tracepoint_events[first], n));
		add(&perf, call_time(HOW_PERF, &tracepoint_events[first], n));
	}
	subtract(&ours, &base);
	subtract(&perf, &base);
	report(&f);
	if (n == 1) {
		subtract(&floor, &base);
		report(&alone);
	}
}

/* Ours is sampled; perf evaluates a filter before it samples or counts. */
static double filtered_time(bool perf)
{
	pmc_id_t id = 0;
	double ns;
	int fd = -1;

	if (perf) {
		fd = perf_open(&tracepoint_events[0], getpid(), false);
		if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "policy == 77"))
			die("PERF_EVENT_IOC_SET_FILTER: %s", strerror(errno));
	} else {
		char spec[128];

		snprintf(spec, sizeof(spec), "%s,filter=policy == 77", tracepoint_events[0].spec);
		log_to_nowhere();
		check_pmc(pmc_allocate(spec, PMC_MODE_TS, 0, PMC_CPU_ANY, &id, 1), spec);
		check_pmc(pmc_attach(id, getpid()), "pmc_attach");
		check_pmc(pmc_start(id), "pmc_start");
	}
	ns = calls_median();
	if (perf) {
		close(fd);
	} else {
		check_pmc(pmc_release(id), "pmc_release");
		check_pmc(pmc_configure_logfile(-1), "pmc_configure_logfile");
	}
	settle();
	return ns;
}

static void filter_test(const struct bench *b)
{
	struct series base = { 0 }, ours = { 0 }, perf = { 0 };
	const struct figure f = {
		.name = "hit that a filter keeps out", .unit = b->unit, .ours = &ours,
		.other = &perf, .other_name = "perf per task", .judge = JUDGE_NOT,
	};

	for (unsigned int i = 0; i < b->reps; i++) {
		add(&base, call_time(HOW_BASE, NULL, 0));
		add(&ours, filtered_time(false));
		add(&perf, filtered_time(true));
	}
	subtract(&ours, &base);
	subtract(&perf, &base);
	report(&f);
}

/* A system call that is not counted, while another one is. */
static void miss_test(const struct bench *b)
{
	struct event ev = others[0];
	struct series base = { 0 }, ours = { 0 }, perf = { 0 };
	const struct figure f = {
		.name = "system call that is no hit", .unit = b->unit, .ours = &ours,
		.other = &perf, .other_name = "perf per task", .judge = JUDGE_NOT,
	};

	if (!event_number(&ev))
		return;
	for (unsigned int i = 0; i < b->reps; i++) {
		add(&base, call_time(HOW_BASE, NULL, 0));
		add(&ours, call_time(HOW_OURS, &ev, 1));
		add(&perf, call_time(HOW_PERF, &ev, 1));
	}
	subtract(&ours, &base);
	subtract(&perf, &base);
	report(&f);
}

/* Allocation, attachment and start; the tracepoint has been counted before. */
static void start_test(const struct bench *b)
{
	struct series ours = { 0 }, perf = { 0 };
	const struct figure f = {
		.name = "begin to count a tracepoint", .unit = b->unit, .ours = &ours,
		.other = &perf, .other_name = "perf_event_open", .judge = JUDGE_RATIO, .goal = 2,
	};
	pmc_id_t warm = pmc_open(&tracepoint_events[2], getpid(), 0);

	for (unsigned int i = 0; i < b->reps; i++) {
		double begin = now(), end;
		pmc_id_t id = 0;
		int fd;

		check_pmc(pmc_allocate(tracepoint_events[2].spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id,
				       0), "pmc_allocate");
		check_pmc(pmc_start(id), "pmc_start");
		end = now();
		add(&ours, end - begin);
		check_pmc(pmc_release(id), "pmc_release");
		begin = now();
		fd = perf_open(&tracepoint_events[2], getpid(), false);
		end = now();
		add(&perf, end - begin);
		close(fd);
	}
	check_pmc(pmc_release(warm), "pmc_release");
	report(&f);
}

void bench_tracepoint(struct bench *b)
{
	if (!b->tracepoints)
		return;
	hit_test(b, "hit of a system call's tracepoint", 0, 1, 0.6);
	hit_test(b, "hit of another tracepoint", 2, 1, 0.6);
	hit_test(b, "hits of 4 tracepoints", 0, 4, 0.6);
	filter_test(b);
	miss_test(b);
	start_test(b);
}
