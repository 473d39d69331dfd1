/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing a trace entry.  The rings are one array of 64-byte slots with the layout of struct
 * ktr_region, so that they have one mapping.
 */
#ifndef PMCBPF_KTR_BPF_H
#define PMCBPF_KTR_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "ktr_abi.h"

/* max_entries is set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ktr_entry);
} ktr_rings SEC(".maps");

struct ktr_control ktr SEC(".data.ktr") = {};

/* The region's, in slots, set before load; ktr_last: entries of a ring - 1. */
const volatile __u32 ktr_first = 0, ktr_stride = 0, ktr_last = 0, ktr_generation = 0;

/* See bpf/count/maps.bpf.h: tracepoint programs may be preempted from Linux 6.19 on. */
extern void bpf_preempt_disable(void) __weak __ksym;
extern void bpf_preempt_enable(void) __weak __ksym;
extern int LINUX_KERNEL_VERSION __kconfig;
#define PREEMPTED_SINCE 0x061300	/* KERNEL_VERSION(6, 19, 0) */

static __always_inline void ktr_preempt_off(void)
{
	if (LINUX_KERNEL_VERSION >= PREEMPTED_SINCE && bpf_preempt_disable)
		bpf_preempt_disable();
}

static __always_inline void ktr_preempt_on(void)
{
	if (LINUX_KERNEL_VERSION >= PREEMPTED_SINCE && bpf_preempt_enable)
		bpf_preempt_enable();
}

/* The parameters are written between a 0 and the entry's number; arm64 needs a barrier. */
static __always_inline void ktr_mark(struct ktr_entry *e, u32 seq)
{
	barrier();
#ifdef __TARGET_ARCH_arm64
	__sync_lock_test_and_set(&e->ktr_seq, seq);
#else
	*(volatile u32 *)&e->ktr_seq = seq;
#endif
	barrier();
}

struct ktr_writer {
	struct ktr_entry *e;	/* NULL: nothing to write */
	u32 seq;
};

#define KTR_TRIES 8

/*
 * Takes the next entry of this CPU's ring.  An interrupt may write as well: a number is taken only
 * if it was the next one when the time was read, so that a ring is in order of time.
 */
static __always_inline struct ktr_writer ktr_begin(u32 id)
{
	u32 cpu = bpf_get_smp_processor_id(), slot = ktr_first + cpu * ktr_stride;
	struct ktr_writer none = {}, w;
	struct ktr_ring *ring;
	u64 n = 0, time = 0;
	int i;

	ring = bpf_map_lookup_elem(&ktr_rings, &slot);
	if (!ring)
		return none;
	ktr_preempt_off();
	for (i = 0; i < KTR_TRIES; i++) {
		n = *(volatile u64 *)&ring->head;
		time = bpf_ktime_get_ns();
		if (__sync_val_compare_and_swap(&ring->head, n, n + 1) == n)
			break;
	}
	slot += 1 + (n & ktr_last);
	w.e = bpf_map_lookup_elem(&ktr_rings, &slot);
	if (i == KTR_TRIES || !w.e) {
		__sync_fetch_and_add(&ring->lost, 1);
		ktr_preempt_on();
		return none;
	}
	w.seq = n + 1;
	ktr_mark(w.e, 0);
	w.e->ktr_time = time;
	w.e->ktr_tid = bpf_get_current_pid_tgid();
	w.e->ktr_desc = KTR_DESC(cpu, ktr_generation, id);
	return w;
}

static __always_inline void ktr_end(struct ktr_writer *w)
{
	ktr_mark(w->e, w->seq);
	ktr_preempt_on();
	w->e = NULL;
}

static __always_inline struct ktr_writer ktr_begin_if(u32 classes, u32 id)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ktr_writer none = {};

	if (!(*(volatile u32 *)&ktr.mask & classes) ||
	    !(ktr.cpumask[cpu / 64 % (KTR_REGION_CPUS / 64)] >> cpu % 64 & 1))
		return none;
	return ktr_begin(id);
}

#define KTR_CLASSES_(id, tp, classes, types, text) KTR_CLASSES_OF_##id = classes,
enum ktr_event_classes {
	KTR_EVENT_TABLE(KTR_CLASSES_)
};
#undef KTR_CLASSES_

/* KTR_ENTRY(FORK, w) { … w.e … }: the block runs if a class of the event is on. */
#define KTR_ENTRY(id, w) \
	for (struct ktr_writer w = ktr_begin_if(KTR_CLASSES_OF_##id, KTR_EV_##id); w.e; ktr_end(&w))
/* The same regardless of the mask, on every CPU. */
#define KTR_ENTRY_ALWAYS(ev, w) for (struct ktr_writer w = ktr_begin(ev); w.e; ktr_end(&w))

/* Arguments are evaluated only if the event is on.  Unused words are not written. */
#define CTR0(id) KTR_ENTRY(id, w_) {}
#define CTR1(id, a) KTR_ENTRY(id, w_) { w_.e->ktr_parm1 = (u64)(a); }
#define CTR2(id, a, b) \
	KTR_ENTRY(id, w_) { w_.e->ktr_parm1 = (u64)(a); w_.e->ktr_parm2 = (u64)(b); }
#define CTR3(id, a, b, c) \
	KTR_ENTRY(id, w_) { w_.e->ktr_parm1 = (u64)(a); w_.e->ktr_parm2 = (u64)(b); \
			    w_.e->ktr_parm3 = (u64)(c); }
#define CTR4(id, a, b, c, d) \
	KTR_ENTRY(id, w_) { w_.e->ktr_parm1 = (u64)(a); w_.e->ktr_parm2 = (u64)(b); \
			    w_.e->ktr_parm3 = (u64)(c); w_.e->ktr_parm4 = (u64)(d); }
#define CTR5(id, a, b, c, d, f) \
	KTR_ENTRY(id, w_) { w_.e->ktr_parm1 = (u64)(a); w_.e->ktr_parm2 = (u64)(b); \
			    w_.e->ktr_parm3 = (u64)(c); w_.e->ktr_parm4 = (u64)(d); \
			    w_.e->ktr_parm5 = (u64)(f); }

/* A text is copied into 16 bytes: a string in the kernel may be gone when the entry is read. */
#define KTR_TEXT 16
static __always_inline void ktr_text(u64 *words, const void *text)
{
	/* names in the kernel are arrays of at least that size */
	if (bpf_probe_read_kernel(words, KTR_TEXT, text))
		words[0] = 0;
}

static __always_inline void ktr_string(u64 *words, const char *text)
{
	words[0] = words[1] = 0;
	bpf_probe_read_kernel_str(words, KTR_TEXT, text);
}

/* Two texts from a message that need not be NUL-terminated. */
#define KTR_LINE (2 * KTR_TEXT)
static __always_inline void ktr_line(u64 *words, const char *text, u64 len)
{
	words[0] = words[1] = words[2] = words[3] = 0;
	/* the value used must be the verified one */
	barrier_var(len);
	if (len > KTR_LINE)
		len = KTR_LINE;
	bpf_probe_read_kernel(words, len, text);
}

/*
 * The program on_TRACEPOINT.  KTR_TP for those that dereference the kernel's objects, which such a
 * program may read directly; KTR_RAW_TP for plain words, of any type that the kernel declares.
 */
#define KTR_TP(tp, args...)	SEC("tp_btf/" #tp) int BPF_PROG(on_##tp, ##args)
#define KTR_RAW_TP(tp, args...) SEC("raw_tp/" #tp) int BPF_PROG(on_##tp, ##args)

#endif
