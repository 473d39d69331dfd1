/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The layout of trace rings in memory, a program's (libktr) or the kernel's (pmcbpfd): the contract
 * between their writers and readers.  A region consists of slots of 64 bytes: a header, a table of
 * formats (the kernel's only), and for each possible CPU a ring's head and its entries. ktr(4)
 * describes the facility; its page has the entry of eight machine words.
 *
 * A reader must treat every field as hostile: regions come from other processes, files and images.
 */
#ifndef _SYS_KTR_REGION_H_
#define _SYS_KTR_REGION_H_

#ifndef __bpf__
#include <stdint.h>
#endif

#define KTR_REGION_MAGIC	"KTRRGN1"	/* 8 bytes with its NUL, at the start of a page */
#define KTR_REGION_VERSION	1
#define KTR_REGION_PAGE		4096u
#define KTR_REGION_CPUS		1024u		/* most rings of a region */
#define KTR_REGION_ENTRIES	(1u << 24)	/* most entries of a ring: 1 GB */
#define KTR_ENTRY_SIZE		64u

/*
 * Entry number n (from 0, for ever) of a ring is in slot n & (entries - 1) and has the low 32 bits
 * of n + 1 in ktr_seq.  A writer that overwrites a slot changes ktr_seq first; without rseq, and in
 * the kernel, it advances the ring's head even before that, and ktr_seq is 0 until the entry is
 * complete.
 *
 * So a reader takes the head, then of each slot ktr_seq, the words and ktr_seq again, then the head
 * again.  An entry is whole if it is not older than (second head) - entries and its ktr_seq was n +
 * 1 both times.
 *
 * Words that a format does not use are not written: they keep the values of an older entry.
 */
struct ktr_entry {
	uint64_t ktr_time;	/* the region's clock */
	uint32_t ktr_seq;
	uint32_t ktr_tid;	/* the writing thread; the kernel's: in the initial pid namespace */
	/*
	 * A program's: the address of its struct ktr_site, or with KTR_DESC_TEXT the address of a
	 * format string (class not known, all words 64 bits wide).  The kernel's: KTR_DESC().
	 */
	uint64_t ktr_desc;
	uint64_t ktr_parm1, ktr_parm2, ktr_parm3, ktr_parm4, ktr_parm5;
};

#define KTR_DESC_TEXT		(1ull << 63)	/* no address of a program has this bit */

/* The tag by which the kernel's entries are recognised in an image of memory. */
#define KTR_DESC_TAG		0x4b54ull	/* "KT" */
#define KTR_DESC(cpu, generation, id) \
	(KTR_DESC_TAG << 48 | (uint64_t)(cpu) << 32 | (uint64_t)(generation) << 16 | (id))
#define KTR_DESC_CPU(desc)	  ((uint32_t)((desc) >> 32) & 0xffff)
#define KTR_DESC_GENERATION(desc) ((uint32_t)((desc) >> 16) & 0xffff)
#define KTR_DESC_ID(desc)	  ((uint32_t)(desc) & 0xffff)

/* A parameter's declared type: 4 bits each in ktr_argtypes, the first lowest. */
enum ktr_argtype {
	KTR_ARG_WORD = 0,	/* 64 bits, signed or not as the format says */
	KTR_ARG_S8, KTR_ARG_U8, KTR_ARG_S16, KTR_ARG_U16, KTR_ARG_S32, KTR_ARG_U32,
	KTR_ARG_S64, KTR_ARG_U64,
	KTR_ARG_PTR,		/* an address, of a string if the format says %s */
	KTR_ARG_FP,		/* float or double: not traced */
	KTR_ARG_TEXT,		/* two words, 16 bytes of text: one %s (the kernel's) */
};
#define KTR_ARGTYPE(argtypes, i) ((argtypes) >> 4 * (i) & 0xf)

/* A program's trace point: section "ktr_sites", read-only, nothing to relocate. */
struct ktr_site {
	int32_t ktr_fmt;	/* address of the format, minus the address of this field */
	int32_t ktr_file;	/* … of the source file's name, likewise */
	uint32_t ktr_line;
	uint32_t ktr_class;	/* KTR_…, one or more bits */
	uint32_t ktr_argtypes;
	uint32_t ktr_reserved;
};

/* The kernel's trace point: in the region itself, so that an image of memory contains it. */
#define KTR_FORMAT_MAGIC	0x4652544bu	/* "KTRF" */
struct ktr_format {
	uint32_t magic;
	uint16_t id;
	uint16_t generation;
	uint32_t classes;	/* KTR_… */
	uint32_t argtypes;
	char name[32];		/* of the tracepoint: "sched_switch" */
	char text[80];		/* printf-like */
};				/* 128 bytes, two slots */

enum ktr_clock {
	KTR_CLOCK_TSC = 1,	/* x86-64's cycle counter */
	KTR_CLOCK_CNTVCT,	/* arm64's virtual counter */
	KTR_CLOCK_COARSE,	/* seconds << 32 | microseconds of CLOCK_MONOTONIC_COARSE */
	KTR_CLOCK_MONOTONIC,	/* CLOCK_MONOTONIC in ns: the kernel's rings */
};

/* One moment on three clocks; all 0: not taken. */
struct ktr_stamp {
	uint64_t clock;		/* enum ktr_clock's */
	uint64_t monotonic;	/* CLOCK_MONOTONIC, ns */
	uint64_t realtime;	/* CLOCK_REALTIME, ns */
};

#define KTR_REGION_KERNEL	0x1u	/* the kernel's: formats are here, clock is MONOTONIC */
#define KTR_REGION_RSEQ		0x2u	/* written with rseq, else with atomic operations */
#define KTR_REGION_SCRUBBED	0x4u	/* a copy without kernel addresses */

/*
 * A program's region in a file (KTR_FILE) continues after its rings: from the next multiple of
 * KTR_REGION_PAGE to the end of the file stand the lines of /proc/PID/maps that name a file, and a
 * NUL. They date from the program's start, or from its last freeze or orderly end.
 */

/* hdrsize bytes: the first page, and as many more as the formats take. */
struct ktr_region {
	char	 magic[8];
	uint32_t version;
	uint32_t hdrsize;	/* bytes before the first ring, a multiple of KTR_REGION_PAGE */
	uint32_t entsize;	/* KTR_ENTRY_SIZE */
	uint32_t entries;	/* of a ring, a power of two */
	uint32_t ncpu;		/* rings, one for each possible CPU */
	uint32_t flags;		/* KTR_REGION_… */
	uint64_t stride;	/* from one ring to the next: 64 + entries * entsize bytes */
	uint32_t generation;	/* low 16 bits as in KTR_DESC() */
	uint32_t clock;		/* enum ktr_clock */
	uint64_t frequency;	/* of the clock, Hz; 0: computed from the stamps */
	uint32_t compile;	/* a program's: compiled in (KTR_COMPILE); the kernel's: loaded */
	uint32_t pid;		/* of the program, or of the daemon */
	uint64_t mask_address;	/* address of ktr_mask in that process; 0: the kernel's */
	uint32_t formats;	/* struct ktr_format, from formats_offset on */
	uint32_t formats_offset;
	struct ktr_stamp first, last;
	char	 comm[16];
	char	 exe[256];	/* path of the executable, "" if not known */
	uint32_t build_id_size;	/* of the executable; 0: it has none */
	uint8_t	 build_id[20];
	uint32_t verbose;
	uint32_t saved_mask;	/* ktr_mask while `ktrctl freeze` holds it at 0; else 0 */
	uint64_t cpumask[KTR_REGION_CPUS / 64];	/* CPUs that are traced */
};

/* Precedes the entries of each ring. */
struct ktr_ring {
	uint64_t head;		/* entries ever written: the next entry's number */
	uint32_t cpu;
	uint32_t reserved;
	uint64_t lost;		/* entries that could not be written */
	uint64_t unused[5];
};

#ifdef __cplusplus
#define KTR_LAYOUT(what) static_assert(what, "layout of trace rings")
#else
#define KTR_LAYOUT(what) _Static_assert(what, "layout of trace rings")
#endif
KTR_LAYOUT(sizeof(struct ktr_entry) == KTR_ENTRY_SIZE);
KTR_LAYOUT(sizeof(struct ktr_ring) == KTR_ENTRY_SIZE);
KTR_LAYOUT(sizeof(struct ktr_site) == 24);
KTR_LAYOUT(sizeof(struct ktr_format) == 128);
KTR_LAYOUT(sizeof(struct ktr_region) <= KTR_REGION_PAGE);

#endif
