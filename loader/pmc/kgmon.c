/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel profile: a hash table that grows to KGMON_HITS addresses. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sys/pmclog.h>

#include "kgmon.h"

#define SLOTS_MIN 4096u			/* a power of two; half of them at most are in use */

struct kgmon {
	bool on;
	struct profile_source source;	/* while the profile is on or has samples */
	struct profile_source pmc;	/* of all running PMCs with PMC_F_KGMON */
	unsigned int npmc;		/* number of those PMCs */
	uint64_t samples, user, lost;
	struct wire_kgmon_hit *slots;	/* `samples` 0: free */
	uint32_t nslots, nhits;
};

struct kgmon *kgmon_new(void)
{
	return calloc(1, sizeof(struct kgmon));
}

void kgmon_free(struct kgmon *k)
{
	if (!k)
		return;
	free(k->slots);
	free(k);
}

/* --- sources --------------------------------------------------------------------------------- */

static bool source_same(const struct profile_source *a, const struct profile_source *b)
{
	return a->clock == b->clock && a->class == b->class && a->sides == b->sides &&
	       a->period == b->period && !memcmp(a->config, b->config, sizeof(a->config)) &&
	       !strncmp(a->event, b->event, sizeof(a->event));
}

static const char *source_text(const struct profile_source *s, char *room, size_t size)
{
	if (s->clock)
		snprintf(room, size, "the profiling clock");
	else
		snprintf(room, size, "%.63s every %llu", s->event, (unsigned long long)s->period);
	return room;
}

static bool holds_samples(const struct kgmon *k)
{
	return k->samples || k->user || k->lost;
}

int kgmon_join(struct kgmon *k, const struct profile_source *pmc, struct reason *why)
{
	char room[128];

	if (k->npmc && !source_same(&k->pmc, pmc))
		return deny(why, -EBUSY, "PMC_F_KGMON: PMCs with this flag run with %s, and a "
			    "kernel profile is of one event at one period; stop them first",
			    source_text(&k->pmc, room, sizeof(room)));
	if (k->on && !source_same(&k->source, pmc))
		return deny(why, -EBUSY, "PMC_F_KGMON: the kernel profile takes %s now; stop and "
			    "reset it (kgmon -h -r), and start it after the PMC",
			    source_text(&k->source, room, sizeof(room)));
	k->pmc = *pmc;
	k->npmc++;
	return 0;
}

void kgmon_leave(struct kgmon *k)
{
	k->npmc--;
}

int kgmon_start(struct kgmon *k, struct reason *why)
{
	struct profile_source wanted = { .clock = true };
	char room[128];

	if (k->npmc)
		wanted = k->pmc;
	if (holds_samples(k) && !source_same(&k->source, &wanted))
		return deny(why, -EBUSY, "the kernel profile holds samples of %s, which cannot be "
			    "added to others; dump it (kgmon -p) and reset it (kgmon -r)",
			    source_text(&k->source, room, sizeof(room)));
	k->source = wanted;
	k->on = true;
	return 0;
}

void kgmon_stop(struct kgmon *k)
{
	k->on = false;
}

bool kgmon_takes_clock(const struct kgmon *k)
{
	return k->on && k->source.clock;
}

bool kgmon_is_on(const struct kgmon *k)
{
	return k->on;
}

/* --- samples --------------------------------------------------------------------------------- */

static struct wire_kgmon_hit *hit_find(struct wire_kgmon_hit *slots, uint32_t nslots,
				       uint64_t address)
{
	uint32_t at = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 32) & (nslots - 1);

	while (slots[at].samples && slots[at].address != address)
		at = (at + 1) & (nslots - 1);
	return &slots[at];
}

/* Doubles the table once half of it is in use.  False: there is no memory. */
static bool hits_grow(struct kgmon *k)
{
	uint32_t nslots = k->nslots ? k->nslots * 2 : SLOTS_MIN;
	struct wire_kgmon_hit *slots;

	if (k->nhits < k->nslots / 2)
		return true;
	slots = calloc(nslots, sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 0; i < k->nslots; i++)
		if (k->slots[i].samples)
			*hit_find(slots, nslots, k->slots[i].address) = k->slots[i];
	free(k->slots);
	k->slots = slots;
	k->nslots = nslots;
	return true;
}

static bool hit_add(struct kgmon *k, uint64_t address)
{
	struct wire_kgmon_hit *hit = NULL;

	if (k->nslots)
		hit = hit_find(k->slots, k->nslots, address);
	if (!hit || !hit->samples) {
		if (k->nhits == KGMON_HITS || !hits_grow(k))
			return false;
		hit = hit_find(k->slots, k->nslots, address);
		hit->address = address;
		k->nhits++;
	}
	hit->samples++;
	return true;
}

void kgmon_sample(struct kgmon *k, bool clock, bool user, uint64_t address)
{
	if (!k->on || k->source.clock != clock)
		return;
	if (user)
		k->user++;
	else if (address != PMCLOG_PC_KERNEL && hit_add(k, address))
		k->samples++;
	else
		k->lost++;
}

void kgmon_lost(struct kgmon *k, bool clock, uint64_t samples)
{
	if (k->on && k->source.clock == clock)
		k->lost += samples;
}

void kgmon_reset(struct kgmon *k)
{
	free(k->slots);
	k->slots = NULL;
	k->nslots = k->nhits = 0;
	k->samples = k->user = k->lost = 0;
}

/* --- answers --------------------------------------------------------------------------------- */

void kgmon_info(const struct kgmon *k, struct wire_kgmon *info)
{
	const struct profile_source *s = &k->source;

	memset(info, 0, sizeof(*info));
	info->on = k->on;
	info->samples = k->samples;
	info->user = k->user;
	info->lost = k->lost;
	info->hits = k->nhits;
	if (!k->on && !holds_samples(k))
		return;
	info->source = s->clock ? WIRE_KGMON_CLOCK : WIRE_KGMON_PMCS;
	info->rate = s->clock ? KGMON_RATE : 0;
	info->period = s->period;
	memcpy(info->event, s->event, sizeof(info->event));
}

static int hit_compare(const void *a, const void *b)
{
	const struct wire_kgmon_hit *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

int kgmon_dump(const struct kgmon *k, struct reason *why)
{
	size_t size = k->nhits * sizeof(*k->slots);
	struct wire_kgmon_hit *to;
	uint32_t n = 0;
	int fd, err;

	fd = memfd_create("kgmon", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Reserves all pages now: a page without memory would raise SIGBUS later. */
	if (fd < 0 || (size && fallocate(fd, 0, 0, (off_t)size)))
		goto fail;
	if (size) {
		to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (to == MAP_FAILED)
			goto fail;
		for (uint32_t i = 0; i < k->nslots; i++)
			if (k->slots[i].samples)
				to[n++] = k->slots[i];
		qsort(to, n, sizeof(*to), hit_compare);
		munmap(to, size);
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		goto fail;
	return fd;
fail:
	err = deny(why, -errno, "cannot copy the kernel profile: %m");
	if (fd >= 0)
		close(fd);
	return err;
}
