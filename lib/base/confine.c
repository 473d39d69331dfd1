/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine.h"

#define SETS 64

/*
 * Without CAP_SETPCAP (a systemd unit's bounding set may lack it) the bounding set stays as it is.
 * It only matters for exec(2), and no_new_privs makes exec harmless.
 */
static int confine_bounding_set(uint64_t permitted)
{
	for (int cap = 0; cap < SETS; cap++) {
		if (permitted >> cap & 1 || prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 1)
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EPERM)
			return -errno;
	}
	return 0;
}

int confine_capabilities(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];
	int err = confine_bounding_set(permitted);

	if (err)
		return err;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) || syscall(SYS_capget, &h, d))
		return -errno;
	for (unsigned int i = 0; i < 2; i++) {
		d[i].permitted &= (uint32_t)(permitted >> 32 * i);
		d[i].effective = d[i].permitted & (uint32_t)(effective >> 32 * i);
		d[i].inheritable = 0;
	}
	return syscall(SYS_capset, &h, d) ? -errno : 0;
}

void confine_core(void)
{
	struct rlimit core;

	if (getrlimit(RLIMIT_CORE, &core))
		return;
	core.rlim_cur = 0;
	(void)setrlimit(RLIMIT_CORE, &core);
}
