/* SPDX-License-Identifier: BSD-2-Clause */
/* See reload.h. */
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "loader/daemon/notify.h"
#include "reload.h"
#include "server.h"

static void reload_main(void *arg)
{
	struct reload *r = arg;

	r->err = daemon_read_rules(r->d, &r->rules, &r->why);
}

static void reload_woken(void *arg)
{
	struct reload *r = arg;

	r->ready = true;
}

static void reload_rules(struct daemon *d, struct reload *r)
{
	int err = r->err ?: daemon_use_rules(d, r->rules, &r->why);

	if (err)
		messages_put(&d->messages, LOG_ERR, "%s; the rules stay as they were", r->why.text);
}

static void reload_counters(struct daemon *d)
{
	char line[512];
	struct reason why;

	if (daemon_rediscover(d, &why)) {
		messages_put(&d->messages, LOG_WARNING, "%s", why.text);
		return;
	}
	daemon_announcement(d, line, sizeof(line));
	messages_put_hwpmc(&d->messages, LOG_INFO, "%s", line);
}

/*
 * Reports a reload to the service manager; the time shows which of its signals has begun it.  A
 * private daemon, which has no listener, is not the service whose NOTIFY_SOCKET it may inherit.
 */
static void reload_notify(const struct server *s, bool done)
{
	char state[64];

	if (!s->listener.ready)
		return;
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)(clock_ns() / 1000));
	notify_send(done ? "READY=1" : state);
}

void reload_begin(struct server *s)
{
	struct reload *r = &s->reload;
	struct reason why;

	if (r->fiber) {
		r->again = true;
		return;
	}
	reload_notify(s, false);
	if (daemon_reread(s->d, &why))
		messages_put(&s->d->messages, LOG_ERR, "%s; the tunables stay as they were",
			     why.text);
	*r = (struct reload){ .d = s->d, .ready = true };
	r->fiber = fiber_new(s->d->errands.fibers, reload_main, reload_woken, r);
	if (r->fiber)
		return;
	messages_put(&s->d->messages, LOG_ERR, "no memory to read the rules again");
	reload_notify(s, true);
}

bool reload_ready(const struct server *s)
{
	return s->reload.fiber && s->reload.ready;
}

void reload_run(struct server *s)
{
	struct reload *r = &s->reload;

	if (!reload_ready(s))
		return;
	r->ready = false;
	switch (fiber_resume(r->fiber)) {
	case FIBER_READY:
		r->ready = true;
		return;
	case FIBER_PARKED:
		return;
	case FIBER_ENDED:
		break;
	}
	r->fiber = NULL;
	reload_rules(s->d, r);
	reload_counters(s->d);
	if (r->again)
		reload_begin(s);
	else
		reload_notify(s, true);
}

void reload_finish(struct server *s)
{
	struct reload *r = &s->reload;

	while (r->fiber && fiber_resume(r->fiber) != FIBER_ENDED)
		;
	if (r->fiber && !r->err)
		site_free(r->rules);
	r->fiber = NULL;
}
