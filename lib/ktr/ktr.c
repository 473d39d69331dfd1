/* SPDX-License-Identifier: BSD-2-Clause */
/* libktr's life: the program's start and end, and its children. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ktr.h"

KTR_PUBLIC volatile unsigned int ktr_mask = (unsigned int)~(KTR_SPL | KTR_CLK);
KTR_PUBLIC int ktr_version = KTR_VERSION;
KTR_PUBLIC int ktr_entries;

struct ktr_lib ktr_lib;
struct ktr_fast ktr_fast;
const struct ktr_ring ktr_none = { .cpu = KTR_NO_CPU };
__thread struct ktr_thread ktr_thread
	__attribute__((tls_model("initial-exec"))) = { .ring = &ktr_none };

static bool ktr_can_rseq(const struct ktr_wishes *wishes)
{
#ifdef KTR_ASSEMBLY
	return &__rseq_size && __rseq_size && !wishes->coarse && !wishes->verbose &&
	       !wishes->cpumasked;
#else
	return false;
#endif
}

static void ktr_open_fast(void)
{
	__atomic_store_n(&ktr_fast.valid, 1, __ATOMIC_RELEASE);
	if (ktr_lib.mode == KTR_FAST)
		__atomic_store_n(&ktr_fast.rseq, __rseq_offset, __ATOMIC_RELEASE);
}

/* A child's own file: the parent's name and the child's pid. */
static void ktr_name_file(void)
{
	struct ktr_wishes *wishes = &ktr_lib.wishes;
	size_t length;

	if (!wishes->file)
		return;
	if (wishes->file != ktr_lib.file)
		snprintf(ktr_lib.file, sizeof(ktr_lib.file), "%s", wishes->file);
	length = strlen(ktr_lib.file);
	snprintf(ktr_lib.file + length, sizeof(ktr_lib.file) - length, ".%d", (int)getpid());
	wishes->file = ktr_lib.file;
}

int ktr_renew(uint32_t entries, uint32_t clock)
{
	bool rseq = ktr_can_rseq(&ktr_lib.wishes);
	struct ktr_region *region;
	struct ktr_place *place;
	int error;

	if (ktr_lib.region && ktr_lib.region->pid != (uint32_t)getpid())
		ktr_name_file();
	error = ktr_region_make(&ktr_lib.wishes, entries, clock, rseq, &region, &place);
	if (error)
		return error;
	ktr_lib.region = region;
	ktr_entries = (int)entries;
	ktr_early_move(ktr_lib.clock);
	ktr_lib.clock = clock;
	__atomic_store_n(&ktr_lib.place, place, __ATOMIC_RELEASE);
	__atomic_store_n(&ktr_lib.mode, rseq ? KTR_FAST : KTR_ATOMIC, __ATOMIC_RELEASE);
	ktr_open_fast();
	return 0;
}

/* One thread at a time, in each process: a child may have been made meanwhile. */
bool ktr_begin(void)
{
	uint32_t maker = __atomic_load_n(&ktr_lib.maker, __ATOMIC_ACQUIRE);
	uint32_t self = (uint32_t)getpid();

	return maker != self && __atomic_compare_exchange_n(&ktr_lib.maker, &maker, self, false,
							    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void ktr_end(void)
{
	__atomic_store_n(&ktr_lib.maker, 0, __ATOMIC_RELEASE);
}

/* The page is zero again: this is a child, which uses its parent's rings or makes its own. */
static bool ktr_forked(void)
{
	struct ktr_region *parents = ktr_lib.region;
	int saved = errno, error;

	if (!ktr_begin())
		return false;
	if (ktr_lib.wishes.fork_new) {
		error = ktr_renew(parents->entries, ktr_lib.clock);
		if (error)
			ktr_say("KTR_FORK=new: %s; tracing into the parent's rings",
				strerrordesc_np(-error));
		else
			ktr_region_retire(parents);
	}
	ktr_open_fast();
	ktr_end();
	errno = saved;
	return true;
}

/* Prepares the thread's id and ring; true: the fast path can be used now. */
bool ktr_ready(void)
{
	if (ktr_lib.mode == KTR_OFF)
		return false;
	if (ktr_lib.mode != KTR_BEFORE && !__atomic_load_n(&ktr_fast.valid, __ATOMIC_ACQUIRE)) {
		if (!ktr_forked())
			return false;
		ktr_thread.tid = 0;
	}
	if (!ktr_thread.tid)
		ktr_thread.tid = (uint32_t)syscall(SYS_gettid);
#ifdef KTR_ASSEMBLY
	return ktr_lib.mode == KTR_FAST && ktr_attach();
#else
	return false;
#endif
}

/* The kernel may not have zeroed the page. */
static void ktr_in_child(void)
{
	ktr_fast = (struct ktr_fast){ 0 };
	ktr_ready();
}

static void ktr_turn_off(void)
{
	ktr_mask = 0;
	ktr_entries = 0;
	ktr_lib.mode = KTR_OFF;
}

static void ktr_say_why(int error)
{
	const struct ktr_wishes *wishes = &ktr_lib.wishes;
	unsigned long long bytes = (unsigned long long)wishes->entries * KTR_ENTRY_SIZE;

	if (error == -EFBIG)
		ktr_say("%llu bytes for each CPU are more than a file may have (ulimit -f); "
			"not tracing", bytes);
	else if (wishes->file && error == -EEXIST)
		ktr_say("KTR_FILE=%.200s: exists and is no trace; not tracing", wishes->file);
	else if (wishes->file)
		ktr_say("KTR_FILE=%.200s: %s; not tracing", wishes->file, strerrordesc_np(-error));
	else if (error == -ENOMEM || error == -ENOSPC)
		ktr_say("%llu bytes for each CPU: %s; not tracing (KTR_SIZE asks for less)", bytes,
			strerrordesc_np(-error));
	else
		ktr_say("no memory that has a name (memfd_create): %s; not tracing%s",
			strerrordesc_np(-error), error == -ENOSYS || error == -EPERM ?
			": KTR_FILE=path does without" : "");
}

/* Runs before the other constructors with a priority in a static program. */
__attribute__((constructor(101))) static void start(void)
{
	struct ktr_wishes *wishes = &ktr_lib.wishes;
	int saved = errno, error;
	uint32_t clock;

	ktr_wishes_read(wishes);
	if (wishes->masked)
		ktr_mask = wishes->mask;
	clock = ktr_clock_choose(wishes->coarse);
	if (!wishes->entries) {
		ktr_turn_off();
	} else if (!clock) {
		ktr_say("the cycle counter is forbidden (PR_SET_TSC); not tracing: "
			"KTR_CLOCK=coarse does without");
		ktr_turn_off();
	} else if ((error = ktr_renew(wishes->entries, clock))) {
		ktr_say_why(error);
		ktr_turn_off();
	} else {
		ktr_ready();
		ktr_region_refresh(ktr_lib.region);
		madvise(&ktr_fast, sizeof(ktr_fast), MADV_WIPEONFORK);
		pthread_atfork(NULL, NULL, ktr_in_child);
		ktr_freeze_on(wishes->freeze_on);
	}
	errno = saved;
}

/* Runs after the program's own destructors, so that their entries are in the trace as well. */
__attribute__((destructor(101))) static void finish(void)
{
	int saved = errno;

	if (ktr_lib.region && ktr_lib.region->pid == (uint32_t)getpid())
		ktr_region_refresh(ktr_lib.region);
	errno = saved;
}
