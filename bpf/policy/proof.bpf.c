// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that a descriptor is /proc/PID/mem of the process of a pidfd.  If so, the kernel has
 * checked that the opener may attach to that process, with its ids, capabilities, Yama relation,
 * Landlock domain and label.  User space cannot be certain of that: paths depend on mounts and
 * namespaces, and a forked twin of the process has the same contents.
 *
 * The layout of the kernel's files is not assumed: the daemon first shows its own files, and the
 * pointers found there must lead to the daemon.  With another layout every check is UNKNOWN.
 *
 * The daemon runs this by BPF_PROG_RUN: `current` is the daemon, which holds both descriptors, and
 * RCU keeps the task of a pid that is exiting.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/count/count_abi.h"
#include "bpf/count/file.bpf.h"

char LICENSE[] SEC("license") = "GPL";

enum pidfd_keeps { PIDFD_UNKNOWN, PIDFD_IN_FILE, PIDFD_IN_INODE };

/* Learnt from the daemon's own descriptors. */
static const struct file_operations *pidfd_ops, *mem_ops, *maps_ops;
static u32 pidfd_keeps;		/* enum pidfd_keeps */

/* The pid of a file in a process's folder of any procfs. */
static __always_inline struct pid *file_pid(struct file *f)
{
	void *inode = BPF_CORE_READ(f, f_inode);
	struct proc_inode *p = NULL;

	if (!bpf_core_field_exists(p->pid) || !bpf_core_field_exists(p->vfs_inode))
		return NULL;
	p = inode - bpf_core_field_offset(struct proc_inode, vfs_inode);
	return BPF_CORE_READ(p, pid);
}

static __always_inline struct pid *pidfd_pid(struct file *f)
{
	if (!f || !pidfd_ops || BPF_CORE_READ(f, f_op) != pidfd_ops)
		return NULL;
	if (pidfd_keeps == PIDFD_IN_INODE)
		return BPF_CORE_READ(f, f_inode, i_private);
	return pidfd_keeps == PIDFD_IN_FILE ? BPF_CORE_READ(f, private_data) : NULL;
}

/* The main thread; NULL once it has been reaped. */
static __always_inline struct task_struct *pid_process(struct pid *pid)
{
	u32 type = bpf_core_enum_value(enum pid_type, PIDTYPE_TGID);
	struct hlist_head *heads = (void *)pid + bpf_core_field_offset(struct pid, tasks);
	struct hlist_node *node = NULL;

	bpf_probe_read_kernel(&node, sizeof(node), heads + type);
	if (!node)
		return NULL;
	return (void *)node - bpf_core_field_offset(struct task_struct, pid_links) -
	       type * bpf_core_type_size(struct hlist_node);
}

static __always_inline u32 proof_learn(struct file *pidfd, struct file *mem, struct file *maps)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct task_struct *leader = BPF_CORE_READ(me, group_leader);
	struct pid *pid = BPF_CORE_READ(leader, thread_pid);
	void *mm = BPF_CORE_READ(leader, mm);

	if (!pidfd || !mem || !maps || !pid || !mm || pid_process(pid) != leader ||
	    BPF_CORE_READ(mem, private_data) != mm || file_pid(mem) != pid || file_pid(maps) != pid)
		return ABI_PROOF_UNKNOWN;
	if (BPF_CORE_READ(pidfd, private_data) == (void *)pid)
		pidfd_keeps = PIDFD_IN_FILE;
	else if (BPF_CORE_READ(pidfd, f_inode, i_private) == (void *)pid)
		pidfd_keeps = PIDFD_IN_INODE;
	else
		return ABI_PROOF_UNKNOWN;
	mem_ops = BPF_CORE_READ(mem, f_op);
	maps_ops = BPF_CORE_READ(maps, f_op);
	if (mem_ops == maps_ops)
		return ABI_PROOF_UNKNOWN;
	pidfd_ops = BPF_CORE_READ(pidfd, f_op);
	return ABI_PROOF_MEM;
}

static __always_inline u32 proof_check(struct file *pidfd, struct file *proof)
{
	const struct file_operations *ops = proof ? BPF_CORE_READ(proof, f_op) : NULL;
	struct pid *pid = pidfd_pid(pidfd);
	struct task_struct *task;
	void *mm;

	if (!pid)
		return ABI_PROOF_UNKNOWN;
	if (!ops || (ops != mem_ops && ops != maps_ops))
		return ABI_PROOF_NONE;
	if (file_pid(proof) != pid)
		return ABI_PROOF_OTHER;
	task = pid_process(pid);
	mm = task ? BPF_CORE_READ(task, mm) : NULL;
	/* without memory the kernel checks nothing: any process can open such a file */
	if (!mm)
		return ABI_PROOF_GONE;
	if (ops == maps_ops)
		return ABI_PROOF_MAPS;
	return BPF_CORE_READ(proof, private_data) == mm ? ABI_PROOF_MEM : ABI_PROOF_STALE;
}

SEC("raw_tp")
int proof_ctl(unsigned long long *ctx)
{
	u32 op = ctx[0], a = ctx[1], b = ctx[2], c = ctx[3];

	if (op == ABI_PROOF_LEARN)
		return proof_learn(file_of(a), file_of(b), file_of(c));
	return proof_check(file_of(a), file_of(b));
}
