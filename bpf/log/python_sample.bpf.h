/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Takes the Python frames of a sample whose chain has led through an interpreter.  They go into the
 * ring right before the sample, and the daemon puts each behind the native frame that runs it.  The
 * first time that a code object is met it goes there, too, with the memory that names it: the
 * daemon reads no memory of a process, which could make it wait.
 */
#ifndef PMCBPF_PYTHON_SAMPLE_BPF_H
#define PMCBPF_PYTHON_SAMPLE_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define PYTHON_READ(arg, to, size, address) bpf_probe_read_user(to, size, (void *)(address))
#include "bpf/python/python.bpf.h"
#include "bpf/unwind/walk.bpf.h"
#include "number.bpf.h"
#include "ring.bpf.h"

#define PYTHON_THREADS	 1024		/* that the search looks at */
#define PYTHON_SENT	 65536u		/* bytes of code objects for one sample, and one more */
#define PYTHON_FRAME_U64 (sizeof(struct python_frame) / 8)
#define PYTHON_ROOM	 (ABI_PYTHON_FRAMES * PYTHON_FRAME_U64)	/* words of frames */
#define CODE_ROOM	 (2 * ABI_CODE_TEXT + ABI_CODE_TABLE)

struct python_scratch {
	struct python_process process;
	struct python_search search;
	struct python_walk walk;
	u32 n;				/* frames so far */
	u32 sent;			/* bytes of code objects, for this sample */
	s32 end;
	struct abi_rec rec;
	struct abi_python head;
	u64 data[PYTHON_ROOM + WALK_ROOM];
};
struct code_scratch {
	struct abi_rec rec;
	struct abi_code c;
	u8 data[CODE_ROOM + ABI_CODE_TABLE];
	u32 n;				/* bytes of `data` so far */
};

struct codes_sent_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct abi_code_key);
	__type(value, u32);
};
extern struct codes_sent_map codes_sent SEC(".maps");

/* --- code objects ----------------------------------------------------------------------------- */

/* Appends memory of the process. */
static __always_inline void code_block(struct code_scratch *s, enum abi_code_block block,
				       u64 address, u64 bytes, u64 most)
{
	u32 n = s->n;

	s->c.block[block].address = address;
	s->c.block[block].bytes = 0;
	barrier_var(bytes);
	if (!bytes || bytes > most || bytes > ABI_CODE_TABLE || n > CODE_ROOM)
		return;
	*(u64 *)(s->data + ((n + bytes) & ~7ull)) = 0;
	if (bpf_probe_read_user(s->data + n, bytes, (void *)address))
		return;
	s->c.block[block].bytes = bytes;
	s->n = (n + bytes + 7) & ~7u;
}

/* A text with its head: the number of its characters, and how they are kept. */
static __always_inline void code_text(struct code_scratch *s, enum abi_code_block block,
				      u64 address)
{
	const struct python_layout *l = &s->c.process.layout;
	u64 length = 0;
	u32 state = 0;

	bpf_probe_read_user(&length, 8, (void *)(address + l->text_length));
	bpf_probe_read_user(&state, 4, (void *)(address + l->text_state));
	if (length > ABI_CODE_TEXT)
		length = ABI_CODE_TEXT;
	code_block(s, block, address, PYTHON_TEXT_BYTES(l, state, length), ABI_CODE_TEXT);
}

static __always_inline void code_lines(struct code_scratch *s, u64 address)
{
	const struct python_layout *l = &s->c.process.layout;
	u64 size = 0;

	bpf_probe_read_user(&size, 8, (void *)(address + l->bytes_size));
	if (size > ABI_CODE_TABLE)
		size = 0;
	code_block(s, ABI_CODE_LINES, address, l->bytes_data + size, ABI_CODE_TABLE);
}

/* Sends a code object that has not been sent.  It is sent another time if there is no room now. */
static __always_inline void code_put(struct python_scratch *p, struct code_scratch *s, void *ring,
				     const struct python_frame *f)
{
	const struct abi_code_key key = { p->head.program, f->identity };
	const struct python_layout *l = &s->c.process.layout;
	u32 one = 1, bytes;

	if (bpf_map_lookup_elem(&codes_sent, &key) || p->sent > PYTHON_SENT ||
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) * 2 >
		    bpf_ringbuf_query(ring, BPF_RB_RING_SIZE))
		return;
	s->rec = p->rec;
	s->rec.kind = ABI_REC_CODE;
	s->c.program = key.program;
	s->c.identity = key.identity;
	s->c.address = f->code;
	s->c.process = p->process;
	if (bpf_probe_read_user(s->c.word, PYTHON_CODE_WORDS * 8, (void *)f->code))
		return;
	s->n = 0;
	code_text(s, ABI_CODE_NAME, s->c.word[l->code_qualname / 8 % PYTHON_WORDS]);
	code_text(s, ABI_CODE_FILE, s->c.word[l->code_filename / 8 % PYTHON_WORDS]);
	code_lines(s, s->c.word[l->code_lines / 8 % PYTHON_WORDS]);
	bytes = s->n;
	if (bytes > CODE_ROOM)
		return;
	s->rec.n = (sizeof(s->c) + bytes) / 8;
	p->sent += bytes;
	if (ring_output(ring, s, sizeof(s->rec) + sizeof(s->c) + bytes))
		bpf_map_update_elem(&codes_sent, &key, &one, BPF_ANY);
}

/* --- frames ----------------------------------------------------------------------------------- */

struct python_pointers {
	struct python_scratch *s;
	struct code_scratch *code;
	void *ring;
};

static long python_search_next(u32 i, struct python_pointers *p)
{
	p->s->end = python_search_step(&p->s->search, &p->s->process, NULL);
	return p->s->end != PYTHON_GO;
}

static long python_walk_next(u32 i, struct python_pointers *p)
{
	struct python_scratch *s = p->s;
	u32 n = s->n;

	if (n >= ABI_PYTHON_FRAMES)
		return 1;
	s->end = python_walk_step(&s->walk, &s->process,
				  (struct python_frame *)(s->data + n * PYTHON_FRAME_U64), NULL);
	if (s->end != PYTHON_GO)
		return 1;
	s->n = n + 1;
	return 0;
}

static long python_code_next(u32 i, struct python_pointers *p)
{
	const struct python_frame *f;

	if (i >= p->s->n || i >= ABI_PYTHON_FRAMES)
		return 1;
	f = (void *)(p->s->data + i * PYTHON_FRAME_U64);
	if (f->code)
		code_put(p->s, p->code, p->ring, f);
	return 0;
}

struct python_finder {
	struct walk *w;
	struct unwind_process *process;
};

/* Notes the interpreter if mapping i has one, and ends the loop. */
static long python_find_next(u32 i, struct python_finder *p)
{
	const struct unwind_mapping *m;
	struct unwind_file *f;
	u32 file;

	if (i >= UNWIND_MAPPINGS || i >= p->process->n)
		return 1;
	m = &p->process->map[i];
	file = m->file;
	f = bpf_map_lookup_elem(&unwind_files, &file);
	if (!f || !f->python || f->gen & 1 || !walk_segment(p->w, f, m->start - m->origin))
		return 0;
	walk_python(p->w, file, f, m->origin);
	return 1;
}

/* For a walk that has not come to the interpreter: the process may have mapped one. */
static __always_inline void python_find(struct walk *w)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct python_finder p = { w, bpf_map_lookup_elem(&unwind_processes, &tgid) };

	if (!p.process)
		return;
	bpf_loop(UNWIND_MAPPINGS, python_find_next, &p, 0);
	if (*(volatile u32 *)&p.process->gen != w->gen)
		w->python = 0;
}

/* The interpreter's description, with addresses of the process. */
static __always_inline bool python_process_take(struct python_process *to, const struct walk *w)
{
	u32 file = w->python, at;
	struct unwind_file *f = bpf_map_lookup_elem(&unwind_files, &file);
	const u32 *words = f ? chunk_words(f->chunk) : NULL;

	if (!words)
		return false;
	at = f->python;
	if (!at || at > UNWIND_CHUNK_WORDS - sizeof(*to) / 4)
		return false;
	bpf_probe_read_kernel(to, sizeof(*to), words + at);
	if (*(volatile u32 *)&f->gen != w->python_gen)
		return false;
	python_process_move(to, w->python_bias);
	return true;
}

/* A number of the process and its program: code objects of others have other identities. */
static __always_inline u64 python_program(struct task_struct *task)
{
	u64 hash = python_hash_add(BPF_CORE_READ(task, group_leader, start_time), task->tgid);

	return python_hash_add(hash, task->self_exec_id);
}

static __always_inline void python_frames(struct python_pointers *p, struct task_struct *task)
{
	struct python_scratch *s = p->s;

	s->end = python_search_begin(&s->search, &s->process, task_thread_innermost(task), NULL);
	if (s->end == PYTHON_GO)
		bpf_loop(PYTHON_THREADS, python_search_next, p, 0);
	if (s->end != PYTHON_END)
		return;
	s->end = python_walk_begin(&s->walk, &s->process, s->search.found, NULL);
	if (s->end == PYTHON_GO)
		bpf_loop(ABI_PYTHON_FRAMES, python_walk_next, p, 0);
}

/*
 * Takes the current thread's Python frames; `w` has its native chain, which the daemon may go on
 * with.  Sends their code objects, unless they have been sent, in records that begin as `rec` does.
 * False: there are no frames.
 */
static __always_inline bool python_take(struct python_scratch *s, struct code_scratch *code,
					void *ring, struct walk *w, const struct abi_rec *rec)
{
	struct python_pointers p = { .s = s, .code = code, .ring = ring };
	struct task_struct *task = bpf_get_current_task_btf();

	s->n = 0;
	if (!w->python)
		python_find(w);
	if (!w->python || !python_process_take(&s->process, w))
		return false;
	python_frames(&p, task);
	if (!s->n)
		return false;
	s->rec = *rec;
	s->head.program = python_program(task);
	s->sent = 0;
	bpf_loop(ABI_PYTHON_FRAMES, python_code_next, &p, 0);
	return true;
}

/* Behind the frames: the stack pointers of n native ones. */
static __always_inline u32 python_pointers_put(struct python_scratch *s, const struct walk *w,
					       u32 n)
{
	u32 at = s->n * PYTHON_FRAME_U64, first = w->first;

	barrier_var(at);
	barrier_var(n);
	if (first >= WALK_ROOM || at > PYTHON_ROOM || n > WALK_ROOM - 1)
		return 0;
	if (first + n > WALK_ROOM)
		return 0;
	bpf_probe_read_kernel(s->data + at, n * 8, w->sp + first);
	return n;
}

/*
 * Right before the record of a sample, `rec`: the frames that python_take() has taken, for its n
 * addresses from `first` on.  False: the ring has no room.
 */
static __always_inline bool python_output(struct python_scratch *s, void *ring,
					  const struct walk *w, const struct abi_rec *rec,
					  u32 first, u32 n)
{
	s->rec = *rec;
	s->rec.kind = ABI_REC_PYTHON;
	s->head.frames = s->n;
	s->head.end = s->end;
	s->head.first = first;
	s->head.pointers = python_pointers_put(s, w, n);
	n = sizeof(s->head) / 8 + s->n * PYTHON_FRAME_U64 + s->head.pointers;
	if (n > (sizeof(s->head) + sizeof(s->data)) / 8)
		return true;
	s->rec.n = n;
	return ring_output(ring, &s->rec, sizeof(s->rec) + n * 8);
}

/* Both, for a sample with all addresses of the walk.  False: the ring has no room. */
static __always_inline bool python_put(struct python_scratch *s, struct code_scratch *code,
				       struct walk *w, const struct abi_rec *rec)
{
	u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (!s || !code || !w || !rec || !ring)
		return true;
	return !python_take(s, code, ring, w, rec) ||
	       python_output(s, ring, w, rec, w->first, w->n - w->first);
}

#endif
