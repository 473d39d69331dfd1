/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs' notes, as far as owners are concerned. */
#include <signal.h>

#include "owner_notes.h"
#include "loader/op/logbook.h"
#include "loader/kernel/kernel.h"
#include "loader/pmc/pmc.h"

struct look {
	struct daemon *d;
	void (*execed)(void *arg, struct owner *o);
	void *arg;
	bool everything;		/* a note was incomplete or is missing */
};

static void owner_notes_orphaned(void *arg, const struct count_owner *owner, pid_t tgid)
{
	struct look *l = arg;

	for (struct owner *o = owner_first(&l->d->owners, tgid); o; o = owner_next(o))
		if (o->counts == owner)
			l->d->raise(o, SIGIO);
}

/*
 * Its PMCs and its log may take longer to end: meanwhile the new program can connect, and owns none
 * of them.
 */
static void owner_notes_end(struct look *l, struct owner *o)
{
	owner_end(&l->d->owners, o);
	l->execed(l->arg, o);
}

static void owner_notes_execed(struct look *l, pid_t tgid)
{
	struct owner *o = owner_first(&l->d->owners, tgid), *next;

	for (; o; o = next) {
		next = owner_next(o);
		owner_notes_end(l, o);
	}
}

/* Each owner may end in the middle of it. */
static void owner_notes_look_owners(struct look *l)
{
	struct owner_table *t = &l->d->owners;

	for (unsigned int b = 0; b < t->buckets; b++)
		for (struct owner *o = t->bucket[b], *next; o; o = next) {
			next = o->next;
			if (!o->ended &&
			    notes_owner_execed(l->d->engine->notes, o->cred.pid))
				owner_notes_end(l, o);
		}
}

static void owner_notes_look_pmcs(struct look *l)
{
	struct owner_table *t = &l->d->owners;
	struct pmc *p;

	for (unsigned int b = 0; b < t->buckets; b++)
		for (struct owner *o = t->bucket[b]; o; o = o->next)
			TAILQ_FOREACH(p, &o->pmcs, owned)
				if (count_orphaned(p->count))
					l->d->raise(o, SIGIO);
}

static void owner_notes_look_slices(const struct daemon *d)
{
	const struct owner_table *t = &d->owners;
	struct pmc *p;

	for (unsigned int b = 0; b < t->buckets; b++)
		for (struct owner *o = t->bucket[b]; o; o = o->next)
			TAILQ_FOREACH(p, &o->pmcs, owned)
				count_hidden(p->count);
}

static void owner_notes_on_note(void *arg, const struct abi_note *note)
{
	struct look *l = arg;

	if (note->kind == ABI_NOTE_SECURE)
		logbook_secure(l->d, (pid_t)note->tgid);
	if (note->kind == ABI_NOTE_HIDDEN)
		owner_notes_look_slices(l->d);
	if (note->kind == ABI_NOTE_OWNER)
		owner_notes_execed(l, (pid_t)note->tgid);
	else if (!count_note(l->d->engine, note, owner_notes_orphaned, l))
		l->everything = true;
	if (note->kind == ABI_NOTE_LOST) {
		owner_notes_look_slices(l->d);
		owner_notes_look_owners(l);
		logbook_doubt(l->d);
	}
}

void owner_notes_read(struct daemon *d, void (*execed)(void *arg, struct owner *o), void *arg)
{
	struct look l = { .d = d, .execed = execed, .arg = arg };

	notes_each(d->engine->notes, owner_notes_on_note, &l);
	if (l.everything)
		owner_notes_look_pmcs(&l);
	count_notes_seen(d->engine);
}
