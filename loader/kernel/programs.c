/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses the programs for this kernel, and attaches them while they are needed. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/helper.h"
#include "loader/base/base.h"
#include "engine.h"
#include "level.h"
#include "offcpu.h"
#include "tracefs.h"
#include "pmcbpf.skel.h"

#define LINKS  6		/* programs of one need, at most */
#define LINGER 100		/* ms for which unneeded programs stay attached */
#define PATIENCE 1000		/* ms within which a helper must begin to close a link */

struct programs {
	const struct engine *e;
	struct pmcbpf *skel;
	unsigned int needs[NEEDS];
	struct bpf_link *links[NEEDS][LINKS];
	unsigned int lingering;		/* bit per need: attached but not needed … */
	int64_t lingers_since;		/* … since the latest of them was last needed, in ms */
	struct helpers *helpers;	/* NULL while the daemon starts */
	uint64_t cookie;		/* of the latest attachment with one */
};

bool programs_btf_has(const struct btf *btf, const char *name, uint32_t kind)
{
	return btf && btf__find_by_name_kind(btf, name, kind) > 0;
}

static bool struct_has(const struct btf *btf, const char *name, const char *field)
{
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (unsigned int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), field))
			return true;
	return false;
}

/* arm64 before Linux 6.4 loads such a program but cannot attach it. */
static bool program_attaches(int program)
{
#ifdef __aarch64__
	int link = bpf_raw_tracepoint_open(NULL, program);

	if (link >= 0)
		close(link);
	return link >= 0;
#else
	return true;
#endif
}

/* Some kernels and sandboxes refuse that altogether. */
static bool kernel_may_fentry(const struct btf *btf, const char *function)
{
	const struct bpf_insn ret[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	int id = btf ? btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) : -1, fd;
	bool may;

	if (id <= 0)
		return false;
	opts.attach_btf_id = (uint32_t)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "GPL", ret, 2, &opts);
	may = fd >= 0 && program_attaches(fd);
	if (fd >= 0)
		close(fd);
	return may;
}

/* See PREEMPTED_SINCE in bpf/count/maps.bpf.h. */
static bool kernel_may_preempt(const struct btf *btf)
{
	return version_reaches(6, 19) &&
	       programs_btf_has(btf, "bpf_preempt_disable", BTF_KIND_FUNC);
}

/* True if a program of all system calls may be preempted, see bpf/count/tracepoint.bpf.c. */
static bool kernel_may_preempt_calls(const struct btf *btf)
{
	return kernel_may_preempt(btf) ||
	       programs_btf_has(btf, "trace_call_bpf_faultable", BTF_KIND_FUNC);
}

/* A kernel without a module that labels processes has no label to read. */
static bool kernel_has_labels(void)
{
	char label[64];
	int err = file_read(AT_FDCWD, "/proc/self/attr/current", label, sizeof(label));

	return err != -EINVAL && err != -ENOENT;
}

/* Leaves out programs for tracepoints that this kernel lacks. */
int programs_choose(struct engine *e, bool reads_msr, struct reason *why)
{
	struct pmcbpf *skel = e->skel;
	int nested = level_nested(why);
	struct btf *btf = btf__load_vmlinux_btf();
	bool fault = programs_btf_has(btf, "btf_trace_page_fault_user", BTF_KIND_TYPEDEF);
	bool kprobe = access("/sys/bus/event_source/devices/kprobe/type", F_OK) == 0;
	bool preemptible = kernel_may_preempt(btf);
	bool dead = struct_has(btf, "task_struct", "on_cpu") &&
		    kernel_may_fentry(btf, "put_task_struct_rcu_user");
	bool areas = kernel_may_fentry(btf, "perf_event_mmap");
	bool cgroups = kernel_may_fentry(btf, "__perf_cgroup_move");
	bool unmaps = kernel_may_fentry(btf, "__vm_munmap") &&
		      kernel_may_fentry(btf, "vm_mmap_pgoff");

	bpf_program__set_autoload(skel->progs.on_fork_again, preemptible);
	bpf_program__set_autoload(skel->progs.on_exit_again, preemptible);
	bpf_program__set_autoload(skel->progs.on_exec_again, preemptible);
	bpf_program__set_autoload(skel->progs.on_rename_again, preemptible);
	bpf_program__set_autoload(skel->progs.on_dead, dead);
	skel->rodata->offcpu_finals = !dead;
	bpf_program__set_autoload(skel->progs.on_fault, fault);
	bpf_program__set_autoload(skel->progs.on_fault_probe, !fault && kprobe && !reads_msr);
	bpf_program__set_autoload(skel->progs.on_fault_probe_alone, !fault && kprobe && reads_msr);
	skel->rodata->faults_look = fault || !reads_msr;
	bpf_program__set_autoload(skel->progs.on_contention,
				  programs_btf_has(btf, "btf_trace_contention_begin",
						   BTF_KIND_TYPEDEF));
	bpf_program__set_autoload(skel->progs.on_call_enter, !kernel_may_preempt_calls(btf) &&
				  programs_btf_has(btf, "btf_trace_sys_enter", BTF_KIND_TYPEDEF));
	bpf_program__set_autoload(skel->progs.on_call_exit, !kernel_may_preempt_calls(btf) &&
				  programs_btf_has(btf, "btf_trace_sys_exit", BTF_KIND_TYPEDEF));
	e->scheduler_ends = programs_btf_has(btf, "btf_trace_sched_exit_tp", BTF_KIND_TYPEDEF);
	bpf_program__set_autoload(skel->progs.on_offcpu,
				  struct_has(btf, "task_struct", "sched_info") &&
				  (e->scheduler_ends ||
				   kernel_may_fentry(btf, "__perf_event_task_sched_in")));
	bpf_program__set_autoload(skel->progs.on_area, areas);
	bpf_program__set_autoload(skel->progs.on_mapped, !areas);
	bpf_program__set_autoload(skel->progs.on_protected, !areas);
	bpf_program__set_autoload(skel->progs.on_key_protected, !areas);
	bpf_program__set_autoload(skel->progs.on_unmap, unmaps);
	bpf_program__set_autoload(skel->progs.on_map_over, unmaps);
	bpf_program__set_autoload(skel->progs.on_munmap_call, !unmaps);
	bpf_program__set_autoload(skel->progs.on_mmap_call, !unmaps);
	bpf_program__set_autoload(skel->progs.on_cgroup_switch, cgroups);
	bpf_program__set_autoload(skel->progs.on_cgroup_migrate, cgroups);
	bpf_program__set_autoload(skel->progs.on_cgroup_move, cgroups);
	bpf_program__set_autoload(skel->progs.cgroup_learn,
				  programs_btf_has(btf, "cgroup", BTF_KIND_STRUCT));
	skel->rodata->cgroups_here = cgroups;
	bpf_program__set_autoload(skel->progs.on_probe, probes_here());
	bpf_program__set_autoload(skel->progs.on_probe_enter, probes_here());
	skel->rodata->labels = kernel_has_labels();
	btf__free(btf);
	skel->rodata->nested = nested > 0;
	return nested < 0 ? nested : 0;
}

int programs_level(struct pmcbpf *skel, struct reason *why)
{
	return level_learn(bpf_program__fd(skel->progs.level_learn), why);
}

int programs_peer(const struct programs *p, int fd, struct abi_cred *cred)
{
	uint64_t args[1] = { (uint64_t)fd };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(p->skel->progs.peer_read), &opts);

	*cred = p->skel->bss->peer;
	return err ?: (int)opts.retval;
}

struct programs *programs_new(const struct engine *e)
{
	struct programs *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->e = e;
	p->skel = e->skel;
	return p;
}

void programs_free(struct programs *p)
{
	for (unsigned int what = 0; p && what < NEEDS; what++)
		for (unsigned int i = 0; i < LINKS; i++)
			bpf_link__destroy(p->links[what][i]);
	free(p);
}

void programs_helpers_from(struct programs *p, struct helpers *helpers)
{
	p->helpers = helpers;
}

static struct bpf_program *program_if_loaded(struct bpf_program *prog)
{
	return bpf_program__autoload(prog) ? prog : NULL;
}

/* Some architectures lack the system call. */
static struct bpf_program *program_if_traced(struct bpf_program *prog, const char *tracepoint)
{
	struct reason why;
	uint64_t id;

	return tracefs_id(tracepoint, &id, &why) ? NULL : prog;
}

/* The programs of a need, in the order to attach them. */
static void need_programs(const struct programs *p, enum engine_need what,
			  struct bpf_program *prog[LINKS])
{
	memset(prog, 0, LINKS * sizeof(prog[0]));
	switch (what) {
	case NEED_SWITCH:
		prog[0] = p->skel->progs.on_switch;
		break;
	case NEED_FINAL:
		prog[0] = program_if_loaded(p->skel->progs.on_dead) ?: p->skel->progs.on_final;
		break;
	case NEED_LIFE:
		prog[0] = p->skel->progs.on_fork;
		prog[1] = p->skel->progs.on_exit;
		prog[2] = program_if_loaded(p->skel->progs.on_fork_again);
		prog[3] = program_if_loaded(p->skel->progs.on_exit_again);
		break;
	case NEED_EXEC:
		prog[0] = p->skel->progs.on_exec;
		prog[1] = p->skel->progs.on_rename;
		prog[2] = program_if_loaded(p->skel->progs.on_exec_again);
		prog[3] = program_if_loaded(p->skel->progs.on_rename_again);
		break;
	case NEED_FAULT:
		prog[0] = program_if_loaded(p->skel->progs.on_fault);
		prog[0] = prog[0] ?: program_if_loaded(p->skel->progs.on_fault_probe);
		prog[0] = prog[0] ?: p->skel->progs.on_fault_probe_alone;
		break;
	case NEED_LOCK:
		prog[0] = p->skel->progs.on_contention;
		break;
	case NEED_KIND:
		prog[0] = p->skel->progs.on_switch_kind;
		break;
	case NEED_CALL_ENTER:
		prog[0] = program_if_loaded(p->skel->progs.on_call_enter);
		break;
	case NEED_CALL_EXIT:
		prog[0] = program_if_loaded(p->skel->progs.on_call_exit);
		break;
	case NEED_SWITCH_HIT:
		prog[0] = p->skel->progs.on_switch_hit;
		break;
	case NEED_MIGRATE:
		prog[0] = p->skel->progs.on_migrate;
		break;
	case NEED_CGROUP_MIGRATE:
		prog[0] = program_if_loaded(p->skel->progs.on_cgroup_migrate);
		break;
	case NEED_OFFCPU:
		prog[0] = program_if_loaded(p->skel->progs.on_offcpu);
		break;
	case NEED_CGROUP:
		prog[0] = program_if_loaded(p->skel->progs.on_cgroup_switch);
		prog[1] = program_if_loaded(p->skel->progs.on_cgroup_move);
		break;
	case NEED_UNMAP:
		prog[0] = program_if_loaded(p->skel->progs.on_unmap) ?:
			  p->skel->progs.on_munmap_call;
		prog[1] = program_if_loaded(p->skel->progs.on_map_over) ?:
			  p->skel->progs.on_mmap_call;
		break;
	case NEED_MAPPINGS:
		prog[0] = p->skel->progs.on_image;
		prog[1] = p->skel->progs.on_child;
		prog[2] = p->skel->progs.on_end;
		prog[3] = program_if_loaded(p->skel->progs.on_area);
		if (prog[3])
			break;
		prog[3] = p->skel->progs.on_mapped;
		prog[4] = p->skel->progs.on_protected;
		prog[5] = program_if_traced(p->skel->progs.on_key_protected,
					    "syscalls:sys_exit_pkey_mprotect");
		break;
	case NEEDS:
		break;
	}
}

/* A program on perf's tracepoint of a system call: see link_call(). */
static bool need_is_call(enum engine_need what, const struct bpf_program *prog)
{
	return (what == NEED_UNMAP || what == NEED_MAPPINGS) &&
	       strstr(bpf_program__section_name(prog), "syscalls/");
}

/* Makes attachments before this one inert. */
static void need_set_cookie(struct programs *p, enum engine_need what, uint64_t cookie)
{
	if (what == NEED_UNMAP)
		p->skel->bss->unmap_cookie = cookie;
	else if (what == NEED_MAPPINGS)
		p->skel->bss->mappings_cookie = cookie;
}

bool programs_attached(const struct programs *p, enum engine_need what)
{
	return p->needs[what] || p->lingering >> what & 1;
}

bool programs_needed(const struct programs *p, enum engine_need what)
{
	return p->needs[what];
}

bool programs_have(const struct programs *p, enum engine_need what)
{
	struct bpf_program *prog[LINKS];

	need_programs(p, what, prog);
	return prog[0] != NULL;
}

bool programs_have_hook(const struct programs *p, uint32_t hook)
{
	switch (hook) {
	case ABI_HOOK_LOCK:
		return bpf_program__autoload(p->skel->progs.on_contention);
	case ABI_HOOK_FAULT_READ:
	case ABI_HOOK_FAULT_WRITE:
		return bpf_program__autoload(p->skel->progs.on_fault) ||
		       bpf_program__autoload(p->skel->progs.on_fault_probe) ||
		       bpf_program__autoload(p->skel->progs.on_fault_probe_alone);
	default:
		return true;
	}
}

/* hwpmc's debug group csw is about context switches only. */
static bool need_is_reported(enum engine_need what)
{
	return what == NEED_SWITCH || what == NEED_KIND;
}

/*
 * Attaches a program to perf's tracepoint of a system call.  That takes a program only once, and a
 * helper may still have to close its last attachment, so a cookie identifies the current one.
 */
static struct bpf_link *link_call(struct programs *p, struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = p->cookie);
	const char *name = strrchr(bpf_program__section_name(prog), '/') + 1;
	const uint64_t until = clock_ns() + PATIENCE * 1000000ull;
	struct bpf_link *link;

	for (;;) {
		link = bpf_program__attach_tracepoint_opts(prog, "syscalls", name, &opts);
		if (link || errno != EEXIST || !p->helpers || clock_ns() >= until)
			return link;
		helpers_reap(p->helpers);
		helpers_settle(p->helpers);
		usleep(100);
	}
}

static struct bpf_link *link_new(struct programs *p, enum engine_need what,
				 struct bpf_program *prog)
{
	return need_is_call(what, prog) ? link_call(p, prog) : bpf_program__attach(prog);
}

/*
 * When such a tracepoint is closed, the kernel waits for an RCU grace period, up to 75 ms on a busy
 * machine, so a helper closes it.  Until then the kernel still runs the program, which does nothing
 * because its cookie is not the current one.
 */
static void link_end(struct programs *p, enum engine_need what, struct bpf_program *prog,
		     struct bpf_link *link)
{
	int fd = -1;

	if (link && need_is_call(what, prog) && p->helpers)
		fd = fcntl(bpf_link__fd(link), F_DUPFD_CLOEXEC, 0);
	bpf_link__destroy(link);
	if (fd >= 0)
		helper_dispose(p->helpers, &fd, 1);
}

static void need_detach(struct programs *p, enum engine_need what)
{
	struct bpf_program *prog[LINKS];

	if (need_is_reported(what))
		DEBUG(p->e->debug, CSW, HOOK, "detach what %s needed",
		      what == NEED_SWITCH ? "slices" : "kinds of switches");
	need_set_cookie(p, what, 0);
	need_programs(p, what, prog);
	for (unsigned int i = 0; i < LINKS; i++) {
		link_end(p, what, prog[i], p->links[what][i]);
		p->links[what][i] = NULL;
	}
	if (what == NEED_OFFCPU && prog[0])
		offcpu_forget(p->skel);
}

static int need_attach(struct programs *p, enum engine_need what, struct reason *why)
{
	struct bpf_program *prog[LINKS];
	int err;

	need_programs(p, what, prog);
	need_set_cookie(p, what, ++p->cookie);
	for (unsigned int i = 0; i < LINKS && prog[i]; i++) {
		if (need_is_reported(what))
			DEBUG(p->e->debug, CSW, HOOK, "attach %s",
			      bpf_program__name(prog[i]));
		p->links[what][i] = link_new(p, what, prog[i]);
		if (!p->links[what][i]) {
			err = -errno;
			need_detach(p, what);
			return deny(why, err, "cannot attach %s: %s", bpf_program__name(prog[i]),
				    strerror(-err));
		}
	}
	return 0;
}

int programs_need(struct programs *p, enum engine_need what, struct reason *why)
{
	int err = 0;

	if (!programs_attached(p, what))
		err = need_attach(p, what, why);
	if (err)
		return err;
	p->needs[what]++;
	p->lingering &= ~(1u << what);
	return 0;
}

/*
 * Attaching a program soon after a detachment makes the kernel wait some 10 ms.  Programs linger,
 * so that clients that allocate and release one PMC after another do not wait.
 */
void programs_unneed(struct programs *p, enum engine_need what)
{
	if (--p->needs[what])
		return;
	p->lingering |= 1u << what;
	p->lingers_since = (int64_t)clock_ns() / 1000000;
}

int programs_settle(struct programs *p)
{
	int64_t left;

	if (!p->lingering)
		return -1;
	left = p->lingers_since + LINGER - (int64_t)clock_ns() / 1000000;
	if (left > 0)
		return (int)left;
	for (unsigned int what = 0; what < NEEDS; what++)
		if (p->lingering >> what & 1)
			need_detach(p, what);
	p->lingering = 0;
	return -1;
}

const struct abi_level *programs_nested(const struct programs *p)
{
	return p->skel->rodata->nested ? &p->skel->bss->level : NULL;
}

int programs_numbers(struct programs *p, bool on, struct reason *why)
{
	int err = on ? programs_need(p, NEED_LIFE, why) : 0;

	if (err)
		return err;
	p->skel->bss->watch_numbers += on ? 1 : ~0u;
	if (!on)
		programs_unneed(p, NEED_LIFE);
	return 0;
}

int programs_number(const struct programs *p, uint32_t tid, struct abi_number *number)
{
	return bpf_map__lookup_elem(p->skel->maps.numbers, &tid, sizeof(tid), number,
				    sizeof(*number), 0);
}

bool programs_offcpu_finals(const struct programs *p)
{
	return p->skel->rodata->offcpu_finals;
}

void programs_offcpu_maps(const struct programs *p, int *pmcs, int *waits)
{
	*pmcs = bpf_map__fd(p->skel->maps.offcpus);
	*waits = bpf_map__fd(p->skel->maps.offcpu_waits);
}

int programs_rings(const struct programs *p)
{
	return bpf_map__fd(p->skel->maps.rings);
}

uint64_t programs_lost_records(const struct programs *p)
{
	return __atomic_load_n(&p->skel->bss->lost_records, __ATOMIC_RELAXED);
}

void programs_unmap_all(struct programs *p, bool all)
{
	p->skel->bss->unmap_all = all;
}
