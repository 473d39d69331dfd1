/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Part of <sys/ktr.h>: trace points of assembly modules.  A point writes an entry with parameters
 * of 0 and leaves the entry's address in %rbx (arm64: x17), so that code can store the parameters
 * at KTR_PARM1(%rbx) and so on.  Besides that register %rax, %rcx, %rdx, %r11 (x16; x30 is kept)
 * and the flags change.
 */
#ifndef _SYS_KTR_ASM_H_
#define _SYS_KTR_ASM_H_

#ifdef KTR

#if defined(__x86_64__) && !defined(__ILP32__)
/* Skips the caller's red zone.  No PLT: its resolver keeps fewer registers. */
#define __KTR_ENTRY \
	lea	-128(%rsp), %rsp; \
	lea	7771b(%rip), %rax; \
	call	*__ktr_entry@GOTPCREL(%rip); \
	lea	128(%rsp), %rsp
#define __KTR_UNLESS(class, label) \
	mov	ktr_mask@GOTPCREL(%rip), %rax; \
	testl	$(class), (%rax); \
	jz	label
/* %r11 must still have the value that the point left in it. */
#define ATR_END \
	cmpl	%r11d, 8(%rbx); \
	je	7774f; \
	movl	$0, 8(%rbx); \
	7774:
#elif defined(__aarch64__)
#define __KTR_ENTRY \
	stp	x29, x30, [sp, #-16]!; \
	adrp	x17, 7771b; \
	add	x17, x17, :lo12:7771b; \
	adrp	x16, :got:__ktr_entry; \
	ldr	x16, [x16, :got_lo12:__ktr_entry]; \
	blr	x16; \
	ldp	x29, x30, [sp], #16
#define __KTR_UNLESS(class, label) \
	adrp	x16, :got:ktr_mask; \
	ldr	x16, [x16, :got_lo12:ktr_mask]; \
	ldr	w16, [x16]; \
	movz	w17, #((class) & 0xffff); \
	movk	w17, #((class) >> 16 & 0xffff), lsl #16; \
	tst	w16, w17; \
	b.eq	label
/* x16 must still have the value that the point left in it. */
#define ATR_END \
	str	x0, [sp, #-16]!; \
	ldr	w0, [x17, #8]; \
	cmp	w0, w16; \
	b.eq	7774f; \
	str	wzr, [x17, #8]; \
	7774: \
	ldr	x0, [sp], #16
#else
#error <sys/ktr.h>: assembly modules can be traced on x86-64 and arm64 only
#endif

#define __KTR_TEXT(desc) \
	.pushsection .rodata; 7772: .asciz desc; .popsection
#define __KTR_SITE(class, text) \
	.pushsection .rodata; 7773: .asciz __FILE__; .popsection; \
	.pushsection ktr_sites, "a", %progbits; .balign 8; \
	7771: .long text - .; .long 7773b - .; .long __LINE__; .long class; .long 0; .long 0; \
	.popsection

/*
 * The first form always writes an entry, the second one if the class is on, else it jumps to the
 * label.
 */
#define ATR(desc) \
	__KTR_TEXT(desc); __KTR_SITE(KTR_GEN, 7772b); __KTR_ENTRY
#define CATR(class, desc, label) \
	__KTR_UNLESS(class, label); __KTR_TEXT(desc); __KTR_SITE(class, 7772b); __KTR_ENTRY
/* `desc` is the label of a format that is in data already. */
#define CATRD(class, desc, label) \
	__KTR_UNLESS(class, label); __KTR_SITE(class, desc); __KTR_ENTRY
/* Rings are reached by the thread's own register here, whatever the segment. */
#define SEG_ATR(desc, segment)		ATR(desc)
#define SEG_ATR_DESC(desc, segment)	__KTR_SITE(KTR_GEN, desc); __KTR_ENTRY

#else
#define ATR(desc)
#define CATR(class, desc, label)
#define CATRD(class, desc, label)
#define SEG_ATR(desc, segment)
#define SEG_ATR_DESC(desc, segment)
#define ATR_END
#endif

#endif
