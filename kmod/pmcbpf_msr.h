/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract between the module pmcbpf_msr and pmcbpfd only: /dev/pmcbpf_msr.
 *
 * One process at a time has the device open, with CAP_SYS_RAWIO; a kernel that is locked down
 * refuses it (EPERM), whatever was allowed before.  Nothing can be read before PMCBPF_MSR_LIST.
 * Errors of all requests: EPERM (not on the list, or bits outside the mask; locked down, or a
 * security module refuses registers to the caller; a write, with the module's allow_writes=off),
 * ENXIO (CPU offline), EIO (the register faults on that CPU), EINVAL, EFAULT.
 *
 * On 64-bit ARM a register's number is its MRS encoding, op0..op2, 16 bits: 0xdf02 is CNTVCT_EL0. A
 * list with a register that the module cannot read is refused with EINVAL.
 */
#ifndef PMCBPF_MSR_H
#define PMCBPF_MSR_H

#ifndef __bpf__
#include <linux/ioctl.h>
#include <linux/types.h>
#endif

#define PMCBPF_MSR_NAME	   "pmcbpf_msr"		/* module, device, /sys/kernel/btf/… */
#define PMCBPF_MSR_VERSION 1
#define PMCBPF_MSR_MAX	   128			/* entries of a list */

struct pmcbpf_msr_entry {
	__u32 reg;
	__u32 reserved;			/* 0 */
	__u64 read;			/* the bits that are returned; 0: write only */
	__u64 write;			/* the bits that may be changed */
};

/*
 * Replaces the list; rows and programs continue with the new one.  Sorted by reg, without
 * duplicates.
 */
struct pmcbpf_msr_list {
	__u32 version;			/* PMCBPF_MSR_VERSION, else EPROTO */
	__u32 n;
	__u64 entries;			/* the address of struct pmcbpf_msr_entry[n] */
};

struct pmcbpf_msr_io {
	__u32 reg;
	__u32 cpu;
	__u64 value;			/* READ: out, masked; WRITE: in the new bits, out the old */
};

#define PMCBPF_MSR_IOC_VERSION _IOR('M', 0x40, __u32)
#define PMCBPF_MSR_IOC_LIST    _IOW('M', 0x41, struct pmcbpf_msr_list)
#define PMCBPF_MSR_IOC_READ    _IOWR('M', 0x42, struct pmcbpf_msr_io)
/* Writes the bits of `value` that the write mask has; the others stay. */
#define PMCBPF_MSR_IOC_WRITE   _IOWR('M', 0x43, struct pmcbpf_msr_io)
/*
 * Returns a descriptor of one register on one CPU, which may be passed on: read(2) of 8 bytes
 * returns the masked value.  Errors of read(2): ENODEV after the device was closed or IOC_REVOKE on
 * the descriptor; ENXIO, EIO and EPERM as above.
 */
#define PMCBPF_MSR_IOC_ROW     _IOW('M', 0x44, struct pmcbpf_msr_io)
#define PMCBPF_MSR_IOC_REVOKE  _IO('M', 0x45)	/* on such a descriptor */

/*
 * Functions that BPF programs of pmcbpfd call.  The first reads a register of the current CPU and
 * returns the masked value, or ~0 if the register is not on the list or faults:
 *
 *	__u64 pmcbpf_msr_read(__u32 reg);
 *
 * The second returns the events that a perf event has counted since it was opened, from the counter
 * that it has on the current CPU.  `event` is the address of its struct perf_event.  ~0: it is not
 * on this CPU, has no plain counter, was changed by an interrupt meanwhile, or cannot be read:
 *
 *	__u64 pmcbpf_event_count(__u64 event);
 *
 * They exist if /sys/kernel/btf/pmcbpf_msr does.  Other programs of the tracing types may call
 * them, too: their loader has CAP_PERFMON, with which pmcbpfd hands out each register of the list,
 * and perf every counter.  If the kernel is locked down for confidentiality, no program may; before
 * Linux 6.5, if it was so when the module was loaded.
 */

#endif
