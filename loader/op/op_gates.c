/* SPDX-License-Identifier: BSD-2-Clause */
/* GATES: what the daemon can tell the caller about what stands between it and its counts. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "loader/base/file.h"
#include "gates.h"
#include "loader/kernel/hop.h"
#include "loader/log/ksyms.h"
#include "ops.h"

#define MAX_USERS 8u

/* One line being made of pieces, cut to what a gate can carry. */
struct line {
	char text[WIRE_GATE_TEXT];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->used, sizeof(l->text) - l->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->used += (size_t)n;
	if (l->used >= sizeof(l->text))
		l->used = sizeof(l->text) - 1;
}

struct gates {
	struct request *rq;
	struct wire_gates_rep *rep;
	struct cred me;
};

/* A list that is full drops the rest: the first ones matter most. */
static void gate(struct gates *g, enum wire_gate_state state, const char *name, const char *finding,
		 const char *remedy)
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

/* --- what the kernel gives --------------------------------------------------------------- */

static void tell_feature(void *arg, const char *what, const char *finding, const char *remedy)
{
	if (finding)
		gate(arg, WIRE_GATE_CLOSED, what, finding, remedy);
	else
		gate(arg, WIRE_GATE_OPEN, what, "works", "");
}

static void no_hardware(struct gates *g)
{
	static const char *const what = "hardware counters";
	char pmu[32], machine[64];
	struct line l = { .used = 0 };

	if (perf_has_pmu(pmu, sizeof(pmu))) {
		add(&l, "PMU %s is there, but every counter of some CPU was held by others", pmu);
		gate(g, WIRE_GATE_LIMITS, what, l.text,
		     "end them (perf, the NMI watchdog: kernel.nmi_watchdog=0), then send SIGHUP "
		     "to pmcbpfd");
	} else if (gates_virtual("", machine, sizeof(machine))) {
		add(&l, "none: this virtual machine%s%s%s has no PMU; SOFT and TSC events work",
		    *machine ? " (" : "", machine, *machine ? ")" : "");
		gate(g, WIRE_GATE_LIMITS, what, l.text,
		     "QEMU: -cpu host,pmu=on; libvirt: <pmu state=\"on\"/>; VMware: vpmc.enable; "
		     "Hyper-V: Set-VMProcessor -Perfmon; clouds: a metal or whole-socket instance");
	} else {
		gate(g, WIRE_GATE_LIMITS, what,
		     "none: the kernel has no driver for this CPU's; SOFT and TSC events work",
		     "boot a kernel with the PMU driver; firmware must not have disabled the PMU");
	}
}

/* --- hardware rows ----------------------------------------------------------------------- */

/* A row class on every CPU, now. */
struct census {
	unsigned int free, thread, standalone;
	int *spare;		/* counters that can be had beyond the rows; < 0: that many lack */
	unsigned int had_min, had_max;
	int least, most;	/* of spare */
};

#define NOT_HERE 1000000	/* in `spare`: the CPU is offline or has no such PMU */

static void count_rows(const struct row_table *t, const struct row_class *class, struct census *c)
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

static void try_cpu(struct gates *g, const struct row_class *class, struct census *c,
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

		/* Counters that nobody has now can be spoken for: by targets that do not run. */
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
	if (c->spare[cpu] > c->most)
		c->most = c->spare[cpu];
}

static int try_cpus(struct gates *g, const struct row_class *class, struct census *c)
{
	unsigned int ncpu = g->rq->d->rows.ncpu;
	struct hop hop;
	int err;

	c->had_min = ~0u;
	c->least = NOT_HERE;
	c->most = -NOT_HERE;
	for (unsigned int cpu = 0; cpu < ncpu; cpu++)
		c->spare[cpu] = NOT_HERE;
	err = hop_begin(&hop);
	if (err)
		return err;
	for (unsigned int cpu = 0; cpu < ncpu; cpu++)
		if (perf_cpu_online(cpu) && !hop_to(cpu))
			try_cpu(g, class, c, cpu);
	hop_end(&hop);
	return c->had_min == ~0u ? -ENXIO : 0;
}

static bool is_client(const struct owner_table *t, pid_t pid)
{
	for (unsigned int i = 0; i < t->buckets; i++)
		for (const struct owner *o = t->bucket[i]; o; o = o->next)
			if (o->cred.pid == pid)
				return true;
	return false;
}

/* "; perf events of: pid 812 (perf), 2 processes of others" */
static void add_users(struct gates *g, struct line *l)
{
	struct perf_user users[MAX_USERS];
	const char *sep = "; perf events are open in: ";
	unsigned int n, hidden = 0;
	bool all;

	n = gates_perf_users("/proc", getpid(), users, MAX_USERS, &all);
	for (unsigned int i = 0; i < n; i++) {
		struct cred cred;
		pid_t seen;

		if (is_client(&g->rq->d->owners, users[i].pid) ||
		    g->rq->d->read_cred(users[i].pid, &cred))
			continue;
		seen = pid_as_seen(g->rq, &cred);
		if (seen < 0 || !policy_may_know(&g->me, cred.uid[ID_EFFECTIVE])) {
			hidden++;
			continue;
		}
		add(l, "%spid %d (%s)", sep, seen, users[i].name);
		sep = ", ";
	}
	if (hidden)
		add(l, "%s%u process%s that you may not see", sep, hidden, hidden > 1 ? "es" : "");
	if (!all)
		add(l, " and more");
}

/* "; others hold 2 on CPUs 0-1, 1 on CPUs 3" */
static void add_missing(const struct gates *g, const struct census *c, struct line *l)
{
	const char *sep = "; others hold ";

	for (int lack = -c->least; lack > 0; lack--) {
		char cpus[64];

		gates_cpu_list(c->spare, g->rq->d->rows.ncpu, -lack, cpus, sizeof(cpus));
		if (!*cpus)
			continue;
		add(l, "%s%d on CPU %s", sep, lack, cpus);
		sep = ", ";
	}
}

static void hardware_class(struct gates *g, const struct row_class *class)
{
	const struct row_table *t = &g->rq->d->rows;
	struct census c = { .spare = calloc(t->ncpu, sizeof(int)) };
	const char *remedy = "";
	char name[WIRE_GATE_NAME];
	struct line l = { .used = 0 };
	int err;

	snprintf(name, sizeof(name), "%s rows", class->prefix);
	count_rows(t, class, &c);
	add(&l, "%u of every CPU with PMU %.31s: %u FREE, %u THREAD, %u STANDALONE",
	    class->info.num, class->info.pmu, c.free, c.thread, c.standalone);
	err = c.spare ? try_cpus(g, class, &c) : -ENOMEM;
	if (err) {
		add(&l, "; not tried: %s", strerror(-err));
		gate(g, WIRE_GATE_LIMITS, name, l.text, "");
		goto out;
	}
	if (c.had_min == c.had_max)
		add(&l, "; %u counters can be had now", c.had_min);
	else
		add(&l, "; %u to %u counters can be had now, by CPU", c.had_min, c.had_max);
	if (c.least < 0) {
		add_missing(g, &c, &l);
		add_users(g, &l);
		remedy = "end those programs; PMCs that need these counters are refused until then";
	} else if (c.least > 0) {
		add(&l, "; others have given %d back since the rows were counted", c.least);
		remedy = "send SIGHUP to pmcbpfd (systemctl reload pmcbpfd): it counts them again";
	} else if (perf_watchdog()) {
		add(&l, "; the NMI watchdog may have one more");
		remedy = "to see, and get that one: sysctl kernel.nmi_watchdog=0, then SIGHUP to "
			 "pmcbpfd";
	}
	gate(g, *remedy ? WIRE_GATE_LIMITS : WIRE_GATE_OPEN, name, l.text, remedy);
out:
	free(c.spare);
}

static void hardware(struct gates *g)
{
	const struct row_table *t = &g->rq->d->rows;
	bool any = false;

	for (unsigned int i = 0; i < t->nclass; i++) {
		if (!t->classes[i].ops->counters)
			continue;
		hardware_class(g, &t->classes[i]);
		any = true;
	}
	if (!any)
		no_hardware(g);
}

/* --- registers --------------------------------------------------------------------------- */

/* A module that was not built for the kernel sources, or by force. */
static bool is_tainted(char *flags, size_t size)
{
	return !file_line("/sys/module/pmcbpf_msr/taint", flags, size) && *flags;
}

static void registers(struct gates *g)
{
	const struct msrs *m = &g->rq->d->msr;
	unsigned int module = 0, perf = 0, unread = 0;
	struct line l = { .used = 0 };
	char taint[16];

	for (unsigned int i = 0; i < m->n; i++) {
		module += m->row[i].module;
		perf += m->row[i].perf;
	}
	for (unsigned int i = 0; m->dev && i < m->list.n; i++)
		unread += m->list.entry[i].read && msr_find(m, m->list.entry[i].reg) < 0;
	if (!m->dev) {
		gate(g, WIRE_GATE_LIMITS, "module pmcbpf_msr", m->no_dev.text, "");
	} else {
		add(&l, "reads the %u registers of %.100s%s", m->list.n, m->file,
		    m->kfunc ? ", for processes too" : "");
		if (unread)
			add(&l, "; this CPU lacks %u of them", unread);
		if (is_tainted(taint, sizeof(taint)))
			add(&l, "; it taints the kernel (%s), which harms nothing here", taint);
		gate(g, m->kfunc ? WIRE_GATE_OPEN : WIRE_GATE_LIMITS, "module pmcbpf_msr", l.text,
		     m->kfunc ? "" : m->no_kfunc);
	}
	l.used = 0;
	add(&l, "%u rows of class MSR: %u that the module reads, %u events of perf's", m->n, module,
	    perf);
	gate(g, m->n ? WIRE_GATE_OPEN : WIRE_GATE_LIMITS, "registers", l.text,
	     m->n ? "" : "the module, or a kernel with perf's msr PMU, gives some");
}

/* --- context switches --------------------------------------------------------------------- */

static void switches(struct gates *g)
{
	static const char *const what = "context switches";
	struct line l = { .used = 0 };
	uint64_t hidden;
	struct why why;

	if (count_hidden_switches(g->rq->d->engine, &hidden, &why)) {
		gate(g, WIRE_GATE_LIMITS, what, why.text, "");
		return;
	}
	if (!hidden) {
		gate(g, WIRE_GATE_OPEN, what, "this kernel has reported every one", "");
		return;
	}
	add(&l, "this kernel does not report those of certain tasks: it has hidden %llu since "
	    "pmcbpfd started; a count in time slices that lacks one is refused (EBUSY)",
	    (unsigned long long)hidden);
	gate(g, WIRE_GATE_LIMITS, what, l.text,
	     "without a log, SOFT events but LOCK.FAILED and those with a side lose nothing; "
	     "a kernel of another maker reports every switch");
}

/* --- the administrator's rules ----------------------------------------------------------- */

static void rules(struct gates *g)
{
	const struct daemon *d = g->rq->d;
	const struct config *cfg = &d->config;
	struct line l = { .used = 0 };
	struct why why;

	if (policy_system(cfg, &g->me, d->pid_ns, false, &why)) {
		add(&l, "no: %.240s", why.text);
		gate(g, WIRE_GATE_LIMITS, "system-scope counting", l.text, "");
	} else {
		add(&l, "allowed (security.bsd.unprivileged_syspmcs=%d%s)",
		    cfg->value[TUN_SYSPMCS], policy_privileged(&g->me) ? "; privileged" : "");
		gate(g, WIRE_GATE_OPEN, "system-scope counting", l.text, "");
	}
	l.used = 0;
	if (policy_privileged(&g->me))
		gate(g, WIRE_GATE_OPEN, "processes of others", "allowed (privileged)", "");
	else if (!cfg->value[TUN_PROC_DEBUG])
		gate(g, WIRE_GATE_LIMITS, "processes of others",
		     "no, not even your own other ones "
		     "(security.bsd.unprivileged_proc_debug=\"0\"): only this process itself",
		     "security.bsd.unprivileged_proc_debug=\"1\" in pmcbpf.conf, or CAP_PERFMON");
	else
		gate(g, WIRE_GATE_OPEN, "processes of others",
		     "those that you may debug (security.bsd.unprivileged_proc_debug=\"1\")", "");
}

/* --- names ------------------------------------------------------------------------------- */

static void kernel_names(struct gates *g)
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
	open = gates_kernel_names(&k, finding, sizeof(finding), &remedy);
	gate(g, open ? WIRE_GATE_OPEN : WIRE_GATE_LIMITS, "names of the kernel", finding, remedy);
}

/* How long a request may have had to wait for others'. */
static void event_loop(struct gates *g)
{
	const struct watchdog *w = &g->rq->d->watchdog;
	char text[WIRE_GATE_TEXT];

	watchdog_text(w, text, sizeof(text));
	gate(g, w->late ? WIRE_GATE_LIMITS : WIRE_GATE_OPEN, "event loop of pmcbpfd", text,
	     w->late ? "a busy machine may be why; if not, please report it" : "");
}

int op_gates(struct request *rq)
{
	struct gates g = { .rq = rq, .rep = reply_room(rq->r, sizeof(*g.rep)) };
	struct line l = { .used = 0 };
	int err = request_cred(rq, &g.me);

	if (err)
		return err;
	add(&l, "pmcbpfd " PMCBPF_VERSION " answers; its BPF programs are loaded; %u rows",
	    rq->d->rows.nrow);
	gate(&g, WIRE_GATE_OPEN, "daemon", l.text, "");
	event_loop(&g);
	engine_probe(tell_feature, &g);
	hardware(&g);
	registers(&g);
	switches(&g);
	rules(&g);
	kernel_names(&g);
	return 0;
}
