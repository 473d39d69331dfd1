/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where CPython 3.11 to 3.13 keeps what a walk over its frames reads.
 *
 * A thread has a state (PyThreadState), found by the thread's number in the lists of threads of the
 * process's interpreters.  The state leads to the innermost frame, and each frame to the one that
 * called it.  One call of the interpreter's loop, a function in C, runs several frames: a Python
 * function that calls another one does not call the loop again.  In the stack frame of each such
 * call is an object of the interpreter's, by whose address the call is recognised:
 *
 *	3.11	a _PyCFrame; the frame with which the call began is marked (is_entry)
 *	3.12	a _PyCFrame, and a frame without code (FRAME_OWNED_BY_CSTACK) behind the last one
 *	3.13	such a frame
 */
#ifndef PMCBPF_PYTHON_ABI_H
#define PMCBPF_PYTHON_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define PYTHON_FRAME_WORDS 9u		/* of a frame: the part that is read */
#define PYTHON_CODE_WORDS  18u		/* … of a code object */
#define PYTHON_WORDS	   32u		/* room for either: a power of two, for the verifier */
#define PYTHON_NONE	   0xffffffffu	/* an offset: this version has no such member */

/* Offsets are in bytes; those of frames and code objects are within the parts above. */
struct python_layout {
	__u32 version;			/* 0x030b: 3.11 */
	__u32 interpreters;		/* of _PyRuntime: the first interpreter */
	__u32 interpreter_next, interpreter_threads;
	__u32 thread_next, thread_interpreter, thread_id;
	__u32 thread_frame;		/* the innermost frame; if there are loops, the loop */
	__u32 loop_frame, loop_previous;	/* of a _PyCFrame; or PYTHON_NONE */
	__u32 frame_code, frame_previous, frame_instruction;
	__u32 frame_entry;		/* a byte, which has this value in … */
	__u32 entry_value;
	__u32 entry_has_code;		/* … the first frame of a call of the loop, or behind it */
	__u32 type;			/* of any object */
	__u32 code_first_line, code_filename, code_qualname, code_lines, code_bytes;
	__u32 bytes_size, bytes_data;
	__u32 text_length, text_hash, text_state, text_ascii, text_other;
	__u32 reserved;
};

/*
 * Bytes of a text with its head: one of 1, 2 or 4 bytes a character, by bits 2 to 4 of its state;
 * bit 6: they are ASCII, behind a shorter head.
 */
#define PYTHON_TEXT_BYTES(l, state, length) \
	((__u64)(length) * ((state) >> 2 & 7) + \
	 ((state) >> 6 & 1 ? (l)->text_ascii : (l)->text_other))

/* A process's interpreter: addresses in its memory. */
struct python_process {
	__u64 runtime;			/* _PyRuntime */
	__u64 code_type, text_type, bytes_type;
	struct python_layout layout;
};

/* Adds the difference between an interpreter's addresses in its file and in the process. */
static inline void python_process_move(struct python_process *p, __u64 bias)
{
	p->runtime += bias;
	p->code_type += bias;
	p->text_type += bias;
	p->bytes_type += bias;
}

/* Results of a walk's steps. */
enum python_step {
	PYTHON_GO,			/* there may be more */
	PYTHON_END,			/* all frames have been taken */
	PYTHON_NO_THREAD,		/* the thread has no state: it runs no Python code */
	PYTHON_CUT_THREADS,		/* it has several: one of several interpreters is meant */
	PYTHON_CUT_MEMORY,		/* memory could not be read */
	PYTHON_CUT_CHANGING,		/* frames and loops do not agree: a call began just now */
	PYTHON_CUT_CODE,		/* a frame has no code object */
	PYTHON_STEPS
};

/*
 * What a step has found: a frame, if `code` is not 0; and that a call of the loop ends behind it,
 * if `loop` is not 0: an address in the stack frame of that call.
 */
struct python_frame {
	__u64 code;			/* address of the code object … */
	__u64 identity;			/* … and a hash of its contents: code objects are freed */
	__s64 instruction;		/* bytes from its first one; negative: before it */
	__u64 loop;
};

_Static_assert(sizeof(struct python_layout) == 120, "abi");

#endif
