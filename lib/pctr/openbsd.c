/* SPDX-License-Identifier: BSD-2-Clause */
/* Other functions that programs for OpenBSD's pctr(4) call: sysctl(2) on CPUs, strtonum(3). */
#include <errno.h>
#include <openbsd/machine/cpu.h>
#include <openbsd/machine/specialreg.h>
#include <openbsd/stdlib.h>
#include <openbsd/sys/sysctl.h>
#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#define EXPORT __attribute__((visibility("default")))

struct cpu_facts {
	const char *machine, *vendor;
	uint32_t id, features;
};

#ifdef __x86_64__
static void cpu_facts_find(struct cpu_facts *facts, char vendor[13])
{
	uint32_t highest, ebx, ecx, edx;

	facts->machine = "amd64";
	facts->vendor = vendor;
	__cpuid(0, highest, ebx, ecx, edx);
	memcpy(vendor, &ebx, 4);
	memcpy(vendor + 4, &edx, 4);
	memcpy(vendor + 8, &ecx, 4);
	vendor[12] = '\0';
	__cpuid(1, facts->id, ebx, ecx, facts->features);
}
#else
/* rdtsc() reads the virtual counter. */
static void cpu_facts_find(struct cpu_facts *facts, char vendor[13])
{
	facts->machine = "arm64";
	facts->vendor = strcpy(vendor, "ARM");
	facts->id = 0;
	facts->features = CPUID_TSC;
}
#endif

/* As the system call: a name or a number to `old`, its length to *len; ENOMEM: cut to *len. */
static int sysctl_put(const void *value, size_t size, void *old, size_t *len)
{
	size_t room = old && len ? *len : 0;

	if (len)
		*len = old && size > room ? room : size;
	if (old)
		memcpy(old, value, size < room ? size : room);
	return old && size > room ? -ENOMEM : 0;
}

static int sysctl_find(const int *name, u_int namelen, void *old, size_t *len)
{
	struct cpu_facts facts;
	char vendor[13];

	if (namelen != 2)
		return -EOPNOTSUPP;
	cpu_facts_find(&facts, vendor);
	if (name[0] == CTL_HW && name[1] == HW_MACHINE)
		return sysctl_put(facts.machine, strlen(facts.machine) + 1, old, len);
	if (name[0] != CTL_MACHDEP)
		return -EOPNOTSUPP;
	switch (name[1]) {
	case CPU_CPUVENDOR:
		return sysctl_put(facts.vendor, strlen(facts.vendor) + 1, old, len);
	case CPU_CPUID:
		return sysctl_put(&facts.id, sizeof(facts.id), old, len);
	case CPU_CPUFEATURE:
		return sysctl_put(&facts.features, sizeof(facts.features), old, len);
	default:
		return -EOPNOTSUPP;
	}
}

EXPORT int sysctl(const int *name, u_int namelen, void *old, size_t *oldlen, void *new,
		  size_t newlen)
{
	int err = new ? -EPERM : sysctl_find(name, namelen, old, oldlen);

	if (err)
		errno = -err;
	return err ? -1 : 0;
}

EXPORT long long strtonum(const char *text, long long min, long long max, const char **wrong)
{
	const int before = errno;
	const char *why = NULL;
	long long value;
	char *end;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (min > max || end == text || *end)
		why = "invalid";
	else if (value < min)
		why = "too small";
	else if (value > max)
		why = "too large";
	else if (errno)
		why = value < 0 ? "too small" : "too large";
	if (why)
		errno = *why == 'i' ? EINVAL : ERANGE;
	else
		errno = before;
	if (wrong)
		*wrong = why;
	return why ? 0 : value;
}
