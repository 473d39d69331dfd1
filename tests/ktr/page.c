/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The example of ktr(4); `page tdump` and `page debugger` make the entries of its two samples of
 * output, at the same places in their rings, at other times.
 */
#define KTR
#define KTR_COMPILE (~0)
#define KTR_MASK (~0)
#include <string.h>
#include <sys/ktr.h>

#define COM "../../i386/isa/com.c"
#define USER_P 0xf07e5600

static void lpopen(int dev)
{
	CTR1(KTR_DEV, "lpopen(dev=%x)", dev);
}

static void fill(unsigned int entries)
{
	while (entries--)
		TR0("older");
}

static void run_user(void)
{
	CTR1(KTR_SYSC, "syscall: run user p=0x%x", USER_P);
}

static void splx(int line, unsigned int from, unsigned int to)
{
	CTR4(KTR_SPL, "splx %s:%d cpl=%x -> %x", COM, line, from, to);
	CTR3(KTR_SPL, "splx done %s:%d cpl=%x", COM, line, to);
}

static void system_call_returns(unsigned int ret)
{
	CTR3(KTR_SYSC, "syscall p=0x%x err=%d ret=%x", USER_P, 0, ret);
	run_user();
}

/* The sample's first line has the time to a newer entry, which is not shown. */
static void tdump(void)
{
	fill(0x358);
	CTR4(KTR_SPL, "spltty %s:%d %x | %x", COM, 2048, 0x7fffa7a0, 0x7fffb7ba);
	splx(2097, 0x7fffb7ba, 0x7fffa7a0);
	system_call_returns(0x2a);
	CTR0(KTR_SYSC, "syscall: re-entering kernel");
	CTR2(KTR_SYSC, "syscall p=0x%x #0x%x", USER_P, 0xc7);
	system_call_returns(0xf017542c);
	TR0("newer");
}

static void debugger(void)
{
	fill(0x394);
	splx(2212, 0xffffffff, 0x7ffffffa);
	TR0("kdebug: entry");
	TR1("delaying debugger entry %dms", 100);
	TR0("disable tracing for kdebug");
}

int main(int argc, char *argv[])
{
	if (argc < 2)
		lpopen(3);
	else if (!strcmp(argv[1], "tdump"))
		tdump();
	else if (!strcmp(argv[1], "debugger"))
		debugger();
	else
		return 2;
	return 0;
}
