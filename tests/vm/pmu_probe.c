// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a test guest's PMU does, asked of the kernel directly:
 *
 *	pmu_probe loop N	user-mode instructions of N rounds of a loop, twice, and of 2N
 *	pmu_probe rows		how many pinned events the PMU holds at once
 */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU_DIR		"/sys/bus/event_source/devices/armv8*"
#define ROWS_MAX	64

struct pmu {
	uint32_t type;
	uint64_t inst_retired;
	uint64_t cpu_cycles;
};

static int read_number(const char *dir, const char *file, const char *format, uint64_t *value)
{
	char path[512];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "r");
	if (!f) {
		fprintf(stderr, "pmu_probe: %s: %s\n", path, strerror(errno));
		return -1;
	}
	n = fscanf(f, format, value);
	fclose(f);
	if (n != 1)
		fprintf(stderr, "pmu_probe: %s: not of the form %s\n", path, format);
	return n == 1 ? 0 : -1;
}

static int find_pmu(struct pmu *pmu)
{
	uint64_t type;
	glob_t g;
	int err = -1;

	if (glob(PMU_DIR, 0, NULL, &g) != 0) {
		fprintf(stderr, "pmu_probe: nothing matches %s\n", PMU_DIR);
		return -1;
	}
	if (read_number(g.gl_pathv[0], "type", "%lu", &type) == 0 &&
	    read_number(g.gl_pathv[0], "events/inst_retired", "event=%lx",
			&pmu->inst_retired) == 0 &&
	    read_number(g.gl_pathv[0], "events/cpu_cycles", "event=%lx", &pmu->cpu_cycles) == 0)
		err = 0;
	if (err == 0)
		pmu->type = (uint32_t)type;
	globfree(&g);
	return err;
}

static int open_event(const struct pmu *pmu, uint64_t config, unsigned int disabled)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = pmu->type,
		.config = config,
		.pinned = 1,
		.disabled = disabled,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Two instructions a round. */
static void spin(uint64_t rounds)
{
#if defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
#elif defined(__x86_64__)
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
#else
#error "no loop for this architecture"
#endif
}

static int count_loop(int fd, uint64_t rounds, uint64_t *count)
{
	if (ioctl(fd, PERF_EVENT_IOC_RESET, 0) != 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
		return -1;
	spin(rounds);
	if (ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) != 0)
		return -1;
	return read(fd, count, sizeof(*count)) == (ssize_t)sizeof(*count) ? 0 : -1;
}

static int probe_loop(const struct pmu *pmu, uint64_t rounds)
{
	uint64_t first, second, twice;
	int fd = open_event(pmu, pmu->inst_retired, 1);

	if (fd < 0 || count_loop(fd, rounds, &first) != 0 ||
	    count_loop(fd, rounds, &second) != 0 || count_loop(fd, 2 * rounds, &twice) != 0) {
		fprintf(stderr, "pmu_probe: inst_retired: %s\n", strerror(errno));
		return 1;
	}
	printf("%lu %lu %lu\n", first, second, twice);
	return 0;
}

/* A pinned event without a counter reads as end of file. */
static int probe_rows(const struct pmu *pmu)
{
	uint64_t value;
	int rows;

	for (rows = 0; rows < ROWS_MAX; rows++) {
		int fd = open_event(pmu, rows ? pmu->inst_retired : pmu->cpu_cycles, 0);

		if (fd < 0) {
			fprintf(stderr, "pmu_probe: row %d: %s\n", rows, strerror(errno));
			return 1;
		}
		if (read(fd, &value, sizeof(value)) != (ssize_t)sizeof(value))
			break;
	}
	printf("%d\n", rows);
	return 0;
}

int main(int argc, char **argv)
{
	struct pmu pmu;

	if (find_pmu(&pmu) != 0)
		return 1;
	if (argc == 3 && strcmp(argv[1], "loop") == 0)
		return probe_loop(&pmu, strtoull(argv[2], NULL, 10));
	if (argc == 2 && strcmp(argv[1], "rows") == 0)
		return probe_rows(&pmu);
	fprintf(stderr, "usage: pmu_probe loop N | rows\n");
	return 2;
}
