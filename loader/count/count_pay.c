/* SPDX-License-Identifier: BSD-2-Clause */
/* Charges of the descriptors and sources that PMCs hold to their users. */
#include "count_pay.h"

int count_pay(struct count *c, unsigned int events, unsigned int sources, struct reason *why)
{
	struct user *u = c->owner->user;
	int err = user_take(u->table, u, POOL_EVENTS, events, why);

	if (err)
		return err;
	err = user_take(u->table, u, POOL_SOURCES, sources, why);
	if (err) {
		user_give(u->table, u, POOL_EVENTS, events);
		return err;
	}
	c->paid_events += events;
	c->paid_sources += sources;
	return 0;
}

void count_pay_back(struct count *c)
{
	struct user *u = c->owner->user;

	user_give(u->table, u, POOL_EVENTS, c->paid_events);
	user_give(u->table, u, POOL_SOURCES, c->paid_sources);
	c->paid_events = c->paid_sources = 0;
}

/* A tracepoint's counter is one of few; another source takes a descriptor for each CPU. */
static int source_charge(const struct count *c, struct reason *why)
{
	struct user *u = c->owner->user;
	int err;

	if (c->source >= ABI_SOURCE_TRACEPOINT)
		return user_take(u->table, u, POOL_TRACEPOINTS, 1, why);
	err = user_take(u->table, u, POOL_EVENTS, c->e->ncpu, why);
	if (err)
		return err;
	err = user_take(u->table, u, POOL_SOURCES, 1, why);
	if (err)
		user_give(u->table, u, POOL_EVENTS, c->e->ncpu);
	return err;
}

static void source_discharge(const struct count *c)
{
	struct user *u = c->owner->user;

	if (c->source >= ABI_SOURCE_TRACEPOINT) {
		user_give(u->table, u, POOL_TRACEPOINTS, 1);
		return;
	}
	user_give(u->table, u, POOL_EVENTS, c->e->ncpu);
	user_give(u->table, u, POOL_SOURCES, 1);
}

static bool source_is_shared(struct count *c, void *arg)
{
	const struct count *other = arg;

	return c != other && c->source == other->source &&
	       c->owner->user == other->owner->user;
}

static bool source_inherit(struct count *c, void *arg)
{
	if (!source_is_shared(c, arg))
		return false;
	c->pays_source = true;
	return true;
}

int count_pay_source(struct count *c, struct reason *why)
{
	int err;

	if (hotplug_any(c->e->hotplug, source_is_shared, c))
		return 0;
	err = source_charge(c, why);
	c->pays_source = !err;
	return err;
}

void count_pay_source_back(struct count *c)
{
	if (!c->pays_source)
		return;
	c->pays_source = false;
	if (!hotplug_any(c->e->hotplug, source_inherit, c))
		source_discharge(c);
}

/* A register's source takes one of few places, an event's a descriptor for each CPU. */
static enum pool_kind count_pay_pool(const struct count_row *row)
{
	return row->spec.msr ? POOL_REGISTERS : POOL_EVENTS;
}

static unsigned int count_pay_price(const struct count_row *row, const struct count *c)
{
	return row->spec.msr ? 1 : c->e->ncpu;
}

int count_pay_row(struct count_row *row, const struct count *c, struct reason *why)
{
	struct user *u = c->owner->user;
	int err = user_take(u->table, u, count_pay_pool(row), count_pay_price(row, c), why);

	if (!err) {
		row->payer = u;
		row->paid = count_pay_price(row, c);
	}
	return err;
}

void count_pay_row_back(struct count_row *row)
{
	if (row->payer)
		user_give(row->payer->table, row->payer, count_pay_pool(row), row->paid);
	row->payer = NULL;
}

void count_pay_row_on(struct count_row *row)
{
	struct count *c, *heir = LIST_FIRST(&row->users);

	if (!row->payer)
		return;
	LIST_FOREACH(c, &row->users, on_row)
		if (c->owner->user == row->payer)
			return;
	if (heir)
		user_charge(heir->owner->user->table, heir->owner->user, count_pay_pool(row),
			    row->paid);
	count_pay_row_back(row);
	row->payer = heir ? heir->owner->user : NULL;
}
