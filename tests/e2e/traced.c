/* SPDX-License-Identifier: BSD-2-Clause */
/* A program with trace points: two entries for each letter on its standard input, then a dot. */
#define KTR
#define KTR_COMPILE (KTR_GEN | KTR_DEV)
#define KTR_DEFINE_OPTIONS
#include <sys/ktr.h>

#include <stdio.h>
#include <unistd.h>

int main(void)
{
	char letter;

	while (read(STDIN_FILENO, &letter, 1) == 1) {
		CTR1(KTR_DEV, "letter %c", letter);
		CTR1(KTR_GEN, "after it %s", "a text");
		CTR0(KTR_NET, "not compiled in");
		if (putchar('.') == EOF || fflush(stdout) != 0)
			return 1;
	}
	return 0;
}
