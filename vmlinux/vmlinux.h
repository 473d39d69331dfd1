/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few kernel types the programs touch, cut by hand.  CO-RE moves every field to where the
 * running kernel has it, so one header serves all kernels and architectures; only names must match.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
};
/* The value is the running kernel's. */
enum cpuhp_state {
	CPUHP_AP_PERF_ONLINE = 154,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
};
enum {
	BPF_F_NO_PREALLOC = 1U << 0,
	BPF_F_MMAPABLE = 1U << 10,
};

enum {
	BPF_F_USER_STACK = 1ULL << 8,
	BPF_RB_NO_WAKEUP = 1ULL << 0,
	BPF_RB_FORCE_WAKEUP = 1ULL << 1,
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
};

/* The context of an overflow's program: fixed by the interface, unlike all that follows. */
#ifdef __TARGET_ARCH_arm64
struct overflow_regs {
	__u64 regs[31], sp, pc, pstate;
};
#define PT_IP(ctx) ((ctx)->regs.pc)
#else
struct overflow_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	__u64 ip, cs, flags, sp, ss;
};
#define PT_IP(ctx) ((ctx)->regs.ip)
#endif
struct bpf_perf_event_data {
	struct overflow_regs regs;
	__u64 sample_period;
	__u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct list_head {
	struct list_head *next, *prev;
};

struct seqcount {
	unsigned int sequence;
};
typedef struct seqcount seqcount_t;
struct seqcount_spinlock {
	seqcount_t seqcount;
};
typedef struct seqcount_spinlock seqcount_spinlock_t;
typedef struct {
	seqcount_spinlock_t seqcount;
} seqlock_t;

struct thread_info {
	unsigned long flags;
	u32 status;
	u32 cpu;
};

struct rq {
	u64 nr_switches;
	u64 clock;
};
struct cfs_rq {
	struct rq *rq;
};
struct sched_entity {
	struct cfs_rq *cfs_rq;		/* with CONFIG_FAIR_GROUP_SCHED: of its CPU and group */
	u64 sum_exec_runtime;
};

struct sched_info {
	unsigned long long run_delay, last_queued;
};

struct pid;
struct signal_struct {
	struct pid *pids[4];
	atomic_t live;
	struct list_head thread_head;
	seqlock_t stats_lock;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
};

typedef struct {
	void *vdso;
} mm_context_t;
struct mm_struct {
	unsigned long flags;
	unsigned long start_code, end_code, start_stack;
	mm_context_t context;
};
struct file;
struct vm_area_struct {
	unsigned long vm_start, vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};
/* From Linux 6.18 on. */
typedef struct {
	unsigned long __mm_flags[1];
} mm_flags_t;
struct mm_struct___bitmap {
	mm_flags_t flags;
};

/* From Linux 7 on, instead of two of the flags. */
enum task_dumpable {
	TASK_DUMPABLE_OFF,
};
struct task_exec_state {
	enum task_dumpable dumpable;
};

struct linux_binprm {
	unsigned int secureexec : 1;
	unsigned int interp_flags;
};

/* What descriptors of a process lead to. */
struct hlist_node {
	struct hlist_node *next;
};
struct hlist_head {
	struct hlist_node *first;
};
struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct hlist_head tasks[4];
	struct upid numbers[1];		/* level + 1 */
};
enum pid_type {
	PIDTYPE_TGID = 1,
};
struct super_block {
	u32 s_dev;
};
struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};
struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
	struct timespec64 i_ctime;	/* until Linux 6.6 */
	void *i_private;
};
struct proc_inode {
	struct pid *pid;
	struct inode vfs_inode;
};
struct file_operations;
struct file {
	struct inode *f_inode;
	const struct file_operations *f_op;
	void *private_data;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};

/* What the kernel keeps about a thread that has met a probe in user code. */
struct uprobe_task {
	unsigned int depth;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;
typedef void (*__sighandler_t)(int);
struct sigaction {
	__sighandler_t sa_handler;
};
struct k_sigaction {
	struct sigaction sa;
};
struct sighand_struct {
	struct k_sigaction action[64];
};

struct kernfs_node {
	u64 id;
	void *priv;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
	u64 serial_nr;
};
struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[];
};
enum cgroup_subsys_id {
	perf_event_cgrp_id = 7,
	CGROUP_SUBSYS_COUNT = 16,
};
struct css_set {
	struct cgroup_subsys_state *subsys[CGROUP_SUBSYS_COUNT];
};

struct task_struct {
	struct thread_info thread_info;
	void *stack;
	int on_cpu;
	unsigned int __state;
	unsigned int flags;
	int exit_state;
	int pid, tgid;
	int prio;
	int exit_code;
	unsigned in_iowait : 1;
	struct sched_info sched_info;
	char comm[16];
	u64 start_time, start_boottime;
	struct mm_struct *mm;
	struct task_exec_state *exec_state;
	u64 self_exec_id;
	struct sched_entity se;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	sigset_t blocked, real_blocked;	/* the latter during sigtimedwait(2) */
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct hlist_node pid_links[4];
	struct list_head children, sibling;
	struct completion *vfork_done;
	struct perf_event_context *perf_event_ctxp;
	struct files_struct *files;
	struct list_head thread_node;
	struct task_struct *real_parent;
	const struct cred *cred;
	struct css_set *cgroups;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
	struct uprobe_task *utask;
};

/* Before Linux 6.2: events of hardware and of software. */
struct task_struct___two_contexts {
	struct perf_event_context *perf_event_ctxp[2];
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};
struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

/* What a program that an overflow runs gets, as the kernel has it. */
struct hw_perf_event {
	u64 interrupts;
};
struct perf_event_attr {
	u64 sig_data;
};
enum perf_event_state {
	PERF_EVENT_STATE_OFF = -1,
};
struct perf_event {
	struct list_head event_entry;
	int cpu;
	enum perf_event_state state;
	struct perf_event_attr attr;
	struct hw_perf_event hw;
	struct list_head child_list;
	struct bpf_prog *prog;
	struct trace_event_call *tp_event;
};
struct perf_event_context {
	struct list_head event_list;
};
union perf_sample_weight {
	u64 full;
};
union perf_mem_data_src {
	u64 val;
};
struct perf_sample_data {
	u64 sample_flags;
	union perf_sample_weight weight;
	union perf_mem_data_src data_src;
	u64 txn, addr, phys_addr, data_page_size, code_page_size;
};
struct bpf_perf_event_data_kern {
	void *regs;
	struct perf_sample_data *data;
	struct perf_event *event;
};

struct tracepoint {
	const char *name;
};
struct trace_event_call {
	union {
		const char *name;
		struct tracepoint *tp;
	};
	void *data;
};
struct syscall_metadata {
	int syscall_nr;
	struct trace_event_call *enter_event, *exit_event;
};

/* The kernel's side of a kprobe's perf event: its hits on each CPU, and those it has missed. */
struct kprobe {
	unsigned long nmissed;
};
struct kretprobe {
	struct kprobe kp;
	int nmissed;
};
struct trace_probe {
	struct list_head list;
};
struct trace_probe_event {
	struct trace_event_call call;
	struct list_head probes;
};
struct trace_kprobe {
	struct kretprobe rp;
	unsigned long *nhit;
	struct trace_probe tp;
};

/* How often the kernel skipped a program, per CPU. */
typedef struct {
	u64 v;
} u64_stats_t;
struct bpf_prog_stats {
	u64_stats_t misses;
};
struct bpf_prog {
	struct bpf_prog_stats *stats;
};
struct bpf_array {
	union {
		void *pptrs[1];
	};
};

struct trace_entry {
	unsigned short type;
	unsigned char flags;
	unsigned char preempt_count;
	int pid;
};
struct trace_event_raw_sys_enter {
	struct trace_entry ent;
	long id;
	unsigned long args[6];
};

struct trace_event_raw_sys_exit {
	struct trace_entry ent;
	long id;
	long ret;
};

/* Only ever read through PT_REGS_*_CORE, and by programs that get a typed pointer. */
struct pt_regs {
	unsigned long di, si, dx, cx, r8, ip, sp, ax;
	unsigned long bx, bp, r9, r10, r11, r12, r13, r14, r15, cs;
	unsigned long orig_ax;		/* the system call's number on x86 … */
	int syscallno;			/* … and on arm64 */
	u64 regs[31], pc, pstate, orig_x0;	/* arm64 */
};
struct user_pt_regs {
	u64 regs[31];
	u64 sp, pc, pstate;
};

/* --- what trace points tell of -------------------------------------------------------------- */

struct kernel_siginfo {
	int si_signo, si_errno, si_code;
};

struct kmem_cache {
	unsigned int object_size;
	const char *name;
};
struct folio {
	unsigned long index;
};

struct irqaction {
	const char *name;
};
struct tasklet_struct {
	void (*func)(unsigned long);
};
struct timer_list {
	unsigned long expires;
	void (*function)(struct timer_list *);
};
struct timerqueue_node {
	s64 expires;
};
/* From Linux 7 on. */
struct timerqueue_linked_node {
	s64 expires;
};
struct hrtimer {
	s64 _softexpires;
	void *function;
};
struct work_struct {
	void *func;
};
struct module {
	char name[56];
};

struct net_device {
	char name[16];
};
struct sk_buff {
	struct net_device *dev;
	unsigned int len;
};
struct napi_struct {
	struct net_device *dev;
};
struct sock_common {
	__be16 skc_dport;
	u16 skc_num;
};
struct user_namespace {
	struct ns_common ns;
};
typedef struct {
	u32 val;
} kuid_t;
typedef struct {
	u32 val;
} kgid_t;
typedef struct kernel_cap_struct {
	u32 cap[2];
} kernel_cap_t;
struct cred {
	kuid_t uid, suid, euid;
	kgid_t gid, sgid, egid;
	kernel_cap_t cap_permitted, cap_effective, cap_ambient;
	struct user_namespace *user_ns;
};
struct sock {
	struct sock_common __sk_common;
	const struct cred *sk_peer_cred;
};
struct socket {
	struct sock *sk;
};
struct flowi4 {
	__be32 daddr;
};
struct fib6_table {
	u32 tb6_id;
};

struct gendisk {
	int major, first_minor;
};
struct request_queue {
	struct gendisk *disk;
};
struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
};
struct block_device {
	u32 bd_dev;
};
struct bvec_iter {
	u64 bi_sector;
	unsigned int bi_size;
};
struct bio {
	struct block_device *bi_bdev;
	struct bvec_iter bi_iter;
};
struct buffer_head {
	u64 b_blocknr;
	unsigned long b_size;
	struct block_device *b_bdev;
};

#pragma clang attribute pop

#endif
