/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts that differ between architectures and kernels: reading and writing a register of the
 * current CPU, where a register that faults is an error and not an oops.
 */
#ifndef PMCBPF_MSR_ARCH_H
#define PMCBPF_MSR_ARCH_H

#include <linux/types.h>
#include <linux/version.h>

#ifdef CONFIG_X86

#include <asm/msr.h>

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

#elif defined(CONFIG_ARM64)

#include <asm/barrier.h>
#include <asm/sysreg.h>

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

#else
#error "pmcbpf_msr is for x86 and 64-bit ARM"
#endif

#endif
