/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves the calling thread to a CPU. */
#include <errno.h>
#include <sys/resource.h>

#include "hop.h"

int hop_begin(struct hop *h)
{
	struct sched_param first = { .sched_priority = 1 };

	h->policy = sched_getscheduler(0);
	if (h->policy < 0 || sched_getparam(0, &h->param) ||
	    sched_getaffinity(0, sizeof(h->cpus), &h->cpus) ||
	    sched_setscheduler(0, SCHED_FIFO, &first))
		return -errno;
	return 0;
}

int hop_to(unsigned int cpu)
{
	cpu_set_t here;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	return sched_setaffinity(0, sizeof(here), &here) ? -errno : 0;
}

void hop_end(const struct hop *h)
{
	sched_setscheduler(0, h->policy, &h->param);
	sched_setaffinity(0, sizeof(h->cpus), &h->cpus);
}

uint64_t hop_switches(void)
{
	struct rusage now;

	getrusage(RUSAGE_THREAD, &now);
	return (uint64_t)now.ru_nvcsw + (uint64_t)now.ru_nivcsw;
}
