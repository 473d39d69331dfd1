// SPDX-License-Identifier: BSD-2-Clause
/*
 * Another user of the PMU: holds N counters of every CPU with pinned events.
 *
 *	hog N		takes them now
 *	hog N later	has its events first, but takes the counters when it gets SIGUSR1
 */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU_TYPE     "/sys/bus/event_source/devices/armv8*/type"
#define INST_RETIRED 8
#define MAX	     64

static int pmu_type(uint32_t *type)
{
	glob_t g;
	FILE *f;
	int n;

	if (glob(PMU_TYPE, 0, NULL, &g) != 0)
		return -1;
	f = fopen(g.gl_pathv[0], "r");
	globfree(&g);
	if (!f)
		return -1;
	n = fscanf(f, "%u", type);
	fclose(f);
	return n == 1 ? 0 : -1;
}

static int take(uint32_t type, int cpu, unsigned int disabled)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = type, .config = INST_RETIRED,
		.pinned = 1, .disabled = disabled,
	};
	uint64_t value;
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 || (!disabled && read(fd, &value, sizeof(value)) != (ssize_t)sizeof(value))) {
		fprintf(stderr, "hog: CPU %d has no counter for it: %s\n", cpu, strerror(errno));
		return -1;
	}
	return fd;
}

int main(int argc, char **argv)
{
	int fds[MAX], n = argc > 1 ? atoi(argv[1]) : 0, later = argc > 2, held = 0, sig;
	int ncpu = (int)sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t type;
	sigset_t set;

	if (n <= 0 || n * ncpu > MAX || pmu_type(&type) != 0) {
		fprintf(stderr, "hog: bad number, or no PMU\n");
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int cpu = 0; cpu < ncpu; cpu++)
		for (int i = 0; i < n; i++) {
			fds[held] = take(type, cpu, (unsigned int)later);
			if (fds[held++] < 0)
				return 1;
		}
	dprintf(1, "ready\n");
	while (!sigwait(&set, &sig)) {
		for (int i = 0; i < held; i++)
			ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0);
		dprintf(1, "taken\n");
	}
	return 0;
}
