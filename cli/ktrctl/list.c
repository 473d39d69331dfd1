/* SPDX-License-Identifier: BSD-2-Clause */
/* ktrctl list and classes: the writers of trace rings, and the names of trace classes. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/json.h"
#include "ktrctl.h"
#include "cli/common/common.h"

/* --- producers ------------------------------------------------------------------------------ */

enum state { ON, OFF, FROZEN, UNREADABLE, UNSOUND, NO_DAEMON };

static const char *const states[] = {
	[ON] = "on", [OFF] = "off", [FROZEN] = "frozen", [UNREADABLE] = "not yours",
	[UNSOUND] = "unsound", [NO_DAEMON] = "no pmcbpfd",
};

struct producer {
	pid_t pid;		/* 0: the kernel */
	char name[16];
	enum state state;	/* the fields below: of the first three kinds only */
	uint32_t entries, ncpu, mask, compile;
	uint64_t written;
	const char *stopped;	/* the trigger that froze it, "" for none */
};

/* The name of another user's process is untrusted. */
static void producer_put_name(struct buf *out, const char *name)
{
	char plain[sizeof(((struct producer *)0)->name)];
	size_t i = 0;

	for (; name[i]; i++)
		plain[i] = isprint((unsigned char)name[i]) ? name[i] : '?';
	plain[i] = '\0';
	buf_printf(out, "%-15s", plain);
}

static void producer_put_text(struct buf *out, const struct producer *p)
{
	char mask[KTRMASK_TEXT];

	if (p->pid)
		buf_printf(out, "%-7d ", (int)p->pid);
	else
		buf_printf(out, "%-7s ", "-");
	producer_put_name(out, p->name);
	if (p->state > FROZEN) {
		buf_printf(out, " %8s %4s %14s %-10s -\n", "-", "-", "-", states[p->state]);
		return;
	}
	ktrmask_text(p->mask, mask, sizeof(mask));
	buf_printf(out, " %8u %4u %14llu %-10s %s%s%s\n", p->entries, p->ncpu,
		   (unsigned long long)p->written, states[p->state], mask,
		   *p->stopped ? "; by " : "", p->stopped);
}

static void producer_put_json(struct json *json, const struct producer *p)
{
	char mask[KTRMASK_TEXT];

	json_open(json, NULL, '{');
	if (p->pid)
		json_number(json, "pid", (uint64_t)p->pid);
	else
		json_null(json, "pid");
	json_string(json, "name", p->name);
	json_string(json, "state", states[p->state]);
	if (p->state <= FROZEN) {
		json_number(json, "entries", p->entries);
		json_number(json, "cpus", p->ncpu);
		json_number(json, "written", p->written);
		ktrmask_text(p->mask, mask, sizeof(mask));
		json_string(json, "mask", mask);
		ktrmask_text(p->compile, mask, sizeof(mask));
		json_string(json, "compiled", mask);
		json_string(json, "stopped", *p->stopped ? p->stopped : NULL);
	}
	json_close(json, '}');
}

static void producer_put(const struct ktrctl *ctl, struct json *json, const struct producer *p)
{
	if (ctl->json)
		producer_put_json(json, p);
	else
		producer_put_text(json->out, p);
}

/* 0, or the reason why the kernel's line cannot be made. */
static int producer_put_kernel(const struct ktrctl *ctl, struct json *json)
{
	struct producer p = { .name = "kernel", .state = NO_DAEMON, .stopped = "" };
	struct pmc_ktr info;
	int code;

	/* Works without a daemon. */
	if (running_connect() == 0) {
		code = kern_info(&info);
		if (code)
			return code;
		p.state = info.pk_frozen ? FROZEN : info.pk_mask && info.pk_entries ? ON : OFF;
		p.mask = info.pk_frozen ? info.pk_saved : info.pk_mask;
		p.compile = info.pk_compile;
		p.entries = info.pk_entries;
		p.ncpu = info.pk_ncpu;
		p.written = info.pk_written;
		p.stopped = info.pk_stopped;
	}
	producer_put(ctl, json, &p);
	return 0;
}

static void process_name(pid_t pid, char *name, size_t size)
{
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	if (!file || !fgets(name, (int)size, file))
		name[0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* 0, or as tracee_open() returns. */
static int producer_fill(struct producer *p, const struct tracee *proc)
{
	uint32_t saved = 0;
	int err = tracee_get_mask(proc, &p->mask, &saved);

	if (!err)
		err = tracee_written(proc, &p->written);
	p->state = saved ? FROZEN : p->mask ? ON : OFF;
	p->mask |= saved;
	p->entries = proc->head.entries;
	p->ncpu = proc->head.ncpu;
	p->compile = proc->head.compile;
	return err;
}

/* Skips a process that has no rings, has ended or may not be inspected. */
static int producer_put_process(const struct ktrctl *ctl, struct json *json, pid_t pid)
{
	struct producer p = { .pid = pid, .stopped = "" };
	struct tracee proc;
	const char *fault = NULL;
	int err = tracee_open(&proc, pid, &fault);

	process_name(pid, p.name, sizeof(p.name));
	if (!err)
		err = producer_fill(&p, &proc);
	if (err == -EPERM)
		p.state = UNREADABLE;
	else if (err == -EBADMSG || err == -EFAULT)
		p.state = UNSOUND;
	tracee_close(&proc);
	if (ctl->pid && err)
		return process_fail(pid, err, fault);
	if (!err || p.state != ON)
		producer_put(ctl, json, &p);
	return 0;
}

static int producers_put(const struct ktrctl *ctl, struct json *json)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int code = 0;

	if (!dir)
		return fail_errno(EX_OSERR, "/proc");
	while (!code && (entry = readdir(dir))) {
		uint64_t pid;

		if (opt_number(entry->d_name, 10, 1, INT32_MAX, &pid) == 0 &&
		    (pid_t)pid != getpid())
			code = producer_put_process(ctl, json, (pid_t)pid);
	}
	closedir(dir);
	return code;
}

int list_producers(const struct ktrctl *ctl)
{
	struct buf out = { 0 };
	struct json json = { .out = &out };
	int code;

	if (ctl->json) {
		json_open(&json, NULL, '{');
		json_open(&json, "producers", '[');
	} else {
		buf_printf(&out, "%-7s %-15s %8s %4s %14s %-10s %s\n", "PID", "NAME", "ENTRIES",
			   "CPUS", "WRITTEN", "STATE", "MASK");
	}
	if (ctl->pid) {
		code = producer_put_process(ctl, &json, ctl->pid);
	} else {
		code = producer_put_kernel(ctl, &json);
		if (!code)
			code = producers_put(ctl, &json);
	}
	if (ctl->json) {
		json_close(&json, ']');
		json_close(&json, '}');
		buf_add(&out, "\n", 1);
	}
	return ktrctl_put(&out, code);
}

/* --- classes -------------------------------------------------------------------------------- */

static const char *const meanings[32] = {
	"general; trace points without a class", "network", "device drivers", "locks",
	"several processors", "file systems and other subsystems (FS)", "page tables",
	"allocation of memory", "traps, page faults", "interrupts", "signals", "clock ticks",
	"processes", "system calls", "initialisation", "interrupt priority levels", "unassigned",
	"event handlers", "files", "operations on files", "virtual memory",
	"IPv4 and what runs over IP", "run queues", "waiting for locks",
	"slab allocators (a program's: CT1)", "timers (a program's: CT2)",
	"block devices (a program's: CT3)", "DMA (a program's: CT4)", "IPv6 (a program's: CT5)",
	"the scheduler (a program's: CT6)", "buffer cache (a program's: CT7)",
	"ptrace (a program's: CT8)",
};

int list_classes(const struct ktrctl *ctl)
{
	struct buf out = { 0 };
	struct json json = { .out = &out };

	if (ctl->json) {
		json_open(&json, NULL, '{');
		json_open(&json, "classes", '[');
	}
	for (unsigned int i = 0; i < 32; i++) {
		char name[KTRMASK_TEXT];

		ktrmask_text(1u << i, name, sizeof(name));
		if (!ctl->json) {
			buf_printf(&out, "%-11s 0x%08x  %s\n", name, 1u << i, meanings[i]);
			continue;
		}
		json_open(&json, NULL, '{');
		json_string(&json, "name", name);
		json_number(&json, "bit", 1u << i);
		json_string(&json, "meaning", meanings[i]);
		json_close(&json, '}');
	}
	if (ctl->json) {
		json_close(&json, ']');
		json_close(&json, '}');
		buf_add(&out, "\n", 1);
	}
	return ktrctl_put(&out, 0);
}
