/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract between the trace rings' programs and loader/ktr/ktr.c; <sys/ktr_region.h> has the
 * public format of the rings.
 */
#ifndef PMCBPF_KTR_ABI_H
#define PMCBPF_KTR_ABI_H

#ifdef __bpf__
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s32 int32_t;
#endif

#include "lib/include/sys/ktr_class.h"
#include "lib/include/sys/ktr_region.h"
#include "ktr_events.h"

#define KTR_STOP_TPS  4		/* tracepoints that may stop tracing */
#define KTR_TP_NAME   32

/* The trigger that has stopped tracing. */
enum ktr_stopped {
	KTR_RUNNING = 0,
	KTR_STOPPED_SIGNAL,
	KTR_STOPPED_OOM,
	KTR_STOPPED_PANIC,
	KTR_STOPPED_TP,
};

/* Mapped by the daemon; one for all programs. */
struct ktr_control {
	uint32_t mask;		/* ktr_mask: classes that are traced */
	uint32_t stopped;	/* enum ktr_stopped; the other stop_… have details */
	uint32_t armed;		/* all triggers are attached: any may fire */
	uint32_t stop_pid;
	uint32_t stop_signal;
	char stop_comm[16];
	uint64_t stop_signals;	/* bit n - 1: signal n is a trigger */
	char stop_tp[KTR_STOP_TPS][KTR_TP_NAME];	/* tracepoints that are triggers */
	char stop_name[KTR_TP_NAME];			/* the one that has stopped tracing */
	uint64_t cpumask[KTR_REGION_CPUS / 64];
};

/* A request of the daemon to its program: user space cannot write to the rings. */
struct ktr_order {
	uint32_t id;		/* enum ktr_event of an entry; KTR_EVENTS: copy a slot */
	uint32_t at;		/* index of that slot; for an entry its ktr_tid */
	uint64_t words[8];	/* for an entry its parameters */
};

#define KTR_ENUM_(id, tp, classes, types, text) KTR_EV_##id,
enum ktr_event {
	KTR_EVENT_TABLE(KTR_ENUM_)
	KTR_EVENTS
};
#undef KTR_ENUM_

#endif
