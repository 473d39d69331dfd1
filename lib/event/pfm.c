/* SPDX-License-Identifier: BSD-2-Clause */
/* libpfm4, opened at run time: a program that counts page faults should not need it. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib_perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "pfm.h"

#define PFM_LIBRARY "libpfm.so.4"
#define PFM_FUNCTIONS(X)								\
	X(pfm_initialize) X(pfm_strerror) X(pfm_get_pmu_info) X(pfm_get_event_next)	\
	X(pfm_get_event_info) X(pfm_get_event_attr_info) X(pfm_get_os_event_encoding)

/*
 * Functions and state of the loaded library; `lock` serialises it, for it promises no thread
 * safety.
 */
static struct {
	pthread_mutex_t lock;
	bool tried;
	int err;
	char error[160];
#define MEMBER(name) __typeof__(name) *name;
	PFM_FUNCTIONS(MEMBER)
#undef MEMBER
} pfm = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int pfm_load_functions(void)
{
	void *handle = dlopen(PFM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	int ret;

	if (!handle) {
		snprintf(pfm.error, sizeof(pfm.error),
			 "%s is not installed, which knows more names", PFM_LIBRARY);
		return -ENOSYS;
	}
#define LOAD(name)									\
	*(void **)&pfm.name = dlsym(handle, #name);					\
	if (!pfm.name) {								\
		snprintf(pfm.error, sizeof(pfm.error), "%s lacks %s", PFM_LIBRARY, #name); \
		dlclose(handle);							\
		return -ENOSYS;								\
	}
	PFM_FUNCTIONS(LOAD)
#undef LOAD
	ret = pfm.pfm_initialize();
	if (ret != PFM_SUCCESS) {
		snprintf(pfm.error, sizeof(pfm.error), "%s: %s", PFM_LIBRARY,
			 pfm.pfm_strerror(ret));
		dlclose(handle);
		return -ENOSYS;
	}
	return 0;
}

/* Caller holds the lock. */
static int pfm_load(void)
{
	if (!pfm.tried) {
		pfm.err = pfm_load_functions();
		pfm.tried = true;
	}
	return pfm.err;
}

/* One event or event with unit mask, as the walk meets it. */
struct walk {
	int (*fn)(struct walk *w, const char *pmu, const char *event, const char *umask,
		  const char *desc, const char *umask_desc);
	const char *wanted;
	char found[WIRE_NAME_MAX * 3];	/* PMU::EVENT:UMASK */
	char name[WIRE_NAME_MAX];
	bool umasks;			/* the event has unit masks */
	pfm_each_fn *each;
	void *arg;
};

static bool pfm_is_umask(int event, int index, pfm_event_attr_info_t *attr)
{
	*attr = (pfm_event_attr_info_t){ .size = sizeof(*attr) };
	return pfm.pfm_get_event_attr_info(event, index, PFM_OS_NONE, attr) == PFM_SUCCESS &&
	       attr->type == PFM_ATTR_UMASK;
}

static int pfm_walk_event(struct walk *w, const char *pmu, int index)
{
	pfm_event_info_t event = { .size = sizeof(event) };
	pfm_event_attr_info_t attr;
	int i, stop;

	if (pfm.pfm_get_event_info(index, PFM_OS_NONE, &event) != PFM_SUCCESS)
		return 0;
	w->umasks = false;
	for (i = 0; i < event.nattrs && !w->umasks; i++)
		w->umasks = pfm_is_umask(index, i, &attr);
	stop = w->fn(w, pmu, event.name, NULL, event.desc, NULL);
	for (i = 0; i < event.nattrs && !stop; i++)
		if (pfm_is_umask(index, i, &attr))
			stop = w->fn(w, pmu, event.name, attr.name, event.desc, attr.desc);
	return stop;
}

/* Every event of the core PMUs that are present; perf's generic ones are not among them. */
static int pfm_walk(struct walk *w)
{
	int p, i, stop = 0;

	for (p = PFM_PMU_NONE; p < PFM_PMU_MAX && !stop; p++) {
		pfm_pmu_info_t pmu = { .size = sizeof(pmu) };

		if (pfm.pfm_get_pmu_info(p, &pmu) != PFM_SUCCESS || !pmu.is_present ||
		    pmu.type != PFM_PMU_TYPE_CORE)
			continue;
		for (i = pmu.first_event; i != -1 && !stop; i = pfm.pfm_get_event_next(i))
			stop = pfm_walk_event(w, pmu.name, i);
	}
	return stop;
}

/* "inst_retired.any_p" is INST_RETIRED with the unit mask ANY_P. */
static bool pfm_name_matches(const char *wanted, const char *event, const char *umask)
{
	size_t n = strlen(event);

	if (!umask)
		return evspec_same(wanted, event);
	return evspec_same_n(wanted, n, event) && wanted[n] && strchr(" _-.:", wanted[n]) &&
	       evspec_same(wanted + n + 1, umask);
}

static int pfm_find_one(struct walk *w, const char *pmu, const char *event, const char *umask,
			const char *desc, const char *umask_desc)
{
	if (!pfm_name_matches(w->wanted, event, umask))
		return 0;
	snprintf(w->found, sizeof(w->found), "%s::%s%s%s", pmu, event, umask ? ":" : "",
		 umask ? umask : "");
	snprintf(w->name, sizeof(w->name), "%s%s%s", event, umask ? "." : "", umask ? umask : "");
	return 1;
}

static int pfm_encode(const char *name, const char *text, uint32_t type, struct pmu_event *event,
		      struct reason *why)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };
	int ret = pfm.pfm_get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);

	if (ret != PFM_SUCCESS)
		return deny(why, -EINVAL, "%s: libpfm4 cannot encode it: %s", name,
			    pfm.pfm_strerror(ret));
	/* The words mean the same whether the kernel calls the core PMU raw or by its own type. */
	if (attr.type != PERF_TYPE_RAW && attr.type != type)
		return deny(why, -EINVAL, "%s: not an event of the core PMU", name);
	event->config[0] = attr.config;
	event->config[1] = attr.config1;
	event->config[2] = attr.config2;
	return 0;
}

int pfm_event(const char *name, uint32_t type, struct pmu_event *event, struct reason *why)
{
	struct walk w = { .fn = pfm_find_one, .wanted = name };
	int err;

	pthread_mutex_lock(&pfm.lock);
	err = pfm_load();
	if (err)
		deny(why, err, "%s", pfm.error);
	else if (pfm_walk(&w) == 0)
		err = -ENOENT;
	else
		err = pfm_encode(name, w.found, type, event, why);
	pthread_mutex_unlock(&pfm.lock);
	if (!err)
		memcpy(event->name, w.name, sizeof(event->name));
	return err;
}

static int pfm_offer_one(struct walk *w, const char *pmu, const char *event, const char *umask,
			 const char *desc, const char *umask_desc)
{
	struct pfm_event e = { .name = w->name, .desc = desc, .umask_desc = umask_desc };

	/* An event with unit masks is listed by its masks; its bare name is an abbreviation. */
	if (w->umasks && !umask)
		return 0;
	snprintf(w->name, sizeof(w->name), "%s%s%s", event, umask ? "." : "", umask ? umask : "");
	return w->each(w->arg, &e);
}

int pfm_each(pfm_each_fn *fn, void *arg)
{
	struct walk w = { .fn = pfm_offer_one, .each = fn, .arg = arg };
	int stop = 0, cancel;

	/* The callback may print to a slow pager: signals are not deferred. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&pfm.lock);
	if (pfm_load() == 0)
		stop = pfm_walk(&w);
	pthread_mutex_unlock(&pfm.lock);
	pthread_setcancelstate(cancel, NULL);
	return stop;
}
