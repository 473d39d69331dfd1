/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log of ten million samples as text, compared with `perf script` on perf's recording of the same
 * load: samples per second and memory.  The log is the beginning of the given one, with its samples
 * repeated.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmclog.h>

#include "bench.h"

#define SAMPLES	10000000u
#define MANY	65536		/* different ones */

struct block {
	char *data;
	size_t len;
	unsigned int n;
};

static void put(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n <= 0)
			die("cannot write a large log: %s", strerror(errno));
		p += n;
		len -= (size_t)n;
	}
}

/* The first samples of a log; records before the first sample go to `to`. */
static struct block take(const char *path, int to)
{
	struct block b = { .data = malloc(MANY * 4096ul) };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *log = pmclog_open(fd);
	struct pmclog_ev ev;

	if (fd < 0 || !log || !b.data)
		die("%s: %s", path, strerror(errno));
	while (b.n < MANY && !pmclog_read(log, &ev)) {
		if (ev.pl_type == PMCLOG_TYPE_CALLCHAIN && ev.pl_len <= 4096) {
			memcpy(b.data + b.len, ev.pl_data, (size_t)ev.pl_len);
			b.len += (size_t)ev.pl_len;
			b.n++;
		} else if (!b.n) {
			put(to, ev.pl_data, (size_t)ev.pl_len);
		}
	}
	if (!b.n)
		die("%s has no samples", path);
	pmclog_close(log);
	close(fd);
	return b;
}

static double multiply(const char *path, const char *large)
{
	int fd = open(large, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	unsigned int n;
	struct block b;

	if (fd < 0)
		die("%s: %s", large, strerror(errno));
	b = take(path, fd);
	for (n = 0; n < SAMPLES; n += b.n)
		put(fd, b.data, b.len);
	free(b.data);
	close(fd);
	return n;
}

static void report_one(const char *name, const char *unit, double ours, double perf,
		       enum judge judge, double goal)
{
	struct series a = { 0 }, b = { 0 };

	add(&a, ours);
	add(&b, perf);
	report(&(struct figure){ .name = name, .unit = unit, .ours = &a, .judge = judge,
				 .goal = goal, .other_name = "perf script", .other = &b });
}

void dump_compare(const struct bench *b, const char *log, const char *data, double samples)
{
	char large[sizeof(b->dir) + 16], pmcstat[512];
	char *ours[] = { pmcstat, "-R", large, NULL };
	char *few[] = { pmcstat, "-R", (char *)log, NULL };
	char *perf[] = { "perf", "script", "-i", (char *)data, NULL };
	struct used o, p, small;
	double n;

	snprintf(large, sizeof(large), "%s/large", b->dir);
	snprintf(pmcstat, sizeof(pmcstat), "%.*s/../bin/pmcstat",
		 (int)(strrchr(b->daemon, '/') - b->daemon), b->daemon);
	n = multiply(log, large);
	small = run(b, few, NULL);
	o = run(b, ours, NULL);
	p = run(b, perf, NULL);
	unlink(large);
	report_one("text of 10 million samples, a sample", "ns", o.seconds / n * 1e9,
		   p.seconds / samples * 1e9, JUDGE_RATIO, 0.1);
	report_one("text of 10 million samples, resident", "MB", o.mb, p.mb, JUDGE_VALUE, 64);
	report_one("text of as many as perf has, resident", "MB", small.mb, p.mb, JUDGE_NOT, 0);
}
