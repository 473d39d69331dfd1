/* SPDX-License-Identifier: BSD-2-Clause */
/* CPUID, sysfs and /proc: see machine.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <machine/cpufunc.h>

#include "lib/base/cpuranges.h"
#include "machine.h"

#define CPUS	    "/sys/devices/system/cpu"
#define PMUS	    "/sys/bus/event_source/devices"
#define STAT_CPU    36			/* fields between the program's name and the CPU */
#define LIST_MAX    4096

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

enum vendor machine_vendor(void)
{
	static const struct {
		const char name[13];
		enum vendor vendor;
	} vendors[] = {
		{ "GenuineIntel", VENDOR_INTEL },
		{ "AuthenticAMD", VENDOR_AMD },
		{ "HygonGenuine", VENDOR_AMD },
	};
	uint32_t max, name[3];

	if (!__get_cpuid(0, &max, &name[0], &name[2], &name[1]))
		return VENDOR_NONE;
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (!memcmp(name, vendors[i].name, sizeof(name)))
			return vendors[i].vendor;
	return VENDOR_NONE;
}
#elif defined(__aarch64__)
enum vendor machine_vendor(void)
{
	return VENDOR_ARM;
}
#else
#error "pctrd knows x86 and 64-bit ARM"
#endif

/* A file of the kernel's, in one read(2).  Bytes, or -errno. */
static int file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	*text = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		n = -errno;
	else
		text[n] = '\0';
	close(fd);
	return (int)n;
}

/* PMUs of CPUs; the others in the folder belong to buses, caches and the kernel. */
static int pmu_counts(const char *pmu)
{
	static const char *const arm[] = { "armv8_", "armv9_", "apple_" };

	if (!strcmp(pmu, "cpu") || !strcmp(pmu, "cpu_core") || !strcmp(pmu, "cpu_atom"))
		return 1;
	for (size_t i = 0; i < sizeof(arm) / sizeof(arm[0]); i++)
		if (!strncmp(pmu, arm[i], strlen(arm[i])))
			return 1;
	return 0;
}

/* A PMU without a list of CPUs is on all; machines with two kinds of cores have lists. */
static int pmu_on_cpu(const char *pmu, unsigned int cpu)
{
	char path[512], list[LIST_MAX];

	snprintf(path, sizeof(path), PMUS "/%s/cpus", pmu);
	return file_read(path, list, sizeof(list)) < 0 || cpuranges_has(list, cpu);
}

uint64_t machine_tsc(void)
{
	return rdtsc();
}

int machine_ncpu(void)
{
	char list[LIST_MAX];
	int n = file_read(CPUS "/possible", list, sizeof(list));

	if (n <= 0)
		return n < 0 ? n : -EIO;
	return (int)cpuranges_end(list);
}

int machine_pmu(unsigned int cpu, char *name, size_t size)
{
	char list[LIST_MAX];
	struct dirent *d;
	int err = -ENXIO;
	DIR *dir;

	if (file_read(CPUS "/online", list, sizeof(list)) < 0 || !cpuranges_has(list, cpu))
		return -ENXIO;
	dir = opendir(PMUS);
	while (dir && err && (d = readdir(dir)))
		if (pmu_counts(d->d_name) && pmu_on_cpu(d->d_name, cpu) &&
		    strlen(d->d_name) < size) {
			strcpy(name, d->d_name);
			err = 0;
		}
	if (dir)
		closedir(dir);
	return err;
}

int machine_cpu_of(pid_t tid)
{
	char path[64], text[1024], *field;
	int n;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	n = tid > 0 ? file_read(path, text, sizeof(text)) : -ESRCH;
	field = n > 0 ? strrchr(text, ')') : NULL;	/* the name may hold anything */
	for (int i = 0; field && i <= STAT_CPU; i++)
		field = strchr(field + 1, ' ');
	return field ? atoi(field + 1) : -ESRCH;
}
