/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of ktr(4): first the program's own, from its compilation, then the environment's.  A
 * set-id program ignores the environment.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ktr.h"
#include "lib/base/ktrmask.h"
#include "lib/base/number.h"

/* The program's, if it has any: <sys/ktr_options.h>. */
extern const struct ktr_options ktr_options __attribute__((weak, visibility("default")));

static bool wish_compiled(unsigned int option)
{
	return &ktr_options && ktr_options.version == KTR_VERSION && ktr_options.given & option;
}

bool ktr_oldcpu(void)
{
	return wish_compiled(__KTR_HAS_OLDCPU);
}

static const char *wish_asked(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

/* Bytes of a ring, or entries: a value that is not valid leaves the old one. */
static void wish_size(struct ktr_wishes *wishes, const char *name, const char *text, uint64_t unit)
{
	uint64_t value, bytes;
	const char *why = NULL;

	if (number_parse(text, 0, UINT64_MAX, &value))
		why = "not a number";
	else if (value & (value - 1))
		why = "not a power of two";
	else if (value > (uint64_t)KTR_REGION_ENTRIES * KTR_ENTRY_SIZE / unit)
		why = "more than 1 GB for each CPU";
	if (why) {
		ktr_say("%s=%.60s: %s; using %llu", name, text, why,
			(unsigned long long)wishes->entries * KTR_ENTRY_SIZE / unit);
		return;
	}
	bytes = value * unit;
	if (bytes && bytes < KTR_ENTRY_SIZE) {
		ktr_say("%s=%.60s: an entry takes 64 bytes; using 64", name, text);
		bytes = KTR_ENTRY_SIZE;
	}
	wishes->entries = (uint32_t)(bytes / KTR_ENTRY_SIZE);
}

static void wish_mask(struct ktr_wishes *wishes, const char *text)
{
	char bad[64];

	if (ktrmask_parse(text, &wishes->mask, bad, sizeof(bad)))
		ktr_say("KTR_MASK=%.60s: %s is no class of ktr(4) and no number; using 0x%x", text,
			*bad ? bad : "nothing", wishes->mask);
	else
		wishes->masked = true;
}

/* In the form of FreeBSD's option: words of 64 CPUs, the lowest first, separated by ','. */
static void wish_cpumask(struct ktr_wishes *wishes, const char *text)
{
	uint64_t words[KTR_REGION_CPUS / 64] = { 0 };
	const char *rest = text;

	for (size_t i = 0; i < KTR_REGION_CPUS / 64; i++) {
		if (number_read(&rest, 0, UINT64_MAX, &words[i]))
			break;
		if (!*rest) {
			memcpy(wishes->cpumask, words, sizeof(words));
			wishes->cpumasked = true;
			return;
		}
		if (*rest++ != ',')
			break;
	}
	ktr_say("KTR_CPUMASK=%.60s: not numbers of 64 bits with ',' between them; "
		"tracing on all CPUs", text);
}

static void wish_freeze_on(struct ktr_wishes *wishes, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, ", ");
		size_t prefix = n > 3 && !strncasecmp(text, "SIG", 3) ? 3 : 0;
		int found = 0;

		for (int sig = 1; sig < NSIG && sig <= 64; sig++) {
			const char *name = sigabbrev_np(sig);

			if (name && strlen(name) == n - prefix &&
			    !strncasecmp(text + prefix, name, n - prefix))
				found = sig;
		}
		if (!found || found == SIGKILL || found == SIGSTOP)
			ktr_say("KTR_FREEZE_ON: %.*s: not a signal that can be caught "
				"(SEGV,ABRT,...)", n > 60 ? 60 : (int)n, text);
		else
			wishes->freeze_on |= 1ull << (found - 1);
		text += n;
		text += strspn(text, ", ");
	}
}

static void wish_verbose(struct ktr_wishes *wishes, const char *text)
{
	uint64_t value;

	if (number_parse(text, 0, 2, &value))
		ktr_say("KTR_VERBOSE=%.60s: not 0, 1 or 2; using %u", text, wishes->verbose);
	else
		wishes->verbose = (uint32_t)value;
}

static void wishes_compiled(struct ktr_wishes *wishes)
{
	if (wish_compiled(__KTR_HAS_SIZE)) {
		wishes->entries = (uint32_t)(ktr_options.size / KTR_ENTRY_SIZE);
		if (ktr_options.size && !wishes->entries)
			wishes->entries = 1;
	}
	if (wish_compiled(__KTR_HAS_COMPILE))
		wishes->compile = ktr_options.compile;
	if (wish_compiled(__KTR_HAS_MASK)) {
		wishes->mask = ktr_options.mask;
		wishes->masked = true;
	}
	if (wish_compiled(__KTR_HAS_VERBOSE))
		wishes->verbose = ktr_options.verbose;
	if (wish_compiled(__KTR_HAS_CPUMASK)) {
		memcpy(wishes->cpumask, ktr_options.cpumask, sizeof(wishes->cpumask));
		wishes->cpumasked = true;
	}
	wishes->coarse = ktr_oldcpu();
}

void ktr_wishes_read(struct ktr_wishes *wishes)
{
	const char *text;

	*wishes = (struct ktr_wishes){
		.entries = KTR_DEFAULT_ENTRIES,
		.compile = (uint32_t)~KTR_SPL,
		.mask = (uint32_t)~(KTR_SPL | KTR_CLK),
	};
	wishes_compiled(wishes);
	if ((text = wish_asked("KTR_ENTRIES")))
		wish_size(wishes, "KTR_ENTRIES", text, KTR_ENTRY_SIZE);
	if ((text = wish_asked("KTR_SIZE")))
		wish_size(wishes, "KTR_SIZE", text, 1);
	if ((text = wish_asked("KTR_MASK")))
		wish_mask(wishes, text);
	if ((text = wish_asked("KTR_VERBOSE")))
		wish_verbose(wishes, text);
	if ((text = wish_asked("KTR_CPUMASK")))
		wish_cpumask(wishes, text);
	if ((text = wish_asked("KTR_FREEZE_ON")))
		wish_freeze_on(wishes, text);
	if ((text = wish_asked("KTR_CLOCK"))) {
		if (!strcmp(text, "coarse"))
			wishes->coarse = true;
		else
			ktr_say("KTR_CLOCK=%.60s: only \"coarse\" can be asked for", text);
	}
	if ((text = wish_asked("KTR_FORK"))) {
		if (!strcmp(text, "new"))
			wishes->fork_new = true;
		else
			ktr_say("KTR_FORK=%.60s: only \"new\" can be asked for", text);
	}
	wishes->file = wish_asked("KTR_FILE");
}
