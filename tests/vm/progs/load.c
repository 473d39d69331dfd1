// SPDX-License-Identifier: BSD-2-Clause
/*
 * A workload that knows what it did: it prints what the kernel charged to it, for tests to compare.
 *
 *	load [-w] [WHAT=N...]
 *
 * Every thread and child does spins (rounds of two user-mode instructions), pages (fresh pages
 * written), reads (fresh pages read), fills (fresh pages that the kernel writes, in read(2)),
 * switches (voluntary), calls (of sched_get_priority_max(2), every second one with policy 1),
 * moves (to another CPU, each with such a call there, of policy 0, and a store) and depth (so many
 * calls of load_descend() inside of each other).  load_call() makes the calls of the kernel.
 * stores and loads are of load_word, kernel_stores are read(2) into it, ticks are calls of
 * load_tick().
 *
 * threads and children exist before the work begins; late and forks are made then, and each of the
 * forks has `below` children itself.  locks makes two threads fight for a lock of the kernel.
 *
 * -w: prints "ready", waits for SIGUSR1, works, prints the figures and waits again, so that a
 * measurement that begins after "ready" and ends after the figures should have counted exactly
 * them.  Without it nothing is printed, because the instructions for that depend on the figures.
 *
 *	least MINFLT MAJFLT NVCSW NIVCSW CPU_NS
 *		with its children, as far as these saw before their exit
 *	self ...
 *	all  ...		with its children; of these the last switch may be missing
 *	head ...	at the end: what may have come between figures and sleep before the work,
 *	tail ...	and after it
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "places.h"
#include "spin.h"

#define MEMBERS_MAX 64
#define LOCK_BYTES  (1u << 20)
#define NAP_NS	    200000

struct figures {
	int64_t minflt, majflt, nvcsw, nivcsw, cpu;
};

enum what {
	SPINS, PAGES, READS, FILLS, SWITCHES, THREADS, LATE, CHILDREN, FORKS, BELOW, LOCKS,
	CALLS, MOVES, DEPTH,
	STORES, LOADS, KERNEL_STORES, TICKS,
	WHATS
};

static const char *const names[WHATS] = {
	[SPINS] = "spins",	 [PAGES] = "pages",	[READS] = "reads",
	[FILLS] = "fills",	 [SWITCHES] = "switches", [THREADS] = "threads",
	[LATE] = "late",	 [CHILDREN] = "children", [FORKS] = "forks",
	[BELOW] = "below",	 [LOCKS] = "locks",	[CALLS] = "calls",
	[MOVES] = "moves",	 [DEPTH] = "depth",
	[STORES] = "stores",	 [LOADS] = "loads",	[KERNEL_STORES] = "kernel_stores",
	[TICKS] = "ticks",
};

struct load {
	unsigned long n[WHATS];
	bool wait;
	int gate[2];			/* children and threads wait for its end of file */
	int file, null;
	struct shared {
		struct figures before[MEMBERS_MAX];	/* of each child born before the work */
		struct figures last;	/* figures of all that end, taken at their end */
		int64_t head;		/* CPU time from `before` to the end of the sleep */
	} *shared;
	pthread_t threads[MEMBERS_MAX];
	pid_t children[MEMBERS_MAX];
};

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static int64_t micros(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

static int64_t cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static struct figures figures(int who)
{
	struct figures f;
	struct rusage ru;

	getrusage(who, &ru);
	f = (struct figures){ ru.ru_minflt, ru.ru_majflt, ru.ru_nvcsw, ru.ru_nivcsw,
			      1000 * (micros(ru.ru_utime) + micros(ru.ru_stime)) };
	if (who == RUSAGE_SELF)
		f.cpu = cpu_now();
	return f;
}

static void add(struct figures *a, const struct figures *b, int sign)
{
	a->minflt += sign * b->minflt;
	a->majflt += sign * b->majflt;
	a->nvcsw += sign * b->nvcsw;
	a->nivcsw += sign * b->nivcsw;
	a->cpu += sign * b->cpu;
}

static void print(int fd, const char *name, const struct figures *f)
{
	dprintf(fd, "%s %ld %ld %ld %ld %ld\n", name, f->minflt, f->majflt, f->nvcsw, f->nivcsw,
		f->cpu);
}

static void report(int fd, const struct figures *self, const struct figures *all,
		   const struct figures *least)
{
	print(fd, "least", least);
	print(fd, "self", self);
	print(fd, "all", all);
}

/* --- memory that breakpoints watch ------------------------------------------------------------ */

/* One byte, so that the kernel writes it by one instruction. */
static void store_by_kernel(void)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (zero < 0 || read(zero, (void *)(uintptr_t)&load_word, 1) != 1)
		die("/dev/zero");
	close(zero);
}

static void watched(const unsigned long *n)
{
	for (unsigned long i = 0; i < n[STORES]; i++) {
		load_word = (uint32_t)i;
		load_neighbour = i;
	}
	for (unsigned long i = 0; i < n[LOADS]; i++)
		(void)load_word;
	for (unsigned long i = 0; i < n[KERNEL_STORES]; i++)
		store_by_kernel();
	for (unsigned long i = 0; i < n[TICKS]; i++)
		load_tick();
}

/* --- the work --------------------------------------------------------------------------------- */

static char *fresh(unsigned long pages, size_t page)
{
	char *p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, pages * page, MADV_NOHUGEPAGE);
	return p;
}

static void touch(unsigned long pages, bool write)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *p;

	if (!pages)
		return;
	p = fresh(pages, page);
	for (unsigned long i = 0; i < pages; i++) {
		if (write)
			p[i * page] = 1;
		else
			(void)p[i * page];
	}
	munmap((void *)p, pages * page);
}

static void fill(unsigned long pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int zero;
	char *p;

	if (!pages)
		return;
	p = fresh(pages, page);
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (unsigned long i = 0; i < pages; i++)
		if (read(zero, p + i * page, 1) != 1)
			die("/dev/zero");
	close(zero);
	munmap(p, pages * page);
}

static long voluntary(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	return ru.ru_nvcsw;
}

/* On a slow machine a nap may end before it has begun: no switch. */
static void nap_once(void)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	long before = voluntary();

	do
		nanosleep(&nap, NULL);
	while (voluntary() == before);
}

/* Goes from one of its CPUs to the next. */
static void move_once(void)
{
	cpu_set_t may, one;
	int cpu = sched_getcpu();

	if (sched_getaffinity(0, sizeof(may), &may))
		die("CPUs");
	do
		cpu = (cpu + 1) % CPU_SETSIZE;
	while (!CPU_ISSET(cpu, &may));
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("a move");
	load_call(SCHED_OTHER);
	load_word = 0;
	if (sched_setaffinity(0, sizeof(may), &may))
		die("CPUs");
}

static void work(const struct load *l)
{
	touch(l->n[PAGES], true);
	touch(l->n[READS], false);
	fill(l->n[FILLS]);
	for (unsigned long i = 0; i < l->n[SWITCHES]; i++)
		nap_once();
	for (unsigned long i = 0; i < l->n[CALLS]; i++)
		load_call(i % 2 ? SCHED_FIFO : SCHED_OTHER);
	for (unsigned long i = 0; i < l->n[MOVES]; i++)
		move_once();
	if (l->n[DEPTH] && load_descend(l->n[DEPTH]) != l->n[DEPTH])
		die("a descent");
	watched(l->n);
	if (l->n[SPINS])
		spin(l->n[SPINS]);
}

/* Blocks in read(2) until all may start. */
static void gate_wait(const struct load *l)
{
	char byte;

	while (read(l->gate[0], &byte, 1) < 0 && errno == EINTR)
		;
}

static void *thread_early(void *arg)
{
	const struct load *l = arg;

	gate_wait(l);
	work(l);
	return NULL;
}

static void *thread_late(void *arg)
{
	work(arg);
	return NULL;
}

/*
 * A long write holds the file's lock and may be preempted: other writers then have to wait for it.
 */
static void *thread_lock(void *arg)
{
	const struct load *l = arg;
	char *data = calloc(1, LOCK_BYTES);

	for (unsigned long i = 0; data && i < l->n[LOCKS]; i++)
		if (pwrite(l->file, data, LOCK_BYTES, 0) < 0)
			die("pwrite");
	free(data);
	return NULL;
}

static void threads_make(struct load *l, unsigned long n, void *(*fn)(void *))
{
	for (unsigned long i = 0; i < n; i++)
		if (pthread_create(&l->threads[i], NULL, fn, l))
			die("pthread_create");
}

static void threads_join(struct load *l, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		pthread_join(l->threads[i], NULL);
}

static void wait_children(void)
{
	int status;

	while (wait(&status) > 0)
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			die("a child");
}

/* Only the kernel knows its events after these figures: its exit. */
__attribute__((noreturn)) static void end(const struct load *l)
{
	struct figures *last = &l->shared->last, f = figures(RUSAGE_SELF);

	__atomic_fetch_add(&last->minflt, f.minflt, __ATOMIC_RELAXED);
	__atomic_fetch_add(&last->majflt, f.majflt, __ATOMIC_RELAXED);
	__atomic_fetch_add(&last->nvcsw, f.nvcsw, __ATOMIC_RELAXED);
	__atomic_fetch_add(&last->nivcsw, f.nivcsw, __ATOMIC_RELAXED);
	__atomic_fetch_add(&last->cpu, f.cpu, __ATOMIC_RELAXED);
	_exit(0);
}

static void forks(const struct load *l, unsigned long n, unsigned long below)
{
	for (unsigned long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid)
			continue;
		work(l);
		forks(l, below, 0);
		wait_children();
		end(l);
	}
}

/* Its figures are taken twice: the first time brings in the pages needed for that. */
static void child_early(struct load *l, unsigned long i)
{
	struct figures *before = &l->shared->before[i];
	char byte = 0;
	int own[2];

	close(l->gate[1]);
	if (pipe(own) || write(own[1], &byte, 1) != 1 || read(own[0], &byte, 1) != 1)
		die("pipe");
	*before = figures(RUSAGE_SELF);
	*before = figures(RUSAGE_SELF);
	before->nvcsw++;	/* for this wait */
	gate_wait(l);
	__atomic_fetch_add(&l->shared->head, cpu_now() - before->cpu, __ATOMIC_RELAXED);
	work(l);
	end(l);
}

static void children_make(struct load *l)
{
	for (unsigned long i = 0; i < l->n[CHILDREN]; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid)
			child_early(l, i);
		l->children[i] = pid;
	}
}

/* The first line of a thread's file. */
static void look(pid_t pid, const char *tid, const char *name, char *line, int size)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", pid, tid, name);
	f = fopen(path, "r");
	if (!f)
		die(path);
	if (!fgets(line, size, f))
		die(path);
	fclose(f);
}

/*
 * The state of a thread is the word after the name, which is in parentheses.  It is set before the
 * thread has left its CPU; for its system call the kernel waits until it has.
 */
static bool asleep(pid_t pid, const char *tid)
{
	char line[256];
	const char *end;

	look(pid, tid, "stat", line, sizeof(line));
	end = strrchr(line, ')');
	if (!end || !end[1] || end[2] != 'S')
		return false;
	look(pid, tid, "syscall", line, sizeof(line));
	return strncmp(line, "running", 7) != 0;
}

/* Waits until all other threads of the process have reached their gates. */
static void wait_asleep(pid_t pid)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	for (bool all = false; !all; nanosleep(&nap, NULL)) {
		DIR *dir = opendir(path);
		struct dirent *d;

		all = true;
		while (dir && (d = readdir(dir)))
			if (d->d_name[0] != '.' && atoi(d->d_name) != getpid() &&
			    !asleep(pid, d->d_name))
				all = false;
		if (!dir)
			die(path);
		closedir(dir);
	}
}

static void all_work(struct load *l)
{
	if (l->gate[1] >= 0)
		close(l->gate[1]);
	work(l);
	threads_join(l, l->n[THREADS]);
	threads_make(l, l->n[LATE], thread_late);
	threads_join(l, l->n[LATE]);
	if (l->n[LOCKS]) {
		threads_make(l, 2, thread_lock);
		threads_join(l, 2);
	}
	forks(l, l->n[FORKS], l->n[BELOW]);
	wait_children();
}

/*
 * --- the command line
 * ---------------------------------------------------------------------------
 */

static void parse(struct load *l, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t len = strcspn(argv[i], "=");
		unsigned int what = 0;

		if (!strcmp(argv[i], "-w")) {
			l->wait = true;
			continue;
		}
		while (what < WHATS &&
		       (strlen(names[what]) != len || strncmp(names[what], argv[i], len)))
			what++;
		if (what == WHATS || !argv[i][len]) {
			fprintf(stderr, "load: %s: no such work\n", argv[i]);
			exit(2);
		}
		l->n[what] = strtoul(argv[i] + len + 1, NULL, 10);
		if (what >= THREADS && what <= BELOW && l->n[what] > MEMBERS_MAX) {
			fprintf(stderr, "load: %s: at most %d\n", argv[i], MEMBERS_MAX);
			exit(2);
		}
	}
}

static void wait_signal(const struct load *l, const sigset_t *set)
{
	int sig;

	if (l->wait)
		sigwait(set, &sig);
}

static void prepare(struct load *l, const sigset_t *set)
{
	sigprocmask(SIG_BLOCK, set, NULL);
	l->shared = mmap(NULL, sizeof(*l->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l->shared == MAP_FAILED)
		die("mmap");
	memset(l->shared, 0, sizeof(*l->shared));
	l->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (l->null < 0)
		die("/dev/null");
	if (l->n[LOCKS]) {
		l->file = memfd_create("load", MFD_CLOEXEC);
		if (l->file < 0)
			die("memfd_create");
	}
	if (l->n[CHILDREN] + l->n[THREADS] == 0)
		return;
	if (pipe(l->gate))
		die("pipe");
	children_make(l);
	threads_make(l, l->n[THREADS], thread_early);
}

int main(int argc, char **argv)
{
	struct load l = { .gate = { -1, -1 } };
	struct figures self = { 0 }, children = { 0 }, least = { 0 }, now = { 0 }, head, tail, last;
	sigset_t set;

	parse(&l, argc, argv);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	prepare(&l, &set);
	if (l.wait) {
		/* Everything once, so that the measured run causes no first-time faults. */
		report(1, &self, &children, &least);
		raise(SIGUSR1);
		wait_signal(&l, &set);
		wait_asleep(getpid());
		for (unsigned long i = 0; i < l.n[CHILDREN]; i++)
			wait_asleep(l.children[i]);
		now = figures(RUSAGE_CHILDREN);
		dprintf(1, "ready\n");
	}
	self = figures(RUSAGE_SELF);
	wait_signal(&l, &set);
	head = figures(RUSAGE_SELF);
	add(&head, &self, -1);
	all_work(&l);

	/*
	 * After a fork the pages that are written next are new again, even if only by the kernel
	 * (rseq).
	 */
	errno = 0;
	if (l.wait)
		report(l.null, &now, &self, &least);
	now = figures(RUSAGE_SELF);
	last = now;
	add(&now, &self, -1);
	self = now;
	children = figures(RUSAGE_CHILDREN);
	least = l.shared->last;
	for (unsigned long i = 0; i < l.n[CHILDREN]; i++) {
		add(&children, &l.shared->before[i], -1);
		add(&least, &l.shared->before[i], -1);
	}
	add(&children, &self, 1);
	add(&least, &self, 1);
	if (l.wait)
		report(1, &self, &children, &least);
	wait_signal(&l, &set);
	tail = figures(RUSAGE_SELF);
	add(&tail, &last, -1);
	head.cpu += l.shared->head;
	if (l.wait) {
		print(1, "head", &head);
		print(1, "tail", &tail);
	}
	return 0;
}
