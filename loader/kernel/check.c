/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel features behind `pmcbpfd -t` and the doctor: each is tried, not guessed. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"

struct check {
	engine_report *report;
	void *arg;
	unsigned int missing;
};

static void check_works(struct check *c, const char *what)
{
	c->report(c->arg, what, NULL, NULL);
}

static void check_miss(struct check *c, const char *what, const char *finding, const char *remedy)
{
	c->report(c->arg, what, finding, remedy);
	c->missing++;
}

static void check_btf(struct check *c)
{
	static const char *const tracepoints[] = {
		"btf_trace_sched_switch", "btf_trace_sched_process_fork",
		"btf_trace_sched_process_exit",
	};
	struct btf *btf = NULL;

	/* libbpf also reads a file of a package of headers; programs attach by the kernel's. */
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
		btf = btf__load_vmlinux_btf();
	if (!btf) {
		check_miss(c, "kernel types (/sys/kernel/btf/vmlinux)",
			   "missing", "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y");
		return;
	}
	for (unsigned int i = 0; i < sizeof(tracepoints) / sizeof(tracepoints[0]); i++)
		if (btf__find_by_name_kind(btf, tracepoints[i], BTF_KIND_TYPEDEF) < 0)
			check_miss(c, tracepoints[i] + strlen("btf_trace_"),
				   "this kernel has no such tracepoint",
				   "boot one built with CONFIG_TRACEPOINTS=y");
	btf__free(btf);
}

static void check_perf(struct check *c)
{
	static const char *const what = "perf_event_open(2)";
	struct perf_event_spec clock = { .type = 1 /* PERF_TYPE_SOFTWARE */ };
	unsigned int cpu = 0;
	int fd;

	while (cpu < perf_ncpu() && !perf_cpu_online(cpu))
		cpu++;
	fd = perf_open_cpu(&clock, cpu);
	if (fd >= 0) {
		close(fd);
		check_works(c, what);
	} else if (fd == -ENOSYS) {
		check_miss(c, what, "missing", "boot a kernel built with CONFIG_PERF_EVENTS=y");
	} else if (fd == -EACCES || fd == -EPERM) {
		check_miss(c, what, "refused",
			   "run pmcbpfd as root with CAP_PERFMON or CAP_SYS_ADMIN, outside of a "
			   "container's seccomp filter");
	} else {
		check_miss(c, what, strerror(-fd),
			   fd == -EMFILE ? "raise pmcbpfd's RLIMIT_NOFILE" : "");
	}
}

static void check_bpf(struct check *c)
{
	static const struct {
		enum bpf_prog_type type;
		enum bpf_func_id helper;
		const char *name;
	} helpers[] = {
		{ BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_perf_event_read, "bpf_perf_event_read" },
		{ BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_get_current_task_btf,
		  "bpf_get_current_task_btf" },
		{ BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_loop, "bpf_loop" },
	};

	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL) <= 0) {
		check_miss(c, "bpf(2)", "refused or missing",
			   "run pmcbpfd as root with CAP_BPF and CAP_PERFMON on a kernel built "
			   "with CONFIG_BPF_SYSCALL=y");
		return;
	}
	check_works(c, "bpf(2)");
	for (unsigned int i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		if (libbpf_probe_bpf_helper(helpers[i].type, helpers[i].helper, NULL) != 1)
			check_miss(c, helpers[i].name, "this kernel's BPF lacks it",
				   "boot Linux 6.1 or newer");
}

unsigned int engine_probe(engine_report *report, void *arg)
{
	struct check c = { .report = report, .arg = arg };

	check_perf(&c);
	check_bpf(&c);
	return c.missing;
}

struct check_lines {
	void (*say)(void *arg, const char *line);
	void *arg;
};

static void check_say_line(void *arg, const char *what, const char *finding, const char *remedy)
{
	const struct check_lines *l = arg;
	char line[512];

	if (!finding)
		return;
	snprintf(line, sizeof(line), "%s: %s%s%s", what, finding, *remedy ? "; " : "", remedy);
	l->say(l->arg, line);
}

unsigned int engine_check(void (*say)(void *arg, const char *line), void *arg)
{
	struct check_lines lines = { say, arg };
	struct check c = { .report = check_say_line, .arg = &lines };
	struct engine *e;
	struct reason why = { "" };

	check_btf(&c);
	c.missing += engine_probe(check_say_line, &lines);
	if (c.missing)
		return c.missing;
	/* All features are there; the last check is that the verifier accepts the programs. */
	if (engine_new(&e, &why))
		check_miss(&c, "BPF programs", why.text, "");
	else
		engine_free(e);
	return c.missing;
}
