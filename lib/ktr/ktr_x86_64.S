/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libktr's writers on x86-64.  From its start to the store of the ring's head a writer is an rseq
 * critical section: it restarts if the thread is preempted, moved to another CPU or interrupted by
 * a signal.  So each ring has one writer at a time, and an entry is in the ring when it is
 * complete.
 *
 * rdtsc waits for the loads before it, and the loads after it wait for rdtsc, so the longest chain
 * of dependent loads determines the cost.  It has three, the last being the ring's head: a thread
 * caches its ring, which is still right if it is the ring of the current CPU.  Stores come after
 * that.
 */
#include "ktr.h"

	.text

.macro	critical abort
	.pushsection __rseq_cs, "aw"
	.balign	32
5:	.long	0, 0
	.quad	2b, 3b - 2b, 6f
	.popsection
	.pushsection .text.unlikely, "ax"
	.byte	0x0f, 0xb9, 0x3d		/* an undefined instruction */
	.long	KTR_RSEQ_SIGNATURE_X86
6:	jmp	\abort
	.popsection
.endm

/*
 * body n, slow, zero: %rdi is the site, the parameters are in %rsi, %r10 (%rdx), %rcx and %xmm0
 * (%r8, %r9: the last).  Leaves the entry in %r11; %rax, %rdx, %r8 and %r9 change.
 */
.macro	body	n, slow, zero=0
1:	mov	ktr_thread@GOTTPOFF(%rip), %r11
	mov	ktr_fast(%rip), %rdx		/* 0: not here */
	test	%rdx, %rdx
	jz	4f
	lea	5f(%rip), %rax
	mov	%rax, %fs:8(%rdx)
2:	mov	%fs:KTR_THREAD_RING(%r11), %r9	/* starts the critical section */
	mov	%fs:4(%rdx), %eax
	cmp	8(%r9), %eax
	jne	4f				/* another CPU than last time */
	mov	(%r9), %rax			/* the ring's head */
	lea	1(%rax), %r8
	shl	$6, %rax
	and	%fs:KTR_THREAD_SLOTS(%r11), %rax
	mov	%fs:KTR_THREAD_TID(%r11), %edx
	lea	64(%r9, %rax), %r11		/* the slot */
	mov	%r8d, 8(%r11)
	mov	%edx, 12(%r11)
	rdtsc
	mov	%eax, (%r11)
	mov	%edx, 4(%r11)
	mov	%rdi, 16(%r11)
.if \n >= 1
	mov	%rsi, 24(%r11)
.endif
.if \n >= 2
	mov	%r10, 32(%r11)
.endif
.if \n >= 3
	mov	%rcx, 40(%r11)
.endif
.if \n == 4
	movq	%xmm0, 48(%r11)
.elseif \n >= 5
	movups	%xmm0, 48(%r11)
.endif
.if \zero
	xor	%eax, %eax
	mov	%rax, 24(%r11)
	mov	%rax, 32(%r11)
	mov	%rax, 40(%r11)
	mov	%rax, 48(%r11)
	mov	%rax, 56(%r11)
.endif
	mov	%r8, (%r9)			/* commits */
3:	ret
4:
.if \n >= 2
	mov	%r10, %rdx
.endif
.if \n >= 4
	movq	%xmm0, %r8
.endif
.if \n >= 5
	movq	%xmm1, %r9
.endif
	jmp	\slow
	critical 1b
.endm

/* For C: caches the ring of the thread's CPU; 0 if it cannot have one. */
	.globl	ktr_attach
	.hidden	ktr_attach
	.type	ktr_attach, @function
ktr_attach:
	.cfi_startproc
1:	mov	ktr_thread@GOTTPOFF(%rip), %r11
	mov	ktr_fast(%rip), %rdx
	test	%rdx, %rdx
	jz	4f
	lea	5f(%rip), %rax
	mov	%rax, %fs:8(%rdx)
	lea	ktr_none(%rip), %rax
2:	mov	%rax, %fs:KTR_THREAD_RING(%r11)	/* none while slots may belong to another region */
	mov	ktr_lib(%rip), %rcx
	mov	KTR_PLACE_SLOTS(%rcx), %rax
	mov	%rax, %fs:KTR_THREAD_SLOTS(%r11)
	mov	%fs:4(%rdx), %eax
	cmp	KTR_PLACE_CPUS(%rcx), %eax
	jae	4f
	imul	KTR_PLACE_STRIDE(%rcx), %rax
	add	KTR_PLACE_RINGS(%rcx), %rax
	mov	%rax, %fs:KTR_THREAD_RING(%r11)	/* commits */
3:	mov	$1, %eax
	ret
4:	xor	%eax, %eax
	ret
	critical 1b
	.cfi_endproc
	.size	ktr_attach, . - ktr_attach

.macro	writer	n
	.globl	__ktr_w\n
	.type	__ktr_w\n, @function
	.balign	64
__ktr_w\n:
	.cfi_startproc
.if \n >= 2
	mov	%rdx, %r10
.endif
.if \n >= 4
	movq	%r8, %xmm0
.endif
.if \n >= 5
	movq	%r9, %xmm1
	punpcklqdq %xmm1, %xmm0
.endif
	body	\n, ktr_slow\n
	.cfi_endproc
	.size	__ktr_w\n, . - __ktr_w\n
.endm

	writer	0
	writer	1
	writer	2
	writer	3
	writer	4
	writer	5

/*
 * Writes the entry of an assembly module for the site in %rdi, and returns it in %r11; %rax, %rdx,
 * %r8 and %r9 change.
 */
	.type	entry, @function
	.balign	64
entry:
	.cfi_startproc
	body	0, entry_slow, zero=1
	.cfi_endproc
	.size	entry, . - entry

/* Saves the registers that C may change and assembly modules expect to be kept. */
	.type	entry_slow, @function
entry_slow:
	.cfi_startproc
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rsi
	push	%rcx
	push	%r8
	push	%r10
	sub	$512, %rsp
	and	$-16, %rsp
	fxsave64 (%rsp)
	cld
	call	ktr_slow_entry
	mov	%rax, %r11
	fxrstor64 (%rsp)
	mov	-8(%rbp), %rsi
	mov	-16(%rbp), %rcx
	mov	-24(%rbp), %r8
	mov	-32(%rbp), %r10
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	entry_slow, . - entry_slow

/* For C: writes the entry of the site in %rdi. */
	.globl	ktr_entry
	.hidden	ktr_entry
	.type	ktr_entry, @function
ktr_entry:
	.cfi_startproc
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	entry
	mov	%r11, %rax
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	ktr_entry, . - ktr_entry

/* The site is in %rax; <sys/ktr_asm.h> lists the registers that change. */
	.globl	__ktr_entry
	.type	__ktr_entry, @function
	.balign	64
__ktr_entry:
	.cfi_startproc
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%r8
	.cfi_adjust_cfa_offset 8
	push	%r9
	.cfi_adjust_cfa_offset 8
	mov	%rax, %rdi
	call	entry
	mov	%r11, %rbx
	mov	8(%rbx), %r11d
	pop	%r9
	.cfi_adjust_cfa_offset -8
	pop	%r8
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	__ktr_entry, . - __ktr_entry

	.section .note.GNU-stack, "", @progbits
