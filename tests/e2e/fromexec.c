/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts a command by PMCs that wait for its exec, and by perf's events that do, side by side:
 *
 *	fromexec [-dfr] {EVENT TYPE CONFIG SIDE}... -- COMMAND [ARGUMENT...]
 *
 * SIDE is u, k or - (both).  Prints a line for each: the event, the PMC's count, perf's.
 *
 * -d  descendants as well
 * -f  the command cannot be executed: it is not there
 * -r  the PMCs are started, stopped and started again before the exec
 *
 * Before its exec the command's process uses much of everything, tries to execute what is not
 * there, and has a child that does the same and exits, and one that lives on and executes a program
 * later than its parent.
 */
#include <err.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pmc.h>

#define MAX_EVENTS 8
#define BYTES	   (2000 * 4096)

struct event {
	const char *name;
	pmc_id_t id;
	int fd;			/* perf's */
};

static struct options {
	bool descendants, fails, restart;
} options;

static struct event events[MAX_EVENTS];
static unsigned int nevents;

/* Faults, switches, and more time than a tick of any clock. */
static void use_much(void)
{
	const struct timespec pause = { .tv_nsec = 1000 };
	char *page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	clock_t until = clock() + CLOCKS_PER_SEC / 50;

	if (page == MAP_FAILED)
		err(1, "mmap");
	madvise(page, BYTES, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < BYTES; at += 4096)
		page[at] = 1;
	munmap(page, BYTES);
	for (int i = 0; i < 20; i++)
		nanosleep(&pause, NULL);
	while (clock() < until)
		;
}

static void try_exec(void)
{
	char *const none[] = { (char *)"/nonexistent", NULL };

	execv(none[0], none);
}

static void wait_byte(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		err(1, "pipe");
}

__attribute__((noreturn)) static void be_command(char *argv[], int go, int done)
{
	pid_t child;

	wait_byte(go);
	use_much();
	try_exec();
	child = fork();
	if (child == 0) {
		use_much();
		try_exec();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	child = fork();
	if (child == 0) {
		wait_byte(go);		/* until the parent has executed the command */
		use_much();
		execlp("true", "true", NULL);
		err(1, "true");
	}
	if (options.fails)
		argv[0] = (char *)"/nonexistent";
	execvp(argv[0], argv);
	if (!options.fails)
		err(1, "%s", argv[0]);
	_exit(7);
}

static int open_perf(pid_t pid, unsigned int type, unsigned long long config, char side)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = type, .config = config, .disabled = 1,
		.enable_on_exec = 1, .inherit = options.descendants, .exclude_kernel = side == 'u',
		.exclude_user = side == 'k',
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void begin(pid_t pid, char **word)
{
	struct event *e = &events[nevents++];
	uint32_t flags = options.descendants ? PMC_F_DESCENDANTS : 0;

	e->name = word[0];
	if (pmc_allocate(e->name, PMC_MODE_TC, flags, PMC_CPU_ANY, &e->id, 0) != 0)
		errx(1, "%s: %s", e->name, pmc_errstr());
	if (pmc_attach_exec(e->id, pid) != 0)
		errx(1, "%s: %s", e->name, pmc_errstr());
	e->fd = open_perf(pid, (unsigned int)atoi(word[1]), strtoull(word[2], NULL, 0), *word[3]);
	if (e->fd < 0)
		err(1, "perf's %s", e->name);
}

static void each(int (*fn)(pmc_id_t id))
{
	for (unsigned int i = 0; i < nevents; i++)
		if (fn(events[i].id) != 0)
			errx(1, "%s: %s", events[i].name, pmc_errstr());
}

static void show(const struct event *e)
{
	uint64_t perf;
	pmc_value_t value;

	if (read(e->fd, &perf, sizeof(perf)) != sizeof(perf))
		err(1, "perf's %s", e->name);
	if (pmc_read(e->id, &value) != 0)
		errx(1, "%s: %s", e->name, pmc_errstr());
	printf("%s %llu %llu\n", e->name, (unsigned long long)value, (unsigned long long)perf);
}

static void run(pid_t pid, int go, int done)
{
	char byte;

	each(pmc_start);
	if (options.restart) {
		each(pmc_stop);
		each(pmc_start);
	}
	if (write(go, "g", 1) != 1)
		err(1, "pipe");
	if (waitpid(pid, NULL, 0) < 0)
		err(1, "waitpid");
	if (write(go, "g", 1) != 1)
		err(1, "pipe");
	/* The end of all of them, which have the other end of the pipe. */
	while (read(done, &byte, 1) == 1)
		;
}

int main(int argc, char *argv[])
{
	int go[2], done[2], at, letter;
	pid_t pid;

	while ((letter = getopt(argc, argv, "+dfr")) != -1) {
		options.descendants |= letter == 'd';
		options.fails |= letter == 'f';
		options.restart |= letter == 'r';
	}
	for (at = optind; at < argc && strcmp(argv[at], "--"); at++)
		;
	if (pmc_init() != 0)
		errx(1, "%s", pmc_errstr());
	if (pipe(go) || pipe(done))
		err(1, "pipe");
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(done[0]);
		be_command(argv + at + 1, go[0], done[1]);
	}
	close(done[1]);
	for (int i = optind; i + 3 < at && nevents < MAX_EVENTS; i += 4)
		begin(pid, argv + i);
	run(pid, go[1], done[0]);
	for (unsigned int i = 0; i < nevents; i++)
		show(&events[i]);
	return 0;
}
