/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The additional cost of a call that a probe counts, and of the allocation of such a PMC.  Each
 * measurement is paired with one without PMCs.
 */
#include <errno.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define TYPE   "/sys/bus/event_source/devices/uprobe/type"
#define SELF   "/proc/self/exe"
#define CHUNKS 21
#define CALLS  1000		/* of a chunk */

__attribute__((noinline)) void bench_place(void);
__attribute__((noinline)) void bench_place(void)
{
	__asm__ volatile("");
}

static struct event calls = { .spec = "uprobe:" SELF ":bench_place" };
static struct event returns = { .spec = "uretprobe:" SELF ":bench_place", .config = 1 };
static uint64_t place;		/* offset in the file of this program */

/* This program is the first object. */
static int place_find(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t at = (uintptr_t)bench_place - info->dlpi_addr;

	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && at >= p->p_vaddr && at - p->p_vaddr < p->p_filesz)
			place = at - p->p_vaddr + p->p_offset;
	}
	return 1;
}

static bool events_number(void)
{
	FILE *f = fopen(TYPE, "r");

	if (!f || fscanf(f, "%u", &calls.type) != 1) {
		note("no probes: " TYPE " cannot be read");
		if (f)
			fclose(f);
		return false;
	}
	fclose(f);
	dl_iterate_phdr(place_find, NULL);
	returns.type = calls.type;
	return true;
}

/*
 * An event of this thread, as `perf stat -e` has one for each probe; or a disabled one of a CPU,
 * with which the kernel has the breakpoint and nothing else.
 */
static int perf_probe(const struct event *ev, bool idle)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = ev->type, .config = ev->config, .disabled = idle,
		.config1 = (uintptr_t)SELF, .config2 = place,
	};
	int fd = syscall(SYS_perf_event_open, &attr, idle ? -1 : 0, idle ? 0 : -1, -1,
			 PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		die("perf_event_open(%s): %s", ev->spec, strerror(errno));
	return fd;
}

/* One call, in ns; the median ignores ticks. */
static double call_time(enum how how, const struct event *ev)
{
	struct series chunks = { 0 };
	pmc_id_t id = how == HOW_OURS ? pmc_open(ev, getpid(), 0) : 0;
	int fd = how == HOW_PERF || how == HOW_FLOOR ? perf_probe(ev, how == HOW_FLOOR) : -1;

	for (unsigned int i = 0; i < CHUNKS; i++) {
		double begin = now();

		for (unsigned int k = 0; k < CALLS; k++)
			bench_place();
		add(&chunks, (now() - begin) / CALLS);
	}
	if (fd >= 0)
		close(fd);
	if (how == HOW_OURS)
		check_pmc(pmc_release(id), "pmc_release");
	settle();
	return median(&chunks);
}

/*
 * The breakpoint takes nearly all of the time, and each way has it: more than perf's time would be
 * too much, and less than `floor`, the breakpoint alone, is impossible.
 */
static void hit_test(const struct bench *b, const char *names[2], const struct event *ev)
{
	struct series base = { 0 }, floor = { 0 }, ours = { 0 }, perf = { 0 };
	const struct figure f = {
		.name = names[0], .unit = b->unit, .ours = &ours, .other = &perf,
		.other_name = "perf per task", .judge = JUDGE_RATIO, .goal = 1,
	};
	const struct figure alone = {
		.name = names[1], .unit = b->unit, .ours = &floor, .other = &perf,
		.other_name = "perf per task", .judge = JUDGE_NOT,
	};

	for (unsigned int i = 0; i < b->reps; i++) {
		add(&base, call_time(HOW_BASE, NULL));
		add(&floor, call_time(HOW_FLOOR, ev));
		add(&ours, call_time(HOW_OURS, ev));
		add(&perf, call_time(HOW_PERF, ev));
	}
	subtract(&floor, &base);
	subtract(&ours, &base);
	subtract(&perf, &base);
	report(&f);
	report(&alone);
}

/* Allocation, attachment and start, of a probe that nobody counts. */
static void start_test(const struct bench *b)
{
	struct series ours = { 0 }, perf = { 0 };
	const struct figure f = {
		.name = "begin to count a probe", .unit = b->unit, .ours = &ours,
		.other = &perf, .other_name = "perf_event_open", .judge = JUDGE_RATIO, .goal = 2,
	};

	for (unsigned int i = 0; i < b->reps; i++) {
		double begin = now(), end;
		pmc_id_t id = pmc_open(&calls, getpid(), 0);
		int fd;

		end = now();
		add(&ours, end - begin);
		check_pmc(pmc_release(id), "pmc_release");
		settle();
		begin = now();
		fd = perf_probe(&calls, false);
		end = now();
		add(&perf, end - begin);
		close(fd);
	}
	report(&f);
}

void bench_probe(struct bench *b)
{
	if (!events_number())
		return;
	hit_test(b, (const char *[]){ "hit of a probe of calls", "its breakpoint alone" }, &calls);
	hit_test(b, (const char *[]){ "hit of a probe of returns", "its breakpoints alone" },
		 &returns);
	start_test(b);
}
