/* SPDX-License-Identifier: BSD-2-Clause */
/* GATES: for `pmccontrol --doctor`, each condition that a count depends on, and its state. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "loader/base/base.h"
#include "doctor.h"
#include "loader/kernel/kernel.h"
#include "loader/log/log.h"
#include "request.h"

#define MAX_USERS 8u

struct gates {
	struct request *rq;
	struct wire_gates_rep *rep;
	struct cred me;
	struct text finding;		/* of the gate that is being written, in `buf` */
	char buf[WIRE_GATE_TEXT];
};

static struct text *gate_begin(struct gates *g)
{
	g->finding = text_begin(g->buf, sizeof(g->buf));
	return &g->finding;
}

/* A full list drops the rest: the most important gates come first. */
static void gate_add(struct gates *g, enum wire_gate_state state, const char *name,
		     const char *finding, const char *remedy)
{
	struct wire_gate *out = NULL;

	if (g->rep->count < WIRE_GATES_MAX)
		out = reply_room(g->rq->r, sizeof(*out));
	if (!out)
		return;
	out->state = state;
	snprintf(out->name, sizeof(out->name), "%s", name);
	snprintf(out->finding, sizeof(out->finding), "%s", finding);
	snprintf(out->remedy, sizeof(out->remedy), "%s", remedy);
	g->rep->count++;
}

/* --- features of the kernel --------------------------------------------------------------- */

static void gate_add_feature(void *arg, const char *what, const char *finding,
			     const char *remedy)
{
	if (finding)
		gate_add(arg, WIRE_GATE_CLOSED, what, finding, remedy);
	else
		gate_add(arg, WIRE_GATE_OPEN, what, "works", "");
}

static void gate_no_hardware(struct gates *g)
{
	static const char *const what = "hardware counters";
	char pmu[32], machine[64];
	struct text *l = gate_begin(g);

	if (perf_has_pmu(pmu, sizeof(pmu))) {
		text_add(l, "PMU %s is there, but every counter of some CPU was held by others",
			 pmu);
		gate_add(g, WIRE_GATE_LIMITS, what, l->at,
			 "end them (perf, the NMI watchdog: kernel.nmi_watchdog=0), then send "
			 "SIGHUP to pmcbpfd");
	} else if (doctor_virtual("", machine, sizeof(machine))) {
		text_add(l, "none: this virtual machine%s%s%s has no PMU; SOFT and TSC events work",
			 *machine ? " (" : "", machine, *machine ? ")" : "");
		gate_add(g, WIRE_GATE_LIMITS, what, l->at,
			 "QEMU: -cpu host,pmu=on; libvirt: <pmu state=\"on\"/>; VMware: "
			 "vpmc.enable; Hyper-V: Set-VMProcessor -Perfmon; clouds: a metal or "
			 "whole-socket instance");
	} else {
		gate_add(g, WIRE_GATE_LIMITS, what,
			 "none: the kernel has no driver for this CPU's; SOFT and TSC events work",
			 "boot a kernel with the PMU driver; firmware must not have disabled the "
			 "PMU");
	}
}

/* --- hardware rows ----------------------------------------------------------------------- */

/* The rows of a class and the counters behind them, on every CPU, now. */
struct census {
	unsigned int free, thread, standalone;
	int *spare;		/* by CPU: free counters minus free rows */
	unsigned int had_min, had_max;	/* of free counters, over the CPUs */
	int least;		/* of spare */
};

#define NOT_HERE 1000000	/* in `spare`: the CPU is offline or has no such PMU */

static void census_rows(const struct row_table *t, const struct row_class *class, struct census *c)
{
	for (unsigned int i = 0; i < class->info.num; i++)
		switch (row_disposition(&t->rows[class->info.first_row + i])) {
		case PMC_DISP_FREE:
			c->free++;
			break;
		case PMC_DISP_THREAD:
			c->thread++;
			break;
		default:
			c->standalone++;
		}
}

static void census_cpu(struct gates *g, const struct row_class *class, struct census *c,
		    unsigned int cpu)
{
	struct perf_pmu pmu = { .type = class->info.perf_type, .class = class->info.class };
	int had, own = 0, kept = 0;

	memcpy(pmu.name, class->info.pmu, sizeof(pmu.name));
	had = perf_free_here(&pmu, cpu);
	if (had < 0)
		return;
	for (unsigned int i = 0; i < class->info.num; i++) {
		unsigned int n = class->info.first_row + i;
		const struct row *r = &g->rq->d->rows.rows[n];

		/* A free counter may be reserved: by targets that do not run now. */
		if (count_holds(g->rq->d->engine, n, cpu))
			own++;
		else if (r->balance > 0 || r->cpu[cpu].disabled)
			kept++;
	}
	c->spare[cpu] = had + own - (int)class->info.num;
	had = had > kept ? had - kept : 0;
	if ((unsigned int)had < c->had_min)
		c->had_min = (unsigned int)had;
	if ((unsigned int)had > c->had_max)
		c->had_max = (unsigned int)had;
	if (c->spare[cpu] < c->least)
		c->least = c->spare[cpu];
}

static int census_cpus(struct gates *g, const struct row_class *class, struct census *c)
{
	unsigned int ncpu = g->rq->d->rows.ncpu;
	struct hop hop;
	int err;

	c->had_min = ~0u;
	c->least = NOT_HERE;
	for (unsigned int cpu = 0; cpu < ncpu; cpu++)
		c->spare[cpu] = NOT_HERE;
	err = hop_begin(&hop);
	if (err)
		return err;
	for (unsigned int cpu = 0; cpu < ncpu; cpu++)
		if (perf_cpu_online(cpu) && !hop_to(cpu))
			census_cpu(g, class, c, cpu);
	hop_end(&hop);
	return c->had_min == ~0u ? -ENXIO : 0;
}

static bool pid_is_client(const struct owner_table *t, pid_t pid)
{
	for (unsigned int i = 0; i < t->buckets; i++)
		for (const struct owner *o = t->bucket[i]; o; o = o->next)
			if (o->cred.pid == pid)
				return true;
	return false;
}

/* "; perf events are open in: pid 812 (perf), 2 processes that you may not see" */
static void users_add(struct gates *g, struct text *l)
{
	struct perf_user users[MAX_USERS];
	const char *sep = "; perf events are open in: ";
	unsigned int n, hidden = 0;
	bool all;

	n = doctor_perf_users("/proc", getpid(), users, MAX_USERS, &all);
	for (unsigned int i = 0; i < n; i++) {
		struct cred cred;
		pid_t seen;

		if (pid_is_client(&g->rq->d->owners, users[i].pid) ||
		    g->rq->d->read_cred(users[i].pid, &cred))
			continue;
		seen = request_pid_seen(g->rq, &cred);
		if (seen < 0 || !policy_may_know(&g->me, cred.uid[ID_EFFECTIVE])) {
			hidden++;
			continue;
		}
		text_add(l, "%spid %d (%s)", sep, seen, users[i].name);
		sep = ", ";
	}
	if (hidden)
		text_add(l, "%s%u process%s that you may not see", sep, hidden,
			 hidden > 1 ? "es" : "");
	if (!all)
		text_add(l, " and more");
}

/* "; others hold 2 on CPU 0-1, 1 on CPU 3" */
static void census_add_missing(const struct gates *g, const struct census *c, struct text *l)
{
	const char *sep = "; others hold ";

	for (int lack = -c->least; lack > 0; lack--) {
		char cpus[64];

		doctor_cpu_list(c->spare, g->rq->d->rows.ncpu, -lack, cpus, sizeof(cpus));
		if (!*cpus)
			continue;
		text_add(l, "%s%d on CPU %s", sep, lack, cpus);
		sep = ", ";
	}
}

static void gate_class(struct gates *g, const struct row_class *class)
{
	const struct row_table *t = &g->rq->d->rows;
	struct census c = { .spare = calloc(t->ncpu, sizeof(int)) };
	const char *remedy = "";
	char name[WIRE_GATE_NAME];
	struct text *l = gate_begin(g);
	int err;

	snprintf(name, sizeof(name), "%s rows", class->prefix);
	census_rows(t, class, &c);
	text_add(l, "%u of every CPU with PMU %.31s: %u FREE, %u THREAD, %u STANDALONE",
		 class->info.num, class->info.pmu, c.free, c.thread, c.standalone);
	err = c.spare ? census_cpus(g, class, &c) : -ENOMEM;
	if (err) {
		text_add(l, "; not tried: %s", strerror(-err));
		gate_add(g, WIRE_GATE_LIMITS, name, l->at, "");
		goto out;
	}
	if (c.had_min == c.had_max)
		text_add(l, "; %u counters can be had now", c.had_min);
	else
		text_add(l, "; %u to %u counters can be had now, by CPU", c.had_min, c.had_max);
	if (c.least < 0) {
		census_add_missing(g, &c, l);
		users_add(g, l);
		remedy = "end those programs; PMCs that need these counters are refused until then";
	} else if (c.least > 0) {
		text_add(l, "; others have given %d back since the rows were counted", c.least);
		remedy = "send SIGHUP to pmcbpfd (systemctl reload pmcbpfd): it counts them again";
	} else if (perf_watchdog()) {
		text_add(l, "; the NMI watchdog may have one more");
		remedy = "to see, and get that one: sysctl kernel.nmi_watchdog=0, then SIGHUP to "
			 "pmcbpfd";
	}
	gate_add(g, *remedy ? WIRE_GATE_LIMITS : WIRE_GATE_OPEN, name, l->at, remedy);
out:
	free(c.spare);
}

static void gates_hardware(struct gates *g)
{
	const struct row_table *t = &g->rq->d->rows;
	bool any = false;

	for (unsigned int i = 0; i < t->nclass; i++) {
		if (!t->classes[i].ops->counters)
			continue;
		gate_class(g, &t->classes[i]);
		any = true;
	}
	if (!any)
		gate_no_hardware(g);
}

/* --- registers --------------------------------------------------------------------------- */

/* True if the module taints the kernel: it was built out of tree, or loaded by force. */
static bool module_taints(char *flags, size_t size)
{
	return !file_line("/sys/module/pmcbpf_msr/taint", flags, size) && *flags;
}

static void gate_breakpoints(struct gates *g)
{
	const struct breakpoints *b = &g->rq->d->engine->breakpoints;
	const char *reason = breakpoints_reason(b);
	struct text *l = gate_begin(g);

	if (!reason) {
		text_add(l, "%u registers", b->data + b->code);
		gate_add(g, WIRE_GATE_OPEN, "breakpoints", l->at, "");
		return;
	}
	text_add(l, "none: %s", reason);
	gate_add(g, WIRE_GATE_LIMITS, "breakpoints", l->at, b->silent ?
		 "the hypervisor must let guests use debug registers" :
		 "end debuggers and perf, then send SIGHUP to pmcbpfd; a kernel without "
		 "CONFIG_HAVE_HW_BREAKPOINT has none");
}

static void gates_registers(struct gates *g)
{
	const struct msrs *m = &g->rq->d->msr;
	unsigned long long disagreed = flush_counters_disagreed(g->rq->d->engine->flush);
	unsigned int module = 0, perf = 0, unread = 0;
	struct text *l = gate_begin(g);
	char taint[16];

	for (unsigned int i = 0; i < m->n; i++) {
		module += m->row[i].module;
		perf += m->row[i].perf;
	}
	for (unsigned int i = 0; m->dev && i < m->list.n; i++)
		unread += m->list.entry[i].read && msr_find(m, m->list.entry[i].reg) < 0;
	if (!m->dev) {
		gate_add(g, WIRE_GATE_LIMITS, "module pmcbpf_msr", m->no_dev.text, "");
	} else {
		text_add(l, "reads the %u registers of %.100s%s%s", m->list.n, m->file,
			 m->kfunc ? ", for processes too" : "",
			 m->counters ? ", and hardware counters at context switches" : "");
		if (disagreed)
			text_add(l, " (%llu disagreed with the kernel's values, and are read by "
				 "the kernel)", disagreed);
		if (unread)
			text_add(l, "; this CPU lacks %u of them", unread);
		if (module_taints(taint, sizeof(taint)))
			text_add(l, "; it taints the kernel (%s), which harms nothing here", taint);
		gate_add(g, m->kfunc ? WIRE_GATE_OPEN : WIRE_GATE_LIMITS, "module pmcbpf_msr",
			 l->at, m->kfunc ? "" : m->no_kfunc);
	}
	l = gate_begin(g);
	text_add(l, "rows of class MSR: %u; the module reads %u, perf %u", m->n,
		 module, perf);
	gate_add(g, m->n ? WIRE_GATE_OPEN : WIRE_GATE_LIMITS, "registers", l->at,
		 m->n ? "" : "the module, or a kernel with perf's msr PMU, gives some");
}

/* --- context switches --------------------------------------------------------------------- */

static void gate_switches(struct gates *g)
{
	static const char *const what = "context switches";
	struct text *l = gate_begin(g);
	uint64_t hidden;
	struct reason why;

	if (count_hidden_switches(g->rq->d->engine, &hidden, &why)) {
		gate_add(g, WIRE_GATE_LIMITS, what, why.text, "");
		return;
	}
	if (!hidden) {
		gate_add(g, WIRE_GATE_OPEN, what, "this kernel has reported every one", "");
		return;
	}
	text_add(l, "this kernel does not report those of certain tasks: it has hidden %llu since "
		 "pmcbpfd started; a count in time slices that lacks one is refused (EBUSY)",
		 (unsigned long long)hidden);
	gate_add(g, WIRE_GATE_LIMITS, what, l->at,
		 "without a log, SOFT events but LOCK.FAILED and those with a side lose nothing; "
		 "a kernel of another maker reports every switch");
}

static void gate_cgroups(struct gates *g)
{
	static const char *const what = "cgroups";
	const struct count_spec any = { .from = COUNT_FROM_EVENT };
	struct text *l = gate_begin(g);
	struct reason unused;
	uint64_t hidden;

	if (count_slices_cgroup(g->rq->d->engine, &any)) {
		gate_add(g, WIRE_GATE_OPEN, what,
			 "counted in time slices: PMCs of one event share its counter", "");
		return;
	}
	if (count_hidden_switches(g->rq->d->engine, &hidden, &unused))
		hidden = 0;
	text_add(l, "perf counts them, because this kernel %s: each PMC of a hardware event takes "
		 "a counter, and events that only programs count are refused",
		 hidden ? "hides context switches" : "shows no program a process that is moved");
	gate_add(g, WIRE_GATE_LIMITS, what, l->at, hidden ? "" :
		 "on arm64 Linux 6.4 and newer does, with CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS");
}

/* --- the administrator's rules ----------------------------------------------------------- */

static void gate_system_scope(struct gates *g, const struct ruling *by)
{
	const struct site_rule *r = by->grant->rule[SET_MODES];
	struct text *l = gate_begin(g);
	char rule[SETTING_TEXT];
	struct reason why;

	if (policy_system(by, &g->me, g->rq->d->pid_ns, false, &why)) {
		text_add(l, "no: %.240s", why.text);
		gate_add(g, WIRE_GATE_LIMITS, "system-scope counting", l->at, "");
		return;
	}
	if (r && !policy_privileged(&g->me)) {
		setting_describe(SET_MODES, r, rule);
		text_add(l, "allowed: %s", rule);
	} else {
		text_add(l, "allowed (security.bsd.unprivileged_syspmcs=%d%s)",
			 by->config->value[TUN_SYSPMCS],
			 policy_privileged(&g->me) ? "; privileged" : "");
	}
	gate_add(g, WIRE_GATE_OPEN, "system-scope counting", l->at, "");
}

static void gate_processes_by_rule(struct gates *g, const struct site_rule *r)
{
	static const char *const whose[] = {
		[PROCESSES_SELF] = "no, only this process itself: ",
		[PROCESSES_OWN] = "your own that you may debug: ",
		[PROCESSES_ANY] = "those that you may debug: ",
	};
	uint64_t n = r->number[SET_PROCESSES];
	struct text *l = gate_begin(g);
	char rule[SETTING_TEXT];

	setting_describe(SET_PROCESSES, r, rule);
	text_add(l, "%s%s", whose[n], rule);
	gate_add(g, n == PROCESSES_ANY ? WIRE_GATE_OPEN : WIRE_GATE_LIMITS, "processes of others",
		 l->at, n == PROCESSES_ANY ? "" : "another rule, or CAP_PERFMON");
}

static void gates_rules(struct gates *g)
{
	const struct ruling by = request_ruling(g->rq);
	const struct site_rule *r = by.grant->rule[SET_PROCESSES];

	gate_system_scope(g, &by);
	if (policy_privileged(&g->me))
		gate_add(g, WIRE_GATE_OPEN, "processes of others", "allowed (privileged)", "");
	else if (r)
		gate_processes_by_rule(g, r);
	else if (!by.config->value[TUN_PROC_DEBUG])
		gate_add(g, WIRE_GATE_LIMITS, "processes of others",
			 "no, not even your own other ones "
			 "(security.bsd.unprivileged_proc_debug=\"0\"): only this process itself",
			 "security.bsd.unprivileged_proc_debug=\"1\" in pmcbpf.conf, or "
			 "CAP_PERFMON");
	else
		gate_add(g, WIRE_GATE_OPEN, "processes of others",
			 "those that you may debug (security.bsd.unprivileged_proc_debug=\"1\")",
			 "");
}

/* --- names ------------------------------------------------------------------------------- */

static void gate_kernel_names(struct gates *g)
{
	struct kernel_shown k = { .settings = policy_kernel_settings() };
	struct cred own;
	char finding[WIRE_GATE_TEXT];
	const char *remedy;
	uint64_t start;
	bool open;

	k.err = ksyms_start("/proc/kallsyms", &start);
	k.syslog = !policy_read_cred(getpid(), &own) && policy_has_syslog(&own);
	k.view = policy_kernel_view(&g->me, &k.settings);
	open = doctor_kernel_names(&k, finding, sizeof(finding), &remedy);
	gate_add(g, open ? WIRE_GATE_OPEN : WIRE_GATE_LIMITS, "names of the kernel", finding,
		 remedy);
}

/* The time for which requests may have waited for other users' requests. */
static void gate_event_loop(struct gates *g)
{
	const struct watchdog *w = &g->rq->d->watchdog;
	char text[WIRE_GATE_TEXT];

	watchdog_text(w, op_name, text, sizeof(text));
	gate_add(g, w->late ? WIRE_GATE_LIMITS : WIRE_GATE_OPEN, "event loop of pmcbpfd", text,
		 w->late ? "a busy machine may be why; if not, please report it" : "");
}

int op_gates(struct request *rq)
{
	struct gates g = { .rq = rq, .rep = reply_room(rq->r, sizeof(*g.rep)) };
	struct text *l = gate_begin(&g);
	int err = request_cred(rq, &g.me);

	if (err)
		return err;
	text_add(l, "pmcbpfd " PMCBPF_VERSION " answers; its BPF programs are loaded; %u rows",
		 rq->d->rows.nrow);
	gate_add(&g, WIRE_GATE_OPEN, "daemon", l->at, "");
	gate_event_loop(&g);
	engine_probe(gate_add_feature, &g);
	gates_hardware(&g);
	gate_breakpoints(&g);
	gates_registers(&g);
	gate_switches(&g);
	gate_cgroups(&g);
	gates_rules(&g);
	gate_kernel_names(&g);
	return 0;
}
