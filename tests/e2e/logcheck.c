/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a log in order?  Time never goes back; a sampled process was introduced before (attached,
 * forked, or listed); a sample of user code lies in a file that was mapped before, and within it.
 *
 *	logcheck FILE [PROGRAM...]
 *
 * prints what it found, and the first records that are wrong; fails if any is.  Mappings are asked
 * for in these programs only: others may make code themselves.  Of samples behind a gap only the
 * time is looked at: what introduced them may be what is missing.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pmclog.h>

#define PIDS 65536u
#define MAPS 64u
#define VDSO (16u * 1024)

struct map {
	uint64_t start, size;
};

struct process {
	bool known, ours;
	unsigned int n;
	struct map map[MAPS];
};

struct check {
	struct process *process[PIDS];
	char **programs;
	uint64_t time;
	unsigned long records, samples, user, unknown, unmapped, backwards, drops, behind, out;
};

static struct process *process(struct check *c, pid_t pid)
{
	struct process **p = &c->process[(uint32_t)pid % PIDS];

	if (!*p && !(*p = calloc(1, sizeof(**p))))
		abort();
	return *p;
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? VDSO : ((uint64_t)st.st_size + 65535) & ~65535ull;
}

static void map_in(struct check *c, const struct pmclog_ev_map_in *m)
{
	struct process *p = process(c, m->pl_pid);

	p->map[p->n++ % MAPS] = (struct map){ m->pl_start, size_of(m->pl_pathname) };
}

static void map_out(struct check *c, const struct pmclog_ev_map_out *m)
{
	struct process *p = process(c, m->pl_pid);

	c->out++;
	for (unsigned int i = 0; i < p->n && i < MAPS; i++)
		if (p->map[i].start < m->pl_end && p->map[i].start + p->map[i].size > m->pl_start)
			p->map[i].size = 0;
}

static bool mapped(const struct process *p, uint64_t pc)
{
	for (unsigned int i = 0; i < p->n && i < MAPS; i++)
		if (pc >= p->map[i].start && pc - p->map[i].start < p->map[i].size)
			return true;
	return false;
}

static bool wrong(unsigned long *count, const struct pmclog_ev *ev, const char *what, pid_t pid)
{
	if (++*count <= 5)
		printf("record %zu: process %d: %s\n", ev->pl_count, pid, what);
	return false;
}

static void sample(struct check *c, const struct pmclog_ev *ev)
{
	const struct pmclog_ev_callchain *s = &ev->pl_u.pl_cc;
	struct process *p = process(c, (pid_t)s->pl_pid);

	if (c->drops) {
		c->behind++;
		return;
	}
	c->samples++;
	/* The idle task belongs to every CPU. */
	if (!s->pl_pid)
		return;
	if (!p->known)
		wrong(&c->unknown, ev, "nobody has introduced it", (pid_t)s->pl_pid);
	if (!PMC_CALLCHAIN_CPUFLAGS_TO_USERMODE(s->pl_cpuflags))
		return;
	if (*c->programs && !p->ours)
		return;
	c->user++;
	if (!mapped(p, s->pl_pc[0]))
		wrong(&c->unmapped, ev, "no file is mapped there", (pid_t)s->pl_pid);
}

static void execed(struct check *c, const struct pmclog_ev_procexec *x)
{
	struct process *p = process(c, x->pl_pid);

	p->n = 0;
	p->ours = false;
	for (char **name = c->programs; *name; name++)
		p->ours |= !strcmp(*name, x->pl_pathname);
}

static void record(struct check *c, const struct pmclog_ev *ev)
{
	c->records++;
	if (ev->pl_tsc < c->time)
		wrong(&c->backwards, ev, "time goes back", 0);
	c->time = ev->pl_tsc;
	switch (ev->pl_type) {
	case PMCLOG_TYPE_PMCATTACH:
		process(c, ev->pl_u.pl_t.pl_pid)->known = true;
		break;
	case PMCLOG_TYPE_PROC_CREATE:
		process(c, ev->pl_u.pl_pc.pl_pid)->known = true;
		break;
	case PMCLOG_TYPE_PROCFORK:
		*process(c, ev->pl_u.pl_f.pl_newpid) = *process(c, ev->pl_u.pl_f.pl_oldpid);
		process(c, ev->pl_u.pl_f.pl_newpid)->known = true;
		break;
	case PMCLOG_TYPE_PROCEXEC:
		execed(c, &ev->pl_u.pl_x);
		break;
	case PMCLOG_TYPE_MAP_IN:
		map_in(c, &ev->pl_u.pl_mi);
		break;
	case PMCLOG_TYPE_MAP_OUT:
		map_out(c, &ev->pl_u.pl_mo);
		break;
	case PMCLOG_TYPE_CALLCHAIN:
		sample(c, ev);
		break;
	case PMCLOG_TYPE_DROPNOTIFY:
		c->drops++;
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	static struct check c;
	int fd = argc >= 2 ? open(argv[1], O_RDONLY) : -1;
	void *log = fd >= 0 ? pmclog_open(fd) : NULL;
	struct pmclog_ev ev;

	if (!log) {
		fprintf(stderr, "usage: logcheck FILE [PROGRAM...]\n");
		return 2;
	}
	c.programs = argv + 2;
	while (!pmclog_read(log, &ev))
		record(&c, &ev);
	if (ev.pl_state != PMCLOG_EOF)
		printf("the log is damaged: %s\n", pmclog_errstr(log));
	printf("records %lu samples %lu user %lu unknown %lu unmapped %lu backwards %lu drops %lu "
	       "behind %lu out %lu\n", c.records, c.samples, c.user, c.unknown, c.unmapped,
	       c.backwards, c.drops, c.behind, c.out);
	pmclog_close(log);
	close(fd);
	return ev.pl_state != PMCLOG_EOF || c.unknown || c.unmapped || c.backwards;
}
