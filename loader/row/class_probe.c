/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Class PROBE: places in user code and in the kernel.  The client finds a place in a file, which it
 * opens with its own rights; no file is parsed and no path is looked up here.  Its rows are only
 * numbers.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sys/pmc.h>

#include "class.h"
#include "loader/kernel/kernel.h"
#include "loader/policy/policy.h"
#include "row.h"

/* Together with the other classes' there is room for them among the rows of processes. */
#define ROWS 8u

#define CAPS_PROBE (PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_USER | PMC_CAP_SYSTEM | \
		    PMC_CAP_INTERRUPT)

/* Of instructions, where all are equally long. */
#ifdef __aarch64__
#define ALIGNMENT 4u
#else
#define ALIGNMENT 1u
#endif

/* The names are those of the specifiers, and of the administrator's rules. */
static const struct probe_kind {
	const char *name;
	unsigned int sites;		/* at most */
	bool kernel;			/* its place is in the kernel, else in a file */
	bool offset;			/* … which may be inside of a function */
	bool semaphore;
	bool by_thread;			/* the kernel counts a single thread's hits, and all */
} kinds[] = {
	[WIRE_PROBE_UPROBE] = { .name = "uprobe", .sites = 1, .by_thread = true },
	[WIRE_PROBE_URETPROBE] = { .name = "uretprobe", .sites = 1 },
	[WIRE_PROBE_USDT] = { .name = "usdt", .sites = WIRE_PROBE_SITES, .semaphore = true,
			      .by_thread = true },
	[WIRE_PROBE_KPROBE] = { .name = "kprobe", .sites = 1, .kernel = true, .offset = true },
	[WIRE_PROBE_KRETPROBE] = { .name = "kretprobe", .sites = 1, .kernel = true },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static int class_probe_add_rows(struct row_table *t, const struct class_machine *m,
				struct reason *why)
{
	const struct row_class class = {
		.ops = &class_probe, .prefix = "PROBE", .numbered = true,
		.info = { .class = PMC_CLASS_PROBE, .caps = CAPS_PROBE, .width = 64, .num = ROWS,
			  .perf_type = ~0u },
	};

	return probes_here() || probes_in_kernel() ? row_add_class(t, &class, why) : 0;
}

/* The name is the client's word, which other users see in lists. */
static int class_probe_plan_name(struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	const char *end = memchr(a->event_name, '\0', sizeof(a->event_name));

	for (const char *c = a->event_name; end && c < end; c++)
		if (!isprint((unsigned char)*c))
			end = NULL;
	if (!end || end == a->event_name)
		return deny(why, -EINVAL, "an event's name is printable and at most %u bytes long",
			    WIRE_NAME_MAX - 1);
	memcpy(p->name, a->event_name, sizeof(p->name));
	p->named_by_client = true;
	if (a->probe >= KINDS || !kinds[a->probe].name)
		return deny(why, -EINVAL, "%s: no kind of probe has the number %u", p->name,
			    a->probe);
	snprintf(p->number, sizeof(p->number), "%s", kinds[a->probe].name);
	if (a->config || a->config1 || a->config2)
		return deny(why, -EINVAL, "%s: a probe has a place, no configuration", p->name);
	if (a->caps & (kinds[a->probe].kernel ? PMC_CAP_USER : PMC_CAP_SYSTEM))
		return deny(why, -EINVAL, "%s is a place in %s", p->name, kinds[a->probe].kernel ?
			    "the kernel: usr would count nothing" :
			    "user code: os would count nothing");
	return 0;
}

static int class_probe_plan_places(const struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	const struct probe_kind *kind = &kinds[a->probe];

	if (!a->probe_sites || a->probe_sites > kind->sites)
		return deny(why, -EINVAL, "%s: %u places: a probe of kind %s has at most %u",
			    p->name, a->probe_sites, kind->name, kind->sites);
	for (unsigned int i = 0; i < a->probe_sites; i++)
		if (a->probe_semaphore[i] && !kind->semaphore)
			return deny(why, -EINVAL, "%s: the semaphore 0x%x: a probe of kind %s has "
				    "none", p->name, a->probe_semaphore[i], kind->name);
	if (kind->kernel && a->probe_site[0] && !kind->offset)
		return deny(why, -EINVAL, "%s: %s counts returns of a function: it takes no "
			    "offset", p->name, kind->name);
	return 0;
}

/* --- places in files ------------------------------------------------------------------------- */

static int class_probe_plan_file(struct allocation *p, const struct stat *st, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;

	for (unsigned int i = 0; i < a->probe_sites; i++) {
		unsigned long long at = a->probe_site[i];

		if (at >= (unsigned long long)st->st_size)
			return deny(why, -EINVAL, "%s: offset 0x%llx is behind the file's end; the "
				    "file has %lld bytes", p->name, at, (long long)st->st_size);
		if (at % ALIGNMENT)
			return deny(why, -EINVAL, "%s: there is no instruction at offset 0x%llx: "
				    "all begin at multiples of %u", p->name, at, ALIGNMENT);
	}
	if (*a->filter)
		return deny(why, -EINVAL, "%s: a place in a file has no filter", p->name);
	p->probe.file = p->file;
	return 0;
}

static int class_probe_plan_user(struct allocation *p, struct setting_question *q,
				 struct reason *why)
{
	struct stat st;
	int err;

	if (!probes_here())
		return deny(why, -EOPNOTSUPP, "%s: this kernel has no probes in user code; it "
			    "takes CONFIG_UPROBE_EVENTS", p->name);
	if (p->file < 0)
		return deny(why, -EFAULT, "%s: the request has no file", p->name);
	if (fstat(p->file, &st))
		return deny(why, -errno, "%s: %s", p->name, strerror(errno));
	q->owns = st.st_uid == p->cred->uid[ID_REAL];
	err = grant_check(p->by, POINT_PROBE, p->cred, q, why);
	return err ?: class_probe_plan_file(p, &st, why);
}

/* --- places in the kernel -------------------------------------------------------------------- */

static bool function_valid(const struct wire_allocate_req *a)
{
	const char *end = memchr(a->filter, '\0', sizeof(a->filter));

	if (!end || end == a->filter || end - a->filter >= (ptrdiff_t)PROBE_FUNCTION)
		return false;
	for (const char *c = a->filter; c < end; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.' && *c != '$')
			return false;
	return true;
}

static int class_probe_plan_kernel(struct allocation *p, struct setting_question *q,
				   struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	int err;

	q->admin = true;
	err = grant_check(p->by, POINT_PROBE, p->cred, q, why);
	if (err)
		return err;
	if (!probes_in_kernel())
		return deny(why, -EOPNOTSUPP, "%s: this kernel has no kprobes; it takes "
			    "CONFIG_KPROBE_EVENTS, and tracepoints count without it", p->name);
	if (p->file >= 0)
		return deny(why, -EINVAL, "%s: a place in the kernel is in no file", p->name);
	if (!function_valid(a))
		return deny(why, -EINVAL, "%s: this is no function's name", p->name);
	p->probe.file = -1;
	p->probe.function = a->filter;
	p->spec.in_kernel = true;
	return probe_check_function(p->machine->engine, a->filter, a->probe_site[0], why);
}

/* Hits that the kernel does not count for a single thread are counted in the thread's slices. */
static int class_probe_plan_scope(struct allocation *p, struct reason *why)
{
	if (p->spec.cgroup && !p->spec.sampling &&
	    !count_slices_cgroup(p->machine->engine, &p->spec))
		return deny(why, -EOPNOTSUPP, "%s cannot be counted for a cgroup here: perf counts "
			    "cgroups on this kernel (pmc_attach_cgroup(3)), and has no hits of "
			    "probes; count the processes", p->name);
	p->spec.alone = p->spec.thread && !p->spec.sampling && !kinds[p->a->probe].by_thread;
	return p->spec.alone || p->spec.sampling ? class_check_thread(p, why) : 0;
}

static int class_probe_plan(struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	struct setting_question q = { .jailed = p->jailed };
	int err = class_probe_plan_name(p, why);

	err = err ?: class_probe_plan_places(p, why);
	if (err)
		return err;
	q.event = p->name;
	p->probe = (struct probe_spec){
		.kind = a->probe, .name = p->name, .nsites = a->probe_sites,
	};
	memcpy(p->probe.site, a->probe_site, a->probe_sites * sizeof(a->probe_site[0]));
	for (unsigned int i = 0; i < a->probe_sites; i++)
		p->probe.semaphore[i] = a->probe_semaphore[i];
	p->spec.from = COUNT_FROM_PROBE;
	p->spec.probe = &p->probe;
	p->probe.samples = p->spec.sampling;
	err = class_probe_plan_scope(p, why);
	if (err)
		return err;
	return kinds[a->probe].kernel ? class_probe_plan_kernel(p, &q, why) :
					class_probe_plan_user(p, &q, why);
}

const struct class_ops class_probe = {
	.events = PMC_CLASS_PROBE, .separator = "", .shared = true, .filters = true,
	.files = true, .threads = true, .cgroups = true, .holder = &holder_own,
	.add_rows = class_probe_add_rows, .plan = class_probe_plan,
};
