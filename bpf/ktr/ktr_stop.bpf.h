/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stop triggers: a signal, an OOM kill, the kernel's panic or a chosen tracepoint ends all
 * tracing, so that the rings keep the events before it.
 */
#ifndef PMCBPF_KTR_STOP_BPF_H
#define PMCBPF_KTR_STOP_BPF_H

#include "ktr.bpf.h"

#define PANIC "Kernel panic - not syncing: "

/* True for the first trigger. */
static __always_inline bool stop(u32 how)
{
	if (!*(volatile u32 *)&ktr.armed ||
	    __sync_val_compare_and_swap(&ktr.stopped, KTR_RUNNING, how) != KTR_RUNNING)
		return false;
	ktr.mask = 0;
	return true;
}

SEC("raw_tp/signal_deliver")
int BPF_PROG(stop_signal, int sig)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (!(ktr.stop_signals >> ((sig - 1) & 63) & 1) || !stop(KTR_STOPPED_SIGNAL))
		return 0;
	ktr.stop_signal = sig;
	ktr.stop_pid = tgid;
	bpf_get_current_comm(ktr.stop_comm, sizeof(ktr.stop_comm));
	KTR_ENTRY_ALWAYS(KTR_EV_STOP_SIGNAL, w) {
		w.e->ktr_parm1 = sig;
		w.e->ktr_parm2 = tgid;
		__builtin_memcpy(&w.e->ktr_parm3, ktr.stop_comm, KTR_TEXT);
	}
	return 0;
}

/* See on_mark_victim() for the argument. */
SEC("raw_tp/mark_victim")
int BPF_PROG(stop_oom, struct task_struct *victim)
{
	if (!stop(KTR_STOPPED_OOM))
		return 0;
	if ((u64)victim >> 32) {
		ktr.stop_pid = BPF_CORE_READ(victim, pid);
		bpf_probe_read_kernel(ktr.stop_comm, sizeof(ktr.stop_comm),
				      (void *)victim + bpf_core_field_offset(victim->comm));
	} else {
		ktr.stop_pid = (u64)victim;
	}
	KTR_ENTRY_ALWAYS(KTR_EV_STOP_OOM, w) {
		w.e->ktr_parm1 = ktr.stop_pid;
		__builtin_memcpy(&w.e->ktr_parm2, ktr.stop_comm, KTR_TEXT);
	}
	return 0;
}

/* the first message of a panic */
SEC("raw_tp/console")
int BPF_PROG(stop_panic, const char *text, unsigned long len)
{
	char start[sizeof(PANIC) - 1] = "";

	if (len < sizeof(start) || bpf_probe_read_kernel(start, sizeof(start), text))
		return 0;
	for (unsigned int i = 0; i < sizeof(start); i++)
		if (start[i] != PANIC[i])
			return 0;
	if (!stop(KTR_STOPPED_PANIC))
		return 0;
	KTR_ENTRY_ALWAYS(KTR_EV_STOP_PANIC, w)
		ktr_line(&w.e->ktr_parm1, text + sizeof(start), len - sizeof(start));
	return 0;
}

/* One program for each tracepoint, since a program cannot find out where it was attached. */
static __always_inline int stop_tp(u32 n)
{
	if (!stop(KTR_STOPPED_TP))
		return 0;
	__builtin_memcpy(ktr.stop_name, ktr.stop_tp[n], KTR_TP_NAME);
	ktr.stop_pid = bpf_get_current_pid_tgid() >> 32;
	KTR_ENTRY_ALWAYS(KTR_EV_STOP_TP, w)
		__builtin_memcpy(&w.e->ktr_parm1, ktr.stop_tp[n], KTR_TP_NAME);
	return 0;
}

SEC("raw_tp") int stop_tp0(void *ctx) { return stop_tp(0); }
SEC("raw_tp") int stop_tp1(void *ctx) { return stop_tp(1); }
SEC("raw_tp") int stop_tp2(void *ctx) { return stop_tp(2); }
SEC("raw_tp") int stop_tp3(void *ctx) { return stop_tp(3); }

#endif
