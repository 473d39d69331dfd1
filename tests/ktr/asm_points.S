/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trace points of an assembly module, the first as in ktr(4).  Registers that change against the
 * header's promise are returned as bits.
 */
#define KTR
#include <sys/ktr.h>

	.section .rodata
text:	.asciz	"in data %d"

	.text
	.globl	asm_points
	.type	asm_points, %function
#if defined(__x86_64__)
asm_points:
	push	%rbx
	push	%rbp
	mov	$0x11, %rsi
	mov	$0x12, %rdi
	mov	$0x13, %r8
	mov	$0x14, %r9
	mov	$0x15, %r10
	movq	%rsi, %xmm7

#if KTR_COMPILE & KTR_SMP
	CATR(KTR_SMP, "AP_STARTED, unit id=%x", 1f);
	mov	$0x42, %eax
	mov	%eax, KTR_PARM1(%rbx)
1:
#endif
	ATR("none")
	CATR(KTR_SPL, "off at run time", 1f)
	movl	$0xbad, KTR_PARM1(%rbx)
	ATR_END
1:
	CATRD(KTR_SMP, text, 1f)
	movl	$2, KTR_PARM1(%rbx)
	ATR_END
1:
	SEG_ATR("by %fs %d", %fs)
	movl	$3, KTR_PARM1(%rbx)
	SEG_ATR_DESC(text, %gs)
	movl	$4, KTR_PARM1(%rbx)
	/* Overwritten before it is complete: it must not be read. */
	ATR("overtaken")
	movl	$0xbad, KTR_PARM1(%rbx)
	addl	$1, 8(%rbx)
	ATR_END

	movq	%xmm7, %rax
	sub	$0x11, %rax
	sub	$0x11, %rsi
	or	%rsi, %rax
	sub	$0x12, %rdi
	or	%rdi, %rax
	sub	$0x13, %r8
	or	%r8, %rax
	sub	$0x14, %r9
	or	%r9, %rax
	sub	$0x15, %r10
	or	%r10, %rax
	pop	%rbp
	pop	%rbx
	ret
#elif defined(__aarch64__)
asm_points:
	mov	x0, #0x10
	mov	x1, #0x11
	mov	x8, #0x18
	mov	x9, #0x19
	mov	x15, #0x1f
	fmov	d20, x1

#if KTR_COMPILE & KTR_SMP
	CATR(KTR_SMP, "AP_STARTED, unit id=%x", 1f);
	mov	w3, #0x42
	str	w3, [x17, #KTR_PARM1]
1:
#endif
	ATR("none")
	CATR(KTR_SPL, "off at run time", 1f)
	str	w3, [x17, #KTR_PARM1]
	ATR_END
1:
	CATRD(KTR_SMP, text, 1f)
	mov	w3, #2
	str	w3, [x17, #KTR_PARM1]
	ATR_END
1:
	SEG_ATR("by %fs %d", tpidr_el0)
	mov	w3, #3
	str	w3, [x17, #KTR_PARM1]
	SEG_ATR_DESC(text, tpidr_el0)
	mov	w3, #4
	str	w3, [x17, #KTR_PARM1]
	/* Overwritten before it is complete: it must not be read. */
	ATR("overtaken")
	ldr	w3, [x17, #8]
	add	w3, w3, #1
	str	w3, [x17, #8]
	ATR_END

	fmov	x2, d20
	sub	x2, x2, #0x11
	sub	x1, x1, #0x11
	orr	x2, x2, x1
	sub	x0, x0, #0x10
	orr	x0, x0, x2
	sub	x8, x8, #0x18
	orr	x0, x0, x8
	sub	x9, x9, #0x19
	orr	x0, x0, x9
	sub	x15, x15, #0x1f
	orr	x0, x0, x15
	ret
#endif
	.size	asm_points, . - asm_points
	.section .note.GNU-stack, "", %progbits
