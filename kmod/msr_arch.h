/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts that differ between architectures and kernels: reading and writing a register of the
 * current CPU, and reading a perf event, where what faults is an error and not an oops.
 */
#ifndef PMCBPF_MSR_ARCH_H
#define PMCBPF_MSR_ARCH_H

#include <linux/bits.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/version.h>

/* Where a perf event's counter is, and what the kernel has taken from it. */
struct event_words {
	u64 count, since;	/* its count, and the counter's value then: prev_count */
	u32 cpu, index;		/* the CPU, and perf's index of the counter there */
	u32 field;		/* COUNTER_FIELD */
};
#define EVENT_NONE ~0U		/* instead of the CPU: there is no event */

#ifdef CONFIG_X86

#include <asm/asm.h>
#include <asm/msr.h>
#include <asm/perf_event.h>
#include <asm/processor.h>

/* And canonical, because others raise another fault. */
static inline bool kernel_address(u64 address)
{
	return (s64)address >> (boot_cpu_data.x86_virt_bits - 1) == -1;
}

#define reg_known(reg) true
#define REG_WRITABLE   true

static inline int reg_read(u32 reg, u64 *value)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	return rdmsrq_safe(reg, value) ? -EIO : 0;
#else
	unsigned long long v = 0;
	int err = rdmsrl_safe(reg, &v);

	*value = v;
	return err ? -EIO : 0;
#endif
}

static inline int reg_write(u32 reg, u64 value)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	return wrmsrq_safe(reg, value) ? -EIO : 0;
#else
	return wrmsrl_safe(reg, value) ? -EIO : 0;
#endif
}

static unsigned int counter_shift;	/* 64 - the width of counters; 0: there are none */

static inline void counter_init(void)
{
	struct x86_pmu_capability cap;

	perf_get_x86_pmu_capability(&cap);
	counter_shift = cap.bit_width_gp > 0 ? 64 - cap.bit_width_gp : 0;
}

/* All ones stay if there is no such counter. */
static inline u64 counter_read(u32 counter)
{
	u32 low = ~0U, high = ~0U;

	asm volatile("1: rdpmc\n2:\n" _ASM_EXTABLE(1b, 2b)
		     : "+a" (low), "+d" (high) : "c" (counter));
	return (u64)high << 32 | low;
}

#define GET(to, from) __get_kernel_nofault(&(to), (const typeof(to) *)&(from), typeof(to), fault)
#define COUNTER_FIELD  event_base_rdpmc	/* of hw_perf_event: what RDPMC takes */

static inline struct event_words event_read(const struct perf_event *event)
{
	u64 count, since;
	u32 cpu, index, field;

	GET(cpu, event->oncpu);
	GET(index, event->hw.idx);
	GET(field, event->hw.COUNTER_FIELD);
	GET(since, event->hw.prev_count);
	GET(count, event->count);
	return (struct event_words){ count, since, cpu, index, field };
fault:
	return (struct event_words){ .cpu = EVENT_NONE };
}

/* The same words again, or false. */
static inline bool event_stays(const struct perf_event *event, struct event_words w)
{
	u64 since;
	u32 index;

	GET(since, event->hw.prev_count);
	GET(index, event->hw.idx);
	return since == w.since && index == w.index;
fault:
	return false;
}

#define COUNTERS_PLAIN 35	/* perf's indexes: general counters, from 32 on three fixed ones */

/* The events since the counter had the value `since`, or ~0 if the event has no plain counter. */
static inline u64 counter_since(u32 index, u32 number, u64 since)
{
	u64 now = counter_shift && index < COUNTERS_PLAIN ? counter_read(number) : ~0ULL;

	return now == ~0ULL ? now :
	       ((now << counter_shift) - (since << counter_shift)) >> counter_shift;
}

#elif defined(CONFIG_ARM64)

#include <asm/barrier.h>
#include <asm/sysreg.h>
#include <linux/percpu.h>
#include <linux/perf/arm_pmu.h>

static inline bool kernel_address(u64 address)
{
	return (s64)address < 0;
}

/*
 * MRS names its register in the instruction, hence one case for each.  None of these traps or
 * faults.
 */
enum {
	REG_MIDR   = 0xc000,	/* MIDR_EL1: the model */
	REG_MPIDR  = 0xc005,	/* MPIDR_EL1: the place */
	REG_CNTFRQ = 0xdf00,	/* CNTFRQ_EL0 */
	REG_CNTVCT = 0xdf02,	/* CNTVCT_EL0: ticks */
};
#define REG_WRITABLE false

static inline int reg_read(u32 reg, u64 *value)
{
	switch (reg) {
	case REG_MIDR:
		*value = read_sysreg(midr_el1);
		break;
	case REG_MPIDR:
		*value = read_sysreg(mpidr_el1);
		break;
	case REG_CNTFRQ:
		*value = read_sysreg(cntfrq_el0);
		break;
	case REG_CNTVCT:
		isb();		/* earlier instructions complete first */
		*value = read_sysreg(cntvct_el0);
		break;
	default:
		return -EIO;
	}
	return 0;
}

static inline bool reg_known(u32 reg)
{
	u64 value;

	return reg_read(reg, &value) == 0;
}

static inline int reg_write(u32 reg, u64 value)
{
	return -EIO;
}

#define COUNTER_CYCLES 31

/* Bit n: event counter n is there; bit 31: the cycle counter is.  0: not known, or another PMU. */
static DEFINE_PER_CPU(u32, counters);

static inline void counter_init(void)
{
}

/* Asked once on each CPU: in a virtual machine, the host answers. */
static __always_inline u32 counters_ask(void)
{
	u64 version = read_sysreg(id_aa64dfr0_el1) >> 8 & 0xf;
	u32 mask = 0;

	if (version && version != 0xf)
		mask = BIT(COUNTER_CYCLES) | (BIT(read_sysreg(pmcr_el0) >> 11 & 0x1f) - 1);
	raw_cpu_write(counters, mask);
	return mask;
}

#define COUNTER(n) case n: return read_sysreg(pmevcntr##n##_el0)

/* MRS names its register in the instruction. */
static inline u64 counter_read(u32 counter)
{
	switch (counter) {
	COUNTER(0); COUNTER(1); COUNTER(2); COUNTER(3); COUNTER(4); COUNTER(5); COUNTER(6);
	COUNTER(7); COUNTER(8); COUNTER(9); COUNTER(10); COUNTER(11); COUNTER(12); COUNTER(13);
	COUNTER(14); COUNTER(15); COUNTER(16); COUNTER(17); COUNTER(18); COUNTER(19); COUNTER(20);
	COUNTER(21); COUNTER(22); COUNTER(23); COUNTER(24); COUNTER(25); COUNTER(26); COUNTER(27);
	COUNTER(28); COUNTER(29); COUNTER(30);
	default:
		return read_sysreg(pmccntr_el0);
	}
}

/*
 * The kernel's function for one word takes four instructions.  Here a fault at any of several loads
 * goes on behind the last one.
 */
#define COUNTER_FIELD flags	/* of hw_perf_event */
#define FAULTS(load) _ASM_EXTABLE_KACCESS_ERR(load, 9b, %w[fault])
#define AT(name, member) [name] "i" (offsetof(struct perf_event, member))

static __always_inline struct event_words event_read(const struct perf_event *event)
{
	u64 count, since;
	u32 cpu, index, field;
	int fault = 0;

	asm volatile("1:	ldr	%w[cpu], [%[event], %[cpu_at]]\n"
		     "2:	ldr	%w[index], [%[event], %[index_at]]\n"
		     "3:	ldr	%w[field], [%[event], %[field_at]]\n"
		     "4:	ldr	%[since], [%[event], %[since_at]]\n"
		     "5:	ldr	%[count], [%[event], %[count_at]]\n"
		     "9:\n"
		     FAULTS(1b) FAULTS(2b) FAULTS(3b) FAULTS(4b) FAULTS(5b)
		     : [cpu] "=&r" (cpu), [index] "=&r" (index), [field] "=&r" (field),
		       [since] "=&r" (since), [count] "=&r" (count), [fault] "+&r" (fault)
		     : [event] "r" (event), AT(cpu_at, oncpu), AT(index_at, hw.idx),
		       AT(field_at, hw.COUNTER_FIELD), AT(since_at, hw.prev_count),
		       AT(count_at, count));
	return (struct event_words){ count, since, fault ? EVENT_NONE : cpu, index, field };
}

/* The same words again, or false. */
static __always_inline bool event_stays(const struct perf_event *event, struct event_words w)
{
	int fault = 0;
	u64 since;
	u32 index;

	asm volatile("1:	ldr	%[since], [%[event], %[since_at]]\n"
		     "2:	ldr	%w[index], [%[event], %[index_at]]\n"
		     "9:\n"
		     FAULTS(1b) FAULTS(2b)
		     : [since] "=&r" (since), [index] "=&r" (index), [fault] "+&r" (fault)
		     : [event] "r" (event), AT(since_at, hw.prev_count), AT(index_at, hw.idx));
	return !fault && since == w.since && index == w.index;
}

#define COUNTER_WIDE  7		/* … of events that count more than the low 32 bits */

/* Before Linux 6.12 the cycle counter was perf's first one. */
static inline u32 counter_number(u32 index)
{
#if ARMPMU_MAX_HWEVENTS > 32
	return index;
#else
	return index ? index - 1 : COUNTER_CYCLES;
#endif
}

/* The events since the counter had the value `since`, or ~0 if the event has no plain counter. */
static inline u64 counter_since(u32 index, u32 flags, u64 since)
{
	u32 counter = counter_number(index);
	u32 mask = raw_cpu_read(counters) ?: counters_ask();

	if (flags & COUNTER_WIDE || counter > 31 || !(mask >> counter & 1))
		return ~0ULL;
	return (u32)(counter_read(counter) - since);
}

#else
#error "pmcbpf_msr is for x86 and 64-bit ARM"
#endif

#endif
