/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's entries in an image of a machine: see scan.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "scan.h"
#include "cli/common/common.h"

#define CHUNK	    (1u << 20)
#define SKIM	    (4 * KTR_ENTRY_SIZE)	/* bytes of a page */
#define FORMATS_MAX 65536u
#define PLACES_MAX  (1u << 30)

/* The place of an entry. */
struct scan_place {
	uint64_t at;
	uint64_t time;
	uint64_t order;		/* at the end: CPU, and number counted from the newest */
	uint32_t seq;
	uint16_t cpu, generation, id;
};

struct scan {
	struct memory *mem;
	const char *name;
	struct scan_place *places;	/* sorted at the end: by CPU, oldest first */
	size_t nplaces, places_room, first[KTR_REGION_CPUS + 1];
	struct ktr_format *formats;
	size_t nformats;
	struct ktr_region region;	/* the kernel's header, if its page was found; else all 0 */
	bool log;		/* entry by entry, as many as there are */
};

static int scan_range_order(const void *a, const void *b)
{
	const struct memory_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

int scan_image(struct memory *mem, struct memory *file, const struct elf *elf)
{
	size_t most = elf ? elf->nheaders : 1, n = 0, kept = 0;
	struct memory_range *ranges = calloc(most + 1, sizeof(*ranges));

	if (!ranges)
		return -ENOMEM;
	if (!elf)
		ranges[n++] = (struct memory_range){ 0, file->size, 0 };
	for (size_t i = 0; elf && i < most; i++) {
		const Elf64_Phdr *p = &elf->headers[i];

		if (p->p_type == PT_LOAD && p->p_filesz && p->p_paddr + p->p_filesz > p->p_paddr)
			ranges[n++] = (struct memory_range){ p->p_paddr, p->p_paddr + p->p_filesz,
							  p->p_offset };
	}
	if (n)
		qsort(ranges, n, sizeof(*ranges), scan_range_order);
	/* Memory that is mapped twice, as in kernels' own images, is read once. */
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || ranges[i].start >= ranges[kept - 1].end)
			ranges[kept++] = ranges[i];
	memory_file(mem, file->fd, 0);
	memory_ranges(mem, ranges, kept);
	return 0;
}

static bool entry_is_sound(const struct ktr_entry *e)
{
	return e->ktr_desc >> 48 == KTR_DESC_TAG && KTR_DESC_CPU(e->ktr_desc) < KTR_REGION_CPUS &&
	       e->ktr_seq != 0;
}

bool scan_probe(struct memory *mem)
{
	struct ktr_entry entry;
	uint32_t magic;

	if (memory_get(mem, 0, &entry, sizeof(entry)) != 0)
		return false;
	memcpy(&magic, &entry, sizeof(magic));
	return magic == KTR_FORMAT_MAGIC || entry_is_sound(&entry);
}

static int scan_add_place(struct scan *s, uint64_t at, const struct ktr_entry *e)
{
	if (s->nplaces == PLACES_MAX ||
	    array_reserve(s->places, s->places_room, s->nplaces + 1) != 0)
		return -ENOMEM;
	s->places[s->nplaces++] =
		(struct scan_place){ .at = at,
				     .time = e->ktr_time,
				     .seq = e->ktr_seq,
				     .cpu = (uint16_t)KTR_DESC_CPU(e->ktr_desc),
				     .generation = (uint16_t)KTR_DESC_GENERATION(e->ktr_desc),
				     .id = (uint16_t)KTR_DESC_ID(e->ktr_desc) };
	return 0;
}

static int scan_add_format(struct scan *s, const struct ktr_format *f)
{
	for (size_t i = 0; i < s->nformats; i++)
		if (s->formats[i].id == f->id && s->formats[i].generation == f->generation)
			return 0;
	if (s->nformats == FORMATS_MAX)
		return 0;
	if (array_extend(s->formats, s->nformats) != 0)
		return -ENOMEM;
	s->formats[s->nformats++] = *f;
	return 0;
}

/* The header has the size of rings; a header with impossible values is a stale page. */
static void scan_take_region(struct scan *s, const struct ktr_region *h)
{
	if (h->version == KTR_REGION_VERSION && (h->flags & KTR_REGION_KERNEL) &&
	    h->entsize == KTR_ENTRY_SIZE && h->entries && h->entries <= KTR_REGION_ENTRIES &&
	    !(h->entries & (h->entries - 1)) && h->ncpu && h->ncpu <= KTR_REGION_CPUS &&
	    h->last.monotonic + h->first.monotonic >=
	    s->region.last.monotonic + s->region.first.monotonic)
		s->region = *h;
}

static int scan_look_at(struct scan *s, uint64_t base, const uint8_t *data, size_t len)
{
	int err = 0;

	for (size_t at = 0; at + KTR_ENTRY_SIZE <= len && !err; at += KTR_ENTRY_SIZE) {
		const struct ktr_entry *e = (const void *)(data + at);
		const struct ktr_format *f = (const void *)(data + at);

		if (entry_is_sound(e))
			err = scan_add_place(s, base + at, e);
		else if (f->magic == KTR_FORMAT_MAGIC && at + sizeof(*f) <= len)
			err = scan_add_format(s, f);
		else if ((base + at) % KTR_REGION_PAGE == 0 && at + sizeof(s->region) <= len &&
			 memcmp(e, KTR_REGION_MAGIC, sizeof(KTR_REGION_MAGIC)) == 0)
			scan_take_region(s, (const void *)e);
	}
	return err;
}

/*
 * Whether the first slots of a page are the kernel's.  Slots are used in their order, so that one
 * of the first four is, if any of the page: others may be a ring's head, or an entry that is being
 * written.
 */
static bool scan_skim(const uint8_t *data)
{
	for (size_t at = 0; at < SKIM; at += KTR_ENTRY_SIZE) {
		const struct ktr_format *f = (const void *)(data + at);

		if (entry_is_sound((const void *)(data + at)) || f->magic == KTR_FORMAT_MAGIC)
			return true;
	}
	return memcmp(data, KTR_REGION_MAGIC, sizeof(KTR_REGION_MAGIC)) == 0;
}

/* Copies the part of the memory into the chunk and looks at it, unless it is a page of nothing. */
static int scan_read(struct scan *s, uint64_t at, uint8_t *chunk, size_t len)
{
	size_t done = 0;
	int err = 0;

	if (s->mem->slow && len == KTR_REGION_PAGE) {
		done = SKIM;
		err = memory_get(s->mem, at, chunk, done);
		if (err || !scan_skim(chunk))
			return err;
	}
	err = memory_get(s->mem, at + done, chunk + done, len - done);
	return err ?: scan_look_at(s, at, chunk, len);
}

static int scan_look_through(struct scan *s, const struct memory_range *range, uint8_t *chunk)
{
	const uint64_t most = s->mem->slow ? KTR_REGION_PAGE : CHUNK;
	uint64_t at = range->start & ~(uint64_t)(KTR_ENTRY_SIZE - 1);
	int err = 0;

	for (size_t len; at < range->end && !err; at += len) {
		/* From one boundary to the next. */
		len = (size_t)(most - at % most);
		if (len > range->end - at)
			len = (size_t)(range->end - at);
		err = scan_read(s, at, chunk, len);
		if (err == -EFAULT)
			return fail(EX_DATAERR, "ERROR: %s: truncated: memory at 0x%llx is not "
				    "there", s->name, (unsigned long long)at);
	}
	if (!err)
		return 0;
	return fail(err == -ENOMEM ? EX_OSERR : EX_IOERR, "ERROR: %s: %s", s->name, strerror(-err));
}

/* Each start of the daemon makes new rings: keeps the newest, and entries that have a format. */
static int scan_drop_strangers(struct scan *s)
{
	uint8_t *known = calloc(1, 1u << 16);
	uint64_t newest = 0;
	uint16_t generation = 0;
	size_t kept = 0;

	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < s->nplaces; i++)
		if (s->places[i].time >= newest) {
			newest = s->places[i].time;
			generation = s->places[i].generation;
		}
	if (s->region.version)
		generation = (uint16_t)s->region.generation;
	for (size_t i = 0; i < s->nformats; i++)
		if (s->formats[i].generation == generation)
			known[s->formats[i].id] = 1;
	for (size_t i = 0; i < s->nplaces; i++)
		if ((s->places[i].generation == generation || s->log) &&
		    (known[s->places[i].id] || !s->nformats || s->log))
			s->places[kept++] = s->places[i];
	s->nplaces = kept;
	free(known);
	return 0;
}

static int scan_place_order(const void *a, const void *b)
{
	const struct scan_place *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

/* Numbers have 32 bits and wrap; a copied page has the same entries twice. */
static void scan_sort(struct scan *s)
{
	uint64_t newest[KTR_REGION_CPUS] = { 0 };
	uint32_t seq[KTR_REGION_CPUS] = { 0 };
	uint32_t entries = s->region.version && !s->log ? s->region.entries : 0;
	size_t kept = 0;

	for (size_t i = 0; i < s->nplaces; i++)
		if (s->places[i].time >= newest[s->places[i].cpu]) {
			newest[s->places[i].cpu] = s->places[i].time;
			seq[s->places[i].cpu] = s->places[i].seq;
		}
	for (size_t i = 0; i < s->nplaces; i++) {
		struct scan_place *p = &s->places[i];

		p->order = (uint64_t)p->cpu << 32 | (p->seq - seq[p->cpu] + INT32_MAX);
		if (!entries || seq[p->cpu] - p->seq < entries || p->seq - seq[p->cpu] < entries)
			s->places[kept++] = *p;
	}
	s->nplaces = kept;
	if (s->nplaces)
		qsort(s->places, s->nplaces, sizeof(*s->places), scan_place_order);
	kept = 0;
	for (size_t i = 0; i < s->nplaces; i++)
		if (i + 1 == s->nplaces || s->places[i].order != s->places[i + 1].order)
			s->places[kept++] = s->places[i];
	s->nplaces = kept;
}

static void scan_count(struct scan *s)
{
	for (size_t i = 0; i < s->nplaces; i++)
		s->first[s->places[i].cpu + 1]++;
	for (size_t cpu = 0; cpu < KTR_REGION_CPUS; cpu++)
		s->first[cpu + 1] += s->first[cpu];
}

static int scan_look(struct scan *s, uint8_t *chunk)
{
	const struct memory_range whole = { 0, s->mem->size, 0 };
	int code = 0;

	if (!s->mem->nranges)
		code = scan_look_through(s, &whole, chunk);
	for (size_t i = 0; i < s->mem->nranges && !code; i++)
		code = scan_look_through(s, &s->mem->ranges[i], chunk);
	if (code)
		return code;
	if (scan_drop_strangers(s) != 0)
		return fail(EX_OSERR, "ERROR: out of memory");
	scan_sort(s);
	scan_count(s);
	if (s->nplaces == 0)
		return fail(EX_UNAVAILABLE, "ERROR: %s: no trace entries of the kernel: no image "
			    "of a machine, or its rings were off", s->name);
	return 0;
}

int scan_open(struct scan **scan, struct memory *mem, const char *name)
{
	struct scan *s = calloc(1, sizeof(*s));
	uint8_t *chunk = malloc(CHUNK);
	int code;

	*scan = s;
	if (!s || !chunk) {
		free(chunk);
		return fail(EX_OSERR, "ERROR: out of memory");
	}
	s->mem = mem;
	s->name = name;
	s->log = !mem->nranges;
	code = scan_look(s, chunk);
	free(chunk);
	return code;
}

static int scan_rings_head(struct rings *rings, uint32_t ring, uint64_t *head)
{
	*head = rings->scan->first[ring + 1] - rings->scan->first[ring];
	return 0;
}

/* Runs of entries that are adjacent in memory are read at once. */
static int scan_rings_copy(struct rings *rings, uint32_t ring, uint64_t number, size_t count,
			   struct ktr_entry *to)
{
	const struct scan_place *p = &rings->scan->places[rings->scan->first[ring] + number];
	int err = 0;

	for (size_t i = 0, run; i < count && !err; i += run) {
		for (run = 1; i + run < count && p[i + run].at == p[i].at + run * KTR_ENTRY_SIZE;)
			run++;
		err = memory_get(rings->mem, p[i].at, to + i, run * KTR_ENTRY_SIZE);
	}
	return err;
}

int scan_rings(struct scan *s, struct rings *rings)
{
	uint64_t most = 1;
	uint32_t ncpu = 0;

	*rings = (struct rings){ .mem = s->mem,
				 .name = s->name,
				 .head = scan_rings_head,
				 .copy = scan_rings_copy,
				 .scan = s };
	for (uint32_t cpu = 0; cpu < KTR_REGION_CPUS; cpu++) {
		size_t count = s->first[cpu + 1] - s->first[cpu];

		ncpu = count ? cpu + 1 : ncpu;
		while (most < count)
			most *= 2;
	}
	/* Without the header: rings have at least that many entries. */
	rings->header = (struct ktr_region){ .version = KTR_REGION_VERSION,
		.entsize = KTR_ENTRY_SIZE,
		.entries = s->region.version ? s->region.entries : (uint32_t)most, .ncpu = ncpu,
		.flags = KTR_REGION_KERNEL, .clock = KTR_CLOCK_MONOTONIC,
		.formats = (uint32_t)s->nformats };
	rings->header.hdrsize = KTR_REGION_PAGE;
	rings->header.stride = sizeof(struct ktr_ring) +
			       (uint64_t)rings->header.entries * KTR_ENTRY_SIZE;
	rings->formats = s->formats;
	s->formats = NULL;
	return 0;
}

void scan_close(struct scan *s)
{
	if (!s)
		return;
	free(s->places);
	free(s->formats);
	free(s);
}
