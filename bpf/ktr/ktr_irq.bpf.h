/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupts, timers, processors, locks: INTR, CLK, CALLOUT, SMP, LOCK, CONTENTION, EVH, INIT,
 * DEV.
 */
#ifndef PMCBPF_KTR_IRQ_BPF_H
#define PMCBPF_KTR_IRQ_BPF_H

#include "ktr.bpf.h"

/* Start of each thread's wait for a lock. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u64);
} ktr_waits SEC(".maps");

/* --- INTR, CLK ----------------------------------------------------------------------------- */

KTR_TP(irq_handler_entry, int irq, struct irqaction *action)
{
	KTR_ENTRY(IRQ, w) {
		w.e->ktr_parm1 = irq;
		ktr_string(&w.e->ktr_parm2, action->name);
	}
	return 0;
}

KTR_RAW_TP(irq_handler_exit, int irq, void *action, int result)
{
	CTR2(IRQ_DONE, irq, result);
	return 0;
}

KTR_RAW_TP(softirq_raise, unsigned int vec)
{
	CTR1(SOFTIRQ_RAISE, vec);
	return 0;
}

KTR_RAW_TP(softirq_entry, unsigned int vec)
{
	CTR1(SOFTIRQ, vec);
	return 0;
}

KTR_RAW_TP(softirq_exit, unsigned int vec)
{
	CTR1(SOFTIRQ_DONE, vec);
	return 0;
}

KTR_RAW_TP(tasklet_entry, void *tasklet, void *fn)
{
	CTR2(TASKLET, tasklet, fn);
	return 0;
}

KTR_RAW_TP(local_timer_entry)
{
	CTR0(TICK);
	return 0;
}

KTR_RAW_TP(local_timer_exit)
{
	CTR0(TICK_DONE);
	return 0;
}

KTR_RAW_TP(tick_stop, int success, int dependency)
{
	CTR2(TICK_STOP, success, dependency);
	return 0;
}

/* --- CALLOUT ------------------------------------------------------------------------------- */

KTR_TP(timer_start, struct timer_list *t, unsigned long expires)
{
	CTR3(TIMER, t, t->function, expires);
	return 0;
}

KTR_TP(timer_expire_entry, struct timer_list *t)
{
	CTR2(TIMER_FIRE, t, t->function);
	return 0;
}

KTR_RAW_TP(timer_cancel, void *t)
{
	CTR1(TIMER_CANCEL, t);
	return 0;
}

KTR_TP(hrtimer_start, struct hrtimer *t)
{
	CTR3(HRTIMER, t, t->function, t->_softexpires);
	return 0;
}

KTR_TP(hrtimer_expire_entry, struct hrtimer *t)
{
	CTR2(HRTIMER_FIRE, t, t->function);
	return 0;
}

KTR_RAW_TP(hrtimer_cancel, void *t)
{
	CTR1(HRTIMER_CANCEL, t);
	return 0;
}

KTR_TP(workqueue_queue_work, int cpu, void *queue, struct work_struct *work)
{
	CTR3(WORK_QUEUE, work, work->func, cpu);
	return 0;
}

KTR_TP(workqueue_execute_start, struct work_struct *work)
{
	CTR2(WORK, work, work->func);
	return 0;
}

KTR_RAW_TP(workqueue_execute_end, void *work, void *fn)
{
	CTR2(WORK_DONE, work, fn);
	return 0;
}

/* --- SMP ----------------------------------------------------------------------------------- */

KTR_RAW_TP(ipi_send_cpu, unsigned int cpu, unsigned long site, void *fn)
{
	CTR3(IPI_SEND, cpu, fn, site);
	return 0;
}

KTR_RAW_TP(ipi_raise, void *cpus, const char *reason)
{
	KTR_ENTRY(IPI_RAISE, w)
		ktr_string(&w.e->ktr_parm1, reason);
	return 0;
}

KTR_RAW_TP(ipi_entry, const char *reason)
{
	KTR_ENTRY(IPI, w)
		ktr_string(&w.e->ktr_parm1, reason);
	return 0;
}

KTR_RAW_TP(csd_queue_cpu, unsigned int cpu, unsigned long site, void *fn)
{
	CTR3(CALL_QUEUE, cpu, fn, site);
	return 0;
}

KTR_RAW_TP(csd_function_entry, void *fn)
{
	CTR1(CALL, fn);
	return 0;
}

KTR_RAW_TP(csd_function_exit, void *fn)
{
	CTR1(CALL_DONE, fn);
	return 0;
}

KTR_RAW_TP(reschedule_entry)
{
	CTR0(RESCHEDULE);
	return 0;
}

KTR_RAW_TP(call_function_entry)
{
	CTR0(CALL_IPI);
	return 0;
}

KTR_RAW_TP(call_function_single_entry)
{
	CTR0(CALL_IPI_ONE);
	return 0;
}

KTR_RAW_TP(cpuhp_enter, unsigned int cpu, int target, int step, void *fn)
{
	CTR4(CPU_STEP, cpu, target, step, fn);
	return 0;
}

KTR_RAW_TP(cpuhp_exit, unsigned int cpu, int state, int step, int result)
{
	CTR4(CPU_STEPPED, cpu, state, step, result);
	return 0;
}

/* --- LOCK, CONTENTION ---------------------------------------------------------------------- */

KTR_RAW_TP(contention_begin, void *lock, unsigned int flags)
{
	u32 tid = bpf_get_current_pid_tgid();
	u64 now;

	CTR2(WAIT, lock, flags);
	if (ktr.mask & KTR_CONTENTION) {
		now = bpf_ktime_get_ns();
		bpf_map_update_elem(&ktr_waits, &tid, &now, BPF_ANY);
	}
	return 0;
}

KTR_RAW_TP(contention_end, void *lock, int result)
{
	u32 tid = bpf_get_current_pid_tgid();
	u64 *since;

	CTR2(WAIT_END, lock, result);
	if (!(ktr.mask & KTR_CONTENTION))
		return 0;
	since = bpf_map_lookup_elem(&ktr_waits, &tid);
	if (!since || !*since)
		return 0;
	CTR2(WAITED, lock, bpf_ktime_get_ns() - *since);
	*since = 0;
	return 0;
}

/* --- EVH, INIT, DEV ------------------------------------------------------------------------ */

KTR_RAW_TP(notifier_run, void *fn)
{
	CTR1(NOTIFY, fn);
	return 0;
}

KTR_RAW_TP(notifier_register, void *fn)
{
	CTR1(NOTIFIER, fn);
	return 0;
}

KTR_RAW_TP(initcall_start, void *fn)
{
	CTR1(INITCALL, fn);
	return 0;
}

KTR_RAW_TP(initcall_finish, void *fn, int result)
{
	CTR2(INITCALL_DONE, fn, result);
	return 0;
}

KTR_TP(module_load, struct module *module)
{
	KTR_ENTRY(MODULE, w)
		ktr_string(&w.e->ktr_parm1, module->name);
	return 0;
}

KTR_TP(module_free, struct module *module)
{
	KTR_ENTRY(MODULE_FREE, w)
		ktr_string(&w.e->ktr_parm1, module->name);
	return 0;
}

KTR_RAW_TP(cpu_frequency, unsigned int khz, unsigned int cpu)
{
	CTR2(CPU_FREQUENCY, khz, cpu);
	return 0;
}

KTR_RAW_TP(cpu_idle, unsigned int state, unsigned int cpu)
{
	CTR2(CPU_IDLE, state, cpu);
	return 0;
}

KTR_RAW_TP(write_msr, unsigned int msr, u64 value, int failed)
{
	CTR3(MSR_WRITE, msr, value, failed);
	return 0;
}

KTR_RAW_TP(read_msr, unsigned int msr, u64 value, int failed)
{
	CTR3(MSR_READ, msr, value, failed);
	return 0;
}

#endif
