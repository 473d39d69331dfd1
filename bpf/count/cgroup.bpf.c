// SPDX-License-Identifier: GPL-2.0
/*
 * Cgroups on free-running counters, by slices.
 *
 * As in switch.bpf.c, with the cgroup of the task in the place of its process, and in a lane of its
 * own: each CPU has at most one open slice of a cgroup, whatever slice of a process is open there.
 * Nothing is attached while no PMC of a cgroup is allocated.
 *
 * The cgroup of a task is the one by which perf counts (task_cgroup.bpf.h).  A slice changes at a
 * context switch; at a flush; and when the task that runs on the CPU is moved to another cgroup,
 * for which the kernel interrupts that CPU.  All of these run with interrupts disabled, except for
 * the daemon's flush of its own CPU: a move that interrupts it leaves the work to it.
 *
 * Example: PMC 1 counts cgroup /a, PMC 2 /a/b.  A task of /a/b gets the CPU, and the CPU finds the
 * set of /a/b, which has both PMCs.  A task of /a/c is next: no PMC has that cgroup, so the way to
 * the root leads to the set of /a, with PMC 1.
 */
#include "file.bpf.h"
#include "hit.bpf.h"
#include "seen.bpf.h"
#include "source.bpf.h"
#include "task_cgroup.bpf.h"

#include "cgroup_abi.h"

char LICENSE[] SEC("license") = "GPL";

#define ENOENT	  2
#define EINVAL	  22
#define DEPTH_MAX 4096			/* a path is no longer than that */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_CGROUPS);
	__type(key, u32);
	__type(value, struct abi_cgroup);
} cgroups SEC(".maps");
/* The kernel's number of a cgroup with PMCs: its set. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ABI_CGROUPS);
	__type(key, u64);
	__type(value, u32);
} cgroup_index SEC(".maps");
/* Sized for the number of CPUs before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_cgroup_cpu);
} cgroup_cpus SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_cgroup_counts);
} cgroup_counts SEC(".maps");

const volatile bool cgroups_here = false;	/* this kernel lets programs see moves of tasks */
struct abi_open open_cgroup[ABI_MAX_CPUS] __attribute__((aligned(64))) = {};
__u32 cgroups_watched = 0;		/* on_cgroup_switch is attached */
__u32 cgroup_epoch = 0;			/* changes with cgroup_index */
__u64 cgroup_lost[ABI_CGROUP_PMCS / 64] = {};	/* bit p: the PMC at place p has lost a slice */
struct abi_cgroup_path cgroup_path = {};

/* --- the set of a task ------------------------------------------------------------------------ */

struct way {
	u64 css;
	u32 set;
};

static long way_up(u32 i, struct way *w)
{
	struct cgroup_subsys_state *css = (void *)w->css;
	u64 id;
	u32 *set;

	if (!css)
		return 1;
	id = BPF_CORE_READ(css, cgroup, kn, id);
	set = bpf_map_lookup_elem(&cgroup_index, &id);
	if (set) {
		w->set = *set;
		return 1;
	}
	w->css = (u64)BPF_CORE_READ(css, parent);
	return 0;
}

__noinline u32 cgroup_find(u64 css)
{
	struct way w = { .css = css };

	bpf_loop(DEPTH_MAX, way_up, &w, 0);
	return w.set;
}

/* The kernel gives a number to each cgroup that it makes, and never a second time. */
static __always_inline u64 task_cgroup(struct task_struct *task)
{
	struct cgroup_subsys_state *css = (void *)task_css(task);

	return BPF_CORE_READ(css, serial_nr);
}

/* The set of the task's cgroup, whose number is `serial`. */
static __always_inline u32 cgroup_set(struct abi_cgroup_cpu *c, struct task_struct *task,
				      u64 serial)
{
	struct abi_cgroup_known *k = &c->known[serial & (ABI_CGROUP_KNOWN - 1)];
	u32 epoch = *(volatile u32 *)&cgroup_epoch;

	if (k->serial == serial && k->epoch == epoch)
		return k->set;
	k->set = cgroup_find(task_css(task));
	k->serial = serial;
	k->epoch = epoch;
	return k->set;
}

/* --- slices ----------------------------------------------------------------------------------- */

static __always_inline struct abi_open *open_cgroup_of(u32 cpu)
{
	return &open_cgroup[cpu & (ABI_MAX_CPUS - 1)];
}

/*
 * The kernel counts a switch right after it has reported it.  `helper`: not by the counter,
 * which takes more of the stack.
 */
static __always_inline u64 event_read_by(struct abi_cgroup_cpu *c, struct abi_cpu *k, u32 cpu,
					 u32 source, bool helper)
{
	u64 now = COUNTER_UNREAD, event;

	if (source >= ABI_SOURCE_HOOK)
		return hook_read(k, source, c->due);
	event = helper ? 0 : source_event(k, source);
	if (event)
		now = counter_read(event);
	if (now != COUNTER_UNREAD)
		return now;
	now = bpf_perf_event_read(&events, ABI_EVENT(cpu, source));
	if (now > (u64)-4096) {
		source_note_lost(k, source);
		return c->start[source];
	}
	return now + (c->switching & (u32)(switch_sources >> source));
}

static __always_inline void cgroup_member_refresh(struct abi_cgroup_cpu *c, struct abi_cpu *k,
						  u32 cpu, u32 source)
{
	u32 slot;

	if (source >= ABI_SOURCE_TRACEPOINT) {
		slot = source & (ABI_TRACEPOINTS - 1);
		if (!(c->fresh_hits >> slot & 1))
			c->now[source & (ABI_ALL_SOURCES - 1)] =
				hits_of(k, slot) + (c->hit_due == 1 + slot);
		c->fresh_hits |= 1ull << slot;
		return;
	}
	source &= ABI_MAX_SOURCES - 1;
	if (!(c->fresh_others >> source & 1))
		c->now[source] = event_read_by(c, k, cpu, source, false);
	c->fresh_others |= 1ull << source;
}

static __always_inline void cgroup_member_credit(const struct abi_cgroup_cpu *c,
						 const struct abi_cgroup *g, u32 i,
						 struct abi_cgroup_counts *n)
{
	u32 source = g->member[i].source & (ABI_ALL_SOURCES - 1);
	u32 place = g->member[i].place & (ABI_CGROUP_PMCS - 1);

	n->count[place] += c->now[source] - c->start[source];
}

static __always_inline void cgroup_member_begin(struct abi_cgroup_cpu *c,
						const struct abi_cgroup *g, u32 i)
{
	u32 source = g->member[i].source & (ABI_ALL_SOURCES - 1);

	c->start[source] = c->now[source];
}

/* Several members take a call each; most cgroups have one PMC, which takes none. */
struct members {
	struct abi_cgroup_cpu *c;
	struct abi_cpu *k;
	const struct abi_cgroup *g;
	struct abi_cgroup_counts *n;
	u64 these;
	u32 cpu;
};

#define LAST(m, i) (!((m)->these >> (i)))
#define HAS(m, i)  ((m)->these >> (i) & 1)

static long each_refresh(u32 i, struct members *m)
{
	i &= ABI_CGROUP_MEMBERS - 1;
	if (HAS(m, i))
		cgroup_member_refresh(m->c, m->k, m->cpu, m->g->member[i].source);
	return LAST(m, i);
}

static long each_credit(u32 i, struct members *m)
{
	i &= ABI_CGROUP_MEMBERS - 1;
	if (HAS(m, i))
		cgroup_member_credit(m->c, m->g, i, m->n);
	return LAST(m, i);
}

static long each_begin(u32 i, struct members *m)
{
	i &= ABI_CGROUP_MEMBERS - 1;
	if (HAS(m, i))
		cgroup_member_begin(m->c, m->g, i);
	return LAST(m, i);
}

/* Reads the sources of these members, each once in a change. */
static __always_inline void cgroup_set_refresh(struct abi_cgroup_cpu *c, struct abi_cpu *k, u32 cpu,
					       const struct abi_cgroup *g, u64 these)
{
	struct members m = { .c = c, .k = k, .g = g, .these = these, .cpu = cpu };

	if (these == 1)
		cgroup_member_refresh(c, k, cpu, g->member[0].source);
	else
		bpf_loop(ABI_CGROUP_MEMBERS, each_refresh, &m, 0);
}

static __always_inline void cgroup_set_credit(struct abi_cgroup_cpu *c, const struct abi_cgroup *g,
					      struct abi_cgroup_counts *n, u64 these)
{
	struct members m = { .c = c, .g = g, .n = n, .these = these };

	if (these == 1)
		cgroup_member_credit(c, g, 0, n);
	else
		bpf_loop(ABI_CGROUP_MEMBERS, each_credit, &m, 0);
}

static __always_inline void cgroup_set_begin(struct abi_cgroup_cpu *c, const struct abi_cgroup *g,
					     u64 these)
{
	struct members m = { .c = c, .g = g, .these = these };

	if (these == 1)
		cgroup_member_begin(c, g, 0);
	else
		bpf_loop(ABI_CGROUP_MEMBERS, each_begin, &m, 0);
}

/*
 * The members of a set that count now.  While a CPU goes down, from the moment at which perf drops
 * its events, only threads of the kernel run there: perf does not count them either.
 */
static __always_inline u64 members_now(const struct abi_cpu *k, const struct abi_cgroup *g)
{
	if (!g)
		return 0;
	return k->leaving || k->away == ABI_CPU_AWAY ? g->active & g->hits : g->active;
}

/*
 * Ends the open slice and begins the slice of `set`.  All sources are read before any count
 * changes.
 */
static __always_inline void cgroup_change(struct abi_cgroup_cpu *c, struct abi_cpu *k, u32 cpu,
					  u32 set)
{
	struct abi_open *o = open_cgroup_of(cpu);
	u64 ends = c->members, begins;
	struct abi_cgroup *from = NULL, *to = NULL;
	struct abi_cgroup_counts *n;

	if (ends)
		from = bpf_map_lookup_elem(&cgroups, &o->set);
	if (set)
		to = bpf_map_lookup_elem(&cgroups, &set);
	begins = members_now(k, to);
	c->fresh_hits = c->fresh_others = 0;
	if (from)
		cgroup_set_refresh(c, k, cpu, from, ends);
	if (begins)
		cgroup_set_refresh(c, k, cpu, to, begins);
	n = from ? bpf_map_lookup_elem(&cgroup_counts, &cpu) : NULL;
	if (n)
		cgroup_set_credit(c, from, n, ends);
	c->members = begins;
	/* A reader that finds another set open finds the counts as well. */
	if (from)
		__sync_lock_test_and_set(&o->set, set);
	else
		o->set = set;
	if (begins)
		cgroup_set_begin(c, to, begins);
	counters_try_new(k, cpu);
}

/* --- hidden switches: see seen.bpf.h ---------------------------------------------------------- */

/* True if the source is known to have counted nothing since the latest change. */
static __always_inline bool source_stands(struct abi_cgroup_cpu *c, struct abi_cpu *k, u32 cpu,
					  u32 source)
{
	u32 slot = source & (ABI_TRACEPOINTS - 1);

	if (source >= ABI_SOURCE_TRACEPOINT)
		return slot + 1 != tracepoint_switch && c->fresh_hits >> slot & 1 &&
		       hits_of(k, slot) == c->now[source & (ABI_ALL_SOURCES - 1)];
	source &= ABI_MAX_SOURCES - 1;
	if (source == ABI_SOURCE_HOOK + ABI_HOOK_VOLUNTARY ||
	    source == ABI_SOURCE_HOOK + ABI_HOOK_INVOLUNTARY)
		return false;
	return !(switch_sources >> source & 1) && c->fresh_others >> source & 1 &&
	       event_read_by(c, k, cpu, source, true) == c->now[source];
}

static long each_lose(u32 i, struct members *m)
{
	u32 place;

	i &= ABI_CGROUP_MEMBERS - 1;
	place = m->g->member[i].place & (ABI_CGROUP_PMCS - 1);
	if (HAS(m, i) && !source_stands(m->c, m->k, m->cpu, m->g->member[i].source))
		__sync_fetch_and_or(&cgroup_lost[place / 64], 1ull << place % 64);
	return LAST(m, i);
}

static __always_inline void cgroup_set_lose(struct abi_cgroup_cpu *c, struct abi_cpu *k, u32 cpu,
					    u32 set, u64 these)
{
	struct abi_cgroup *g = bpf_map_lookup_elem(&cgroups, &set);
	struct members m = { .c = c, .k = k, .g = g, .cpu = cpu };

	if (!g)
		return;
	m.these = these & g->due;
	bpf_loop(ABI_CGROUP_MEMBERS, each_lose, &m, 0);
}

/* `hidden` switches were hidden; a task of `set` runs on the CPU, or ran until now. */
__noinline int cgroup_missed(struct abi_cgroup_cpu *c, u32 cpu, u32 set, u32 hidden)
{
	struct abi_cpu *k = bpf_map_lookup_elem(&cpus, &cpu);
	u32 open = open_cgroup_of(cpu)->set;

	if (!c || !k || !cgroups_watched)
		return 0;
	/* If slices of processes exist, their program counts these switches. */
	if (!switches_watched && k->away != ABI_CPU_AWAY &&
	    !__sync_fetch_and_add(&switches_hidden, hidden))
		note(ABI_NOTE_HIDDEN, 0, 0, 0);
	c->switching = c->due = c->hit_due = 0;
	if (open)
		cgroup_set_lose(c, k, cpu, open, c->members);
	if (set && set != open)
		cgroup_set_lose(c, k, cpu, set, ~0ull);
	return 0;
}

/* --- programs --------------------------------------------------------------------------------- */

SEC("tp_btf/sched_switch")
int BPF_PROG(on_cgroup_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	u32 cpu = prev->thread_info.cpu, set, hidden;
	struct abi_cgroup_cpu *c = bpf_map_lookup_elem(&cgroup_cpus, &cpu);
	struct abi_open *o = open_cgroup_of(cpu);
	struct abi_cpu *k;

	if (!c)
		return 0;
	hidden = seen_switch(o, prev, next);
	if (hidden)
		cgroup_missed(c, cpu, cgroup_set(c, prev, task_cgroup(prev)), hidden);
	/* Plain loads, which run faster than those of task_cgroup(). */
	set = cgroup_set(c, next, next->cgroups->subsys[CONTROLLER]->serial_nr);
	if (o->set == set)
		return 0;
	k = bpf_map_lookup_elem(&cpus, &cpu);
	if (!k)
		return 0;
	c->switching = 1;
	c->due = hook_due(k, next->pid, 1 + switch_kind(preempt, prev_state));
	c->hit_due = hit_due(k, next->pid);
	cgroup_change(c, k, cpu, set);
	return 0;
}

/* Not inlined, so that the verifier checks it once for all tries. */
__noinline int cgroup_look(u32 cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct abi_cgroup_cpu *c = bpf_map_lookup_elem(&cgroup_cpus, &cpu);
	struct abi_cpu *k = bpf_map_lookup_elem(&cpus, &cpu);
	u32 set, hidden;

	if (!c || !k)
		return 0;
	set = cgroup_set(c, task, task_cgroup(task));
	hidden = seen_now(open_cgroup_of(cpu), task);
	if (hidden)
		cgroup_missed(c, cpu, set, hidden);
	c->switching = c->due = c->hit_due = 0;
	cgroup_change(c, k, cpu, set);
	return 0;
}

/* Brings the counts of this CPU's cgroup up to date, and finds the task's cgroup anew. */
__noinline int cgroup_flush(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cgroup_cpu *c = bpf_map_lookup_elem(&cgroup_cpus, &cpu);

	if (!cgroups_here || !cgroups_watched || !c)
		return 0;
	for (u32 tries = 0; tries < 3; tries++) {
		if (__sync_lock_test_and_set(&c->busy, 1)) {
			c->again = 1;
			return 0;
		}
		c->again = 0;
		cgroup_look(cpu);
		__sync_lock_test_and_set(&c->busy, 0);
		if (!c->again)
			break;
	}
	return 0;
}

/* The kernel runs this function on the CPU where a task runs that has been moved. */
SEC("fentry/__perf_cgroup_move")
int BPF_PROG(on_cgroup_move, void *task)
{
	return cgroup_flush();
}

/* --- migrations ------------------------------------------------------------------------------- */

static long each_migrated(u32 i, struct members *m)
{
	u32 place;

	i &= ABI_CGROUP_MEMBERS - 1;
	place = m->g->member[i].place & (ABI_CGROUP_PMCS - 1);
	if (HAS(m, i) && m->g->member[i].source == ABI_SOURCE_HOOK + ABI_HOOK_MIGRATION)
		__sync_fetch_and_add(&m->n->count[place], 1);
	return LAST(m, i);
}

/* As migrate.bpf.c.  It may interrupt a flush that is writing to the sets that a CPU remembers. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_cgroup_migrate, struct task_struct *task, int to)
{
	u32 cpu = bpf_get_smp_processor_id(), set;
	struct members m = {};

	if (task->thread_info.cpu == (u32)to)
		return 0;
	set = cgroup_find(task_css(task));
	m.g = set ? bpf_map_lookup_elem(&cgroups, &set) : NULL;
	m.n = bpf_map_lookup_elem(&cgroup_counts, &cpu);
	if (!m.g || !m.n)
		return 0;
	m.these = m.g->active;
	bpf_loop(ABI_CGROUP_MEMBERS, each_migrated, &m, 0);
	return 0;
}

/* --- the daemon's question -------------------------------------------------------------------- */

static long path_up(u32 i, u64 *at)
{
	struct cgroup_subsys_state *css = (void *)*at;
	u32 n = cgroup_path.n;

	if (!css)
		return 1;
	if (n < ABI_CGROUP_DEPTH)
		cgroup_path.id[n] = BPF_CORE_READ(css, cgroup, kn, id);
	cgroup_path.n = n + 1;
	*at = (u64)BPF_CORE_READ(css, parent);
	return 0;
}

/* Run by the daemon, with the descriptor of a cgroup's folder: fills in cgroup_path. */
SEC("raw_tp")
int cgroup_learn(unsigned long long *ctx)
{
	struct file *f = file_of((u32)ctx[0]);
	struct kernfs_node *kn = f ? BPF_CORE_READ(f, f_inode, i_private) : NULL;
	struct cgroup *cgroup = kn ? BPF_CORE_READ(kn, priv) : NULL;
	u64 at;

	if (!f)
		return -EINVAL;
	if (!cgroup)
		return -ENOENT;
	at = (u64)cgroup + bpf_core_field_offset(cgroup->self);
	cgroup_path.n = 0;
	bpf_loop(DEPTH_MAX, path_up, &at, 0);
	return 0;
}
