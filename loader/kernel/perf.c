/* SPDX-License-Identifier: BSD-2-Clause */
/* The only caller of perf_event_open(2): finds the hardware PMUs and opens pinned events. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "lib/base/cpuranges.h"
#include "loader/base/base.h"
#include "perf.h"
#include "perf_attr.h"

#define SYSFS_PMUS "/sys/bus/event_source/devices"
#define MAX_ROWS   48

static bool cpufile_has(const char *path, unsigned int cpu)
{
	char list[4096];

	return !file_line(path, list, sizeof(list)) && cpuranges_has(list, cpu);
}

bool perf_cpu_online(unsigned int cpu)
{
	return cpufile_has("/sys/devices/system/cpu/online", cpu);
}

bool perf_cpu_present(unsigned int cpu)
{
	return cpufile_has("/sys/devices/system/cpu/present", cpu);
}

unsigned int perf_ncpu(void)
{
	char list[4096];

	if (file_line("/sys/devices/system/cpu/possible", list, sizeof(list)))
		return (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	return cpuranges_end(list);
}

bool perf_spec_same(const struct perf_event_spec *a, const struct perf_event_spec *b)
{
	/* An event that names neither user nor kernel counts both, as one that names both. */
	bool au = a->user || !a->kernel, ak = a->kernel || !a->user;
	bool bu = b->user || !b->kernel, bk = b->kernel || !b->user;

	return a->type == b->type && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2 && a->breakpoint == b->breakpoint && a->msr == b->msr &&
	       au == bu && ak == bk &&
	       !strcmp(a->filter ?: "", b->filter ?: "");
}

/* Finds the directory of the PMU with this attr.type. */
static bool pmu_directory(uint32_t type, char *path, size_t size)
{
	DIR *dir = opendir(SYSFS_PMUS);
	struct dirent *d;
	char file[512], text[64];
	bool found = false;

	while (dir && !found && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), SYSFS_PMUS "/%s/type", d->d_name);
		if (file_line(file, text, sizeof(text)) || strtoul(text, NULL, 10) != type)
			continue;
		snprintf(path, size, SYSFS_PMUS "/%s", d->d_name);
		found = true;
	}
	if (dir)
		closedir(dir);
	return found;
}

void perf_ask_user_read(struct perf_event_spec *spec)
{
	char pmu[320], path[400], text[64];
	unsigned int bit;

	/* The process would look for events of the other kind's CPUs. */
	if (spec->of_kind || !pmu_directory(spec->pmu, pmu, sizeof(pmu)))
		return;
	snprintf(path, sizeof(path), "%s/rdpmc", pmu);
	if (!file_line(path, text, sizeof(text))) {	/* x86: nothing to switch on */
		spec->user_read = strcmp(text, "0") != 0;
		return;
	}
	snprintf(path, sizeof(path), "%s/format/rdpmc", pmu);
	if (file_line(path, text, sizeof(text)) || sscanf(text, "config1:%u", &bit) != 1 ||
	    bit > 63)
		return;
	if (file_line("/proc/sys/kernel/perf_user_access", text, sizeof(text)) ||
	    strcmp(text, "1"))
		return;
	spec->config1 |= 1ull << bit;
	spec->user_read = true;
}

static int event_read_words(int fd, uint64_t *words, size_t size)
{
	ssize_t n = read(fd, words, size);

	if (n == (ssize_t)size)
		return 0;
	return n < 0 ? -errno : -EBUSY;		/* end of file: a pinned event without a counter */
}

int perf_read(int fd, uint64_t *value)
{
	return event_read_words(fd, value, sizeof(*value));
}

int perf_read_timed(int fd, uint64_t *value, uint64_t *ns)
{
	uint64_t both[2];
	int err = event_read_words(fd, both, sizeof(both));

	if (err)
		return err;
	*value = both[0];
	*ns = both[1];
	return 0;
}

static int event_open_running(const struct perf_event_spec *spec, int tid, unsigned int cpu)
{
	struct perf_event_attr attr;
	uint64_t value;
	int fd, err;

	perf_attr_fill(&attr, spec);
	fd = perf_attr_open(&attr, tid, (int)cpu, -1);
	if (fd < 0)
		return fd == -ENODEV ? -ENXIO : fd;
	err = spec->filter ? perf_set_filter(fd, spec->filter) : 0;
	err = err ?: perf_read(fd, &value);
	if (!err && (spec->period || spec->hz))
		err = perf_disable(fd);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

const char *perf_error(int err)
{
	switch (-err) {
	case EBUSY:
		return "other users of the PMU hold its counters; see pmccontrol --doctor";
	case ENOENT:
		return "the kernel's driver of this PMU has no such event";
	case EINVAL:
		return "the PMU takes no event of this number, or not for these rings (usr, os)";
	case EOPNOTSUPP:
		return "the PMU lacks a feature that the event needs";
	case EACCES:
	case EPERM:
		return "the kernel refuses it to pmcbpfd, which must have CAP_PERFMON; an event of "
		       "the whole machine cannot count for processes";
	case ENOSPC:
		return "others hold the breakpoint registers: a debugger, or perf";
	case EMFILE:
	case ENFILE:
		return "pmcbpfd has as many files open as it may; raise LimitNOFILE of its service";
	case ENXIO:
		return "the CPU is offline, or has no such PMU";
	default:
		return strerror(-err);
	}
}

int perf_open_cpu(const struct perf_event_spec *spec, unsigned int cpu)
{
	return event_open_running(spec, -1, cpu);
}

int perf_open_task(const struct perf_event_spec *spec, int tid, int cpu)
{
	struct perf_event_attr attr;

	perf_attr_fill(&attr, spec);
	attr.disabled = 1;
	attr.enable_on_exec = spec->on_exec;
	attr.remove_on_exec = spec->until_exec;
	if (spec->timed)
		attr.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
	return perf_attr_open(&attr, tid, cpu, -1);
}

int perf_open_cgroup(const struct perf_event_spec *spec, int folder, unsigned int cpu)
{
	const unsigned long flags = PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC;
	struct perf_event_attr attr;
	int fd, err;

	perf_attr_fill(&attr, spec);
	attr.disabled = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, folder, (int)cpu, -1, flags);
	if (fd < 0)
		return errno == ENODEV ? -ENXIO : -errno;
	err = spec->filter ? perf_set_filter(fd, spec->filter) : 0;
	return err ? close(fd), err : fd;
}

int perf_open_idle(const struct perf_event_spec *spec)
{
	int fd = -ENXIO;

	for (unsigned int cpu = 0; fd == -ENXIO && cpu < perf_ncpu(); cpu++)
		if (perf_cpu_online(cpu))
			fd = perf_open_task(spec, -1, (int)cpu);
	return fd;
}

/*
 * The times of two events can be compared only if the kernel keeps them together, as it does for
 * events of one PMU.  A group of software events moves to a hardware PMU when one of its events
 * joins the group, and stays there when that event leaves.
 */
int perf_open_watch(const struct perf_event_spec *spec, int tid)
{
	struct perf_event_attr member, attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED, .disabled = 1,
		.enable_on_exec = spec->on_exec, .remove_on_exec = spec->until_exec,
	};
	int watch, fd;

	attr.inherit = spec->inherit;
	attr.inherit_thread = spec->inherit && !spec->inherit_children;
	watch = perf_attr_open(&attr, tid, -1, -1);
	if (watch < 0)
		return watch;
	perf_attr_fill(&member, spec);
	member.pinned = 0;	/* only the group's leader may be pinned */
	fd = perf_attr_open(&member, tid, -1, watch);
	close(fd < 0 ? watch : fd);
	return fd < 0 ? fd : watch;
}

bool perf_fits(const struct perf_event_spec *specs, unsigned int n)
{
	int fds[MAX_ROWS + 1];
	unsigned int i;

	if (n > MAX_ROWS)
		return false;
	for (i = 0; i < n; i++) {
		struct perf_event_attr attr;

		perf_attr_fill(&attr, &specs[i]);
		attr.pinned = 0;
		fds[i] = perf_attr_open(&attr, 0, -1, i ? fds[0] : -1);
		if (fds[i] < 0)
			break;
	}
	for (unsigned int j = 0; j < i; j++)
		close(fds[j]);
	return i == n;
}

int perf_open_life(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.mmap = 1, .mmap2 = 1, .build_id = 1, .comm = 1, .comm_exec = 1, .task = 1,
		.sample_id_all = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC, .watermark = 1,
	};

	attr.wakeup_watermark = PERF_LIFE_BYTES / 2;
	return perf_attr_open(&attr, -1, (int)cpu, -1);
}

int perf_set_program(int fd, int program)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ? -errno : 0;
}

int perf_set_filter(int fd, const char *filter)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ? -errno : 0;
}

int perf_set_period(int fd, uint64_t period)
{
	return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period) ? -errno : 0;
}

int perf_enable(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

int perf_disable(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) ? -errno : 0;
}

/* --- discovery ------------------------------------------------------------------------------ */

/* PMUs that count for tasks, by directory name; all others are uncore or count nothing. */
static const struct {
	const char *name;	/* a prefix */
	uint32_t class;
	const char *prefix;
} known_pmus[] = {
	{ "cpu", 0, NULL },	/* x86: the class depends on the vendor */
	{ "armv8_", PMC_CLASS_ARMV8, "ARMV8" },
	{ "armv9_", PMC_CLASS_ARMV8, "ARMV8" },
	{ "armv7_", PMC_CLASS_ARMV7, "ARMV7" },
	{ "apple_", PMC_CLASS_ARMV8, "ARMV8" },
};

static bool cpu_is_intel(void)
{
	char line[256];
	bool intel = false;
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && !intel && fgets(line, sizeof(line), f))
		intel = strstr(line, "GenuineIntel") != NULL;
	if (f)
		fclose(f);
	return intel;
}

static bool pmu_classify(const char *name, struct perf_pmu *pmu)
{
	for (unsigned int i = 0; i < sizeof(known_pmus) / sizeof(known_pmus[0]); i++) {
		const char *known = known_pmus[i].name;

		if (known_pmus[i].class && !strncmp(name, known, strlen(known))) {
			pmu->class = known_pmus[i].class;
			pmu->architectural = true;
			snprintf(pmu->prefix, sizeof(pmu->prefix), "%s", known_pmus[i].prefix);
			return true;
		}
		if (!known_pmus[i].class && (!strcmp(name, "cpu") || !strcmp(name, "cpu_core") ||
					     !strcmp(name, "cpu_atom"))) {
			bool intel = cpu_is_intel();

			pmu->class = intel ? PMC_CLASS_IAP : PMC_CLASS_K8;
			snprintf(pmu->prefix, sizeof(pmu->prefix), "%s", intel ? "IAP" : "K8");
			return true;
		}
	}
	return false;
}

bool perf_is_core(const char *pmu)
{
	struct perf_pmu unused;

	return pmu_classify(pmu, &unused);
}

/* True if the CPU has this PMU.  Only hybrid machines list CPUs in the PMU's directory. */
static bool pmu_on_cpu(const char *name, unsigned int cpu)
{
	char path[512], list[4096];

	snprintf(path, sizeof(path), SYSFS_PMUS "/%s/cpus", name);
	if (file_line(path, list, sizeof(list)))
		return true;
	return cpuranges_has(list, cpu);
}

bool perf_has_cpu(const struct perf_event_spec *spec, unsigned int cpu)
{
	char pmu[320];

	if (!perf_cpu_present(cpu))
		return false;
	return !spec->of_kind || (pmu_directory(spec->pmu, pmu, sizeof(pmu)) &&
				  pmu_on_cpu(strrchr(pmu, '/') + 1, cpu));
}

#define PROBE_EVENTS 3

/*
 * Events that every PMU of a class has.  ARM's PMUs accept generic events by type only since
 * Linux 6.2.
 */
static struct perf_event_spec probe_event(const struct perf_pmu *pmu, unsigned int i)
{
	static const uint64_t generic[PROBE_EVENTS] = {
		PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_REF_CPU_CYCLES,
	};
	static const uint64_t arm[PROBE_EVENTS] = { 0x11, 0x08, 0x08 };

	if (pmu->architectural)
		return (struct perf_event_spec){ .type = pmu->type, .config = arm[i] };
	return (struct perf_event_spec){ .type = PERF_TYPE_HARDWARE,
					 .config = (uint64_t)pmu->type << 32 | generic[i] };
}

/*
 * The number of pinned events that fit on one CPU: events of a thread (0: the caller) or of the CPU
 * (-1).  Cycles come first, then other events that fixed counters serve, because a fixed counter
 * counts only its own event.
 */
static unsigned int pmu_count_free(const struct perf_pmu *pmu, int tid, unsigned int cpu)
{
	int fds[MAX_ROWS];
	unsigned int n = 0;

	for (unsigned int i = 0; i < PROBE_EVENTS; i++) {
		struct perf_event_spec spec = probe_event(pmu, i);
		int fd;

		while (n < MAX_ROWS && (fd = event_open_running(&spec, tid, cpu)) >= 0)
			fds[n++] = fd;
	}
	for (unsigned int i = 0; i < n; i++)
		close(fds[i]);
	return n;
}

int perf_takes(const char *pmu, const struct perf_event_spec *spec)
{
	struct perf_event_attr attr;
	unsigned int cpu = 0, ncpu = perf_ncpu();
	int fd;

	while (cpu < ncpu && !(perf_cpu_online(cpu) && pmu_on_cpu(pmu, cpu)))
		cpu++;
	if (cpu == ncpu)
		return -ENXIO;
	perf_attr_fill(&attr, spec);
	attr.pinned = 0;
	attr.disabled = 1;
	fd = perf_attr_open(&attr, -1, (int)cpu, -1);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

bool perf_knows(const struct perf_pmu *pmu, const struct perf_event_spec *spec)
{
	return !perf_takes(pmu->name, spec);
}

unsigned int perf_max_precise(const char *pmu)
{
	char path[256], text[16];

	snprintf(path, sizeof(path), SYSFS_PMUS "/%s/caps/max_precise", pmu);
	return file_line(path, text, sizeof(text)) ? 0 : (unsigned int)strtoul(text, NULL, 10);
}

bool perf_has_pmu(char *name, size_t size)
{
	DIR *dir = opendir(SYSFS_PMUS);
	struct dirent *d;
	bool found = false;

	while (dir && !found && (d = readdir(dir))) {
		struct perf_pmu pmu;

		found = pmu_classify(d->d_name, &pmu);
		if (found)
			snprintf(name, size, "%s", d->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

int perf_free_here(const struct perf_pmu *pmu, unsigned int cpu)
{
	if (!perf_cpu_online(cpu) || !pmu_on_cpu(pmu->name, cpu))
		return -ENXIO;
	return (int)pmu_count_free(pmu, 0, cpu);
}

int perf_named_event(const char *pmu, const char *name, unsigned int cpu,
		     struct perf_event_spec *spec)
{
	unsigned long long config;
	char path[256], text[64];
	int err, fd, end = 0;

	*spec = (struct perf_event_spec){ .type = 0 };
	snprintf(path, sizeof(path), SYSFS_PMUS "/%s/type", pmu);
	err = file_line(path, text, sizeof(text));
	if (err)
		return err;
	spec->type = (uint32_t)strtoul(text, NULL, 10);
	snprintf(path, sizeof(path), SYSFS_PMUS "/%s/events/%s", pmu, name);
	err = file_line(path, text, sizeof(text));
	if (err)
		return err;
	if (sscanf(text, "event=%llx%n", &config, &end) != 1 || text[end])
		return -EPROTO;
	spec->config = config;
	fd = perf_open_cpu(spec, cpu);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

bool perf_watchdog(void)
{
	char text[16];

	return !file_line("/proc/sys/kernel/nmi_watchdog", text, sizeof(text)) && atoi(text) > 0;
}

/* The counter width from the mapped page of an event of this PMU, or 64. */
static uint32_t pmu_width(const struct perf_pmu *pmu)
{
	struct perf_event_spec spec = probe_event(pmu, 1);
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page;
	uint32_t width = 64;
	int fd = perf_open_task(&spec, 0, -1);

	if (fd < 0)
		return width;
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		if (page->pmc_width)
			width = page->pmc_width;
		munmap(page, size);
	}
	close(fd);
	return width;
}

static int pmu_probe(const char *name, struct perf_pmu *pmu)
{
	char path[512], text[64];
	unsigned int ncpu = perf_ncpu();

	memset(pmu, 0, sizeof(*pmu));
	if (!pmu_classify(name, pmu))
		return 0;
	snprintf(pmu->name, sizeof(pmu->name), "%s", name);
	snprintf(path, sizeof(path), SYSFS_PMUS "/%s/type", name);
	if (file_line(path, text, sizeof(text)))
		return 0;
	pmu->type = (uint32_t)strtoul(text, NULL, 10);
	pmu->rows = MAX_ROWS;
	pmu->everywhere = true;
	for (unsigned int cpu = 0; cpu < ncpu; cpu++) {
		bool here = pmu_on_cpu(name, cpu);
		unsigned int n;

		pmu->everywhere &= here;
		if (!here || !perf_cpu_online(cpu))
			continue;
		n = pmu_count_free(pmu, -1, cpu);
		if (n < pmu->rows)
			pmu->rows = n;
	}
	if (!pmu->rows)
		return 0;
	if (!pmu->everywhere)
		snprintf(pmu->prefix, sizeof(pmu->prefix), "%.31s", name);
	pmu->width = pmu_width(pmu);
	return 1;
}

static int pmu_by_name(const void *a, const void *b)
{
	return strcmp(((const struct perf_pmu *)a)->name, ((const struct perf_pmu *)b)->name);
}

int perf_discover(struct perf_pmu *pmus, unsigned int max, struct reason *why)
{
	DIR *dir = opendir(SYSFS_PMUS);
	struct dirent *d;
	unsigned int n = 0;

	if (!dir)
		return deny(why, -errno, SYSFS_PMUS ": %m (is sysfs mounted?)");
	while (n < max && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			n += (unsigned int)pmu_probe(d->d_name, &pmus[n]);
	closedir(dir);
	qsort(pmus, n, sizeof(*pmus), pmu_by_name);
	return (int)n;
}
