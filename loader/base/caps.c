/* SPDX-License-Identifier: BSD-2-Clause */
/* See caps.h. */
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/confine.h"
#include "caps.h"

#define OWN(name, reason)    { #name, name, false, reason }
#define CLIENT(name, reason) { #name, name, true, reason }

const struct cap caps_kept[] = {
	OWN(CAP_BPF, "programs and maps"),
	OWN(CAP_CHECKPOINT_RESTORE, "helpers, which have no CAP_SYS_ADMIN: files behind mappings"),
	OWN(CAP_DAC_READ_SEARCH, "build ids of files that only their users may read, and /proc"),
	OWN(CAP_KILL, "signals to owners of PMCs, and the end of a child that has a client's ids"),
	OWN(CAP_PERFMON, "events of CPUs and of all processes, programs that trace"),
	OWN(CAP_SETGID, "the child that asks for permission has the client's groups"),
	OWN(CAP_SETUID, "the child that asks for permission has the client's ids"),
	OWN(CAP_SYSLOG, "addresses and names of the kernel, with kernel.kptr_restrict=1"),
	OWN(CAP_SYS_ADMIN, "programs by their numbers, and the user namespace of a client"),
	OWN(CAP_SYS_NICE, "a moment alone on a CPU, when a row is handed over"),
	OWN(CAP_SYS_PTRACE, "credentials, mappings and descriptors of all processes"),
	OWN(CAP_SYS_RAWIO, "/dev/pmcbpf_msr"),
	/* Container managers give these to a container's root by default, … */
	CLIENT(CAP_AUDIT_WRITE, "containers"),
	CLIENT(CAP_CHOWN, "containers"),
	CLIENT(CAP_DAC_OVERRIDE, "containers"),
	CLIENT(CAP_FOWNER, "containers"),
	CLIENT(CAP_FSETID, "containers"),
	CLIENT(CAP_MKNOD, "containers"),
	CLIENT(CAP_NET_BIND_SERVICE, "containers, services"),
	CLIENT(CAP_NET_RAW, "containers"),
	CLIENT(CAP_SETFCAP, "containers"),
	CLIENT(CAP_SETPCAP, "containers"),
	CLIENT(CAP_SYS_CHROOT, "containers"),
	/* … and these to services of ordinary users. */
	CLIENT(CAP_IPC_LOCK, "services"),
	CLIENT(CAP_NET_ADMIN, "services"),
	CLIENT(CAP_SYS_RESOURCE, "services"),
};
const size_t caps_nkept = sizeof(caps_kept) / sizeof(caps_kept[0]);

int caps_confine(struct reason *why)
{
	uint64_t permitted = 0, effective = 0;
	int err;

	for (size_t i = 0; i < caps_nkept; i++) {
		permitted |= 1ull << caps_kept[i].number;
		effective |= (uint64_t)!caps_kept[i].client << caps_kept[i].number;
	}
	confine_core();
	umask(077);
	err = confine_capabilities(permitted, effective);
	return err ? deny(why, err, "cannot give up capabilities: %s", strerror(-err)) : 0;
}
