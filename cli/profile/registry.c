/* SPDX-License-Identifier: BSD-2-Clause */
/* See who.h. */
#include <regex.h>
#include <stdio.h>

#include "cli/common/msg.h"
#include "registry.h"

/* The filter's processes: a number, or a name's expression. */
struct regexes {
	size_t n;
	struct regex {
		bool by_number;
		pid_t pid;
		regex_t name;
	} each[];
};

static bool parse_pid(const char *text, pid_t *pid)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	*pid = (pid_t)value;
	return end != text && !*end && !errno && value >= 0 && value == *pid;
}

int who_begin(struct who *who, const struct filter *filter)
{
	struct regexes *r = calloc(1, sizeof(*r) + filter->nprocesses * sizeof(r->each[0]));

	*who = (struct who){ .filter = filter, .regexes = r };
	if (!r)
		return fail(EX_OSERR, "ERROR: no memory for a log");
	for (size_t i = 0; i < filter->nprocesses; i++) {
		struct regex *regex = &r->each[i];
		char why[128];
		int err = 0;

		regex->by_number = parse_pid(filter->processes[i], &regex->pid);
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

void who_end(struct who *who)
{
	for (uint32_t i = 0; i < who->processes.n; i++)
		space_clear(&((struct process *)who->processes.each[i])->space);
	for (size_t i = 0; who->regexes && i < who->regexes->n; i++)
		if (!who->regexes->each[i].by_number)
			regfree(&who->regexes->each[i].name);
	free(who->regexes);
	roll_free(&who->events);
	roll_free(&who->processes);
	roll_free(&who->threads);
	roll_free(&who->texts);
}

void who_forget(struct who *who)
{
	for (; who->forgotten < who->processes.n; who->forgotten++)
		space_clear(&((struct process *)who->processes.each[who->forgotten])->space);
	index_free(&who->events.now);
	index_free(&who->processes.now);
	index_free(&who->threads.now);
}

/* --- by number ------------------------------------------------------------------------------- */

static uint32_t hash_number(uint32_t number)
{
	return index_fold(index_mix(0, number));
}

struct wanted {
	const struct roll *roll;
	uint32_t number;
};

static bool is_event(const void *arg, uint32_t position)
{
	const struct wanted *w = arg;
	const struct event *e = w->roll->each[position];

	return e->shown.id == w->number;
}

static bool is_process(const void *arg, uint32_t position)
{
	const struct wanted *w = arg;
	const struct process *p = w->roll->each[position];

	return (uint32_t)p->shown.pid == w->number;
}

static bool is_thread(const void *arg, uint32_t position)
{
	const struct wanted *w = arg;
	const struct thread *t = w->roll->each[position];

	return (uint32_t)t->shown.tid == w->number;
}

typedef bool is_it(const void *arg, uint32_t position);

static inline void *roll_find(const struct roll *roll, uint32_t number, is_it *is)
{
	const struct wanted wanted = { roll, number };
	uint32_t at = index_find(&roll->now, hash_number(number), is, &wanted);

	return at == INDEX_NONE ? NULL : roll->each[at];
}

struct event *who_event(const struct who *who, pmc_id_t id)
{
	return roll_find(&who->events, id, is_event);
}

struct process *who_process(const struct who *who, pid_t pid)
{
	return roll_find(&who->processes, (uint32_t)pid, is_process);
}

struct thread *who_thread(const struct who *who, pid_t tid)
{
	return roll_find(&who->threads, (uint32_t)tid, is_thread);
}

/* A bearer of `size` zero bytes, the newest; not yet found by any number.  NULL: no memory. */
static void *roll_add(struct roll *roll, size_t size)
{
	void **each = grow(roll->each, &roll->size, (size_t)roll->n + 1, sizeof(*each));
	void *one = each ? calloc(1, size) : NULL;

	if (each)
		roll->each = each;
	if (one)
		each[roll->n++] = one;
	return one;
}

/* From now on it is the newest who has the number. */
static int roll_appoint(struct roll *roll, uint32_t number, is_it *is)
{
	const struct wanted wanted = { roll, number };
	uint32_t hash = hash_number(number), newest = roll->n - 1;
	struct index_slot *slot;

	if (index_reserve(&roll->now) != 0)
		return -ENOMEM;
	slot = index_slot(&roll->now, hash, is, &wanted);
	roll->now.used += !slot->next;
	*slot = (struct index_slot){ hash, newest + 1 };
	return 0;
}

/* --- texts ----------------------------------------------------------------------------------- */

struct text {
	const struct roll *roll;
	const char *text;
};

static bool is_text(const void *arg, uint32_t position)
{
	const struct text *t = arg;

	return strcmp(t->roll->each[position], t->text) == 0;
}

const char *who_keep(struct who *who, const char *text)
{
	const struct text wanted = { &who->texts, text };
	uint64_t hash = 0;
	uint32_t at;
	char *copy;

	for (const char *c = text; *c; c++)
		hash = index_mix(hash, (unsigned char)*c);
	at = index_find(&who->texts.now, index_fold(hash), is_text, &wanted);
	if (at != INDEX_NONE)
		return who->texts.each[at];
	copy = roll_add(&who->texts, strlen(text) + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, strlen(text) + 1);
	return index_add(&who->texts.now, index_fold(hash), who->texts.n - 1) == 0 ? copy : NULL;
}

/* --- events ---------------------------------------------------------------------------------- */

static bool event_wanted(const struct filter *filter, const char *name)
{
	for (size_t i = 0; i < filter->nevents; i++)
		if (strcmp(filter->events[i], name) == 0)
			return true;
	return !filter->nevents;
}

const char *who_lacks_event(const struct who *who)
{
	for (size_t i = 0; i < who->filter->nevents; i++) {
		const char *name = who->filter->events[i];
		bool found = false;

		for (uint32_t n = 0; n < who->events.n && !found; n++) {
			const struct event *e = who->events.each[n];

			found = strcmp(e->shown.name, name) == 0;
		}
		if (!found)
			return name;
	}
	return NULL;
}

struct event *who_new_event(struct who *who, pmc_id_t id, const char *name)
{
	uint32_t number = who->events.n, first = number, others = 0;
	const char *kept = who_keep(who, name);
	char unique[PMC_NAME_MAX + 16];
	struct event *e;

	for (uint32_t i = number; i--;) {
		const struct event *other = who->events.each[i];

		if (other->shown.name == kept) {
			first = i;
			others++;
		}
	}
	snprintf(unique, sizeof(unique), "%.*s.%u", PMC_NAME_MAX, name, others);
	e = kept ? roll_add(&who->events, sizeof(*e)) : NULL;
	if (!e)
		return NULL;
	e->number = number;
	e->shown.id = id;
	e->shown.first = first;
	e->shown.name = kept;
	e->shown.unique = others ? who_keep(who, unique) : kept;
	e->wanted = event_wanted(who->filter, name);
	if (!e->shown.unique)
		return NULL;
	return roll_appoint(&who->events, id, is_event) == 0 ? e : NULL;
}

bool who_same_event(const struct event *e, const char *name, uint64_t rate)
{
	bool other_rate = rate && e->shown.rate && rate != e->shown.rate;

	return strcmp(e->shown.name, name) == 0 && !(other_rate && e->sampled);
}

/* --- processes ------------------------------------------------------------------------------- */

static bool process_wanted(const struct who *who, const struct process *p)
{
	for (size_t i = 0; i < who->regexes->n; i++) {
		const struct regex *r = &who->regexes->each[i];

		if (r->by_number ? r->pid == p->shown.pid :
				   regexec(&r->name, p->shown.name, 0, NULL, 0) == 0)
			return true;
	}
	return !who->regexes->n;
}

struct process *who_new_process(struct who *who, pid_t pid)
{
	struct process *p = roll_add(&who->processes, sizeof(*p));
	char name[32];

	if (!p)
		return NULL;
	snprintf(name, sizeof(name), "pid %d", (int)pid);
	p->shown.pid = pid;
	p->shown.number = who->processes.n - 1;
	p->shown.name = who_keep(who, name);
	if (!p->shown.name)
		return NULL;
	p->wanted = process_wanted(who, p);
	return roll_appoint(&who->processes, (uint32_t)pid, is_process) == 0 ? p : NULL;
}

int who_call_process(struct who *who, struct process *p, const char *name)
{
	const char *kept;

	if (!*name)
		return 0;
	kept = who_keep(who, name);
	if (!kept)
		return -ENOMEM;
	p->shown.name = kept;
	p->named = true;
	p->wanted = process_wanted(who, p);
	return 0;
}

int who_name_process(struct who *who, struct process *p, const char *path)
{
	const char *kept;

	if (!*path)
		return 0;
	kept = who_keep(who, path);
	if (!kept)
		return -ENOMEM;
	p->shown.path = kept;
	return who_call_process(who, p, path_name(path));
}

int who_call_thread(struct who *who, pid_t tid, const char *name)
{
	struct thread *t;

	if (!*name)
		return 0;
	t = roll_add(&who->threads, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->shown.tid = tid;
	t->shown.name = who_keep(who, name);
	return t->shown.name ? roll_appoint(&who->threads, (uint32_t)tid, is_thread) : -ENOMEM;
}
