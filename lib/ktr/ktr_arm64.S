/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libktr's writers on arm64, as in ktr_x86_64.S.  Stores need explicit order here: the sequence
 * number first, so that no reader takes a half overwritten entry for whole, then the other words,
 * then the ring's head.
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
	.inst	KTR_RSEQ_SIGNATURE_ARM
6:	b	\abort
	.popsection
.endm

/* body n, slow, zero: x0 is the site, the parameters are in x1 to x5.  The entry's ring is in x9,
 * its slot in x10; x9 to x15 change. */
.macro	body	n, slow, zero=0
1:	mrs	x11, tpidr_el0
	adrp	x9, :gottprel:ktr_thread
	ldr	x9, [x9, :gottprel_lo12:ktr_thread]
	add	x9, x9, x11
	adrp	x10, ktr_fast
	ldr	x10, [x10, :lo12:ktr_fast]	/* 0: not here */
	cbz	x10, 4f
	add	x10, x10, x11
	adrp	x12, 5f
	add	x12, x12, :lo12:5f
	str	x12, [x10, #8]
2:	ldp	x12, x14, [x9, #KTR_THREAD_RING]	/* starts the critical section */
	ldr	w10, [x10, #4]
	ldr	w13, [x12, #8]
	cmp	w10, w13
	b.ne	4f				/* another CPU than last time */
	ldr	x13, [x12]			/* the ring's head */
	and	x14, x14, x13, lsl #6
	add	x10, x12, x14			/* the slot's address - 64 */
	add	x13, x13, #1
	ldr	w15, [x9, #KTR_THREAD_TID]
	mov	w14, w13
	orr	x15, x14, x15, lsl #32
	str	x15, [x10, #64 + 8]		/* marks the slot as incomplete */
	dmb	ishst
.if \n == 0
	str	x0, [x10, #64 + 16]
.else
	stp	x0, x1, [x10, #64 + 16]
.endif
.if \n == 2
	str	x2, [x10, #64 + 32]
.elseif \n >= 3
	stp	x2, x3, [x10, #64 + 32]
.endif
.if \n == 4
	str	x4, [x10, #64 + 48]
.elseif \n >= 5
	stp	x4, x5, [x10, #64 + 48]
.endif
.if \zero
	str	xzr, [x10, #64 + 24]
	stp	xzr, xzr, [x10, #64 + 32]
	stp	xzr, xzr, [x10, #64 + 48]
.endif
	mrs	x14, cntvct_el0
	str	x14, [x10, #64]
	stlr	x13, [x12]			/* commits */
3:	ret
4:	b	\slow
	critical 1b
.endm

/* For C: caches the ring of the thread's CPU; 0 if it cannot have one. */
	.globl	ktr_attach
	.hidden	ktr_attach
	.type	ktr_attach, %function
ktr_attach:
	.cfi_startproc
1:	mrs	x11, tpidr_el0
	adrp	x9, :gottprel:ktr_thread
	ldr	x9, [x9, :gottprel_lo12:ktr_thread]
	add	x9, x9, x11
	adrp	x10, ktr_fast
	ldr	x10, [x10, :lo12:ktr_fast]
	cbz	x10, 4f
	add	x10, x10, x11
	adrp	x12, 5f
	add	x12, x12, :lo12:5f
	str	x12, [x10, #8]
	adrp	x12, ktr_none
	add	x12, x12, :lo12:ktr_none
2:	str	x12, [x9, #KTR_THREAD_RING]	/* none while slots may belong to another region */
	adrp	x11, ktr_lib
	ldr	x11, [x11, :lo12:ktr_lib]
	ldr	x12, [x11, #KTR_PLACE_SLOTS]
	str	x12, [x9, #KTR_THREAD_SLOTS]
	ldr	w12, [x10, #4]
	ldr	w13, [x11, #KTR_PLACE_CPUS]
	cmp	w12, w13
	b.hs	4f
	ldr	x13, [x11, #KTR_PLACE_STRIDE]
	ldr	x14, [x11, #KTR_PLACE_RINGS]
	madd	x12, x12, x13, x14
	str	x12, [x9, #KTR_THREAD_RING]	/* commits */
3:	mov	w0, #1
	ret
4:	mov	w0, #0
	ret
	critical 1b
	.cfi_endproc
	.size	ktr_attach, . - ktr_attach

.macro	writer	n
	.globl	__ktr_w\n
	.type	__ktr_w\n, %function
	.balign	64
__ktr_w\n:
	.cfi_startproc
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
 * Writes the entry of an assembly module for the site in x0, and returns it in x10; x9 and x11 to
 * x15 change.
 */
	.type	entry, %function
	.balign	64
entry:
	.cfi_startproc
	body	0, entry_slow, zero=1
	.cfi_endproc
	.size	entry, . - entry

/*
 * Saves the registers that C may change and assembly modules expect to be kept: all caller-saved
 * ones.
 */
	.type	entry_slow, %function
entry_slow:
	.cfi_startproc
	sub	sp, sp, #480
	stp	x29, x30, [sp]
	.cfi_def_cfa_offset 480
	.cfi_offset x29, -480
	.cfi_offset x30, -472
	mov	x29, sp
	stp	x1, x2, [sp, #16]
	stp	x3, x4, [sp, #32]
	stp	x5, x6, [sp, #48]
	stp	x7, x8, [sp, #64]
	str	x18, [sp, #80]
	stp	q0, q1, [sp, #96]
	stp	q2, q3, [sp, #128]
	stp	q4, q5, [sp, #160]
	stp	q6, q7, [sp, #192]
	stp	q16, q17, [sp, #224]
	stp	q18, q19, [sp, #256]
	stp	q20, q21, [sp, #288]
	stp	q22, q23, [sp, #320]
	stp	q24, q25, [sp, #352]
	stp	q26, q27, [sp, #384]
	stp	q28, q29, [sp, #416]
	stp	q30, q31, [sp, #448]
	bl	ktr_slow_entry
	mov	x10, x0
	ldp	x1, x2, [sp, #16]
	ldp	x3, x4, [sp, #32]
	ldp	x5, x6, [sp, #48]
	ldp	x7, x8, [sp, #64]
	ldr	x18, [sp, #80]
	ldp	q0, q1, [sp, #96]
	ldp	q2, q3, [sp, #128]
	ldp	q4, q5, [sp, #160]
	ldp	q6, q7, [sp, #192]
	ldp	q16, q17, [sp, #224]
	ldp	q18, q19, [sp, #256]
	ldp	q20, q21, [sp, #288]
	ldp	q22, q23, [sp, #320]
	ldp	q24, q25, [sp, #352]
	ldp	q26, q27, [sp, #384]
	ldp	q28, q29, [sp, #416]
	ldp	q30, q31, [sp, #448]
	ldp	x29, x30, [sp]
	add	sp, sp, #480
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	sub	x10, x10, #64
	ret
	.cfi_endproc
	.size	entry_slow, . - entry_slow

/* For C: writes the entry of the site in x0. */
	.globl	ktr_entry
	.hidden	ktr_entry
	.type	ktr_entry, %function
ktr_entry:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	bl	entry
	add	x0, x10, #64
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	ktr_entry, . - ktr_entry

/* The site is in x17; <sys/ktr_asm.h> lists the registers that change. */
	.globl	__ktr_entry
	.type	__ktr_entry, %function
	.balign	64
__ktr_entry:
	.cfi_startproc
	stp	x29, x30, [sp, #-80]!
	.cfi_def_cfa_offset 80
	.cfi_offset x29, -80
	.cfi_offset x30, -72
	stp	x0, x9, [sp, #16]
	stp	x10, x11, [sp, #32]
	stp	x12, x13, [sp, #48]
	stp	x14, x15, [sp, #64]
	mov	x0, x17
	bl	entry
	add	x17, x10, #64
	ldr	w16, [x17, #8]
	ldp	x0, x9, [sp, #16]
	ldp	x10, x11, [sp, #32]
	ldp	x12, x13, [sp, #48]
	ldp	x14, x15, [sp, #64]
	ldp	x29, x30, [sp], #80
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	__ktr_entry, . - __ktr_entry

	.section .note.GNU-stack, "", %progbits
