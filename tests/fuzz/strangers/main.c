/* SPDX-License-Identifier: BSD-2-Clause */
/* Options, the stage, and one attack after the other. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stranger.h"

static const char usage[] =
	"Usage: strangers -d DAEMON [-o NAME=VALUE]... [-s SEED] [-n MESSAGES] [-t SECONDS]\n"
	"                 [--attacks A,B...] [--without A,B...] [--requests N] [--scale PERCENT]\n"
	"                 [--patience SECONDS] [--bound MS] [--ignore-refusals] [--list]\n"
	"\n"
	"Attacks DAEMON as several users, and measures how long others' requests take meanwhile.\n"
	"\n"
	"  -d, --daemon=DAEMON   the pmcbpfd to start, on a socket of its own\n"
	"  -o, --option=N=V      a tunable of it\n"
	"  -a, --attacks=A,B...  these only; --attack is the same\n"
	"  -w, --without=A,B...  all but these; shapes of random messages may be named as well\n"
	"  -s, --seed=SEED       of the random messages\n"
	"  -n, --messages=N      so many of them (10000, or as many as there is time for)\n"
	"  -t, --seconds=N       for so long\n"
	"  -r, --requests=N      each observer is answered so often during an attack (200)\n"
	"  -x, --scale=PERCENT   of an attack's numbers of processes, mappings and so on (100)\n"
	"  -p, --patience=N      seconds after which a request is not answered any more (60)\n"
	"  -b, --bound=MS        a request may take so long, 0: any time\n"
	"  -i, --ignore-refusals a refused request of the others is printed and not counted\n"
	"  -l, --list            what attacks there are\n";

struct stage *stage;
const uid_t users[USERS] = { NOBODY, 2001, 2002 };

static const struct attack *const attacks[] = { hang_attacks, log_attacks, crowd_attacks,
						size_attacks, random_attacks };
static struct {
	const char *daemon, *only, *without;
	char *options[50];
	unsigned int noptions, requests, patience;
	double bound;
	bool ignore_refusals;
} opt = { .requests = 200, .patience = 60 };

static volatile sig_atomic_t interrupted;
static const struct attack *now;	/* the process to clean up after */
static pid_t observers[OBSERVERS + 1];

/* --- names ----------------------------------------------------------------------------------- */

static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && !strncmp(p, name, len))
			return true;
	return false;
}

bool wanted(const char *name)
{
	return !listed(opt.without, name);
}

static bool chosen(const char *name)
{
	return wanted(name) && (!opt.only || listed(opt.only, name));
}

/* --- reports of attacks ---------------------------------------------------------------------- */

void attack_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(stage->note, sizeof(stage->note), fmt, ap);
	va_end(ap);
}

void attack_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(stage->skipped, sizeof(stage->skipped), fmt, ap);
	va_end(ap);
	_exit(0);
}

void attack_in_place(void)
{
	__atomic_store_n(&stage->held, 1, __ATOMIC_RELEASE);
}

bool attack_over(void)
{
	return __atomic_load_n(&stage->over, __ATOMIC_ACQUIRE);
}

void attack_hold(void)
{
	attack_in_place();
	while (!attack_over())
		usleep(1000);
}

/* --- one attack ------------------------------------------------------------------------------ */

static bool ended(void *arg)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, *(id_t *)arg, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid ||
	       interrupted;
}

static bool in_place(void *arg)
{
	return __atomic_load_n(&stage->held, __ATOMIC_ACQUIRE) || ended(arg);
}

struct progress {
	uint64_t from[OBSERVERS];
};

static void begin_progress(struct progress *p)
{
	for (unsigned int i = 0; i < OBSERVERS; i++)
		p->from[i] = stage->observer[i].times.n;
}

static bool progressed(void *arg)
{
	const struct progress *p = arg;

	if (interrupted || !host_alive())
		return true;
	for (unsigned int i = 0; i < OBSERVERS; i++)
		if (stage->observer[i].times.n < p->from[i] + opt.requests)
			return false;
	return true;
}

static void tell_waiting(const char *name, const struct progress *p)
{
	for (unsigned int i = 0; i < OBSERVERS; i++) {
		const struct observer *o = &stage->observer[i];
		uint64_t n = o->times.n - p->from[i];

		if (n < opt.requests)
			printf("%s: %s %s had %llu of %u requests answered in %u s; %s is "
			       "waiting\n", name,
			       stage->held ? "in place:" : "before it is in place:",
			       i ? "another user" : "root", (unsigned long long)n, opt.requests,
			       opt.patience, link_op((uint16_t)o->op));
	}
}

/* Waits until both observers have been answered so often from now on. */
static bool answered(const char *name)
{
	struct progress p;

	begin_progress(&p);
	if (crew_patient(progressed, &p, opt.patience))
		return !interrupted;
	tell_waiting(name, &p);
	return false;
}

static void clear(void)
{
	pid_t stay[OBSERVERS + 2] = { stage->daemon };

	for (unsigned int i = 0; i <= OBSERVERS; i++)
		stay[1 + i] = observers[i];
	if (now && now->clean)
		now->clean();
	now = NULL;
	crew_clear(stay, OBSERVERS + 2);
}

static bool observers_ended(void *arg)
{
	bool all = true;

	for (unsigned int i = 0; i < OBSERVERS; i++)
		all &= ended(&observers[i]);
	return all;
}

static void end_observers(void)
{
	stage->quiet = 1;
	crew_patient(observers_ended, NULL, 5);
	for (unsigned int i = 0; i <= OBSERVERS; i++) {
		crew_kill(observers[i]);
		observers[i] = 0;
	}
}

static bool verdict(const char *name)
{
	bool good = true;

	observers_tell(name);
	for (unsigned int i = 0; i < OBSERVERS; i++)
		good &= opt.ignore_refusals || !stage->observer[i].refused;
	if (stage->failure[0]) {
		printf("%s: %s\n", name, stage->failure);
		good = false;
	}
	if (opt.bound > 0 && observers_max() > opt.bound) {
		printf("%s: a request has taken more than %.1f ms\n", name, opt.bound);
		good = false;
	}
	return good;
}

static pid_t begin(const struct attack *a)
{
	pid_t pid;

	now = a;
	if (a->prepare)
		a->prepare();
	pid = crew_fork();
	if (pid == 0) {
		if (!a->as_root)
			crew_become(NOBODY);
		a->run();
		_exit(0);
	}
	return pid;
}

static void tell_end(void)
{
	__atomic_store_n(&stage->over, 1, __ATOMIC_RELEASE);
}

/* Other users are answered during its preparation, while it is in place, and as it ends. */
static bool withstand(const struct attack *a)
{
	bool good = answered(a->name);
	pid_t pid = begin(a);

	/* Its preparation has no time limit. */
	while (good && !in_place(&pid))
		good = answered(a->name);
	good = good && (stage->skipped[0] || answered(a->name));
	if (good && !a->gone) {
		tell_end();
		crew_patient(ended, &pid, opt.patience);
		good = answered(a->name);
	}
	return good;
}

/* 1: passed; 0: failed; -1: not possible on this machine. */
static int play(const struct attack *a)
{
	bool answering, good;

	stage->held = stage->over = 0;
	stage->skipped[0] = stage->note[0] = stage->failure[0] = '\0';
	observers_start(observers);
	answering = withstand(a);
	good = verdict(a->name) && answering;
	if (answering && a->gone && !stage->skipped[0]) {
		end_observers();
		good &= host_restored(a->name, opt.patience);
	}
	tell_end();
	clear();
	end_observers();
	if (stage->skipped[0]) {
		printf("%s: skipped: %s\n", a->name, stage->skipped);
		return -1;
	}
	return good & (!interrupted && host_restored(a->name, opt.patience));
}

/* --- the stage ------------------------------------------------------------------------------- */

static void clean_up(void)
{
	if (!stage || getpid() != stage->first)
		return;
	interrupted = 1;
	clear();
	for (unsigned int i = 0; i <= OBSERVERS; i++)
		crew_kill(observers[i]);
	if (stage->daemon > 0)
		host_stop(5);
	umount2(stage->dir, MNT_DETACH);
	rmdir(stage->dir);
}

static void on_signal(int signal)
{
	interrupted = 1;
}

/* A file that all users may map, and a folder where all may make one. */
static void make_files(void)
{
	char path[96];
	int fd = open(stage->plain, O_RDWR | O_CREAT | O_CLOEXEC, 0755);

	if (fd < 0 || ftruncate(fd, 65536))
		die("%s: %s", stage->plain, strerror(errno));
	close(fd);
	snprintf(path, sizeof(path), "%s/open", stage->dir);
	if (mkdir(path, 0) || chmod(path, 01777))
		die("%s: %s", path, strerror(errno));
}

static void raise_limits(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

static void set_stage(void)
{
	const char *tmp = getenv("TMPDIR");

	stage->first = getpid();
	stage->ncpu = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	if (snprintf(stage->dir, sizeof(stage->dir), "%s/strangers.XXXXXX", tmp ? tmp : "/tmp") >=
	    (int)sizeof(stage->dir))
		die("TMPDIR is too long: %s", tmp);
	if (geteuid() != 0)
		die("root starts the daemon and takes on the other users: run it as root");
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("no mount namespace: %s", strerror(errno));
	/* As every distribution does. */
	if (access("/sys/kernel/tracing/events", F_OK))
		mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (!mkdtemp(stage->dir))
		die("%s: %s", stage->dir, strerror(errno));
	if (mount("none", stage->dir, "tmpfs", 0, "mode=0755,size=256m"))
		die("tmpfs: %s", strerror(errno));
	snprintf(stage->socket, sizeof(stage->socket), "%s/sock/pmc", stage->dir);
	snprintf(stage->plain, sizeof(stage->plain), "%s/file", stage->dir);
	make_files();
	raise_limits();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	atexit(clean_up);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	signal(SIGHUP, on_signal);
	signal(SIGPIPE, SIG_IGN);
}

static void list_attacks(void)
{
	for (unsigned int i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		for (const struct attack *a = attacks[i]; a->name; a++)
			puts(a->name);
}

static void check_names(const char *list)
{
	for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
		bool known = false;

		for (unsigned int i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
			for (const struct attack *a = attacks[i]; a->name; a++)
				known |= strcspn(p, ",") == strlen(a->name) &&
					 !strncmp(p, a->name, strlen(a->name));
		if (!known)
			die("there is no attack %.*s; --list names them", (int)strcspn(p, ","), p);
	}
}

static unsigned int number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (end == text || *end)
		die("%s is no number", text);
	return (unsigned int)n;
}

static void one_option(int c)
{
	switch (c) {
	case 'd':
		opt.daemon = optarg;
		break;
	case 'o':
		if (opt.noptions + 2 > sizeof(opt.options) / sizeof(opt.options[0]))
			die("too many options");
		opt.options[opt.noptions++] = "-o";
		opt.options[opt.noptions++] = optarg;
		break;
	case 'a':
		opt.only = optarg;
		break;
	case 'w':
		opt.without = optarg;
		break;
	case 's':
		stage->seed = strtoull(optarg, NULL, 0);
		break;
	case 'n':
		stage->limit = strtoull(optarg, NULL, 0);
		break;
	case 't':
		stage->seconds = number(optarg);
		break;
	case 'r':
		opt.requests = number(optarg);
		break;
	case 'x':
		stage->scale = number(optarg);
		break;
	case 'p':
		opt.patience = number(optarg);
		break;
	case 'b':
		opt.bound = strtod(optarg, NULL);
		break;
	case 'i':
		opt.ignore_refusals = true;
		break;
	case 'l':
		list_attacks();
		exit(0);
	default:
		fputs(usage, c == 'h' ? stdout : stderr);
		exit(c == 'h' ? 0 : 2);
	}
}

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "daemon", 1, NULL, 'd' }, { "option", 1, NULL, 'o' },
		{ "attacks", 1, NULL, 'a' }, { "attack", 1, NULL, 'a' },
		{ "without", 1, NULL, 'w' }, { "seed", 1, NULL, 's' },
		{ "messages", 1, NULL, 'n' }, { "seconds", 1, NULL, 't' },
		{ "requests", 1, NULL, 'r' }, { "scale", 1, NULL, 'x' },
		{ "patience", 1, NULL, 'p' }, { "bound", 1, NULL, 'b' },
		{ "ignore-refusals", 0, NULL, 'i' },
		{ "list", 0, NULL, 'l' }, { "help", 0, NULL, 'h' }, { 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:o:a:w:s:n:t:r:x:p:b:ilh", options, NULL)) != -1)
		one_option(c);
	if (optind < argc || !opt.daemon)
		one_option('?');
	check_names(opt.only);
}

int main(int argc, char **argv)
{
	unsigned int passed = 0, failed = 0, skipped = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (stage == MAP_FAILED)
		return 2;
	stage->scale = 100;
	stage->seed = now_ns();
	if (argc == 4 && !strcmp(argv[1], "inherit"))
		stranger_inherit((int)number(argv[2]), strtoull(argv[3], NULL, 0));
	parse_options(argc, argv);
	set_stage();
	for (unsigned int i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		for (const struct attack *a = attacks[i]; a->name && !interrupted; a++) {
			int result;

			if (!chosen(a->name))
				continue;
			/* A daemon that an attack has harmed is useless for the next one. */
			if (!stage->daemon) {
				host_start(opt.daemon, opt.options, opt.noptions);
				host_remember();
			}
			result = play(a);
			if (result == 0 && !interrupted && !host_stop(opt.patience))
				printf("%s: the daemon did not survive it\n", a->name);
			passed += result == 1;
			failed += result == 0 && !interrupted;
			skipped += result < 0;
		}
	if (stage->daemon && !interrupted && !host_stop(opt.patience)) {
		failed++;
		printf("the daemon's end was not in order\n");
	}
	if (interrupted)
		failed++;
	if (skipped)
		printf("strangers: %u skipped\n", skipped);
	printf("strangers: %u passed, %u failed\n", passed, failed);
	return failed != 0;
}
