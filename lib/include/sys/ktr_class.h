/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The classes of trace points, for C, C++, assembly and BPF programs.  Names and values are
 * FreeBSD's, KTR_CLK is BSD/OS's.  Numbers have neither suffix nor cast, so that #if can test them.
 */
#ifndef _SYS_KTR_CLASS_H_
#define _SYS_KTR_CLASS_H_

#define KTR_GEN		0x00000001	/* general; macros without a class */
#define KTR_NET		0x00000002	/* network */
#define KTR_DEV		0x00000004	/* device drivers */
#define KTR_LOCK	0x00000008	/* locks */
#define KTR_SMP		0x00000010	/* several processors */
#define KTR_SUBSYS	0x00000020	/* subsystems, file systems */
#define KTR_FS		KTR_SUBSYS
#define KTR_PMAP	0x00000040	/* page tables */
#define KTR_MALLOC	0x00000080	/* allocation of memory */
#define KTR_TRAP	0x00000100	/* traps */
#define KTR_INTR	0x00000200	/* interrupts */
#define KTR_SIG		0x00000400	/* signals */
#define KTR_CLK		0x00000800	/* clock ticks */
#define KTR_PROC	0x00001000	/* processes */
#define KTR_SYSC	0x00002000	/* system calls */
#define KTR_INIT	0x00004000	/* initialisation */
#define KTR_SPL		0x00008000	/* interrupt priority levels */
#define KTR_SPARE4	0x00010000
#define KTR_EVH		0x00020000	/* event handlers */
#define KTR_VFS		0x00040000	/* files */
#define KTR_VOP		0x00080000	/* operations on files */
#define KTR_VM		0x00100000	/* virtual memory */
#define KTR_INET	0x00200000	/* IPv4 and protocols over IP */
#define KTR_RUNQ	0x00400000	/* run queues */
#define KTR_CONTENTION	0x00800000	/* waiting for locks */
#define KTR_UMA		0x01000000	/* slab allocators */
#define KTR_CALLOUT	0x02000000	/* timers */
#define KTR_GEOM	0x04000000	/* block devices */
#define KTR_BUSDMA	0x08000000	/* DMA */
#define KTR_INET6	0x10000000	/* IPv6 */
#define KTR_SCHED	0x20000000	/* the scheduler */
#define KTR_BUF		0x40000000	/* buffer cache */
#define KTR_PTRACE	0x80000000	/* ptrace */

/* Classes for programs: the kernel's classes with these bits do not occur in programs. */
#define KTR_CT1		0x01000000
#define KTR_CT2		0x02000000
#define KTR_CT3		0x04000000
#define KTR_CT4		0x08000000
#define KTR_CT5		0x10000000
#define KTR_CT6		0x20000000
#define KTR_CT7		0x40000000
#define KTR_CT8		0x80000000

/* X(name, bit), lowest bit first. */
#define KTR_CLASSES(X) \
	X(GEN, 0) X(NET, 1) X(DEV, 2) X(LOCK, 3) X(SMP, 4) X(SUBSYS, 5) X(PMAP, 6) X(MALLOC, 7) \
	X(TRAP, 8) X(INTR, 9) X(SIG, 10) X(CLK, 11) X(PROC, 12) X(SYSC, 13) X(INIT, 14) X(SPL, 15) \
	X(SPARE4, 16) X(EVH, 17) X(VFS, 18) X(VOP, 19) X(VM, 20) X(INET, 21) X(RUNQ, 22) \
	X(CONTENTION, 23) X(UMA, 24) X(CALLOUT, 25) X(GEOM, 26) X(BUSDMA, 27) X(INET6, 28) \
	X(SCHED, 29) X(BUF, 30) X(PTRACE, 31)

#endif
