// SPDX-License-Identifier: BSD-2-Clause
/*
 * usdt N GUARDED: passes the probe demo:plain N times and another time in every second round, and
 * demo:guarded in each round while somebody counts it.  Exit status 0: that was GUARDED times.  In
 * each round demo:mixed is passed at a place without a semaphore, and at two with one each while
 * somebody counts it.
 */
#include <stdlib.h>

volatile unsigned short semaphore __attribute__((section(".probes"), used));
volatile unsigned short first __attribute__((section(".probes"), used));
volatile unsigned short second __attribute__((section(".probes"), used));

/* The same as SDT_PROBE() of <sys/sdt.h> makes. */
#define SITE(name, semaphore) __asm__ volatile( \
	"990: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n" \
	".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
	"993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte " semaphore "\n" \
	".asciz \"demo\"\n.asciz \"" name "\"\n.asciz \"\"\n994: .balign 4\n.popsection\n" \
	".ifndef _.stapsdt.base\n" \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n" \
	".size _.stapsdt.base, 1\n.popsection\n.endif\n")

int main(int argc, char **argv)
{
	int n, guarded = 0;

	if (argc != 3)
		return 2;
	n = atoi(argv[1]);
	for (int i = 0; i < n; i++) {
		SITE("plain", "0");
		if (semaphore) {
			guarded++;
			SITE("guarded", "semaphore");
		}
		if (i % 2)
			SITE("plain", "0");
		if (first)
			SITE("mixed", "first");
		SITE("mixed", "0");
		if (second)
			SITE("mixed", "second");
	}
	return guarded != atoi(argv[2]);
}
