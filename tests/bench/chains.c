/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call chains by call frame information: how many of stock programs' are cut, the time of a frame
 * beside bpf_get_stack(), a log beside `perf record --call-graph dwarf`, and the tables of all
 * files that run on this machine.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pmclog.h>

#include "bench.h"
#include "loader/unwind/unwind.h"

#define FRAMES	100
#define PERIOD	"1000000"		/* ns of CPU time */
#define FILES	4096u

/* --- a frame ---------------------------------------------------------------------------------- */

/* Works at a depth of some frames. */
__attribute__((noinline))
static void deep(unsigned int frames, volatile const bool *forever)
{
	if (frames)
		deep(frames - 1, forever);
	while (!frames && *forever)
		;
	__asm__ volatile("" : : : "memory");
}

/* The sampling program's runs: their number and time. */
struct runs {
	double n, ns;
};

static struct runs program_runs(__u32 id)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	struct runs r = { 0 };
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		die("program %u: %s", id, strerror(errno));
	close(fd);
	if (!strcmp(info.name, "on_overflow"))
		r = (struct runs){ (double)info.run_cnt, (double)info.run_time_ns };
	return r;
}

/* The daemon has it among its descriptors. */
static struct runs sampler_runs(const struct bench *b)
{
	char path[320], line[64];
	struct runs r = { 0 };
	struct dirent *e;
	unsigned int id;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)b->main_daemon);
	d = opendir(path);
	while (d && !r.n && (e = readdir(d))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", (int)b->main_daemon, e->d_name);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "prog_id: %u", &id) == 1 && !r.n)
				r = program_runs(id);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return r;
}

static void tunable(const char *name, const char *value)
{
	check_pmc(pmc_tunable_set(name, value), name);
}

/* The program's time for one sample of a process; -1: there was none. */
static double sample_ns(const struct bench *b, pid_t pid, uint32_t flags)
{
	struct runs before, after;
	pmc_id_t id = 0;

	check_pmc(pmc_allocate("SOFT-CPU_CLOCK", PMC_MODE_TS, flags, PMC_CPU_ANY, &id, 200000),
		  "SOFT-CPU_CLOCK");
	check_pmc(pmc_attach(id, pid), "pmc_attach");
	check_pmc(pmc_start(id), "pmc_start");
	sleep_for(0.3);			/* tables and caches are warm */
	before = sampler_runs(b);
	sleep_for(0.5);
	after = sampler_runs(b);
	check_pmc(pmc_release(id), "pmc_release");
	return after.n > before.n ? (after.ns - before.ns) / (after.n - before.n) : -1;
}

static void log_end(int fd)
{
	check_pmc(pmc_configure_logfile(-1), "pmc_configure_logfile");
	close(fd);
}

static int log_begin(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	check_pmc(pmc_configure_logfile(fd), "pmc_configure_logfile");
	return fd;
}

static void frames(const struct bench *b)
{
	struct series walk = { 0 }, kernel = { 0 };
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME), log;
	const bool forever = true;
	pid_t pid = fork_child();

	if (pid == 0) {
		pin(b->arena);
		deep(FRAMES, &forever);
		_exit(1);
	}
	if (stats < 0)
		die("bpf_enable_stats: %s", strerror(errno));
	log = log_begin();
	for (unsigned int i = 0; i < 5; i++) {
		double bare = sample_ns(b, pid, 0), ns;

		tunable("kern.hwpmc.unwind", "0");
		ns = sample_ns(b, pid, PMC_F_CALLCHAIN);
		add(&kernel, (ns - bare) / FRAMES);
		tunable("kern.hwpmc.unwind", "1");
		ns = sample_ns(b, pid, PMC_F_CALLCHAIN);
		add(&walk, (ns - bare) / FRAMES);
	}
	log_end(log);
	close(stats);
	end(pid);
	report(&(struct figure){
		.name = "a frame of a chain of 100", .unit = "ns", .ours = &walk,
		.other_name = "bpf_get_stack", .other = &kernel, .judge = JUDGE_RATIO, .goal = 2.2,
	});
}

/* --- whole chains ----------------------------------------------------------------------------- */

struct chains {
	double n, cut, bytes;
};

static struct chains chains_of(const char *path)
{
	struct chains c = { 0 };
	struct pmclog_ev ev;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *log = pmclog_open(fd);

	if (fd < 0 || !log || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	while (!pmclog_read(log, &ev)) {
		const uint32_t flags = ev.pl_u.pl_cc.pl_cpuflags;

		if (ev.pl_type != PMCLOG_TYPE_CALLCHAIN || !(flags & PMC_CC_F_USERSPACE))
			continue;
		c.n++;
		c.cut += PMC_CC_F_TO_END(flags) != PMC_CHAIN_WHOLE;
	}
	pmclog_close(log);
	close(fd);
	c.bytes = (double)st.st_size;
	return c;
}

/* CPU time of the command, sampled by us into `log`, in seconds. */
static double sampled(const struct bench *b, const char *log, const char *command)
{
	char pmcstat[256];
	char *argv[] = { pmcstat, "-q", "-d", "-n", PERIOD, "-P", "CPU_CLOCK", "-O", (char *)log,
			 "-o", "/dev/null", "sh", "-c", (char *)command, NULL };
	double daemon = -cpu_time(b->main_daemon), seconds;

	path_beside(pmcstat, sizeof(pmcstat), "../bin/pmcstat");
	unlink(log);
	seconds = run(b, argv, NULL).seconds;
	return seconds + (daemon + cpu_time(b->main_daemon)) / 1e9;
}

static void whole(const struct bench *b, const char *name, const char *command)
{
	struct series cut = { 0 };
	char log[sizeof(b->dir) + 16], what[64];

	snprintf(log, sizeof(log), "%s/chains", b->dir);
	for (int i = 0; i < 4; i++) {
		struct chains c;

		(void)sampled(b, log, command);
		c = chains_of(log);
		/* The first run is for the tables. */
		if (i && c.n)
			add(&cut, c.cut / c.n * 100);
	}
	unlink(log);
	snprintf(what, sizeof(what), "chains of %s that are cut", name);
	report(&(struct figure){ .name = what, .unit = "%", .ours = &cut, .judge = JUDGE_VALUE,
				 .goal = 0.5 });
}

/* The same from exec on, by a daemon that has no table yet. */
static void whole_cold(const struct bench *b, const char *name, const char *command)
{
	char log[sizeof(b->dir) + 16], socket[sizeof(b->dir) + 16], what[64];
	char main_socket[sizeof(socket)];
	struct series cut = { 0 };

	snprintf(main_socket, sizeof(main_socket), "%s", getenv("PMCBPF_SOCKET") ?: "");
	snprintf(log, sizeof(log), "%s/chains", b->dir);
	snprintf(socket, sizeof(socket), "%s/cold", b->dir);
	for (int i = 0; i < 3; i++) {
		double ms;
		pid_t daemon = daemon_start(b, socket, NULL, &ms);
		struct chains c;

		(void)sampled(b, log, command);
		c = chains_of(log);
		if (c.n)
			add(&cut, c.cut / c.n * 100);
		daemon_end(daemon);
	}
	unlink(log);
	if (setenv("PMCBPF_SOCKET", main_socket, 1))
		die("setenv: %s", strerror(errno));
	snprintf(what, sizeof(what), "first chains of %s that are cut", name);
	report(&(struct figure){ .name = what, .unit = "%", .ours = &cut, .judge = JUDGE_VALUE,
				 .goal = 2 });
}

/* --- beside perf ------------------------------------------------------------------------------ */

static void beside_perf(const struct bench *b, const char *command)
{
	char log[sizeof(b->dir) + 16], data[sizeof(b->dir) + 16];
	char *perf[] = { "perf", "record", "-q", "-e", "cpu-clock", "-c", PERIOD, "--call-graph",
			 "dwarf", "-o", data, "--", "sh", "-c", (char *)command, NULL };
	char *bare[] = { "sh", "-c", (char *)command, NULL };
	struct series bytes = { 0 }, time = { 0 }, perf_bytes = { 0 }, perf_time = { 0 };
	struct stat st;

	snprintf(log, sizeof(log), "%s/chains", b->dir);
	snprintf(data, sizeof(data), "%s/perf.data", b->dir);
	for (int i = 0; i < 3; i++) {
		double base = run(b, bare, NULL).seconds;

		add(&time, (sampled(b, log, command) - base) * 1000);
		add(&bytes, chains_of(log).bytes / 1e6);
		unlink(data);		/* perf keeps an older one */
		add(&perf_time, (run(b, perf, NULL).seconds - base) * 1000);
		if (stat(data, &st))
			die("%s: %s", data, strerror(errno));
		add(&perf_bytes, (double)st.st_size / 1e6);
	}
	unlink(log);
	unlink(data);
	report(&(struct figure){
		.name = "a log of xz", .unit = "MB", .ours = &bytes, .judge = JUDGE_RATIO,
		.goal = 0.1, .other_name = "perf record --call-graph dwarf", .other = &perf_bytes,
	});
	report(&(struct figure){
		.name = "CPU time for that", .unit = "ms", .ours = &time, .judge = JUDGE_RATIO,
		.goal = 0.3, .other_name = "perf record --call-graph dwarf", .other = &perf_time,
	});
}

/* --- tables ----------------------------------------------------------------------------------- */

struct tables {
	dev_t device[FILES];
	ino_t inode[FILES];
	unsigned int n, built;
	double bytes, ms;
};

static void table_build(struct tables *t, const char *path)
{
	struct unwind_table table;
	struct reason why;
	struct stat st;
	double begin;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool known = fd < 0 || fstat(fd, &st) || t->n == FILES;

	for (unsigned int i = 0; i < t->n && !known; i++)
		known = t->device[i] == st.st_dev && t->inode[i] == st.st_ino;
	begin = now();
	if (!known) {
		t->device[t->n] = st.st_dev;
		t->inode[t->n++] = st.st_ino;
		if (!unwind_table_build(&table, &(struct unwind_input){ .fd = fd }, &why)) {
			t->ms += (now() - begin) / 1e6;
			t->bytes += table.nrows * 4.0 + table.npages * sizeof(struct unwind_page) +
				    table.nrules * sizeof(struct unwind_rule);
			t->built++;
			unwind_table_free(&table);
		}
	}
	if (fd >= 0)
		close(fd);
}

static void tables_of(struct tables *t, const char *pid)
{
	char path[64], line[4096 + 256], file[4096];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.16s/maps", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*x-%*x %*c%*cx%*c %*x %*x:%*x %*u %4095[^\n]", file) == 1 &&
		    file[0] == '/')
			table_build(t, file);
	if (f)
		fclose(f);
}

static void tables(void)
{
	static struct tables t;
	struct series bytes = { 0 }, ms = { 0 };
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d)))
		if (e->d_name[0] > '0' && e->d_name[0] <= '9')
			tables_of(&t, e->d_name);
	if (d)
		closedir(d);
	add(&bytes, t.bytes / 1e6);
	add(&ms, t.ms);
	note("tables: %u files are mapped by the processes of this machine", t.built);
	report(&(struct figure){ .name = "tables of all mapped files", .unit = "MB",
				 .ours = &bytes, .judge = JUDGE_VALUE, .goal = 5 });
	report(&(struct figure){ .name = "building them", .unit = "ms", .ours = &ms,
				 .judge = JUDGE_VALUE, .goal = 300 });
}

/* --- the group -------------------------------------------------------------------------------- */

#define XZ     "head -c 3000000 /dev/urandom | xz -6 -T1 -c >/dev/null"
#define SORT   "head -c 20000000 /dev/urandom | base64 -w 20 | sort >/dev/null"
#define CC1    "i=0; while [ $i -lt 300 ]; do echo \"int f$i(int a) { for (int i = 0; i < a; i++)" \
	       " a ^= i * $i; return a; }\"; i=$((i + 1)); done | gcc -O2 -c -xc -o /dev/null -"
#define PYTHON "python3 -S -c 'import json; json.dumps([str(i) for i in range(1000000)])'"
#define XZ_T2  "head -c 8000000 /dev/urandom | xz -6 -T2 --block-size=2000000 -c >/dev/null"
/* On a port of its own, and beside its clients. */
#define NGINX  "d=$(mktemp -d); head -c 20000 /dev/urandom | base64 >$d/file; echo \"daemon off; " \
	       "user root root; worker_processes 2; pid $d/pid; error_log $d/errors; events {} " \
	       "http { access_log off; gzip on; gzip_types *; server { listen 127.0.0.1:18099; " \
	       "root $d; } }\" >$d/conf; nginx -c $d/conf & " \
	       "until [ -s $d/pid ]; do sleep 0.01; done; ab -q -k -H 'Accept-Encoding: gzip' " \
	       "-n 20000 -c 20 http://127.0.0.1:18099/file >/dev/null; kill -QUIT $(cat $d/pid); " \
	       "wait; rm -r $d"
#define NODE   "node -e 'let a = []; for (let i = 0; i < 500000; i++) " \
	       "a.push({ k: String(i * 7 % 1000) }); a.sort((x, y) => x.k < y.k ? -1 : 1)'"

void bench_stacks(struct bench *b)
{
	static const struct {
		const char *name, *command;
		const char *needs[4];
	} programs[] = {
		{ "xz", XZ, { "xz", "../bin/pmcstat" } },
		{ "sort", SORT, { "sort", "base64", "../bin/pmcstat" } },
		{ "cc1", CC1, { "gcc", "../bin/pmcstat" } },
		{ "python3", PYTHON, { "python3", "../bin/pmcstat" } },
		{ "node", NODE, { "node", "../bin/pmcstat" } },
		{ "xz -T2", XZ_T2, { "xz", "../bin/pmcstat" } },
		{ "nginx under load", NGINX, { "nginx", "ab", "../bin/pmcstat" } },
	};
	static const char *const perf[] = { "perf", "xz", "../bin/pmcstat", NULL };

	if (b->icount)
		return;
	pin_any(b);
	frames(b);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (lacks(programs[i].name, programs[i].needs))
			continue;
		whole(b, programs[i].name, programs[i].command);
		whole_cold(b, programs[i].name, programs[i].command);
	}
	if (!lacks("stacks: a log beside perf", perf))
		beside_perf(b, programs[0].command);
	tables();
}
