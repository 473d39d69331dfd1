/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw client as one of several parties: it takes its words from standard input, a line at a
 * time, so that a test controls the events between them.  Also the operations that only such tests
 * need.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "wireclient.h"

#define WORDS_MAX 256

/* orders: performs each line of input, then prints a line with a dot. */
void do_orders(char **arg)
{
	char *line = NULL, *word[WORDS_MAX], *rest;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		int n = 0;

		for (char *w = strtok_r(line, " \n", &rest); w && n < WORDS_MAX;
		     w = strtok_r(NULL, " \n", &rest))
			word[n++] = w;
		do_words(n, word);
		puts(".");
		fflush(stdout);
	}
	free(line);
}

/* caps N: the capabilities that allocations request from now on. */
void do_rate(char **arg)
{
	c.rate = number(arg[0]);
}

void do_caps(char **arg)
{
	c.caps = (uint32_t)number(arg[0]);
}

void do_setcount(char **arg)
{
	struct wire_setcount_req r = { .pmcid = c.pmcid, .count = number(arg[0]) };

	finish(say("setcount", call(WIRE_OP_PMCSETCOUNT, &r, sizeof(r))));
}

/* rw FLAGS VALUE */
void do_rw(char **arg)
{
	struct wire_rw_req r = {
		.pmcid = c.pmcid, .flags = (uint32_t)number(arg[0]), .value = number(arg[1])
	};
	struct wire_rw_rep *rep = payload();
	int err = say("rw", call(WIRE_OP_PMCRW, &r, sizeof(r)));

	if (!err)
		printf(" %llu", (unsigned long long)rep->value);
	finish(err);
}

/* info CPU ROW: all fields of GETPMCINFO for it. */
void do_info(char **arg)
{
	static const char *const disp[] = { "STANDALONE", "FREE", "THREAD" };
	struct wire_cpu_req r = { .cpu = (uint32_t)number(arg[0]) };
	struct wire_pmcinfo_rep *rep = payload();
	struct wire_pmcinfo *i = (struct wire_pmcinfo *)(rep + 1);
	uint32_t row = (uint32_t)number(arg[1]);
	int err = say("info", call(WIRE_OP_GETPMCINFO, &r, sizeof(r)));

	if (!err && row >= rep->npmc)
		die("there are %u rows", rep->npmc);
	if (!err) {
		i += row;
		printf(" %s %s %s owner=%d mode=%u event=0x%x flags=0x%x reload=%llu %s", i->name,
		       i->enabled ? "enabled" : "disabled", disp[i->rowdisp], i->ownerpid, i->mode,
		       i->event, i->flags, (unsigned long long)i->reloadcount, i->event_name);
	}
	finish(err);
}

/* classes: number, rows and first row of each, as GETCPUINFO has them. */
void do_classes(char **arg)
{
	struct wire_cpuinfo *i = payload();
	int err = say("classes", call(WIRE_OP_GETCPUINFO, NULL, 0));

	for (uint32_t n = 0; !err && n < i->nclass; n++)
		printf(" %u:%u+%u", i->classes[n].class, i->classes[n].first_row,
		       i->classes[n].num);
	finish(err);
}

/* counters: all statistics, in hwpmc's order. */
void do_counters(char **arg)
{
	struct wire_driverstats *s = payload();
	int err = say("counters", call(WIRE_OP_GETDRIVERSTATS, NULL, 0));

	if (!err)
		printf(" %u %u %u %u %u %u %u %u", s->intr_ignored, s->intr_processed,
		       s->intr_bufferfull, s->syscalls, s->syscall_errors, s->buffer_requests,
		       s->buffer_requests_failed, s->log_sweeps);
	finish(err);
}

/* admin CPU ROW STATE */
void do_admin(char **arg)
{
	struct wire_admin_req r = { .cpu = atoi(arg[0]), .pmc = atoi(arg[1]),
				    .state = (uint32_t)number(arg[2]) };

	finish(say("admin", call(WIRE_OP_PMCADMIN, &r, sizeof(r))));
}

/* pages N: writes to that many fresh pages, a fault each. */
void do_pages(char **arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = number(arg[0]);
	volatile char *p;

	p = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	madvise((void *)p, n * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		p[i * page] = 1;
	munmap((void *)p, n * page);
	printf("pages %zu\n", n);
	fflush(stdout);
}

/* The time stamp counter, as any process can read it. */
void do_rdtsc(char **arg)
{
#ifdef __x86_64__
	printf("rdtsc %llu\n", (unsigned long long)__builtin_ia32_rdtsc());
#else
	puts("rdtsc none");
#endif
	fflush(stdout);
}

void do_who(char **arg)
{
	printf("who %d\n", getpid());
	fflush(stdout);
}

void do_bye(char **arg)
{
	exit(0);
}

/* --- names of tracepoints --------------------------------------------------------------------- */

/* All bytes of the field may be used: the daemon must look for the end. */
void do_tracepoint(char **arg)
{
	memset(c.name, 0, sizeof(c.name));
	memcpy(c.name, arg[0], strnlen(arg[0], sizeof(c.name)));
}

/* A filter is one word of an order: "+" stands for a blank. */
void do_filter(char **arg)
{
	memset(c.filter, 0, sizeof(c.filter));
	memcpy(c.filter, arg[0], strnlen(arg[0], sizeof(c.filter)));
	for (size_t i = 0; i < sizeof(c.filter); i++)
		if (c.filter[i] == '+')
			c.filter[i] = ' ';
}

/* --- probes ----------------------------------------------------------------------------------- */

/* probe KIND PATH OFFSET: of the next allocations; the path "-": without a file. */
void do_probe(char **arg)
{
	c.probe = (uint32_t)number(arg[0]);
	snprintf(c.probe_path, sizeof(c.probe_path), "%s", strcmp(arg[1], "-") ? arg[1] : "");
	c.probe_site = number(arg[2]);
}

void send_probe(struct wire_allocate_req *r)
{
	int fd;

	r->probe = c.probe;
	r->probe_sites = c.probe != 0;
	r->probe_site[0] = c.probe_site;
	if (!c.probe || !*c.probe_path)
		return;
	/* The process ends with its orders, and the descriptors with it. */
	fd = open(c.probe_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		die("%s: %s", c.probe_path, strerror(errno));
	c.send_fds[c.nsend++] = fd;
}

/* --- breakpoints ------------------------------------------------------------------------------ */

void do_breakpoint(char **arg)
{
	for (int i = 0; i < 3; i++)
		c.config[i] = number(arg[i]);
}
