/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classes of events, on the library's side: SOFT, TSC, TRACEPOINT, PROBE, BREAKPOINT, MSR, PERF and
 * the hardware classes (one table serves them all).  All differences between classes are entries of
 * these tables; a new class has a file class_NAME.c and a line in class.c.
 */
#ifndef PMCBPF_EVENT_CLASS_H
#define PMCBPF_EVENT_CLASS_H

#include <sys/pmc.h>

#include "machine.h"

/* An event of a list.  Strings are valid during the call. */
struct event {
	const char *name;
	const char *desc;	/* NULL: its class has no descriptions */
	const char *more;	/* the unit mask's description, or NULL */
	const char *terms;	/* the kernel's words for it, or NULL */
	const char *pmu;	/* NULL: its class's */
	bool again;		/* from a second source, which may repeat names of the first */
};
typedef int event_fn(void *arg, const struct event *event);

struct event_class {
	bool bare;		/* its events are found without the prefix of the class */
	bool hardware;		/* its rows are counters of a PMU */
	bool interned;		/* the numbers of its events are private to the process */
	bool described;		/* its events have descriptions */
	bool bare_last;		/* … as well, if no class of the hardware has such an event */
	bool late;		/* its list is long, and asked for when somebody needs it */

	/* Fills in event, caps, config and event_name.  -ENOENT: the class has no such event. */
	int (*resolve)(const struct machine *m, const char *root,
		       const struct wire_classinfo *info, const struct evspec *spec,
		       struct wire_allocate_req *req, struct reason *why);
	/*
	 * Opens the file that the event is in, and completes the request with its place there; *fd
	 * is -1 if it is in no file.  NULL: no event of this class is.
	 */
	int (*open)(const char *spec, struct wire_allocate_req *req, int *fd, struct reason *why);
	/*
	 * Calls fn for each event until it returns not 0, which is returned.  info is NULL if the
	 * machine has no such class.
	 */
	int (*each)(const struct machine *m, const char *root, const struct wire_classinfo *info,
		    event_fn *fn, void *arg);
	/* The list of events that the daemon has sent.  NULL: it sends none. */
	struct machine_events *(*listed)(struct machine *m);
	/* About a thousand samples a second.  0: not known; NULL: no event samples. */
	uint64_t (*period)(const char *name);
	/* The scale and unit of an event, by its name in requests: "2.3e-10 Joules", or "". */
	void (*unit)(const char *root, const char *name, char *buf, size_t size);
};

extern const struct event_class class_soft, class_tsc, class_tracepoint, class_breakpoint,
	class_probe, class_msr, class_perf, class_hardware;

const struct event_class *class_of(uint32_t class);

/* Takes the qualifiers usr and os: 1; 0: it is another one; -EINVAL: it has a value. */
int class_side_take(const struct evspec_pair *qual, struct wire_allocate_req *req,
		    struct reason *why);
/* Behind the qualifiers that a class has, for one that samples. */
#define CLASS_SAMPLES ", and for samples those of pmc.perf(3)"
/* Refuses a qualifier of `what`, which has those in `known`. */
int class_qualifier_deny(const struct evspec_pair *qual, const char *what, const char *known,
			 struct reason *why);

#endif
