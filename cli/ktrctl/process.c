/* SPDX-License-Identifier: BSD-2-Clause */
/* ktrctl -p: the rings of a process, and its ktr_mask. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ktrctl.h"
#include "cli/common/common.h"

int process_fail(pid_t pid, int err, const char *fault)
{
	switch (err) {
	case -ESRCH:
		return fail(EX_DATAERR, "there is no process %d: \"ktrctl list\" shows those that "
			    "trace", (int)pid);
	case -EACCES:
	case -EPERM:
		return fail(EX_NOPERM, "process %d is not yours to look at: be its user, or root",
			    (int)pid);
	case -ENXIO:
		return fail(EX_UNAVAILABLE, "process %d has no trace rings: it must be built with "
			    "-DKTR and -lktr, and started without KTR_SIZE=0", (int)pid);
	case -EBADMSG:
		return fail(EX_DATAERR, "the trace rings of process %d are unsound: %s", (int)pid,
			    fault ? fault : "its mappings cannot be read");
	case -EFAULT:
		return fail(EX_DATAERR, "process %d has no variable where its ktr_mask should be: "
			    "nothing was changed", (int)pid);
	default:
		errno = -err;
		return fail_errno(EX_OSERR, "the trace rings of process %d", (int)pid);
	}
}

int process_open(struct tracee *proc, pid_t pid)
{
	const char *fault = NULL;
	int err = tracee_open(proc, pid, &fault);

	return err ? process_fail(pid, err, fault) : 0;
}

int process_get_mask(const struct tracee *proc, uint32_t *mask, uint32_t *saved)
{
	int err = tracee_get_mask(proc, mask, saved);

	return err ? process_fail(proc->pid, err, NULL) : 0;
}

static int write_mask(const struct tracee *proc, uint32_t mask)
{
	int err = tracee_set_mask(proc, mask);

	return err ? process_fail(proc->pid, err, NULL) : 0;
}

static int write_saved(const struct tracee *proc, uint32_t mask)
{
	int err = tracee_write(proc, offsetof(struct ktr_region, saved_mask), &mask,
				sizeof(mask));

	return err ? process_fail(proc->pid, err, NULL) : 0;
}

void ktrctl_warn_of_mask(uint32_t mask, uint32_t compiled, bool kernel)
{
	char text[KTRMASK_TEXT];

	if (!compiled)
		note(kernel ? "no class is loaded: \"ktrctl compile CLASSES\" does" :
			      "no class is compiled in");
	/* "all", and "all but" a few, do not name a class explicitly. */
	else if ((mask & ~compiled) && __builtin_popcount(mask) <= 16) {
		ktrmask_text(mask & ~compiled, text, sizeof(text));
		note("%s: not %s: no effect", text, kernel ? "loaded" : "compiled in");
	}
}

/* For a frozen process, the mask that a thaw will restore. */
int process_set_mask(struct tracee *proc, uint32_t mask)
{
	uint32_t now, saved = 0;
	int code = process_get_mask(proc, &now, &saved);

	if (code)
		return code;
	ktrctl_warn_of_mask(mask, proc->head.compile, false);
	if (!saved)
		return write_mask(proc, mask);
	if (!mask)
		return fail(EX_DATAERR, "process %d is frozen, and traces nothing already",
			    (int)proc->pid);
	code = write_saved(proc, mask);
	if (!code)
		note("process %d is frozen: this holds after \"ktrctl -p %d thaw\"",
		     (int)proc->pid, (int)proc->pid);
	return code;
}

int process_mask(const struct ktrctl *ctl)
{
	struct tracee proc;
	uint32_t mask = 0, saved = 0;
	int code = ctl->nargs ? ktrctl_parse_classes(ctl->args[0], &mask) : 0;

	if (code)
		return code;
	code = process_open(&proc, ctl->pid);
	if (code)
		return code;
	if (ctl->nargs)
		code = process_set_mask(&proc, mask);
	else
		code = process_get_mask(&proc, &mask, &saved);
	if (!code && saved)
		note("process %d is frozen: nothing is traced until \"ktrctl -p %d thaw\"",
		     (int)ctl->pid, (int)ctl->pid);
	tracee_close(&proc);
	return code || ctl->nargs ? code : ktrctl_put_classes(mask | saved);
}

/* Settings that only the compiler or the program itself can change. */
int process_compile(const struct ktrctl *ctl)
{
	struct tracee proc;
	int code;

	if (ctl->nargs)
		return fail(EX_USAGE, "what a program has compiled in is its KTR_COMPILE; "
			    "\"ktrctl -p %d mask %s\" is what it traces", (int)ctl->pid,
			    ctl->args[0]);
	code = process_open(&proc, ctl->pid);
	if (code)
		return code;
	tracee_close(&proc);
	return ktrctl_put_classes(proc.head.compile);
}

int process_entries(const struct ktrctl *ctl)
{
	struct buf out = { 0 };
	struct tracee proc;
	int code;

	if (ctl->nargs)
		return fail(EX_USAGE, "a program's rings are its own: start it with "
			    "KTR_ENTRIES=%s", ctl->args[0]);
	code = process_open(&proc, ctl->pid);
	if (code)
		return code;
	buf_printf(&out, "%u\n", proc.head.entries);
	tracee_close(&proc);
	return ktrctl_put(&out, 0);
}

/* The saved mask is kept in the region, where any ktrctl finds it. */
int process_freeze(const struct ktrctl *ctl)
{
	struct tracee proc;
	uint32_t mask, saved;
	int code = process_open(&proc, ctl->pid);

	if (code)
		return code;
	code = process_get_mask(&proc, &mask, &saved);
	if (!code && mask)
		code = write_saved(&proc, mask);
	if (!code && mask)
		code = write_mask(&proc, 0);
	else if (!code)
		note("process %d traces nothing already", (int)ctl->pid);
	tracee_close(&proc);
	return code;
}

int process_thaw(const struct ktrctl *ctl)
{
	struct tracee proc;
	uint32_t mask, saved = 0;
	int code = process_open(&proc, ctl->pid);

	if (code)
		return code;
	code = process_get_mask(&proc, &mask, &saved);
	if (!code && !saved)
		code = fail(EX_DATAERR, "process %d is not frozen: \"ktrctl -p %d mask CLASSES\" "
			    "sets what it traces", (int)ctl->pid, (int)ctl->pid);
	if (!code)
		code = write_mask(&proc, saved);
	if (!code)
		code = write_saved(&proc, 0);
	tracee_close(&proc);
	return code;
}
