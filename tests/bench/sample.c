/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampling every CPU 20,000 times a second, with call chains, compared with `perf record -g`: CPU
 * time and bytes for a sample, and lost samples.  CPU time is the collecting process's (pmcbpfd or
 * perf) and the kernel's, without the interrupt itself, which is the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pmclog.h>

#include "bench.h"

#define PERIOD_NS 50000
#define FRAMES	  20		/* of the process that spins */
#define FAULTS	  64		/* of a chunk, which rings have room for */
#define FAULT_CHUNKS 501
#define PERF_DEEP "127"		/* perf's default depth */

/* --- the sampled process --------------------------------------------------------------------- */

struct spinners {
	unsigned int n;
	pid_t pid[CPU_SETSIZE];
};

/* Works at a depth of some frames. */
__attribute__((noinline))
static void deep(unsigned int frames, void (*fn)(void *arg), void *arg)
{
	if (frames)
		deep(frames - 1, fn, arg);
	else
		fn(arg);
	__asm__ volatile("" : : : "memory");
}

static void spin(void *arg)
{
	volatile bool *forever = arg;

	while (*forever)
		;
}

static void spinners_start(struct spinners *s, const cpu_set_t *cpus)
{
	bool forever = true;

	s->n = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cpus))
			continue;
		s->pid[s->n] = fork_child();
		if (s->pid[s->n] == 0) {
			pin(cpu);
			deep(FRAMES, spin, &forever);
		}
		s->n++;
	}
}

static void spinners_end(struct spinners *s)
{
	while (s->n)
		end(s->pid[--s->n]);
}

static uint32_t chain_flags(bool both)
{
	return PMC_F_CALLCHAIN | (both ? PMC_F_USERCALLCHAIN : 0);
}

/* --- the kernel's part ------------------------------------------------------------------------ */

struct faulter {
	char *pages;
	size_t size;
	double ns[FAULT_CHUNKS];
};

static void fault(void *arg)
{
	struct faulter *f = arg;
	struct timespec pause = { .tv_nsec = 1000000 };

	for (unsigned int i = 0; i < FAULT_CHUNKS; i++) {
		double t = now();

		for (size_t at = 0; at < f->size; at += f->size / FAULTS)
			f->pages[at] = 1;
		f->ns[i] = (now() - t) / FAULTS;
		madvise(f->pages, f->size, MADV_DONTNEED);
		nanosleep(&pause, NULL);
	}
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double faults(void)
{
	struct faulter f = { .size = FAULTS * (size_t)sysconf(_SC_PAGESIZE) };

	f.pages = mmap(NULL, f.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f.pages == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	madvise(f.pages, f.size, MADV_NOHUGEPAGE);
	deep(FRAMES, fault, &f);
	qsort(f.ns, FAULT_CHUNKS, sizeof(f.ns[0]), rising);
	return f.ns[FAULT_CHUNKS / 2];
}

/* The event of `perf record -g -c 1 -e page-faults`; its samples are discarded. */
struct perf_ring {
	int fd;
	struct perf_event_mmap_page *page;
	size_t size;
};

static void perf_ring_open(struct perf_ring *r, pid_t pid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CPU, .sample_id_all = 1,
	};

	r->fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		die("perf_event_open(page-faults): %s", strerror(errno));
	r->size = 512 * 1024 + (size_t)sysconf(_SC_PAGESIZE);
	r->page = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->page == MAP_FAILED)
		die("mmap: %s", strerror(errno));
}

static void perf_ring_close(struct perf_ring *r)
{
	munmap(r->page, r->size);
	close(r->fd);
}

static void until_readable(int fd, struct perf_ring *r)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, 5) == 0)
		if (r)
			__atomic_store_n(&r->page->data_tail, r->page->data_head,
					 __ATOMIC_RELEASE);
}

static pmc_id_t pmc_on_faults(pid_t pid, bool both)
{
	pmc_id_t id = 0;

	check_pmc(pmc_allocate("SOFT-PAGE_FAULT.ALL", PMC_MODE_TS, chain_flags(both), PMC_CPU_ANY,
			       &id, 1), "SOFT-PAGE_FAULT.ALL");
	check_pmc(pmc_attach(id, pid), "pmc_attach");
	check_pmc(pmc_start(id), "pmc_start");
	return id;
}

/*
 * The time of a page fault, each of which is a sample: unlike a timer's interrupt, it costs little
 * itself and does not involve a hypervisor.  With HOW_OURS the process has a log.
 */
static double fault_ns(const struct bench *b, enum how how, bool both)
{
	struct perf_ring ring = { .fd = -1 };
	int go[2], result[2];
	pmc_id_t id = 0;
	double ns = 0;
	pid_t pid;
	char c;

	if (pipe(go) || pipe(result))
		die("pipe: %s", strerror(errno));
	pid = fork_child();
	if (pid == 0) {
		pin(b->arena);
		if (read(go[0], &c, 1) == 1)
			ns = faults();
		_exit(write(result[1], &ns, sizeof(ns)) != sizeof(ns));
	}
	if (how == HOW_OURS)
		id = pmc_on_faults(pid, both);
	else if (how == HOW_PERF)
		perf_ring_open(&ring, pid);
	if (write(go[1], "g", 1) != 1)
		die("the process that faults is gone");
	until_readable(result[0], how == HOW_PERF ? &ring : NULL);
	if (read(result[0], &ns, sizeof(ns)) != sizeof(ns))
		die("the process that faults is gone");
	collect(pid);
	if (how == HOW_OURS)
		check_pmc(pmc_release(id), "pmc_release");
	else if (how == HOW_PERF)
		perf_ring_close(&ring);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(result[i]);
	}
	return ns;
}

/* --- collecting ------------------------------------------------------------------------------ */

struct cost {
	double samples, lost, bytes;
	double kernel, collector;	/* ns of a sample */
};

static double file_size(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		die("%s: %s", path, strerror(errno));
	return (double)st.st_size;
}

static void count_records(struct cost *c, const char *path)
{
	struct pmclog_ev ev;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *log = pmclog_open(fd);

	if (fd < 0 || !log)
		die("%s: %s", path, strerror(errno));
	while (!pmclog_read(log, &ev))
		c->samples += ev.pl_type == PMCLOG_TYPE_CALLCHAIN;
	if (ev.pl_state != PMCLOG_EOF)
		die("%s: %s", path, pmclog_errstr(log));
	pmclog_close(log);
	close(fd);
	c->bytes = file_size(path);
}

static void log_begin(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	check_pmc(pmc_configure_logfile(fd), "pmc_configure_logfile");
	close(fd);
}

static void sample_all(const struct bench *b, const char *path, bool both)
{
	pmc_id_t id[CPU_SETSIZE];
	int n = 0;

	log_begin(path);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &b->cpus))
			continue;
		check_pmc(pmc_allocate("SOFT-CPU_CLOCK", PMC_MODE_SS, chain_flags(both), cpu,
				       &id[n], PERIOD_NS), "SOFT-CPU_CLOCK");
		check_pmc(pmc_start(id[n++]), "pmc_start");
	}
	sleep_for(b->seconds);
	while (n)
		check_pmc(pmc_release(id[--n]), "pmc_release");
	check_pmc(pmc_configure_logfile(-1), "pmc_configure_logfile");
}

/* In a process of its own, with a daemon of its own. */
static void ours(const struct bench *b, const char *path, const char *depth,
		 double base, int result)
{
	struct pmc_driverstats before, after;
	char socket[sizeof(b->dir) + 16], option[64];
	struct cost c = { 0 };
	struct spinners s;
	double ms;
	pid_t pid;

	snprintf(socket, sizeof(socket), "%s/sampling", b->dir);
	snprintf(option, sizeof(option), "kern.hwpmc.callchaindepth=%s", depth ?: "8");
	pid = daemon_start(b, socket, option, &ms);
	check_pmc(pmc_init(), "pmc_init");
	check_pmc(pmc_get_driver_stats(&before), "pmc_get_driver_stats");
	spinners_start(&s, &b->cpus);
	c.collector = -cpu_time(pid);
	sample_all(b, path, depth);
	c.collector += cpu_time(pid);
	spinners_end(&s);
	check_pmc(pmc_get_driver_stats(&after), "pmc_get_driver_stats");
	c.lost = after.pm_intr_bufferfull - before.pm_intr_bufferfull +
		 after.pm_buffer_requests_failed - before.pm_buffer_requests_failed;
	count_records(&c, path);
	log_begin(path);
	c.kernel = fault_ns(b, HOW_OURS, depth) - base;
	check_pmc(pmc_configure_logfile(-1), "pmc_configure_logfile");
	daemon_end(pid);
	c.collector /= c.samples;
	_exit(write(result, &c, sizeof(c)) != sizeof(c));
}

static struct cost collect_ours(const struct bench *b, const char *path,
				const char *depth, double base)
{
	struct cost c;
	int result[2];
	pid_t pid;

	if (pipe(result))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		ours(b, path, depth, base, result[1]);
	close(result[1]);
	if (pid < 0 || read(result[0], &c, sizeof(c)) != sizeof(c))
		die("our sampling failed");
	collect(pid);
	close(result[0]);
	return c;
}

static void count_perf(struct cost *c, const char *path)
{
	struct { uint64_t magic, size, attr_size, attrs[2], data[2]; } head;
	struct { uint32_t type; uint16_t misc, size; uint64_t id, lost; } r;
	FILE *f = fopen(path, "re");
	uint64_t at, stop;

	if (!f || fread(&head, sizeof(head), 1, f) != 1 || memcmp(&head.magic, "PERFILE2", 8))
		die("%s is not what perf record writes", path);
	stop = head.data[0] + head.data[1];
	for (at = head.data[0]; at < stop; at += r.size) {
		if (fseeko(f, (off_t)at, SEEK_SET) || fread(&r, 8, 1, f) != 1 || r.size < 8)
			die("%s is damaged", path);
		c->samples += r.type == PERF_RECORD_SAMPLE;
		if (r.type == PERF_RECORD_LOST && fread(&r.id, 16, 1, f) == 1)
			c->lost += (double)r.lost;
	}
	fclose(f);
	c->bytes = file_size(path);
}

static struct cost collect_perf(const struct bench *b, const char *path)
{
	char seconds[16], period[16];
	struct cost c = { 0 };
	struct rusage ru;
	struct spinners s;
	int status;
	pid_t pid;

	snprintf(seconds, sizeof(seconds), "%g", b->seconds);
	snprintf(period, sizeof(period), "%d", PERIOD_NS);
	spinners_start(&s, &b->cpus);
	pid = fork();
	if (pid == 0) {
		dup2(b->log, 1);
		dup2(b->log, 2);
		execlp("perf", "perf", "record", "-q", "-g", "-a", "-c", period, "-e", "cpu-clock",
		       "-o", path, "--", "sleep", seconds, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &ru) != pid || status)
		die("perf record failed");
	spinners_end(&s);
	count_perf(&c, path);
	c.collector = ((double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1e9 +
		       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1e3) / c.samples;
	return c;
}

/* --- figures --------------------------------------------------------------------------------- */

static void compare(const char *name, const char *unit, double a, double p, enum judge judge,
		    double goal)
{
	struct series ours = { 0 }, perf = { 0 };

	add(&ours, a);
	add(&perf, p);
	report(&(struct figure){ .name = name, .unit = unit, .ours = &ours, .judge = judge,
				 .goal = goal, .other_name = "perf record -g", .other = &perf });
}

static void report_costs(const char *what, const struct cost *o, const struct cost *p, bool fair)
{
	const struct {
		const char *name, *unit;
		double ours, perf, goal;
		enum judge judge;
	} figures[] = {
		{ "taken", "samples", o->samples, p->samples, 0, JUDGE_NOT },
		{ "lost", "samples", o->lost, p->lost, 0, JUDGE_VALUE },
		{ "in the kernel", "ns", o->kernel, p->kernel, 0, JUDGE_NOT },
		{ "in the collector", "ns", o->collector, p->collector, 0, JUDGE_NOT },
		{ "both", "ns", o->kernel + o->collector, p->kernel + p->collector, 0.5,
		  fair ? JUDGE_RATIO : JUDGE_NOT },
		/* An address has 8 bytes in both formats: with equal depths sizes differ little. */
		{ "in the file", "bytes", o->bytes / o->samples, p->bytes / p->samples, 0.6,
		  fair ? JUDGE_NOT : JUDGE_RATIO },
	};
	char name[96];

	for (unsigned int i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		snprintf(name, sizeof(name), "sample, %s: %s", what, figures[i].name);
		compare(name, figures[i].unit, figures[i].ours, figures[i].perf, figures[i].judge,
			figures[i].goal);
	}
}

void bench_sample(struct bench *b)
{
	char log[sizeof(b->dir) + 16], data[sizeof(b->dir) + 16];
	struct cost few, full, perf;
	double base;

	if (!b->perf) {
		left_out("sample", "%s", b->icount ? "measured in real time only" :
			 "measured beside perf: install it (Debian: linux-perf)");
		return;
	}
	snprintf(log, sizeof(log), "%s/log", b->dir);
	snprintf(data, sizeof(data), "%s/perf.data", b->dir);
	pin_any(b);
	base = fault_ns(b, HOW_BASE, false);
	few = collect_ours(b, log, NULL, base);
	full = collect_ours(b, log, PERF_DEEP, base);
	perf = collect_perf(b, data);
	perf.kernel = fault_ns(b, HOW_PERF, true) - base;
	pin(b->home);
	report_costs("depth " PERF_DEEP ", both sides", &full, &perf, true);
	report_costs("hwpmc's: depth 8, one side", &few, &perf, false);
	dump_compare(b, log, data, perf.samples);
	unlink(log);
	unlink(data);
}
