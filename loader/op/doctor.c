/* SPDX-License-Identifier: BSD-2-Clause */
/* See doctor.h.  Other programs may have chosen the contents of these files. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/number.h"
#include "loader/base/base.h"
#include "doctor.h"

/* About 50 ms: other requests wait meanwhile. */
#define MAX_LINKS 32768u

/* One printable line of a file; "" if there is none. */
static void file_printable(const char *path, char *buf, size_t size)
{
	(void)file_line(path, buf, size);
	for (char *p = buf; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
}

/* True if the process has a perf event open.  Counts the links examined. */
static bool pid_uses_perf(const char *proc, pid_t pid, unsigned int *links)
{
	static const char perf[] = "anon_inode:[perf_event]";
	char path[320], target[64];
	struct dirent *d;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%d/fd", proc, pid);
	dir = opendir(path);
	while (dir && !found && *links < MAX_LINKS && (d = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, target, sizeof(target));

		*links += 1;
		found = n == (ssize_t)sizeof(perf) - 1 && !memcmp(target, perf, (size_t)n);
	}
	if (dir)
		closedir(dir);
	return found;
}

static pid_t pid_of_name(const char *name)
{
	uint64_t n;

	return number_parse(name, 10, INT32_MAX, &n) ? 0 : (pid_t)n;
}

unsigned int doctor_perf_users(const char *proc, pid_t self, struct perf_user *users,
			      unsigned int max, bool *all)
{
	DIR *dir = opendir(proc);
	unsigned int n = 0, links = 0;
	struct dirent *d;

	*all = dir != NULL;
	while (dir && *all && (d = readdir(dir))) {
		pid_t pid = pid_of_name(d->d_name);
		char path[320];

		if (!pid || pid == self || !pid_uses_perf(proc, pid, &links)) {
			*all = links < MAX_LINKS;
			continue;
		}
		*all = n < max;
		if (n == max)
			break;
		users[n].pid = pid;
		snprintf(path, sizeof(path), "%s/%d/comm", proc, pid);
		file_printable(path, users[n].name, sizeof(users[n].name));
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

/* x86 has a flag for it. */
static bool cpu_has_hypervisor(const char *root)
{
	char path[320], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
	f = fopen(path, "re");
	while (f && !found && getline(&line, &size, f) > 0)
		if (!strncmp(line, "flags", 5)) {
			const char *p = strstr(line, " hypervisor");

			found = p && isspace((unsigned char)p[11]);
			break;
		}
	free(line);
	if (f)
		fclose(f);
	return found;
}

bool doctor_virtual(const char *root, char *name, size_t size)
{
	static const char *const vendors[] = {
		"QEMU", "KVM", "VMware", "VirtualBox", "innotek", "Xen", "Microsoft", "Amazon EC2",
		"Google Compute", "OpenStack", "Bochs", "Parallels", "linux,dummy-virt",
	};
	static const char *const files[] = {
		"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name",
		"/sys/firmware/devicetree/base/compatible",
	};
	bool virtual = cpu_has_hypervisor(root);
	char path[320], text[64];

	*name = '\0';
	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]) && !*name; i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i]);
		file_printable(path, text, sizeof(text));
		for (unsigned int v = 0; v < sizeof(vendors) / sizeof(vendors[0]); v++)
			if (strstr(text, vendors[v]))
				snprintf(name, size, "%s", text);
	}
	/* These vendors make hardware as well. */
	if (!virtual && (strstr(name, "Microsoft") || strstr(name, "Amazon")))
		*name = '\0';
	return virtual || *name;
}

void doctor_cpu_list(const int *of_cpu, unsigned int ncpu, int value, char *buf, size_t size)
{
	struct text t = text_begin(buf, size);

	for (unsigned int cpu = 0, last; cpu < ncpu; cpu = last + 1) {
		last = cpu;
		if (of_cpu[cpu] != value)
			continue;
		while (last + 1 < ncpu && of_cpu[last + 1] == value)
			last++;
		text_add(&t, last > cpu ? "%s%u-%u" : "%s%u", t.used ? "," : "", cpu, last);
	}
}

/* --- the kernel's names ---------------------------------------------------------------------- */

/* The finding and remedy if they are hidden from the daemon itself. */
static const char *names_remedy(const struct kernel_shown *k, char *finding, size_t size)
{
	if (k->err == -ENOENT) {
		snprintf(finding, size, "none: pmcbpfd finds no /proc/kallsyms");
		return "a kernel without CONFIG_KALLSYMS has none; a unit of pmcbpfd must not "
		       "have ProcSubset=pid";
	}
	if (k->err != -EPERM) {
		snprintf(finding, size, "none: pmcbpfd cannot read /proc/kallsyms (%s): a "
			 "sandbox hides it",
			 k->err == -ENODATA ? "it is empty" : strerror(-k->err));
		return "the unit of pmcbpfd must not have ProtectKernelTunables=, nor "
		       "/proc/kallsyms in InaccessiblePaths=";
	}
	if (k->settings.kptr_restrict >= 2) {
		snprintf(finding, size, "none: the kernel hides its addresses from everybody "
			 "(kernel.kptr_restrict=%d)", k->settings.kptr_restrict);
		return "sysctl kernel.kptr_restrict=1";
	}
	if (!k->syslog) {
		snprintf(finding, size, "none: the kernel hides its addresses from pmcbpfd, "
			 "which has no CAP_SYSLOG (kernel.kptr_restrict=%d, "
			 "kernel.perf_event_paranoid=%d)", k->settings.kptr_restrict,
			 k->settings.paranoid);
		return "start pmcbpfd with CAP_SYSLOG: in a unit, CapabilityBoundingSet= with it "
		       "and no ProtectKernelLogs=; in a container, --cap-add SYSLOG";
	}
	snprintf(finding, size, "none: /proc/kallsyms shows pmcbpfd no addresses, although it "
		 "has CAP_SYSLOG");
	return "a security module, or the kernel's configuration, must let pmcbpfd read them";
}

bool doctor_kernel_names(const struct kernel_shown *k, char *finding, size_t size,
			const char **remedy)
{
	int kptr = k->settings.kptr_restrict, paranoid = k->settings.paranoid;

	*remedy = "";
	if (k->err) {
		*remedy = names_remedy(k, finding, size);
		return false;
	}
	switch (k->view) {
	case KERNEL_NAMES:
		snprintf(finding, size, "your logs have addresses and names of the kernel");
		return true;
	case KERNEL_ADDRESSES:
		snprintf(finding, size, "your logs have addresses of the kernel, but no names "
			 "(kernel.kptr_restrict=%d, kernel.perf_event_paranoid=%d)", kptr,
			 paranoid);
		break;
	default:
		snprintf(finding, size, "your logs show all of the kernel as one address "
			 "(kernel.kptr_restrict=%d, kernel.perf_event_paranoid=%d)", kptr,
			 paranoid);
	}
	*remedy = "record as root of the host (CAP_PERFMON, CAP_SYSLOG, and kernel.kptr_restrict "
		  "at most 1), or sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1";
	return false;
}
