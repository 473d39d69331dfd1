/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the administrator's rules: their files, the users and groups that they name, and then the
 * grants of all connected processes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "daemon.h"

/* Asks a helper for names from *next on, and moves it behind them. */
static int names_look_up_some(struct daemon *d, struct user *u, struct site_rules *s,
			      unsigned int *next, struct reason *why)
{
	char arg[HELPER_MAX_ARG];
	struct helper_part part;
	struct errand *e;
	size_t len;
	unsigned int n = site_name_ask(s, *next, arg, &len);
	int err = errand_begin(&d->errands, u, ERRAND_NAMES, arg, len, NULL, 0, ERRAND_MS, &e, why);

	if (err)
		return err;
	err = errand_next(e, &part);
	if (err == 1)
		err = site_name_answer(s, *next, n, &part, why);
	else if (err == -ETIMEDOUT)
		deny(why, err, "looking up the users and groups in %s takes more than %u s: the "
		     "name service (nsswitch.conf(5)) does not answer; repair it, or write numbers",
		     d->config.policy_dir, ERRAND_MS / 1000);
	else
		err = deny(why, err ? err : -EIO, "the helper process that looks up users and "
			   "groups has ended");
	errand_end(e);
	*next += n;
	return err;
}

/* The helper is charged to the daemon's own user. */
static int names_look_up(struct daemon *d, struct site_rules *s, struct reason *why)
{
	unsigned int next = 0;
	struct cred self;
	struct user *u;
	int err = policy_read_cred(getpid(), &self);

	if (err)
		return deny(why, err, "/proc/self: %s", strerror(-err));
	u = user_get(&d->users, &self);
	if (!u)
		return deny(why, -ENOMEM, "no memory to look up users and groups");
	while (!err && next < s->nnames)
		err = names_look_up_some(d, u, s, &next, why);
	user_put(u);
	return err;
}

static void warning_put(void *arg, const char *line)
{
	const struct daemon *d = arg;

	messages_put(&d->messages, LOG_WARNING, "%s", line);
}

int daemon_read_rules(struct daemon *d, struct site_rules **out, struct reason *why)
{
	struct site_rules *s;
	int err = site_read(d->config.policy_dir, &s, why);

	if (err)
		return err;
	err = s->nnames ? names_look_up(d, s, why) : 0;
	err = err ?: site_settle(s, d->errands.fibers, warning_put, d, why);
	if (err)
		site_free(s);
	else
		*out = s;
	return err;
}

int daemon_grant(const struct daemon *d, const struct site_rules *rules, const struct cred *cred,
		 const struct user *u, struct grant *g, struct reason *why)
{
	return grant_make(g, rules, cred, u->uid, d->pid_ns, why);
}

/* A process that has exited makes no request any more. */
static int grants_make(const struct daemon *d, const struct site_rules *rules, struct grant *grants,
		       struct reason *why)
{
	int err;

	for (unsigned int i = 0; i < d->owners.buckets; i++)
		for (const struct owner *o = d->owners.bucket[i]; o; o = o->next) {
			err = daemon_grant(d, rules, &o->cred, o->user, grants++, why);
			if (err && err != -ESRCH)
				return err;
		}
	return 0;
}

static void grants_give(struct daemon *d, const struct grant *grants)
{
	user_drop_rules(&d->users);
	for (unsigned int i = 0; i < d->owners.buckets; i++)
		for (struct owner *o = d->owners.bucket[i]; o; o = o->next) {
			o->grant = *grants++;
			user_set_rules(o->user, &o->grant, o->number);
		}
}

int daemon_use_rules(struct daemon *d, struct site_rules *rules, struct reason *why)
{
	struct grant *grants = calloc(d->owners.owners + 1, sizeof(*grants));
	int err = grants ? grants_make(d, rules, grants, why) :
			   deny(why, -ENOMEM, "no memory for rules");

	if (err) {
		site_free(rules);
	} else {
		grants_give(d, grants);
		site_free(d->site);
		d->site = rules;
		d->site_generation++;
	}
	free(grants);
	return err;
}

bool daemon_users_count_cpus(const struct daemon *d)
{
	return d->config.value[TUN_SYSPMCS] || (d->site && d->site->users_count_cpus);
}
