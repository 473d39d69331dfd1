/* SPDX-License-Identifier: GPL-2.0 */
/* Decides whether an exec's image has rights that the old image lacked. */
#ifndef PMCBPF_SECURE_BPF_H
#define PMCBPF_SECURE_BPF_H

#include "maps.bpf.h"

#define BINPRM_ENFORCE_NONDUMP 0x1	/* the caller may not read the file */
#define DUMPABLE_MASK	       0x3
#define DUMPABLE_USER	       1

/*
 * The image's dumpable value: DUMPABLE_USER unless it is set-id or unreadable, or its exec changed
 * credentials.  The kernel removes perf events from processes with any other value.
 */
static __always_inline u32 dumpable(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct mm_struct___bitmap *bitmap = (void *)mm;
	u64 flags = DUMPABLE_USER;

	if (bpf_core_field_exists(task->exec_state))
		return BPF_CORE_READ(task, exec_state, dumpable);
	if (bpf_core_field_exists(mm->flags))
		flags = BPF_CORE_READ(mm, flags);
	else if (bpf_core_field_exists(bitmap->flags))
		bpf_core_read(&flags, sizeof(flags), &bitmap->flags);
	return flags & DUMPABLE_MASK;
}

/* True if a security module labels processes; the daemon sets it before the load. */
const volatile bool labels = true;

/*
 * A process that is traced, or that shares its fs_struct, without privilege does not receive a
 * file's ids and capabilities, but the kernel still calls the exec secure.  The process has no new
 * rights if all its ids are equal and no capability came from the file.  A label may have changed
 * even so.
 */
static __always_inline bool is_ordinary(struct task_struct *task)
{
	const struct cred *c = BPF_CORE_READ(task, cred);
	u64 permitted = ~0ull, ambient = 0;
	u32 uid, gid;

	if (labels)
		return false;
	uid = BPF_CORE_READ(c, uid.val);
	gid = BPF_CORE_READ(c, gid.val);
	bpf_core_read(&permitted, sizeof(permitted), &c->cap_permitted);
	bpf_core_read(&ambient, sizeof(ambient), &c->cap_ambient);
	return BPF_CORE_READ(c, euid.val) == uid && BPF_CORE_READ(c, suid.val) == uid &&
	       BPF_CORE_READ(c, egid.val) == gid && BPF_CORE_READ(c, sgid.val) == gid &&
	       !(permitted & ~ambient);
}

static __always_inline bool is_secure(struct task_struct *task, struct linux_binprm *bprm, u32 dump)
{
	return dump != DUMPABLE_USER || bprm->interp_flags & BINPRM_ENFORCE_NONDUMP ||
	       (BPF_CORE_READ_BITFIELD_PROBED(bprm, secureexec) && !is_ordinary(task));
}

#endif
