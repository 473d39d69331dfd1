/* SPDX-License-Identifier: BSD-2-Clause */
/* The same events on a process, counted by libpmc-compat, by perf_event_open(2), or not at all. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "floor.skel.h"

#define RING_BYTES (1024u * 1024)

/* Counts that the kernel keeps per task anyway … */
const struct event soft_events[4] = {
	{ "SOFT-TASK_CLOCK", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "SOFT-PAGE_FAULT.ALL", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "SOFT-CONTEXT_SWITCHES", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "SOFT-CPU_MIGRATIONS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
};
/* … an event that is counted by slices, like hardware, and perf's nearest one … */
const struct event soft_slice[1] = {
	{ "SOFT-PAGE_FAULT.WRITE", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
};
/* … and two events that every hardware PMU has. */
const struct event hard_events[4] = {
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "unhalted-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "unhalted-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
};

/* A register next to the first of them; perf has no registers of processes. */
const struct event msr_events[2] = {
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
#ifdef __aarch64__
	{ "MSR-CNTVCT", 0, 0 },
#else
	{ "MSR-TSC", 0, 0 },
#endif
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

static int floor_open(enum how how)
{
	struct floor_bpf *f = floor_bpf__open();

	if (!f)
		return -1;
	bpf_program__set_autoload(f->progs.on_switch, how == HOW_FLOOR);
	bpf_program__set_autoload(f->progs.on_call, how != HOW_FLOOR);
	bpf_program__set_autoload(f->progs.on_return, how == HOW_FLOOR_CALLS);
	return floor_bpf__load(f) ?: floor_bpf__attach(f);
}

/* In a process of its own, so that the measuring process has only a libpmc-compat user's state. */
static pid_t floor_attach(enum how how)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		die("pipe: %s", strerror(errno));
	pid = fork_child();
	if (pid == 0) {
		close(ready[0]);
		if (floor_open(how))
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

void log_to_nowhere(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		die("/dev/null: %s", strerror(errno));
	check_pmc(pmc_configure_logfile(fd), "pmc_configure_logfile");
	close(fd);
}

static unsigned int sched_event_id(const char *name)
{
	char path[96];
	unsigned int id;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/sched/%s/id", name);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%u", &id) != 1)
		die("%s: %s", path, strerror(errno));
	fclose(f);
	return id;
}

/* Nothing reads the ring: it has room for all switches of a measurement. */
static void records_open(struct counters *c, pid_t pid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.context_switch = 1, .sample_id_all = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	};

	if (c->how != HOW_RECORDS) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = sched_event_id(c->how == HOW_SWITCHES ? "sched_switch" :
								      "sched_waking");
		attr.context_switch = 0;
		attr.sample_period = 1;
		attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_RAW | PERF_SAMPLE_PERIOD;
	}
	if (c->how == HOW_WAKEUPS)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	c->fd[0] = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (c->fd[0] < 0)
		die("perf_event_open(dummy): %s", strerror(errno));
	c->ring = mmap(NULL, RING_BYTES + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		       MAP_SHARED, c->fd[0], 0);
	if (c->ring == MAP_FAILED)
		die("mmap: %s", strerror(errno));
}

static void waits_open(struct counters *c, pid_t pid)
{
	check_pmc(pmc_allocate("OFFCPU_TIME", PMC_MODE_TS, c->how == HOW_WAKERS ? PMC_F_WAKERS : 0,
			       PMC_CPU_ANY, &c->id[0], 60000000000), "OFFCPU_TIME");
	check_pmc(pmc_attach(c->id[0], pid), "pmc_attach");
	check_pmc(pmc_start(c->id[0]), "pmc_start");
	c->n = 1;
}

static bool how_logs(enum how how)
{
	return how == HOW_LOGGED || how == HOW_WAITS || how == HOW_WAKERS;
}

static bool how_records(enum how how)
{
	return how == HOW_RECORDS || how == HOW_SWITCHES || how == HOW_WAKEUPS;
}

static bool how_floors(enum how how)
{
	return how == HOW_FLOOR || how == HOW_FLOOR_CALL || how == HOW_FLOOR_CALLS;
}

void counters_open(struct counters *c, enum how how, const struct event *ev, unsigned int n,
		   pid_t pid, bool descendants)
{
	memset(c, 0, sizeof(*c));
	c->how = how;
	if (how_floors(how))
		c->floor = floor_attach(how);
	if (how_records(how))
		records_open(c, pid);
	if (how_logs(how))
		log_to_nowhere();
	if (how == HOW_WAITS || how == HOW_WAKERS)
		waits_open(c, pid);
	if (how != HOW_OURS && how != HOW_PERF && how != HOW_LOGGED)
		return;
	for (c->n = 0; c->n < n; c->n++) {
		uint32_t flags = (descendants ? PMC_F_DESCENDANTS : 0) |
				 (how == HOW_LOGGED ? PMC_F_LOG_PROCCSW : 0);

		if (how != HOW_PERF)
			c->id[c->n] = pmc_open(&ev[c->n], pid, flags);
		else
			c->fd[c->n] = perf_open(&ev[c->n], pid, descendants);
	}
}

void counters_close(struct counters *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		if (c->how != HOW_PERF)
			check_pmc(pmc_release(c->id[i]), "pmc_release");
		else
			close(c->fd[i]);
	}
	if (c->floor)
		end(c->floor);
	if (how_logs(c->how))
		check_pmc(pmc_configure_logfile(-1), "pmc_configure_logfile");
	if (how_records(c->how)) {
		munmap(c->ring, RING_BYTES + (size_t)sysconf(_SC_PAGESIZE));
		close(c->fd[0]);
	}
}
