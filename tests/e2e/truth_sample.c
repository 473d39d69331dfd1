/* SPDX-License-Identifier: BSD-2-Clause */
/* The program under test, and the kernel's samples of it. */
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

#define RING	  (16u << 20)
#define PERIOD_NS 2000000u

#ifdef __aarch64__
#define REGS_MASK ((1ull << 33) - 1)
#else
/* ax bx cx dx si di bp sp ip, and r8 to r15: what comes first in a sample has the lowest bit. */
#define REGS_MASK 0xff01ffull
static const uint8_t sample_order[TRUTH_REGS] = {
	0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8,
};
#endif

struct ring {
	int fd;
	struct perf_event_mmap_page *head;
	const uint8_t *data;
	pid_t pid;
	int program;			/* its file, which may be gone by the time of its mapping */
	const struct truth_sink *sink;
	union {
		struct perf_event_header header;
		uint8_t bytes[65536];
		uint64_t words[8192];
	} record;
};

static struct ring ring;

/* --- records ---------------------------------------------------------------------------------- */

/* The kernel's own pages, as a file. */
static int vdso_open(void)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	const Elf64_Ehdr *head = (const void *)image;
	size_t size;

	if (!image || fd < 0)
		return -1;
	size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	return write(fd, image, size) == (ssize_t)size ? fd : -1;
}

/* The mapped file; -1: it cannot be found. */
static int file_open(const char *path, uint64_t inode)
{
	struct stat st;
	int fd;

	if (!strcmp(path, "[vdso]"))
		return vdso_open();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && st.st_ino == inode)
		return fd;
	close(fd);
	return ring.program >= 0 && !fstat(ring.program, &st) && st.st_ino == inode ?
		       dup(ring.program) : -1;
}

static void take_mapping(void)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, size, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[];
	} *r = (const void *)ring.record.bytes;
	struct truth_mapping m = {
		.start = r->start, .size = r->size, .offset = r->offset,
	};

	if ((pid_t)r->pid != ring.pid)
		return;
	m.path = strdup(r->path);	/* for as long as the program runs */
	m.fd = file_open(r->path, r->inode);
	/* Its offset is that of a page of the kernel. */
	if (!strcmp(r->path, "[vdso]"))
		m.offset = 0;
	ring.sink->mapping(&m);
}

static void take_sample(void)
{
	const uint64_t *word = ring.record.words + 1;
	struct truth_sample s;
	uint32_t ids[2];

	memcpy(ids, word++, sizeof(ids));
	s.pid = (pid_t)ids[0];
	s.tid = (pid_t)ids[1];
	/* Its children have its memory, or a copy. */
	if (*word++ != PERF_SAMPLE_REGS_ABI_64)
		return;
#ifdef __aarch64__
	memcpy(s.regs, word, sizeof(s.regs));
#else
	for (unsigned int i = 0; i < TRUTH_REGS; i++)
		s.regs[i] = word[sample_order[i]];
#endif
	word += TRUTH_REGS;
	s.nstack = *word++;
	s.stack = (const uint8_t *)word;
	if (s.nstack)
		s.nstack = word[s.nstack / 8];		/* as much of it as was there */
	ring.sink->sample(&s);
}

static void ring_copy(uint64_t at, size_t n)
{
	size_t first = RING - at % RING;

	first = first < n ? first : n;
	memcpy(ring.record.bytes, ring.data + at % RING, first);
	memcpy(ring.record.bytes + first, ring.data, n - first);
}

static void ring_drain(void)
{
	uint64_t tail = ring.head->data_tail;

	while (tail != __atomic_load_n(&ring.head->data_head, __ATOMIC_ACQUIRE)) {
		ring_copy(tail, sizeof(ring.record.header));
		ring_copy(tail, ring.record.header.size);
		if (ring.record.header.type == PERF_RECORD_MMAP2)
			take_mapping();
		else if (ring.record.header.type == PERF_RECORD_SAMPLE)
			take_sample();
		else if (ring.record.header.type == PERF_RECORD_LOST)
			warnx("%llu records lost", (unsigned long long)ring.record.words[2]);
		tail += ring.record.header.size;
		__atomic_store_n(&ring.head->data_tail, tail, __ATOMIC_RELEASE);
	}
}

/* --- the program ------------------------------------------------------------------------------ */

static int ring_open(pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS, .disabled = 1, .enable_on_exec = 1, .inherit = 1,
		.mmap = 1, .mmap2 = 1, .watermark = 1, .wakeup_watermark = RING / 16,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = REGS_MASK, .sample_stack_user = TRUTH_STACK,
	};
	uint8_t *map;

	ring.fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring.fd < 0)
		err(2, "perf_event_open");
	map = mmap(NULL, RING + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
		   ring.fd, 0);
	if (map == MAP_FAILED)
		err(2, "mmap");
	ring.head = (void *)map;
	ring.data = map + sysconf(_SC_PAGESIZE);
	return ring.fd;
}

/* On one CPU, so that there is one ring, in order; it waits for a byte before its exec. */
static pid_t program_start(char **argv, int cpu, int *go)
{
	cpu_set_t one;
	int pair[2];
	pid_t pid;
	char byte;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	if (pipe2(pair, O_CLOEXEC))
		err(2, "pipe");
	pid = fork();
	if (pid < 0)
		err(2, "fork");
	if (pid == 0) {
		close(pair[1]);
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
		if (sched_setaffinity(0, sizeof(one), &one) || read(pair[0], &byte, 1) != 1)
			_exit(126);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(pair[0]);
	*go = pair[1];
	return pid;
}

int truth_run(char **argv, pid_t daemon, const struct truth_sink *sink)
{
	int go, status, cpu = sched_getcpu();
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };

	ring.sink = sink;
	ring.program = open(argv[0], O_RDONLY | O_CLOEXEC);
	ring.pid = program_start(argv, cpu, &go);
	fds[0].fd = ring_open(ring.pid, cpu);
	if (daemon)
		kernel_attach(daemon, ring.fd);
	fds[1].fd = (int)syscall(SYS_pidfd_open, ring.pid, 0);
	if (fds[1].fd < 0 || write(go, "", 1) != 1)
		err(2, "cannot start %s", argv[0]);
	while (!(fds[1].revents & POLLIN)) {
		if (poll(fds, 2, -1) < 0)
			err(2, "poll");
		/*
		 * Once the program has ended its event reports the hang-up at once, again and
		 * again.
		 */
		if (fds[0].revents & POLLHUP)
			fds[0].fd = -1;
		ring_drain();
	}
	if (waitpid(ring.pid, &status, 0) < 0)
		err(2, "waitpid");
	ring_drain();
	return status;
}
