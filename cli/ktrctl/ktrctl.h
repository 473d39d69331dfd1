/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ktrctl(8): controls the trace rings of the kernel and of processes.
 *
 * ktrctl.c reads the command line and calls one function for each command.  The kernel's rings
 * belong to pmcbpfd: kern.c sends it requests.  A process is controlled directly: process.c writes
 * the mask in its memory, through cli/trace/trace.h.  Without -p a command applies to the kernel.
 * Single-threaded.  Functions that return int return 0, or the exit code after an error message.
 */
#ifndef PMCBPF_CLI_KTRCTL_H
#define PMCBPF_CLI_KTRCTL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <pmc.h>

#include "lib/base/ktrmask.h"
#include "cli/trace/trace.h"

struct ktrctl {
	const char *command;
	char **args;		/* of the command */
	int nargs;
	pid_t pid;		/* -p; 0: the kernel */
	bool json;
	double seconds;		/* -l; 0: no limit */
	uint64_t max;		/* --max */
};

/* ktrctl.c */
int ktrctl_put(struct buf *out, int code);
int ktrctl_parse_classes(const char *text, uint32_t *mask);
int ktrctl_put_classes(uint32_t mask);

/* list.c: works without the daemon. */
int list_producers(const struct ktrctl *ctl);
int list_classes(const struct ktrctl *ctl);

/* kern.c: the kernel's rings, which pmcbpfd owns. */
int kern_connect(void);
int kern_info(struct pmc_ktr *info);
int kern_get(const char *tunable, struct pmc_tunable *value);
int kern_set(const char *tunable, const char *value);
int kern_set_mask(uint32_t mask);
int kern_set_entries(uint64_t entries);
int kern_control(enum pmc_ktr_op op, const char *text);
int kern_mask(const struct ktrctl *ctl);
int kern_compile(const struct ktrctl *ctl);
int kern_entries(const struct ktrctl *ctl);
int kern_freeze(const struct ktrctl *ctl);
int kern_thaw(const struct ktrctl *ctl);
int kern_clear(const struct ktrctl *ctl);
int kern_mark(const struct ktrctl *ctl);
int kern_stop(const struct ktrctl *ctl);

/* process.c: the rings of a process. */
int process_fail(pid_t pid, int err, const char *fault);
int process_open(struct tracee *proc, pid_t pid);
int process_get_mask(const struct tracee *proc, uint32_t *mask, uint32_t *saved);
int process_set_mask(struct tracee *proc, uint32_t mask);
int process_mask(const struct ktrctl *ctl);
int process_compile(const struct ktrctl *ctl);
int process_entries(const struct ktrctl *ctl);
int process_freeze(const struct ktrctl *ctl);
int process_thaw(const struct ktrctl *ctl);

/* Prints a warning if some of these classes cannot be traced. */
void ktrctl_warn_of_mask(uint32_t mask, uint32_t compiled, bool kernel);

/* sysctl.c: debug.ktr.NAME[=VALUE], with FreeBSD's names. */
bool sysctl_is_name(const char *word);
int sysctl_run(const struct ktrctl *ctl);

/* alq_command.c, test.c */
int alq_command(const struct ktrctl *ctl);
int test_run(const struct ktrctl *ctl);

#endif
