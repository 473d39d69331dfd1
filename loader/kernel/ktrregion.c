/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's trace region as memory: layout, header, copies. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "ktrregion.h"

#define GENERATIONS 0xffffu
#define PARMS	    5

#define TEXT_FITS_(id, tp, classes, types, words) \
	_Static_assert(sizeof(words) <= sizeof(((struct ktr_format *)0)->text) && \
		       sizeof(#tp) <= sizeof(((struct ktr_format *)0)->name), #id);
KTR_EVENT_TABLE(TEXT_FITS_)
#undef TEXT_FITS_

/* Parameter types as the table writes them: "(P, D)". */
static uint32_t argtypes(const char *types)
{
	static const char letters[] = "PDUWT";
	static const uint8_t type[] = { KTR_ARG_PTR, KTR_ARG_S32, KTR_ARG_U32, KTR_ARG_WORD,
					KTR_ARG_TEXT };
	uint32_t all = 0;
	unsigned int n = 0;

	for (; *types; types++) {
		const char *found = strchr(letters, *types);

		if (found)
			all |= (uint32_t)type[found - letters] << 4 * n++;
	}
	return all;
}

struct event {
	const char *tp, *types, *text;
	uint32_t classes;
};
static const struct event events[] = {
#define EVENT_(id, tp, classes, types, text) { #tp, #types, text, classes },
	KTR_EVENT_TABLE(EVENT_)
#undef EVENT_
};

bool ktrregion_event(unsigned int id, struct ktr_event_info *info)
{
	if (id >= KTR_EVENTS)
		return false;
	*info = (struct ktr_event_info){
		.tp = events[id].tp, .classes = events[id].classes, .text = events[id].text,
		.argtypes = argtypes(events[id].types),
	};
	return true;
}

int ktrregion_layout(struct ktr_layout *l, unsigned int ncpu, uint32_t entries, struct reason *why)
{
	size_t header = KTR_REGION_PAGE + KTR_EVENTS * sizeof(struct ktr_format);

	if (ncpu > KTR_REGION_CPUS)
		return deny(why, -E2BIG, "%u CPUs: trace rings are built for %u", ncpu,
			    KTR_REGION_CPUS);
	header = (header + KTR_REGION_PAGE - 1) & ~(size_t)(KTR_REGION_PAGE - 1);
	l->ncpu = ncpu;
	l->entries = entries;
	l->first = (uint32_t)(header / KTR_ENTRY_SIZE);
	l->stride = entries + 1;
	l->slots = l->first + (uint64_t)ncpu * l->stride;
	/* Changes within a microsecond, so it differs from an earlier region's. */
	l->generation = (uint32_t)(1 + clock_ns() / 64 % GENERATIONS);
	if (l->slots > UINT32_MAX)
		return deny(why, -E2BIG, "ktr.size=\"%llu\" is too much for %u CPUs: a BPF map has "
			    "at most 2^32 slots; set it lower",
			    (unsigned long long)entries * KTR_ENTRY_SIZE, ncpu);
	return 0;
}

size_t ktrregion_size(const struct ktr_layout *l)
{
	return (size_t)l->slots * KTR_ENTRY_SIZE;
}

size_t ktrregion_slot(const struct ktr_layout *l, unsigned int cpu)
{
	return l->first + (size_t)cpu * l->stride;
}

static void put_formats(struct ktr_format *f, uint32_t generation)
{
	for (unsigned int i = 0; i < KTR_EVENTS; i++) {
		struct ktr_event_info e = { "", 0, 0, "" };

		ktrregion_event(i, &e);
		f[i] = (struct ktr_format){
			.magic = KTR_FORMAT_MAGIC, .id = (uint16_t)i,
			.generation = (uint16_t)generation, .classes = e.classes,
			.argtypes = e.argtypes,
		};
		snprintf(f[i].name, sizeof(f[i].name), "%s", e.tp);
		snprintf(f[i].text, sizeof(f[i].text), "%s", e.text);
	}
}

void ktrregion_header(struct ktr_region *r, const struct ktr_layout *l)
{
	uint64_t now = clock_ns();

	memset(r, 0, sizeof(*r));
	memcpy(r->magic, KTR_REGION_MAGIC, sizeof(r->magic));
	r->version = KTR_REGION_VERSION;
	r->hdrsize = l->first * KTR_ENTRY_SIZE;
	r->entsize = KTR_ENTRY_SIZE;
	r->entries = l->entries;
	r->ncpu = l->ncpu;
	r->flags = KTR_REGION_KERNEL;
	r->stride = (uint64_t)l->stride * KTR_ENTRY_SIZE;
	r->generation = l->generation;
	r->clock = KTR_CLOCK_MONOTONIC;
	r->frequency = 1000000000;
	r->pid = (uint32_t)getpid();
	r->formats = KTR_EVENTS;
	r->formats_offset = KTR_REGION_PAGE;
	r->first = (struct ktr_stamp){ now, now, clock_read(CLOCK_REALTIME) };
	snprintf(r->comm, sizeof(r->comm), "kernel");
	put_formats((struct ktr_format *)((char *)r + KTR_REGION_PAGE), l->generation);
}

/* --- reading ------------------------------------------------------------------------------- */

static struct ktr_ring *ring_at(const struct ktr_region *r, unsigned int cpu)
{
	return (struct ktr_ring *)((char *)r + r->hdrsize + cpu * r->stride);
}

static uint64_t ring_head(const struct ktr_region *r, unsigned int cpu)
{
	return __atomic_load_n(&ring_at(r, cpu)->head, __ATOMIC_ACQUIRE);
}

static struct ktr_entry *entry_copy(const struct ktr_region *r, unsigned int cpu, uint64_t n)
{
	return (struct ktr_entry *)(ring_at(r, cpu) + 1) + (n & (r->entries - 1));
}

uint64_t ktrregion_written(const struct ktr_region *r)
{
	uint64_t sum = 0;

	for (unsigned int cpu = 0; cpu < r->ncpu; cpu++)
		sum += ring_head(r, cpu);
	return sum;
}

/* --- copies -------------------------------------------------------------------------------- */

/* Clears the bytes behind the text's end: they are left over from an older entry. */
static void scrub_text(char *text)
{
	size_t len = strnlen(text, 16);

	memset(text + len, 0, 16 - len);
}

/* Reduces an entry to the parts that any user may see; false if there are none. */
static bool entry_scrub(struct ktr_entry *e, uint32_t generation)
{
	uint64_t words[PARMS];
	struct ktr_event_info info;
	unsigned int word = 0;

	if (e->ktr_desc >> 48 != KTR_DESC_TAG || KTR_DESC_GENERATION(e->ktr_desc) != generation ||
	    !ktrregion_event(KTR_DESC_ID(e->ktr_desc), &info) || !strcmp(info.tp, "console"))
		return false;
	memcpy(words, &e->ktr_parm1, sizeof(words));
	for (const char *p = strchr(info.text, '%'); p && word < PARMS; p = strchr(p + 2, '%')) {
		uint32_t type = KTR_ARGTYPE(info.argtypes, 0);

		info.argtypes >>= 4;
		if (type == KTR_ARG_PTR)
			words[word] = 0;
		if (type == KTR_ARG_TEXT)
			scrub_text((char *)words + 8 * word++);
		word++;
	}
	while (word < PARMS)
		words[word++] = 0;
	memcpy(&e->ktr_parm1, words, sizeof(words));
	return true;
}

/* Entries that are being written, or have been overwritten, are left out: their slots hold 0. */
static void copy_ring(struct ktr_region *to, const struct ktr_region *from, unsigned int cpu)
{
	uint64_t end = ring_head(from, cpu), n = end > to->entries ? end - to->entries : 0;

	ring_at(to, cpu)->cpu = cpu;
	ring_at(to, cpu)->head = end;
	for (; n < end; n++) {
		const struct ktr_entry *e = entry_copy(from, cpu, n);
		struct ktr_entry *copy = entry_copy(to, cpu, n);

		if (__atomic_load_n(&e->ktr_seq, __ATOMIC_ACQUIRE) != (uint32_t)(n + 1))
			continue;
		memcpy(copy, e, sizeof(*copy));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&e->ktr_seq, __ATOMIC_RELAXED) != (uint32_t)(n + 1) ||
		    ring_head(from, cpu) - n > from->entries ||
		    !entry_scrub(copy, from->generation & 0xffff))
			memset(copy, 0, sizeof(*copy));
	}
}

static void fill_copy(struct ktr_region *to, const struct ktr_region *from, uint32_t entries)
{
	memcpy(to, from, from->hdrsize);
	to->flags |= KTR_REGION_SCRUBBED;
	to->entries = entries;
	to->stride = (uint64_t)(entries + 1) * KTR_ENTRY_SIZE;
	for (unsigned int cpu = 0; cpu < from->ncpu; cpu++)
		copy_ring(to, from, cpu);
}

int ktrregion_copy(const struct ktr_region *r, struct reason *why)
{
	uint32_t entries = r->entries;
	struct ktr_region *to;
	size_t size;
	int fd, err;

	while (entries > 1 && (uint64_t)entries * r->ncpu > KTR_COPY / KTR_ENTRY_SIZE)
		entries /= 2;
	size = r->hdrsize + (size_t)r->ncpu * (entries + 1) * KTR_ENTRY_SIZE;
	fd = memfd_create("ktr-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Reserves all pages now: a page without memory would raise SIGBUS later. */
	if (fd < 0 || fallocate(fd, 0, 0, (off_t)size))
		goto fail;
	to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to == MAP_FAILED)
		goto fail;
	fill_copy(to, r, entries);
	munmap(to, size);
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		goto fail;
	return fd;
fail:
	err = deny(why, -errno, "cannot copy the trace rings: %m");
	if (fd >= 0)
		close(fd);
	return err;
}
