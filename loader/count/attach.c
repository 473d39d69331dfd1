/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaching to processes and to whole trees.  The fork hook is armed before the root joins; from
 * then on each child of a target joins in its fork.  The walk over the existing tree follows, and
 * repeats until it finds no new process, so that it also reaches children of processes that joined
 * late.  Parents are taken from the kernel's list of processes and from the forks noted since,
 * because a parent may exit before the walk reaches it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "page.h"

struct process {
	pid_t pid, parent;
	uint32_t sibling;		/* index of the next one in the same bucket; NONE */
	bool met;			/* by the current walk */
};
#define NONE UINT32_MAX

#define RESTARTS 100			/* of a walk that missed forks */

struct processes {
	struct process *at;
	size_t n, room;
	uint32_t *child;		/* buckets of processes by their parents */
	size_t buckets;			/* a power of two */
};

static int processes_push(struct processes *ps, pid_t pid, pid_t parent)
{
	if (array_reserve(ps->at, ps->room, ps->n + 1) != 0)
		return -ENOMEM;
	ps->at[ps->n++] = (struct process){ .pid = pid, .parent = parent };
	return 0;
}

static size_t processes_bucket(const struct processes *ps, pid_t parent)
{
	return (uint32_t)parent * 2654435769u & (ps->buckets - 1);
}

/* Builds the index of processes by parent. */
static int processes_index(struct processes *ps)
{
	uint32_t *child;

	ps->buckets = 256;
	while (ps->buckets < ps->n)
		ps->buckets *= 2;
	child = realloc(ps->child, ps->buckets * sizeof(*child));
	if (!child)
		return -ENOMEM;
	ps->child = child;
	memset(child, 0xff, ps->buckets * sizeof(*child));
	for (size_t i = 0; i < ps->n; i++) {
		uint32_t *first = &child[processes_bucket(ps, ps->at[i].parent)];

		ps->at[i].sibling = *first;
		*first = (uint32_t)i;
	}
	return 0;
}

static void processes_free(struct processes *ps)
{
	free(ps->at);
	free(ps->child);
}

/* Reads the kernel's list.  The iterator returns EAGAIN after many tasks that are not processes. */
static int processes_read(struct processes *ps, const struct engine *e)
{
	struct abi_birth part[512];
	int fd = visit_processes(e), err = 0;
	ssize_t n = 1;

	if (fd < 0)
		return fd;
	while (!err && n) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			err = -errno;
		for (ssize_t i = 0; !err && i < n / (ssize_t)sizeof(part[0]); i++)
			err = processes_push(ps, (pid_t)part[i].child, (pid_t)part[i].parent);
		engine_breathe(e);
	}
	close(fd);
	return err;
}

/* Adds the forks from number `from` on.  -EAGAIN: some of them were overwritten. */
static int processes_born(struct processes *ps, const struct engine *e, uint32_t from)
{
	uint32_t to = target_map_births(e);
	int err = 0;

	for (uint32_t n = from; n != to && to - from <= ABI_MAX_BIRTHS && !err; n++) {
		struct abi_birth b = target_map_birth(e, n);

		DEBUG(e->debug, PROCESS, FORK, "process %u of process %u", b.child,
		      b.parent);
		err = processes_push(ps, (pid_t)b.child, (pid_t)b.parent);
	}
	if (!err && target_map_births(e) - from > ABI_MAX_BIRTHS)
		err = -EAGAIN;
	return err;
}

static int processes_list(struct processes *ps, const struct engine *e, uint32_t births)
{
	int err;

	ps->n = 0;
	err = processes_read(ps, e);
	err = err ?: processes_born(ps, e, births);
	return err ?: processes_index(ps);
}

/*
 * Calls fn for each process of the listing below root, parents before their children, until fn
 * fails.
 */
static int processes_below(struct processes *ps, const struct engine *e, pid_t root,
			   int (*fn)(void *arg, pid_t pid), void *arg)
{
	pid_t *todo = malloc((ps->n + 1) * sizeof(*todo));
	size_t n = 0;
	int err = 0;

	if (!todo)
		return -ENOMEM;
	for (size_t i = 0; i < ps->n; i++)
		ps->at[i].met = false;
	todo[n++] = root;
	while (n && !err) {
		pid_t parent = todo[--n];
		uint32_t next = ps->child[processes_bucket(ps, parent)];

		while (next < ps->n && !err) {
			struct process *p = &ps->at[next];

			next = p->sibling;
			if (p->parent != parent || p->pid == parent || p->met)
				continue;
			p->met = true;
			todo[n++] = p->pid;
			err = fn(arg, p->pid);
			engine_breathe(e);
		}
	}
	free(todo);
	return err;
}

static int count_join(struct count *c, int pidfd, pid_t tgid, bool waits, struct reason *why)
{
	struct targets *ts = c->e->targets;
	int err = target_join(ts, c, pidfd, tgid, waits, why);

	DEBUG(c->e->debug, PROCESS, LINKTARGET, "process %d, PMC 0x%08x: %s", tgid,
	      c->spec.pmcid, strerror(-err));
	if (err || !c->backend->attach)
		return err;
	err = c->backend->attach(c, tgid, why);
	if (err) {
		struct reason unused;

		(void)target_leave(ts, c, tgid, &unused);
	}
	return err;
}

static int count_leave(struct count *c, pid_t tgid, struct reason *why)
{
	int err = target_leave(c->e->targets, c, tgid, why);

	DEBUG(c->e->debug, PROCESS, UNLINKTARGET, "process %d, PMC 0x%08x: %s", tgid,
	      c->spec.pmcid, strerror(-err));
	if (!err && c->backend->detach)
		c->backend->detach(c, tgid);
	return err;
}

/* The processes that an attach has added, to be removed if it fails. */
struct added {
	pid_t *pid;
	size_t n, room;
};

static int added_push(struct added *a, pid_t pid)
{
	if (array_reserve(a->pid, a->room, a->n + 1) != 0)
		return -ENOMEM;
	a->pid[a->n++] = pid;
	return 0;
}

/*
 * A listed process may have exited since, may be a zombie, which would remain a target for as long
 * as its parent lives, or may belong to another user by now.  This is checked after it has joined:
 * the hooks catch later changes, and nothing is counted before START.
 */
static int count_join_descendant(struct count *c, pid_t pid, bool waits,
				 const struct count_guard *guard, struct reason *why)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int err;

	if (pidfd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -ENOMEM : -ESRCH;
	err = count_join(c, pidfd, pid, waits, why);
	close(pidfd);
	if (err || !guard || guard->admits(guard, pid))
		return err;
	(void)count_leave(c, pid, why);
	why->text[0] = '\0';
	return -EPERM;
}

/* One walk over one listing. */
struct tree {
	struct count *c;
	struct added *added;
	const struct count_guard *guard;
	bool waits;
	bool found;			/* a process has joined */
	struct reason *why;
};

static int tree_join(void *arg, pid_t pid)
{
	struct tree *t = arg;
	int err = count_join_descendant(t->c, pid, t->waits, t->guard, t->why);

	if (!err) {
		t->found = true;
		return added_push(t->added, pid);
	}
	/* The PMC's own targets, exited processes and those not admitted are skipped. */
	return err == -EEXIST || err == -ESRCH || err == -EPERM ? 0 : err;
}

int count_choose_thread(struct count *c, pid_t tid, struct reason *why)
{
	if (count_ntargets(c))
		return deny(why, -EBUSY, "this PMC counts a thread already; detach it from its "
			    "process, or allocate another PMC");
	c->tid = tid;
	return 0;
}

int count_attach(struct count *c, int pidfd, pid_t tgid, bool waits,
		 const struct count_guard *guard, struct reason *why)
{
	struct processes ps = { .n = 0 };
	struct added added = { .n = 0 };
	struct tree tree = { c, &added, guard, waits, true, why };
	uint32_t births = 0;
	unsigned int restarts = 0;
	int err;

	err = count_state_hold(c, NEED_LIFE, why);
	if (c->spec.descendants)
		births = target_map_births_begin(c->e);
	if (!err && c->backend->hold_attach)
		err = c->backend->hold_attach(c, why);
	err = err ?: count_join(c, pidfd, tgid, waits, why);
	if (err) {
		if (c->spec.descendants)
			target_map_births_end(c->e);
		return err;
	}
	err = added_push(&added, tgid);
	while (!err && c->spec.descendants && tree.found) {
		tree.found = false;
		err = processes_list(&ps, c->e, births);
		/* Too many forks in the system: begin the walk again. */
		if (err == -EAGAIN && restarts++ < RESTARTS) {
			births = target_map_births(c->e);
			tree.found = true;
			err = 0;
			continue;
		}
		if (err)
			deny(why, err, "cannot list the descendants of process %d: %s", tgid,
			     strerror(-err));
		err = err ?: processes_below(&ps, c->e, tgid, tree_join, &tree);
	}
	if (c->spec.descendants)
		target_map_births_end(c->e);
	c->only = !c->spec.descendants && count_ntargets(c) == 1 ? tgid : 0;
	for (size_t i = 0; err && i < added.n; i++) {
		struct reason unused;

		(void)count_leave(c, added.pid[i], &unused);
	}
	free(added.pid);
	processes_free(&ps);
	c->has_targets |= !err;
	c->had_waiting |= !err && waits;
	page_update(c);
	return err;
}

static int tree_leave(void *arg, pid_t pid)
{
	struct count *c = arg;
	struct reason unused;

	if (c->running && c->backend->collect)
		(void)c->backend->collect(c, pid);
	(void)count_leave(c, pid, &unused);
	return 0;
}

int count_detach(struct count *c, pid_t tgid, struct reason *why)
{
	const struct backend *b = c->backend;
	struct processes ps = { .n = 0 };
	uint64_t begun = 0;
	int err = 0;

	if (c->running && b->leave_begin)
		begun = b->leave_begin(c);
	if (target_row(c->e->targets, tgid, c->spec.row) == c) {
		err = target_may_leave(c->e->targets, c, why);
		if (!err && c->running && b->collect)
			err = b->collect(c, tgid);
	}
	err = err ?: count_leave(c, tgid, why);
	if (!err && c->spec.descendants && !processes_list(&ps, c->e, target_map_births(c->e)))
		(void)processes_below(&ps, c->e, tgid, tree_leave, c);
	processes_free(&ps);
	if (c->running && b->leave_end)
		b->leave_end(c, begun, !err);
	if (!err)
		c->has_targets = count_ntargets(c) != 0;
	page_update(c);
	return err;
}

unsigned int count_ntargets(const struct count *c)
{
	return target_number(c->e->targets, c);
}

int count_each_target(const struct count *c, void (*fn)(void *arg, pid_t tgid), void *arg)
{
	return target_each(c->e->targets, c, fn, arg);
}

bool count_measures(const struct count *c, pid_t tgid)
{
	return target_row(c->e->targets, tgid, c->spec.row) == c;
}

row_mask count_target_rows(const struct engine *e, pid_t tgid)
{
	return target_rows(e->targets, tgid);
}
