/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs' notes, as far as owners are concerned. */
#include <signal.h>

#include "owner_notes.h"
#include "loader/op/logbook.h"
#include "loader/kernel/notes.h"
#include "loader/pmc/pmc.h"

struct look {
	struct daemon *d;
	void (*execed)(void *arg, struct owner *o);
	void *arg;
	bool everything;		/* a note has said too little, or is missing */
};

static void orphaned(void *arg, const struct count_owner *owner, pid_t tgid)
{
	struct look *l = arg;

	for (struct owner *o = owner_first(&l->d->owners, tgid); o; o = owner_next(o))
		if (o->counts == owner)
			l->d->raise(o, SIGIO);
}

/*
 * What its connections hold may take longer to end: meanwhile the new program can connect, and has
 * nothing of it.
 */
static void end_owner(struct look *l, struct owner *o)
{
	owner_end(&l->d->owners, o);
	l->execed(l->arg, o);
}

static void owner_execed(struct look *l, pid_t tgid)
{
	struct owner *o = owner_first(&l->d->owners, tgid), *next;

	for (; o; o = next) {
		next = owner_next(o);
		end_owner(l, o);
	}
}

/* Each owner may end in the middle of it. */
static void look_at_owners(struct look *l)
{
	struct owner_table *t = &l->d->owners;

	for (unsigned int b = 0; b < t->buckets; b++)
		for (struct owner *o = t->bucket[b], *next; o; o = next) {
			next = o->next;
			if (!o->ended &&
			    notes_owner_execed(engine_notes(l->d->engine), o->cred.pid))
				end_owner(l, o);
		}
}

static void look_at_pmcs(struct look *l)
{
	struct owner_table *t = &l->d->owners;
	struct pmc *p;

	for (unsigned int b = 0; b < t->buckets; b++)
		for (struct owner *o = t->bucket[b]; o; o = o->next)
			TAILQ_FOREACH(p, &o->pmcs, owned)
				if (count_orphaned(p->count))
					l->d->raise(o, SIGIO);
}

static void look_at_slices(const struct daemon *d)
{
	const struct owner_table *t = &d->owners;
	struct pmc *p;

	for (unsigned int b = 0; b < t->buckets; b++)
		for (struct owner *o = t->bucket[b]; o; o = o->next)
			TAILQ_FOREACH(p, &o->pmcs, owned)
				count_hidden(p->count);
}

static void on_note(void *arg, const struct abi_note *note)
{
	struct look *l = arg;

	if (note->kind == ABI_NOTE_SECURE)
		logbook_secure(l->d, (pid_t)note->tgid);
	if (note->kind == ABI_NOTE_HIDDEN)
		look_at_slices(l->d);
	if (note->kind == ABI_NOTE_OWNER)
		owner_execed(l, (pid_t)note->tgid);
	else if (!count_note(l->d->engine, note, orphaned, l))
		l->everything = true;
	if (note->kind == ABI_NOTE_LOST) {
		look_at_slices(l->d);
		look_at_owners(l);
		logbook_doubt(l->d);
	}
}

void life_look(struct daemon *d, void (*execed)(void *arg, struct owner *o), void *arg)
{
	struct look l = { .d = d, .execed = execed, .arg = arg };

	notes_each(engine_notes(d->engine), on_note, &l);
	if (l.everything)
		look_at_pmcs(&l);
	count_notes_seen(d->engine);
}
