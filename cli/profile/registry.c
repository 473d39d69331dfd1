/* SPDX-License-Identifier: BSD-2-Clause */
/* See registry.h. */
#include <regex.h>
#include <stdio.h>

#include "lib/base/array.h"
#include "cli/common/common.h"
#include "registry.h"

/* The filter's processes: a pid, or a regular expression for the name. */
struct regexes {
	size_t n;
	struct regex {
		bool by_number;
		pid_t pid;
		regex_t name;
	} each[];
};

static bool pid_parse(const char *text, pid_t *pid)
{
	uint64_t value;

	if (opt_number(text, 10, 0, INT32_MAX, &value) != 0)
		return false;
	*pid = (pid_t)value;
	return true;
}

int registry_begin(struct registry *reg, const struct filter *filter)
{
	struct regexes *r = calloc(1, sizeof(*r) + filter->nprocesses * sizeof(r->each[0]));

	*reg = (struct registry){ .filter = filter, .regexes = r };
	if (!r)
		return fail(EX_OSERR, "ERROR: no memory for a log");
	for (size_t i = 0; i < filter->nprocesses; i++) {
		struct regex *regex = &r->each[i];
		char why[128];
		int err = 0;

		regex->by_number = pid_parse(filter->processes[i], &regex->pid);
		if (!regex->by_number)
			err = regcomp(&regex->name, filter->processes[i], REG_EXTENDED | REG_NOSUB);
		if (err) {
			regerror(err, &regex->name, why, sizeof(why));
			return fail(EX_DATAERR, "ERROR: Failed to compile regex \"%s\": %s",
				    filter->processes[i], why);
		}
		r->n++;
	}
	return 0;
}

static void roll_free(struct roll *roll)
{
	for (uint32_t i = 0; i < roll->n; i++)
		free(roll->each[i]);
	free(roll->each);
	index_free(&roll->now);
}

void registry_end(struct registry *reg)
{
	for (uint32_t i = 0; i < reg->processes.n; i++)
		space_clear(&((struct log_process *)reg->processes.each[i])->space);
	for (size_t i = 0; reg->regexes && i < reg->regexes->n; i++)
		if (!reg->regexes->each[i].by_number)
			regfree(&reg->regexes->each[i].name);
	free(reg->regexes);
	roll_free(&reg->events);
	roll_free(&reg->processes);
	roll_free(&reg->threads);
	roll_free(&reg->texts);
}

void registry_forget(struct registry *reg)
{
	memset(reg->zombies, 0, sizeof(reg->zombies));
	for (; reg->forgotten < reg->processes.n; reg->forgotten++)
		space_clear(&((struct log_process *)reg->processes.each[reg->forgotten])->space);
	index_free(&reg->events.now);
	index_free(&reg->processes.now);
	index_free(&reg->threads.now);
}

/* --- by id ----------------------------------------------------------------------------------- */

static uint32_t id_hash(uint32_t id)
{
	return index_fold(index_mix(0, id));
}

struct wanted_id {
	const struct roll *roll;
	uint32_t id;
};

static bool event_has_id(const void *arg, uint32_t position)
{
	const struct wanted_id *w = arg;
	const struct log_event *e = w->roll->each[position];

	return e->shown.id == w->id;
}

static bool process_has_id(const void *arg, uint32_t position)
{
	const struct wanted_id *w = arg;
	const struct log_process *p = w->roll->each[position];

	return (uint32_t)p->shown.pid == w->id;
}

static bool thread_has_id(const void *arg, uint32_t position)
{
	const struct wanted_id *w = arg;
	const struct log_thread *t = w->roll->each[position];

	return (uint32_t)t->shown.tid == w->id;
}

typedef bool has_id(const void *arg, uint32_t position);

static inline void *roll_find(const struct roll *roll, uint32_t id, has_id *is)
{
	const struct wanted_id wanted = { roll, id };
	uint32_t at = index_find(&roll->now, id_hash(id), is, &wanted);

	return at == INDEX_NONE ? NULL : roll->each[at];
}

struct log_event *registry_event(const struct registry *reg, pmc_id_t id)
{
	return roll_find(&reg->events, id, event_has_id);
}

struct log_process *registry_process(const struct registry *reg, pid_t pid)
{
	return roll_find(&reg->processes, (uint32_t)pid, process_has_id);
}

struct log_thread *registry_thread(const struct registry *reg, pid_t tid)
{
	return roll_find(&reg->threads, (uint32_t)tid, thread_has_id);
}

/* A new entry of `size` zero bytes, which has no id yet.  NULL: no memory. */
static void *roll_add(struct roll *roll, size_t size)
{
	void *one = array_reserve(roll->each, roll->size, roll->n + 1) ? NULL : calloc(1, size);

	if (one)
		roll->each[roll->n++] = one;
	return one;
}

/* Gives the id to the newest entry. */
static int roll_set_id(struct roll *roll, uint32_t id, has_id *is)
{
	const struct wanted_id wanted = { roll, id };
	uint32_t hash = id_hash(id), newest = roll->n - 1;
	struct index_slot *slot;

	if (index_reserve(&roll->now) != 0)
		return -ENOMEM;
	slot = index_slot(&roll->now, hash, is, &wanted);
	roll->now.used += !slot->next;
	*slot = (struct index_slot){ hash, newest + 1 };
	return 0;
}

/* --- texts ----------------------------------------------------------------------------------- */

struct wanted_text {
	const struct roll *roll;
	const char *text;
};

static bool text_is(const void *arg, uint32_t position)
{
	const struct wanted_text *t = arg;

	return strcmp(t->roll->each[position], t->text) == 0;
}

const char *registry_text(struct registry *reg, const char *text)
{
	const struct wanted_text wanted = { &reg->texts, text };
	uint64_t hash = 0;
	uint32_t at;
	char *copy;

	for (const char *c = text; *c; c++)
		hash = index_mix(hash, (unsigned char)*c);
	at = index_find(&reg->texts.now, index_fold(hash), text_is, &wanted);
	if (at != INDEX_NONE)
		return reg->texts.each[at];
	copy = roll_add(&reg->texts, strlen(text) + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, strlen(text) + 1);
	return index_add(&reg->texts.now, index_fold(hash), reg->texts.n - 1) == 0 ? copy : NULL;
}

/* --- events ---------------------------------------------------------------------------------- */

static bool event_is_wanted(const struct filter *filter, const char *name)
{
	for (size_t i = 0; i < filter->nevents; i++)
		if (strcmp(filter->events[i], name) == 0)
			return true;
	return !filter->nevents;
}

static const char *registry_lacks_event(const struct registry *reg)
{
	for (size_t i = 0; i < reg->filter->nevents; i++) {
		const char *name = reg->filter->events[i];
		bool found = false;

		for (uint32_t n = 0; n < reg->events.n && !found; n++) {
			const struct log_event *e = reg->events.each[n];

			found = strcmp(e->shown.name, name) == 0;
		}
		if (!found)
			return name;
	}
	return NULL;
}

struct log_event *registry_add_event(struct registry *reg, pmc_id_t id, const char *name)
{
	uint32_t number = reg->events.n, first = number, others = 0;
	const char *kept = registry_text(reg, name);
	char unique[PMC_NAME_MAX + 16];
	struct log_event *e;

	for (uint32_t i = number; i--;) {
		const struct log_event *other = reg->events.each[i];

		if (other->shown.name == kept) {
			first = i;
			others++;
		}
	}
	snprintf(unique, sizeof(unique), "%.*s.%u", PMC_NAME_MAX, name, others);
	e = kept ? roll_add(&reg->events, sizeof(*e)) : NULL;
	if (!e)
		return NULL;
	e->number = number;
	e->shown.id = id;
	e->shown.first = first;
	e->shown.name = kept;
	e->shown.unique = others ? registry_text(reg, unique) : kept;
	e->wanted = event_is_wanted(reg->filter, name);
	if (!e->shown.unique)
		return NULL;
	return roll_set_id(&reg->events, id, event_has_id) == 0 ? e : NULL;
}

bool registry_same_event(const struct log_event *e, const char *name, uint64_t rate)
{
	bool other_rate = rate && e->shown.rate && rate != e->shown.rate;

	return strcmp(e->shown.name, name) == 0 && !(other_rate && e->sampled);
}

/* --- processes ------------------------------------------------------------------------------- */

static bool process_is_wanted(const struct registry *reg, const struct log_process *p)
{
	for (size_t i = 0; i < reg->regexes->n; i++) {
		const struct regex *r = &reg->regexes->each[i];

		if (r->by_number ? r->pid == p->shown.pid :
				   regexec(&r->name, p->shown.name, 0, NULL, 0) == 0)
			return true;
	}
	return !reg->regexes->n;
}

struct log_process *registry_add_process(struct registry *reg, pid_t pid)
{
	struct log_process *p = roll_add(&reg->processes, sizeof(*p));
	char name[32];

	if (!p)
		return NULL;
	snprintf(name, sizeof(name), "pid %d", (int)pid);
	p->shown.pid = pid;
	p->shown.number = reg->processes.n - 1;
	p->shown.name = registry_text(reg, name);
	if (!p->shown.name)
		return NULL;
	p->wanted = process_is_wanted(reg, p);
	return roll_set_id(&reg->processes, (uint32_t)pid, process_has_id) == 0 ? p : NULL;
}

/* Old logs have samples behind the exit of their process. */
void registry_retire(struct registry *reg, struct log_process *p)
{
	struct log_process **place = &reg->zombies[reg->zombie++ % REGISTRY_ZOMBIES];

	p->gone = true;
	if (*place)
		space_clear(&(*place)->space);
	*place = p;
}

int registry_name_process(struct registry *reg, struct log_process *p, const char *name)
{
	const char *kept;

	if (!*name)
		return 0;
	kept = registry_text(reg, name);
	if (!kept)
		return -ENOMEM;
	p->shown.name = kept;
	p->named = true;
	p->wanted = process_is_wanted(reg, p);
	return 0;
}

int registry_set_path(struct registry *reg, struct log_process *p, const char *path)
{
	const char *kept;

	if (!*path)
		return 0;
	kept = registry_text(reg, path);
	if (!kept)
		return -ENOMEM;
	p->shown.path = kept;
	return registry_name_process(reg, p, path_name(path));
}

int registry_name_thread(struct registry *reg, pid_t tid, const char *name)
{
	struct log_thread *t;

	if (!*name)
		return 0;
	t = roll_add(&reg->threads, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->shown.tid = tid;
	t->shown.name = registry_text(reg, name);
	return t->shown.name ? roll_set_id(&reg->threads, (uint32_t)tid, thread_has_id) : -ENOMEM;
}

bool registry_takes_time(struct registry *reg, struct log_event *e)
{
	if (!e->clock || e->timed)
		return true;
	e->timed = true;
	for (uint32_t i = 0; i < reg->events.n && clock_hz_spec(e->clock); i++) {
		const struct log_event *other = reg->events.each[i];

		if (!other->timed || other->clock == e->clock || !clock_hz_spec(other->clock))
			continue;
		fail(EX_USAGE, "ERROR: \"%s\" and \"%s\" measure the same time, so --wall takes "
		     "one of them: pmc filter --drop -e %s makes a log without the other",
		     other->clock, e->clock, e->clock);
		return false;
	}
	return true;
}

static bool registry_has_time(const struct registry *reg)
{
	for (uint32_t i = 0; i < reg->events.n; i++)
		if (((const struct log_event *)reg->events.each[i])->clock)
			return true;
	return false;
}

int registry_check_events(const struct registry *reg, const char *log)
{
	const char *lacks = registry_lacks_event(reg);
	struct buf names = { 0 };
	int code;

	if (reg->filter->wall && !registry_has_time(reg))
		return fail(EX_USAGE, "ERROR: \"%s\" has no event that is time, which --wall puts "
			    "on one scale: pmc record --wall samples some", log);
	if (!lacks)
		return 0;
	for (uint32_t i = 0; i < reg->events.n; i++) {
		const struct log_event *e = reg->events.each[i];

		if (e->shown.first == i)
			buf_printf(&names, "%s%s", names.len ? ", " : "", e->shown.name);
	}
	code = fail(EX_USAGE, "ERROR: \"%s\" has no event \"%s\", but: %.*s", log, lacks,
		    (int)names.len, names.len ? names.data : "");
	buf_free(&names);
	return code;
}

bool registry_passes(const struct registry *reg, const struct walk_sample *s,
		     const struct log_event *e, const struct log_process *p)
{
	const struct filter *f = reg->filter;
	double seconds = (double)s->time / 1e9;
	bool thread = !f->nthreads;

	for (size_t i = 0; i < f->nthreads && !thread; i++)
		thread = f->threads[i] == s->tid;
	if (f->by_cpu && (s->cpu < 0 || s->cpu >= CPULIST_MAX ||
			  !(f->cpus.bits[s->cpu / 64] >> (s->cpu % 64) & 1)))
		return false;
	return thread && e->wanted && p->wanted && seconds >= f->from &&
	       (f->to <= 0 || seconds <= f->to);
}
