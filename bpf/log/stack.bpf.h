/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies a stack whose walk has come to a file without a table: the table is built now, and the
 * daemon completes the chain.  So many copies are made for a file, and none into a ring that is
 * half full: samples without one are as good as before.
 */
#ifndef PMCBPF_STACK_BPF_H
#define PMCBPF_STACK_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/unwind/walk.bpf.h"
#include "ring.bpf.h"

#define STACK_PAGE  4096u
#define STACK_ROOM  (UNWIND_MAPPINGS * sizeof(struct unwind_mapping) + ABI_STACK_PAGES * STACK_PAGE)

struct stack_scratch {
	struct abi_rec rec;
	struct abi_stack s;
	u8 data[STACK_ROOM + STACK_PAGE];
};

struct stack_copy {
	struct stack_scratch *to;
	u64 begin, at;
	u32 n;				/* bytes of `data` so far */
};

/*
 * Up to the end of a page, because the next one may not be there.  The first ones are not if the
 * thread was about to touch them for the first time.
 */
static long stack_page(u32 i, struct stack_copy *c)
{
	u32 bytes = STACK_PAGE - (c->at & (STACK_PAGE - 1)), n = c->n;

	if (n > STACK_ROOM || bytes > STACK_PAGE)
		return 1;
	if (bpf_probe_read_user(c->to->data + n, bytes, (void *)c->at)) {
		if (c->at != c->begin)
			return 1;
		c->at += bytes;
		c->begin = c->at;
		return 0;
	}
	c->n = n + bytes;
	c->at += bytes;
	return 0;
}

/* False: the file has had its copies, or is none whose table may come. */
static __always_inline bool stack_is_wanted(u32 file)
{
	struct unwind_file *f = bpf_map_lookup_elem(&unwind_files, &file);

	return file >= UNWIND_FILE_FIRST && f && f->state <= UNWIND_FILE_READY &&
	       f->copies < UNWIND_COPIES && __sync_fetch_and_add(&f->copies, 1) < UNWIND_COPIES;
}

/*
 * Puts what it takes to go on with a walk into the ring, for `room` more callers; right before its
 * sample.  False: it does not.
 */
static __always_inline bool stack_put(void *ring, const struct abi_rec *rec, const struct walk *w,
				      u32 room, struct stack_scratch *to)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32, n;
	struct unwind_process *p = bpf_map_lookup_elem(&unwind_processes, &tgid);
	struct stack_copy c = { .to = to, .begin = w->r.sp, .at = w->r.sp };

	if (!p || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) * 2 >
		  bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) || !stack_is_wanted(w->file))
		return false;
	n = p->n;
	if (n > UNWIND_MAPPINGS)
		return false;
	c.n = n * sizeof(struct unwind_mapping);
	bpf_probe_read_kernel(to->data, c.n, p->map);
	if (*(volatile u32 *)&p->gen != w->gen)
		return false;
	bpf_loop(ABI_STACK_PAGES + 1, stack_page, &c, 0);
	to->rec = *rec;
	to->rec.kind = ABI_REC_STACK;
	__builtin_memcpy(to->s.reg, w->reg, sizeof(w->reg));
	to->s.regs = w->r;
	/* A callee has saved it, in memory that is not copied. */
	if (w->r.bx_known && w->r.bx_at) {
		to->s.regs.bx_known = !bpf_probe_read_user(&to->s.reg[UNWIND_BX], 8,
							   (void *)w->r.bx_at);
		to->s.regs.bx_at = 0;
	}
	to->s.file = w->file;
	to->s.room = room;
	to->s.mappings = n;
	to->s.begin = c.begin;
	to->s.bytes = (c.n - n * sizeof(struct unwind_mapping)) & ~7u;
	n = c.n & ~7u;
	if (n > STACK_ROOM + STACK_PAGE)
		return false;
	to->rec.n = (sizeof(to->s) + n) / 8;
	return ring_output(ring, to, sizeof(to->rec) + sizeof(to->s) + n);
}

#endif
