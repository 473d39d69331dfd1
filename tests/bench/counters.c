/* SPDX-License-Identifier: BSD-2-Clause */
/* The same events on a process by libpmc-compat, by perf_event_open, or none at all. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "floor.skel.h"

/* Figures that the kernel keeps per task anyway … */
const struct event soft_events[4] = {
	{ "SOFT-TASK_CLOCK", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "SOFT-PAGE_FAULT.ALL", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "SOFT-CONTEXT_SWITCHES", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "SOFT-CPU_MIGRATIONS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
};
/* … one that is counted by slices, like hardware, and the nearest of perf's … */
const struct event soft_slice[1] = {
	{ "SOFT-PAGE_FAULT.WRITE", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
};
/* … and what every hardware PMU has. */
const struct event hard_events[4] = {
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "unhalted-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "unhalted-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
};

int perf_open(const struct event *ev, pid_t pid, bool inherit)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = ev->type, .config = ev->config, .inherit = inherit,
	};
	int fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		die("perf_event_open(type %u, config %llu): %s", ev->type,
		    (unsigned long long)ev->config, strerror(errno));
	return fd;
}

pmc_id_t pmc_open(const struct event *ev, pid_t pid, uint32_t flags)
{
	pmc_id_t id = 0;

	check_pmc(pmc_allocate(ev->spec, PMC_MODE_TC, flags, PMC_CPU_ANY, &id, 0), ev->spec);
	check_pmc(pmc_attach(id, pid), "pmc_attach");
	check_pmc(pmc_start(id), "pmc_start");
	return id;
}

/* In a process of its own, so that the one that measures stays what a user of libpmc-compat has. */
static pid_t floor_attach(void)
{
	struct floor_bpf *f;
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		f = floor_bpf__open_and_load();
		if (!f || floor_bpf__attach(f))
			die("the empty BPF program does not attach: %s", strerror(errno));
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		die("no empty BPF program to compare with");
	close(ready[0]);
	return pid;
}

void counters_open(struct counters *c, enum how how, const struct event *ev, unsigned int n,
		   pid_t pid, bool descendants)
{
	memset(c, 0, sizeof(*c));
	c->how = how;
	if (how == HOW_FLOOR)
		c->floor = floor_attach();
	if (how != HOW_OURS && how != HOW_PERF)
		return;
	for (c->n = 0; c->n < n; c->n++) {
		if (how == HOW_OURS)
			c->id[c->n] = pmc_open(&ev[c->n], pid, descendants ? PMC_F_DESCENDANTS : 0);
		else
			c->fd[c->n] = perf_open(&ev[c->n], pid, descendants);
	}
}

void counters_close(struct counters *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		if (c->how == HOW_OURS)
			check_pmc(pmc_release(c->id[i]), "pmc_release");
		else
			close(c->fd[i]);
	}
	if (c->floor)
		end(c->floor);
}
