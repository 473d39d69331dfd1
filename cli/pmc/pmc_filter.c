/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmc filter: a log without some of its samples.  All other records are copied as they are, so that
 * readers of the new log still find processes, objects and events.  There is one pass, which works
 * on a pipe: a sample is judged by the names that precede it in the log.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pmcformat.h>

#include "cli/common/common.h"
#include "cli/measure/measure.h"
#include "pmc.h"
#include "pmc_log.h"

#define LIST_MAX 64
#define CHUNK	 (256u * 1024)	/* written at once */

enum list_kind { EVENTS, PIDS, PROCESSES, LWPS, THREADS, CPUS, NLISTS };

struct list {
	char *text[LIST_MAX];
	uint32_t number[LIST_MAX];
	bool known[LIST_MAX];		/* an event that the log has */
	int count;
};

enum { OPT_KEEP = 512, OPT_DROP };

struct log_filter {
	struct list lists[NLISTS];
	int verdict;			/* OPT_KEEP, OPT_DROP, 'x' or 0: FreeBSD's default */
	bool json;
	struct buf values;		/* records VALUES and WAKER, until their sample stays … */
	bool woken;			/* … and a WAKER is among them */
	struct log_names names;
	struct out out;
};

static const struct opt options[] = {
	{ 'e', "events", "LIST", "events, or handles of PMCs (0x...)" },
	{ 'p', "pids", "LIST", "processes by number" },
	{ 'P', "processes", "LIST", "processes by a part of their name" },
	{ 't', "lwps", "LIST", "threads by number" },
	{ 'T', "threads", "LIST", "threads by a part of their name" },
	{ 'c', "cpus", "LIST", "CPUs" },
	{ OPT_KEEP, "keep", NULL, "keep the samples that every list names" },
	{ OPT_DROP, "drop", NULL, "drop the samples that a list names" },
	{ 'x', NULL, NULL, "without --keep and --drop: the opposite of what -e -p -P -t -T -c do" },
	{ 'j', "json", NULL, "write a JSON object a line, not a log" },
	{ OPT_HELP, "help", NULL, "this text" },
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))
static const char letters[NLISTS] = { [EVENTS] = 'e', [PIDS] = 'p',    [PROCESSES] = 'P',
				      [LWPS] = 't',   [THREADS] = 'T', [CPUS] = 'c' };

/* --- which samples --------------------------------------------------------------------------- */

struct sample {
	uint32_t number[NLISTS];
	bool has_thread;	/* old logs have no threads, the first ones no CPUs */
	bool has_cpu;
};

static bool list_has_number(const struct list *list, uint32_t number)
{
	for (int i = 0; i < list->count; i++) {
		if (list->number[i] == number)
			return true;
	}
	return false;
}

/* Events are matched in full, processes and threads by a part of the name. */
static bool list_has_name(const struct list *list, const struct name *name, bool part)
{
	for (int i = 0; name && i < list->count; i++) {
		if (part ? !!strstr(name->text, list->text[i]) :
			   !strcasecmp(name->text, list->text[i]))
			return true;
	}
	return false;
}

static bool sample_is_named(const struct log_filter *f, int kind, const struct sample *s)
{
	const struct list *list = &f->lists[kind];
	uint32_t number = s->number[kind];

	switch (kind) {
	case EVENTS:
		return list_has_name(list, pmc_log_name(&f->names.events, number), false) ||
		       list_has_number(list, number);
	case PROCESSES:
		return list_has_name(list, pmc_log_name(&f->names.processes, number), true);
	case THREADS:
		return s->has_thread &&
		       list_has_name(list, pmc_log_name(&f->names.threads, number), true);
	case LWPS:
		return s->has_thread && list_has_number(list, number);
	case CPUS:
		return s->has_cpu && list_has_number(list, number);
	default:
		return list_has_number(list, number);
	}
}

/* By default lists of numbers and events are dropped, and lists of names kept, as on FreeBSD. */
static bool list_keeps(const struct log_filter *f, int kind)
{
	if (f->verdict == OPT_KEEP || f->verdict == OPT_DROP)
		return f->verdict == OPT_KEEP;
	return (kind == PROCESSES || kind == THREADS) == (f->verdict != 'x');
}

static bool sample_stays(const struct log_filter *f, const struct sample *s)
{
	for (int kind = 0; kind < NLISTS; kind++) {
		if (f->lists[kind].count && sample_is_named(f, kind, s) != list_keeps(f, kind))
			return false;
	}
	return true;
}

static struct sample sample_of(const struct pmclog_ev *ev)
{
	const struct pmclog_ev_callchain *cc = &ev->pl_u.pl_cc;
	const struct pmclog_ev_pcsample *pc = &ev->pl_u.pl_s;
	struct sample s = { .has_cpu = false };

	if (ev->pl_type == PMCLOG_TYPE_CALLCHAIN) {
		s.number[EVENTS] = cc->pl_pmcid;
		s.number[PIDS] = s.number[PROCESSES] = cc->pl_pid;
		s.number[LWPS] = s.number[THREADS] = cc->pl_tid;
		s.number[CPUS] = PMC_CALLCHAIN_CPUFLAGS_TO_CPU(cc->pl_cpuflags);
		s.has_thread = cc->pl_tid != 0;
		s.has_cpu = true;
	} else {
		s.number[EVENTS] = pc->pl_pmcid;
		s.number[PIDS] = s.number[PROCESSES] = (uint32_t)pc->pl_pid;
	}
	return s;
}

/* --- the copy -------------------------------------------------------------------------------- */

static void list_know_event(struct list *list, uint32_t id, const char *name)
{
	for (int i = 0; i < list->count; i++)
		list->known[i] |= list->number[i] == id || !strcasecmp(list->text[i], name);
}

static int filter_learn(struct log_filter *f, const struct pmclog_ev *ev)
{
	if (ev->pl_type == PMCLOG_TYPE_PMCALLOCATE)
		list_know_event(&f->lists[EVENTS], ev->pl_u.pl_a.pl_pmcid, ev->pl_u.pl_a.pl_evname);
	else if (ev->pl_type == PMCLOG_TYPE_PMCALLOCATEDYN)
		list_know_event(&f->lists[EVENTS], ev->pl_u.pl_ad.pl_pmcid,
				ev->pl_u.pl_ad.pl_evname);
	return pmc_log_learn(&f->names, ev);
}

/* An event that the log does not have is taken for a misspelled one. */
static int log_filter_check_events(const struct log_filter *f, const char *log)
{
	const struct list *list = &f->lists[EVENTS];

	for (int i = 0; i < list->count; i++)
		if (!list->known[i])
			return fail(EX_USAGE, "ERROR: \"%s\" has no event \"%s\"; pmc summary "
				    "shows the events of its samples", log, list->text[i]);
	return 0;
}

/* A file appears when all is well; a pipe gets nothing before all events of -e have appeared. */
static int filter_push(struct log_filter *f)
{
	const struct list *list = &f->lists[EVENTS];
	bool wait = !f->out.opened || f->out.file.folder < 0;

	for (int i = 0; wait && i < list->count; i++)
		if (!list->known[i])
			return 0;
	return out_push_all(&f->out);
}

static int filter_idle(void *arg)
{
	return filter_push(arg);
}

static void filter_put_json(struct buf *out, const struct pmclog_ev *ev)
{
	char text[PMCLOG_JSON_MAX];

	buf_add(out, text, pmclog_json(ev, text, sizeof(text)));
	buf_add(out, "\n", 1);
}

static void filter_put(const struct log_filter *f, struct buf *out, const struct pmclog_ev *ev)
{
	if (f->json)
		filter_put_json(out, ev);
	else
		buf_add(out, ev->pl_data, (size_t)ev->pl_len);
}

static void filter_forget_values(struct log_filter *f)
{
	f->values.len = 0;
	f->woken = false;
}

static int filter_record(void *arg, const struct pmclog_ev *ev)
{
	struct log_filter *f = arg;
	int code = filter_learn(f, ev);

	if (code)
		return code;
	if (ev->pl_type == PMCLOG_TYPE_VALUES) {
		filter_forget_values(f);
		filter_put(f, &f->values, ev);
		return 0;
	}
	if (ev->pl_type == PMCLOG_TYPE_WAKER) {	/* behind the values */
		if (f->woken)
			f->values.len = 0;
		f->woken = true;
		filter_put(f, &f->values, ev);
		return 0;
	}
	if (ev->pl_type == PMCLOG_TYPE_CALLCHAIN || ev->pl_type == PMCLOG_TYPE_PCSAMPLE) {
		struct sample s = sample_of(ev);

		if (!sample_stays(f, &s)) {
			filter_forget_values(f);
			return 0;
		}
		buf_add(&f->out.text, f->values.data, f->values.len);
		f->out.text.failed |= f->values.failed;
	}
	/* Names of functions may come between a sample and its values. */
	if (ev->pl_type != PMCLOG_TYPE_MAP_IN)
		filter_forget_values(f);
	filter_put(f, &f->out.text, ev);
	return f->out.text.len >= CHUNK ? filter_push(f) : 0;
}

static int filter_open_output(struct log_filter *f, int input, const char *path)
{
	int code;

	if (strcmp(path, "-") != 0) {
		code = guard_input(path, input, "log");
		if (!code)
			code = guard_output(path, f->json ? GUARD_TEXT : GUARD_LOG);
		return code ? code : out_open(&f->out, path, OUTPUT_WHOLE);
	}
	out_use(&f->out, STDOUT_FILENO, "standard output");
	if (!f->json && isatty(STDOUT_FILENO))
		return fail(EX_USAGE, "ERROR: a log is not for a terminal; name a file, or use -j");
	return 0;
}

static int filter_run(struct log_filter *f, const char *in, const char *out)
{
	struct log_user user = { .record = filter_record, .idle = filter_idle, .arg = f };
	int fd = -1, pushed, code = log_open_input(in, &fd);

	if (code)
		return code;
	code = filter_open_output(f, fd, out);
	if (!code) {
		code = pmc_log_each(fd, in, &user);
		if (!code)
			code = log_filter_check_events(f, in);
		pushed = code == EX_USAGE ? 0 : out_push_all(&f->out);	/* also a damaged log */
		code = code ? code : pushed;
		if (!pushed && code != EX_USAGE)
			out_complete(&f->out);
	}
	close(fd);
	pushed = out_close(&f->out);
	return code ? code : pushed;
}

/* --- the command line ------------------------------------------------------------------------ */

static int item_number(const char *text, bool must, uint32_t *number)
{
	uint64_t value;
	int err = opt_number(text, 0, 0, UINT32_MAX - 1, &value);

	*number = err ? UINT32_MAX : (uint32_t)value;	/* matches neither a PMC nor a process */
	return err && must ? fail(EX_USAGE, "ERROR: %s not usable value", text) : 0;
}

static int list_add(struct list *list, int kind, char *text)
{
	bool names = kind == EVENTS || kind == PROCESSES || kind == THREADS;
	char *item;
	int code = 0;

	while (!code && (item = strsep(&text, ","))) {
		if (!*item || list->count == LIST_MAX)
			return fail(EX_USAGE, !*item ? "ERROR: -%c: an empty word in the list" :
				    "ERROR: -%c takes at most 64 items", letters[kind]);
		list->text[list->count] = item;
		code = item_number(item, !names, &list->number[list->count++]);
	}
	return code;
}

static void filter_show_usage(FILE *file)
{
	fputs("usage: pmc filter [OPTION...] LOG OUTPUT\n", file);
}

static int filter_parse(struct log_filter *f, int argc, char *argv[], bool *ended)
{
	struct opt_scan scan;
	int letter, code = 0;

	opt_compile(&scan, options, NOPTIONS, sizeof(options[0]));
	while (!code && (letter = opt_next(&scan, argc, argv)) != -1) {
		const char *list = letter < 256 ? memchr(letters, letter, NLISTS) : NULL;

		if (letter == OPT_HELP) {
			*ended = true;
			return opt_show_help(filter_show_usage, options, NOPTIONS,
					     sizeof(options[0]));
		}
		if (list)
			code = list_add(&f->lists[list - letters], (int)(list - letters), optarg);
		else if (letter == 'j')
			f->json = true;
		else if (letter == '?')
			code = EX_USAGE;
		else if (f->verdict && f->verdict != letter)
			code = fail(EX_USAGE, "ERROR: options -x, --keep and --drop are mutually "
				    "exclusive.");
		else
			f->verdict = letter;
	}
	if (code)
		return code;
	if (optind + 2 != argc) {
		filter_show_usage(stderr);
		return EX_USAGE;
	}
	return 0;
}

int pmc_cmd_filter(int argc, char *argv[])
{
	struct log_filter f = { .verdict = 0 };
	bool ended = false;
	int code = filter_parse(&f, argc, argv, &ended);

	if (!code && !ended) {
		signal(SIGPIPE, SIG_IGN);
		code = filter_run(&f, argv[optind], argv[optind + 1]);
	}
	buf_free(&f.values);
	pmc_log_names_free(&f.names);
	return code;
}
