/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A daemon that is kept, once, from giving an event its program, for LD_PRELOAD.  The file
 * $LATE_THREAD has the number of the event's thread.  The daemon waits until the FIFO $LATE has
 * been opened for reading, and then until it has been opened for writing.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int late_fd = -1;		/* the event */
static bool late;

static pid_t late_thread(void)
{
	const char *name = getenv("LATE_THREAD");
	FILE *f = name ? fopen(name, "re") : NULL;
	int tid = 0;

	if (f && fscanf(f, "%d", &tid) != 1)
		tid = 0;
	if (f)
		fclose(f);
	return tid;
}

long syscall(long number, ...)
{
	long (*real)(long number, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long a[6], fd;
	va_list ap;

	va_start(ap, number);
	for (unsigned int i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	fd = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == __NR_perf_event_open && a[1] > 0 && a[1] == late_thread())
		late_fd = (int)fd;
	return fd;
}

static void late_wait(const char *fifo)
{
	late = true;
	close(open(fifo, O_WRONLY | O_CLOEXEC));
	close(open(fifo, O_RDONLY | O_CLOEXEC));
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...) =
		(int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	const char *fifo = getenv("LATE");
	va_list ap;
	long arg;

	va_start(ap, request);
	arg = va_arg(ap, long);
	va_end(ap);
	if (request == PERF_EVENT_IOC_SET_BPF && fd >= 0 && fd == late_fd && !late && fifo)
		late_wait(fifo);
	return real(fd, request, arg);
}
