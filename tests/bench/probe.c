/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The additional cost of a call when it is counted by a probe, of an own call, and of one of another
 * process, and of the allocation of such a PMC.  Each measurement is paired with one without PMCs.
 */
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

#define TYPE   "/sys/bus/event_source/devices/uprobe/type"
#define SELF   "/proc/self/exe"
#define CHUNKS 21
#define CALLS  1000		/* of a chunk */

__attribute__((noinline, noclone)) void bench_place(void);
__attribute__((noinline, noclone)) void bench_place(void)
{
	__asm__ volatile("");
}

static struct event calls = { .spec = "uprobe:" SELF ":bench_place" };
static struct event returns = { .spec = "uretprobe:" SELF ":bench_place", .config = 1 };

/* The offset of bench_place() in the file of this program, which is the first object. */
static int place_find(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t at = (uintptr_t)bench_place - info->dlpi_addr;

	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && at >= p->p_vaddr && at - p->p_vaddr < p->p_filesz)
			*(uint64_t *)arg = at - p->p_vaddr + p->p_offset;
	}
	return 1;
}

static bool events_number(void)
{
	FILE *f = fopen(TYPE, "r");
	uint64_t offset = 0;

	if (!f || fscanf(f, "%u", &calls.type) != 1) {
		note("no probes: " TYPE " cannot be read");
		if (f)
			fclose(f);
		return false;
	}
	fclose(f);
	dl_iterate_phdr(place_find, &offset);
	returns.type = calls.type;
	calls.config1 = returns.config1 = (uintptr_t)SELF;
	calls.config2 = returns.config2 = offset;
	return true;
}

/* One call, in ns; the median ignores ticks. */
static double call_time(enum how how, const struct event *ev)
{
	struct series chunks = { 0 };
	struct counters c;

	counters_open(&c, how, ev, ev ? 1 : 0, getpid(), false);
	for (unsigned int i = 0; i < CHUNKS; i++) {
		double begin = now();

		for (unsigned int k = 0; k < CALLS; k++)
			bench_place();
		add(&chunks, (now() - begin) / CALLS);
	}
	counters_close(&c);
	settle();
	return median(&chunks);
}

static void hit_test(const struct bench *b, const char *name, const struct event *ev)
{
	struct series base = { 0 }, ours = { 0 }, perf = { 0 };
	const struct figure f = {
		.name = name, .unit = b->unit, .ours = &ours, .other = &perf,
		.other_name = "perf per task", .judge = JUDGE_RATIO, .goal = 0.6,
	};

	for (unsigned int i = 0; i < b->reps; i++) {
		add(&base, call_time(HOW_BASE, NULL));
		add(&ours, call_time(HOW_OURS, ev));
		add(&perf, call_time(HOW_PERF, ev));
	}
	subtract(&ours, &base);
	subtract(&perf, &base);
	report(&f);
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
		fd = perf_open(&calls, getpid(), false);
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
	hit_test(b, "hit of a probe of calls", &calls);
	hit_test(b, "hit of a probe of returns", &returns);
	start_test(b);
}
