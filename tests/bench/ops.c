/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every operation by itself, its median and 99th percentile, and operations per second of one
 * client and of many.  For comparison: perf's system calls for the same purpose, and the bare round
 * trip between two processes, the lower bound for any daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

#define SAMPLES	 401
#define WARMUP	 10
#define PAUSED	 41		/* samples with a pause before each … */
#define PAUSE	 250		/* … of so many ms: caches are cold */
#define CLIENTS	 64
#define CROWD_NS 1e9
#define MESSAGE	 64		/* bytes of a request and of its answer, about */

/* --- one operation --------------------------------------------------------------------------- */

enum { ALLOCATE, ATTACH, START, READ, WRITE, STOP, DETACH, RELEASE, INFO, NULLOP, ECHO,
       OPEN, ENABLE, READFD, DISABLE, CLOSE, KINDS };

struct samples {
	unsigned int n;
	double v[KINDS][SAMPLES];	/* us */
};

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct series quantile(struct samples *s, unsigned int kind, double q)
{
	struct series one = { 0 };

	qsort(s->v[kind], s->n, sizeof(s->v[kind][0]), rising);
	add(&one, s->v[kind][(unsigned int)(q * (s->n - 1))]);
	return one;
}

static void both(const struct bench *b, struct samples *s, const char *name, const char *what,
		 unsigned int ours, unsigned int other, const char *other_name)
{
	static const struct { const char *name; double q; } quantiles[] = {
		{ "p50", 0.5 }, { "p99", 0.99 },
	};
	char text[96];

	for (unsigned int i = 0; i < 2; i++) {
		struct series a = quantile(s, ours, quantiles[i].q);
		struct series o = quantile(s, other, quantiles[i].q);

		snprintf(text, sizeof(text), "%s%s %s", name, what, quantiles[i].name);
		report(&(struct figure){ .name = text, .unit = b->icount ? "kinstr" : "us",
					 .ours = &a, .other = &o, .other_name = other_name });
	}
}

#define TIMED(s, kind, call) do {						\
	double begun_ = now();							\
	call;									\
	(s)->v[kind][(s)->n] = (now() - begun_) / 1000;				\
} while (0)

static void echo_once(int fd)
{
	char buf[MESSAGE] = { 0 };

	if (write(fd, buf, sizeof(buf)) != sizeof(buf) || read(fd, buf, sizeof(buf)) != sizeof(buf))
		die("the echo is gone");
}

static void life(struct samples *s, const struct event *ev, pid_t pid)
{
	pmc_id_t id = 0;
	pmc_value_t v = 0;

	TIMED(s, ALLOCATE, check_pmc(pmc_allocate(ev->spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0),
				     ev->spec));
	TIMED(s, ATTACH, check_pmc(pmc_attach(id, pid), "pmc_attach"));
	TIMED(s, START, check_pmc(pmc_start(id), "pmc_start"));
	TIMED(s, READ, check_pmc(pmc_read(id, &v), "pmc_read"));
	TIMED(s, STOP, check_pmc(pmc_stop(id), "pmc_stop"));
	TIMED(s, WRITE, check_pmc(pmc_write(id, 1), "pmc_write"));
	TIMED(s, DETACH, check_pmc(pmc_detach(id, pid), "pmc_detach"));
	TIMED(s, RELEASE, check_pmc(pmc_release(id), "pmc_release"));
}

static void perf_life(struct samples *s, const struct event *ev, pid_t pid)
{
	uint64_t v;
	int fd;

	TIMED(s, OPEN, fd = perf_open(ev, pid, false));
	TIMED(s, ENABLE, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	TIMED(s, READFD, if (read(fd, &v, sizeof(v)) != sizeof(v)) die("read of a perf event"));
	TIMED(s, DISABLE, ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	TIMED(s, CLOSE, close(fd));
}

static void questions(struct samples *s, int echo)
{
	struct pmc_driverstats stats;
	struct pmc_pmcinfo *info;

	TIMED(s, NULLOP, check_pmc(pmc_get_driver_stats(&stats), "pmc_get_driver_stats"));
	TIMED(s, INFO, check_pmc(pmc_pmcinfo(0, &info), "pmc_pmcinfo"));
	free(info);
	TIMED(s, ECHO, echo_once(echo));
}

static void latency(const struct bench *b, const char *name, const struct event *ev, int echo,
		    int samples, int pause_ms)
{
	static const struct {
		const char *what, *against;
		unsigned int ours, other;
	} rows[] = {
		{ "pmc_allocate", "perf_event_open", ALLOCATE, OPEN },
		{ "pmc_attach", "socket round trip", ATTACH, ECHO },
		{ "pmc_start", "ioctl ENABLE", START, ENABLE },
		{ "pmc_read", "read(2)", READ, READFD },
		{ "pmc_stop", "ioctl DISABLE", STOP, DISABLE },
		{ "pmc_write", "socket round trip", WRITE, ECHO },
		{ "pmc_detach", "socket round trip", DETACH, ECHO },
		{ "pmc_release", "close", RELEASE, CLOSE },
		{ "pmc_pmcinfo", "socket round trip", INFO, ECHO },
		{ "pmc_get_driver_stats", "socket round trip", NULLOP, ECHO },
	};
	struct samples *s = calloc(1, sizeof(*s));
	pid_t pid = sleeper();

	if (!s)
		die("no memory");
	for (int i = -WARMUP; i < samples; i++) {
		s->n = i < 0 ? 0 : (unsigned int)i;
		if (pause_ms)
			poll(NULL, 0, pause_ms);
		life(s, ev, pid);
		perf_life(s, ev, pid);
		questions(s, echo);
	}
	s->n = (unsigned int)samples;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		both(b, s, rows[i].what, name, rows[i].ours, rows[i].other, rows[i].against);
	end(pid);
	free(s);
}

/* --- many at once ---------------------------------------------------------------------------- */

/* A server with the least possible work for all clients, one thread like pmcbpfd. */
static pid_t echo_server(int fds[CLIENTS])
{
	int ours[CLIENTS];
	pid_t pid;

	for (unsigned int i = 0; i < CLIENTS; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			die("socketpair: %s", strerror(errno));
		fds[i] = pair[0];
		ours[i] = pair[1];
	}
	pid = fork_child();
	if (pid == 0) {
		int set = epoll_create1(0);

		for (unsigned int i = 0; i < CLIENTS; i++) {
			struct epoll_event e = { .events = EPOLLIN, .data.fd = ours[i] };

			epoll_ctl(set, EPOLL_CTL_ADD, ours[i], &e);
		}
		for (;;) {
			struct epoll_event e[CLIENTS];
			int n = epoll_wait(set, e, CLIENTS, -1);

			for (int i = 0; i < n; i++) {
				char buf[MESSAGE];
				ssize_t len = read(e[i].data.fd, buf, sizeof(buf));

				if (len <= 0 || write(e[i].data.fd, buf, (size_t)len) != len)
					_exit(1);
			}
		}
	}
	for (unsigned int i = 0; i < CLIENTS; i++)
		close(ours[i]);
	return pid;
}

enum crowd { CROWD_LIFE, CROWD_NULL, CROWD_PERF, CROWD_ECHO };

/* The number of operations in a turn. */
static unsigned int turn(enum crowd what, int echo)
{
	struct pmc_driverstats stats;
	pmc_value_t v;
	pmc_id_t id = 0;
	int fd;

	switch (what) {
	case CROWD_LIFE:
		check_pmc(pmc_allocate(soft_events[0].spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0),
			  "pmc_allocate");
		check_pmc(pmc_attach(id, 0), "pmc_attach");
		check_pmc(pmc_start(id), "pmc_start");
		check_pmc(pmc_read(id, &v), "pmc_read");
		check_pmc(pmc_stop(id), "pmc_stop");
		check_pmc(pmc_release(id), "pmc_release");
		return 6;
	case CROWD_NULL:
		check_pmc(pmc_get_driver_stats(&stats), "pmc_get_driver_stats");
		return 1;
	case CROWD_PERF:
		fd = perf_open(&soft_events[0], 0, false);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		if (read(fd, &v, sizeof(v)) != sizeof(v))
			die("read of a perf event: %s", strerror(errno));
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		close(fd);
		return 5;
	case CROWD_ECHO:
		echo_once(echo);
		return 1;
	}
	return 0;
}

struct stage {
	volatile unsigned int ready, go;
	volatile uint64_t done[CLIENTS];
};

static void player(struct stage *st, unsigned int i, enum crowd what, int echo)
{
	uint64_t done = 0;
	double until;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	turn(what, echo);
	__sync_fetch_and_add(&st->ready, 1);
	while (!st->go)
		poll(NULL, 0, 1);
	for (until = now() + CROWD_NS; now() < until;)
		done += turn(what, echo);
	st->done[i] = done;
	_exit(0);
}

static double per_second(enum crowd what, unsigned int n, const int *echo)
{
	struct stage *st = mmap(NULL, sizeof(*st), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[CLIENTS];
	double sum = 0;

	if (st == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (unsigned int i = 0; i < n; i++) {
		pid[i] = fork_child();
		if (pid[i] == 0)
			player(st, i, what, echo[i]);
	}
	while (st->ready < n)
		poll(NULL, 0, 1);
	st->go = 1;
	for (unsigned int i = 0; i < n; i++) {
		collect(pid[i]);
		sum += (double)st->done[i];
	}
	munmap(st, sizeof(*st));
	return sum / (CROWD_NS / 1e9);
}

static void crowd(const char *name, unsigned int n, enum crowd what, enum crowd against,
		  const char *against_name, const int *echo)
{
	struct series ours = { 0 }, other = { 0 };
	char text[96];

	add(&ours, per_second(what, n, echo));
	add(&other, per_second(against, n, echo));
	snprintf(text, sizeof(text), "%s per second, %u client%s", name, n, n > 1 ? "s" : "");
	report(&(struct figure){ .name = text, .unit = "1/s", .ours = &ours, .other = &other,
				 .other_name = against_name });
}

static void throughput(const struct bench *b, const int *echo)
{
	static const unsigned int sizes[] = { 1, CLIENTS };

	/* All run on any CPU. */
	pin(-1);
	for (unsigned int i = 0; i < 2; i++) {
		crowd("whole lives' operations", sizes[i], CROWD_LIFE, CROWD_PERF, "perf's calls",
		      echo);
		crowd("pmc_get_driver_stats", sizes[i], CROWD_NULL, CROWD_ECHO,
		      "socket round trips", echo);
	}
	pin(b->home);
}

void bench_ops(struct bench *b)
{
	int echo[CLIENTS];
	pid_t server = echo_server(echo), pid;
	pmc_id_t held;

	/* On one CPU: else the time depends on whether a wakeup crosses CPUs. */
	pin_process(b->main_daemon, b->home);
	pin_process(server, b->home);
	latency(b, ", SOFT, after a pause", &soft_events[0], echo[0], PAUSED, PAUSE);
	latency(b, ", one SOFT after another", &soft_events[0], echo[0], SAMPLES, 0);
	pid = sleeper();
	held = pmc_open(&soft_slice[0], pid, 0);
	latency(b, ", further sliced SOFT", &soft_slice[0], echo[0], SAMPLES, 0);
	check_pmc(pmc_release(held), "pmc_release");
	if (b->hardware)
		latency(b, ", one hardware after another", hard_events, echo[0], SAMPLES, 0);
	pin_process(b->main_daemon, -1);
	pin_process(server, -1);
	if (b->icount)
		left_out("ops: operations per second", "measured in real time only");
	else
		throughput(b, echo);
	end(pid);
	end(server);
	for (unsigned int i = 0; i < CLIENTS; i++)
		close(echo[i]);
}
