/* SPDX-License-Identifier: BSD-2-Clause */
/* Images, functions and answers, each kept once: see symbol.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/array.h"
#include "lib/base/chain_end.h"
#include "cli/common/common.h"
#include "object.h"

/* The answer of symbols_frames() for a place. */
struct answer {
	struct place place;
	uint32_t generation;
	const struct symbol *function;	/* NULL: not looked up yet */
	const struct frame *frames;	/* NULL: not looked up yet */
	size_t n;
};

/* A symbol with its mangled name. */
struct known {
	struct symbol symbol;	/* first */
	const char *raw;	/* NULL: an address that belongs to none */
};

#define FRAMES_MAX 256u		/* inlined into each other */

int symbols_check_kernel(const char *path)
{
	struct stat st;

	if (!path)
		return 0;
	if (stat(path, &st) != 0)
		return fail_errno(EX_OSERR, "ERROR: Cannot locate kernel \"%s\"", path);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return fail(EX_USAGE, "ERROR: \"%s\": Unsupported file type.", path);
	return 0;
}

struct symbols *symbols_new(const struct symbols_config *config)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	elf_version(EV_CURRENT);
	s->config = *config;
	return s;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	debuginfod_free(&s->debuginfod);
	for (size_t i = 0; i < s->images.n; i++)
		object_close(s->images.items[i]);
	item_table_free(&s->images);
	item_table_free(&s->known);
	item_table_free(&s->answers);
	arena_free(&s->arena);
	free(s);
}

/* --- images ------------------------------------------------------------------------------ */

static bool image_is(const void *item, const void *key)
{
	const struct image *a = item, *b = key;

	return strcmp(a->path, b->path) == 0 && a->kernel == b->kernel &&
	       a->special == b->special && a->idlen == b->idlen &&
	       memcmp(a->id, b->id, a->idlen) == 0;
}

static uint64_t image_hash(const struct image *i)
{
	return index_hash_bytes(index_hash_bytes(i->kernel, i->path, strlen(i->path)), i->id,
			       i->idlen);
}

static struct object *symbols_add_object(struct symbols *s, const struct image *key)
{
	struct object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->symbols = s;
	o->image = *key;
	o->image.number = (uint32_t)s->images.n;
	o->image.path = arena_string(&s->arena, key->path);
	if (!o->image.path || item_table_add(&s->images, image_hash(key), o) != 0) {
		free(o);
		return NULL;
	}
	o->image.name = path_name(o->image.path);
	return o;
}

static struct object *symbols_get_object(struct symbols *s, const struct image *key)
{
	struct object *o = item_table_find(&s->images, image_hash(key), image_is, key);

	return o ? o : symbols_add_object(s, key);
}

struct object *symbols_special(struct symbols *s, const char *name, enum object_kind kind)
{
	struct object *o = symbols_get_object(s, &(struct image){ .path = name, .special = true });

	if (o) {
		o->kind = kind;
		o->image.state = IMAGE_OPEN;
	}
	return o;
}

static bool path_is_kernel(const char *path)
{
	static const char *const user[] = { "[vdso]", "[vsyscall]", "[vectors]", "[sigpage]",
					    "[heap]", "[stack]", "[uprobes]", "[anon" };

	for (size_t i = 0; i < sizeof(user) / sizeof(user[0]); i++)
		if (strncmp(path, user[i], strlen(user[i])) == 0)
			return false;
	return path[0] == '[';
}

struct image *symbols_image(struct symbols *s, const char *path, const uint8_t *id, size_t idlen,
			    pid_t pid)
{
	struct image key = { .path = path,
			     .kernel = pid == SYMBOLS_KERNEL || path_is_kernel(path) };
	struct object *o;

	key.idlen = (uint8_t)(idlen < sizeof(key.id) ? idlen : sizeof(key.id));
	if (key.idlen)
		memcpy(key.id, id, key.idlen);
	o = symbols_get_object(s, &key);
	if (!o)
		return NULL;
	if (key.kernel)
		o->kind = OBJECT_KERNEL;
	if (o->image.state == IMAGE_UNOPENED && pid > 0)
		o->pid = pid;
	return &o->image;
}

struct image *symbols_jit(struct symbols *s, pid_t pid)
{
	char path[32];
	struct image key = { .path = path };
	struct object *o;
	int err;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	o = symbols_get_object(s, &key);
	err = o && !s->config.no_names ? jit_open(o, pid) : -ENOENT;
	return err == 0 || err == -EPERM ? &o->image : NULL;
}

int symbols_debuginfod(void)
{
	return debuginfod_check();
}

bool symbols_is_jitdump(const char *path)
{
	return jitdump_path(path);
}

struct image *symbols_jitdump(struct symbols *s, struct image *dump, pid_t pid)
{
	struct object *o = (struct object *)dump;
	int err = !o || s->config.no_names ? -ENOENT : jit_open(o, pid);

	return err == 0 || err == -EPERM ? dump : symbols_jit(s, pid);
}

/* Opens files again that lack names.  Some may then ask for more. */
static void symbols_reopen(struct symbols *s)
{
	for (size_t i = 0; i < s->images.n; i++) {
		struct object *o = s->images.items[i];

		if (o->image.state != IMAGE_STRIPPED && o->image.state != IMAGE_MISSING &&
		    o->image.state != IMAGE_REPLACED)
			continue;
		object_reset(o);
		object_open(o);
	}
}

void symbols_settle(struct symbols *s)
{
	struct debuginfod *d = &s->debuginfod;
	struct timespec now;
	int64_t until;
	size_t n, late = 0;

	if (!s->config.debuginfod || d->settled)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	until = (now.tv_sec + (int64_t)s->config.debuginfod) * 1000 + now.tv_nsec / 1000000;
	do {
		n = d->n;
		late = debuginfod_wait(s, until);
		symbols_reopen(s);
	} while (!late && d->n > n);
	d->settled = true;
	if (late)
		note("WARNING: %zu of %zu files did not arrive from debuginfod within %u s: names "
		     "are missing (--debuginfod=SECONDS)", late, d->n, s->config.debuginfod);
}

const struct image *symbols_each(const struct symbols *s, size_t i)
{
	const struct object *o = i < s->images.n ? s->images.items[i] : NULL;

	return o ? &o->image : NULL;
}

/* Unknown for images without a file, and for bad files. */
static bool object_has_segments(const struct object *o)
{
	return o->kind == OBJECT_FILE && o->nsegments;
}

bool image_segment(struct symbols *s, struct image *image, uint64_t offset, uint64_t *start,
		   uint64_t *end)
{
	const struct object *o = (struct object *)image;

	object_open((struct object *)image);
	for (size_t i = 0; object_has_segments(o) && i < o->nsegments; i++) {
		const struct segment *seg = &o->segments[i];

		if (!seg->code || offset < seg->offset || offset - seg->offset >= seg->size)
			continue;
		*start = seg->offset;
		*end = seg->offset + seg->size;
		return true;
	}
	return false;
}

bool image_covers(struct symbols *s, struct image *image, uint64_t offset)
{
	uint64_t start, end;

	return image_segment(s, image, offset, &start, &end) ||
	       !object_has_segments((struct object *)image);
}

uint64_t image_address(struct symbols *s, struct image *image, uint64_t offset)
{
	uint64_t address;

	object_open((struct object *)image);
	object_address((struct object *)image, offset, &address);
	return address;
}

int symbols_add(struct symbols *s, struct image *image, uint64_t start, const char *name)
{
	struct object *o = (struct object *)image;
	struct entry entry = { .name = arena_string(&s->arena, name), .start = start };

	if (array_reserve(o->added, o->added_room, o->nadded + 1) != 0 || !entry.name)
		return -ENOMEM;
	o->added[o->nadded++] = entry;
	o->sorted = false;
	o->generation++;
	return 0;
}

/* --- functions --------------------------------------------------------------------------- */

static bool known_is(const void *item, const void *key)
{
	const struct known *a = item, *b = key;

	return a->symbol.image == b->symbol.image && a->symbol.start == b->symbol.start &&
	       a->symbol.inlined == b->symbol.inlined && !a->raw == !b->raw &&
	       (!a->raw || strcmp(a->raw, b->raw) == 0);
}

const struct symbol *symbols_get(struct symbols *s, const struct image *image, const char *raw,
				 uint64_t start, uint64_t size, bool inlined)
{
	struct known key = { { .image = image, .start = start, .inlined = inlined }, raw };
	uint64_t hash = index_mix((uintptr_t)image + inlined, start);
	struct known *k;

	if (raw)
		hash = index_hash_bytes(hash, raw, strlen(raw));
	k = item_table_find(&s->known, hash, known_is, &key);
	if (k)
		return &k->symbol;
	k = arena_alloc(&s->arena, sizeof(*k));
	if (!k)
		return NULL;
	*k = key;
	k->symbol.size = size;
	k->symbol.number = (uint32_t)s->known.n;
	if (raw) {
		k->raw = arena_string(&s->arena, raw);
		k->symbol.name = k->raw ? demangle(&s->arena, k->raw) : NULL;
		if (!k->symbol.name)
			return NULL;
	}
	return item_table_add(&s->known, hash, k) == 0 ? &k->symbol : NULL;
}

static int added_order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The recording names every function it sampled: an address belongs to the last one before it. */
static struct entry *object_find_added(struct object *o, uint64_t offset)
{
	size_t upto;

	if (!o->sorted && o->nadded)
		qsort(o->added, o->nadded, sizeof(*o->added), added_order);
	o->sorted = true;
	upto = array_upto(o->added, o->nadded, start, offset);
	return upto ? &o->added[upto - 1] : NULL;
}

/* A name from the image's own tables; *start: the offset of the function. */
static struct entry *object_find_named(struct object *o, uint64_t offset, uint64_t *start)
{
	struct entry *e;
	uint64_t address;

	object_open(o);
	if (!object_address(o, offset, &address))
		return NULL;
	e = o->kind == OBJECT_JIT ? jit_find(o, address) :
				    entries_find(&o->names, address + o->bias);
	if (e)
		object_offset(o, e->start - o->bias, start);
	return e;
}

/* NULL: no table has it. */
static const struct symbol *object_symbol(struct object *o, uint64_t offset)
{
	struct entry *e = object_find_added(o, offset);
	uint64_t start = e ? e->start : 0;

	if (o->kind == OBJECT_PYTHON)
		return python_symbol(o, offset);
	if (!e)
		e = object_find_named(o, offset, &start);
	if (e && !e->symbol)
		e->symbol = symbols_get(o->symbols, &o->image, e->name, start, e->size, false);
	return e ? e->symbol : NULL;
}

/* --- answers ----------------------------------------------------------------------------- */

static bool answer_is(const void *item, const void *key)
{
	const struct answer *a = item;
	const struct place *b = key;

	return a->place.offset == b->offset && a->place.image == b->image &&
	       a->place.call == b->call && a->place.cut == b->cut;
}

/* JIT compilers append to their map after the code has run: look again. */
static bool answer_is_outdated(const struct answer *a)
{
	struct object *o = (struct object *)a->place.image;

	return o && o->kind == OBJECT_JIT && a->function && !a->function->name && jit_refresh(o);
}

static struct answer *symbols_answer(struct symbols *s, const struct place *place)
{
	uint64_t hash = index_mix((uintptr_t)place->image + place->call, place->offset);
	struct answer *a = item_table_find(&s->answers, hash, answer_is, place);
	const struct object *o = (const struct object *)place->image;

	if (!a) {
		a = arena_alloc(&s->arena, sizeof(*a));
		if (!a || item_table_add(&s->answers, hash, a) != 0)
			return NULL;
		a->place = *place;
	} else if ((o && a->generation != o->generation) || answer_is_outdated(a)) {
		a->function = NULL;
		a->frames = NULL;
	}
	a->generation = o ? o->generation : 0;
	return a;
}

/* The offset to look up: a return address may already belong to the next function. */
static uint64_t place_position(const struct place *place)
{
	return place->offset - (place->call && place->offset);
}

/* The debug information of an address, if it is to be used. */
static size_t place_debug_frames(struct symbols *s, const struct place *place,
				 struct dwarf_frame frames[static FRAMES_MAX])
{
	struct object *o = (struct object *)place->image;
	uint64_t address;

	if (s->config.no_names || s->config.no_inlines || !dwarf_open(o) ||
	    !object_address(o, place_position(place), &address))
		return 0;
	return dwarf_frames(o, address, frames, FRAMES_MAX);
}

static const struct symbol *frame_symbol(struct object *o, const struct dwarf_frame *frame)
{
	uint64_t start = frame->start;

	if (!frame->inlined)
		object_offset(o, frame->start, &start);
	return symbols_get(o->symbols, &o->image, frame->name ? frame->name : "(inlined)",
			   frame->inlined ? 0 : start, frame->size, frame->inlined);
}

static const struct symbol *place_function(struct symbols *s, const struct place *place)
{
	struct object *o = (struct object *)place->image;
	struct dwarf_frame frames[FRAMES_MAX];
	const struct symbol *symbol = NULL;
	char room[CHAIN_FRAME_MAX];
	size_t n;

	if (place->cut)
		return symbols_get(s, NULL, chain_end_frame((uint32_t)place->offset, room),
				   place->offset, 0, false);
	if (o && !s->config.no_names) {
		symbol = object_symbol(o, place_position(place));
		n = symbol ? 0 : place_debug_frames(s, place, frames);
		if (n && frames[n - 1].name)
			symbol = frame_symbol(o, &frames[n - 1]);
	}
	return symbol ? symbol : symbols_get(s, place->image, NULL, place->offset, 0, false);
}

static const struct symbol *answer_function(struct symbols *s, struct answer *a)
{
	if (!a->function) {
		a->function = place_function(s, &a->place);
		/* A map that was read again. */
		if (a->place.image)
			a->generation = ((struct object *)a->place.image)->generation;
	}
	return a->function;
}

const struct symbol *symbols_function(struct symbols *s, const struct place *place)
{
	struct answer *a = symbols_answer(s, place);

	return a ? answer_function(s, a) : NULL;
}

/* The last frame is the symbol table's function, even if the debug information differs. */
static int answer_frames(struct symbols *s, struct answer *a)
{
	struct dwarf_frame found[FRAMES_MAX];
	struct object *o = (struct object *)a->place.image;
	size_t n = o ? place_debug_frames(s, &a->place, found) : 0;
	struct frame *frames = arena_alloc(&s->arena, (n ? n : 1) * sizeof(*frames));
	size_t last = n ? n - 1 : 0;

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		frames[i] = (struct frame){ NULL, found[i].file, found[i].line };
		if (i == last)
			break;
		frames[i].symbol = frame_symbol(o, &found[i]);
		if (!frames[i].symbol)
			return -ENOMEM;
	}
	frames[last].symbol = answer_function(s, a);
	if (!frames[last].symbol)
		return -ENOMEM;
	if (o && o->kind == OBJECT_PYTHON && !s->config.no_names)
		python_line(o, a->place.offset, &frames[last]);
	a->frames = frames;
	a->n = last + 1;
	return 0;
}

const struct frame *symbols_frames(struct symbols *s, const struct place *place, size_t *n)
{
	struct answer *a = symbols_answer(s, place);

	if (!a || (!a->frames && answer_frames(s, a) != 0))
		return NULL;
	*n = a->n;
	return a->frames;
}

const char *symbol_text(const struct symbol *symbol, char room[static 24])
{
	uint64_t address = symbol->start;

	if (symbol->name && *symbol->name)
		return symbol->name;
	if (symbol->image)
		object_address((const struct object *)symbol->image, symbol->start, &address);
	snprintf(room, 24, "0x%" PRIx64, address);
	return room;
}
