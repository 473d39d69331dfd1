/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables from a helper process without privileges: what it may do, its limits, and the daemon's
 * check of everything that it writes.
 */
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/unwind/unwind_worker.h"
#include "unit.h"

#define PATIENCE_MS 60000u

enum job { JOB_TABLE, JOB_SPIN, JOB_TRY, JOBS };

static struct helpers *helpers;

/* --- jobs ------------------------------------------------------------------------------------- */

/* Never answers: its limit of CPU time has to end it. */
static int spin_job(struct helper_call *call)
{
	static volatile unsigned int sink;

	if (unwind_worker_confine(&(struct unwind_limits){ .cpu_s = 0, .memory_mb = 256 }))
		helper_finish(call, -EPROTO);
	for (;;)
		sink++;
}

/* The number of the first thing that a confined process can do and should not, or 0. */
static int try_all(int fd)
{
	if (open("/dev/null", O_RDONLY) >= 0)
		return 1;
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		return 2;
	if (fork() >= 0)
		return 3;
	if (kill(getppid(), 0) == 0)
		return 4;
	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED)
		return 5;
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	    MAP_FAILED)
		return 6;
	if (dup(fd) >= 0)
		return 7;
	if (syscall(SYS_execveat, fd, "", NULL, NULL, 0x1000) == 0)
		return 8;
	if (syscall(SYS_ptrace, 16, 1, NULL, NULL) == 0)
		return 9;
	return 0;
}

static int try_job(struct helper_call *call)
{
	const struct unwind_limits limits = UNWIND_LIMITS;
	char *memory;
	int result;

	if (unwind_worker_confine(&limits))
		helper_finish(call, -EPROTO);
	/* What it needs, it has. */
	memory = malloc(10u << 20);
	if (!memory || pread(call->fds[0], memory, 4, 0) != 4)
		helper_finish(call, -ENOMEM);
	result = try_all(call->fds[0]);
	free(memory);
	helper_finish(call, result);
}

static helper_job *const jobs[JOBS] = {
	[JOB_TABLE] = unwind_worker_job, [JOB_SPIN] = spin_job, [JOB_TRY] = try_job,
};

static void ready(struct helper_task *t)
{
}

/* The result of a job.  Helpers of earlier ones may not have exited yet. */
static int run_job(enum job job, const struct unwind_limits *limits, const int *fds,
		   unsigned int nfds)
{
	struct pollfd event = { .fd = helpers_fd(helpers), .events = POLLIN };
	struct helper_task t = { .ready = ready };
	struct helper_part part;
	enum helper_state state;
	int err;

	while ((err = helper_start(helpers, &t, job, limits, limits ? sizeof(*limits) : 0, fds,
				   nfds, PATIENCE_MS)) == -EAGAIN) {
		assert_int_equal(poll(&event, 1, PATIENCE_MS), 1);
		helpers_run(helpers);
	}
	assert_int_equal(err, 0);
	do {
		helper_wait(helpers, &t);
		state = helper_read(helpers, &t, &part);
		assert_int_not_equal(state, HELPER_PART);
	} while (state == HELPER_LATER);
	helpers_run(helpers);
	helpers_settle(helpers);
	return t.result;
}

/* --- tables ----------------------------------------------------------------------------------- */

static int build(int file, const struct unwind_limits *limits, int *memory)
{
	int fds[2] = { file };

	*memory = fds[1] = unwind_shared_new();
	assert_true(fds[1] >= 0);
	return run_job(JOB_TABLE, limits, fds, 2);
}

static int own_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void check_equal(const struct unwind_table *a, const struct unwind_table *b)
{
	assert_int_equal(a->arch, b->arch);
	assert_int_equal(a->base, b->base);
	assert_int_equal(a->ncode, b->ncode);
	assert_int_equal(a->nfdes, b->nfdes);
	assert_memory_equal(a->code, b->code, sizeof(a->code));
	assert_int_equal(a->nrows, b->nrows);
	assert_int_equal(a->nrules, b->nrules);
	assert_int_equal(a->npages, b->npages);
	assert_memory_equal(a->rows, b->rows, a->nrows * sizeof(*a->rows));
	assert_memory_equal(a->rules, b->rules, a->nrules * sizeof(*a->rules));
	assert_memory_equal(a->pages, b->pages, a->npages * sizeof(*a->pages));
}

/* The worker's table is the one that is built here; more than one after another. */
static void test_table(void **state)
{
	const struct unwind_limits limits = UNWIND_LIMITS;
	struct unwind_shared s;
	struct unwind_table t;
	struct reason why;
	int file = own_file();

	assert_int_equal(unwind_table_build(&t, &(struct unwind_input){ .fd = file }, &why), 0);
	for (unsigned int i = 0; i < 5; i++) {
		int memory;

		assert_int_equal(build(file, &limits, &memory), 0);
		assert_int_equal(unwind_shared_open(&s, memory, &why), 0);
		check_equal(&s.table, &t);
		unwind_shared_close(&s);
		close(memory);
	}
	unwind_table_free(&t);
	close(file);
}

/* A file of zeros with a head that claims an .eh_frame of this size. */
static int large_file(uint64_t size)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr code;
		Elf64_Shdr sections[3];
		char names[16];
	} f = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
			  .e_type = ET_DYN, .e_machine = EM_X86_64, .e_phnum = 1, .e_shnum = 3,
			  .e_shstrndx = 2, .e_phoff = sizeof(f.head), .e_phentsize = sizeof(f.code),
			  .e_shoff = sizeof(f.head) + sizeof(f.code),
			  .e_shentsize = sizeof(f.sections[0]) },
		.code = { .p_type = PT_LOAD, .p_flags = PF_X, .p_memsz = 4096 },
		.sections = {
			[1] = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC,
				.sh_offset = sizeof(f), .sh_size = size },
			[2] = { .sh_offset = sizeof(f) - sizeof(f.names) },
		},
		.names = "\0.eh_frame",
	};
	int fd = memfd_create("large", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &f, sizeof(f)), sizeof(f));
	assert_int_equal(ftruncate(fd, (off_t)(sizeof(f) + size)), 0);
	return fd;
}

static void expect_refused(int file, const struct unwind_limits *limits, int error,
			   const char *text)
{
	struct unwind_shared s;
	struct reason why;
	int memory;

	assert_int_equal(build(file, limits, &memory), error);
	assert_int_equal(unwind_shared_open(&s, memory, &why), -ENODATA);
	assert_contains(why.text, text);
	assert_null(s.map);
	close(memory);
	close(file);
}

/*
 * The reason comes with the refusal, also for a file that needs more memory than the worker may
 * have.
 */
static void test_refused(void **state)
{
	const struct unwind_limits limits = UNWIND_LIMITS, small = { .cpu_s = 2, .memory_mb = 64 };
	int text = memfd_create("text", MFD_CLOEXEC);

	assert_int_equal(write(text, "#!/bin/sh\n", 10), 10);
	expect_refused(text, &limits, -ENOEXEC, "ELF");
	expect_refused(large_file(UNWIND_FRAME_MAX + 1ull), &limits, -E2BIG, "64 MB");
#ifndef __SANITIZE_ADDRESS__
	expect_refused(large_file(UNWIND_FRAME_MAX), &small, -ENOMEM, "memory");
#endif
	/* Zeros: no function. */
	expect_refused(open("/dev/null", O_RDONLY | O_CLOEXEC), &limits, -ENOEXEC, "ELF");
}

static void test_protocol(void **state)
{
	const struct unwind_limits limits = UNWIND_LIMITS;
	int file = own_file();

	assert_int_equal(run_job(JOB_TABLE, &limits, &file, 1), -EPROTO);
	assert_int_equal(run_job(JOB_TABLE, NULL, (int[2]){ file, file }, 2), -EPROTO);
	close(file);
}

static void test_confined(void **state)
{
	int file = own_file();

#ifdef __SANITIZE_ADDRESS__
	close(file);
	skip();
#endif
	assert_int_equal(run_job(JOB_TRY, NULL, &file, 1), 0);
	close(file);
}

/* The kernel ends a worker that calculates for too long; the next one is not affected. */
static void test_cpu_time(void **state)
{
	assert_int_equal(run_job(JOB_SPIN, NULL, NULL, 0), -EIO);
	test_table(state);
}

/* --- the daemon's check ----------------------------------------------------------------------- */

static uint8_t *image;			/* what a worker has written */
static size_t image_size;

static void image_read(void)
{
	const struct unwind_limits limits = UNWIND_LIMITS;
	int memory, file = own_file();
	struct stat st;

	assert_int_equal(build(file, &limits, &memory), 0);
	assert_int_equal(fstat(memory, &st), 0);
	image_size = (size_t)st.st_size;
	image = malloc(image_size);
	assert_non_null(image);
	assert_int_equal(pread(memory, image, image_size, 0), image_size);
	close(memory);
	close(file);
}

static int open_image(struct unwind_shared *s, size_t size, struct reason *why)
{
	int err, fd = unwind_shared_new();

	assert_int_equal(write(fd, image, size), size);
	err = unwind_shared_open(s, fd, why);
	close(fd);
	return err;
}

/* Everything that is accepted can be searched. */
static void try_image(void)
{
	struct unwind_shared s;
	struct reason why;

	if (open_image(&s, image_size, &why)) {
		assert_true(*why.text);
		return;
	}
	for (uint64_t at = 0; at < (uint64_t)s.table.npages << UNWIND_PAGE_SHIFT; at += 4093)
		assert_true(unwind_table_rule(&s.table, s.table.base + at) < s.table.nrules);
	unwind_shared_close(&s);
}

/* A word of it after another replaced, and every shorter length. */
static void test_damaged(void **state)
{
	static const uint32_t lies[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
	struct unwind_shared s;
	struct reason why;

	image_read();
	for (size_t at = 0; at + 4 <= image_size; at += at < 2048 ? 4 : 404) {
		uint32_t kept;

		memcpy(&kept, image + at, 4);
		for (unsigned int i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			memcpy(image + at, &lies[i], 4);
			try_image();
		}
		memcpy(image + at, &kept, 4);
	}
	assert_int_equal(open_image(&s, image_size, &why), 0);
	unwind_shared_close(&s);
	for (size_t size = 0; size < image_size; size += size < 2048 ? 1 : 509)
		assert_int_equal(open_image(&s, size, &why), -EBADMSG);
	/* A row out of order: the last two swapped. */
	for (unsigned int i = 0; i < 4; i++) {
		uint8_t *a = image + image_size - 8 + i, byte = *a;

		*a = a[4];
		a[4] = byte;
	}
	assert_int_equal(open_image(&s, image_size, &why), -EBADMSG);
	free(image);
}

/* Memory that someone could still change is refused. */
static void test_unsealed(void **state)
{
	struct unwind_shared s;
	struct reason why;
	int fd = unwind_shared_new(), plain = memfd_create("plain", MFD_CLOEXEC);
	void *map;

	assert_int_equal(ftruncate(fd, 8192), 0);
	map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	assert_int_equal(unwind_shared_open(&s, fd, &why), -EBUSY);
	assert_contains(why.text, "sealed");
	munmap(map, 8192);
	assert_int_equal(unwind_shared_open(&s, fd, &why), -EBADMSG);
	assert_int_equal(unwind_shared_open(&s, plain, &why), -EPERM);
	/* What has been opened can be changed no more. */
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	close(fd);
	close(plain);
}

static int start(void **state)
{
	return helpers_new(&helpers, &(struct helpers_spec){
		.name = "unwind-worker", .jobs = jobs, .njobs = JOBS, .max = 4,
	});
}

static int end(void **state)
{
	helpers_free(helpers);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_protocol), cmocka_unit_test(test_confined),
		cmocka_unit_test(test_cpu_time), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_unsealed),
	};

	return cmocka_run_group_tests(tests, start, end);
}
