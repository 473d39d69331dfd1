/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace points of <sys/ktr.h> and their entries in this process's own rings. */
#define KTR
#define KTR_CTR6
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ktr.h>
#include <sys/syscall.h>

#include "tests/ktr/rings.h"
#include "unit.h"

static unsigned int home, away;	/* two CPUs, or twice the same */
static struct ktr_entry *copy;
static size_t copied;

static const struct ktr_region *region(void)
{
	const struct ktr_region *found = rings_of_process("/memfd:ktr");

	assert_non_null(found);
	return found;
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* The entries of the CPU where all tests trace. */
static const struct ktr_entry *newest(size_t ago)
{
	copied = rings_copy(region(), home, copy, NULL);
	assert_true(copied > ago);
	return &copy[copied - 1 - ago];
}

static const struct ktr_site *site(const struct ktr_entry *entry)
{
	assert_false(entry->ktr_desc & KTR_DESC_TEXT);
	return (const struct ktr_site *)(uintptr_t)entry->ktr_desc;
}

static const char *format(const struct ktr_entry *entry)
{
	if (entry->ktr_desc & KTR_DESC_TEXT)
		return (const char *)(uintptr_t)(entry->ktr_desc & ~KTR_DESC_TEXT);
	return (const char *)&site(entry)->ktr_fmt + site(entry)->ktr_fmt;
}

static int setup(void **state)
{
	on_cpu((int)home);
	ktr_mask = KTR_MASK;
	return 0;
}

/* KTR-05, KTR-08, KTR-09: eight words, of which two are the stamp and one is the format's. */
static void test_an_entry_is_eight_words(void **state)
{
	assert_int_equal(sizeof(struct ktr_entry), 8 * sizeof(uint64_t));
	assert_int_equal(offsetof(struct ktr_entry, ktr_time), 0);
	assert_int_equal(offsetof(struct ktr_entry, ktr_seq), 8);
	assert_int_equal(offsetof(struct ktr_entry, ktr_tid), 12);
	assert_int_equal(offsetof(struct ktr_entry, ktr_desc), 16);
	assert_int_equal(offsetof(struct ktr_entry, ktr_parm1), KTR_PARM1);
	assert_int_equal(offsetof(struct ktr_entry, ktr_parm5), KTR_PARM5);
	assert_int_equal((uintptr_t)rings_ring(region(), home) % 64, 0);
}

/* KTR-01, KTR-09, KTR-43, KTR-52: the page's example leaves its format's address, its argument. */
static void test_the_page_s_example(void **state)
{
	const struct ktr_entry *entry;
	int dev = 0x1234, line;

	CTR1(KTR_DEV, "lpopen(dev=%x)", dev); line = __LINE__;
	entry = newest(0);
	assert_string_equal(format(entry), "lpopen(dev=%x)");
	assert_int_equal(entry->ktr_parm1, dev);
	assert_int_equal(entry->ktr_tid, syscall(SYS_gettid));
	assert_int_equal(site(entry)->ktr_line, line);
	assert_int_equal(site(entry)->ktr_class, KTR_DEV);
	assert_string_equal((const char *)&site(entry)->ktr_file + site(entry)->ktr_file, __FILE__);
}

/* KTR-06, KTR-10, KTR-43: a point writes as many words as it has arguments. */
static void test_only_the_words_that_are_needed(void **state)
{
	const uint64_t *word;

	/* Every slot once, with words that no point below has. */
	for (uint32_t i = 0; i < region()->entries; i++)
		CTR5(KTR_DEV, "%lx%lx%lx%lx%lx", ~1ul, ~2ul, ~3ul, ~4ul, ~5ul);
	CTR0(KTR_DEV, "none");
	CTR1(KTR_DEV, "%d", 1);
	CTR2(KTR_DEV, "%d%d", 1, 2);
	CTR3(KTR_DEV, "%d%d%d", 1, 2, 3);
	CTR4(KTR_DEV, "%d%d%d%d", 1, 2, 3, 4);
	CTR5(KTR_DEV, "%d%d%d%d%d", 1, 2, 3, 4, 5);
	for (unsigned int n = 0; n <= 5; n++) {
		word = &newest(5 - n)->ktr_parm1;
		for (unsigned int i = 1; i <= 5; i++)
			assert_int_equal(word[i - 1], i <= n ? i : ~(uint64_t)i);
	}
}

/* KTR-23, KTR-53, KTR-F03: points without a class get one. */
static void test_points_without_a_class(void **state)
{
	TR0("0"); TR1("%d", 1); TR2("%d%d", 1, 2); TR3("%d%d%d", 1, 2, 3);
	TR4("%d%d%d%d", 1, 2, 3, 4);
	TR5("%d%d%d%d%d", 1, 2, 3, 4, 5);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(site(newest(i))->ktr_class, KTR_GEN);
	ITR0("0"); ITR1("%d", 1); ITR2("%d%d", 1, 2); ITR3("%d%d%d", 1, 2, 3);
	ITR4("%d%d%d%d", 1, 2, 3, 4); ITR5("%d%d%d%d%d", 1, 2, 3, 4, 5);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(site(newest(i))->ktr_class, KTR_INIT);
	assert_int_equal(newest(0)->ktr_parm5, 5);
}

/* KTR-10, KTR-F02: six arguments are two entries. */
static void test_six_arguments_are_two_entries(void **state)
{
	CTR6(KTR_DEV, "%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6);
	assert_int_equal(newest(1)->ktr_parm5, 5);
	assert_int_equal(newest(0)->ktr_parm1, 6);
	TR6("%d%d%d%d%d%d", 1, 2, 3, 4, 5, 7);
	assert_string_equal(format(newest(1)), "%d%d%d%d%d%d");
	assert_int_equal(newest(0)->ktr_parm1, 7);
}

/* KTR-07, KTR-04: the newest entry overwrites the oldest, CPU by CPU. */
static void test_the_oldest_entry_is_overwritten(void **state)
{
	uint64_t entries = region()->entries, head = rings_head(region(), home);

	for (uint64_t i = 0; i < entries + 5; i++)
		CTR1(KTR_DEV, "%ld", i);
	copied = rings_copy(region(), home, copy, NULL);
	assert_int_equal(rings_head(region(), home), head + entries + 5);
	assert_int_equal(copied, entries);
	for (uint64_t i = 0; i < copied; i++) {
		assert_int_equal(copy[i].ktr_parm1, i + 5);
		assert_true(!i || copy[i].ktr_time >= copy[i - 1].ktr_time);
	}
}

static void *trace_on(void *cpu)
{
	on_cpu((int)(intptr_t)cpu);
	for (int i = 0; i < 100; i++)
		CTR1(KTR_PROC, "%ld", (intptr_t)cpu);
	return NULL;
}

/* KTR-04, KTR-73: two threads, each kept on a CPU, write to their CPUs' rings only. */
static void test_each_cpu_has_its_ring(void **state)
{
	const unsigned int cpus[2] = { home, away };
	uint64_t before[2] = { rings_head(region(), home), rings_head(region(), away) };
	pthread_t threads[2];

	if (home == away)
		skip();
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, trace_on,
						(void *)(uintptr_t)cpus[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rings_head(region(), cpus[i]), before[i] + 100);
		copied = rings_copy(region(), cpus[i], copy, NULL);
		for (size_t k = copied - 100; k < copied; k++)
			assert_int_equal(copy[k].ktr_parm1, cpus[i]);
		assert_int_equal(rings_ring(region(), cpus[i])->cpu, cpus[i]);
	}
}

/* KTR-22, KTR-24, KTR-29, KTR-31: ktr_mask, bit by bit, for what is compiled in. */
static void test_the_mask_decides(void **state)
{
	uint64_t before = rings_total(region());

	ktr_mask = KTR_DEV;
	CTR0(KTR_DEV, "on");
	CTR0(KTR_NET, "off");
	CTR0(KTR_NET | KTR_DEV, "one of two is on");
	CTR0(KTR_NET | KTR_PROC, "none of two is on");
	assert_int_equal(rings_total(region()), before + 2);
	ktr_mask = ~0u;
	CTR0(KTR_SPL, "not compiled in");
	assert_int_equal(rings_total(region()), before + 2);
	CTR0(KTR_CLK, "compiled in");
	assert_int_equal(rings_total(region()), before + 3);
	assert_int_equal(region()->mask_address, (uintptr_t)&ktr_mask);
	assert_int_equal(region()->compile, (uint32_t)~KTR_SPL);
}

/* KTR-20, KTR-21, KTR-32: 32 classes, each a bit; eight are also the program's own. */
static void test_classes(void **state)
{
#define CLASS(name, bit) KTR_##name,
	static const unsigned int bits[] = { KTR_CLASSES(CLASS) };
#undef CLASS
	static const unsigned int own[] = { KTR_CT1, KTR_CT2, KTR_CT3, KTR_CT4, KTR_CT5, KTR_CT6,
					    KTR_CT7, KTR_CT8 };
	uint64_t before = rings_total(region());

	assert_int_equal(sizeof(bits) / sizeof(bits[0]), 32);
	for (unsigned int i = 0; i < 32; i++)
		assert_int_equal(bits[i], 1u << i);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(own[i], 1u << (24 + i));
	CTR0(KTR_CT8, "my own");
	assert_int_equal(rings_total(region()), before + 1);
	assert_int_equal(site(newest(0))->ktr_class, KTR_PTRACE);
}

static int calls;

static int called(void)
{
	return ++calls;
}

/* KTR-50: an argument is evaluated once, and only if the class is on. */
static void test_arguments_are_expressions(void **state)
{
	ktr_mask = KTR_DEV;
	CTR1(KTR_NET, "%d", called());
	assert_int_equal(calls, 0);
	CTR2(KTR_DEV, "%d %d", called(), calls ? -3 : 3);
	assert_int_equal(calls, 1);
	assert_int_equal(newest(0)->ktr_parm1, 1);
}

/* KTR-46: how each argument was declared is in the site. */
static void test_types_of_arguments(void **state)
{
	enum { THREE = 3 } number = THREE;
	char text[] = "text";
	unsigned int types;

	CTR5(KTR_DEV, "%d %hhd %ld %u %hu", -1, (signed char)-1, -1L, 1u, (unsigned short)1);
	types = site(newest(0))->ktr_argtypes;
	assert_int_equal(KTR_ARGTYPE(types, 0), KTR_ARG_S32);
	assert_int_equal(KTR_ARGTYPE(types, 1), KTR_ARG_S8);
	assert_int_equal(KTR_ARGTYPE(types, 2), KTR_ARG_S64);
	assert_int_equal(KTR_ARGTYPE(types, 3), KTR_ARG_U32);
	assert_int_equal(KTR_ARGTYPE(types, 4), KTR_ARG_U16);
	assert_int_equal(newest(0)->ktr_parm1, ~0ull);
	CTR5(KTR_DEV, "%s %p %f %d %lu", text, (void *)text, 1.5, number, 1ul);
	types = site(newest(0))->ktr_argtypes;
	assert_int_equal(KTR_ARGTYPE(types, 0), KTR_ARG_PTR);
	assert_int_equal(KTR_ARGTYPE(types, 1), KTR_ARG_PTR);
	assert_int_equal(KTR_ARGTYPE(types, 2), KTR_ARG_FP);
	assert_int_equal(KTR_ARGTYPE(types, 3), KTR_ARG_U32);
	assert_int_equal(KTR_ARGTYPE(types, 4), KTR_ARG_U64);
}

/* KTR-76: of a string its address is kept, not its text. */
static void test_strings_are_pointers(void **state)
{
	static char text[] = "before";

	CTR1(KTR_DEV, "%s", text);
	strcpy(text, "after");
	assert_int_equal(newest(0)->ktr_parm1, (uintptr_t)text);
}

/* KTR-44: a format that is no literal is kept as its address, at odd ones as well. */
static void test_formats_that_are_no_literals(void **state)
{
	static const char two[] = "xfirst %d";
	const char *volatile text = two;

	for (int i = 0; i < 2; i++) {
		CTR1(KTR_DEV, text + i, 7);
		assert_string_equal(format(newest(0)), two + i);
		assert_true(newest(0)->ktr_desc & KTR_DESC_TEXT);
		assert_int_equal(newest(0)->ktr_parm1, 7);
	}
}

/* KTR-33, KTR-37: tracing stops until each freeze has its thaw; mask 0 stops it for good. */
static void test_stopping(void **state)
{
	uint64_t before = rings_total(region());

	ktr_freeze();
	CTR0(KTR_DEV, "frozen");
	ktr_freeze();
	ktr_thaw();
	CTR0(KTR_DEV, "still frozen");
	assert_int_equal(rings_total(region()), before);
	assert_int_not_equal(region()->last.monotonic, 0);
	ktr_thaw();
	assert_int_equal(ktr_mask, (unsigned int)KTR_MASK);
	CTR0(KTR_DEV, "thawed");
	assert_int_equal(rings_total(region()), before + 1);
	ktr_thaw();	/* once more than frozen: nothing */
	assert_int_equal(ktr_mask, (unsigned int)KTR_MASK);
	KTR_STOP_IF(before == UINT64_MAX);
	assert_int_not_equal(ktr_mask, 0);
	KTR_STOP_IF(before != UINT64_MAX);
	CTR0(KTR_DEV, "stopped");
	assert_int_equal(rings_total(region()), before + 1);
	assert_string_equal(format(newest(0)), "thawed");
}

/* KTR-F01, KTR-F15: rings of another size, live; ktr_entries and ktr_version show it. */
static void test_resizing(void **state)
{
	uint32_t entries = region()->entries;

	assert_int_equal(ktr_entries, entries);
	assert_int_equal(ktr_version, KTR_VERSION);
	CTR1(KTR_DEV, "%d", 1);
	assert_int_equal(ktr_resize(4), 0);
	assert_int_equal(ktr_entries, 4);
	assert_int_equal(region()->entries, 4);
	assert_int_equal(rings_total(region()), 0);
	for (int i = 0; i < 10; i++)
		CTR1(KTR_DEV, "%d", i);
	assert_int_equal(newest(0)->ktr_parm1, 9);
	assert_int_equal(copied, 4);
	assert_int_equal(ktr_resize(3), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ktr_resize(0), -1);
	assert_int_equal(ktr_resize(KTR_REGION_ENTRIES * 2), -1);
	assert_int_equal(errno, EINVAL);
	/* KTR-13: a ring of one entry works. */
	assert_int_equal(ktr_resize(1), 0);
	CTR1(KTR_DEV, "%d", 1);
	CTR1(KTR_DEV, "%d", 2);
	assert_int_equal(newest(0)->ktr_parm1, 2);
	assert_int_equal(copied, 1);
	assert_int_equal(ktr_resize(entries), 0);
	assert_int_equal(ktr_mask, (unsigned int)KTR_MASK);
}

/* KTR-F12: the format that schedgraph reads. */
static void test_events_for_schedgraph(void **state)
{
	const char *me = "me";

	KTR_STATE1(KTR_SCHED, "thread", me, "running", "prio:%d", 3);
	assert_string_equal(format(newest(0)), "KTRGRAPH group:\"thread\", id:\"%s\", "
			    "state:\"%s\", attributes: prio:%d");
	assert_int_equal(newest(0)->ktr_parm1, (uintptr_t)me);
	assert_int_equal(newest(0)->ktr_parm3, 3);
	KTR_COUNTER0(KTR_SCHED, "load", me, 17);
	assert_string_equal(format(newest(0)), "KTRGRAPH group:\"load\", id:\"%s\", counter:%d, "
			    "attributes: none");
	KTR_POINT2(KTR_SCHED, "thread", me, "wakeup", "prio:%d", 3, KTR_ATTR_LINKED, me);
	assert_string_equal(format(newest(0)), "KTRGRAPH group:\"thread\", id:\"%s\", "
			    "point:\"%s\", attributes: prio:%d, linkedto:\"%s\"");
	KTR_START0(KTR_SCHED, "thread", me, me);
	KTR_STOP0(KTR_SCHED, "thread", me, me);
	assert_string_equal(format(newest(1)), "KTRGRAPH group:\"thread\", id:\"%s\", start:0x%lX, "
			    "attributes: none");
	assert_int_equal(newest(1)->ktr_parm2, newest(0)->ktr_parm2);
	KTR_EVENT4(KTR_SCHED, "thread", me, "state:\"%s\"", "on", "a:%d", 1, "b:%d", 2, "c:%d", 3,
		   "d:%d", 4);
	assert_int_equal(newest(1)->ktr_parm5, 3);
	assert_int_equal(newest(0)->ktr_parm1, 4);
	assert_string_equal(format(newest(0)), "... and d:%d");
}

static void handler(int sig)
{
	CTR1(KTR_SIG, "handler %d", sig);
}

/* None of this changes errno, nor in signal handlers. */
static void test_errno_stays(void **state)
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(SIGUSR1, &action, NULL);
	errno = EXDEV;
	raise(SIGUSR1);
	CTR0(KTR_DEV, "errno");
	ktr_freeze();
	ktr_thaw();
	assert_int_equal(errno, EXDEV);
	assert_int_equal(newest(1)->ktr_parm1, SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_an_entry_is_eight_words), T(test_the_page_s_example),
		T(test_only_the_words_that_are_needed), T(test_points_without_a_class),
		T(test_six_arguments_are_two_entries), T(test_the_oldest_entry_is_overwritten),
		T(test_each_cpu_has_its_ring), T(test_the_mask_decides), T(test_classes),
		T(test_arguments_are_expressions), T(test_types_of_arguments),
		T(test_strings_are_pointers), T(test_formats_that_are_no_literals),
		T(test_stopping), T(test_resizing), T(test_events_for_schedgraph),
		T(test_errno_stays),
	};
	unsigned int cpus;
	int failed;

	home = (unsigned int)rings_cpu(0, &cpus);
	away = (unsigned int)rings_cpu(1, &cpus);
	copy = calloc(region()->entries, sizeof(*copy));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(copy);
	return failed;
}
