/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of a reading: of the caller's own counts, and of another process's. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define USER_ACCESS "/proc/sys/kernel/perf_user_access"
/* The median of an odd number of chunks ignores ticks and single disturbances. */
#define CHUNKS	    31
#define CHUNK_TIME  50e3	/* ns that a chunk takes, at least */

/* Reads a PMC, a group, or if fd is not -1 a perf event, or a register through /dev/cpu/N/msr. */
struct source {
	pmc_id_t id;
	uint32_t members;		/* of the group that the PMC leads, or 0 */
	int fd;
	off_t reg;			/* 0: a perf event */
};

static void read_pmcs(const struct source *s, int n)
{
	pmc_value_t value;

	while (n--)
		if (pmc_read(s->id, &value))
			check_pmc(-1, "pmc_read");
}

static void read_groups(const struct source *s, int n)
{
	struct pmc_group_member members[PMC_GROUP_MAX_MEMBERS];
	uint32_t size = s->members;

	while (n--)
		if (pmc_group_read(s->id, &size, members, NULL))
			check_pmc(-1, "pmc_group_read");
}

static void read_file(const struct source *s, int n)
{
	uint64_t value;

	while (n--)
		if ((s->reg ? pread(s->fd, &value, sizeof(value), s->reg) :
			      read(s->fd, &value, sizeof(value))) != sizeof(value))
			die("read of what is compared with: %s", strerror(errno));
}

static double chunk(const struct source *s, int n)
{
	double t = now();

	if (s->members)
		read_groups(s, n);
	else if (s->fd < 0)
		read_pmcs(s, n);
	else
		read_file(s, n);
	return now() - t;
}

/* The time of one reading. */
static double one_run(const struct source *s)
{
	struct series chunks = { 0 };
	int n = 1;

	while (chunk(s, n) < CHUNK_TIME)
		n *= 2;
	for (int i = 0; i < CHUNKS; i++)
		add(&chunks, chunk(s, n) / n);
	return median(&chunks);
}

static void measure(const struct bench *b, const struct source *source, struct series *series)
{
	for (unsigned int i = 0; i < b->reps; i++)
		add(series, one_run(source));
}

/* In turns, so that a disturbance affects both. */
static void measure_both(const struct bench *b, const struct source *one, struct series *ours,
			 const struct source *two, struct series *other)
{
	for (unsigned int i = 0; i < b->reps; i++) {
		add(ours, one_run(one));
		add(other, one_run(two));
	}
}

static void compare(const struct bench *b, const char *name, const struct event *ev, pid_t pid,
		    enum judge judge, double goal)
{
	struct series ours = { 0 }, perf = { 0 };
	struct figure f = {
		.name = name, .unit = b->unit, .ours = &ours, .other = &perf,
		.other_name = "perf read(2)", .judge = judge, .goal = goal,
	};
	struct source source;

	source = (struct source){ .id = pmc_open(ev, pid, 0), .fd = -1 };
	measure(b, &source, &ours);
	check_pmc(pmc_release(source.id), "pmc_release");
	source.fd = perf_open(ev, pid, false);
	measure(b, &source, &perf);
	close(source.fd);
	report(&f);
}

/* --- the hardware's user access, which arm64 grants by a sysctl ------------------------------- */

/* The old value, or -1 if there is no such switch. */
static int user_access(int value)
{
	int fd = open(USER_ACCESS, O_RDWR | O_CLOEXEC);
	char text[2] = "0";

	if (fd < 0)
		return -1;
	if (read(fd, text, 1) != 1 || pwrite(fd, value ? "1" : "0", 1, 0) != 1)
		die("%s: %s", USER_ACCESS, strerror(errno));
	close(fd);
	return text[0] == '1';
}

static void read_self_hardware(const struct bench *b)
{
	int old = user_access(0);

	if (old < 0) {
		compare(b, "pmc_read self, hardware", hard_events, getpid(), JUDGE_RATIO, 0.10);
		return;
	}
	compare(b, "pmc_read self, hardware, no user access", hard_events, getpid(), JUDGE_NOT, 0);
	user_access(1);
	compare(b, "pmc_read self, hardware, user access", hard_events, getpid(),
			JUDGE_RATIO, 0.10);
	user_access(old);
}

/* A group of four against one of its events alone. */
static void read_self_group(const struct bench *b)
{
	struct series ours = { 0 }, one = { 0 };
	struct figure f = {
		.name = "pmc_group_read self, 4 hardware PMCs", .unit = b->unit, .ours = &ours,
		.other = &one, .other_name = "pmc_read of one", .judge = JUDGE_RATIO, .goal = 1.5,
	};
	struct source group = { .members = 4, .fd = -1 }, alone = { .fd = -1 };
	int old = user_access(1);	/* before the first is allocated */
	pmc_id_t ids[4];
	uint32_t number;

	alone.id = pmc_open(hard_events, getpid(), 0);
	measure(b, &alone, &one);
	check_pmc(pmc_release(alone.id), "pmc_release");
	check_pmc(pmc_group_create(&number), "pmc_group_create");
	for (int i = 0; i < 4; i++)
		check_pmc(pmc_allocate_group(hard_events[i].spec, PMC_MODE_TC, 0, PMC_CPU_ANY,
					     &ids[i], 0) || pmc_group_add(number, ids[i], !i),
			  "pmc_allocate_group");
	group.id = ids[0];
	check_pmc(pmc_group_commit(number) || pmc_start(ids[0]), "pmc_group_commit");
	measure(b, &group, &ours);
	check_pmc(pmc_group_release(ids, 4), "pmc_group_release");
	if (old >= 0)
		user_access(old);
	report(&f);
}

/* --- another process ------------------------------------------------------------------------- */

static pid_t runner(const struct bench *b)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	pin(b->arena);
	realtime();
	for (;;)
		__asm__ volatile("");
}

static void read_sleeping(const struct bench *b)
{
	pid_t pid = sleeper();

	if (b->hardware)
		compare(b, "pmc_read other, asleep, hardware", hard_events, pid, JUDGE_RATIO, 0.05);
	compare(b, "pmc_read other, asleep, sliced SOFT", soft_slice, pid, JUDGE_RATIO, 0.05);
	compare(b, "pmc_read other, asleep, TASK_CLOCK", &soft_events[0], pid, JUDGE_NOT, 0);
	end(pid);
}

static void read_running(const struct bench *b)
{
	pid_t pid;

	if (b->home == b->arena) {
		note("pmc_read of a process that runs at that moment needs a second CPU");
		return;
	}
	pid = runner(b);
	if (b->hardware)
		compare(b, "pmc_read other, running, hardware", hard_events, pid, JUDGE_NOT, 0);
	compare(b, "pmc_read other, running, sliced SOFT", soft_slice, pid, JUDGE_NOT, 0);
	compare(b, "pmc_read other, running, TASK_CLOCK", &soft_events[0], pid, JUDGE_NOT, 0);
	end(pid);
}

/* --- CPUs ------------------------------------------------------------------------------------ */

static struct source cpu_pmc(const char *spec, int cpu)
{
	struct source s = { .fd = -1 };

	check_pmc(pmc_allocate(spec, PMC_MODE_SC, 0, cpu, &s.id, 0), "pmc_allocate");
	check_pmc(pmc_start(s.id), "pmc_start");
	return s;
}

/*
 * By a descriptor; for events that are not counted when they occur, such as ticks, through the
 * daemon.
 */
static void read_cpu(const struct bench *b)
{
	struct series ours = { 0 }, asked = { 0 };
	struct figure f = {
		.name = "pmc_read CPU, CPU_CLOCK", .unit = b->unit, .ours = &ours,
		.other = &asked, .other_name = "CLOCK.HARD, by the daemon",
	};
	struct source clock = cpu_pmc("CPU_CLOCK", b->home), ticks = cpu_pmc("CLOCK.HARD", b->home);

	measure_both(b, &clock, &ours, &ticks, &asked);
	check_pmc(pmc_release(clock.id) || pmc_release(ticks.id), "pmc_release");
	report(&f);
}

/* QEMU has this register, nothing in a guest uses it, and tests/bench/run puts it on the list. */
#define REGISTER      0x402
#define REGISTER_NAME "MSR-0x402"

static void read_register(const struct bench *b, const char *name, int cpu, enum judge judge)
{
	struct series ours = { 0 }, device = { 0 };
	struct figure f = {
		.name = name, .unit = b->unit, .ours = &ours, .other = &device,
		.other_name = "pread of /dev/cpu/N/msr", .judge = judge, .goal = 0.5,
	};
	struct source row = cpu_pmc(REGISTER_NAME, cpu), other = { .reg = REGISTER };
	char path[64];

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	other.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (other.fd < 0)
		die("%s: %s", path, strerror(errno));
	measure_both(b, &row, &ours, &other, &device);
	check_pmc(pmc_release(row.id), "pmc_release");
	close(other.fd);
	report(&f);
}

static void read_registers(const struct bench *b)
{
	if (access("/dev/pmcbpf_msr", F_OK) || access("/dev/cpu/0/msr", F_OK)) {
		note("pmc_read of registers needs the modules pmcbpf_msr and msr: see make bench "
		     "VM=1 KERNEL=6.12-x86");
		return;
	}
	read_register(b, "pmc_read CPU, register", b->home, JUDGE_RATIO);
	if (b->arena != b->home)
		read_register(b, "pmc_read CPU, register of another", b->arena, JUDGE_NOT);
}

void bench_read(struct bench *b)
{
	static const char *const names[] = {
		"pmc_read self, TASK_CLOCK", "pmc_read self, PAGE_FAULT.ALL",
		"pmc_read self, CONTEXT_SWITCHES", "pmc_read self, CPU_MIGRATIONS",
	};

	for (unsigned int i = 0; i < 4; i++)
		compare(b, names[i], &soft_events[i], getpid(), JUDGE_RATIO, 1.0);
	if (b->hardware) {
		read_self_hardware(b);
		read_self_group(b);
	}
	read_sleeping(b);
	read_running(b);
	read_cpu(b);
	read_registers(b);
}
