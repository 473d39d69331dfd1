/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Class PROBE: places in user code.  The client finds the place in the file, which it opens with
 * its own rights; no file is parsed and no path is looked up here.  Its rows are only numbers.
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

#define CAPS_PROBE (PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_USER)

/* Of instructions, where all are equally long. */
#ifdef __aarch64__
#define ALIGNMENT 4u
#else
#define ALIGNMENT 1u
#endif

/* The names are those of the specifiers, and of the administrator's rules. */
static const char *const kinds[] = {
	[WIRE_PROBE_UPROBE] = "uprobe", [WIRE_PROBE_URETPROBE] = "uretprobe",
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

	return probes_here() ? row_add_class(t, &class, why) : 0;
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
	if (a->probe >= KINDS || !kinds[a->probe])
		return deny(why, -EINVAL, "%s: no kind of probe has the number %u", p->name,
			    a->probe);
	snprintf(p->number, sizeof(p->number), "%s", kinds[a->probe]);
	if (a->config || a->config1 || a->config2)
		return deny(why, -EINVAL, "%s: a probe has a place in a file, no configuration",
			    p->name);
	return 0;
}

static int class_probe_plan_sites(const struct allocation *p, const struct stat *st,
				  struct reason *why)
{
	const struct wire_allocate_req *a = p->a;

	if (a->probe_sites != 1 || a->probe_semaphore)
		return deny(why, -EINVAL, "%s: %u places and the semaphore 0x%llx: a %s has one "
			    "place and no semaphore", p->name, a->probe_sites,
			    (unsigned long long)a->probe_semaphore, kinds[a->probe]);
	for (unsigned int i = 0; i < a->probe_sites; i++) {
		unsigned long long at = a->probe_site[i];

		if (at >= (unsigned long long)st->st_size)
			return deny(why, -EINVAL, "%s: offset 0x%llx is behind the file's end; the "
				    "file has %lld bytes", p->name, at, (long long)st->st_size);
		if (at % ALIGNMENT)
			return deny(why, -EINVAL, "%s: there is no instruction at offset 0x%llx: "
				    "all begin at multiples of %u", p->name, at, ALIGNMENT);
	}
	return 0;
}

static int class_probe_plan(struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	struct setting_question q = { .jailed = p->jailed };
	struct stat st;
	int err = class_probe_plan_name(p, why);

	if (err)
		return err;
	if (p->file < 0)
		return deny(why, -EFAULT, "%s: the request has no file", p->name);
	if (fstat(p->file, &st))
		return deny(why, -errno, "%s: %s", p->name, strerror(errno));
	q.event = p->name;
	q.owns = st.st_uid == p->cred->uid[ID_REAL];
	err = grant_check(p->by, POINT_PROBE, p->cred, &q, why);
	err = err ?: class_probe_plan_sites(p, &st, why);
	if (err)
		return err;
	p->probe = (struct probe_spec){
		.kind = a->probe, .file = p->file, .name = p->name, .nsites = a->probe_sites,
		.semaphore = a->probe_semaphore,
	};
	memcpy(p->probe.site, a->probe_site, a->probe_sites * sizeof(a->probe_site[0]));
	p->spec.from = COUNT_FROM_PROBE;
	p->spec.probe = &p->probe;
	return 0;
}

const struct class_ops class_probe = {
	.events = PMC_CLASS_PROBE, .separator = "", .shared = true, .files = true,
	.holder = &holder_own, .add_rows = class_probe_add_rows, .plan = class_probe_plan,
};
