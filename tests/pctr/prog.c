// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program for pctr(4) as they are written on OpenBSD, which does what its arguments say in turn
 * and answers each with a line: "ok" or values, or the error's name.  $PCTR_DEVICE is another
 * device.  Unless another mode is said, it is open for reading and writing.
 *
 *	rdonly wronly rdwr	opens the device anew
 *	read			PCIOCRD: "FN FN FN FN TSC VALUE VALUE VALUE VALUE"
 *	set N FUNCTION		PCIOCS0 to 3; 4 is the number after them
 *	request NUMBER FUNCTION	any ioctl number; a struct pctrst that begins with the function
 *	bad N			PCIOCSn, or PCIOCRD (-1), with memory that the program does not have
 *	cpu N			stays on that CPU
 *	loop N			N rounds of two instructions
 *	delta I N		counter I, by how much it grew over a loop of N rounds
 *	close			closes the device and leaves it so
 */
#include <sys/types.h>
#include <machine/cpu.h>
#include <machine/pctr.h>

#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../vm/progs/spin.h"

static const unsigned long sets[] = { PCIOCS0, PCIOCS1, PCIOCS2, PCIOCS3, _IOW('c', 12, u_int) };

struct prog {
	int fd;			/* -1: closed */
	int mode;
	char **next;		/* argument */
};

static unsigned long number(struct prog *p)
{
	return *p->next ? strtoul(*p->next++, NULL, 0) : 0;
}

static void answer(int failed)
{
	puts(failed ? strerrorname_np(errno) : "ok");
}

static void show(const struct pctrst *st)
{
	for (int i = 0; i < PCTR_NUM; i++)
		printf("%08x ", st->pctr_fn[i]);
	printf("%llu", st->pctr_tsc);
	for (int i = 0; i < PCTR_NUM; i++)
		printf(" %llu", st->pctr_hwc[i]);
	putchar('\n');
}

static void do_close(struct prog *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static void device(struct prog *p, int mode)
{
	const char *path = getenv("PCTR_DEVICE");

	do_close(p);
	p->mode = mode;
	p->fd = open(path ? path : _PATH_PCTR, mode);
	if (p->fd < 0)
		answer(1);
}

static void do_rdonly(struct prog *p)
{
	device(p, O_RDONLY);
}

static void do_wronly(struct prog *p)
{
	device(p, O_WRONLY);
}

static void do_rdwr(struct prog *p)
{
	device(p, O_RDWR);
}

static void do_read(struct prog *p)
{
	struct pctrst st;

	memset(&st, 0xff, sizeof(st));
	if (ioctl(p->fd, PCIOCRD, &st))
		answer(1);
	else
		show(&st);
}

static void do_set(struct prog *p)
{
	unsigned long n = number(p);
	u_int fn = (u_int)number(p);

	answer(ioctl(p->fd, sets[n % 5], &fn));
}

static void do_request(struct prog *p)
{
	unsigned long request = number(p);
	struct pctrst st;

	memset(&st, 0, sizeof(st));
	st.pctr_fn[0] = (u_int)number(p);
	if (ioctl(p->fd, request, &st))
		answer(1);
	else
		show(&st);
}

static void do_bad(struct prog *p)
{
	unsigned long n = number(p);

	answer(ioctl(p->fd, n < 5 ? sets[n] : PCIOCRD, (void *)8));
}

static void do_cpu(struct prog *p)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((int)number(p), &set);
	answer(sched_setaffinity(0, sizeof(set), &set));
}

static void do_loop(struct prog *p)
{
	spin(number(p));
}

static void do_delta(struct prog *p)
{
	unsigned long i = number(p) % PCTR_NUM, rounds = number(p);
	struct pctrst before, after;
	int failed = ioctl(p->fd, PCIOCRD, &before);

	spin(rounds);
	if (failed || ioctl(p->fd, PCIOCRD, &after))
		answer(1);
	else
		printf("%llu\n", after.pctr_hwc[i] - before.pctr_hwc[i]);
}

static const struct {
	const char *word;
	void (*run)(struct prog *p);
	int opens;		/* by itself, or needs nothing open */
} commands[] = {
	{ "rdonly", do_rdonly, 1 }, { "wronly", do_wronly, 1 }, { "rdwr", do_rdwr, 1 },
	{ "read", do_read, 0 }, { "set", do_set, 0 }, { "request", do_request, 0 },
	{ "bad", do_bad, 0 }, { "cpu", do_cpu, 1 }, { "loop", do_loop, 1 },
	{ "delta", do_delta, 0 }, { "close", do_close, 1 },
};

int main(int argc, char **argv)
{
	struct prog p = { .fd = -1, .mode = O_RDWR, .next = argv + (argc > 0) };

	while (*p.next) {
		const char *word = *p.next++;
		size_t i, n = sizeof(commands) / sizeof(commands[0]);

		for (i = 0; i < n && strcmp(word, commands[i].word); i++)
			;
		if (i == n)
			return 2;
		if (p.fd < 0 && !commands[i].opens)
			device(&p, p.mode);
		commands[i].run(&p);
		fflush(stdout);
	}
	return 0;
}
