/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that samples itself, and has a signal for each overflow:
 *
 *	signalled SPEC PERIOD SIGNO WORD...
 *
 * SPEC "word" is a breakpoint for writes to a variable.  A call that fails prints its reason and
 * ends the program with status 2.
 *
 *	limit=N		pmc_set_signal(), with SIGNO
 *	handle, default, block	what the program does with SIGNO
 *	start, stop
 *	pages=N		faults in user code, a page each
 *	read=N		faults in one system call
 *	stores=N	writes to the variable
 *	spin=MS		CPU time in user code
 *	threads=N	has N threads do the next word
 *	take=N		takes N pending signals
 *	log		samples go to a pipe …
 *	wait		… for which select(2) and epoll(2) wait
 *	exec		executes true(1)
 *	show		prints: signals handled, overflows, those without a signal, what is left
 *	own		prints the signals of each of the threads
 */
#include <err.h>
#include <pmc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8

static volatile long variable;
static int signo;
static pmc_id_t id;
static atomic_long handled;
static __thread volatile long own;
static long owns[THREADS];
static unsigned int nthreads;

static void on_signal(int sig)
{
	if (sig != signo)
		abort();
	handled++;
	own++;
}

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	printf("%s: %s\n", what, pmc_errstr());
	fflush(stdout);
	_exit(2);
}

static void handle(void (*handler)(int))
{
	const struct sigaction action = { .sa_handler = handler };

	if (sigaction(signo, &action, NULL))
		err(1, "sigaction");
}

static char *fresh(size_t size)
{
	char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED || madvise(area, size, MADV_NOHUGEPAGE))
		err(1, "mmap");
	return area;
}

static void pages(size_t n)
{
	size_t size = (size_t)getpagesize();
	char *area = fresh(n * size);

	for (size_t i = 0; i < n; i++)
		((volatile char *)area)[i * size] = 1;
	munmap(area, n * size);
}

static void read_zeros(size_t n)
{
	size_t size = n * (size_t)getpagesize();
	char *area = fresh(size);
	int fd = memfd_create("zeros", MFD_CLOEXEC);

	/* No signal ends this call early. */
	if (fd < 0 || ftruncate(fd, (off_t)size) || read(fd, area, size) != (ssize_t)size)
		err(1, "memfd");
	close(fd);
	munmap(area, size);
}

static void spin(unsigned long ms)
{
	struct timespec now, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	end.tv_sec += (time_t)(ms / 1000);
	end.tv_nsec += (long)(ms % 1000) * 1000000;
	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec - end.tv_nsec < 0);
}

static void take(unsigned long n)
{
	const struct timespec none = { 0, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	while (n--)
		if (sigtimedwait(&set, NULL, &none) != signo)
			err(1, "sigtimedwait");
}

static void block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int log_end = -1;

static void log_begin(void)
{
	int ends[2];

	if (pipe(ends))
		err(1, "pipe");
	log_end = ends[0];
	check(pmc_configure_logfile(ends[1]), "log");
}

static void log_wait(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	int set = epoll_create1(EPOLL_CLOEXEC);
	fd_set fds;

	FD_ZERO(&fds);
	FD_SET(log_end, &fds);
	check(pmc_flush_logfile(), "flush");
	if (select(log_end + 1, &fds, NULL, NULL, NULL) != 1 ||
	    epoll_ctl(set, EPOLL_CTL_ADD, log_end, &e) || epoll_wait(set, &e, 1, -1) != 1)
		err(1, "log");
}

static void show(void)
{
	struct pmc_overflows o;

	check(pmc_get_overflows(id, &o), "pmc_get_overflows");
	printf("%ld %lu %lu %ld\n", (long)handled, (unsigned long)o.po_overflows,
	       (unsigned long)o.po_unsent, (long)o.po_left);
}

static void word_do(const char *word)
{
	const char *value = strchr(word, '=');
	unsigned long n = value ? strtoul(value + 1, NULL, 10) : 0;

	if (!strncmp(word, "limit=", 6))
		check(pmc_set_signal(id, signo, (uint32_t)n), word);
	else if (!strncmp(word, "pages=", 6))
		pages(n);
	else if (!strncmp(word, "read=", 5))
		read_zeros(n);
	else if (!strncmp(word, "spin=", 5))
		spin(n);
	else if (!strncmp(word, "take=", 5))
		take(n);
	else if (!strncmp(word, "stores=", 7))
		while (n--)
			variable++;
	else if (!strcmp(word, "start"))
		check(pmc_start(id), word);
	else if (!strcmp(word, "stop"))
		check(pmc_stop(id), word);
	else if (!strcmp(word, "handle"))
		handle(on_signal);
	else if (!strcmp(word, "default"))
		handle(SIG_DFL);
	else if (!strcmp(word, "block"))
		block();
	else if (!strcmp(word, "show"))
		show();
	else if (!strcmp(word, "log"))
		log_begin();
	else if (!strcmp(word, "wait"))
		log_wait();
	else if (!strcmp(word, "exec"))
		execlp("true", "true", NULL);
	else
		errx(1, "%s?", word);
}

struct job {
	const char *word;
	unsigned int n;
};

static void *thread_main(void *arg)
{
	const struct job *job = arg;

	own = 0;
	word_do(job->word);
	owns[job->n] = own;
	return NULL;
}

static void threads_do(const char *word)
{
	pthread_t thread[THREADS];
	struct job jobs[THREADS];

	for (unsigned int i = 0; i < nthreads; i++) {
		jobs[i] = (struct job){ word, i };
		if (pthread_create(&thread[i], NULL, thread_main, &jobs[i]))
			errx(1, "pthread_create");
	}
	for (unsigned int i = 0; i < nthreads; i++)
		pthread_join(thread[i], NULL);
}

static void owns_show(void)
{
	for (unsigned int i = 0; i < nthreads; i++)
		printf("%ld ", owns[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	char spec[64];

	if (argc < 4)
		errx(1, "see the source");
	signo = atoi(argv[3]);
	snprintf(spec, sizeof(spec), "breakpoint:%p:w", (void *)&variable);
	check(pmc_init(), "pmc_init");
	check(pmc_allocate(strcmp(argv[1], "word") ? argv[1] : spec, PMC_MODE_TS, PMC_F_SIGNAL,
			   PMC_CPU_ANY, &id, strtoul(argv[2], NULL, 10)), "pmc_allocate");
	for (int i = 4; i < argc; i++) {
		if (!strcmp(argv[i], "own"))
			owns_show();
		else if (!strncmp(argv[i], "threads=", 8) && i + 1 < argc) {
			nthreads = (unsigned int)atoi(argv[i] + 8) % (THREADS + 1);
			threads_do(argv[++i]);
		} else
			word_do(argv[i]);
	}
	return 0;
}
