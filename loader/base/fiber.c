/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks, and the switches between them. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "clock.h"
#include "fiber.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define SWITCH_BEGIN(save, stack, size) __sanitizer_start_switch_fiber(save, stack, size)
#define SWITCH_END(saved, stack, size)	__sanitizer_finish_switch_fiber(saved, stack, size)
#else
#define SWITCH_BEGIN(save, stack, size) ((void)(save), (void)(stack), (void)(size))
#define SWITCH_END(saved, stack, size)	((void)(saved))
#endif

#define STACK_SIZE (1u << 20)		/* address space; memory only as far as it is used */
#define SPARE_MAX  16u			/* unused stacks that are kept */
#define SLICE_NS   1000000u

struct fiber {
	struct fiber *next;		/* among the spare ones */
	struct fibers *all;
	ucontext_t context;
	void (*fn)(void *arg), (*woken)(void *arg);
	void *arg;
	uint8_t *stack;			/* its lowest page is a guard */
	enum fiber_state state;
	void *shadow;			/* the sanitizer's */
};

struct fibers {
	ucontext_t loop;
	struct fiber *current;		/* NULL: the loop */
	uint64_t slice_end;		/* ns */
	bool hurry;
	int held;
	struct fiber *spare;
	unsigned int nspare;
	size_t page_size;
	void *shadow;			/* the sanitizer's, of the loop */
	const void *loop_stack;
	size_t loop_size;
};

struct fibers *fibers_new(void)
{
	struct fibers *fs = calloc(1, sizeof(*fs));

	if (fs)
		fs->page_size = (size_t)sysconf(_SC_PAGESIZE);
	return fs;
}

static void fiber_free(struct fiber *f)
{
	munmap(f->stack, STACK_SIZE);
	free(f);
}

void fibers_free(struct fibers *fs)
{
	struct fiber *f;

	if (!fs)
		return;
	while ((f = fs->spare)) {
		fs->spare = f->next;
		fiber_free(f);
	}
	free(fs);
}

static struct fiber *fiber_make(struct fibers *fs)
{
	struct fiber *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (f->stack == MAP_FAILED) {
		free(f);
		return NULL;
	}
	if (mprotect(f->stack, fs->page_size, PROT_NONE)) {
		fiber_free(f);
		return NULL;
	}
	f->all = fs;
	return f;
}

/* makecontext() passes ints only. */
static void fiber_main(unsigned int high, unsigned int low)
{
	struct fiber *f = (struct fiber *)((uintptr_t)high << 32 | low);
	struct fibers *fs = f->all;

	SWITCH_END(NULL, &fs->loop_stack, &fs->loop_size);
	f->fn(f->arg);
	f->state = FIBER_ENDED;
	SWITCH_BEGIN(NULL, fs->loop_stack, fs->loop_size);
	swapcontext(&f->context, &fs->loop);
	abort();			/* nothing resumes a fiber that has ended */
}

/* A function of its own, because getcontext() is declared to return twice. */
__attribute__((noinline)) static bool fiber_context(struct fiber *f)
{
	return !getcontext(&f->context);
}

struct fiber *fiber_new(struct fibers *fs, void (*fn)(void *arg), void (*woken)(void *arg),
			void *arg)
{
	struct fiber *f = fs->spare;

	if (f) {
		fs->spare = f->next;
		fs->nspare--;
	} else {
		f = fiber_make(fs);
	}
	if (!f)
		return NULL;
	if (!fiber_context(f)) {
		fiber_free(f);
		return NULL;
	}
	f->fn = fn;
	f->woken = woken;
	f->arg = arg;
	f->shadow = NULL;
	f->context.uc_stack.ss_sp = f->stack + fs->page_size;
	f->context.uc_stack.ss_size = STACK_SIZE - fs->page_size;
	f->context.uc_link = NULL;
	makecontext(&f->context, (void (*)(void))fiber_main, 2,
		    (unsigned int)((uintptr_t)f >> 32), (unsigned int)(uintptr_t)f);
	return f;
}

enum fiber_state fiber_resume(struct fiber *f)
{
	struct fibers *fs = f->all;
	enum fiber_state state;

	fs->current = f;
	fs->slice_end = clock_ns() + SLICE_NS;
	SWITCH_BEGIN(&fs->shadow, f->stack + fs->page_size, STACK_SIZE - fs->page_size);
	swapcontext(&fs->loop, &f->context);
	SWITCH_END(fs->shadow, NULL, NULL);
	fs->current = NULL;
	state = f->state;
	if (state != FIBER_ENDED)
		return state;
	if (fs->nspare >= SPARE_MAX) {
		fiber_free(f);
		return state;
	}
	f->next = fs->spare;
	fs->spare = f;
	fs->nspare++;
	return state;
}

static void fiber_leave(struct fibers *fs, enum fiber_state state)
{
	struct fiber *f = fs->current;

	f->state = state;
	SWITCH_BEGIN(&f->shadow, fs->loop_stack, fs->loop_size);
	swapcontext(&f->context, &fs->loop);
	SWITCH_END(f->shadow, &fs->loop_stack, &fs->loop_size);
}

struct fiber *fiber_current(const struct fibers *fs)
{
	return fs ? fs->current : NULL;
}

void fiber_breathe(struct fibers *fs)
{
	if (fiber_current(fs) && !fs->hurry && !fs->held && clock_ns() >= fs->slice_end)
		fiber_leave(fs, FIBER_READY);
}

void fibers_hold(struct fibers *fs, bool hold)
{
	if (fs)
		fs->held += hold ? 1 : -1;
}

void fiber_park(struct fibers *fs)
{
	fiber_leave(fs, FIBER_PARKED);
}

void fiber_wake(struct fiber *f)
{
	if (f->state == FIBER_PARKED)
		f->woken(f->arg);
}

void fibers_hurry(struct fibers *fs)
{
	fs->hurry = true;
}

bool fibers_hurried(const struct fibers *fs)
{
	return fs->hurry;
}
