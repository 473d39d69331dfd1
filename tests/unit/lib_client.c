/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library as a program sees it, against a server that stands in for the daemon and misbehaves.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_daemon.h"
#include "lib/pmc/pmc.h"
#include "open_files.h"
#include "unit.h"

static pmc_id_t allocated(void)
{
	pmc_id_t id = PMC_ID_INVALID;

	assert_int_equal(pmc_init(), 0);
	assert_int_equal(pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), 0);
	assert_int_equal(id, FAKE_ID);
	return id;
}

/* --- what works ------------------------------------------------------------------------------ */

static void test_init(void **state)
{
	struct fake *f = *state;
	const struct pmc_cpuinfo *info;

	assert_int_equal(pmc_init(), 0);
	assert_int_equal(pmc_init(), 0);
	assert_int_equal(f->connections, 1);
	assert_int_equal(f->hello.pid, getpid());
	assert_string_equal(f->hello.program, "lib_client");
	assert_int_equal(pmc_ncpu(), FAKE_NCPU);
	assert_int_equal(pmc_npmc(0), FAKE_NPMC);
	expect_errno(pmc_npmc(FAKE_NCPU), EINVAL);
	expect_errno(pmc_npmc(-1), EINVAL);
	assert_int_equal(pmc_cpuinfo(&info), 0);
	assert_int_equal(info->pm_cputype, PMC_CPU_GENERIC);
	assert_int_equal(info->pm_nclass, 2);
	assert_int_equal(info->pm_classes[1].pm_class, PMC_CLASS_TSC);
	assert_int_equal(info->pm_classes[0].pm_num, 2);
	assert_string_equal(pmc_name_of_event((enum pmc_event)0x20001), "PAGE_FAULT.ALL");
}

static void test_allocate(void **state)
{
	struct fake *f = *state;
	pmc_id_t id = 5;
	uint32_t word;

	assert_int_equal(pmc_init(), 0);
	assert_int_equal(pmc_allocate5("soft-page_fault all", PMC_MODE_TC, PMC_F_DESCENDANTS,
				       PMC_CPU_ANY, &id), 0);
	assert_int_equal(id, FAKE_ID);
	assert_int_equal(f->allocate.class, PMC_CLASS_SOFT);
	assert_int_equal(f->allocate.event, 0x20001);
	assert_int_equal(f->allocate.flags, PMC_F_DESCENDANTS);
	assert_int_equal(f->allocate.cpu, (uint32_t)PMC_CPU_ANY);
	assert_int_equal(f->allocate.mode, PMC_MODE_TC);
	assert_true(f->allocate.count == 0);
	assert_string_equal(f->allocate.event_name, "PAGE_FAULT.ALL");
	assert_int_equal(pmc_capabilities(id, &word), 0);
	assert_int_equal(word, 0x67);
	assert_int_equal(pmc_width(id, &word), 0);
	assert_int_equal(word, 64);
	/* Neither another handle of the same class, nor a released one. */
	expect_errno(pmc_width(0xfff31100, &word), EINVAL);
	expect_errno(pmc_width(FAKE_ID + 1, &word), EINVAL);
	expect_errno(pmc_capabilities(FAKE_ID + 1, &word), EINVAL);
	assert_contains(pmc_errstr(), "has allocated");
	expect_errno(pmc_capabilities(0, &word), EINVAL);
	assert_int_equal(pmc_release(id), 0);
	expect_errno(pmc_capabilities(id, &word), EINVAL);
	/* pmc(8) passes -1 through an int for "no count". */
	assert_int_equal(pmc_allocate("tsc", PMC_MODE_SC, PMC_F_DESCENDANTS, 1, &id, -1), 0);
	assert_true(f->allocate.count == 0);
	assert_int_equal(f->allocate.cpu, 1);
	assert_int_equal(f->allocate.caps, PMC_CAP_READ);
	assert_int_equal(f->allocate.flags, 0);
	assert_int_equal(pmc_allocate("clock.hard", PMC_MODE_TS, 0, PMC_CPU_ANY, &id, 500), 0);
	assert_int_equal(f->allocate.count, 500);
}

static void test_allocate_refused(void **state)
{
	struct fake *f = *state;
	pmc_id_t id = 5;

	assert_int_equal(pmc_init(), 0);
	expect_errno(pmc_allocate("nonsense", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), EINVAL);
	assert_contains(pmc_errstr(), "nonsense");
	expect_errno(pmc_allocate("", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), EINVAL);
	assert_int_equal(f->requests[WIRE_OP_PMCALLOCATE], 0);
	f->fault_op = WIRE_OP_PMCALLOCATE;
	f->fault = FAKE_REFUSE;
	f->error = EOPNOTSUPP;
	f->reason = "row 3 is held by pid 7";
	expect_errno(pmc_allocate("tsc", PMC_MODE_SC, 0, 0, &id, 0), EOPNOTSUPP);
	assert_string_equal(pmc_errstr(), "row 3 is held by pid 7");
	f->reason = NULL;
	expect_errno(pmc_allocate("tsc", PMC_MODE_SC, 0, 0, &id, 0), EOPNOTSUPP);
	assert_string_equal(pmc_errstr(), strerror(EOPNOTSUPP));
	assert_int_equal(id, 5);
}

static void test_read(void **state)
{
	struct fake *f = *state;
	pmc_id_t id = allocated();
	pmc_value_t v;

	f->page->pmc[0].how = WIRE_HOW_VALUE;
	f->page->pmc[0].base = 4711;
	assert_int_equal(pmc_read(id, &v), 0);
	assert_true(v == 4711);
	assert_int_equal(f->requests[WIRE_OP_PMCRW], 0);
	f->page->pmc[0].how = WIRE_HOW_ASK;
	f->value = 99;
	assert_int_equal(pmc_read(id, &v), 0);
	assert_true(v == 99);
	assert_int_equal(f->rw.flags, PMC_F_OLDVALUE);
	assert_int_equal(pmc_rw(id, 5, &v), 0);
	assert_int_equal(f->rw.flags, PMC_F_OLDVALUE | PMC_F_NEWVALUE);
	assert_true(f->rw.value == 5);
	assert_int_equal(pmc_write(id, 6), 0);
	assert_int_equal(f->rw.flags, PMC_F_NEWVALUE);
	assert_int_equal(pmc_set(id, 6), 0);
	assert_int_equal(pmc_release(id), 0);
	f->page->pmc[0].how = WIRE_HOW_VALUE;
	assert_int_equal(pmc_read(id, &v), 0);	/* released: no longer read from the page */
	assert_true(v == 99);
}

static void test_start_events(void **state)
{
	struct fake *f = *state;
	const unsigned int before = open_files();
	uint64_t count[] = { 11, 22 };
	pmc_id_t id = allocated();
	pmc_value_t v;

	f->start_fd = memfd_create("event", MFD_CLOEXEC);
	assert_int_equal(write(f->start_fd, count, sizeof(count)), sizeof(count));
	/* read(2) takes up to 32 bytes of a file; a perf event gives 8. */
	assert_int_equal(ftruncate(f->start_fd, 8), 0);
	lseek(f->start_fd, 0, SEEK_SET);
	f->start_fds = 1;
	f->page->pmc[0].how = WIRE_HOW_EVENTS;
	f->page->pmc[0].generation = 1;
	assert_int_equal(pmc_start(id), 0);
	assert_int_equal(pmc_read(id, &v), 0);
	assert_true(v == 11);
	assert_int_equal(f->requests[WIRE_OP_PMCRW], 0);
	expect_errno(pmc_read(id, &v), EBUSY);
	assert_contains(pmc_errstr(), "lost");
	assert_int_equal(pmc_stop(id), 0);
	/* A program with a second thread (the server) never reads registers. */
	assert_int_equal(pmc_lib.reads.current->table.slots[0].tid, 0);
	close(f->start_fd);
	assert_int_equal(pmc_release(id), 0);
	fake_forget();
	/* Only the server's end of the connection may be left. */
	assert_true(open_files() <= before + 1);
}

static void test_attach(void **state)
{
	struct fake *f = *state;
	pmc_id_t id = allocated();
	char mem[32];
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_int_equal(pmc_attach(id, 0), 0);
	assert_false(f->got_fd);
	assert_int_equal(pmc_attach(id, getpid()), 0);
	assert_true(f->got_fd);
	assert_int_equal(f->attach.pid, getpid());
	snprintf(mem, sizeof(mem), "/proc/%d/mem", getpid());
	assert_string_equal(f->proof, mem);
	/* It is for this one request; it does not stay open. */
	assert_int_equal(pmc_detach(id, getpid()), 0);
	assert_true(f->got_fd);
	assert_string_equal(f->proof, "");
	assert_int_equal(pmc_detach(id, -7), 0);
	assert_false(f->got_fd);
	assert_int_equal(f->attach.pid, -7);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(pmc_attach(id, child), 0);	/* the daemon would say ESRCH */
	assert_false(f->got_fd);
	assert_int_equal(f->attach.pid, child);
}

static void *attach_own_thread(void *arg)
{
	return (void *)(intptr_t)pmc_attach(*(pmc_id_t *)arg, syscall(SYS_gettid));
}

/* A thread that is not a process is named by number only: the daemon answers ESRCH. */
static void test_attach_thread(void **state)
{
	struct fake *f = *state;
	pmc_id_t id = allocated();
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, attach_own_thread, &id), 0);
	pthread_join(thread, &result);
	assert_null(result);
	assert_false(f->got_fd);
	assert_int_not_equal(f->attach.pid, getpid());
}

static void test_pmcinfo(void **state)
{
	struct pmc_pmcinfo *info;

	assert_int_equal(pmc_init(), 0);
	assert_int_equal(pmc_pmcinfo(1, &info), 0);
	assert_int_equal(info->pm_cpu, 1);
	assert_string_equal(info->pm_pmcs[0].pm_name, "SOFT0");
	assert_int_equal(info->pm_pmcs[0].pm_ownerpid, 42);
	assert_string_equal(pmc_name_of_event(info->pm_pmcs[0].pm_event), "PAGE_FAULT.ALL");
	assert_string_equal(pmc_name_of_event(info->pm_pmcs[1].pm_event), "inst_retired");
	assert_int_equal(strlen(info->pm_pmcs[2].pm_name), PMC_NAME_MAX - 1);
	assert_int_equal(info->pm_pmcs[2].pm_ownerpid, -1);
	free(info);
	expect_errno(pmc_pmcinfo(2, &info), EINVAL);
	expect_errno(pmc_pmcinfo(-1, &info), EINVAL);
}

static void test_small_requests(void **state)
{
	struct fake *f = *state;
	struct pmc_op_pmcallocate op = { .pm_caps = 0 };
	struct pmc_driverstats stats;
	struct pmc_overflows overflows;
	struct pmc_chains ends;
	uint64_t chains;
	const char **names;
	int n;

	assert_int_equal(pmc_init(), 0);
	assert_int_equal(pmc_get_driver_stats(&stats), 0);
	assert_int_equal(stats.pm_intr_ignored, 1);
	assert_int_equal(stats.pm_log_sweeps, 8);
	assert_int_equal(pmc_get_cut_chains(&chains), 0);
	assert_int_equal(chains, 1ull << 40);
	expect_errno(pmc_get_cut_chains(NULL), EFAULT);
	assert_int_equal(pmc_get_chains(FAKE_ID, &ends), 0);
	assert_int_equal(ends.pm_chains, FAKE_ID);
	assert_int_equal(ends.pm_cut, 1ull << 40);
	assert_int_equal(ends.pm_cuts[PMC_CHAIN_TABLE], 5);
	assert_int_equal(ends.pm_completed, 70);
	assert_int_equal(ends.pm_late, 8);
	expect_errno(pmc_get_chains(FAKE_ID, NULL), EFAULT);
	assert_int_equal(pmc_get_overflows(FAKE_ID, &overflows), 0);
	assert_int_equal(overflows.po_overflows, 4711);
	assert_int_equal(overflows.po_unsent, 0);
	assert_true(overflows.po_left == ~0ull);
	expect_errno(pmc_get_overflows(FAKE_ID, NULL), EFAULT);
	assert_int_equal(pmc_set_signal(FAKE_ID, 40, 7), 0);
	assert_int_equal(f->overflows.pmcid, FAKE_ID);
	assert_int_equal(f->overflows.set, WIRE_SIGNAL_HANDLED);
	assert_int_equal(f->overflows.signal, 40);
	assert_int_equal(f->overflows.n, 7);
	assert_int_equal(pmc_disable(1, 2), 0);
	assert_int_equal(f->admin.cpu, 1);
	assert_int_equal(f->admin.pmc, 2);
	assert_int_equal(f->admin.state, PMC_STATE_DISABLED);
	assert_int_equal(pmc_enable(1, 2), 0);
	assert_int_equal(f->admin.state, PMC_STATE_FREE);
	assert_int_equal(pmc_event_names_of_class(PMC_CLASS_SOFT, &names, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(names[0], "CLOCK.HARD");
	free(names);
	assert_int_equal(pmc_pmu_sample_rate_get("CLOCK.HARD"), 1);
	assert_int_equal(pmc_pmu_sample_rate_get("PAGE_FAULT.ALL"), 65536);
	assert_int_equal(pmc_pmu_sample_rate_get("nonsense"), 65536);
	assert_int_equal(pmc_pmu_enabled(), 0);
	/* Not -1: FreeBSD's returns the number itself. */
	assert_int_equal(pmc_pmu_stat_mode(&names), EOPNOTSUPP);
	assert_int_equal(pmc_pmu_stat_mode(NULL), EFAULT);
	n = (int)intern_event("inst_retired", NULL);
	assert_string_equal(pmc_pmu_event_get_by_idx(NULL, n), "inst_retired");
	assert_string_equal(pmc_pmu_event_get_by_idx("", n), "inst_retired");
	assert_null(pmc_pmu_event_get_by_idx(NULL, -1));
	assert_int_equal(errno, ENOENT);
	assert_null(pmc_pmu_event_get_by_idx("GenuineIntel-6-5E-3", n));
	assert_int_equal(errno, EOPNOTSUPP);
	expect_errno(pmc_pmu_idx_get_by_event("GenuineIntel-6-5E-3", "cycles"), EOPNOTSUPP);
	expect_errno(pmc_pmu_idx_get_by_event(NULL, "nonsense"), ENOENT);
	expect_errno(pmc_pmu_idx_get_by_event(NULL, "CLOCK.HARD"), ENOENT);
	errno = 0;
	assert_int_equal(pmc_pmu_pmcallocate("nonsense", &op), ENOENT);
	assert_int_equal(pmc_pmu_pmcallocate(NULL, &op), EFAULT);
	assert_int_equal(pmc_pmu_pmcallocate("cycles", NULL), EFAULT);
	assert_int_equal(errno, 0);
}

/* --- what does not --------------------------------------------------------------------------- */

static void test_no_daemon(void **state)
{
	setenv("PMCBPF_SOCKET", "/tmp/pmcbpf-nobody-listens", 1);
	expect_errno(pmc_init(), ENOENT);
	assert_contains(pmc_errstr(), "/tmp/pmcbpf-nobody-listens");
	assert_contains(pmc_errstr(), "start it as root");
	expect_errno(pmc_ncpu(), ENXIO);
	fake_forget();
}

static void test_long_socket_name(void **state)
{
	char name[200];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	setenv("PMCBPF_SOCKET", name, 1);
	expect_errno(pmc_init(), ENAMETOOLONG);
	fake_forget();
}

/* A malformed reply is EPROTO, ends the connection, and leaks nothing. */
static void test_faults(void **state)
{
	static const enum fake_fault faults[] = {
		FAKE_WRONG_SEQ, FAKE_WRONG_OP, FAKE_WRONG_MAGIC, FAKE_WRONG_WIRE, FAKE_SHORT_HEADER,
		FAKE_SHORT_PAYLOAD, FAKE_LONG_PAYLOAD, FAKE_WRONG_LENGTH, FAKE_POSITIVE_ERROR,
		FAKE_TOO_LONG,
	};
	static const uint16_t ops[] = {
		WIRE_OP_HELLO, WIRE_OP_GETMODULEVERSION, WIRE_OP_GETCPUINFO,
		WIRE_OP_GETDYNEVENTINFO,
	};
	struct fake *f = *state;
	const unsigned int before = open_files();
	size_t i, j;

	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		for (j = 0; j < sizeof(ops) / sizeof(ops[0]); j++) {
			f->fault = faults[i];
			f->fault_op = ops[j];
			expect_errno(pmc_init(), EPROTO);
			assert_contains(pmc_errstr(), "pmcbpfd sent");
			fake_forget();
		}
	f->fault = FAKE_NO_FAULT;
	assert_int_equal(pmc_init(), 0);
	fake_forget();
	/* The server notices a client's end a moment later: at most its ends of two are left. */
	assert_true(open_files() <= before + 2);
}

static void test_hello_without_page(void **state)
{
	struct fake *f = *state;

	f->fault = FAKE_NO_FD;
	f->fault_op = WIRE_OP_HELLO;
	expect_errno(pmc_init(), EPROTO);
	f->fault = FAKE_NO_FAULT;
	f->alive->magic = 1;
	expect_errno(pmc_init(), EPROTO);
	assert_contains(pmc_errstr(), "page");
}

/* REQ-087, REQ-132, REQ-188 */
static void test_versions(void **state)
{
	struct fake *f = *state;
	char other[32];

	f->version = 0x09000000;
	expect_errno(pmc_init(), EPROGMISMATCH);
	assert_contains(pmc_errstr(), "interface version 9, this library 10");
	f->version = PMC_VERSION;
	f->wire_version = WIRE_VERSION + 1;
	expect_errno(pmc_init(), EPROTO);
	snprintf(other, sizeof(other), "wire version %d", WIRE_VERSION + 1);
	assert_contains(pmc_errstr(), other);
	f->wire_version = WIRE_VERSION;
	f->cputype = 0x7777;
	expect_errno(pmc_init(), ENXIO);
	assert_contains(pmc_errstr(), "0x7777");
	f->cputype = PMC_CPU_GENERIC;
	f->ncpu = 65537;
	expect_errno(pmc_init(), EPROTO);
	assert_contains(pmc_errstr(), "a machine with 65537 CPUs and 2 classes");
	f->ncpu = FAKE_NCPU;
	assert_int_equal(pmc_init(), 0);
}

static void test_daemon_dies(void **state)
{
	struct fake *f = *state;
	pmc_id_t id = allocated();
	pmc_value_t v;

	f->page->pmc[0].how = WIRE_HOW_VALUE;
	assert_int_equal(pmc_read(id, &v), 0);
	f->fault = FAKE_HANG_UP;
	f->fault_op = WIRE_OP_PMCSTART;
	expect_errno(pmc_start(id), ENOSYS);
	assert_contains(pmc_errstr(), "gone away");
	expect_errno(pmc_read(id, &v), ENOSYS);
	expect_errno(pmc_release(id), ENOSYS);
	assert_contains(pmc_errstr(), "gone away");
	/* It is back: so may the program be, with new PMCs. */
	f->fault = FAKE_NO_FAULT;
	assert_int_equal(pmc_init(), 0);
	assert_int_equal(f->connections, 2);
	assert_int_equal(pmc_start(id), 0);
}

/* The kernel marks the page when the daemon dies; a count is never taken from a dead page. */
static void test_dead_page(void **state)
{
	struct fake *f = *state;
	pmc_id_t id = allocated();
	pmc_value_t v;

	f->page->pmc[0].how = WIRE_HOW_VALUE;
	f->alive->futex |= FUTEX_OWNER_DIED;
	f->fault = FAKE_HANG_UP;
	f->fault_op = WIRE_OP_PMCRW;
	expect_errno(pmc_read(id, &v), ENOSYS);
	assert_contains(pmc_errstr(), "gone away");
}

/* --- fork ------------------------------------------------------------------------------------ */

static void expect_child(pid_t child)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A forked child is no owner: it uses a connection of its own, and has no page. */
static int child_checks(pmc_id_t id)
{
	pmc_value_t v;

	if (pmc_read(id, &v) != 0 || v != 99)
		return 1;
	return pmc_npmc(0) == (int)FAKE_NPMC ? 0 : 2;
}

static void test_fork(void **state)
{
	struct fake *f = *state;
	pmc_id_t id = allocated();
	pmc_value_t v;
	pid_t child;

	f->page->pmc[0].how = WIRE_HOW_VALUE;
	f->page->pmc[0].base = 1;
	f->value = 99;
	child = fork();
	if (child == 0)
		_exit(child_checks(id));
	expect_child(child);
	assert_int_equal(f->connections, 2);
	assert_int_equal(f->requests[WIRE_OP_HELLO], 2);
	assert_int_equal(pmc_read(id, &v), 0);
	assert_true(v == 1);
	assert_int_equal(pmc_start(id), 0);
	assert_int_equal(f->connections, 2);
}

/* A fork that the C library does not see. */
static void test_raw_fork(void **state)
{
	struct fake *f = *state;
	pmc_id_t id = allocated();
	pid_t child;

	child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0)
		_exit(pmc_start(id) != 0);
	expect_child(child);
	assert_int_equal(f->connections, 2);
}

static void test_cloexec(void **state)
{
	allocated();
	assert_int_equal(fcntl(pmc_lib.socket.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

/* --- threads --------------------------------------------------------------------------------- */

static void *hammer(void *arg)
{
	pmc_id_t id = *(pmc_id_t *)arg;
	pmc_value_t v;
	unsigned int i;

	for (i = 0; i < 300; i++) {
		if (pmc_read(id, &v) != 0 || v != 4711)
			return (void *)1;
		if (pmc_rw(id, 1, &v) != 0 || v != 4711)
			return (void *)2;
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct fake *f = *state;
	pmc_id_t id = allocated();
	pthread_t threads[4];
	unsigned int i;
	void *result;

	f->page->pmc[0].how = WIRE_HOW_VALUE;
	f->page->pmc[0].base = f->value = 4711;
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, &id), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		assert_null(result);
	}
	assert_int_equal(f->requests[WIRE_OP_PMCRW], 1200);
}

static void *other_thread(void *arg)
{
	expect_errno(pmc_npmc(-1), EINVAL);
	return NULL;
}

static void test_reason_per_thread(void **state)
{
	pthread_t thread;
	char mine[400];

	assert_int_equal(pmc_init(), 0);
	expect_errno(pmc_npmc(77), EINVAL);
	snprintf(mine, sizeof(mine), "%s", pmc_errstr());
	assert_contains(mine, "77");
	assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
	pthread_join(thread, NULL);
	assert_string_equal(pmc_errstr(), mine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup_unconnected, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_init), TEST(test_allocate), TEST(test_allocate_refused), TEST(test_read),
		TEST(test_start_events), TEST(test_attach), TEST(test_attach_thread),
		TEST(test_pmcinfo), TEST(test_small_requests), cmocka_unit_test(test_no_daemon),
		cmocka_unit_test(test_long_socket_name), TEST(test_faults),
		TEST(test_hello_without_page), TEST(test_versions), TEST(test_daemon_dies),
		TEST(test_dead_page), TEST(test_fork), TEST(test_raw_fork), TEST(test_cloexec),
		TEST(test_threads), TEST(test_reason_per_thread),
	};

	alarm(600);	/* a server that does not answer must not hang the build */
	return cmocka_run_group_tests_name("lib_client", tests, NULL, NULL);
}
