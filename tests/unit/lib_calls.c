/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the library behave as system calls: a signal handler may make one while it interrupts
 * another, and a thread is not cancelled in the middle of one.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_daemon.h"
#include "lib/pmc/pmc.h"
#include "open_files.h"
#include "unit.h"

static struct fake *daemon_;
static volatile sig_atomic_t handled, failed;
static int null;

static void allocate(void)
{
	pmc_id_t id;

	assert_int_equal(pmc_init(), 0);
	assert_int_equal(pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), 0);
	assert_int_equal(id, FAKE_ID);
	daemon_->value = 4711;
	daemon_->tunables = 1;
}

/* --- the calls of each operation ------------------------------------------------------------- */

static int call_init(void) { return pmc_init(); }
static int call_start(void) { return pmc_start(FAKE_ID); }
static int call_stop(void) { return pmc_stop(FAKE_ID); }
static int call_attach(void) { return pmc_attach(FAKE_ID, getpid()); }
static int call_attach_exec(void) { return pmc_attach_exec(FAKE_ID, getpid()); }
static int call_attach_thread(void) { return pmc_attach_thread(FAKE_ID, 0); }
static int call_attach_cgroup(void) { return pmc_attach_cgroup(FAKE_ID, 0); }
static int call_detach(void) { return pmc_detach(FAKE_ID, getpid()); }
static int call_write(void) { return pmc_write(FAKE_ID, 1); }
static int call_set(void) { return pmc_set(FAKE_ID, 1); }
static int call_disable(void) { return pmc_disable(0, 0); }
static int call_configure(void) { return pmc_configure_logfile(null); }
static int call_writelog(void) { return pmc_writelog(1); }
static int call_flush(void) { return pmc_flush_logfile(); }
static int call_close(void) { return pmc_close_logfile(); }
static int call_release(void) { return pmc_release(FAKE_ID); }

static int call_read(void)
{
	pmc_value_t v;

	return pmc_read(FAKE_ID, &v) || v != 4711;
}

static int call_rw(void)
{
	pmc_value_t v;

	return pmc_rw(FAKE_ID, 1, &v) || v != 4711;
}

static int call_allocate(void)
{
	pmc_id_t id;

	return pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0);
}

static int call_allocate_group(void)
{
	pmc_id_t id;

	return pmc_allocate_group("PAGE_FAULT.ALL", PMC_MODE_TC, PMC_F_GROUP_MUX, PMC_CPU_ANY, &id,
				  0) || id != FAKE_ID;
}

static int call_commit_group(void)
{
	uint32_t group;
	pmc_id_t other;

	daemon_->other = 1;
	if (pmc_allocate_group("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &other, 0))
		return -1;
	daemon_->other = 0;
	return call_allocate_group() ||
	       pmc_group_create(&group) || pmc_group_add(group, FAKE_ID + 1, 0) ||
	       pmc_group_add(group, FAKE_ID, 1) || pmc_group_commit(group) ||
	       pmc_group_commit(group) || pmc_group_release(&(pmc_id_t){ FAKE_ID }, 1);
}

static int call_read_group(void)
{
	struct pmc_group_member m[2];
	struct pmc_group_times t;
	uint32_t n = 2;

	return pmc_group_read(FAKE_ID, &n, m, &t) || n != 2 || m[0].pm_pmcid != FAKE_ID ||
	       m[1].pm_pmcid != FAKE_ID + 1 || m[0].pm_value != 4711 || m[1].pm_value != 4712 ||
	       t.pgt_running != 4713 || t.pgt_enabled != 4713;
}

static int call_read_pair(void)
{
	uint64_t value, enabled, running;

	return pmc_read_pair(FAKE_ID, &value, &enabled, &running) || value != 4711 ||
	       enabled != 4713 || running != 4713;
}

static int call_stats(void)
{
	struct pmc_driverstats stats;

	return pmc_get_driver_stats(&stats);
}

static int call_chains(void)
{
	struct pmc_chains chains;
	uint64_t cut;

	return pmc_get_cut_chains(&cut) || pmc_get_chains(FAKE_ID, &chains);
}

static int call_overflows(void)
{
	struct pmc_overflows overflows;

	return pmc_get_overflows(FAKE_ID, &overflows);
}

static int call_set_signal(void) { return pmc_set_signal(FAKE_ID, 10, 3); }

static int call_pmcinfo(void)
{
	struct pmc_pmcinfo *info;

	if (pmc_pmcinfo(0, &info))
		return -1;
	free(info);
	return !pmc_name_of_event((enum pmc_event)0x20001);
}

static int call_tunable(void)
{
	struct pmc_tunable tunable;

	return pmc_tunable_get("kern.hwpmc.nsamples", &tunable);
}

static int call_sysctl(void)
{
	size_t size = 0;

	return pmc_sysctlbyname("kern.hwpmc.nsamples", NULL, &size, NULL, 0);
}

static int call_kgmon(void) { return pmc_kgmon(PMC_KGMON_RESET, NULL); }

static const struct {
	uint16_t op;
	int (*fn)(void);
} calls[] = {
	{ WIRE_OP_PMCRW, call_read },		{ WIRE_OP_PMCRW, call_rw },
	{ WIRE_OP_PMCRW, call_write },		{ WIRE_OP_PMCSETCOUNT, call_set },
	{ WIRE_OP_PMCSTART, call_start },	{ WIRE_OP_PMCSTOP, call_stop },
	{ WIRE_OP_KGMON, call_kgmon },		{ WIRE_OP_TUNABLE, call_sysctl },
	{ WIRE_OP_GETLOSSES, call_chains },	{ WIRE_OP_ATTACHEXEC, call_attach_exec },
	{ WIRE_OP_ATTACHTHREAD, call_attach_thread },
	{ WIRE_OP_OVERFLOWS, call_overflows },	{ WIRE_OP_OVERFLOWS, call_set_signal },
	{ WIRE_OP_PMCALLOCATE, call_allocate_group }, { WIRE_OP_READGROUP, call_read_group },
	{ WIRE_OP_READGROUP, call_read_pair }, { WIRE_OP_COMMITGROUP, call_commit_group },
	{ WIRE_OP_ATTACHCGROUP, call_attach_cgroup },
	{ WIRE_OP_PMCATTACH, call_attach },	{ WIRE_OP_PMCDETACH, call_detach },
	{ WIRE_OP_PMCALLOCATE, call_allocate },	{ WIRE_OP_PMCADMIN, call_disable },
	{ WIRE_OP_CONFIGURELOG, call_configure }, { WIRE_OP_WRITELOG, call_writelog },
	{ WIRE_OP_FLUSHLOG, call_flush },	{ WIRE_OP_CLOSELOG, call_close },
	{ WIRE_OP_GETDRIVERSTATS, call_stats },	{ WIRE_OP_GETPMCINFO, call_pmcinfo },
	{ WIRE_OP_TUNABLE, call_tunable },	{ WIRE_OP_PMCRELEASE, call_release },
};
#define NCALLS (sizeof(calls) / sizeof(calls[0]))

/* --- signals --------------------------------------------------------------------------------- */

static void send_signal(pthread_t thread) { pthread_kill(thread, SIGUSR1); }

static void on_signal(int sig)
{
	int saved = errno;

	failed += call_read() != 0;
	handled++;
	errno = saved;
}

static void handle(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	handled = failed = 0;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

/* The signal comes when the daemon has the request: the library waits for the reply. */
static void test_handler_reads(void **state)
{
	struct fake *f = *state;

	daemon_ = f;
	allocate();
	f->tunables = 1;
	f->struck = pthread_self();
	handle(on_signal);
	for (size_t i = 0; i < NCALLS; i++) {
		f->strike_op = calls[i].op;
		f->strike = send_signal;
		assert_int_equal(calls[i].fn(), 0);
		assert_int_equal(handled, i + 1);
		assert_int_equal(failed, 0);
	}
}

static void test_handler_during_init(void **state)
{
	struct fake *f = *state;

	daemon_ = f;
	f->value = 4711;
	f->struck = pthread_self();
	f->strike_op = WIRE_OP_GETCPUINFO;
	f->strike = send_signal;
	handle(on_signal);
	assert_int_equal(call_init(), 0);
	assert_int_equal(handled, 1);
	assert_int_equal(failed, 0);
}

static void on_signal_fail(int sig)
{
	int saved = errno;

	pmc_width(0xfff31100, &(uint32_t){ 0 });
	errno = saved;
	handled++;
}

/* The failure of a handler's call is not the reason of the call that it interrupted. */
static void test_reason_of_interrupted(void **state)
{
	struct fake *f = *state;

	daemon_ = f;
	allocate();
	f->struck = pthread_self();
	f->strike_op = f->fault_op = WIRE_OP_PMCSTOP;
	f->strike = send_signal;
	f->fault = FAKE_REFUSE;
	f->error = EINVAL;
	f->reason = "the daemon's own words";
	handle(on_signal_fail);
	expect_errno(pmc_stop(FAKE_ID), EINVAL);
	assert_int_equal(handled, 1);
	assert_string_equal(pmc_errstr(), "the daemon's own words");
	/* Nor does a reading clear a reason that the program has not read yet. */
	assert_int_equal(call_read(), 0);
	assert_string_equal(pmc_errstr(), "the daemon's own words");
}

static uint64_t blocked;

/* The daemon's view of the thread that waits for it. */
static void look_at_mask(pthread_t thread)
{
	char line[128];
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "SigBlk: %lx", &blocked);
	if (file)
		fclose(file);
}

/* The daemon sends SIGIO to threads that handle or block it: others must not look like that. */
static void test_sigio_not_blocked(void **state)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct fake *f = *state;

	daemon_ = f;
	allocate();
	for (int i = 0; i < 2; i++) {
		f->strike_op = WIRE_OP_PMCSTOP;
		f->strike = look_at_mask;
		assert_int_equal(call_stop(), 0);
		assert_true(blocked & 1ull << (SIGUSR1 - 1));
		assert_int_equal(blocked >> (SIGIO - 1) & 1, i);
		assert_int_equal(sigaction(SIGIO, &action, NULL), 0);
	}
	signal(SIGIO, SIG_DFL);
}

/* The program's own mask and cancellation state are restored afterwards. */
static void test_put_back(void **state)
{
	sigset_t before, after;
	int cancel;

	daemon_ = *state;
	allocate();
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	for (size_t i = 0; i + 2 < NCALLS; i++) {
		assert_int_equal(calls[i].fn(), 0);
		pthread_sigmask(SIG_SETMASK, NULL, &after);
		for (int sig = 1; sig < NSIG; sig++)
			assert_int_equal(sigismember(&after, sig), sigismember(&before, sig));
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel);
		assert_int_equal(cancel, PTHREAD_CANCEL_ENABLE);
	}
	sigemptyset(&before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int event;

/* The interrupted reading blocks in read(2) until this releases it. */
static void on_signal_release(int sig)
{
	failed += pmc_release(FAKE_ID) != 0;
	failed += eventfd_write(event, 12) != 0;
	handled++;
}

/* The first thread's system call, -1 while it is in none. */
static long sleeps_in(void)
{
	char path[64];
	long number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", getpid());
	file = fopen(path, "r");
	if (!file || fscanf(file, "%ld", &number) != 1)
		number = -1;
	if (file)
		fclose(file);
	return number;
}

static void *interrupt_reader(void *arg)
{
	while (sleeps_in() != SYS_read)
		sched_yield();
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

/* A handler releases the PMC that is being read: its resources stay until the reading ends. */
static void test_release_while_reading(void **state)
{
	struct fake *f = *state;
	unsigned int before;
	pthread_t thread, self = pthread_self();
	pmc_value_t v;

	daemon_ = f;
	allocate();
	before = open_files();
	event = f->start_fd = eventfd(0, EFD_CLOEXEC);
	f->start_fds = 1;
	f->page->pmc[0].how = WIRE_HOW_EVENTS;
	f->page->pmc[0].generation = 1;
	assert_int_equal(pmc_start(FAKE_ID), 0);
	handle(on_signal_release);
	assert_int_equal(pthread_create(&thread, NULL, interrupt_reader, &self), 0);
	assert_int_equal(pmc_read(FAKE_ID, &v), 0);
	pthread_join(thread, NULL);
	assert_int_equal(handled, 1);
	assert_int_equal(failed, 0);
	assert_true(v == 12);
	close(event);
	assert_int_equal(open_files(), before);
}

/* --- fork ------------------------------------------------------------------------------------ */

static bool strike_fork;

static void during_fork(void)
{
	if (strike_fork)
		raise(SIGUSR1);
}

/* Before the library's own constructor, so that it is called when the library holds its locks. */
__attribute__((constructor(101))) static void register_first(void)
{
	pthread_atfork(during_fork, NULL, NULL);
}

static void test_handler_during_fork(void **state)
{
	int status;
	pid_t child;

	daemon_ = *state;
	allocate();
	handle(on_signal);
	strike_fork = true;
	child = fork();
	strike_fork = false;
	if (child == 0)
		_exit(call_read() != 0 || failed);
	assert_int_equal(handled, 1);
	assert_int_equal(failed, 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* --- a daemon that does not answer ----------------------------------------------------------- */

/* A signal without a handler ends the program, as it ends one that waits for a file. */
static void test_end_while_waiting(void **state)
{
	struct fake *f = *state;
	int status;
	pid_t child;

	f->fault = FAKE_SILENT;
	f->fault_op = WIRE_OP_GETDRIVERSTATS;
	child = fork();
	if (child == 0)
		_exit(pmc_init() || call_stats());
	while (!__atomic_load_n(&f->requests[WIRE_OP_GETDRIVERSTATS], __ATOMIC_RELAXED))
		sched_yield();
	assert_int_equal(kill(child, SIGTERM), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* --- cancellation ---------------------------------------------------------------------------- */

/* It is cancelled at its first cancellation point: no call of the library is one. */
static void *cancelled(void *arg)
{
	size_t *done = arg;

	pthread_cancel(pthread_self());
	for (size_t i = 0; i < NCALLS; i++) {
		if (calls[i].fn())
			return NULL;
		++*done;
	}
	pthread_testcancel();
	return NULL;
}

static void test_cancel(void **state)
{
	pthread_t thread;
	size_t done = 0;
	void *result;

	daemon_ = *state;
	allocate();
	daemon_->tunables = 1;
	assert_int_equal(pthread_create(&thread, NULL, cancelled, &done), 0);
	pthread_join(thread, &result);
	assert_int_equal(done, NCALLS);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(call_read(), 0);
}

static void *waits(void *arg)
{
	*(int *)arg = call_rw();
	pthread_testcancel();
	return NULL;
}

static void cancel(pthread_t thread) { pthread_cancel(thread); }

/* In the middle of a round trip: the lock is not left behind. */
static void test_cancel_waiting(void **state)
{
	struct fake *f = *state;
	pthread_t thread;
	int err = -1;
	void *result;

	daemon_ = f;
	allocate();
	f->strike_op = WIRE_OP_PMCRW;
	/* The thread is known before it sends: until then the test holds the lock. */
	pthread_mutex_lock(&pmc_lib.io);
	assert_int_equal(pthread_create(&thread, NULL, waits, &err), 0);
	f->struck = thread;
	f->strike = cancel;
	pthread_mutex_unlock(&pmc_lib.io);
	pthread_join(thread, &result);
	assert_int_equal(err, 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(call_rw(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup_unconnected, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_handler_reads), TEST(test_handler_during_init),
		TEST(test_reason_of_interrupted), TEST(test_sigio_not_blocked), TEST(test_put_back),
		TEST(test_release_while_reading), TEST(test_handler_during_fork),
		TEST(test_end_while_waiting), TEST(test_cancel), TEST(test_cancel_waiting),
	};

	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	alarm(600);	/* a deadlock must not hang the build */
	return cmocka_run_group_tests_name("lib_calls", tests, NULL, NULL);
}
