/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pctr(4): OpenBSD's counters of a CPU.  /dev/pctr is served by pctrd(8); where the kernel has no
 * character devices in user space, programs link libpctr (pkg-config pctr): its ioctl(2) handles
 * the requests below and passes on all others.
 */
#ifndef PMCBPF_MACHINE_PCTR_H
#define PMCBPF_MACHINE_PCTR_H

#include <sys/ioctl.h>
#include <sys/types.h>

#include <machine/cpufunc.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned long long pctrval;	/* values are modulo 2^40 */

#define PCTR_NUM 4			/* counters; a CPU may have fewer */

struct pctrst {
	unsigned int pctr_fn[PCTR_NUM];	/* functions, as they were set */
	pctrval pctr_tsc;		/* the time stamp counter, read with the counters */
	pctrval pctr_hwc[PCTR_NUM];	/* counts of the caller's CPU since they were set */
};

/* Bits of a function word.  The lowest byte is the event, the next one the unit mask. */
#define PCTR_U	0x010000		/* count user mode */
#define PCTR_K	0x020000		/* count kernel mode */
#define PCTR_E	0x040000		/* edges, not cycles */
#define PCTR_EN 0x400000		/* enable */
#define PCTR_I	0x800000		/* invert the threshold */
#define PCTR_UM_SHIFT 8
#define PCTR_CM_SHIFT 24		/* the threshold: events in one cycle */
#define PCTR_UM_M    0x0800
#define PCTR_UM_E    0x0400
#define PCTR_UM_S    0x0200
#define PCTR_UM_I    0x0100
#define PCTR_UM_MESI (PCTR_UM_M | PCTR_UM_E | PCTR_UM_S | PCTR_UM_I)
#define PCTR_UM_A    0x2000		/* all agents of the bus */

/* Returns the counts (PCIOCRD).  Any open mode will do. */
#define PCIOCRD	 _IOR('c', 1, struct pctrst)
/*
 * Sets the function of counter 0 to 3 on every CPU and its count to 0; function 0 switches it off.
 * EPERM: not open for writing; ENODEV: no such counters; EINVAL: bits 19 to 21, or a counter that
 * the CPU lacks; EBUSY (Linux): another user has the counter.
 */
#define PCIOCS0	 _IOW('c', 8, unsigned int)
#define PCIOCS1	 _IOW('c', 9, unsigned int)
#define PCIOCS2	 _IOW('c', 10, unsigned int)
#define PCIOCS3	 _IOW('c', 11, unsigned int)

#define _PATH_PCTR "/dev/pctr"

/*
 * In libpctr.  pctr_open() opens $PCTR_DEVICE, by default /dev/pctr or, where there is none, its
 * stand-in.  Returns a descriptor, or -1 with errno as open(2).
 */
int pctr_open(int flags);
/*
 * Returns a counter's 40-bit value on the caller's CPU, as PCIOCRD does, or (pctrval)-1 with errno
 * if it cannot be read.
 */
pctrval pctr_rdpmc(unsigned int ctr);
#undef rdpmc
#define rdpmc(ctr) pctr_rdpmc(ctr)
#define rdtsc() ((pctrval)(rdtsc)())

#ifdef __cplusplus
}
#endif
#endif
