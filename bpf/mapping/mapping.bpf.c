// SPDX-License-Identifier: GPL-2.0
/*
 * Publishes executable mappings of all processes for the walk, where they change: at exec, mmap,
 * mprotect and fork, so that code of a known file can be unwound from its first instruction.  A
 * sampling program cannot ask the kernel for a mapping: bpf_find_vma() works once per interrupt.
 *
 * A file gets a number when it is mapped for the first time;
 * its table is found by this number, whenever it is there.  Where the kernel cannot be asked,
 * because another thread changes mappings, the process is stale until the daemon has read its
 * mappings again by visit_mappings.  `changes` shows the daemon whether they changed meanwhile.
 */
#include "bpf/unwind/tables.bpf.h"
#include <bpf/bpf_tracing.h>

#include "bpf/log/number.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define VM_EXEC	  0x4
#define PROT_EXEC 0x4
#define TRIES	  64			/* of locks that other threads hold for a moment */
#define PAGE	  4096
#define AREAS_MAX 16			/* of one mprotect(2) */
#define IMAGE_MAX 64			/* areas of an executable, and pages between them */
#define WORKSPACES 64			/* a power of two */
#define EBUSY	  16

struct unwind_chunks_map unwind_chunks SEC(".maps");
struct unwind_files_map unwind_files SEC(".maps");
struct unwind_processes_map unwind_processes SEC(".maps");
struct unwind_notes_map unwind_notes SEC(".maps");

/* Numbers that files have given back, and the next new one; `unwind_known` has those in use. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, UNWIND_FILES);
	__type(value, u32);
} unwind_numbers SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNWIND_FILES);
	__type(key, struct unwind_key);
	__type(value, u32);
} unwind_known SEC(".maps");
/* The numbers in use, in all and by user: of the process that first mapped the file. */
__u32 unwind_taken = 0;
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNWIND_FILES);
	__type(key, u32);
	__type(value, u32);
} unwind_users SEC(".maps");

/* A process without mappings. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_process);
} unwind_empty SEC(".maps");
/*
 * Memory for mappings that are rearranged.  From Linux 6.19 on a program may be preempted in the
 * middle, so that its CPU's is not always free.
 */
struct workspace {
	u32 busy;
	u32 placed;			/* the new mapping is in `to` */
	struct unwind_process to;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WORKSPACES);
	__type(key, u32);
	__type(value, struct workspace);
} unwind_workspace SEC(".maps");

__u32 unwind_next = UNWIND_FILE_FIRST;

/* Of the current attachment; an earlier one may still exist for a moment. */
__u64 mappings_cookie = 0;

struct unwind_changes unwind_changes[UNWIND_CHANGES] = {};

/* The mappings that visit_mappings has found of the process that the daemon asks for. */
struct unwind_process unwind_visited = {};

/* --- files ------------------------------------------------------------------------------------ */

/* An area of memory, copied while it cannot change. */
struct area {
	u64 start, end, offset;		/* end 0: there is none */
	u64 flags, file, vdso;
	struct unwind_key key;
};

/* The field has had three forms; in the last one the highest bit is a flag of file systems. */
#define CTIME_NSEC 0x7fffffff
struct inode___named {
	struct timespec64 __i_ctime;
};
struct inode___split {
	s64 i_ctime_sec;
	u32 i_ctime_nsec;
};

static __always_inline u64 inode_changed(struct inode *inode)
{
	struct inode___split *split = (void *)inode;
	struct inode___named *named = (void *)inode;

	if (bpf_core_field_exists(split->i_ctime_sec))
		return (u64)BPF_CORE_READ(split, i_ctime_sec) * 1000000000 +
		       (BPF_CORE_READ(split, i_ctime_nsec) & CTIME_NSEC);
	if (bpf_core_field_exists(named->__i_ctime))
		return (u64)BPF_CORE_READ(named, __i_ctime.tv_sec) * 1000000000 +
		       BPF_CORE_READ(named, __i_ctime.tv_nsec);
	return (u64)BPF_CORE_READ(inode, i_ctime.tv_sec) * 1000000000 +
	       BPF_CORE_READ(inode, i_ctime.tv_nsec);
}

/* Without branches, because the verifier would follow each of them; NULL reads as zeros. */
static __always_inline void area_take(struct vm_area_struct *vma, struct mm_struct *mm,
				      struct area *a)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	a->start = BPF_CORE_READ(vma, vm_start);
	a->end = BPF_CORE_READ(vma, vm_end);
	a->offset = BPF_CORE_READ(vma, vm_pgoff) << UNWIND_MAPPING_SHIFT;
	a->flags = BPF_CORE_READ(vma, vm_flags);
	a->file = (u64)file;
	a->vdso = (u64)BPF_CORE_READ(mm, context.vdso);
	a->key.inode = BPF_CORE_READ(inode, i_ino);
	a->key.device = BPF_CORE_READ(inode, i_sb, s_dev);
	a->key.changed = inode_changed(inode);
}

static __always_inline u64 area_origin(const struct area *a)
{
	return a->start == a->vdso ? a->start : a->start - a->offset;
}

static __always_inline u32 number_take(void)
{
	u32 number;

	if (!bpf_map_pop_elem(&unwind_numbers, &number))
		return number;
	if (unwind_next >= UNWIND_FILES)
		return UNWIND_FILE_LOST;
	number = __sync_fetch_and_add(&unwind_next, 1);
	return number < UNWIND_FILES ? number : UNWIND_FILE_LOST;
}

/*
 * A user has no more numbers than are free: half of all at most, and the next user half of the
 * rest.  The super-user takes any.
 */
static __always_inline bool user_may_take(u32 uid)
{
	u32 *n = uid ? bpf_map_lookup_elem(&unwind_users, &uid) : NULL;

	return !n || *n < UNWIND_FILES - unwind_taken;
}

static __always_inline void user_takes(u32 uid)
{
	u32 *n = bpf_map_lookup_elem(&unwind_users, &uid), one = 1;

	__sync_fetch_and_add(&unwind_taken, 1);
	if (!n && bpf_map_update_elem(&unwind_users, &uid, &one, BPF_NOEXIST))
		n = bpf_map_lookup_elem(&unwind_users, &uid);	/* another CPU was faster */
	if (n)
		__sync_fetch_and_add(n, 1);
}

static __always_inline u32 file_number(struct task_struct *task, const struct unwind_key *key)
{
	u32 *known = bpf_map_lookup_elem(&unwind_known, key), number, uid;

	if (known)
		return *known;
	uid = BPF_CORE_READ(task, cred, uid.val);
	if (!user_may_take(uid))
		return UNWIND_FILE_LOST;
	number = number_take();
	if (number == UNWIND_FILE_LOST)
		return number;
	if (!bpf_map_update_elem(&unwind_known, key, &number, BPF_NOEXIST)) {
		user_takes(uid);
		return number;
	}
	/* Another CPU was faster. */
	bpf_map_push_elem(&unwind_numbers, &number, BPF_ANY);
	known = bpf_map_lookup_elem(&unwind_known, key);
	return known ? *known : UNWIND_FILE_LOST;
}

/* The number of an area's file; the daemon learns of each mapping until it has a table. */
static __always_inline u32 area_file(struct task_struct *task, const struct area *a)
{
	struct unwind_note note = { .kind = UNWIND_NOTE_FILE };
	struct unwind_file *f;
	u32 number;

	if (a->start == a->vdso)
		return UNWIND_FILE_VDSO;
	if (!a->file)
		return UNWIND_FILE_NONE;
	number = file_number(task, &a->key);
	f = bpf_map_lookup_elem(&unwind_files, &number);
	if (!f || f->state > UNWIND_FILE_ASKED)
		return number;
	note.tgid = task->tgid;
	note.pid = nested ? task_process_nested(task) : note.tgid;
	note.file = number;
	note.start = a->start;
	note.end = a->end;
	note.key = a->key;
	bpf_ringbuf_output(&unwind_notes, &note, sizeof(note), 0);
	return number;
}

/* --- a process's mappings --------------------------------------------------------------------- */

/*
 * `placed` points into a map.  Verifiers before Linux 6.7 follow one call of rearrange_one() only:
 * a flag on the stack would be a constant for them, and its test would be removed.
 */
struct rearrange {
	const struct unwind_process *from;
	struct unwind_process *to;
	u32 *placed;
	struct unwind_mapping new;
	u64 end;			/* of the new one */
};

static __always_inline void rearrange_put(struct rearrange *r, u64 start, u64 end, u64 origin,
					  u32 file)
{
	u32 n = r->to->n;
	struct unwind_mapping *m;

	if (n >= UNWIND_MAPPINGS) {
		r->to->stale = UNWIND_FULL;
		return;
	}
	m = &r->to->map[n & (UNWIND_MAPPINGS - 1)];
	m->start = start;
	m->origin = origin;
	m->pages = (end - start) >> UNWIND_MAPPING_SHIFT;
	m->file = file;
	r->to->n = n + 1;
}

static __always_inline void rearrange_place(struct rearrange *r)
{
	if (!*r->placed)
		rearrange_put(r, r->new.start, r->end, r->new.origin, r->new.file);
	*r->placed = true;
}

/* An old mapping, without its part that the new one covers. */
static long rearrange_one(u32 i, struct rearrange *r)
{
	const struct unwind_mapping *m = &r->from->map[i & (UNWIND_MAPPINGS - 1)];
	u64 start = m->start, end = start + ((u64)m->pages << UNWIND_MAPPING_SHIFT);

	if (start < r->new.start)
		rearrange_put(r, start, end < r->new.start ? end : r->new.start, m->origin,
			      m->file);
	if (end > r->end) {
		rearrange_place(r);
		rearrange_put(r, start > r->end ? start : r->end, end, m->origin, m->file);
	}
	return 0;
}

struct lock {
	struct unwind_process *p;
	bool taken;
};

static long lock_try(u32 i, struct lock *l)
{
	u32 gen = *(volatile u32 *)&l->p->gen;

	l->taken = !(gen & 1) && __sync_val_compare_and_swap(&l->p->gen, gen, gen + 1) == gen;
	return l->taken;
}

/* False: another thread has it, and for too long. */
static __always_inline bool process_lock(struct unwind_process *p)
{
	struct lock l = { .p = p };

	bpf_loop(TRIES, lock_try, &l, 0);
	return l.taken;
}

static __always_inline void process_unlock(struct unwind_process *p)
{
	__sync_fetch_and_add(&p->gen, 1);
}

static __always_inline struct unwind_changes *changes_of(u32 tgid)
{
	return &unwind_changes[tgid & (UNWIND_CHANGES - 1)];
}

static __always_inline void process_rearrange(struct unwind_process *p, struct rearrange *r)
{
	u32 bytes;

	r->to->n = r->to->stale = *r->placed = 0;
	bpf_loop(p->n, rearrange_one, r, 0);
	rearrange_place(r);
	bytes = r->to->n * sizeof(struct unwind_mapping);
	if (bytes <= sizeof(r->to->map))
		bpf_probe_read_kernel(p->map, bytes, r->to->map);
	p->n = r->to->n;
	p->stale |= r->to->stale;
}

/* Puts an executable area into the process's list.  Not inlined: an exec adds three. */
__noinline int mapping_put(struct unwind_process *p, struct area *a, u32 file)
{
	u32 at = bpf_get_smp_processor_id() & (WORKSPACES - 1);
	struct workspace *w = bpf_map_lookup_elem(&unwind_workspace, &at);
	struct rearrange r = { .from = p };

	if (!p || !a || !w)
		return 0;
	r.to = &w->to;
	r.placed = &w->placed;
	r.new.start = a->start;
	r.new.origin = area_origin(a);
	r.new.file = file;
	r.end = a->end;
	if (__sync_val_compare_and_swap(&w->busy, 0, 1)) {
		p->stale = UNWIND_STALE;
		return 0;
	}
	if (process_lock(p)) {
		process_rearrange(p, &r);
		process_unlock(p);
	} else {
		p->stale = UNWIND_STALE;
	}
	w->busy = 0;
	return 0;
}

/* --- what happens ----------------------------------------------------------------------------- */

static long area_read(struct task_struct *task, struct vm_area_struct *vma, struct area *a)
{
	/* Not task->mm, for which verifiers search all names of types at each visit. */
	area_take(vma, BPF_CORE_READ(task, mm), a);
	return 0;
}

struct find {
	u64 address;
	struct area area;
	long err;
};

static long area_try(u32 i, struct find *f)
{
	f->err = bpf_find_vma(bpf_get_current_task_btf(), f->address, area_read, &f->area, 0);
	return f->err != -EBUSY;		/* another thread changes mappings */
}

/* Publishes the area at an address if it is executable; returns where it ends, or 0. */
__noinline u64 area_publish(u64 address, u32 tgid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct unwind_process *p = bpf_map_lookup_elem(&unwind_processes, &tgid);
	struct find f = { .address = address };

	if (!p)
		return 0;
	bpf_loop(TRIES, area_try, &f, 0);
	if (f.err == -EBUSY)
		p->stale = UNWIND_STALE;
	if (f.area.flags & VM_EXEC)
		mapping_put(p, &f.area, area_file(task, &f.area));
	return f.area.end;
}

static __always_inline void changes_begin(u32 tgid)
{
	__sync_fetch_and_add(&changes_of(tgid)->begun, 1);
}

static __always_inline void changes_end(u32 tgid)
{
	__sync_fetch_and_add(&changes_of(tgid)->done, 1);
}

#ifdef __TARGET_ARCH_arm64
#define FIRST_CODE(regs) ((regs)->pc)
#else
#define FIRST_CODE(regs) ((regs)->ip)
#endif

struct range {
	u64 at, end;
	u32 tgid;
};

/* The areas of a program's segments, with pages between them that are not mapped. */
static long range_of_image(u32 i, struct range *r)
{
	r->at = area_publish(r->at, r->tgid) ?: r->at + PAGE;
	return r->at >= r->end;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_image, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	u32 tgid = task->tgid, zero = 0;
	struct unwind_process *empty = bpf_map_lookup_elem(&unwind_empty, &zero), *p;
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct range r = { .tgid = tgid };

	if (!mm || !empty)
		return 0;
	r.at = BPF_CORE_READ(mm, start_code);
	r.end = BPF_CORE_READ(mm, end_code);
	changes_begin(tgid);
	/* A new entry: nothing of the old image stays. */
	bpf_map_update_elem(&unwind_processes, &tgid, empty, BPF_ANY);
	p = bpf_map_lookup_elem(&unwind_processes, &tgid);
	if (p)
		p->exec = (u32)task->self_exec_id;
	bpf_loop(IMAGE_MAX, range_of_image, &r, 0);
	if (p && r.at < r.end)
		p->stale = UNWIND_STALE;
	area_publish(FIRST_CODE(regs), tgid);
	area_publish((u64)BPF_CORE_READ(mm, context.vdso), tgid);
	changes_end(tgid);
	return 0;
}

/*
 * The kernel has mapped an area, or has protected it anew, and holds the lock of the mappings.
 * What an exec maps before the new program has a first address of code, on_image() publishes.
 */
SEC("fentry/perf_event_mmap")
int BPF_PROG(on_area, struct vm_area_struct *vma)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct unwind_process *p;
	struct area a = {};
	u32 tgid = task->tgid;

	if (!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC) || !BPF_CORE_READ(task, mm, start_code))
		return 0;
	changes_begin(tgid);
	p = bpf_map_lookup_elem(&unwind_processes, &tgid);
	if (p) {
		area_take(vma, BPF_CORE_READ(task, mm), &a);
		mapping_put(p, &a, area_file(task, &a));
	}
	changes_end(tgid);
	return 0;
}

/*
 * Without programs for functions: the system calls' own tracepoints, which make each system call of
 * the machine slower.  The arguments of the call stay where they were.
 */
#ifdef __TARGET_ARCH_arm64
#define CALL_ADDRESS(regs) ((regs)->orig_x0)
#define CALL_LENGTH(regs)  ((regs)->regs[1])
#define CALL_PROT(regs)	   ((regs)->regs[2])
#else
#define CALL_ADDRESS(regs) ((regs)->di)
#define CALL_LENGTH(regs)  ((regs)->si)
#define CALL_PROT(regs)	   ((regs)->dx)
#endif

SEC("tp/syscalls/sys_exit_mmap")
int on_mapped(struct trace_event_raw_sys_exit *ctx)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (!(CALL_PROT(regs) & PROT_EXEC) || ctx->ret < 0 ||
	    bpf_get_attach_cookie(ctx) != mappings_cookie)
		return 1;
	changes_begin(tgid);
	area_publish(ctx->ret, tgid);
	changes_end(tgid);
	return 1;
}

static long range_protected(u32 i, struct range *r)
{
	r->at = area_publish(r->at, r->tgid);
	return !r->at || r->at >= r->end;
}

static __always_inline void protected(struct trace_event_raw_sys_exit *ctx)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct range r = { .tgid = bpf_get_current_pid_tgid() >> 32 };

	if (!(CALL_PROT(regs) & PROT_EXEC) || ctx->ret ||
	    bpf_get_attach_cookie(ctx) != mappings_cookie)
		return;
	r.at = CALL_ADDRESS(regs);
	r.end = r.at + CALL_LENGTH(regs);
	changes_begin(r.tgid);
	bpf_loop(AREAS_MAX, range_protected, &r, 0);
	changes_end(r.tgid);
}

SEC("tp/syscalls/sys_exit_mprotect")
int on_protected(struct trace_event_raw_sys_exit *ctx)
{
	protected(ctx);
	return 1;
}

SEC("tp/syscalls/sys_exit_pkey_mprotect")
int on_key_protected(struct trace_event_raw_sys_exit *ctx)
{
	protected(ctx);
	return 1;
}

/* The child has the parent's mappings. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_child, struct task_struct *parent, struct task_struct *child)
{
	u32 from = parent->tgid, to = child->tgid, gen;
	struct unwind_process *p, *c;

	if (child->pid != child->tgid || child->flags & 0x200000)
		return 0;
	changes_begin(to);
	p = bpf_map_lookup_elem(&unwind_processes, &from);
	if (p) {
		gen = p->gen;
		bpf_map_update_elem(&unwind_processes, &to, p, BPF_ANY);
		c = bpf_map_lookup_elem(&unwind_processes, &to);
		if (c && (gen & 1 || gen != *(volatile u32 *)&p->gen)) {
			c->gen = 0;
			c->stale = UNWIND_STALE;
		}
	}
	changes_end(to);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_end, struct task_struct *task)
{
	u32 tgid = task->tgid;

	if (!BPF_CORE_READ(task, signal, live.counter))
		bpf_map_delete_elem(&unwind_processes, &tgid);
	return 0;
}

/* Run by the daemon, for one process: collects its mappings in `unwind_visited`. */
SEC("iter/task_vma")
int visit_mappings(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct task_struct *task = ctx->task;
	struct rearrange r = { .to = &unwind_visited };
	struct area a = {};

	if (!task || !vma || !task->mm || task->pid != task->tgid)
		return 0;
	unwind_visited.exec = (u32)task->self_exec_id;
	area_take(vma, task->mm, &a);
	if (a.flags & VM_EXEC)
		rearrange_put(&r, a.start, a.end, area_origin(&a), area_file(task, &a));
	return 0;
}
