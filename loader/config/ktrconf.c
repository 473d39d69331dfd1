/* SPDX-License-Identifier: BSD-2-Clause */
/* See ktrconf.h. */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/cpuranges.h"
#include "lib/base/ktrmask.h"
#include "lib/base/number.h"
#include "ktrconf.h"

#define BETWEEN	 " \t,"
#define MAX_WORD 64u

bool ktrconf_same(const struct ktr_conf *a, const struct ktr_conf *b)
{
	return a->compile == b->compile && a->mask == b->mask && a->entries == b->entries &&
	       !memcmp(a->cpumask, b->cpumask, sizeof(a->cpumask)) && a->signals == b->signals &&
	       a->oom == b->oom && a->panic == b->panic && a->ntp == b->ntp &&
	       !memcmp(a->tp, b->tp, sizeof(a->tp));
}

static int ktrconf_classes(uint32_t *mask, const char *name, const char *text, struct reason *why)
{
	char bad[32];

	if (!ktrmask_parse(text, mask, bad, sizeof(bad)))
		return 0;
	return deny(why, -EINVAL, "%s takes classes, for example \"SCHED,SYSC\", \"all,~MALLOC\" "
		    "or \"none\", not \"%.40s\"; <sys/ktr_class.h> has them all", name, bad);
}

int ktrconf_compile(struct ktr_conf *c, const char *text, struct reason *why)
{
	return ktrconf_classes(&c->compile, "ktr.compile", text, why);
}

int ktrconf_mask(struct ktr_conf *c, const char *text, struct reason *why)
{
	return ktrconf_classes(&c->mask, "ktr.mask", text, why);
}

int ktrconf_size(struct ktr_conf *c, const char *text, struct reason *why)
{
	const uint64_t most = (uint64_t)KTR_REGION_ENTRIES * KTR_ENTRY_SIZE;
	uint64_t size;

	if (number_parse(text, 0, most, &size) || size & (size - 1) ||
	    (size && size < KTR_ENTRY_SIZE))
		return deny(why, -EINVAL, "ktr.size takes the bytes of each CPU's ring, a power of "
			    "two from %u to %llu, or 0 for no rings, not \"%.40s\"",
			    KTR_ENTRY_SIZE, (unsigned long long)most, text);
	c->entries = (uint32_t)(size / KTR_ENTRY_SIZE);
	return 0;
}

/* --- lists of words ------------------------------------------------------------------------ */

/* The next word of a list; false at its end. */
static bool list_next_word(const char **list, char word[MAX_WORD])
{
	size_t n;

	*list += strspn(*list, BETWEEN);
	n = strcspn(*list, BETWEEN);
	snprintf(word, MAX_WORD, "%.*s", (int)n, *list);
	*list += n;
	return n > 0;
}

/* "3" or "3-5" */
static bool word_cpu_range(const char *word, unsigned int *first, unsigned int *last)
{
	return cpuranges_next(&word, first, last) && !*word && *first <= *last &&
	       *last < KTR_REGION_CPUS;
}

int ktrconf_cpumask(struct ktr_conf *c, const char *text, struct reason *why)
{
	uint64_t mask[KTR_REGION_CPUS / 64] = { 0 };
	unsigned int first, last;
	char word[MAX_WORD];
	bool any = false;

	while (list_next_word(&text, word)) {
		any = true;
		if (!strcmp(word, "all"))
			first = 0, last = KTR_REGION_CPUS - 1;
		else if (!word_cpu_range(word, &first, &last))
			return deny(why, -EINVAL, "ktr.cpumask takes CPUs, for example \"0-3,6\" "
				    "or \"all\", not \"%.40s\"", word);
		for (unsigned int cpu = first; cpu <= last; cpu++)
			mask[cpu / 64] |= 1ull << cpu % 64;
	}
	if (!any)
		return deny(why, -EINVAL, "ktr.cpumask takes CPUs, for example \"0-3,6\" or "
			    "\"all\"");
	memcpy(c->cpumask, mask, sizeof(mask));
	return 0;
}

/* "SEGV", "SIGSEGV", "11"; 0: there is none. */
static int word_signal(const char *name)
{
	uint64_t n;

	if (!number_parse(name, 10, 64, &n))
		return (int)n;
	if (!strncasecmp(name, "SIG", 3))
		name += 3;
	for (int i = 1; i < 64; i++) {
		const char *known = sigabbrev_np(i);

		if (known && !strcasecmp(name, known))
			return i;
	}
	return 0;
}

/* NAME or SUBSYSTEM:NAME, as tracefs lists them; attaching needs the name only. */
static int stop_add_tracepoint(struct ktr_conf *c, const char *word, struct reason *why)
{
	const char *colon = strrchr(word, ':'), *name = colon ? colon + 1 : word;

	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return deny(why, -EINVAL, "ktr.stop: \"%.40s\" is no tracepoint's name",
				    word);
	if (!*name || strlen(name) >= KTRCONF_TP_NAME)
		return deny(why, -EINVAL, "ktr.stop: a tracepoint's name has 1 to %u characters: "
			    "\"tp:%.40s\"", KTRCONF_TP_NAME - 1, word);
	if (c->ntp == KTRCONF_STOP_TPS)
		return deny(why, -EINVAL, "ktr.stop takes at most %u tracepoints; \"tp:%.40s\" is "
			    "one more", KTRCONF_STOP_TPS, word);
	strcpy(c->tp[c->ntp++], name);
	return 0;
}

static int stop_add(struct ktr_conf *c, const char *word, struct reason *why)
{
	int sig;

	if (!strcmp(word, "none"))
		return 0;
	if (!strcmp(word, "oom"))
		c->oom = true;
	else if (!strcmp(word, "panic"))
		c->panic = true;
	else if (!strncmp(word, "tp:", 3))
		return stop_add_tracepoint(c, word + 3, why);
	else if (!strncmp(word, "signal:", 7)) {
		sig = word_signal(word + 7);
		if (!sig)
			return deny(why, -EINVAL, "ktr.stop: there is no signal \"%.40s\"; kill -l "
				    "lists them", word + 7);
		c->signals |= 1ull << (sig - 1);
	} else {
		return deny(why, -EINVAL, "ktr.stop takes signal:NAME, oom, panic and "
			    "tp:TRACEPOINT, or none, not \"%.40s\"", word);
	}
	return 0;
}

int ktrconf_stop(struct ktr_conf *c, const char *text, struct reason *why)
{
	struct ktr_conf with = *c;
	char word[MAX_WORD];
	int err = 0;

	with.signals = 0;
	with.oom = with.panic = false;
	with.ntp = 0;
	memset(with.tp, 0, sizeof(with.tp));
	while (!err && list_next_word(&text, word))
		err = stop_add(&with, word, why);
	if (!err)
		*c = with;
	return err;
}
