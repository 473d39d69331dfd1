/* SPDX-License-Identifier: BSD-2-Clause */
/* How long a program waits for a PMC: allocate, start and release, each by itself. */
#include <unistd.h>

#include "bench.h"

#define ROUNDS 15

struct calls {
	struct series allocate, start, release, open, close;
};

static void one_round(struct calls *s, const struct event *ev)
{
	double t[6];
	pmc_id_t id = 0;
	int fd;

	t[0] = now();
	check_pmc(pmc_allocate(ev->spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), ev->spec);
	t[1] = now();
	check_pmc(pmc_start(id), "pmc_start");
	t[2] = now();
	check_pmc(pmc_release(id), "pmc_release");
	t[3] = now();
	fd = perf_open(ev, 0, false);
	t[4] = now();
	close(fd);
	t[5] = now();
	add(&s->allocate, (t[1] - t[0]) / 1000);
	add(&s->start, (t[2] - t[1]) / 1000);
	add(&s->release, (t[3] - t[2]) / 1000);
	add(&s->open, (t[4] - t[3]) / 1000);
	add(&s->close, (t[5] - t[4]) / 1000);
}

static void one_test(const struct bench *b, const char *name, const struct event *ev)
{
	struct calls s = { 0 };
	char what[64];
	struct figure f = { .name = what, .unit = b->icount ? "kinstr" : "us" };

	for (int i = 0; i < ROUNDS; i++)
		one_round(&s, ev);
	snprintf(what, sizeof(what), "pmc_allocate, %s", name);
	f.ours = &s.allocate;
	f.other = &s.open;
	f.other_name = "perf_event_open";
	report(&f);
	snprintf(what, sizeof(what), "pmc_start, %s", name);
	f.ours = &s.start;
	report(&f);
	snprintf(what, sizeof(what), "pmc_release, %s", name);
	f.ours = &s.release;
	f.other = &s.close;
	f.other_name = "close";
	report(&f);
}

void bench_calls(struct bench *b)
{
	pid_t pid = sleeper();
	pmc_id_t held;

	one_test(b, "first SOFT", &soft_events[0]);
	held = pmc_open(&soft_events[0], pid, 0);
	one_test(b, "further SOFT", &soft_events[0]);
	check_pmc(pmc_release(held), "pmc_release");
	if (b->hardware) {
		one_test(b, "first hardware", hard_events);
		held = pmc_open(hard_events, pid, 0);
		one_test(b, "further hardware", hard_events);
		check_pmc(pmc_release(held), "pmc_release");
	}
	end(pid);
}
