/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The room of libktr: declarations that its files share, assembly included.
 *
 * A program traces before the library is initialized, in signal handlers, in children of fork(2)
 * and while it exits.  So nothing here takes locks, allocates memory or uses streams, and errno is
 * preserved.  The writers (ktr_x86_64.S, ktr_arm64.S) do one thing fast: they append an entry to a
 * ring that rseq(2) limits to one writer at a time.  Everything else is left to ktr_slow0() …
 * ktr_slow5().
 */
#ifndef PMCBPF_KTRLIB_H
#define PMCBPF_KTRLIB_H

/* Offsets for assembly: in struct ktr_thread, in struct ktr_place. */
#define KTR_THREAD_TID		0
#define KTR_THREAD_RING		8
#define KTR_THREAD_SLOTS	16
#define KTR_PLACE_CPUS		0
#define KTR_PLACE_STRIDE	8
#define KTR_PLACE_RINGS		16
#define KTR_PLACE_SLOTS		24

#define KTR_RSEQ_SIGNATURE_X86	0x53053053
#define KTR_RSEQ_SIGNATURE_ARM	0xd428bc00

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KTR
#undef KTR_DEFINE_OPTIONS
#include <sys/ktr.h>
#include <sys/ktr_region.h>

/*
 * Machines with writers in assembly and a counter.  All others, and builds with -D__KTR_PORTABLE
 * for tests, use atomic operations and the coarse clock.
 */
#ifndef __KTR_PORTABLE
#if defined(__x86_64__)
#define KTR_X86
#define KTR_ASSEMBLY
#elif defined(__aarch64__)
#define KTR_ARM
#define KTR_ASSEMBLY
#endif
#endif

#define KTR_PUBLIC __attribute__((visibility("default")))
#define KTR_DEFAULT_ENTRIES 1024
#define KTR_EARLY 64			/* entries kept from before the constructor */
#define KTR_LINE 512			/* longest message, longest line of KTR_VERBOSE */
#define KTR_OBJECTS (256u * 1024)	/* bytes for the table of objects in a KTR_FILE */

/* The kernel zeroes this page in a child of fork(2), where it can (MADV_WIPEONFORK). */
struct ktr_fast {
	int64_t	 rseq;		/* struct rseq, from the thread pointer; 0: the slow path */
	uint32_t valid;
} __attribute__((aligned(4096)));
extern struct ktr_fast ktr_fast;

/* The address of a region's rings; it stays when the region has gone. */
struct ktr_place {
	uint64_t cpus;
	uint64_t stride;
	uint8_t	 *rings;
	uint64_t slots;		/* (entries - 1) * KTR_ENTRY_SIZE */
};

/* A thread's ring before its first entry: no CPU has it, so writers need no check for NULL. */
#define KTR_NO_CPU 0x80000000u		/* struct rseq has no such CPU */
extern const struct ktr_ring ktr_none;

struct ktr_thread {
	uint32_t tid;		/* 0: not known */
	const struct ktr_ring *ring;	/* of the CPU that the thread was on at its last check */
	uint64_t slots;
};
extern __thread struct ktr_thread ktr_thread __attribute__((tls_model("initial-exec")));

/* Options from the program and its environment. */
struct ktr_wishes {
	uint32_t entries;	/* 0: no tracing */
	uint32_t compile;
	uint32_t mask;
	bool	 masked;	/* the mask was given explicitly */
	uint32_t verbose;
	bool	 coarse;	/* the kernel's time as of its last tick */
	bool	 fork_new;	/* a child of fork(2) has rings of its own */
	bool	 cpumasked;
	uint64_t cpumask[KTR_REGION_CPUS / 64];
	uint64_t freeze_on;	/* signals: bit n - 1 */
	const char *file;	/* NULL: memory only */
};

enum ktr_mode {
	KTR_BEFORE = 0,		/* the constructor has not run */
	KTR_FAST,		/* rseq */
	KTR_ATOMIC,		/* no rseq, KTR_OLDCPU, KTR_VERBOSE, KTR_CPUMASK, coarse clock */
	KTR_OFF,
};

/* Everything else the library remembers; `place` first, for assembly. */
struct ktr_lib {
	struct ktr_place *place;
	enum ktr_mode mode;
	uint32_t clock;			/* enum ktr_clock; 0: not chosen yet */
	struct ktr_region *region;
	struct ktr_wishes wishes;
	struct ktr_frozen {
		uint32_t times;		/* ktr_freeze()s without ktr_thaw() */
		uint32_t mask;		/* … to restore */
	} __attribute__((aligned(8))) frozen;	/* changes at once */
	uint32_t maker;			/* the process that is making a region; 0: none */
	char file[4096];		/* KTR_FILE of a child with KTR_FORK=new */
	/* Entries written before the constructor: a ring, and the CPU of each entry. */
	struct ktr_ring early_ring;
	struct ktr_entry early[KTR_EARLY];
	uint16_t early_cpu[KTR_EARLY];
	struct ktr_entry nowhere;	/* assembly stores the parameters of untraced points here */
};
extern struct ktr_lib ktr_lib;
/* glibc's, where it registers threads for rseq(2). */
extern const unsigned int __rseq_size __attribute__((weak));
extern const ptrdiff_t __rseq_offset __attribute__((weak));

/* ktr.c: prepares the thread for the fast path; true: try the fast path again. */
bool ktr_ready(void);
/* A new region is made between these two; 0 or -errno. */
bool ktr_begin(void);
int ktr_renew(uint32_t entries, uint32_t clock);
void ktr_end(void);

/* ktrwish.c: warns about a value that is not valid, and uses the default instead. */
void ktr_wishes_read(struct ktr_wishes *wishes);
bool ktr_oldcpu(void);		/* was compiled with KTR_OLDCPU */

/* ktrclock.c */
uint32_t ktr_clock_choose(bool coarse);		/* enum ktr_clock; 0: the process may not read it */
uint64_t ktr_clock_read(uint32_t clock);
uint64_t ktr_clock_frequency(uint32_t clock);
void ktr_stamp_take(uint32_t clock, struct ktr_stamp *stamp);

/* ktrregion.c: makes a region, preceded by its place.  0 or -errno. */
int ktr_region_make(const struct ktr_wishes *wishes, uint32_t entries, uint32_t clock, bool rseq,
		    struct ktr_region **region, struct ktr_place **place);
/* Readers no longer find the region; writers that still use it may finish. */
void ktr_region_retire(struct ktr_region *region);
/* Data for readers after the program's end: a stamp, and in a file the list of mapped objects. */
void ktr_region_refresh(struct ktr_region *region);
static inline struct ktr_ring *ktr_region_ring(struct ktr_region *region, uint32_t cpu)
{
	return (struct ktr_ring *)((uint8_t *)region + region->hdrsize + cpu * region->stride);
}

/* ktrwrite.c: an entry by atomic operations; NULL: tracing is off or the slot is taken. */
struct ktr_entry *ktr_write(uint64_t desc, const uint64_t *parms, unsigned int n);
/* The assembly calls it. */
struct ktr_entry *ktr_slow_entry(uint64_t desc);
/* Moves the entries from before the constructor into the rings; `clock` is theirs. */
void ktr_early_move(uint32_t clock);

/* ktrstop.c: signals that freeze. */
void ktr_freeze_on(uint64_t signals);

/* ktrsay.c: lines on standard error. */
void ktr_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ktr_say_entry(uint32_t cpu, uint64_t desc, const uint64_t *parms, unsigned int n,
		   uint32_t verbose);

/* Assembly: caches the ring of the thread's CPU; 0 if it cannot. */
int ktr_attach(void);

_Static_assert(offsetof(struct ktr_lib, place) == 0 && offsetof(struct ktr_fast, rseq) == 0 &&
	       offsetof(struct ktr_thread, tid) == KTR_THREAD_TID &&
	       offsetof(struct ktr_thread, ring) == KTR_THREAD_RING &&
	       offsetof(struct ktr_thread, slots) == KTR_THREAD_SLOTS &&
	       offsetof(struct ktr_place, cpus) == KTR_PLACE_CPUS &&
	       offsetof(struct ktr_place, stride) == KTR_PLACE_STRIDE &&
	       offsetof(struct ktr_place, rings) == KTR_PLACE_RINGS &&
	       offsetof(struct ktr_place, slots) == KTR_PLACE_SLOTS, "as in assembly");
_Static_assert(sizeof(struct ktr_ring) == 64 && offsetof(struct ktr_ring, head) == 0 &&
	       offsetof(struct ktr_ring, cpu) == 8 &&
	       offsetof(struct ktr_entry, ktr_seq) == 8 &&
	       offsetof(struct ktr_entry, ktr_tid) == 12 &&
	       offsetof(struct ktr_entry, ktr_desc) == 16 &&
	       offsetof(struct ktr_entry, ktr_parm1) == KTR_PARM1,
	       "as in assembly");
#endif
#endif
