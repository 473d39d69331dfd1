/* SPDX-License-Identifier: BSD-2-Clause */
/* The effect of each record on the samples behind it: see walk.h. */
#include <stdio.h>

#include <pmc.h>

#include "lib/base/buf.h"
#include "cli/log/log.h"
#include "cli/common/common.h"
#include "registry.h"
#include "wakers.h"
#include "weight.h"

#define PMCS_MAX 16384u

struct walk {
	struct symbols *symbols;
	const struct filter *filter;
	struct walk_user user;
	struct registry known;
	struct space kernel;
	struct image *hidden;		/* of PMCLOG_PC_KERNEL, once it has occurred */
	struct image *outside;		/* of PMCLOG_PID_OUTSIDE */
	uint32_t spaces;		/* numbers given to spaces so far */
	struct log_event *event;		/* of the last sample, until another record comes */
	struct log_process *process;
	struct log_thread *thread;
	pid_t tid;
	struct weight weight;		/* of the sample that comes next */
	struct wakers wakers;		/* … and the waker of its thread */
	uint64_t now;			/* since the beginning */
	bool begun, closed, old;
	struct walk_stats stats;
	struct progress progress;
	struct walk_sample sample;
};

static int walk_no_memory(void)
{
	return fail(EX_OSERR, "ERROR: no memory for the processes and mappings of the log");
}

/* --- mappings -------------------------------------------------------------------------------- */

/* After a change of the space: samples that follow use its new number. */
static int process_mapped(struct log_process *p, int err)
{
	p->shown.space = p->space.number;
	p->fresh = false;
	if (err == -E2BIG)
		return fail(EX_DATAERR, "ERROR: process %d has more than %u mappings in the log",
			    (int)p->shown.pid, SPACE_MAPPINGS);
	return err ? walk_no_memory() : 0;
}

static struct log_process *process_get(struct walk *w, pid_t pid)
{
	struct log_process *p = registry_process(&w->known, pid);

	return p ? p : registry_add_process(&w->known, pid);
}

/*
 * A function of the kernel: "[image]symbol".  An image without a mapping, such as the one of BPF
 * programs, begins with its first function, and offsets in it are addresses.
 */
static int kernel_symbol(struct walk *w, const struct pmclog_ev_map_in *mi, const char *symbol)
{
	char *name = strndup(mi->pl_pathname, (size_t)(symbol - mi->pl_pathname));
	struct image *image;
	uint64_t base = 0;
	int err = 0;

	if (!name)
		return walk_no_memory();
	image = space_image(&w->kernel, name, &base);
	if (!image) {
		image = symbols_image(w->symbols, name, NULL, 0, SYMBOLS_KERNEL);
		base = 0;
	}
	free(name);
	if (!image)
		return walk_no_memory();
	if (!base)
		err = space_map(&w->kernel, mi->pl_start, 0, image, ++w->spaces);
	/* Functions beyond the limit on mappings are found from the mapping before them. */
	if ((!err || err == -E2BIG) && mi->pl_start >= base)
		err = symbols_add(w->symbols, image, mi->pl_start - base, symbol);
	return err ? walk_no_memory() : 0;
}

static struct image *mapping_image(struct walk *w, const struct pmclog_ev_map_in *mi)
{
	return symbols_image(w->symbols, mi->pl_pathname, mi->pl_buildid, mi->pl_buildidlen,
			     mi->pl_pid);
}

static int kernel_map_in(struct walk *w, const struct pmclog_ev_map_in *mi)
{
	const char *path = mi->pl_pathname, *bracket = *path == '[' ? strchr(path, ']') : NULL;
	struct image *image;
	int err;

	if (PMCLOG_PC_IS_PYTHON(mi->pl_start))
		return symbols_add_code(w->symbols, mi->pl_start, path) ? walk_no_memory() : 0;
	if (bracket && bracket[1])
		return kernel_symbol(w, mi, bracket + 1);
	image = mapping_image(w, mi);
	if (!image)
		return walk_no_memory();
	err = space_map(&w->kernel, mi->pl_start, mi->pl_start, image, ++w->spaces);
	if (err == -E2BIG)
		return fail(EX_DATAERR, "ERROR: the kernel has more than %u modules in the log",
			    SPACE_MAPPINGS);
	return err ? walk_no_memory() : 0;
}

static int map_in(struct walk *w, const struct pmclog_ev_map_in *mi)
{
	struct log_process *p = process_get(w, mi->pl_pid);
	struct image *image = mapping_image(w, mi);

	if (!image || !p)
		return walk_no_memory();
	if (symbols_is_jitdump(mi->pl_pathname))
		return process_mapped(p, space_announce(&p->space, image, ++w->spaces));
	return process_mapped(p, space_map(&p->space, mi->pl_start, mi->pl_start, image,
					   ++w->spaces));
}

/* A module keeps its addresses when it is unloaded: kernel samples are named at the end. */
static int map_out(struct walk *w, pid_t pid, uint64_t start, uint64_t end)
{
	struct log_process *p = pid == -1 ? NULL : process_get(w, pid);

	if (pid == -1)
		return 0;
	if (!p)
		return walk_no_memory();
	return process_mapped(p, space_unmap(&p->space, w->symbols, start, end, ++w->spaces));
}

/* --- processes ------------------------------------------------------------------------------- */

/* Each PMC of a process logs its exec: several records with nothing between them are one exec. */
static int proc_exec(struct walk *w, const struct pmclog_ev_procexec *x)
{
	struct log_process *p = registry_process(&w->known, x->pl_pid);

	if (p && p->shown.execed && p->fresh && p->shown.path &&
	    strcmp(p->shown.path, x->pl_pathname) == 0)
		return 0;
	w->stats.execs++;
	if (p)
		space_clear(&p->space);
	p = registry_add_process(&w->known, x->pl_pid);
	if (!p || registry_set_path(&w->known, p, x->pl_pathname) != 0)
		return walk_no_memory();
	/* Its first thread has the program's name, whatever it was called before. */
	if (registry_thread(&w->known, x->pl_pid) &&
	    registry_name_thread(&w->known, x->pl_pid, path_name(x->pl_pathname)) != 0)
		return walk_no_memory();
	p->shown.execed = p->fresh = true;
	return 0;
}

static int proc_fork(struct walk *w, const struct pmclog_ev_procfork *f)
{
	struct log_process *child = registry_process(&w->known, f->pl_newpid);
	struct log_process *parent = process_get(w, f->pl_oldpid);

	if (child && child->fresh && !child->gone)
		return 0;
	child = registry_add_process(&w->known, f->pl_newpid);
	if (!parent || !child)
		return walk_no_memory();
	space_copy(&child->space, &parent->space);
	child->space.asked = false;
	child->shown.space = child->space.number;
	child->shown.path = parent->shown.path;
	child->fresh = true;
	/* A parent without a name is shown as "pid N", which the child must not inherit. */
	return parent->named && registry_name_process(&w->known, child, parent->shown.name) != 0 ?
		       walk_no_memory() : 0;
}

/* A process that exists when its PMC is attached, by the path of its program or by its name. */
static int proc_known(struct walk *w, pid_t pid, const char *path, const char *comm)
{
	struct log_process *p = registry_process(&w->known, pid);
	int err = 0;

	if (!p || p->gone)
		p = registry_add_process(&w->known, pid);
	if (!p)
		return walk_no_memory();
	if (path && *path == '/' && !p->shown.path)
		err = registry_set_path(&w->known, p, path);
	else if (comm && !p->named)
		err = registry_name_process(&w->known, p, comm);
	return err ? walk_no_memory() : 0;
}

static void proc_exit(struct walk *w, pid_t pid)
{
	struct log_process *p = registry_process(&w->known, pid);

	if (p && !p->gone)
		registry_retire(&w->known, p);
}

static int thread_created(struct walk *w, const struct pmclog_ev_threadcreate *t)
{
	if (t->pl_tid == t->pl_pid && *t->pl_tdname) {
		int code = proc_known(w, t->pl_pid, NULL, t->pl_tdname);

		if (code)
			return code;
	}
	return registry_name_thread(&w->known, t->pl_tid, t->pl_tdname) == 0 ? 0 : walk_no_memory();
}

/* --- events ---------------------------------------------------------------------------------- */

static struct log_event *event_add(struct walk *w, pmc_id_t id, const char *name)
{
	if (w->known.events.n >= PMCS_MAX) {
		fail(EX_DATAERR, "ERROR: the log has more than %u PMCs", PMCS_MAX);
		return NULL;
	}
	w->event = registry_add_event(&w->known, id, name);
	if (!w->event)
		walk_no_memory();
	return w->event;
}

static int event_allocated(struct walk *w, pmc_id_t id, const char *name, uint64_t rate)
{
	struct log_event *e = registry_event(&w->known, id);
	struct clock_scale scale = { 0, 0 };
	const char *own = name;

	if (w->filter->wall && clock_scale(&scale, name, rate)) {
		name = CLOCK_WALL;
		rate = 1;
	}
	if (!e || !registry_same_event(e, name, rate))
		e = event_add(w, id, name);
	if (e && rate)
		e->shown.rate = rate;
	if (e && scale.hz) {
		weight_scale(&e->shown, &scale);
		e->clock = registry_text(&w->known, own);
	}
	return e && (e->clock || !scale.hz) ? 0 : e ? walk_no_memory() : EX_DATAERR;
}

static struct log_event *event_get(struct walk *w, pmc_id_t id)
{
	char name[32];

	if (w->event && w->event->shown.id == id)
		return w->event;
	w->event = registry_event(&w->known, id);
	if (w->event)
		return w->event;
	snprintf(name, sizeof(name), "pmc-0x%x", id);
	w->event = event_add(w, id, name);
	if (w->event)
		w->event->unknown = true;
	return w->event;
}

/* --- samples --------------------------------------------------------------------------------- */

static int sample_take(struct walk *w, pmc_id_t id, pid_t pid)
{
	struct walk_sample *s = &w->sample;
	struct log_event *e = event_get(w, id);
	struct log_process *p;

	if (!w->process || w->process->shown.pid != pid)
		w->process = process_get(w, pid);
	p = w->process;
	if (!e || !p)
		return e ? walk_no_memory() : EX_DATAERR;
	if (w->tid != s->tid) {
		w->tid = s->tid;
		w->thread = registry_thread(&w->known, s->tid);
	}
	p->fresh = false;
	w->stats.samples++;
	w->stats.unknown_event += e->unknown;
	e->sampled = true;
	s->weight = weight_take(&w->weight, &e->shown);
	s->waker = wakers_take(&w->wakers, id);
	s->event = &e->shown;
	s->event_number = e->number;
	s->process = &p->shown;
	s->thread = w->thread ? &w->thread->shown : NULL;
	s->time = w->now;
	if (!registry_passes(&w->known, s, e, p))
		return 0;
	if (!registry_takes_time(&w->known, e))
		return EX_USAGE;
	w->stats.passed++;
	w->stats.chains += s->npc > 1;
	chains_add(&w->stats.ends, s->flags);
	return w->user.sample(w->user.arg, w, s);
}

static int waker_take(struct walk *w, const struct pmclog_ev_waker *ev)
{
	bool thread = ev->pl_kind == PMCLOG_WAKER_THREAD;
	struct log_process *p = thread ? process_get(w, (pid_t)ev->pl_chain.pl_pid) : NULL;
	struct pmclog_ev_map_in mi;
	const char *name;
	int err;

	if (thread && !p)
		return walk_no_memory();
	name = wakers_note(&w->wakers, ev, p ? &p->shown : NULL, &err);
	if (err || !name)
		return err ? walk_no_memory() : 0;
	mi.pl_start = w->wakers.next.name;
	snprintf(mi.pl_pathname, sizeof(mi.pl_pathname), "%s", name);
	return kernel_symbol(w, &mi, mi.pl_pathname + strlen(WAKERS_IMAGE));
}

static int sample_take_chain(struct walk *w, const struct pmclog_ev_callchain *c)
{
	struct walk_sample *s = &w->sample;

	s->tid = (pid_t)c->pl_tid;
	s->cpu = (int)PMC_CALLCHAIN_CPUFLAGS_TO_CPU(c->pl_cpuflags);
	s->npc = c->pl_npc > 0 ? (size_t)c->pl_npc : 0;
	s->pc = c->pl_pc;
	s->flags = c->pl_cpuflags & 0xffff;
	s->user = !s->npc || !(s->pc[0] & WALK_KERNEL);
	return sample_take(w, c->pl_pmcid, (pid_t)c->pl_pid);
}

static int sample_take_pc(struct walk *w, const struct pmclog_ev_pcsample *one)
{
	struct walk_sample *s = &w->sample;

	*s = (struct walk_sample){
		.cpu = -1, .npc = 1, .pc = &one->pl_pc, .user = one->pl_usermode,
	};
	return sample_take(w, one->pl_pmcid, one->pl_pid);
}

void walk_kernel_place(struct walk *w, uintptr_t pc, bool call, struct place *place)
{
	if (pc == PMCLOG_PC_KERNEL) {	/* it stands for all of the kernel */
		space_stand_in(w->symbols, &w->hidden, SYMBOLS_HIDDEN, pc, place);
		return;
	}
	place->call = call;
	space_place(&w->kernel, w->symbols, pc, place);
}

static struct log_process *sample_process(const struct walk_sample *s)
{
	return (struct log_process *)((const char *)s->process -
				      offsetof(struct log_process, shown));
}

void walk_place(struct walk *w, const struct walk_sample *s, size_t i, struct place *place)
{
	struct log_process *p = sample_process(s);
	uintptr_t pc = s->pc[i];

	place->call = walk_returns(s, i);
	if (PMCLOG_PC_IS_PYTHON(pc)) {
		*place = (struct place){ .image = symbols_python(w->symbols), .offset = pc };
		return;
	}
	if (pc & WALK_KERNEL) {
		walk_kernel_place(w, pc, place->call, place);
		return;
	}
	if (p->shown.pid == PMCLOG_PID_OUTSIDE) {
		space_stand_in(w->symbols, &w->outside, SYMBOLS_OUTSIDE, pc, place);
		return;
	}
	if (space_place(&p->space, w->symbols, pc, place))
		return;
	if (!p->space.asked) {
		struct image *jit = symbols_jitdump(w->symbols, p->space.dump, p->shown.pid);

		p->space.asked = true;
		if (jit) {
			p->space.jit = jit;
			p->shown.space = p->space.number = ++w->spaces;
		}
	}
	if (p->space.jit && image_covers(w->symbols, p->space.jit, pc))
		place->image = p->space.jit;
}

uint64_t walk_next(const struct walk *w, const struct walk_sample *s, size_t i)
{
	return space_next(s->pc[i] & WALK_KERNEL ? &w->kernel : &sample_process(s)->space,
			  s->pc[i]);
}

/* --- records --------------------------------------------------------------------------------- */

static void log_initialize(struct walk *w, const struct pmclog_ev_initialize *i)
{
	const char *type = pmc_name_of_cputype((enum pmc_cputype)i->pl_arch);

	registry_forget(&w->known);
	wakers_forget(&w->wakers);
	space_clear(&w->kernel);
	w->old = i->pl_version >> 24 < 9;
	snprintf(w->stats.cpu, sizeof(w->stats.cpu), "%s%s%.40s", type ? type : "unknown CPU",
		 *i->pl_cpuid ? " " : "", i->pl_cpuid);
}

static int record_take_effect(struct walk *w, const struct pmclog_ev *ev)
{
	w->event = NULL;
	w->process = NULL;
	w->tid = 0;
	w->thread = NULL;
	w->weight.there = w->wakers.there = false;
	switch (ev->pl_type) {
	case PMCLOG_TYPE_MAP_IN:
		return ev->pl_u.pl_mi.pl_pid == -1 ? kernel_map_in(w, &ev->pl_u.pl_mi) :
						     map_in(w, &ev->pl_u.pl_mi);
	case PMCLOG_TYPE_MAP_OUT:
		return map_out(w, ev->pl_u.pl_mo.pl_pid, ev->pl_u.pl_mo.pl_start,
			       ev->pl_u.pl_mo.pl_end);
	case PMCLOG_TYPE_PROCFORK:
		return proc_fork(w, &ev->pl_u.pl_f);
	case PMCLOG_TYPE_PROCEXEC:
		return proc_exec(w, &ev->pl_u.pl_x);
	case PMCLOG_TYPE_SYSEXIT:
		proc_exit(w, ev->pl_u.pl_se.pl_pid);
		return 0;
	case PMCLOG_TYPE_PMCATTACH:
		return proc_known(w, ev->pl_u.pl_t.pl_pid, ev->pl_u.pl_t.pl_pathname, NULL);
	case PMCLOG_TYPE_PROC_CREATE:
		return proc_known(w, ev->pl_u.pl_pc.pl_pid, NULL, ev->pl_u.pl_pc.pl_pcomm);
	case PMCLOG_TYPE_THR_CREATE:
		return thread_created(w, &ev->pl_u.pl_tc);
	case PMCLOG_TYPE_PMCALLOCATE:
		return event_allocated(w, ev->pl_u.pl_a.pl_pmcid, ev->pl_u.pl_a.pl_evname,
				 ev->pl_u.pl_a.pl_rate);
	case PMCLOG_TYPE_PMCALLOCATEDYN:
		return event_allocated(w, ev->pl_u.pl_ad.pl_pmcid, ev->pl_u.pl_ad.pl_evname,
				 ev->pl_u.pl_ad.pl_rate);
	case PMCLOG_TYPE_WAITS:
		weight_leave_out(&w->stats.waits, &ev->pl_u.pl_w);
		return 0;
	case PMCLOG_TYPE_INITIALIZE:
		log_initialize(w, &ev->pl_u.pl_i);
		return 0;
	case PMCLOG_TYPE_DROPNOTIFY:
		w->stats.drops++;
		w->stats.lost += ev->pl_u.pl_dn.pl_lost;
		return 0;
	default:
		return 0;
	}
}

int walk_record(struct walk *w, const struct pmclog_ev *ev)
{
	int code = w->user.record ? w->user.record(w->user.arg, w, ev) : 0;

	if (code)
		return code;
	if (!w->begun)
		w->stats.began = ev->pl_ts;
	w->begun = true;
	w->now = clock_since(&w->stats.began, &ev->pl_ts);
	w->stats.seconds = (double)w->now / 1e9;
	w->closed = ev->pl_type == PMCLOG_TYPE_CLOSELOG;
	if (ev->pl_type == PMCLOG_TYPE_CALLCHAIN)
		return sample_take_chain(w, &ev->pl_u.pl_cc);
	if (ev->pl_type == PMCLOG_TYPE_PCSAMPLE)
		return sample_take_pc(w, &ev->pl_u.pl_s);
	if (ev->pl_type == PMCLOG_TYPE_VALUES) {
		weight_note(&w->weight, &ev->pl_u.pl_v);
		return 0;
	}
	if (ev->pl_type == PMCLOG_TYPE_WAKER)
		return waker_take(w, &ev->pl_u.pl_wk);
	return record_take_effect(w, ev);
}

/* --- a whole log ----------------------------------------------------------------------------- */

static int walk_next_record(void *arg, const struct pmclog_ev *ev)
{
	struct walk *w = arg;

	progress_show(&w->progress, ev);
	return walk_record(w, ev);
}

int walk_log(struct walk *w, int fd, const char *name, int terminal)
{
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	void *parser = pmclog_open(fd);
	const struct log_user user = { .record = walk_next_record, .arg = w };
	int code;

	if (!ev || !parser) {
		code = fail(EX_OSERR, "ERROR: Cannot allocate memory to read \"%s\"", name);
	} else {
		progress_begin(&w->progress, fd, terminal);
		code = log_pass(parser, fd, ev, &user);
		progress_end(&w->progress);
		if (!code && w->user.again)
			code = ev->pl_state == PMCLOG_ERROR ? EX_DATAERR : 0;
		else if (!code)
			code = log_damage(parser, ev);
	}
	w->stats.cut = code || (!w->closed && !w->old);
	if (!code)
		code = registry_check_events(&w->known, name);
	pmclog_close(parser);
	free(ev);
	return code;
}

struct walk *walk_new(struct symbols *symbols, const struct filter *filter,
		      const struct walk_user *user)
{
	struct walk *w = calloc(1, sizeof(*w));

	if (!w) {
		walk_no_memory();
		return NULL;
	}
	*w = (struct walk){ .symbols = symbols, .filter = filter, .user = *user };
	if (registry_begin(&w->known, filter) != 0) {
		walk_free(w);
		return NULL;
	}
	return w;
}

void walk_free(struct walk *w)
{
	if (!w)
		return;
	registry_end(&w->known);
	wakers_forget(&w->wakers);
	space_clear(&w->kernel);
	free(w);
}

struct walk_stats *walk_count(struct walk *w)
{
	return &w->stats;
}

const struct walk_stats *walk_stats(const struct walk *w)
{
	return &w->stats;
}

const struct walk_event *walk_event(const struct walk *w, uint32_t number)
{
	const struct roll *events = &w->known.events;
	const struct log_event *e = number < events->n ? events->each[number] : NULL;

	return e ? &e->shown : NULL;
}

uint64_t walk_weigh(struct walk *w, uint32_t number)
{
	return weight_fix(&((struct log_event *)w->known.events.each[number])->shown);
}

const struct walk_process *walk_process(const struct walk *w, uint32_t number)
{
	const struct roll *processes = &w->known.processes;
	const struct log_process *p = number < processes->n ? processes->each[number] : NULL;

	return p ? &p->shown : NULL;
}

const struct walk_thread *walk_thread(const struct walk *w, pid_t tid)
{
	const struct log_thread *t = registry_thread(&w->known, tid);

	return t ? &t->shown : NULL;
}
