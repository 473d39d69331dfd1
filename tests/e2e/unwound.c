/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of all shapes that a compiler makes, without frame pointers: unwound SHAPE runs RUN_NS of
 * its CPU time at the innermost frame of one.
 */
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef RUN_NS
#define RUN_NS	200000000
#endif
#define LEVELS	60
#define COLD	__attribute__((noinline))

static volatile unsigned int sink;
static int *volatile nowhere;

static uint64_t spent(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

COLD static void spin(void)
{
	const uint64_t end = spent() + RUN_NS;

	while (spent() < end)
		for (unsigned int i = 0; i < 20000; i++)
			sink += i;
}

COLD static void deep(unsigned int n)
{
	if (n)
		deep(n - 1);
	else
		spin();
	sink++;				/* no tail call */
}

/* The frame's size is known at run time only: the CFA is found from the frame pointer. */
COLD static void sized(unsigned int n)
{
	char *room = __builtin_alloca(n);

	memset(room, 1, n);
	deep(3);
	sink += (unsigned char)room[n - 1];
}

/* The frame is aligned to more than the stack. */
COLD static void aligned(unsigned int n)
{
	char room[256] __attribute__((aligned(128)));

	memset(room, (int)n, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	deep(3);
	sink += (unsigned char)room[n];
}

/* … and has a size of its own. */
COLD static void both(unsigned int n)
{
	char room[64] __attribute__((aligned(64)));
	char *more = __builtin_alloca(n);

	memset(room, 1, sizeof(room));
	memset(more, 1, n);
	aligned(n);
	sink += (unsigned char)(room[3] + more[n - 1]);
}

static void handler(int signal)
{
	deep(3);
}

/* An instruction of it is interrupted. */
COLD static void raised(void)
{
	deep(0);
	*nowhere = 1;
}

static void segv(int signal)
{
	deep(3);
	_exit(0);
}

static void catch(int number, void (*function)(int), int flags)
{
	struct sigaction act = { .sa_handler = function, .sa_flags = flags };

	sigaction(number, &act, NULL);
}

COLD static void on_signal(void)
{
	catch(SIGUSR1, handler, 0);
	raise(SIGUSR1);
	sink++;
}

static char other_stack[128 * 1024];

/* On a stack of its own, called by an instruction. */
COLD static void on_fault(void)
{
	const stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };

	sigaltstack(&stack, NULL);
	catch(SIGSEGV, segv, SA_ONSTACK);
	raised();
}

/* A caller's address is one of data. */
COLD static void lost(void)
{
	void *volatile *ret = (void **)__builtin_frame_address(0) + 1;
	void *const kept = *ret;

	*ret = other_stack;
	deep(3);
	*ret = kept;
}

/* Until it is killed. */
COLD static void asleep(void)
{
	for (;;)
		pause();
}

static int compare(const void *a, const void *b)
{
	if (*(const int *)a == 500 && !sink)
		deep(2);
	return *(const int *)a - *(const int *)b;
}

/* … below the interrupted frame, where one copy of the stack has both. */
COLD static void on_near_stack(void)
{
	char *here = __builtin_frame_address(0);
	const stack_t stack = { .ss_sp = here - 24 * 1024, .ss_size = 20 * 1024 };
	volatile char *at = here;

	for (unsigned int i = 0; i < 32; i++, at -= 1024)
		*at = 0;		/* it is there */
	sigaltstack(&stack, NULL);
	catch(SIGSEGV, segv, SA_ONSTACK);
	raised();
}

/* Called back by a library. */
COLD static void called_back(void)
{
	int list[1000];

	for (int i = 0; i < 1000; i++)
		list[i] = 1000 - i;
	qsort(list, 1000, sizeof(list[0]), compare);
	sink += (unsigned int)list[0];
}

static void *thread(void *arg)
{
	deep(20);
	return NULL;
}

COLD static void in_threads(void)
{
	pthread_t t[2];

	for (unsigned int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, thread, NULL))
			exit(1);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* In the kernel most of the time, for a library's function. */
COLD static void calls(void)
{
	const uint64_t end = spent() + RUN_NS;

	while (spent() < end)
		for (unsigned int i = 0; i < 100; i++)
			sink += (unsigned int)getppid();
}

/* At any instruction: prologues, epilogues, PLT entries, leaves. */
COLD static unsigned int leaf(unsigned int n)
{
	char text[40];

	snprintf(text, sizeof(text), "%u", n);
	return (unsigned int)strlen(text) + (unsigned int)atoi(text);
}

COLD static unsigned int branch(unsigned int n)
{
	return n < 2 ? leaf(n) : branch(n - 1) + branch(n - 2);
}

COLD static void anywhere(void)
{
	const uint64_t end = spent() + 3ull * RUN_NS;

	while (spent() < end)
		sink += branch(12);
}

/* A leaf calls nothing: on arm64 its return address is in a register only. */
COLD static void idle(unsigned int n)
{
	while (n--)
		sink += n;
}

COLD static void in_leaf(void)
{
	const uint64_t end = spent() + RUN_NS;

	while (spent() < end)
		idle(20000);
}

#ifdef __x86_64__
#define TRAP_FLAG 0x100

/* Called before each instruction; works before the first one of an entry. */
static void stepped(int signal, siginfo_t *info, void *context)
{
	static const uint8_t jump[] = { 0xff, 0x25 };	/* jmp *x(%rip) */
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (memcmp((const void *)regs[REG_RIP], jump, sizeof(jump)) != 0)
		return;
	regs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	deep(3);
}

/* In a signal's handler, which has interrupted an entry of the procedure linkage table. */
COLD static void linked(void)
{
	struct sigaction act = { .sa_sigaction = stepped, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &act, NULL);
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
	sink += (unsigned int)*gnu_get_libc_version();
}
#else
COLD static void linked(void)
{
	exit(2);
}
#endif

/*
 * The C library's .init section has no call frame information on x86-64.  It calls this function,
 * which a profiler's start-up code defines, where there is one.
 */
void _init(void);			/* NOLINT(bugprone-reserved-identifier) */
void __gmon_start__(void);		/* NOLINT(bugprone-reserved-identifier) */
static bool initialised;

COLD void __gmon_start__(void)		/* NOLINT(bugprone-reserved-identifier) */
{
	if (initialised)
		both(5);
}

COLD static void in_init(void)
{
	initialised = true;
	_init();
	sink++;
}

/* The child runs in the memory and on the stack of its parent. */
COLD static void in_child(void)
{
	const pid_t pid = vfork();	/* NOLINT(clang-analyzer-security.insecureAPI.vfork) */

	if (pid == 0) {
		deep(5);		/* NOLINT(clang-analyzer-unix.Vfork) */
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	deep(2);
}

/* Code without call frame information, which keeps a frame pointer: calls its argument with 3. */
#ifdef __aarch64__
static const uint32_t code[] = {
	0xa9bf7bfd, 0x910003fd, 0xaa0003e1, 0x52800060, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0,
};
#else
static const uint8_t code[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0xbf, 3, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3,
};
#endif

COLD static void compiled(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(void (*function)(unsigned int n));

	if (at == MAP_FAILED)
		exit(1);
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache(at, (char *)at + sizeof(code));
	if (mprotect(at, page, PROT_READ | PROT_EXEC))
		exit(1);
	memcpy(&call, &at, sizeof(call));
	call(deep);
	sink++;
}

/* One library after the other, at the same addresses. */
COLD static int in_libraries(const char *const *paths)
{
#ifdef UNWOUND_LIBRARIES
	for (; *paths; paths++) {
		void *library = dlopen(*paths, RTLD_NOW);
		void (*through)(void (*function)(unsigned int n));

		if (!library)
			exit(1);
		*(void **)&through = dlsym(library, "through");
		through(deep);
		dlclose(library);
	}
	return 0;
#else
	return 2;
#endif
}

/* The program's file is gone. */
COLD static int deleted(const char *path)
{
	if (unlink(path))
		return 1;
	deep(5);
	return 0;
}

COLD static void deepest(void)
{
	deep(LEVELS);
}

COLD static void unsized(void)
{
	sized(500);
}

COLD static void both_kinds(void)
{
	both(100);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} shapes[] = {
		{ "deep", deepest }, { "sized", unsized }, { "aligned", both_kinds },
		{ "signal", on_signal }, { "fault", on_fault }, { "near", on_near_stack },
		{ "leaf", in_leaf }, { "vfork", in_child }, { "compiled", compiled },
		{ "callback", called_back }, { "threads", in_threads }, { "calls", calls },
		{ "anywhere", anywhere }, { "linked", linked }, { "asleep", asleep },
		{ "init", in_init }, { "lost", lost },
	};
	const char *shape = argc > 1 ? argv[1] : "";

	if (!strcmp(shape, "libraries"))
		return in_libraries((const char *const *)argv + 2);
	if (!strcmp(shape, "deleted"))
		return deleted(argv[0]);
	for (unsigned int i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (!strcmp(shape, shapes[i].name)) {
			shapes[i].run();
			sink++;
			return 0;
		}
	return 2;
}
