/* SPDX-License-Identifier: BSD-2-Clause */
/* pctr(1)'s use of the device: settings, readings, and their cost. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "pctr.h"

#define TEST_CALLS 1000

static const char *device_name(void)
{
	const char *chosen = secure_getenv("PCTR_DEVICE");

	return chosen ? chosen : _PATH_PCTR;
}

/* Remedies by error; the last entry has none. */
struct remedy {
	int err;
	const char *text;
};

static const struct remedy of_open[] = {
	{ ENOENT, ": pctrd(8) makes it: start that as root, \"pctrd\"" },
	{ EACCES, ": setting takes write permission, which root has" },
	{ 0 },
};

static const struct remedy of_request[] = {
	{ ENXIO, ": counters take pctrd(8) and pmcbpfd(8): start as root what does not run" },
	{ ENOTTY, ": it is no pctr(4): pctrd(8) makes one" },
	{ EPERM, ": setting takes write permission, which root has" },
	{ EACCES, ": pctrd(8) may not count: it runs without root's privileges" },
	{ ENODEV, ": Linux gives no counters of this CPU; \"pmccontrol --doctor\" says why" },
	{ EBUSY, ": something else has the counter; \"pmccontrol --doctor\" may name it" },
	{ 0 },
};

/* "operation: error: remedy" */
static int device_fail(const char *what, const struct remedy *remedy)
{
	const int err = errno;

	while (remedy->err && remedy->err != err)
		remedy++;
	return fail(FAILED, "%s: %s%s", what, strerror(err), remedy->err ? remedy->text : "");
}

static int device_fail_open(const char *what)
{
	char text[256];
	int err = errno;

	snprintf(text, sizeof(text), "%s: %s", what, device_name());
	errno = err;
	return device_fail(text, of_open);
}

static int device_print(struct buf *out)
{
	int code = 0;

	if (out->failed) {
		errno = ENOMEM;
		code = fail_errno(FAILED, "output");
	} else {
		fwrite(out->data, 1, out->len, stdout);
		code = opt_flush_stdout() ? FAILED : 0;
	}
	buf_free(out);
	return code;
}

int pctr_list(const struct pctr_model *model)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < model->table->n; i++)
		pctr_event_put(&out, &model->table->events[i]);
	if (model->table->n == 0)
		return fail(FAILED, "no events of this CPU (%s) are known by name; its manual's "
			    "numbers can be set", model->name);
	return device_print(&out);
}

int pctr_set(const struct pctr *pctr)
{
	static const unsigned long requests[] = { PCIOCS0, PCIOCS1, PCIOCS2, PCIOCS3 };
	const struct pctr_model *model = pctr->model;
	uint32_t function;
	int fd, code = 0, err = pctr_word(model, &pctr->choice, &function);

	if (err == -ENOENT)
		return fail(FAILED, "function %02x is not supported", pctr->choice.event);
	if (err == -EINVAL)
		return fail(FAILED, "function %02x needs unit mask specification",
			    pctr->choice.event);
	fd = pctr_open(O_WRONLY);
	if (fd < 0)
		return device_fail_open("pctr_set_cntr");
	if (ioctl(fd, requests[pctr->ctr], &function) < 0)
		code = errno == EINVAL && (unsigned int)pctr->ctr >= model->counters ?
			       fail(FAILED, "only %d counters are supported", model->counters) :
			       device_fail("pctr_set_cntr", of_request);
	close(fd);
	return code;
}

/* The thread moves to a CPU. 0 or -errno. */
static int cpu_move_to(int cpu)
{
	cpu_set_t *set = CPU_ALLOC(CPULIST_MAX + 1);
	size_t size = CPU_ALLOC_SIZE(CPULIST_MAX + 1);
	int err;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	err = sched_setaffinity(0, size, set) < 0 ? -errno : 0;
	CPU_FREE(set);
	return err;
}

static int cpu_read(int fd, int cpu, struct pctrst *state)
{
	int err = cpu < 0 ? 0 : cpu_move_to(cpu);

	if (err == -EINVAL)
		return fail(FAILED, "CPU %d is not online, or not for this process", cpu);
	if (err) {
		errno = -err;
		return fail_errno(FAILED, "CPU %d", cpu);
	}
	return ioctl(fd, PCIOCRD, state) < 0 ? device_fail("pctr_read", of_request) : 0;
}

/* Functions and time are from the last CPU. */
static int cpus_read(int fd, struct pctrst *sum)
{
	pctrval total[PCTR_NUM] = { 0 };
	struct cpulist cpus;
	int code = 0, err = cpulist_online(&cpus);

	if (err) {
		errno = -err;
		return fail_errno(FAILED, "CPUs");
	}
	for (int cpu = -1; !code && (cpu = cpulist_next(&cpus, cpu + 1)) >= 0;) {
		code = cpu_read(fd, cpu, sum);
		for (unsigned int i = 0; i < PCTR_NUM && !code; i++)
			total[i] += sum->pctr_hwc[i];
	}
	memcpy(sum->pctr_hwc, total, sizeof(total));
	return code;
}

static int cpus_show(const struct pctr *pctr, int fd)
{
	struct pctrst state = { 0 };
	struct buf out = { 0 };
	int code = pctr->all ? cpus_read(fd, &state) : cpu_read(fd, pctr->cpu, &state);

	if (code)
		return code;
	pctr_reading_put(&out, pctr->model, &state, pctr_counters(pctr->model, &state));
	return device_print(&out);
}

int pctr_show(const struct pctr *pctr)
{
	const struct timespec pause = {
		.tv_sec = (time_t)pctr->every,
		.tv_nsec = (long)((pctr->every - (double)(time_t)pctr->every) * 1e9),
	};
	int code, fd = pctr_open(O_RDONLY);

	if (fd < 0)
		return device_fail_open("pctr_read");
	do
		code = cpus_show(pctr, fd);
	while (!code && pctr->every > 0 && nanosleep(&pause, NULL) == 0);
	close(fd);
	return code;
}

/* --- the self test --------------------------------------------------------------------------- */

static double clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* The error that the times of readings may have, in ticks: of all together, of the worst. */
struct stamps {
	pctrval sum, worst;
};

typedef bool test_call(int fd, struct stamps *stamps);

static bool test_rdtsc(int fd, struct stamps *stamps)
{
	return rdtsc() != 0;
}

/* The time and the counters were read between `before` and `after`. */
static bool test_read(int fd, struct stamps *stamps)
{
	struct pctrst state;
	pctrval before = rdtsc(), after, off;

	if (ioctl(fd, PCIOCRD, &state) < 0)
		return false;
	after = rdtsc();
	if (state.pctr_tsc < before || state.pctr_tsc > after)
		return false;
	off = state.pctr_tsc - before;
	if (after - state.pctr_tsc > off)
		off = after - state.pctr_tsc;
	stamps->sum += off;
	if (off > stamps->worst)
		stamps->worst = off;
	return true;
}

static bool test_rdpmc(int fd, struct stamps *stamps)
{
	return rdpmc(0) <= 0xffffffffffull;
}

int pctr_test(void)
{
	static const struct {
		const char *name;
		test_call *call;
	} tests[] = {
		{ "rdtsc()", test_rdtsc },
		{ "PCIOCRD", test_read },
		{ "rdpmc(0)", test_rdpmc },
	};
	struct stamps stamps = { 0 };
	int code = 0, fd = pctr_open(O_RDONLY);

	if (fd < 0)
		return device_fail_open("pctr_read");
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]) && !code; i++) {
		double begin = clock_ns();

		errno = 0;
		for (int n = 0; n < TEST_CALLS && !code; n++)
			if (!tests[i].call(fd, &stamps))
				code = errno ? device_fail(tests[i].name, of_request) :
					       fail(FAILED, "%s: its figures are not sound",
						    tests[i].name);
		if (!code)
			printf("%-8s %10.0f ns\n", tests[i].name,
			       (clock_ns() - begin) / TEST_CALLS);
	}
	if (!code)
		printf("stamp    +-%8llu ticks, %llu at worst\n", stamps.sum / TEST_CALLS,
		       stamps.worst);
	close(fd);
	return code ? code : opt_flush_stdout() ? FAILED : 0;
}
