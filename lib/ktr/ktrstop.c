/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stopping: until ktr_thaw(), after ktr_freeze(); while rings are replaced; for good, by a signal.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "ktr.h"

KTR_PUBLIC void ktr_freeze(void)
{
	struct ktr_frozen old, new;
	int saved = errno;

	__atomic_load(&ktr_lib.frozen, &old, __ATOMIC_SEQ_CST);
	do {
		new.times = old.times + 1;
		new.mask = old.times ? old.mask : ktr_mask;
	} while (!__atomic_compare_exchange(&ktr_lib.frozen, &old, &new, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST));
	ktr_mask = 0;
	if (ktr_lib.region && !old.times)
		ktr_region_refresh(ktr_lib.region);
	errno = saved;
}

/* The mask is restored before `frozen` changes, so that a concurrent freeze clears it again. */
KTR_PUBLIC void ktr_thaw(void)
{
	struct ktr_frozen old, new;

	__atomic_load(&ktr_lib.frozen, &old, __ATOMIC_SEQ_CST);
	do {
		if (!old.times)
			return;
		ktr_mask = old.times == 1 ? old.mask : 0;
		new.times = old.times - 1;
		new.mask = old.mask;
	} while (!__atomic_compare_exchange(&ktr_lib.frozen, &old, &new, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST));
}

KTR_PUBLIC int ktr_resize(unsigned int entries)
{
	int error = 0;

	if (!entries || entries & (entries - 1) || entries > KTR_REGION_ENTRIES)
		error = -EINVAL;
	else if (ktr_lib.mode != KTR_FAST && ktr_lib.mode != KTR_ATOMIC)
		error = -ENXIO;
	else if (!ktr_begin())
		error = -EBUSY;
	if (!error) {
		struct ktr_region *old = ktr_lib.region;

		ktr_freeze();
		error = ktr_renew(entries, ktr_lib.clock);
		if (!error)
			ktr_region_retire(old);
		ktr_thaw();
		ktr_end();
	}
	if (error)
		errno = -error;
	return error ? -1 : 0;
}

/*
 * The signal's default action follows when the handler returns, or when the signal is raised again.
 */
static void ktr_frozen_by(int sig, siginfo_t *info, void *context)
{
	ktr_freeze();
	if (info->si_code <= 0 || info->si_code == SI_KERNEL)
		raise(sig);
}

void ktr_freeze_on(uint64_t signals)
{
	struct sigaction action = { .sa_sigaction = ktr_frozen_by }, old;

	action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK;
	sigemptyset(&action.sa_mask);
	for (int sig = 1; sig <= 64; sig++)
		if (signals >> (sig - 1) & 1 && !sigaction(sig, NULL, &old) &&
		    old.sa_handler == SIG_DFL)
			sigaction(sig, &action, NULL);
}
