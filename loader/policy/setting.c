/* SPDX-License-Identifier: BSD-2-Clause */
/* See setting.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sys/pmc.h>

#include "lib/base/nearest.h"
#include "lib/base/number.h"
#include "loader/base/base.h"
#include "setting.h"

#define WORD 128u

#define BIT(mode) (1u << PMC_MODE_##mode)

static const char *const class_names[] = {
#define PMC__X(name, value) #name,
	PMC__CLASSES(PMC__X)
#undef PMC__X
};
#define NCLASSES (sizeof(class_names) / sizeof(class_names[0]))

static const char *const mode_names[] = {
	[PMC_MODE_SS] = "SS", [PMC_MODE_SC] = "SC", [PMC_MODE_TS] = "TS", [PMC_MODE_TC] = "TC",
};

/* --- values ----------------------------------------------------------------------------------- */

/* The item without its "~", split at its ":"; *event is NULL if it has none. */
static bool event_item_split(char *item, char **class, char **event)
{
	bool without = *item == '~';

	*class = item + without;
	*event = strchr(*class, ':');
	if (*event)
		*(*event)++ = '\0';
	return without;
}

/*
 * True if the pattern is of hardware counters and can match no number: the client resolves the
 * names of their events, so that a name proves nothing.
 */
static bool event_is_claimed(const char *class, const char *event)
{
	static const char *const named[] = {
		"SOFT", "TSC", "TRACEPOINT", "PROBE", "BREAKPOINT", "MSR",
	};

	if (!event || *event == '*' || !strncasecmp(event, "0x", 2))
		return false;
	for (unsigned int i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (site_pattern(class, named[i]))
			return false;
	/* PMUs that count for CPUs have numbers of their own: "PERF:uncore_imc_0/0x304". */
	return !site_pattern(class, "PERF") || (!strstr(event, "/0x") && !strchr(event, '*'));
}

static bool class_is_known(const char *class)
{
	for (unsigned int i = 0; i < NCLASSES; i++)
		if (site_pattern(class, class_names[i]))
			return true;
	return false;
}

static int class_deny_name(const char *item, const char *class, struct reason *why)
{
	struct nearest near;

	nearest_begin(&near, class);
	for (unsigned int i = 0; i < NCLASSES; i++)
		nearest_offer(&near, class_names[i]);
	return deny(why, -EINVAL, "\"%.60s\": there is no class %.40s%s; write CLASS:EVENT, as "
		    "SOFT:PAGE_FAULT.*, or \"all\" or \"none\"", item, class,
		    nearest_hint(&near, ""));
}

static int event_item_check(const char *item, struct reason *why)
{
	char copy[WORD], *class, *event;

	snprintf(copy, sizeof(copy), "%s", item);
	(void)event_item_split(copy, &class, &event);
	if (event && !*event)
		return deny(why, -EINVAL, "\"%.60s\": no event behind the \":\"; write %.30s for "
			    "all events of the class", item, class);
	if (!class_is_known(class))
		return class_deny_name(item, class, why);
	if (event_is_claimed(class, event))
		return deny(why, -EINVAL, "\"%.60s\": events of hardware counters are known by "
			    "number, as %.20s:%s0xc0; /sys/bus/event_source/devices/*/events has "
			    "the numbers of names", item, class,
			    strcasecmp(class, "PERF") ? "" : "PMU/");
	return 0;
}

static int value_take_events(const char *value, uint64_t *number, struct reason *why)
{
	const char *list = value;
	char item[WORD];
	int err = 0;

	if (!strcmp(value, "all") || !strcmp(value, "none"))
		return 0;
	if (!value[strspn(value, ", ")])
		return deny(why, -EINVAL, "events has no value; \"none\" is for none");
	while (!err && site_word(&list, item, sizeof(item)))
		err = strlen(item) < sizeof(item) - 1 ? event_item_check(item, why) :
		      deny(why, -EINVAL, "\"%.40s\"... is longer than any event's name", item);
	return err;
}

static int value_take_modes(const char *value, uint64_t *number, struct reason *why)
{
	const char *list = value;
	char word[WORD];

	while (site_word(&list, word, sizeof(word))) {
		unsigned int mode = 0;

		while (mode <= PMC_MODE_LAST && strcmp(word, mode_names[mode]))
			mode++;
		if (mode == PMC_MODE_SS)
			return deny(why, -EINVAL, "mode SS, system-scope sampling, is for "
				    "privileged processes, which rules do not limit; leave it out");
		if (mode > PMC_MODE_LAST)
			return deny(why, -EINVAL, "\"%.40s\" is no mode; modes takes a list of SC, "
				    "TC and TS", word);
		*number |= 1u << mode;
	}
	return *number ? 0 : deny(why, -EINVAL, "modes has no value; events=\"none\" forbids all");
}

/* --- judgements ------------------------------------------------------------------------------- */

struct judgement {
	enum setting s;
	const struct site_rule *r;	/* NULL: the tunables */
	const struct config *config;
	const struct cred *client;
	const struct setting_question *q;
	struct reason *why;
};

/* Every refusal by a rule ends with the rule. */
static int rule_deny(const struct judgement *j, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int rule_deny(const struct judgement *j, int err, const char *fmt, ...)
{
	char text[WIRE_MAX_REASON], rule[SETTING_TEXT];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	setting_describe(j->s, j->r, rule);
	return deny(j->why, err, "%s: %s", text, rule);
}

static uint64_t rule_number(const struct judgement *j)
{
	return j->r->number[j->s];
}

/* An event of unknown number may be any of the excluded ones, and is none of the admitted. */
static bool event_matches(const char *event, bool without, const struct setting_question *q)
{
	return !event || (q->numberless && without) ||
	       (q->event && site_pattern(event, q->event)) ||
	       (q->number && site_pattern(event, q->number));
}

/* The last item that matches decides.  A list that begins with "~" starts with all events. */
static bool events_admit(const char *list, const struct setting_question *q)
{
	char item[WORD], *class, *event;
	bool admitted = *list == '~';

	if (!strcmp(list, "all") || !strcmp(list, "none"))
		return *list == 'a';
	while (site_word(&list, item, sizeof(item))) {
		bool without = event_item_split(item, &class, &event);

		if (site_pattern(class, q->class) && event_matches(event, without, q))
			admitted = !without;
	}
	return admitted;
}

static int judge_events(const struct judgement *j)
{
	const struct setting_question *q = j->q;

	if (!j->r || events_admit(j->r->value[j->s], q))
		return 0;
	return rule_deny(j, -EPERM, "%s:%s is not among the events that you may count; get "
			 "CAP_PERFMON, or another rule", q->class, q->event ? q->event : q->number);
}

static int judge_modes(const struct judgement *j)
{
	if (!j->r && (!PMC_IS_SYSTEM_MODE(j->q->mode) || j->config->value[TUN_SYSPMCS]))
		return 0;
	if (!j->r)
		return deny(j->why, -EPERM, "system-scope PMCs need CAP_PERFMON, or "
			    "security.bsd.unprivileged_syspmcs=\"1\" in pmcbpf.conf");
	if (rule_number(j) >> j->q->mode & 1)
		return 0;
	return rule_deny(j, -EPERM, "mode %s is not among those that you may use; get CAP_PERFMON, "
			 "or another rule", mode_names[j->q->mode]);
}

static int judge_kernel(const struct judgement *j)
{
	if (!j->r || rule_number(j) || !j->q->kernel)
		return 0;
	return rule_deny(j, -EPERM, "you may not count in the kernel; add \"usr\" to the event, or "
			 "get CAP_PERFMON");
}

/* True if all user ids of the target are the client's real one. */
static bool cred_owns(const struct cred *client, const struct cred *target)
{
	for (unsigned int i = 0; i < IDS; i++)
		if (target->uid[i] != client->uid[ID_REAL])
			return false;
	return true;
}

static int judge_processes(const struct judgement *j)
{
	if (!j->r && j->config->value[TUN_PROC_DEBUG])
		return 0;
	if (!j->r)
		return deny(j->why, -EPERM, "only privileged processes may attach to others here "
			    "(security.bsd.unprivileged_proc_debug=\"0\"); attach to yourself, or "
			    "get CAP_PERFMON");
	if (rule_number(j) == PROCESSES_SELF)
		return rule_deny(j, -EPERM, "you may not attach to other processes; attach to "
				 "yourself, or get CAP_PERFMON");
	if (rule_number(j) == PROCESSES_ANY || cred_owns(j->client, j->q->target))
		return 0;
	return rule_deny(j, -EPERM, "process %d is another user's; attach to your own, or get "
			 "CAP_PERFMON", j->q->named);
}

static int judge_registers(const struct judgement *j)
{
	uint64_t allowed = j->r ? rule_number(j) : REGISTERS_ANY;

	if (allowed == REGISTERS_NONE)
		return rule_deny(j, -EPERM, "you may not count registers; get CAP_PERFMON, or "
				 "another rule");
	if (!j->q->admin || (allowed == REGISTERS_ADMIN && !j->q->jailed))
		return 0;
	if (allowed == REGISTERS_ADMIN)
		return deny(j->why, -EPERM, "%s reveals others' work, and is not for processes in "
			    "a container; count it on the host", j->q->event);
	return deny(j->why, -EPERM, "%s reveals others' work, and needs CAP_PERFMON or "
		    "CAP_SYS_ADMIN, whatever the tunables say", j->q->event);
}

static int judge_tracepoints(const struct judgement *j)
{
	uint64_t allowed = j->r ? rule_number(j) : TRACEPOINTS_PLAIN;
	const struct setting_question *q = j->q;

	if (allowed == TRACEPOINTS_NONE)
		return rule_deny(j, -EPERM, "you may not count tracepoints; get CAP_PERFMON, or "
				 "another rule");
	if ((!q->admin && !q->filter) || (allowed == TRACEPOINTS_ANY && !q->jailed))
		return 0;
	if (allowed == TRACEPOINTS_ANY)
		return deny(j->why, -EPERM, "%s%s is not for processes in a container; count it on "
			    "the host", q->event, q->admin ? "" : " with a filter");
	if (q->admin)
		return deny(j->why, -EPERM, "%s shows the kernel's work: it needs CAP_PERFMON or a "
			    "rule with tracepoints=\"any\"; you may count syscalls:*, "
			    "raw_syscalls:* and exceptions:*", q->event);
	return deny(j->why, -EPERM, "the kernel runs a filter for the hits of all processes: it "
		    "needs CAP_PERFMON or a rule with tracepoints=\"any\"; leave it out");
}

static int judge_probes(const struct judgement *j)
{
	uint64_t allowed = j->r ? rule_number(j) : PROBES_NONE;
	const struct setting_question *q = j->q;

	if (!q->jailed && (allowed == PROBES_ANY ||
			   (allowed == PROBES_OWN && q->owns && !q->admin)))
		return 0;
	if (j->r && allowed == PROBES_NONE)
		return rule_deny(j, -EPERM, "you may not count probes; get CAP_PERFMON, or another "
				 "rule");
	if (q->admin && allowed != PROBES_ANY)
		return deny(j->why, -EPERM, "%s is a place in the kernel: it needs CAP_PERFMON, or "
			    "a rule with probes=\"any\"", q->event);
	if (allowed == PROBES_NONE)
		return deny(j->why, -EPERM, "%s: a probe stops every process that runs the file: "
			    "it needs CAP_PERFMON, or a rule with probes=\"own\" for files of "
			    "your own or probes=\"any\"", q->event);
	if (q->jailed)
		return deny(j->why, -EPERM, "%s: probes are not for processes in a container, "
			    "whose files others may share; count it on the host", q->event);
	return rule_deny(j, -EPERM, "%s: the file is another user's; get CAP_PERFMON, or count in "
			 "a copy of your own", q->event);
}

static int judge_breakpoints(const struct judgement *j)
{
	uint64_t allowed = j->r ? rule_number(j) : BREAKPOINTS_PLAIN;

	if (allowed == BREAKPOINTS_NONE)
		return rule_deny(j, -EPERM, "you may not count breakpoints; get CAP_PERFMON, or "
				 "another rule");
	if (!j->q->admin || (allowed == BREAKPOINTS_ANY && !j->q->jailed))
		return 0;
	if (allowed == BREAKPOINTS_ANY)
		return deny(j->why, -EPERM, "%s is not for processes in a container; count it on "
			    "the host", j->q->event);
	return deny(j->why, -EPERM, "%s interrupts all processes, or the kernel: it needs "
		    "CAP_PERFMON or a rule with breakpoints=\"any\"; you may count user addresses "
		    "in processes", j->q->event);
}

static int judge_pmcs(const struct judgement *j)
{
	if (!j->r || j->q->pmcs < rule_number(j))
		return 0;
	return rule_deny(j, -EAGAIN, "uid %u has %u PMCs, the most that it may have; release some "
			 "first", j->q->uid, j->q->pmcs);
}

static int judge_rate(const struct judgement *j)
{
	const struct setting_question *q = j->q;
	uint64_t least;

	if (!j->r || rule_number(j) == SETTING_UNLIMITED)
		return 0;
	if (q->hz > rule_number(j))
		return rule_deny(j, -EPERM, "freq=%" PRIu64 ": you may have %" PRIu64
				 " samples a second", q->hz, rule_number(j));
	if (!q->ticks || q->hz)
		return 0;
	least = (q->ticks + rule_number(j) - 1) / rule_number(j);
	if (q->period >= least)
		return 0;
	return rule_deny(j, -EPERM, "a period of %" PRIu64 " makes %" PRIu64 " samples a second; "
			 "use %" PRIu64 " or more", q->period,
			 q->ticks / (q->period ? q->period : 1), least);
}

static int judge_period(const struct judgement *j)
{
	const struct setting_question *q = j->q;

	if (!j->r || q->ticks || (q->hz ? 1 : q->period) >= rule_number(j))
		return 0;
	if (q->hz)
		return rule_deny(j, -EPERM, "the kernel may steer to any period; use period=%"
				 PRIu64 " or more instead of freq", rule_number(j));
	return rule_deny(j, -EPERM, "a period of %" PRIu64 " is too short; use %" PRIu64
			 " or more", q->period, rule_number(j));
}

static int judge_log(const struct judgement *j)
{
	if (!j->r || rule_number(j))
		return 0;
	return rule_deny(j, -EPERM, "you may not write a log; count without one, or get "
			 "CAP_PERFMON");
}

static int judge_trace(const struct judgement *j)
{
	if (j->r ? rule_number(j) == SETTING_YES : j->config->value[TUN_KTR_UNPRIVILEGED] != 0)
		return 0;
	if (j->r)
		return rule_deny(j, -EPERM, "you may not read the kernel's trace rings; get "
				 "CAP_PERFMON, or another rule");
	return deny(j->why, -EPERM, "the kernel's trace rings need CAP_PERFMON, or "
		    "ktr.unprivileged=\"1\" in pmcbpf.conf");
}

/* --- the table -------------------------------------------------------------------------------- */

#define UNLIMITED true
#define TUNABLE(name, off, on) .tunable = TUN_##name, .preset = { off, on }
#define PRESET(text)	       .preset = { text, text }

static const struct {
	const char *name;
	/* A parser of its own … */
	int (*take)(const char *value, uint64_t *number, struct reason *why);
	const char *words[4];		/* … or words for 0, 1, 2 … */
	uint64_t min, max;		/* … or a number */
	bool unlimited;			/* which may be the word "unlimited" */
	unsigned int points;
	int (*judge)(const struct judgement *j);
	/* Without a rule: the text if the tunable is 0, and otherwise; NULL: the tunable itself. */
	enum tunable tunable;		/* 0: none */
	const char *preset[2];
} settings[SETTINGS] = {
	[SET_EVENTS] = { "events", value_take_events, .points = POINT_ALLOCATE,
			 .judge = judge_events, PRESET("all") },
	[SET_MODES] = { "modes", value_take_modes, .points = POINT_SCOPE | POINT_ALLOCATE,
			.judge = judge_modes, TUNABLE(SYSPMCS, "TC,TS", "SC,TC,TS") },
	[SET_KERNEL] = { "kernel", .words = { "no", "yes" }, .points = POINT_ALLOCATE,
			 .judge = judge_kernel, PRESET("yes") },
	[SET_PROCESSES] = { "processes", .words = { "self", "own", "any" },
			    .points = POINT_ATTACH, .judge = judge_processes,
			    TUNABLE(PROC_DEBUG, "self", "any") },
	[SET_REGISTERS] = { "registers", .words = { "none", "any", "admin" },
			    .points = POINT_REGISTER, .judge = judge_registers, PRESET("any") },
	[SET_TRACEPOINTS] = { "tracepoints", .words = { "none", "plain", "any" },
			      .points = POINT_TRACEPOINT, .judge = judge_tracepoints,
			      PRESET("plain") },
	[SET_PROBES] = { "probes", .words = { "none", "own", "any" }, .points = POINT_PROBE,
			 .judge = judge_probes, PRESET("none") },
	[SET_BREAKPOINTS] = { "breakpoints", .words = { "none", "plain", "any" },
			      .points = POINT_BREAKPOINT, .judge = judge_breakpoints,
			      PRESET("plain") },
	[SET_PMCS] = { "pmcs", .max = 1000000, .unlimited = UNLIMITED, .points = POINT_ALLOCATE,
		       .judge = judge_pmcs, PRESET("unlimited") },
	[SET_RATE] = { "rate", .min = 1, .max = 1000000000, .unlimited = UNLIMITED,
		       .points = POINT_PERIOD, .judge = judge_rate, PRESET("unlimited") },
	[SET_PERIOD] = { "period", .min = 1, .max = INT64_MAX, .points = POINT_PERIOD,
			 .judge = judge_period, PRESET("1") },
	[SET_LOG] = { "log", .max = 1000000000, .unlimited = UNLIMITED, .points = POINT_LOG,
		      .judge = judge_log, PRESET("unlimited") },
	[SET_TRACE] = { "trace", .words = { "no", "yes" }, .points = POINT_TRACE,
			.judge = judge_trace, TUNABLE(KTR_UNPRIVILEGED, "no", "yes") },
	[SET_SHARE] = { "share", .min = 1, .max = 100, TUNABLE(USER_SHARE, NULL, NULL) },
	[SET_RESERVE] = { "reserve", .max = 90, TUNABLE(USER_RESERVE, NULL, NULL) },
};

const char *setting_name(enum setting s)
{
	return settings[s].name;
}

void setting_describe(enum setting s, const struct site_rule *r, char text[SETTING_TEXT])
{
	snprintf(text, SETTING_TEXT, "%s=\"%.60s\" (%s:%u)", setting_name(s), r->value[s], r->file,
		 r->line);
}

unsigned int setting_points(enum setting s)
{
	return settings[s].points;
}

static int setting_deny_name(const char *name, struct reason *why)
{
	static const char *const others[] = { "user", "group", "container" };
	struct nearest near;

	nearest_begin(&near, name);
	for (enum setting s = 0; s < SETTINGS; s++)
		nearest_offer(&near, settings[s].name);
	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		nearest_offer(&near, others[i]);
	return deny(why, -EINVAL, "rules have no \"%.40s\"%s; see pmcbpf.policy(5)", name,
		    nearest_hint(&near, ""));
}

static int setting_find(const char *name, enum setting *s, struct reason *why)
{
	for (*s = 0; *s < SETTINGS; (*s)++)
		if (!strcmp(name, settings[*s].name))
			return 0;
	return setting_deny_name(name, why);
}

static int value_take_word(enum setting s, const char *value, uint64_t *number, struct reason *why)
{
	const char *const *words = settings[s].words;

	for (*number = 0; words[*number]; (*number)++)
		if (!strcmp(value, words[*number]))
			return 0;
	return deny(why, -EINVAL, "%s takes %s, %s%s%s, not \"%.40s\"", settings[s].name, words[0],
		    words[1], words[2] ? ", " : "", words[2] ? words[2] : "", value);
}

static int value_take_number(enum setting s, const char *value, uint64_t *number,
			     struct reason *why)
{
	*number = SETTING_UNLIMITED;
	if (settings[s].unlimited && !strcmp(value, "unlimited"))
		return 0;
	if (!number_parse(value, 10, settings[s].max, number) && *number >= settings[s].min)
		return 0;
	return deny(why, -EINVAL, "%s takes a number from %" PRIu64 " to %" PRIu64 "%s, not "
		    "\"%.40s\"", settings[s].name, settings[s].min, settings[s].max,
		    settings[s].unlimited ? ", or unlimited" : "", value);
}

int setting_take(struct site_rule *r, const char *name, const char *value, struct reason *why)
{
	enum setting s;
	int err = setting_find(name, &s, why);

	if (err)
		return err;
	if (r->set >> s & 1)
		return deny(why, -EINVAL, "%s is there twice; a rule has each setting once", name);
	r->set |= 1u << s;
	r->value[s] = value;
	if (settings[s].take)
		return settings[s].take(value, &r->number[s], why);
	if (settings[s].words[0])
		return value_take_word(s, value, &r->number[s], why);
	return value_take_number(s, value, &r->number[s], why);
}

/* Processes in containers never have what concerns the whole machine. */
int setting_check(const struct site_rule *r, struct reason *why)
{
	enum setting s = SETTINGS;

	if (r->container != SITE_CONTAINER)
		return 0;
	if (setting_counts_cpus(r))
		s = SET_MODES;
	else if (r->set >> SET_TRACE & 1 && r->number[SET_TRACE] == SETTING_YES)
		s = SET_TRACE;
	else if (r->set >> SET_REGISTERS & 1 && r->number[SET_REGISTERS] == REGISTERS_ADMIN)
		s = SET_REGISTERS;
	else if (r->set >> SET_TRACEPOINTS & 1 && r->number[SET_TRACEPOINTS] == TRACEPOINTS_ANY)
		s = SET_TRACEPOINTS;
	else if (r->set >> SET_PROBES & 1 && r->number[SET_PROBES] != PROBES_NONE)
		s = SET_PROBES;
	else if (r->set >> SET_BREAKPOINTS & 1 && r->number[SET_BREAKPOINTS] == BREAKPOINTS_ANY)
		s = SET_BREAKPOINTS;
	if (s == SETTINGS)
		return 0;
	return deny(why, -EINVAL, "container=\"any\" and %s=\"%.40s\" contradict each other: whole "
		    "CPUs, trace rings, probes, and registers, tracepoints and breakpoints for "
		    "administrators are never for processes in containers; remove one",
		    settings[s].name, r->value[s]);
}

bool setting_same(const struct site_rule *a, const struct site_rule *b, enum setting s)
{
	return s == SET_EVENTS ? !strcasecmp(a->value[s], b->value[s]) :
				 a->number[s] == b->number[s];
}

bool setting_counts_cpus(const struct site_rule *r)
{
	return r->set >> SET_MODES & 1 && r->number[SET_MODES] & BIT(SC);
}

int setting_judge(enum setting s, const struct site_rule *r, const struct config *config,
		  const struct cred *client, const struct setting_question *q, struct reason *why)
{
	const struct judgement j = {
		.s = s, .r = r, .config = config, .client = client, .q = q, .why = why,
	};

	return settings[s].judge(&j);
}

void setting_preset(enum setting s, const struct config *config, char *value, size_t size,
		    const char **tunable)
{
	int n = settings[s].tunable ? config->value[settings[s].tunable] : 0;

	*tunable = settings[s].tunable ? config_name(settings[s].tunable) : NULL;
	if (settings[s].preset[0])
		snprintf(value, size, "%s", settings[s].preset[n != 0]);
	else
		snprintf(value, size, "%d", n);
}
