/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A copy of a piece of the stack.  A call of the helper that reads memory costs more than the bytes
 * that it copies, and the words of the next frames are above a frame's.  Before the include, the
 * user defines UNWIND_READ: see unwind.bpf.h.
 */
#ifndef PMCBPF_WINDOW_BPF_H
#define PMCBPF_WINDOW_BPF_H

#define WINDOW_WORDS 32

/* A copy of zeros is empty. */
struct window {
	__u64 at;
	__u32 room, reserved;		/* bytes, or 0 */
	__u64 word[WINDOW_WORDS];
};

/* Reads a word.  At the end of a stack there is no room for a whole copy: then this word alone. */
static inline __attribute__((always_inline)) long window_read(struct window *w, __u64 *to,
							       __u64 address, void *arg)
{
	__u64 at = address - w->at;

	if (at >= w->room || at % sizeof(w->word[0])) {
		w->room = 0;
		if (UNWIND_READ(arg, w->word, sizeof(w->word), address))
			return UNWIND_READ(arg, to, sizeof(*to), address);
		w->at = address;
		w->room = sizeof(w->word);
		at = 0;
	}
	*to = w->word[at / sizeof(w->word[0]) & (WINDOW_WORDS - 1)];
	return 0;
}

#endif
