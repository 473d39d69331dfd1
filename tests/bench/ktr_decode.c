/* SPDX-License-Identifier: BSD-2-Clause */
/* tdump's speed and memory on small and large rings. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/ktr_region.h>

#include "bench.h"

#define MILLION	 (1u << 20)
#define FEW	 1024u
#define RUNS	 5

/* --- rings as the kernel might have written them -------------------------------------------- */

static void put_formats(unsigned char *page, struct ktr_region *head)
{
	static const struct ktr_format formats[] = {
		{ .magic = KTR_FORMAT_MAGIC, .id = 1, .classes = 0x2000, .name = "sys_enter",
		  .text = "syscall p=0x%x #0x%x" },
		{ .magic = KTR_FORMAT_MAGIC, .id = 2, .classes = 0x2000, .name = "sys_exit",
		  .text = "syscall p=0x%x err=%d ret=%x" },
	};

	head->formats = 2;
	head->formats_offset = KTR_REGION_PAGE;
	memcpy(page + KTR_REGION_PAGE, formats, sizeof(formats));
}

static void put_all(int fd, const void *data, size_t len)
{
	for (ssize_t n; len; data = (const char *)data + n, len -= (size_t)n) {
		n = write(fd, data, len);
		if (n <= 0)
			die("a file of rings cannot be written: %s", strerror(errno));
	}
}

static void put_ring(int fd, uint32_t cpu, uint32_t entries)
{
	struct ktr_ring ring = { .head = entries, .cpu = cpu };
	static struct ktr_entry batch[FEW];

	put_all(fd, &ring, sizeof(ring));
	for (uint32_t n = 0; n < entries; n += FEW) {
		for (uint32_t i = 0; i < FEW; i++)
			batch[i] = (struct ktr_entry){
				.ktr_time = 1000000000ull + (n + i) * 700ull + cpu * 11,
				.ktr_seq = n + i + 1, .ktr_tid = 1000 + cpu,
				.ktr_desc = KTR_DESC(cpu, 0, 1 + (i & 1)),
				.ktr_parm1 = 1000 + cpu, .ktr_parm2 = i & 0xff,
				.ktr_parm3 = (uint64_t)i << 12,
			};
		put_all(fd, batch, sizeof(batch));
	}
}

static void put_region(const char *path, uint32_t ncpu, uint32_t entries)
{
	unsigned char pages[2 * KTR_REGION_PAGE] = { 0 };
	struct ktr_region head = {
		.magic = KTR_REGION_MAGIC, .version = KTR_REGION_VERSION, .hdrsize = sizeof(pages),
		.entsize = KTR_ENTRY_SIZE, .entries = entries, .ncpu = ncpu,
		.flags = KTR_REGION_KERNEL,
		.stride = sizeof(struct ktr_ring) + (uint64_t)entries * KTR_ENTRY_SIZE,
		.clock = KTR_CLOCK_MONOTONIC, .frequency = 1000000000, .compile = 0x2000,
	};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	put_formats(pages, &head);
	memcpy(pages, &head, sizeof(head));
	put_all(fd, pages, sizeof(pages));
	for (uint32_t cpu = 0; cpu < ncpu; cpu++)
		put_ring(fd, cpu, entries);
	close(fd);
}

/* --- tdump ---------------------------------------------------------------------------------- */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* ns of its CPU time for each entry, and MB at most. */
static void decode(const char *file, double entries, struct series *ns, struct series *mb)
{
	char tdump[PATH_MAX];
	struct rusage used;
	int status;
	pid_t pid;

	path_beside(tdump, sizeof(tdump), "../bin/tdump");
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (null < 0 || dup2(null, 1) < 0)
			_exit(126);
		execl(tdump, "tdump", "-i", file, (char *)NULL);
		die("%s: %s", tdump, strerror(errno));
	}
	if (wait4(pid, &status, 0, &used) != pid || status)
		die("tdump failed (status %#x)", status);
	add(ns, (seconds(used.ru_utime) + seconds(used.ru_stime)) * 1e9 / entries);
	add(mb, (double)used.ru_maxrss / 1024);
}

static void few_cpus(const char *path)
{
	struct series ns = { 0 }, mb = { 0 };

	put_region(path, 2, MILLION);
	for (int i = 0; i < RUNS; i++)
		decode(path, 2.0 * MILLION, &ns, &mb);
	report(&(struct figure){ "tdump, an entry of 2 rings", "ns", &ns, NULL, NULL, JUDGE_VALUE,
				 100 });
}

static void many_cpus(const char *path)
{
	struct series ns = { 0 }, mb = { 0 }, ns_small = { 0 }, mb_small = { 0 };

	put_region(path, 64, FEW);
	decode(path, 64.0 * FEW, &ns_small, &mb_small);
	put_region(path, 64, MILLION);
	decode(path, 64.0 * MILLION, &ns, &mb);
	report(&(struct figure){ "tdump, an entry of 64 rings", "ns", &ns, NULL, NULL, JUDGE_VALUE,
				 100 });
	report(&(struct figure){ "tdump, memory for 64 x 1048576", "MB", &mb, "64 x 1024",
				 &mb_small, JUDGE_RATIO, 1.2 });
}

void bench_ktr_decode(const struct bench *b)
{
	static const char *const needs[] = { "../bin/tdump", NULL };
	char path[96];

	if (lacks("ktr: tdump", needs))
		return;
	snprintf(path, sizeof(path), "%s/rings", b->dir);
	few_cpus(path);
	if (room_for(b->dir, 2 * 64.0 * MILLION * KTR_ENTRY_SIZE))
		many_cpus(path);
	else
		left_out("ktr: tdump", "%s has no room for 64 rings of a million entries (4 GB)",
			 b->dir);
	unlink(path);
}
