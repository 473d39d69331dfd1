/* SPDX-License-Identifier: BSD-2-Clause */
/* See user.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user.h"

#define MAX_USER_NS_DEPTH 33		/* the kernel allows 32 */

static const struct {
	const char *what;		/* "… of pmcbpfd's 64 log buffers" */
	const char *size;		/* the tunable of the pool's size, or NULL */
} pools[POOLS] = {
	[POOL_CONNECTIONS] = { "connections", NULL },
	[POOL_LOG_BUFFERS] = { "log buffers", "kern.hwpmc.nbuffers" },
	[POOL_FILE_BUFFERS] = { "log buffers for files", NULL },
	[POOL_LATE] = { "KB for late samples", NULL },
	[POOL_LOGS] = { "logs", NULL },
	[POOL_SAMPLERS] = { "PMCs that sample or log", NULL },
	[POOL_SETS] = { "combinations of PMCs on a process", NULL },
	[POOL_TARGETS] = { "target processes", NULL },
	[POOL_EVENTS] = { "event descriptors", NULL },
	[POOL_SOURCES] = { "sources of software events", NULL },
	[POOL_TRACEPOINTS] = { "tracepoints", NULL },
	[POOL_REGISTERS] = { "registers counted for processes", NULL },
	[POOL_CGROUPS] = { "PMCs of cgroups", NULL },
	[POOL_THREADS] = { "PMCs of single threads that programs count", NULL },
	[POOL_SHARES] = { "counts of logged processes", NULL },
	[POOL_HELPERS] = { "requests under way", NULL },
};

void user_table_init(struct user_table *t, const struct config *config)
{
	LIST_INIT(&t->users);
	t->config = config;
}

void user_pool(struct user_table *t, enum pool_kind pool, unsigned int size)
{
	t->size[pool] = size;
}

/* The outermost user namespace below the initial one: its owner and its number. */
static bool user_ns_outermost(pid_t pid, uid_t *owner, uint64_t *number)
{
	char path[64];
	bool found = false;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (unsigned int depth = 0; fd >= 0 && depth < MAX_USER_NS_DEPTH; depth++) {
		struct stat st;
		int parent;

		if (fstat(fd, &st) || policy_initial_user_ns(st.st_ino))
			break;
		found = !ioctl(fd, NS_GET_OWNER_UID, owner);
		*number = st.st_ino;
		parent = ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = parent;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

struct user *user_get(struct user_table *t, const struct cred *cred)
{
	uid_t uid = cred->uid[ID_REAL], owner = 0;
	uint64_t user_ns = 0;
	struct user *u;

	if (!policy_on_host(cred)) {
		user_ns = cred->user_ns;
		if (user_ns_outermost(cred->pid, &owner, &user_ns) && owner != 0) {
			uid = owner;
			user_ns = 0;
		}
	}
	LIST_FOREACH(u, &t->users, next)
		if (u->uid == uid && u->user_ns == user_ns &&
		    u->privileged == policy_privileged(cred))
			break;
	if (!u) {
		u = calloc(1, sizeof(*u));
		if (!u)
			return NULL;
		u->table = t;
		u->uid = uid;
		u->user_ns = user_ns;
		u->privileged = policy_privileged(cred);
		TAILQ_INIT(&u->works);
		LIST_INSERT_HEAD(&t->users, u, next);
	}
	u->references++;
	return u;
}

void user_put(struct user *u)
{
	if (!u || --u->references)
		return;
	LIST_REMOVE(u, next);
	free(u);
}

static unsigned int percent_of(unsigned int size, int percent)
{
	return (unsigned int)((uint64_t)size * (unsigned int)percent / 100);
}

/* Rule or tunable. */
static int user_percent(const struct user *u, enum user_part part)
{
	static const struct {
		enum setting setting;
		enum tunable tunable;
	} of[USER_PARTS] = {
		[USER_SHARE] = { SET_SHARE, TUN_USER_SHARE },
		[USER_RESERVE] = { SET_RESERVE, TUN_USER_RESERVE },
	};

	return u->rule[part] ? (int)u->rule[part]->number[of[part].setting] :
			       u->table->config->value[of[part].tunable];
}

void user_part_text(const struct user *u, enum user_part part, char *buf, size_t size)
{
	const char *name = part == USER_SHARE ? "share" : "reserve";
	const struct site_rule *r = u->rule[part];

	if (r)
		snprintf(buf, size, "%s=\"%d\" percent in %s:%u", name, user_percent(u, part),
			 r->file, r->line);
	else
		snprintf(buf, size, "user.%s=%d percent", name, user_percent(u, part));
}

void user_set_rules(struct user *u, const struct grant *g, uint64_t number)
{
	if (number < u->ruled)
		return;
	u->ruled = number;
	u->rule[USER_SHARE] = g->rule[SET_SHARE];
	u->rule[USER_RESERVE] = g->rule[SET_RESERVE];
}

void user_drop_rules(struct user_table *t)
{
	static const struct grant none;
	struct user *u;

	LIST_FOREACH(u, &t->users, next) {
		u->ruled = 0;
		user_set_rules(u, &none, 0);
	}
}

unsigned int user_share(const struct user *u, unsigned int n)
{
	unsigned int share = percent_of(n, user_percent(u, USER_SHARE));

	return share ? share : 1;
}

unsigned int user_reserve(const struct user *u, unsigned int n)
{
	unsigned int reserve = percent_of(n, user_percent(u, USER_RESERVE));

	return reserve || n < 2 || !user_percent(u, USER_RESERVE) ? reserve : 1;
}

void user_parts(const struct user *u, unsigned int n, unsigned int *own, unsigned int *all)
{
	*own = u->privileged ? n : user_share(u, n);
	*all = u->privileged ? n : n - user_reserve(u, n);
}

void user_limits(const struct user_table *t, const struct user *u, enum pool_kind pool,
		 unsigned int *own, unsigned int *all)
{
	user_parts(u, t->size[pool], own, all);
}

int user_may(const struct user_table *t, const struct user *u, enum pool_kind pool, unsigned int n,
	     struct reason *why)
{
	const char *sets = pools[pool].size;
	char part[USER_PART_TEXT];
	unsigned int own, all;

	if (!n)		/* succeeds even if the user has more than a lowered limit */
		return 0;
	user_limits(t, u, pool, &own, &all);
	if (!u->privileged && (n > own || u->used[pool] > own - n)) {
		user_part_text(u, USER_SHARE, part, sizeof(part));
		return deny(why, -EAGAIN, "uid %u%s has %u of pmcbpfd's %u %s, and %u is the most "
			    "for one user (%s%s%s); end some first", u->uid,
			    u->user_ns ? " of a container" : "", u->used[pool], t->size[pool],
			    pools[pool].what, own, part, sets ? " of " : "", sets ? sets : "");
	}
	if (n <= all && t->used[pool] <= all - n)
		return 0;
	user_part_text(u, USER_RESERVE, part, sizeof(part));
	return deny(why, -EAGAIN, "%u of pmcbpfd's %u %s are in use%s%s%s%s%s; try again when some "
		    "have been released", t->used[pool], t->size[pool], pools[pool].what,
		    u->privileged ? "" : ", and the rest is kept for administrators (",
		    u->privileged ? "" : part, u->privileged ? "" : ")",
		    sets ? "; their number is " : "", sets ? sets : "");
}

void user_charge(struct user_table *t, struct user *u, enum pool_kind pool, unsigned int n)
{
	u->used[pool] += n;
	u->references += n;
	t->used[pool] += n;
}

int user_take(struct user_table *t, struct user *u, enum pool_kind pool, unsigned int n,
	      struct reason *why)
{
	int err = user_may(t, u, pool, n, why);

	if (!err)
		user_charge(t, u, pool, n);
	return err;
}

void user_give(struct user_table *t, struct user *u, enum pool_kind pool, unsigned int n)
{
	if (!n)
		return;
	u->used[pool] -= n;
	t->used[pool] -= n;
	u->references -= n - 1;
	user_put(u);
}

static unsigned int rest_of(unsigned int limit, unsigned int used)
{
	return limit > used ? limit - used : 0;
}

unsigned int user_room(const struct user_table *t, const struct user *u, enum pool_kind pool)
{
	unsigned int own, all;

	user_limits(t, u, pool, &own, &all);
	all = rest_of(all, t->used[pool]);
	own = u->privileged ? all : rest_of(own, u->used[pool]);
	return own < all ? own : all;
}
