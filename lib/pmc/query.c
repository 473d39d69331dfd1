/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc(3): pmc_init() and the questions about the machine, its rows and the daemon. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "client.h"
#include "query.h"

#define EVENTS_MAX 65536u		/* of one class; kernels have some thousand tracepoints */

/* A name from the wire ends inside its field. */
static void name_terminate(char *name, size_t size)
{
	name[size - 1] = '\0';
}

/* --- pmc_init() ------------------------------------------------------------------------------ */

static int cpuinfo_request(struct lib *l, struct wire_cpuinfo *cpu, struct reason *why)
{
	unsigned int i;
	int err = client_query(l, WIRE_OP_GETCPUINFO, NULL, 0, cpu, sizeof(*cpu), why);

	if (err)
		return err;
	if (cpu->nclass > WIRE_CLASS_MAX || cpu->ncpu == 0 || cpu->ncpu > 65536)
		return deny(why, -EPROTO,
			    "pmcbpfd describes a machine with %u CPUs and %u classes", cpu->ncpu,
			    cpu->nclass);
	if (!pmc_name_of_cputype(cpu->cputype))
		return deny(why, -ENXIO, "pmcbpfd reports CPU type 0x%x, unknown to this library",
			    cpu->cputype);
	for (i = 0; i < cpu->nclass; i++)
		name_terminate(cpu->classes[i].pmu, sizeof(cpu->classes[i].pmu));
	return 0;
}

/* Adds the events of one reply to the list. */
static int events_add(struct machine_events *out, unsigned int *room,
		      const struct wire_dynevent_rep *rep)
{
	const struct wire_dynevent *event = (const void *)(rep + 1);

	/* One more: a list without events is memory as well. */
	if (array_reserve(out->event, *room, out->n + rep->count + 1))
		return -ENOMEM;
	memset(&out->event[out->n], 0, rep->count * sizeof(*out->event));
	for (uint32_t i = 0; i < rep->count; i++) {
		struct machine_event *e = &out->event[out->n++];

		e->code = event[i].code;
		e->flags = event[i].flags;
		memcpy(e->name, event[i].name, sizeof(e->name));
		name_terminate(e->name, sizeof(e->name));
	}
	return 0;
}

/* One reply: as many events as it has room for, from out->n on. */
static int events_ask(struct lib *l, uint32_t class, struct machine_events *out,
		      unsigned int *room, struct wire_dynevent_rep *rep, struct reason *why)
{
	struct wire_class_req req = { .class = class, .first = out->n };
	struct exchange x = {
		.op = WIRE_OP_GETDYNEVENTINFO, .request = &req, .request_len = sizeof(req),
		.send_fd = -1, .payload = rep, .payload_min = sizeof(*rep),
		.payload_max = WIRE_MAX_REPLY,
	};
	int err = client_exchange(l, &x, why);

	if (err)
		return err;
	client_exchange_close(&x);
	if (rep->total > EVENTS_MAX || rep->count > EVENTS_MAX - out->n ||
	    x.payload_len != sizeof(*rep) + rep->count * sizeof(struct wire_dynevent))
		return deny(why, -EPROTO, "pmcbpfd sent a malformed list of %s events",
			    pmc_name_of_class(class));
	return events_add(out, room, rep);
}

static int events_request(struct lib *l, uint32_t class, struct machine_events *out,
			  struct reason *why)
{
	struct wire_dynevent_rep *rep = malloc(WIRE_MAX_REPLY);
	struct machine_events list = { .n = 0 };
	unsigned int room = 0;
	int err = rep ? 0 : -ENOMEM;

	while (!err) {
		err = events_ask(l, class, &list, &room, rep, why);
		/* A list that has become shorter meanwhile ends with an empty reply. */
		if (err || !rep->count || list.n >= rep->total)
			break;
	}
	free(rep);
	if (err)
		free(list.event);
	else
		*out = list;
	return err;
}

/*
 * A later daemon mostly reports the same list: then it stays.  An earlier list is not freed,
 * because callers may hold its strings.
 */
static void events_publish(struct lib *l, struct machine_events *events,
			   struct machine_events fresh)
{
	if (l->known && events->n == fresh.n &&
	    (!fresh.n || memcmp(events->event, fresh.event, fresh.n * sizeof(*fresh.event)) == 0))
		free(fresh.event);
	else
		*events = fresh;
}

/* Takes the lists over, one for each class. */
static void machine_publish(struct lib *l, const struct wire_cpuinfo *cpu,
			    const struct machine_events *fresh)
{
	unsigned int i;

	l->described = l->connections;
	for (i = 0; i < cpu->nclass; i++) {
		const struct event_class *class = class_of(cpu->classes[i].class);

		if (class->listed && !class->late)
			events_publish(l, class->listed(&l->machine), fresh[i]);
	}
	if (l->known && memcmp(&l->machine.cpu, cpu, sizeof(*cpu)) == 0)
		return;
	l->machine.cpu = *cpu;
	l->info = (struct pmc_cpuinfo){
		.pm_cputype = cpu->cputype, .pm_ncpu = cpu->ncpu, .pm_npmc = cpu->npmc,
		.pm_nclass = cpu->nclass,
	};
	for (i = 0; i < cpu->nclass; i++)
		l->info.pm_classes[i] = (struct pmc_classinfo){
			.pm_class = cpu->classes[i].class, .pm_caps = cpu->classes[i].caps,
			.pm_width = cpu->classes[i].width, .pm_num = cpu->classes[i].num,
		};
	l->known = true;
}

static int lib_describe(struct lib *l, struct reason *why)
{
	struct wire_cpuinfo cpu = { .nclass = 0 };
	struct machine_events fresh[WIRE_CLASS_MAX] = { { .n = 0 } };
	unsigned int i;
	int err = client_open(l, why);

	if (err || (l->known && l->described == l->connections))
		return err;
	err = cpuinfo_request(l, &cpu, why);
	for (i = 0; !err && i < cpu.nclass; i++)
		if (class_of(cpu.classes[i].class)->listed && !class_of(cpu.classes[i].class)->late)
			err = events_request(l, cpu.classes[i].class, &fresh[i], why);
	if (!err)
		machine_publish(l, &cpu, fresh);
	else
		for (i = 0; i < WIRE_CLASS_MAX; i++)
			free(fresh[i].event);
	return err;
}

int query_late_events(struct lib *l, uint32_t class, struct reason *why)
{
	struct machine_events fresh = { .n = 0 };
	int err;

	if (!class_of(class)->late || !machine_class(&l->machine, class))
		return 0;
	err = events_request(l, class, &fresh, why);
	if (!err)
		events_publish(l, class_of(class)->listed(&l->machine), fresh);
	return err;
}

int query_explain(struct lib *l, const char *spec, enum pmc_mode mode, int err,
		  struct reason *why)
{
	struct wire_allocate_req again = { .mode = mode };
	struct reason unused;

	if (err != -EINVAL || !spec[strcspn(spec, ":")])
		return err;
	pthread_mutex_lock(&l->init);
	if (!query_late_events(l, PMC_CLASS_TRACEPOINT, &unused))
		(void)resolve_event(&l->machine, PMU_ROOT, spec, &again, why);
	pthread_mutex_unlock(&l->init);
	return err;
}

PMC_API_PUBLIC int pmc_init(void)
{
	struct reason *why = call_enter();
	int err;

	pthread_mutex_lock(&pmc_lib.init);
	err = lib_describe(&pmc_lib, why);
	pthread_mutex_unlock(&pmc_lib.init);
	return call_leave(err);
}

/* --- the machine ----------------------------------------------------------------------------- */

static int lib_need_init(struct reason *why)
{
	if (pmc_lib.known)
		return 0;
	return deny(why, -ENXIO, "pmc_init() has not been called, or has failed");
}

static int lib_need_cpu(int cpu, struct reason *why)
{
	int err = lib_need_init(why);

	if (!err && (cpu < 0 || (uint32_t)cpu >= pmc_lib.machine.cpu.ncpu))
		err = deny(why, -EINVAL, "CPU %d: this machine has CPUs 0 to %u", cpu,
			   pmc_lib.machine.cpu.ncpu - 1);
	return err;
}

PMC_API_PUBLIC int pmc_ncpu(void)
{
	int err = lib_need_init(call_begin());

	return err ? call_end(err) : (int)pmc_lib.machine.cpu.ncpu;
}

PMC_API_PUBLIC int pmc_npmc(int cpu)
{
	int err = lib_need_cpu(cpu, call_begin());

	return err ? call_end(err) : (int)pmc_lib.machine.cpu.npmc;
}

PMC_API_PUBLIC int pmc_cpuinfo(const struct pmc_cpuinfo **info)
{
	struct reason *why = call_begin();
	int err = info ? lib_need_init(why) : call_missing(why, "info");

	if (!err)
		*info = &pmc_lib.info;
	return call_end(err);
}

static bool pmc_is_allocated(struct lib *l, pmc_id_t pmcid)
{
	bool moved, found;
	struct read_version *v = read_share_enter(&l->reads, &moved);

	found = read_table_has(&v->table, pmcid);
	if (read_share_leave(&l->reads, v) || moved)
		client_table_reclaim(l);
	return found || client_has_unplaced(l, pmcid);
}

/* Handles carry their class; all PMCs of a class can do the same. */
static int pmc_class(pmc_id_t pmcid, const struct wire_classinfo **class, struct reason *why)
{
	if (!pmc_is_allocated(&pmc_lib, pmcid))
		return deny(why, -EINVAL, "0x%x is not a PMC that this process has allocated",
			    pmcid);
	*class = machine_class(&pmc_lib.machine, PMC_ID_TO_CLASS(pmcid));
	if (!*class)
		return deny(why, -EINVAL, "0x%x is not a handle of a class of this machine",
			    pmcid);
	return 0;
}

PMC_API_PUBLIC int pmc_capabilities(pmc_id_t pmcid, uint32_t *caps)
{
	struct reason *why = call_begin();
	const struct wire_classinfo *class;
	int err = caps ? pmc_class(pmcid, &class, why) : call_missing(why, "caps");

	if (!err)
		*caps = class->caps;
	return call_end(err);
}

PMC_API_PUBLIC int pmc_width(pmc_id_t pmcid, uint32_t *width)
{
	struct reason *why = call_begin();
	const struct wire_classinfo *class;
	int err = width ? pmc_class(pmcid, &class, why) : call_missing(why, "width");

	if (!err)
		*width = class->width;
	return call_end(err);
}

/* --- rows and statistics --------------------------------------------------------------------- */

static void row_convert(const struct wire_pmcinfo *from, struct pmc_info *to)
{
	memcpy(to->pm_name, from->name, sizeof(to->pm_name));
	name_terminate(to->pm_name, sizeof(to->pm_name));
	to->pm_class = from->class;
	to->pm_enabled = from->enabled != 0;
	to->pm_rowdisp = from->rowdisp;
	to->pm_ownerpid = from->ownerpid;
	to->pm_mode = from->mode;
	to->pm_event = from->event;
	to->pm_flags = from->flags;
	to->pm_reloadcount = from->reloadcount;
	/*
	 * The number of a hardware event is private to the process that allocated it: intern the
	 * name here.
	 */
	if (class_of(from->class)->interned) {
		char name[WIRE_NAME_MAX];

		memcpy(name, from->event_name, sizeof(name));
		name_terminate(name, sizeof(name));
		to->pm_event = *name ? intern_event(name, NULL) : 0;
	}
}

static int pmcinfo_request(int cpu, struct pmc_pmcinfo **info, struct reason *why)
{
	struct wire_cpu_req req = { .cpu = cpu };
	const uint32_t npmc = pmc_lib.machine.cpu.npmc;
	size_t size = sizeof(struct wire_pmcinfo_rep) + (size_t)npmc * sizeof(struct wire_pmcinfo);
	struct wire_pmcinfo_rep *rep = malloc(size);
	const struct wire_pmcinfo *rows;
	struct pmc_pmcinfo *out = calloc(1, sizeof(*out) + npmc * sizeof(out->pm_pmcs[0]));
	struct exchange x = {
		.op = WIRE_OP_GETPMCINFO,
		.request = &req,
		.request_len = sizeof(req),
		.send_fd = -1,
		.payload = rep,
		.payload_min = size,
		.payload_max = size,
	};
	uint32_t i;
	int err = -ENOMEM;

	if (!rep || !out)
		goto out;
	rows = (const void *)(rep + 1);
	err = client_exchange(&pmc_lib, &x, why);
	if (err)
		goto out;
	client_exchange_close(&x);
	out->pm_cpu = cpu;
	for (i = 0; i < npmc; i++)
		row_convert(&rows[i], &out->pm_pmcs[i]);
	*info = out;
	out = NULL;
out:
	free(rep);
	free(out);
	return err;
}

PMC_API_PUBLIC int pmc_pmcinfo(int cpu, struct pmc_pmcinfo **info)
{
	struct reason *why = call_enter();
	int err = info ? lib_need_cpu(cpu, why) : call_missing(why, "info");

	return call_leave(err ? err : pmcinfo_request(cpu, info, why));
}

static int losses_request(pmc_id_t pmcid, struct wire_losses *rep, struct reason *why)
{
	const struct wire_losses_req req = { .pmcid = pmcid };

	return client_query(&pmc_lib, WIRE_OP_GETLOSSES, &req, sizeof(req), rep, sizeof(*rep), why);
}

PMC_API_PUBLIC int pmc_get_cut_chains(uint64_t *chains)
{
	struct reason *why = call_enter();
	struct wire_losses rep;
	int err = chains ? losses_request(PMC_ID_INVALID, &rep, why) : call_missing(why, "chains");

	if (!err)
		*chains = rep.cut;
	return call_leave(err);
}

PMC_API_PUBLIC int pmc_get_chains(pmc_id_t pmcid, struct pmc_chains *chains)
{
	struct reason *why = call_enter();
	struct wire_losses rep;
	int err = chains ? losses_request(pmcid, &rep, why) : call_missing(why, "chains");

	if (err)
		return call_leave(err);
	*chains = (struct pmc_chains){
		.pm_chains = rep.chains, .pm_ended = rep.ended, .pm_whole = rep.whole,
		.pm_pointers = rep.pointers, .pm_cut = rep.cut,
		.pm_completed = rep.completed, .pm_late = rep.late,
	};
	memcpy(chains->pm_cuts, rep.cuts, sizeof(chains->pm_cuts));
	return call_leave(0);
}

PMC_API_PUBLIC int pmc_get_driver_stats(struct pmc_driverstats *stats)
{
	struct reason *why = call_enter();
	struct wire_driverstats rep = { .syscalls = 0 };
	int err = stats ? client_query(&pmc_lib, WIRE_OP_GETDRIVERSTATS, NULL, 0, &rep,
				       sizeof(rep), why) : call_missing(why, "stats");

	if (err)
		return call_leave(err);
	*stats = (struct pmc_driverstats){
		.pm_intr_ignored = rep.intr_ignored, .pm_intr_processed = rep.intr_processed,
		.pm_intr_bufferfull = rep.intr_bufferfull, .pm_syscalls = rep.syscalls,
		.pm_syscall_errors = rep.syscall_errors,
		.pm_buffer_requests = rep.buffer_requests,
		.pm_buffer_requests_failed = rep.buffer_requests_failed,
		.pm_log_sweeps = rep.log_sweeps,
	};
	return call_leave(0);
}
