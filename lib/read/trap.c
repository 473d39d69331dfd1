/* SPDX-License-Identifier: BSD-2-Clause */
/* A signal handler for the library's own counter instructions, before the program's. */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "counter.h"
#include "read.h"
#include "trap.h"

/* The linker knows the bounds of the section. */
extern const char __start_pmc_counter[] __attribute__((visibility("hidden")));
extern const char __stop_pmc_counter[] __attribute__((visibility("hidden")));

/* One for the process, as are dispositions of signals. */
static struct {
	struct sigaction program;	/* the program's disposition */
	bool installed;
	unsigned int seen;		/* traps */
	uint64_t rest;			/* until then no instruction is tried */
	uint64_t unsafe;		/* until then the signal might not reach the handler */
} trap;
volatile unsigned int trap_count;

static bool trap_is_ours(const siginfo_t *info, ucontext_t *uc)
{
	uintptr_t pc = counter_pc(uc);

	return info->si_code > 0 && pc >= (uintptr_t)__start_pmc_counter &&
	       pc < (uintptr_t)__stop_pmc_counter && counter_skip(uc);
}

/* As if the program's disposition were still in place. */
static void trap_pass_on(int sig, siginfo_t *info, void *context)
{
	static const struct sigaction by_default = { .sa_handler = SIG_DFL };
	const struct sigaction *p = &trap.program;
	bool sent = info->si_code <= 0;		/* by a process; else an instruction raised it */

	if (p->sa_handler == SIG_IGN && sent)
		return;
	if (p->sa_handler == SIG_DFL || p->sa_handler == SIG_IGN) {
		/* The instruction raises it again; a sent signal has to be raised again. */
		sigaction(sig, &by_default, NULL);
		if (sent)
			raise(sig);
		return;
	}
	if (p->sa_flags & (int)SA_RESETHAND)
		sigaction(sig, &by_default, NULL);
	if (p->sa_flags & SA_SIGINFO)
		p->sa_sigaction(sig, info, context);
	else
		p->sa_handler(sig);
}

static void trap_handle(int sig, siginfo_t *info, void *context)
{
	if (trap_is_ours(info, context))
		trap_count++;
	else
		trap_pass_on(sig, info, context);
}

/* Runs on the stack and with the signals blocked that the program's handler expects. */
static bool trap_install(void)
{
	struct sigaction ours;

	if (sigaction(COUNTER_SIGNAL, NULL, &trap.program))
		return false;
	ours = trap.program;
	ours.sa_sigaction = trap_handle;
	ours.sa_flags = (ours.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
	trap.installed = !sigaction(COUNTER_SIGNAL, &ours, NULL);
	return trap.installed;
}

static bool trap_reaches_us(void)
{
	struct sigaction now;
	sigset_t blocked;

	return !sigaction(COUNTER_SIGNAL, NULL, &now) && now.sa_flags & SA_SIGINFO &&
	       now.sa_sigaction == trap_handle && !pthread_sigmask(SIG_BLOCK, NULL, &blocked) &&
	       !sigismember(&blocked, COUNTER_SIGNAL);
}

bool trap_lately(void)
{
	if (trap.seen != trap_count) {
		trap.seen = trap_count;
		trap.rest = counter_clock() + counter_ticks(TRAP_REST_NS);
	}
	return counter_clock() < trap.rest;
}

bool trap_ready(void)
{
	if (trap_lately() || counter_clock() < trap.unsafe)
		return false;
	if ((trap.installed || trap_install()) && trap_reaches_us())
		return true;
	trap.unsafe = counter_clock() + counter_ticks(READ_CHECK_NS);
	return false;
}

TRAP_SECTION bool trap_counter(uint32_t index, uint64_t *value)
{
	unsigned int before = trap_count;

	if (!counter_valid(index))
		return false;
	counter_begin();
	*value = counter_pmc(index);
	return trap_count == before;
}
