/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc summary: the number of samples of each event and process. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "cli/common/common.h"
#include "cli/measure/measure.h"
#include "pmc.h"
#include "pmc_log.h"

#define TOP 5

struct summary_share {
	char *process;
	uint64_t samples;
	uint64_t weight;		/* of those that have their own period */
};
struct summary_event {
	char *name;
	uint64_t rate;
	struct summary_share *shares;	/* each process once */
	size_t nshares, room;
	struct index by_process;
};
struct summary {
	struct log_names names;
	struct summary_event *events;	/* each name and period once */
	size_t nevents, room;
	struct index by_name;
	uint64_t drops, lost;
	bool closed, old;		/* the log's end, which an old log does not have */
	uint64_t period;		/* of the sample that comes next; 0: its event's */
	pmc_id_t period_of;		/* … if it is this PMC's */
};

static const struct opt options[] = {
	{ 'k', "topk", "NUMBER", "show this many processes of each event; 5" },
	{ 'f', "full", NULL, "show all processes, and samples as they were taken" },
	{ OPT_HELP, "help", NULL, "this text" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static int summary_no_memory(void)
{
	return fail(EX_OSERR, "ERROR: no memory for the summary");
}

struct event_key {
	const struct summary *s;
	const char *name;
	uint64_t rate;
};

static bool event_same(const void *arg, uint32_t position)
{
	const struct event_key *k = arg;
	const struct summary_event *event = &k->s->events[position];

	return event->rate == k->rate && strcmp(event->name, k->name) == 0;
}

/* PMCs of one event on several CPUs are one event. */
static struct summary_event *summary_find_event(struct summary *s, const char *name, uint64_t rate)
{
	const struct event_key key = { s, name, rate };
	uint32_t hash = index_fold(index_hash_bytes(rate, name, strlen(name)));
	uint32_t at = index_find(&s->by_name, hash, event_same, &key);
	struct summary_event *event;

	if (at != INDEX_NONE)
		return &s->events[at];
	if (array_reserve(s->events, s->room, s->nevents + 1) != 0)
		return NULL;
	if (index_reserve(&s->by_name) != 0)
		return NULL;
	event = s->events + s->nevents;
	*event = (struct summary_event){ .name = strdup(name), .rate = rate };
	if (!event->name)
		return NULL;
	(void)index_add(&s->by_name, hash, (uint32_t)s->nevents++);	/* there is room */
	return event;
}

struct share_key {
	const struct summary_event *event;
	const char *process;
};

static bool share_same(const void *arg, uint32_t position)
{
	const struct share_key *k = arg;

	return strcmp(k->event->shares[position].process, k->process) == 0;
}

static struct summary_share *event_find_share(struct summary_event *event, const char *process)
{
	const struct share_key key = { event, process };
	uint32_t hash = index_fold(index_hash_bytes(0, process, strlen(process)));
	uint32_t at = index_find(&event->by_process, hash, share_same, &key);
	struct summary_share *share;

	if (at != INDEX_NONE)
		return &event->shares[at];
	if (array_reserve(event->shares, event->room, event->nshares + 1) != 0)
		return NULL;
	if (index_reserve(&event->by_process) != 0)
		return NULL;
	share = event->shares + event->nshares;
	*share = (struct summary_share){ .process = strdup(process) };
	if (!share->process)
		return NULL;
	(void)index_add(&event->by_process, hash, (uint32_t)event->nshares++);
	return share;
}

static int summary_count_sample(struct summary *s, pmc_id_t id, uint32_t pid)
{
	const struct name *event_name = pmc_log_name(&s->names.events, id);
	const struct name *process = pmc_log_name(&s->names.processes, pid);
	char unnamed[2][32];
	struct summary_event *event;
	struct summary_share *share;

	snprintf(unnamed[0], sizeof(unnamed[0]), "pmc-0x%x", id);
	snprintf(unnamed[1], sizeof(unnamed[1]), "pid %d", (int)pid);
	event = summary_find_event(s, event_name ? event_name->text : unnamed[0],
				   event_name ? event_name->rate : 0);
	share = event ? event_find_share(event, process ? process->text : unnamed[1]) : NULL;
	if (!share)
		return summary_no_memory();
	share->samples++;
	if (s->period_of == id)
		share->weight += s->period;
	s->period = 0;
	return 0;
}

static int summary_take(void *arg, const struct pmclog_ev *ev)
{
	struct summary *s = arg;
	unsigned int n;

	s->closed = ev->pl_type == PMCLOG_TYPE_CLOSELOG;
	if (ev->pl_type == PMCLOG_TYPE_INITIALIZE)
		s->old = ev->pl_u.pl_i.pl_version >> 24 < 9;
	if (ev->pl_type == PMCLOG_TYPE_VALUES) {
		const uint64_t *period = pmclog_value(&ev->pl_u.pl_v, PMCLOG_VALUE_PERIOD, &n);

		s->period = period ? *period : 0;
		s->period_of = ev->pl_u.pl_v.pl_pmcid;
		return 0;
	}
	if (ev->pl_type == PMCLOG_TYPE_CALLCHAIN)
		return summary_count_sample(s, ev->pl_u.pl_cc.pl_pmcid, ev->pl_u.pl_cc.pl_pid);
	if (ev->pl_type == PMCLOG_TYPE_PCSAMPLE)
		return summary_count_sample(s, ev->pl_u.pl_s.pl_pmcid,
					    (uint32_t)ev->pl_u.pl_s.pl_pid);
	if (ev->pl_type == PMCLOG_TYPE_DROPNOTIFY) {
		s->drops++;
		s->lost += ev->pl_u.pl_dn.pl_lost;
	}
	return pmc_log_learn(&s->names, ev);
}

static int share_compare(const void *a, const void *b)
{
	const struct summary_share *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return strcmp(x->process, y->process);
}

static void summary_put_text(const char *text)
{
	for (; *text; text++)
		putchar((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
}

/* Samples times the period estimate the events; without a period samples are printed. */
static void event_print(const struct summary_event *event, size_t index, size_t top, bool full)
{
	if (full)
		printf("idx: %zu name: ", index);
	summary_put_text(event->name);
	if (full)
		printf(" rate: %llu", (unsigned long long)event->rate);
	puts(full ? "" : ":");
	for (size_t i = 0; i < event->nshares && (full || i < top); i++) {
		const struct summary_share *share = &event->shares[i];
		uint64_t times = full || !event->rate ? 1 : event->rate;

		if (!full)
			putchar('\t');
		summary_put_text(share->process);
		times = !full && share->weight ? share->weight : times * share->samples;
		printf(": %llu\n", (unsigned long long)times);
	}
}

static void summary_free(struct summary *s)
{
	for (size_t i = 0; i < s->nevents; i++) {
		for (size_t k = 0; k < s->events[i].nshares; k++)
			free(s->events[i].shares[k].process);
		free(s->events[i].shares);
		index_free(&s->events[i].by_process);
		free(s->events[i].name);
	}
	free(s->events);
	index_free(&s->by_name);
	pmc_log_names_free(&s->names);
}

static int summary_run(const char *file, size_t top, bool full)
{
	struct summary s = { .nevents = 0 };
	struct log_user user = { .record = summary_take, .arg = &s };
	int fd = -1, written, code = log_open_input(file, &fd);

	if (code)
		return code;
	code = pmc_log_each(fd, file, &user);
	close(fd);
	for (size_t i = 0; i < s.nevents; i++) {
		if (s.events[i].nshares)
			qsort(s.events[i].shares, s.events[i].nshares, sizeof(struct summary_share),
			      share_compare);
		event_print(&s.events[i], i + 1, top, full);
	}
	if (!code && !s.closed && !s.old)
		log_note_cut(file, "summary");
	log_note_gaps(file, s.drops, s.lost);
	summary_free(&s);
	written = opt_flush_stdout();
	return code ? code : written;
}

static void summary_usage(FILE *file)
{
	fputs("usage: pmc summary [-k NUMBER | -f] LOG\n", file);
}

int pmc_cmd_summary(int argc, char *argv[])
{
	struct opt_scan scan;
	uint64_t top = TOP;
	bool full = false;
	int letter;

	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	while ((letter = opt_next(&scan, argc, argv)) != -1) {
		if (letter == OPT_HELP)
			return opt_show_help(summary_usage, options, NOPTIONS, sizeof(options[0]));
		if (letter == '?') {
			summary_usage(stderr);
			return EX_USAGE;
		}
		full |= letter == 'f';
		if (letter != 'k')
			continue;
		if (opt_number(optarg, 10, 1, ULONG_MAX, &top) != 0)
			return fail(EX_USAGE, "ERROR: %s not usable value", optarg);
	}
	if (optind + 1 != argc) {
		summary_usage(stderr);
		return optind == argc ? fail(EX_USAGE, "ERROR: a log is needed") :
		       fail(EX_USAGE, "ERROR: one log at a time: \"%s\" or \"%s\"",
			    argv[optind], argv[optind + 1]);
	}
	signal(SIGPIPE, SIG_IGN);
	return summary_run(argv[optind], top, full);
}
