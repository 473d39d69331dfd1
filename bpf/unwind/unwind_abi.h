/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tables for unwinding: a file's call frame information (.eh_frame), compiled.
 *
 * A table covers the file's code in pages of 64 KB.  Each page has rows, sorted by address: a row
 * is 4 bytes, the low 16 bits of the address from which it holds, and the number of a rule.  A page
 * with rows begins with one for offset 0, so that a search stays in its page; a page without rows
 * has no rule.  A rule says how the caller's registers are found from those of a frame: first the
 * CFA (the caller's stack pointer), then the return address, the caller's frame pointer and, on
 * x86-64, its RBX: the dynamic linker finds the frame of a function's first call by it.
 *
 * Registers have the numbers of DWARF.  Addresses are those of the file's program headers.
 */
#ifndef PMCBPF_UNWIND_ABI_H
#define PMCBPF_UNWIND_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define UNWIND_PAGE_SHIFT 16
#define UNWIND_PAGE_SIZE  (1u << UNWIND_PAGE_SHIFT)
#define UNWIND_UNIT	  8		/* of unwind_rule.ra_at and fp_at, in bytes */

enum unwind_cfa {
	UNWIND_NONE,			/* no call frame information: rule 0 */
	UNWIND_BAD,			/* … of a form that no rule expresses: rule 1 */
	UNWIND_END,			/* the outermost frame: there is no caller */
	UNWIND_SIGNAL,			/* a signal handler returns here, to saved registers */
	UNWIND_SP,			/* CFA = SP + offset */
	UNWIND_FP,			/* CFA = FP + offset */
	UNWIND_REG,			/* CFA = reg + offset; if the register is known */
	UNWIND_SP_LOAD,			/* CFA = *(SP + offset) + add */
	UNWIND_FP_LOAD,			/* CFA = *(FP + offset) + add */
	UNWIND_PLT,			/* CFA = SP + offset + ((PC & 15) >= reg ? add : 0) */
	UNWIND_CFA_KINDS
};

/* Where the return address and the caller's frame pointer are. */
enum unwind_place {
	UNWIND_SAME,			/* FP: unchanged; return address: in LR (arm64) */
	UNWIND_AT_CFA,			/* at CFA + ra_at or fp_at units */
	UNWIND_AT_FP,			/* FP: at FP + fp_at units */
	UNWIND_AT_SP,			/* FP: at SP + fp_at units */
	UNWIND_IN_REG,			/* return address: in register ra_at, if those are known */
	UNWIND_UNKNOWN,			/* FP: lost */
	UNWIND_PLACES
};

#define UNWIND_BX      3		/* RBX's number */
#define UNWIND_BX_LOST (-128)		/* of bx_at */

struct unwind_rule {
	__u8 cfa;			/* enum unwind_cfa */
	__u8 reg;			/* REG: the register; PLT: the threshold */
	__u8 ra : 4, fp : 4;		/* enum unwind_place */
	__s8 bx_at;			/* RBX: at CFA + bx_at units; 0: unchanged */
	__s32 offset, add;
	__s16 ra_at, fp_at;
};

/* The registers of a frame, as a walk knows them. */
struct unwind_regs {
	__u64 pc, sp, fp, lr;
	__u64 mask;			/* arm64: the bits of an address that are no signature */
	__u8 exact;			/* the PC is not a return address */
	__u8 first;			/* the thread's own registers, all of which are known */
	__u8 fp_known, lr_known;
	__u8 bx_known;
	__u64 bx_at;			/* where RBX is; 0: it is the thread's own */
};

struct unwind_page {
	__u32 first, rows;		/* of the table's rows */
};

/* How a chain of callers ended: the numbers of enum pmc_chain_end in logs. */
enum unwind_cut {
	UNWIND_WHOLE = 1,		/* at the outermost frame */
	UNWIND_CUT_DEPTH,		/* at the limit of frames */
	UNWIND_CUT_PROCESS,		/* the process's mappings are not known */
	UNWIND_CUT_UNMAPPED,		/* the next address, left out, is outside of code */
	UNWIND_CUT_TABLE,		/* in a file whose table is not there (yet) */
	UNWIND_CUT_RULE,		/* in code without call frame information */
	UNWIND_CUT_FORM,		/* … with information that no rule expresses */
	UNWIND_CUT_STACK,		/* the stack could not be read */
	UNWIND_CUT_STUCK,		/* the caller's frame is not above its callee's */
	UNWIND_CUT_REGISTER,		/* at a rule that uses a register that is not known */
	UNWIND_CUT_CHANGING,		/* mappings or tables were changing */
	UNWIND_CUT_BITS32,		/* a 32-bit program */
	UNWIND_CUT_KERNEL,		/* at an address of the kernel's half */
	UNWIND_CUTS
};

#define UNWIND_RULE_NONE 0u
#define UNWIND_RULE_BAD	 1u

#define UNWIND_ROW(low, rule)  ((__u32)(low) | (__u32)(rule) << 16)
#define UNWIND_ROW_LOW(row)    ((row) & 0xffffu)
#define UNWIND_ROW_RULE(row)   ((row) >> 16)

/* --- in the kernel's memory ------------------------------------------------------------------- */

/*
 * Tables are published in chunks, arrays of words that the daemon maps.  A file's pages and rules
 * are in one chunk, the rows of a page in one as well.  A page is two words.
 */
#define UNWIND_CHUNK_WORDS 65536u
#define UNWIND_CHUNKS_MAX  1024u
#define UNWIND_PAGE_WORDS  2u
#define UNWIND_PAGE_ROWS(first, rows) ((__u32)(first) | ((__u32)(rows) - 1) << 16)
#define UNWIND_PAGE_FIRST(word)	      ((word) & 0xffffu)
#define UNWIND_PAGE_COUNT(word)	      (((word) >> 16) + 1)
/* The second word: 1 + the chunk; 0: the page has no rows. */

#define UNWIND_RULE_WORDS 4u

/* An executable segment: where its code is in the file, and what to add for its address. */
struct unwind_segment {
	__u64 offset, size;
	__u64 add;
};
#define UNWIND_SEGMENTS 4u

enum unwind_file_state {
	UNWIND_FILE_NEW,		/* no table yet: mappings of it are noted */
	UNWIND_FILE_ASKED,		/* the daemon works at it */
	UNWIND_FILE_READY,
	UNWIND_FILE_POINTERS,		/* it has no information: frame pointers are all there is */
	UNWIND_FILE_REFUSED,		/* it cannot be read: chains end in it … */
	UNWIND_FILE_NO_ROOM		/* … as if there were no table yet */
};

/*
 * A mapped file, by number.  The daemon changes it: `gen` is odd meanwhile, and readers that see
 * another value afterwards than before have read nothing of worth.
 */
struct unwind_file {
	__u32 gen;
	__u32 state;			/* enum unwind_file_state */
	__u32 used;			/* a walk has used it; the daemon clears it */
	__u32 npages;
	__u64 base;			/* address of the first page */
	__u32 chunk, pages, rules;	/* words in that chunk */
	__u32 nsegments;
	struct unwind_segment segment[UNWIND_SEGMENTS];
	__u32 copies;			/* of stacks, because it had no table */
	__u32 python;			/* words in that chunk: struct python_process, with the
					   file's addresses; 0: it is no interpreter */
};
#define UNWIND_COPIES	 256u		/* … until its state changes */
#define UNWIND_FILES	 8192u		/* numbers, a power of two */
#define UNWIND_FILE_NONE 0u		/* memory without a file */
#define UNWIND_FILE_VDSO 1u
#define UNWIND_FILE_LOST 2u		/* there was no number left */
#define UNWIND_FILE_FIRST 3u		/* of those that programs give to files */

/* A file's identity: its content has changed if its time has. */
struct unwind_key {
	__u64 inode;
	__u64 changed;			/* ctime, ns */
	__u32 device;			/* as the kernel numbers it */
	__u32 reserved;
};

/* An executable mapping. */
struct unwind_mapping {
	__u64 start;
	__u64 origin;			/* where the file's first byte would be */
	__u32 pages;			/* of 4096 bytes */
	__u32 file;
};
#define UNWIND_MAPPINGS 256u		/* of a process; a power of two */
#define UNWIND_MAPPING_SHIFT 12
#define UNWIND_STALE	1u		/* the daemon reads them again */
#define UNWIND_FULL	2u		/* there are more than have room */

/* A process, by its number in the initial PID namespace; mappings are sorted and do not overlap. */
struct unwind_process {
	__u32 gen;			/* odd while it changes */
	__u32 n;
	__u32 stale;			/* 0, or why mappings are missing */
	__u32 exec;			/* the program's number: self_exec_id */
	struct unwind_mapping map[UNWIND_MAPPINGS];
};

/* How often the mappings of some processes have changed, and begun to change. */
struct unwind_changes {
	__u32 begun, done;
};
#define UNWIND_CHANGES 1024u		/* a process's is its number modulo this */

/* A note to the daemon. */
enum unwind_note_kind {
	UNWIND_NOTE_FILE = 1,		/* a file without a table was mapped, at start to end */
	UNWIND_NOTE_PROCESS,		/* mappings of a process are not known */
};
struct unwind_note {
	__u32 kind;			/* enum unwind_note_kind */
	__u32 pid;			/* in the daemon's PID namespace */
	__u32 tgid;			/* in the initial one */
	__u32 file;
	__u64 start, end;
	struct unwind_key key;
};

_Static_assert(sizeof(struct unwind_rule) == 16, "abi");
_Static_assert(sizeof(struct unwind_rule) == UNWIND_RULE_WORDS * sizeof(__u32), "abi");
_Static_assert(sizeof(struct unwind_mapping) == 24, "abi");

#endif
