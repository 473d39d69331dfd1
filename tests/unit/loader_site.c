/* SPDX-License-Identifier: BSD-2-Clause */
/* The administrator's rules: their files, the processes they select, the judgements of settings. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "loader/policy/policy.h"
#include "unit.h"

#define INITIAL 4026531837ull

static struct config config;
static struct site_rules *rules;
static struct reason why;
static char warnings[1024];

static void warn(void *arg, const char *line)
{
	snprintf(warnings + strlen(warnings), sizeof(warnings) - strlen(warnings), "%s\n", line);
}

static int setup(void **state)
{
	config_init(&config);
	return 0;
}

static int teardown(void **state)
{
	site_free(rules);
	rules = NULL;
	return 0;
}

/* The rules of a.conf, in place of those before; their users and groups are not looked up. */
static int parse_file(const char *text)
{
	site_free(rules);
	rules = calloc(1, sizeof(*rules));
	why.text[0] = warnings[0] = '\0';
	return site_text(rules, "a.conf", text, strlen(text), &why);
}

/* Each text is a file of its own: a.conf, b.conf. */
static int parse(const char *a, const char *b)
{
	int err = parse_file(a);

	if (!err && b)
		err = site_text(rules, "b.conf", b, strlen(b), &why);
	for (unsigned int i = 0; i < rules->nnames; i++)
		assert_int_equal(site_name_find(rules->name[i]), 0);
	return err ?: site_settle(rules, NULL, warn, NULL, &why);
}

/* Of a user in the groups 7 and 8. */
static struct grant grant_of(uid_t uid, bool jailed, const char *cgroup)
{
	static const gid_t groups[] = { 7, 8 };
	const struct site_subject subject = { .uid = uid, .jailed = jailed, .cgroup = cgroup,
					      .groups = groups, .ngroups = 2 };
	struct grant g;

	grant_match(&g, rules, &subject);
	return g;
}

static const struct cred client = { .user_ns = INITIAL, .uid = { 1000, 1000, 1000 } };

static int judge(const struct grant *g, enum setting_point point, struct setting_question q)
{
	const struct ruling by = { .config = &config, .grant = g };

	return grant_check(&by, point, &client, &q, &why);
}

static void test_lines(void **state)
{
	assert_int_equal(parse("# a comment\n\n \t\r\n  user=\"0, 1000\"\tpmcs=8 # most\r\n"
			       "group=7 modes=\"SC,TC\" kernel=\"no\"", NULL), 0);
	assert_int_equal(rules->n, 2);
	assert_string_equal(rules->rule[0].text, "user=\"0, 1000\"\tpmcs=8");
	assert_string_equal(rules->rule[0].file, "a.conf");
	assert_int_equal(rules->rule[0].line, 4);
	assert_int_equal(rules->rule[0].users.n, 2);
	assert_int_equal(rules->rule[0].number[SET_PMCS], 8);
	assert_int_equal(rules->rule[1].set, 1u << SET_MODES | 1u << SET_KERNEL);
	assert_true(rules->users_count_cpus);
	assert_int_equal(parse("", NULL), 0);
	assert_int_equal(rules->n, 0);
	assert_false(rules->users_count_cpus);
	assert_string_equal(warnings, "");
}

static void test_malformed(void **state)
{
	static const struct {
		const char *line, *what;
	} cases[] = {
		{ "pmcs", "expected name=\"value\"" },
		{ "pmcs=\"8", "lacks its closing quote" },
		{ "pmcs=\"8\"kernel=\"no\"", "\"kernel=\"no\"\" after the value" },
		{ "pmc=\"8\"", "rules have no \"pmc\" (did you mean \"pmcs\"?)" },
		{ "usr=\"a\" pmcs=1", "did you mean \"user\"?" },
		{ "pmcs=\"eight\"", "pmcs takes a number from 0 to 1000000, or unlimited, not "
				    "\"eight\"" },
		{ "pmcs=-1", "not \"-1\"" },
		{ "pmcs=1000001", "from 0 to 1000000" },
		{ "share=0", "share takes a number from 1 to 100, not \"0\"" },
		{ "share=unlimited", "share takes a number" },
		{ "reserve=91", "from 0 to 90" },
		{ "rate=0", "from 1 to" },
		{ "period=0", "from 1 to" },
		{ "kernel=maybe", "kernel takes no, yes, not \"maybe\"" },
		{ "processes=all", "processes takes self, own, any, not \"all\"" },
		{ "registers=yes", "registers takes none, any, admin, not \"yes\"" },
		{ "modes=SS", "mode SS, system-scope sampling, is for privileged processes" },
		{ "modes=\"TC,XX\"", "\"XX\" is no mode; modes takes a list of SC, TC and TS" },
		{ "modes=\"\"", "modes has no value" },
		{ "events=\"\"", "events has no value" },
		{ "events=\"SOFTY\"", "there is no class SOFTY (did you mean \"SOFT\"?)" },
		{ "events=\"SOFT:\"", "no event behind the \":\"" },
		{ "events=\"IAP:instructions\"", "are known by number, as IAP:0xc0" },
		{ "user=\"\" pmcs=1", "user has no name" },
		{ "group=\",\" pmcs=1", "group has no name" },
		{ "container=docker pmcs=1", "paths of control groups that begin with a /" },
		{ "container=\"\" pmcs=1", "container has no value" },
		{ "pmcs=1 pmcs=1", "pmcs is there twice" },
		{ "user=1 user=2 pmcs=1", "user is there twice" },
		{ "container=any container=none pmcs=1", "container is there twice" },
		{ "user=1", "the rule sets nothing" },
		{ "container=any modes=\"SC,TC\"",
		  "container=\"any\" and modes=\"SC,TC\" contradict" },
		{ "container=any trace=yes", "and trace=\"yes\" contradict" },
		{ "container=any registers=admin", "and registers=\"admin\" contradict" },
		{ "container=any breakpoints=any", "and breakpoints=\"any\" contradict" },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text), "kernel=no user=0\n\n%s\n", cases[i].line);
		assert_int_equal(parse(text, NULL), -EINVAL);
		assert_contains(why.text, "a.conf:3: ");
		assert_contains(why.text, cases[i].what);
	}
}

static void test_contradictions(void **state)
{
	assert_int_equal(parse("pmcs=8\n", "kernel=no\nuser=5 pmcs=9\n"), -EINVAL);
	assert_contains(why.text, "b.conf:2: pmcs=\"9\" never takes effect: a.conf:1 comes first, "
			"is for the same processes, and has pmcs=\"8\"");
	assert_int_equal(parse("user=5,6 group=7 pmcs=8\n", "user=6 group=7 pmcs=9"), -EINVAL);
	assert_int_equal(parse("container=/a/* pmcs=8\ncontainer=/a/* pmcs=9", NULL), -EINVAL);
	assert_int_equal(parse("events=SOFT\nevents=TSC", NULL), -EINVAL);
	/* The same value twice, another setting, and processes that the first is not for. */
	assert_int_equal(parse("pmcs=8\nuser=5 pmcs=8 kernel=no", NULL), 0);
	assert_int_equal(parse("user=6 pmcs=9\nuser=5 pmcs=10\npmcs=8", NULL), 0);
	assert_int_equal(parse("user=5 pmcs=9\nuser=5,6 pmcs=10", NULL), 0);
	assert_int_equal(parse("user=5 group=7 pmcs=9\nuser=5 pmcs=10", NULL), 0);
	assert_int_equal(parse("container=any pmcs=9\ncontainer=/a pmcs=10", NULL), 0);
	assert_int_equal(parse("events=soft\nevents=SOFT", NULL), 0);
}

static void test_unknown_names(void **state)
{
	struct grant g;

	assert_int_equal(parse("user=\"root,no-such-user\" pmcs=1\ngroup=no-such-group pmcs=2\n"
			       "user=no-such-user kernel=no", NULL), 0);
	assert_contains(warnings, "a.conf:1: there is no user \"no-such-user\"");
	assert_contains(warnings, "a.conf:2: there is no group \"no-such-group\"");
	assert_contains(warnings, "a.conf:3: ");
	g = grant_of(0, false, "/");
	assert_ptr_equal(g.rule[SET_PMCS], &rules->rule[0]);
	g = grant_of(1000, false, "/");
	assert_null(g.rule[SET_PMCS]);
}

/* The questions to a helper process, in parts, and its answers. */
static void test_lookup(void **state)
{
	struct { int32_t err; uint32_t id; } answers[64] = { { 0, 1234 }, { -ENOENT, 0 } };
	struct helper_part part = { .data = (const uint8_t *)answers, .len = sizeof(answers) };
	char arg[HELPER_MAX_ARG], text[8192] = "user=root,5 pmcs=1\ngroup=root user=root pmcs=1\n";
	size_t len;

	for (unsigned int i = 0; i < 98; i++)
		sprintf(text + strlen(text), "user=name%u pmcs=1\n", i);
	assert_int_equal(parse_file(text), 0);
	/* The user, the group, and 98 more: a name is asked once, a number never. */
	assert_int_equal(rules->nnames, 100);
	assert_int_equal(site_name_ask(rules, 0, arg, &len), 64);
	assert_memory_equal(arg, "uroot\0groot\0uname0\0", 19);
	assert_int_equal(site_name_ask(rules, 64, arg, &len), 36);
	assert_string_equal(arg, "uname62");
	assert_int_equal(site_name_answer(rules, 0, 64, &part, &why), 0);
	assert_int_equal(rules->name[0]->id, 1234);
	assert_true(rules->name[0]->known);
	assert_false(rules->name[1]->known);
	assert_int_equal(site_settle(rules, NULL, warn, NULL, &why), 0);
	assert_int_equal(rules->rule[0].users.id[0].id, 1234);
	assert_contains(warnings, "a.conf:2: there is no group \"root\"");
	answers[3].err = -EIO;
	assert_int_equal(site_name_answer(rules, 0, 64, &part, &why), -EIO);
	assert_contains(why.text, "cannot look up the user \"name1\"");
	part.len--;
	assert_int_equal(site_name_answer(rules, 0, 64, &part, &why), -EIO);
	assert_contains(why.text, "malformed answer");
	/* Long names fill a call before there are 64 of them. */
	text[0] = '\0';
	for (unsigned int i = 0; i < 7; i++)
		sprintf(text + strlen(text), "user=n%0900u pmcs=1\n", i);
	assert_int_equal(parse_file(text), 0);
	assert_int_equal(rules->nnames, 7);
	assert_int_equal(site_name_ask(rules, 0, arg, &len), 4);
	assert_int_equal(site_name_ask(rules, 4, arg, &len), 3);
}

static void test_matching(void **state)
{
	struct grant g;

	assert_int_equal(parse("user=5 pmcs=1\ngroup=8 kernel=no\nuser=6 group=9 pmcs=3\n"
			       "container=any pmcs=4\n"
			       "container=\"/x/*,/system.slice/*.service\" pmcs=5\n"
			       "container=none pmcs=6 kernel=yes\nuser=6 kernel=yes", NULL), 0);
	/* The first rule that has the setting decides on it, and on nothing else. */
	g = grant_of(5, false, "/");
	assert_ptr_equal(g.rule[SET_PMCS], &rules->rule[0]);
	assert_ptr_equal(g.rule[SET_KERNEL], &rules->rule[1]);
	assert_null(g.rule[SET_EVENTS]);
	g = grant_of(6, true, "/x/1");
	assert_ptr_equal(g.rule[SET_PMCS], &rules->rule[3]);
	g = grant_of(6, false, "/system.slice/a/b.service");
	assert_ptr_equal(g.rule[SET_PMCS], &rules->rule[4]);
	g = grant_of(6, false, "/system.slice/b.scope");
	assert_ptr_equal(g.rule[SET_PMCS], &rules->rule[5]);
	grant_match(&g, NULL, &(struct site_subject){ .cgroup = "/" });
	assert_null(g.rule[SET_PMCS]);
}

static void test_patterns(void **state)
{
	assert_true(site_pattern("*", ""));
	assert_true(site_pattern("", ""));
	assert_false(site_pattern("", "a"));
	assert_true(site_pattern("page_fault.*", "PAGE_FAULT.ALL"));
	assert_false(site_pattern("PAGE_FAULT.*", "PAGE_FAULT"));
	assert_true(site_pattern("*a*b", "aabxb"));
	assert_false(site_pattern("*a*b", "aabx"));
	assert_false(site_pattern("a?", "ab"));
}

static int event(const char *list, const char *class, const char *name, const char *number)
{
	char text[256];
	struct grant g;

	snprintf(text, sizeof(text), "events=\"%s\"", list);
	assert_int_equal(parse(text, NULL), 0);
	g = grant_of(1, false, "/");
	return judge(&g, POINT_ALLOCATE, (struct setting_question){
		.mode = PMC_MODE_TC, .class = class, .event = name, .number = number });
}

static void test_events(void **state)
{
	assert_int_equal(event("all", "SOFT", "CLOCK.PROF", NULL), 0);
	assert_int_equal(event("none", "SOFT", "CLOCK.PROF", NULL), -EPERM);
	assert_contains(why.text, "SOFT:CLOCK.PROF is not among the events that you may count");
	assert_contains(why.text, ": events=\"none\" (a.conf:1)");
	assert_int_equal(event("SOFT,TSC", "SOFT", "CLOCK.PROF", NULL), 0);
	assert_int_equal(event("SOFT,TSC", "MSR", "APERF", "0xe8"), -EPERM);
	assert_int_equal(event("SOFT:PAGE*, soft:clock.prof", "SOFT", "CLOCK.PROF", NULL), 0);
	assert_int_equal(event("SOFT:PAGE*", "SOFT", "CLOCK.PROF", NULL), -EPERM);
	assert_int_equal(event("~SOFT:LOCK*", "SOFT", "CLOCK.PROF", NULL), 0);
	assert_int_equal(event("~SOFT:LOCK*", "SOFT", "LOCK.FAILED", NULL), -EPERM);
	assert_int_equal(event("SOFT,~SOFT:LOCK*", "SOFT", "LOCK.FAILED", NULL), -EPERM);
	assert_int_equal(event("~SOFT,SOFT:LOCK*", "SOFT", "LOCK.FAILED", NULL), 0);
	/* Registers by name or number, hardware events by number only: the name is the client's. */
	assert_int_equal(event("MSR:0xe8", "MSR", "APERF", "0xe8"), 0);
	assert_int_equal(event("IA*:0x*c0", "IAP", NULL, "0x1c0"), 0);
	assert_int_equal(event("IAP:0xc0", "IAP", NULL, "0xc0/0x1/0x0"), -EPERM);
	assert_contains(why.text, "IAP:0xc0/0x1/0x0 is not");
}

static void test_settings(void **state)
{
	static const struct cred mine = { .uid = { 1000, 1000, 1000 } };
	static const struct cred theirs = { .uid = { 1000, 1001, 1000 } };
	const struct {
		const char *rule;
		enum setting_point point;
		int err;
		struct setting_question q;
		const char *reason;
	} cases[] = {
		{ "modes=TC", POINT_SCOPE, -EPERM, { .mode = PMC_MODE_SC }, "mode SC is not" },
		{ "modes=TC", POINT_ALLOCATE, -EPERM, { .mode = PMC_MODE_TS }, "mode TS is not" },
		{ "modes=TC", POINT_ALLOCATE, 0, { .mode = PMC_MODE_TC }, NULL },
		{ "modes=\"SC TC\"", POINT_SCOPE, 0, { .mode = PMC_MODE_SC }, NULL },
		{ "pmcs=1", POINT_SCOPE, -EPERM, { .mode = PMC_MODE_SC }, "unprivileged_syspmcs" },
		{ "kernel=no", POINT_ALLOCATE, -EPERM, { .mode = PMC_MODE_TC, .kernel = true },
		  "add \"usr\" to the event" },
		{ "kernel=no", POINT_ALLOCATE, 0, { .mode = PMC_MODE_TC }, NULL },
		{ "processes=self", POINT_ATTACH, -EPERM, { .target = &mine }, "to yourself" },
		{ "processes=own", POINT_ATTACH, 0, { .target = &mine }, NULL },
		{ "processes=own", POINT_ATTACH, -EPERM, { .target = &theirs, .named = 7 },
		  "process 7 is another user's" },
		{ "processes=any", POINT_ATTACH, 0, { .target = &theirs }, NULL },
		{ "registers=none", POINT_REGISTER, -EPERM, { .event = "MSR-X" },
		  "you may not count registers" },
		{ "registers=any", POINT_REGISTER, 0, { .event = "MSR-X" }, NULL },
		{ "registers=any", POINT_REGISTER, -EPERM, { .event = "MSR-X", .admin = true },
		  "MSR-X reveals others' work" },
		{ "registers=admin", POINT_REGISTER, 0, { .event = "MSR-X", .admin = true }, NULL },
		{ "registers=admin", POINT_REGISTER, -EPERM,
		  { .event = "MSR-X", .admin = true, .jailed = true }, "in a container" },
		{ "pmcs=2", POINT_ALLOCATE, 0, { .mode = PMC_MODE_TC, .pmcs = 1 }, NULL },
		{ "pmcs=2", POINT_ALLOCATE, -EAGAIN, { .mode = PMC_MODE_TC, .pmcs = 2, .uid = 5 },
		  "uid 5 has 2 PMCs" },
		{ "pmcs=unlimited", POINT_ALLOCATE, 0, { .mode = PMC_MODE_TC, .pmcs = ~0u }, NULL },
		{ "rate=1000", POINT_PERIOD, 0, { .ticks = 1000000000, .period = 1000000 }, NULL },
		{ "rate=1000", POINT_PERIOD, -EPERM, { .ticks = 1000000000, .period = 999999 },
		  "use 1000000 or more" },
		{ "rate=1000", POINT_PERIOD, 0, { .ticks = 128, .period = 1 }, NULL },
		{ "rate=3", POINT_PERIOD, -EPERM, { .ticks = 10, .period = 3 }, "use 4 or more" },
		{ "rate=1", POINT_PERIOD, 0, { .period = 1 }, NULL },
		{ "period=100", POINT_PERIOD, -EPERM, { .period = 99 }, "use 100 or more" },
		{ "period=100", POINT_PERIOD, 0, { .period = 100 }, NULL },
		{ "period=100", POINT_PERIOD, 0, { .period = 1, .ticks = 1000 }, NULL },
		{ "log=0", POINT_LOG, -EPERM, { 0 }, "you may not write a log" },
		{ "log=1", POINT_LOG, 0, { 0 }, NULL },
		{ "trace=yes", POINT_TRACE, 0, { 0 }, NULL },
		{ "trace=no", POINT_TRACE, -EPERM, { 0 },
		  "you may not read the kernel's trace rings" },
		{ "pmcs=1", POINT_TRACE, -EPERM, { 0 }, "ktr.unprivileged=\"1\"" },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct grant g;

		assert_int_equal(parse(cases[i].rule, NULL), 0);
		g = grant_of(1000, false, "/");
		why.text[0] = '\0';
		assert_int_equal(judge(&g, cases[i].point, cases[i].q), cases[i].err);
		if (cases[i].err)
			assert_contains(why.text, cases[i].reason);
		/* What a tunable or the list of registers refuses names those. */
		if (cases[i].err && !strstr(why.text, "unprivileged") && !cases[i].q.admin)
			assert_contains(why.text, "(a.conf:1)");
	}
}

/* The tunables decide where no rule does; privileged clients have no limits. */
static void test_tunables(void **state)
{
	const struct cred root = { .user_ns = INITIAL, .effective = ~0ull };
	static const struct grant none;
	const struct ruling by = { .config = &config, .grant = &none };
	struct setting_question q = { .mode = PMC_MODE_SC };
	struct grant g;
	const struct ruling ruled = { .config = &config, .grant = &g };

	config.value[TUN_SYSPMCS] = 1;
	assert_int_equal(grant_check(&by, POINT_SCOPE, &client, &q, &why), 0);
	assert_int_equal(parse("modes=TC log=5", NULL), 0);
	g = grant_of(0, false, "/");
	assert_int_equal(grant_check(&ruled, POINT_SCOPE, &client, &q, &why), -EPERM);
	assert_int_equal(grant_check(&ruled, POINT_SCOPE, &root, &q, &why), 0);
	assert_int_equal(grant_number(&ruled, SET_LOG, &client, 0), 5);
	assert_int_equal(grant_number(&ruled, SET_LOG, &root, 0), 0);
	assert_int_equal(grant_number(&by, SET_LOG, &client, 0), 0);
}

static void test_parts(void **state)
{
	static const struct grant none;
	struct user_table users = { .config = NULL };
	const struct cred c = { .pid = -1, .uid = { 7, 7, 7 }, .user_ns = INITIAL };
	struct user *u;
	struct grant g;

	user_table_init(&users, &config);
	user_pool(&users, POOL_LOGS, 100);
	assert_int_equal(parse("user=7 share=3 reserve=50", NULL), 0);
	g = grant_of(7, false, "/");
	u = user_get(&users, &c);
	assert_int_equal(user_share(u, 100), 25);
	user_set_rules(u, &g, 2);
	/* A process that connected before that one. */
	user_set_rules(u, &none, 1);
	assert_int_equal(user_share(u, 100), 3);
	assert_int_equal(user_reserve(u, 100), 50);
	assert_int_equal(user_take(&users, u, POOL_LOGS, 4, &why), -EAGAIN);
	assert_contains(why.text, "3 is the most for one user (share=\"3\" percent in a.conf:1)");
	user_drop_rules(&users);
	assert_int_equal(user_share(u, 100), 25);
	user_put(u);
}

static void put(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_folder(void **state)
{
	char dir[] = "/tmp/site.XXXXXX", command[64];
	struct site_rules *s = NULL;

	assert_non_null(mkdtemp(dir));
	put(dir, "20-b.conf", "pmcs=2\n", 0644);
	put(dir, "10-a.conf", "user=1 pmcs=1\n", 0600);
	put(dir, "README", "no rule\n", 0644);
	put(dir, ".hidden.conf", "no rule\n", 0644);
	put(dir, "a.conf.dpkg-old", "no rule\n", 0644);
	assert_int_equal(site_read(dir, &s, &why), 0);
	assert_int_equal(s->n, 2);
	assert_contains(s->rule[0].file, "/10-a.conf");
	site_free(s);
	put(dir, "30-c.conf", "pmcs\n", 0644);
	assert_int_equal(site_read(dir, &s, &why), -EINVAL);
	assert_contains(why.text, "/30-c.conf:1: expected");
	put(dir, "30-c.conf", "", 0664);
	assert_int_equal(site_read(dir, &s, &why), -EPERM);
	assert_contains(why.text, "30-c.conf may be written by other users than root; run chmod "
			"go-w");
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);	/* NOLINT(cert-env33-c) */
	/* No folder: no rules. */
	assert_int_equal(site_read(dir, &s, &why), 0);
	assert_int_equal(s->n, 0);
	site_free(s);
	assert_int_equal(site_read("/etc/passwd", &s, &why), -ENOTDIR);
}

/* A real process: this one, with its groups and its control group. */
static void test_process(void **state)
{
	struct cred me;
	struct grant g;
	char text[128];

	assert_int_equal(policy_read_cred(getpid(), &me), 0);
	snprintf(text, sizeof(text), "user=%u group=%u container=/* pmcs=3", getuid(), getegid());
	assert_int_equal(parse(text, NULL), 0);
	assert_int_equal(grant_make(&g, rules, &me, getuid(), me.pid_ns, &why), 0);
	assert_ptr_equal(g.rule[SET_PMCS], &rules->rule[0]);
	me.pid = -1;
	assert_int_equal(grant_make(&g, rules, &me, getuid(), me.pid_ns, &why), -ESRCH);
	assert_contains(why.text, "groups of process");
	/* Only what rules select by is read. */
	assert_int_equal(parse("user=5 pmcs=3", NULL), 0);
	assert_int_equal(grant_make(&g, rules, &me, 5, me.pid_ns, &why), 0);
	assert_ptr_equal(g.rule[SET_PMCS], &rules->rule[0]);
}

/* A thousand rules and what each request looks at: one pointer for each setting. */
static void test_many(void **state)
{
	char *text = calloc(1200, 64);
	struct grant g;

	for (unsigned int i = 0; i < 1000; i++)
		sprintf(text + strlen(text), "user=%u group=%u pmcs=%u\n", i, i, i);
	assert_int_equal(parse(text, "pmcs=5"), 0);
	assert_int_equal(rules->n, 1001);
	g = grant_of(8, false, "/");
	assert_int_equal(g.rule[SET_PMCS]->number[SET_PMCS], 8);
	g = grant_of(999, false, "/");
	assert_int_equal(g.rule[SET_PMCS]->number[SET_PMCS], 5);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_contradictions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lookup, setup, teardown),
		cmocka_unit_test_setup_teardown(test_matching, setup, teardown),
		cmocka_unit_test_setup_teardown(test_patterns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_settings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tunables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
