/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counter instructions that trap, on a real CPU: of a counter that programs may never read.  Each
 * case is a process of its own, because handlers are per process.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/read/counter.h"
#include "lib/read/read.h"
#include "lib/read/trap.h"
#include "unit.h"

#if defined(__aarch64__)
#define NO_COUNTER 30u
#else
#define NO_COUNTER 0x7fffffffu
#endif
#define GOOD	   42		/* exit status */
#define CHECK(x)   do { if (!(x)) _exit(__LINE__ & 0x7f); } while (0)

static int *volatile nowhere = (int *)8;
static volatile sig_atomic_t handled;
static sigjmp_buf out;

/* How a case ends, as waitpid() reports it. */
static int ends(void (*fn)(void))
{
	const struct rlimit none = { 0, 0 };
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGSEGV, SIG_DFL);	/* cmocka has its own */
		signal(SIGILL, SIG_DFL);
		fn();
		_exit(GOOD);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static uint64_t *passed;	/* ticks that a case has let pass */

/* ARM's clock does not stand still: a case on whose CPU something else ran as long says nothing. */
static bool disturbed(uint64_t since)
{
	uint64_t late = counter_clock() - since - *passed;

	return (int64_t)late > (int64_t)counter_ticks(READ_CHECK_NS / 2);
}

static void expect_good(void (*fn)(void))
{
	uint64_t since;
	int status;

	for (unsigned int i = 0; i < 1000; i++) {
		*passed = 0;
		since = counter_clock();
		status = ends(fn);
		if (WIFEXITED(status) && WEXITSTATUS(status) == GOOD)
			return;
		if (!disturbed(since))
			break;
	}
	fail_msg("ended with status 0x%x: exit status %d is the line modulo 128", status,
		 WEXITSTATUS(status));
}

static void expect_killed(void (*fn)(void))
{
	int status = ends(fn);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), COUNTER_SIGNAL);
}

/* In place of the C library's: time stands still until a case lets it pass. */
static uint64_t clock_ns = 5000000000u;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	ts->tv_sec = clock_ns / 1000000000u;
	ts->tv_nsec = clock_ns % 1000000000u;
	return 0;
}

static void pass(uint64_t ns)
{
	uint64_t end = counter_clock() + counter_ticks(ns);

	*passed += counter_ticks(ns);
	clock_ns += ns;
	while (counter_clock() < end)	/* ARM's clock is an instruction */
		;
}

static void trap_once(void)
{
	uint64_t value;

	CHECK(!trap_counter(NO_COUNTER, &value));
	CHECK(trap_lately());
	CHECK(!trap_ready());
}

static void handle(const struct sigaction *sa)
{
	CHECK(!sigaction(COUNTER_SIGNAL, sa, NULL));
}

/* The program's own illegal instruction, or bad address. */
static void own_fault(void)
{
#if defined(__aarch64__)
	__asm__ volatile("udf #0");
#else
	*nowhere = 1;
#endif
}

/* --- our own ---------------------------------------------------------------------------------- */

static void case_trap(void)
{
	CHECK(!trap_lately());
	CHECK(trap_ready());
	trap_once();
	trap_once();
}

static void case_rests(void)
{
	CHECK(trap_ready());
	trap_once();
	pass(TRAP_REST_NS / 2);
	CHECK(trap_lately());
	pass(TRAP_REST_NS / 2);
	CHECK(!trap_lately());
	CHECK(trap_ready());
	trap_once();
}

static void test_trap(void **state)
{
	expect_good(case_trap);
	expect_good(case_rests);
}

static int not_quick(uint32_t pmcid, uint64_t *value)
{
	return READ_ASK;
}

/* A read whose register traps gives the kernel's count, and the next ones do not try. */
static void case_read(void)
{
	static struct wire_alive alive = { .magic = WIRE_MAGIC };
	static struct wire_page page;
	static struct perf_event_mmap_page event;
	static struct read_event events[1];
	static struct read_shared shared = READ_SHARED_INITIALIZER(shared);
	struct read_table *t = &shared.first.table;
	static struct read_stay stay;
	const uint64_t counts[] = { 100, 200, 300, 400 };
	struct reason why = { "" };
	uint32_t index;
	uint64_t value;
	int ends[2];

	event.cap_bit0_is_deprecated = event.cap_user_rdpmc = 1;
	event.pmc_width = 48;
	event.index = NO_COUNTER + 1;
	events[0].page = &event;
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));	/* each read(2) gives a count */
	events[0].own = ownfd_identify(ends[0]);
	for (unsigned int i = 0; i < 4; i++)
		CHECK(write(ends[1], &counts[i], sizeof(counts[i])) == sizeof(counts[i]));
	page.pmc[0] = (struct wire_page_pmc){ .how = WIRE_HOW_EVENTS, .pmcid = 9 };
	*t = (struct read_table){ .alive = &alive, .page = &page, .top = 1 };
	t->slots[0] = (struct read_slot){ .pmcid = 9, .nevents = 1, .events = events,
					 .tid = read_thread(), .stay = &stay, .entry = page.pmc };
	CHECK(read_quick(9, &value, &shared, not_quick) == READ_ASK);
	CHECK(read_value(t, 9, &value, &why) == READ_DONE && value == 100);
	CHECK(trap_count == 1 && trap_lately() && !stay.until);
	CHECK(read_quick(9, &value, &shared, not_quick) == READ_ASK);
	CHECK(read_value(t, 9, &value, &why) == READ_DONE && value == 200);
	CHECK(!stay.until && read_quick(9, &value, &shared, not_quick) == READ_ASK);
	CHECK(read_register(t, 9, &index, &why) == -ENOSYS);
	/* And once more, after a while. */
	pass(TRAP_REST_NS);
	CHECK(read_value(t, 9, &value, &why) == READ_DONE && value == 300);
	CHECK(trap_count == 2 && trap_lately() && !stay.until);
	pass(TRAP_REST_NS);
	CHECK(read_register(t, 9, &index, &why) == -ENOSYS && trap_count == 3);
	/* Forbidden since the last check. */
	stay.until = UINT64_MAX;
	CHECK(read_quick(9, &value, &shared, not_quick) == READ_ASK);
	CHECK(trap_count == 4 && !stay.until);
	CHECK(read_value(t, 9, &value, &why) == READ_DONE && value == 400);
}

static void test_read(void **state)
{
	expect_good(case_read);
}

/* --- the program's ---------------------------------------------------------------------------- */

static void with_info(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	handled++;
	CHECK(sig == COUNTER_SIGNAL && info->si_signo == sig);
#if defined(__aarch64__)
	uc->uc_mcontext.pc += 4;
#else
	CHECK(info->si_addr == nowhere && uc->uc_mcontext.gregs[REG_RIP]);
	siglongjmp(out, 1);
#endif
}

static void faults_itself(void)
{
	if (!sigsetjmp(out, 1))
		own_fault();
}

static void case_siginfo(void)
{
	handle(&(struct sigaction){ .sa_sigaction = with_info, .sa_flags = SA_SIGINFO });
	CHECK(trap_ready());
	for (int i = 1; i <= 3; i++) {
		trap_once();
		faults_itself();
		CHECK(handled == i);
	}
}

static sigset_t seen;

static void plain(int sig)
{
	handled++;
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &seen) && sig == COUNTER_SIGNAL);
}

static void case_plain(void)
{
	struct sigaction sa = { .sa_handler = plain };

	sigaddset(&sa.sa_mask, SIGUSR1);
	handle(&sa);
	CHECK(trap_ready());
	raise(COUNTER_SIGNAL);
	CHECK(handled == 1 && sigismember(&seen, SIGUSR1) && sigismember(&seen, COUNTER_SIGNAL));
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &seen) && !sigismember(&seen, SIGUSR1));
	trap_once();
	CHECK(handled == 1);
}

static void case_nodefer(void)
{
	handle(&(struct sigaction){ .sa_handler = plain, .sa_flags = (int)SA_NODEFER });
	CHECK(trap_ready());
	raise(COUNTER_SIGNAL);
	CHECK(handled == 1 && !sigismember(&seen, COUNTER_SIGNAL));
	trap_once();
}

static void on_stack(int sig)
{
	stack_t now;

	handled++;
	CHECK(!sigaltstack(NULL, &now) && now.ss_flags & SS_ONSTACK);
}

static void case_onstack(void)
{
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };

	CHECK(!sigaltstack(&stack, NULL));
	handle(&(struct sigaction){ .sa_handler = on_stack, .sa_flags = SA_ONSTACK });
	CHECK(trap_ready());
	raise(COUNTER_SIGNAL);
	CHECK(handled == 1);
	trap_once();
}

static void case_ignored(void)
{
	signal(COUNTER_SIGNAL, SIG_IGN);
	CHECK(trap_ready());
	raise(COUNTER_SIGNAL);
	trap_once();
}

static void test_program_has_handler(void **state)
{
	expect_good(case_siginfo);
	expect_good(case_plain);
	expect_good(case_nodefer);
	expect_good(case_onstack);
	expect_good(case_ignored);
}

static void case_default_fault(void)
{
	CHECK(trap_ready());
	trap_once();
	own_fault();
}

static void case_default_raise(void)
{
	CHECK(trap_ready());
	trap_once();
	raise(COUNTER_SIGNAL);
}

static void case_ignored_fault(void)
{
	signal(COUNTER_SIGNAL, SIG_IGN);
	CHECK(trap_ready());
	own_fault();
}

static void case_resethand(void)
{
	handle(&(struct sigaction){ .sa_handler = plain, .sa_flags = (int)SA_RESETHAND });
	CHECK(trap_ready());
	trap_once();			/* not the program's one signal */
	raise(COUNTER_SIGNAL);
	CHECK(handled == 1);
	raise(COUNTER_SIGNAL);
}

static void test_program_dies(void **state)
{
	expect_killed(case_default_fault);
	expect_killed(case_default_raise);
	expect_killed(case_ignored_fault);
	expect_killed(case_resethand);
}

/* --- traps that do not reach us --------------------------------------------------------------- */

static void case_replaced(void)
{
	struct sigaction ours;

	CHECK(trap_ready());
	CHECK(!sigaction(COUNTER_SIGNAL, &(struct sigaction){ .sa_handler = plain }, &ours));
	CHECK(!trap_ready());
	handle(&ours);
	CHECK(!trap_ready());		/* found out a moment later */
	pass(READ_CHECK_NS);
	CHECK(trap_ready());
	trap_once();
}

static void case_blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, COUNTER_SIGNAL);
	CHECK(trap_ready());
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK(!trap_ready());
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	pass(READ_CHECK_NS);
	CHECK(trap_ready());
}

static void test_unsafe(void **state)
{
	expect_good(case_replaced);
	expect_good(case_blocked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trap), cmocka_unit_test(test_read),
		cmocka_unit_test(test_program_has_handler), cmocka_unit_test(test_program_dies),
		cmocka_unit_test(test_unsafe),
	};

	passed = mmap(NULL, sizeof(*passed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (passed == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests_name("lib_trap", tests, NULL, NULL);
}
