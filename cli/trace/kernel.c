/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's rings: from pmcbpfd, or as root from the pinned map if there is no daemon. */
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <pmc.h>

#include "cli/common/common.h"
#include "kernel.h"
#include "region.h"

#define PINNED "/sys/fs/bpf/pmcbpf/ktr"
#define HOW    "switch them on with: ktrctl compile SCHED,SYSC"

/* Not BPF_F_RDONLY, which forbids mmap(2).  The mapping is read-only. */
static int pinned_open(void)
{
	union bpf_attr attr = { .pathname = (uint64_t)(uintptr_t)PINNED };
	long fd = syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

/* The rings that an ended daemon has left behind. */
static int pinned_open_left(int *fd)
{
	*fd = pinned_open();
	if (*fd >= 0)
		return 0;
	if (*fd == -ENOENT)
		return fail(EX_UNAVAILABLE, "ERROR: the kernel has no trace rings; start pmcbpfd "
			    "and " HOW);
	return fail(EX_UNAVAILABLE, "ERROR: " PINNED ": %s", strerror(-*fd));
}

static int kernel_rings_open(int *fd)
{
	int err;

	if (running_connect() != 0) {
		if (geteuid() == 0 && (errno == ENOENT || errno == ENOTDIR))
			return pinned_open_left(fd);
		return fail_pmc(EX_UNAVAILABLE, "ERROR: no trace of the kernel");
	}
	*fd = pmc_ktr_open();
	if (*fd >= 0)
		return 0;
	err = errno;
	if (err == ENXIO)
		return fail(EX_UNAVAILABLE, "ERROR: the kernel has no trace rings; " HOW);
	return fail_pmc(err == EPERM || err == EACCES ? EX_NOPERM : EX_UNAVAILABLE,
			"ERROR: no trace of the kernel");
}

static int kernel_map_region(struct memory *mem, int fd)
{
	struct ktr_region header;
	const char *fault;
	const uint8_t *map;
	int err = region_map(fd, &header, &map, &fault);

	if (fault)
		return fail(EX_SOFTWARE, "ERROR: the kernel's trace rings are unsound: %s", fault);
	if (err)
		return fail(EX_OSERR, "ERROR: the kernel's trace rings cannot be mapped: %s",
			    strerror(-err));
	memory_map(mem, map, region_size(&header));
	mem->live = true;
	return 0;
}

/* A copy at one moment: tracing stops for it, and the daemon writes an entry about that. */
static int kernel_freeze(struct memory *mem)
{
	void *copy = mmap(NULL, mem->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	sigset_t all, old;
	int code = 0;

	if (copy == MAP_FAILED)
		return fail_errno(EX_OSERR, "ERROR: no memory for a copy of the rings");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	if (pmc_ktr_control(PMC_KTR_FREEZE, NULL) != 0) {
		code = fail_pmc(errno == EPERM ? EX_NOPERM : EX_UNAVAILABLE,
				"ERROR: the kernel's trace rings cannot be frozen");
	} else {
		memcpy(copy, mem->map, mem->size);
		if (pmc_ktr_control(PMC_KTR_THAW, NULL) != 0)
			code = fail_pmc(EX_UNAVAILABLE, "ERROR: the kernel's trace rings stay "
					"frozen");
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	kernel_unmap(mem);
	memory_map(mem, copy, mem->size);
	return code;
}

int kernel_map(struct memory *mem, bool frozen)
{
	int fd = -1, code;

	code = kernel_rings_open(&fd);
	if (code)
		return code;
	code = kernel_map_region(mem, fd);
	close(fd);
	return !code && frozen ? kernel_freeze(mem) : code;
}

void kernel_unmap(struct memory *mem)
{
	if (mem->map)
		munmap((void *)(uintptr_t)mem->map, mem->size);
	mem->map = NULL;
}
