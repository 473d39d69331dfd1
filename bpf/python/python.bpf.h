/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Walks the Python frames of a thread (python_abi.h).  The functions are the same in BPF programs
 * and in user space; before the include, the user defines how the process's memory is read:
 *
 *	PYTHON_READ(arg, to, size, address)	0: all bytes have been read
 *
 * First python_search_begin(), and python_search_step() until it is not PYTHON_GO; then the same
 * with python_walk_begin() and python_walk_step().  The user bounds the number of steps, because
 * other threads change lists of threads meanwhile, and a program may have written anything.
 *
 * Frames are the thread's if the calls that run them are: the address of each call has to be in one
 * of the thread's native frames.  The search alone proves nothing: other threads make and free
 * states meanwhile, and one that is reused may have the number of a thread that has ended.
 *
 * The thread itself stands still: it has been interrupted, at any instruction.  While it enters the
 * loop, the new _PyCFrame is linked some instructions before it has its frame.  So a call of the
 * loop must end with the very frame at which its caller's call stands, or the walk ends there.
 */
#ifndef PMCBPF_PYTHON_BPF_H
#define PMCBPF_PYTHON_BPF_H

#include "python_abi.h"

/* The search for a thread's state. */
struct python_search {
	__u64 interpreter, thread;	/* to be looked at next; 0: none */
	__u64 found;
	__u64 id;			/* the thread's number in its innermost PID namespace */
};

struct python_walk {
	__u64 frame;			/* to be taken next; 0: none */
	__u64 loop;			/* the _PyCFrame of the call that runs it … */
	__u64 caller;			/* … and the frame at which its caller's call stands */
	__u64 word[PYTHON_WORDS];
};

static inline int python_search_begin(struct python_search *s, const struct python_process *p,
				      __u64 id, void *arg)
{
	s->id = id;
	s->found = s->thread = 0;
	if (PYTHON_READ(arg, &s->interpreter, 8, p->runtime + p->layout.interpreters))
		return PYTHON_CUT_MEMORY;
	if (s->interpreter && PYTHON_READ(arg, &s->thread, 8,
					  s->interpreter + p->layout.interpreter_threads))
		return PYTHON_CUT_MEMORY;
	return PYTHON_GO;
}

/* One thread of an interpreter, or the next interpreter; PYTHON_END: s->found is the state. */
static inline int python_search_step(struct python_search *s, const struct python_process *p,
				     void *arg)
{
	const struct python_layout *l = &p->layout;
	__u64 id = 0, owner = 0;

	if (!s->interpreter)
		return s->found ? PYTHON_END : PYTHON_NO_THREAD;
	if (!s->thread) {
		if (PYTHON_READ(arg, &s->interpreter, 8, s->interpreter + l->interpreter_next))
			return PYTHON_CUT_MEMORY;
		if (s->interpreter && PYTHON_READ(arg, &s->thread, 8,
						  s->interpreter + l->interpreter_threads))
			return PYTHON_CUT_MEMORY;
		return PYTHON_GO;
	}
	if (PYTHON_READ(arg, &id, 8, s->thread + l->thread_id) ||
	    PYTHON_READ(arg, &owner, 8, s->thread + l->thread_interpreter))
		return PYTHON_CUT_MEMORY;
	if (id == s->id && owner == s->interpreter) {
		if (s->found)
			return PYTHON_CUT_THREADS;
		s->found = s->thread;
	}
	return PYTHON_READ(arg, &s->thread, 8, s->thread + l->thread_next) ? PYTHON_CUT_MEMORY :
									     PYTHON_GO;
}

/* The frame at which the call before this one stands; there is none before the first. */
static inline int python_caller_read(struct python_walk *w, const struct python_layout *l,
				     void *arg)
{
	__u64 previous = 0;

	w->caller = 0;
	if (PYTHON_READ(arg, &previous, 8, w->loop + l->loop_previous) ||
	    (previous && PYTHON_READ(arg, &w->caller, 8, previous + l->loop_frame)))
		return PYTHON_CUT_MEMORY;
	return PYTHON_GO;
}

/* `thread`: python_search.found. */
static inline int python_walk_begin(struct python_walk *w, const struct python_process *p,
				    __u64 thread, void *arg)
{
	const struct python_layout *l = &p->layout;

	w->loop = w->caller = 0;
	if (PYTHON_READ(arg, &w->frame, 8, thread + l->thread_frame))
		return PYTHON_CUT_MEMORY;
	if (l->loop_frame == PYTHON_NONE)
		return PYTHON_GO;
	w->loop = w->frame;
	if (PYTHON_READ(arg, &w->frame, 8, w->loop + l->loop_frame))
		return PYTHON_CUT_MEMORY;
	return python_caller_read(w, l, arg);
}

static inline __u64 python_hash_add(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/*
 * A hash of what does not change in a code object, and of its name's text by the interpreter's own
 * hash.  `word` has room for PYTHON_WORDS; word 0 counts references, word 6 of 3.11 calls.  0: it
 * is no code object.
 */
static inline __u64 python_code_identity(const __u64 *word, const struct python_process *p,
					 void *arg)
{
	const __u64 name = word[p->layout.code_qualname / 8 % PYTHON_WORDS];
	__u64 hash = 0, text = 0;

	if (word[p->layout.type / 8 % PYTHON_WORDS] != p->code_type ||
	    PYTHON_READ(arg, &text, 8, name + p->layout.text_hash))
		return 0;
	for (int i = 1; i < (int)PYTHON_CODE_WORDS; i++)
		if (i != 6)
			hash = python_hash_add(hash, word[i]);
	return python_hash_add(hash, text) ?: 1;
}

static inline int python_code_take(struct python_walk *w, const struct python_process *p,
				   struct python_frame *out, __u64 code, __u64 instruction,
				   void *arg)
{
	if (PYTHON_READ(arg, w->word, PYTHON_CODE_WORDS * 8, code))
		return PYTHON_CUT_MEMORY;
	out->identity = python_code_identity(w->word, p, arg);
	if (!out->identity)
		return PYTHON_CUT_CODE;
	out->code = code;
	out->instruction = (__s64)(instruction - code - p->layout.code_bytes);
	return PYTHON_GO;
}

/* Takes a frame.  If the result is PYTHON_GO, it is in *out, whose parts may be 0. */
static inline int python_walk_step(struct python_walk *w, const struct python_process *p,
				   struct python_frame *out, void *arg)
{
	const struct python_layout *l = &p->layout;
	__u64 frame = w->frame, code, previous, instruction, entry;
	int step;

	out->code = out->identity = out->loop = 0;
	out->instruction = 0;
	if (!frame)
		return PYTHON_END;
	if (PYTHON_READ(arg, w->word, PYTHON_FRAME_WORDS * 8, frame))
		return PYTHON_CUT_MEMORY;
	code = w->word[l->frame_code / 8 % PYTHON_WORDS];
	previous = w->word[l->frame_previous / 8 % PYTHON_WORDS];
	instruction = w->word[l->frame_instruction / 8 % PYTHON_WORDS];
	entry = w->word[l->frame_entry / 8 % PYTHON_WORDS] >> l->frame_entry % 8 * 8 & 0xff;
	if (entry != l->entry_value || l->entry_has_code) {
		step = python_code_take(w, p, out, code, instruction, arg);
		if (step != PYTHON_GO)
			return step;
	}
	w->frame = previous;
	if (entry != l->entry_value)
		return PYTHON_GO;
	out->loop = l->entry_has_code ? w->loop : frame;
	if (l->loop_frame == PYTHON_NONE)
		return PYTHON_GO;
	if (previous != w->caller)
		return PYTHON_CUT_CHANGING;
	if (PYTHON_READ(arg, &w->loop, 8, w->loop + l->loop_previous))
		return PYTHON_CUT_MEMORY;
	return w->loop ? python_caller_read(w, l, arg) : PYTHON_GO;
}

#endif
