/* SPDX-License-Identifier: BSD-2-Clause */
/* The walk of bpf/unwind/frame.bpf.h over a copy. */
#include <string.h>

#include "stack_walk.h"
#include "unwinder.h"

struct walk;
static int copy_read(const struct walk *w, void *to, size_t n, uint64_t address);
static int copy_register(const struct walk *w, unsigned int number, __u64 *to);
static struct unwind_file *copy_file(const struct walk *w, uint32_t file);
static const uint32_t *copy_words(const struct walk *w, uint32_t chunk);

#ifdef __aarch64__
#define WALK_ARM64 1
#else
#define WALK_ARM64 0
#endif
#define WALK_REGS			    ABI_STACK_REGS
#define UNWIND_READ(arg, to, size, address) copy_read(arg, to, size, address)
#define UNWIND_REGISTER(arg, number, to)    copy_register(arg, (unsigned int)(number), to)
#define UNWIND_FILE(arg, number) copy_file(arg, number)
#define UNWIND_WORDS(arg, chunk) copy_words(arg, chunk)
#define UNWIND_ROW_MASK		 (UNWIND_CHUNK_WORDS - 1)
#include "bpf/unwind/frame.bpf.h"

_Static_assert(STACK_WALK_CHAIN == WALK_ROOM, "the walk's room");

struct copy {
	struct walk w;			/* first: it is the walk's argument */
	struct unwind_process process;
	const struct unwinder *u;
	const uint8_t *stack;
	uint64_t begin, size;
	bool short_of;			/* the copy ends too early */
};

static int copy_read(const struct walk *w, void *to, size_t n, uint64_t address)
{
	struct copy *c = (struct copy *)w;
	const uint64_t at = address - c->begin;

	if (address < c->begin || at > c->size || n > c->size - at) {
		c->short_of = true;
		return -1;
	}
	memcpy(to, c->stack + at, n);
	return 0;
}

static int copy_register(const struct walk *w, unsigned int number, __u64 *to)
{
	if (number >= WALK_REGS)
		return -1;
	*to = w->reg[number];
	return 0;
}

static struct unwind_file *copy_file(const struct walk *w, uint32_t file)
{
	return unwinder_file(((const struct copy *)w)->u, file);
}

static const uint32_t *copy_words(const struct walk *w, uint32_t chunk)
{
	return unwinder_words(((const struct copy *)w)->u, chunk);
}

bool stack_walk_check(const struct abi_stack *s, size_t words)
{
	const size_t head = sizeof(*s) / 8, maps = sizeof(struct unwind_mapping) / 8;

	return words >= head && words <= STACK_WALK_WORDS && s->mappings <= UNWIND_MAPPINGS &&
	       s->bytes % 8 == 0 && words == head + s->mappings * maps + s->bytes / 8;
}

static void copy_begin(struct copy *c, const struct unwinder *u, const struct abi_stack *s)
{
	const uint8_t *behind = (const uint8_t *)(s + 1);
	const size_t maps = s->mappings * sizeof(struct unwind_mapping);

	memset(c, 0, offsetof(struct copy, process.map));
	memcpy(c->w.reg, s->reg, sizeof(c->w.reg));
	c->w.r = s->regs;
	memcpy(c->process.map, behind, maps);
	c->process.n = s->mappings;
	c->u = u;
	c->stack = behind + maps;
	c->begin = s->begin;
	c->size = s->bytes;
	c->short_of = false;
}

bool stack_walk_go(const struct unwinder *u, struct stack_walk *sw)
{
	struct walk_pointers p;
	struct abi_stack *s = sw->s;
	struct copy c;
	uint64_t last;

	if (!sw->n || sw->n > STACK_WALK_CHAIN)
		return true;
	copy_begin(&c, u, s);
	/* The frame at which it ended is there, and its address may be better known. */
	c.w.n = sw->n - 1;
	last = sw->to[c.w.n];
	c.w.room = c.w.n + 1 + (s->room < STACK_WALK_CHAIN ? s->room : STACK_WALK_CHAIN);
	p = (struct walk_pointers){ .w = &c.w, .process = &c.process, .to = (__u64 *)sw->to };
	while (!walk_frame(0, &p))
		;
	sw->to[sw->n - 1] = last;
	if (sw->sp)
		memcpy(sw->sp, c.w.sp + sw->n - 1, (c.w.n - sw->n + 1) * sizeof(c.w.sp[0]));
	s->room -= c.w.n - sw->n;
	s->regs = c.w.r;
	s->file = c.w.file;
	sw->n = c.w.n;
	sw->pointers |= c.w.pointers != 0;
	sw->end = c.w.end;
	if (c.short_of && (sw->end == UNWIND_CUT_STACK || sw->end == UNWIND_CUT_REGISTER))
		sw->end = UNWIND_CUT_TABLE;
	else if (sw->end == UNWIND_CUT_TABLE && unwinder_builds(u, s->file))
		return false;
	return true;
}
