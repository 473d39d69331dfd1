/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening rings: a process's, a core's, a saved file's, an image's, the kernel's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "cli/common/common.h"
#include "tdump.h"

#define REGIONS_MAX   64u

struct ring_source {
	char name[64];
	struct memory mem;
	struct elf core;
	struct objects objects;
	struct saved saved;
	struct scan *scan;
	struct rings rings;
	struct points points;
	bool kernel;
};

bool sources_stamp(uint32_t clock, struct ktr_stamp *stamp)
{
	struct timespec mono, real;

	*stamp = (struct ktr_stamp){ 0 };
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	stamp->realtime = (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec;
	stamp->monotonic = (uint64_t)mono.tv_sec * 1000000000 + (uint64_t)mono.tv_nsec;
	stamp->clock = stamp->monotonic;
#ifdef __x86_64__
	if (clock == KTR_CLOCK_TSC)
		stamp->clock = __rdtsc();
	return clock != KTR_CLOCK_CNTVCT;
#elif defined(__aarch64__)
	if (clock == KTR_CLOCK_CNTVCT)
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(stamp->clock));
	return clock != KTR_CLOCK_TSC;
#else
	return clock != KTR_CLOCK_TSC && clock != KTR_CLOCK_CNTVCT;
#endif
}

/* Opens a file of the expected kind only: others may block or never end. */
static int source_open_file(const char *path, int *fd, uint64_t *size)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0)
		return fail_errno(errno == EACCES || errno == EPERM ? EX_NOPERM : EX_NOINPUT,
				  "ERROR: cannot read \"%s\"", path);
	if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		*size = (uint64_t)st.st_size;
		return 0;
	}
	close(*fd);
	*fd = -1;
	return fail(EX_NOINPUT, "ERROR: \"%s\" is %s", path, S_ISDIR(st.st_mode) ? "a directory" :
		    S_ISREG(st.st_mode) ? "empty" : "no regular file");
}

static int source_no_process(struct ring_source *s, pid_t pid, int err)
{
	if (err == ENOENT || err == ESRCH)
		return fail(EX_NOINPUT, "ERROR: there is no process %d", pid);
	if (err == EACCES || err == EPERM)
		return fail(EX_NOPERM, "ERROR: %s: reading its memory takes its user, or root: %s",
			    s->name, strerror(err));
	return fail(EX_OSERR, "ERROR: %s: %s", s->name, strerror(err));
}

/* Prefers the process's own region, if it has mapped others as well. */
static int source_own_region(struct ring_source *s, const uint64_t *bases, size_t n, pid_t pid)
{
	struct ktr_region header;
	size_t own = 0;

	for (size_t i = n; i-- > 0;)
		if (memory_get(&s->mem, bases[i], &header, sizeof(header)) == 0 &&
		    header.pid == (uint32_t)pid)
			own = i;
	return rings_open(&s->rings, &s->mem, bases[own], s->name);
}

static int source_open_process(struct ring_source *s, pid_t pid)
{
	uint64_t bases[REGIONS_MAX];
	char path[64];
	size_t n;
	int fd, err;

	snprintf(s->name, sizeof(s->name), "process %d", pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return source_no_process(s, pid, errno);
	memory_file(&s->mem, fd, 0);
	s->mem.live = true;
	err = objects_of_process(&s->objects, &s->mem, pid);
	if (err)
		return source_no_process(s, pid, -err);
	n = objects_regions(&s->objects, bases, REGIONS_MAX);
	if (n == 0)
		return fail(EX_UNAVAILABLE, "ERROR: %s has no trace rings: it is not linked with "
			    "libktr, or runs with KTR_SIZE=0", s->name);
	return source_own_region(s, bases, n, pid);
}

/* The memory that a core contains, by address. */
static int core_map_memory(struct ring_source *s)
{
	struct memory_range *ranges = calloc(s->core.nheaders + 1, sizeof(*ranges));
	size_t n = 0;

	if (!ranges)
		return -ENOMEM;
	for (size_t i = 0; i < s->core.nheaders; i++) {
		const Elf64_Phdr *p = &s->core.headers[i];

		if (p->p_type != PT_LOAD || p->p_filesz == 0 ||
		    p->p_vaddr + p->p_filesz < p->p_vaddr)
			continue;
		/*
		 * The kernel and gcore write segments in order, which memory_range_at() requires.
		 */
		if (n && ranges[n - 1].end > p->p_vaddr) {
			free(ranges);
			return -EBADMSG;
		}
		ranges[n++] = (struct memory_range){ p->p_vaddr, p->p_vaddr + p->p_filesz,
						  p->p_offset };
	}
	memory_file(&s->mem, s->core.mem->fd, 0);
	memory_ranges(&s->mem, ranges, n);
	return 0;
}

static int source_open_process_core(struct ring_source *s, const char *path)
{
	uint64_t bases[REGIONS_MAX];
	size_t n;
	int err = core_map_memory(s);

	if (!err)
		err = objects_of_core(&s->objects, &s->mem, &s->core);
	if (err)
		return fail(EX_DATAERR, "ERROR: \"%s\": damaged core: %s", path, strerror(-err));
	n = objects_regions(&s->objects, bases, REGIONS_MAX);
	if (n == 0)
		return fail(EX_UNAVAILABLE, "ERROR: \"%s\" has no trace rings: the program had "
			    "none, KTR_FILE has them, or coredump_filter left shared memory out",
			    path);
	return source_own_region(s, bases, n, 0);
}

static int source_open_scan(struct ring_source *s)
{
	int code = scan_open(&s->scan, &s->mem, s->name);

	return code ? code : scan_rings(s->scan, &s->rings);
}

/* A process's core has a note of its files; any other core may be an image of a machine. */
static int source_open_core(struct ring_source *s, const char *path, struct memory *file)
{
	uint64_t size = 0;
	size_t length;
	int fd, err, code = source_open_file(path, &fd, &size);

	if (code)
		return code;
	snprintf(s->name, sizeof(s->name), "\"%.58s\"", path);
	memory_file(file, fd, size);
	err = elf_open(&s->core, file);
	if (err == -ENODATA || (!err && s->core.type != ET_CORE))
		return fail(EX_DATAERR, err ? "ERROR: \"%s\": truncated ELF file" :
			    "ERROR: \"%s\" is an ELF file, but no core; the executable goes to -N",
			    path);
	if (!err && elf_note(&s->core, "CORE", NT_FILE, &length))
		return source_open_process_core(s, path);
	if (err && err != -ENOEXEC)
		return fail(EX_IOERR, "ERROR: \"%s\": %s", path, strerror(-err));
	err = scan_image(&s->mem, file, err ? NULL : &s->core);
	if (err)
		return fail(EX_OSERR, "ERROR: \"%s\": %s", path, strerror(-err));
	return source_open_scan(s);
}

static int source_open_input(struct ring_source *s, const char *path)
{
	uint64_t size = 0;
	int fd, code = source_open_file(path, &fd, &size);

	if (code)
		return code;
	snprintf(s->name, sizeof(s->name), "\"%.58s\"", path);
	memory_file(&s->mem, fd, size);
	if (rings_probe(&s->mem, 0) != 0 && scan_probe(&s->mem))
		return source_open_scan(s);
	return rings_open(&s->rings, &s->mem, 0, s->name);
}

static int source_open_remote(struct ring_source *s, const char *host_port)
{
	int code;

	snprintf(s->name, sizeof(s->name), "%.63s", host_port);
	code = scan_remote(&s->mem, host_port);
	return code ? code : source_open_scan(s);
}

static int source_open_kernel(struct ring_source *s, bool frozen)
{
	int code;

	snprintf(s->name, sizeof(s->name), "the kernel");
	s->kernel = true;
	code = kernel_map(&s->mem, frozen);
	return code ? code : rings_open(&s->rings, &s->mem, 0, s->name);
}

/* Finds trace points: in the saved file itself, else through its program's mappings. */
static int source_explain(struct ring_source *s)
{
	int err = saved_open(&s->saved, &s->rings);

	if (err == -ENOENT)
		err = objects_of_region(&s->objects, &s->mem, &s->rings.header);
	if (!err)
		return 0;
	return fail(EX_DATAERR, "ERROR: %s: what follows the rings is damaged", s->name);
}

static int source_finish(struct tdump *t, struct ring_source *s)
{
	int code;

	s->objects.exec = t->opt.exec;
	s->objects.region = &s->rings.header;
	code = t->opt.input && !s->rings.scan ? source_explain(s) : 0;
	points_open(&s->points, &s->rings, &s->objects);
	s->points.saved = s->saved.data ? &s->saved : NULL;
	s->points.no_cache = t->opt.no_cache;
	t->rings[t->nrings] = &s->rings;
	t->points[t->nrings++] = &s->points;
	return code;
}

/* Rings of two clocks, and any rings for a viewer, are converted to nanoseconds. */
static int sources_choose_clock(struct tdump *t)
{
	bool here = t->opt.pid != 0 || (!t->opt.core && !t->opt.input && !t->opt.remote);
	struct ktr_stamp now;

	if (t->nrings < 2 && t->opt.form != FORM_CHROME)
		return 0;
	for (size_t i = 0; i < t->nrings; i++) {
		bool stamped = here && sources_stamp(t->rings[i]->header.clock, &now);

		if (rings_to_ns(t->rings[i], stamped ? &now : NULL) == 0)
			continue;
		if (t->opt.clocks == 0)
			return fail(EX_DATAERR, "ERROR: %s: how fast its clock goes is not known; "
				    "-c tells, in clocks a microsecond", t->rings[i]->name);
		t->rings[i]->ns_a_clock = 1000 / t->opt.clocks;
	}
	return 0;
}

static int sources_open_first(struct tdump *t, struct ring_source *s)
{
	if (t->opt.pid)
		return source_open_process(s, t->opt.pid);
	if (t->opt.core)
		return source_open_core(s, t->opt.core, &t->sources[TDUMP_RINGS].mem);
	if (t->opt.input)
		return source_open_input(s, t->opt.input);
	if (t->opt.remote)
		return source_open_remote(s, t->opt.remote);
	return source_open_kernel(s, t->opt.freeze);
}

int sources_open(struct tdump *t)
{
	int code;

	/* One more, for the file below a core's memory. */
	t->sources = calloc(TDUMP_RINGS + 1, sizeof(*t->sources));
	if (!t->sources)
		return fail(EX_OSERR, "ERROR: out of memory");
	for (size_t i = 0; i <= TDUMP_RINGS; i++)
		t->sources[i].mem.fd = -1;
	code = sources_open_first(t, &t->sources[0]);
	if (!code)
		code = source_finish(t, &t->sources[0]);
	if (!code && t->opt.kernel)
		code = source_open_kernel(&t->sources[1], t->opt.freeze);
	if (!code && t->opt.kernel)
		code = source_finish(t, &t->sources[1]);
	return code ? code : sources_choose_clock(t);
}

void sources_close(struct tdump *t)
{
	for (size_t i = 0; t->sources && i <= TDUMP_RINGS; i++) {
		struct ring_source *s = &t->sources[i];

		points_close(&s->points);
		rings_close(&s->rings);
		saved_close(&s->saved);
		scan_close(s->scan);
		objects_close(&s->objects);
		elf_close(&s->core);
		if (s->kernel)
			kernel_unmap(&s->mem);
		/* A core's memory uses the last source's descriptor. */
		if (i < TDUMP_RINGS && s->mem.ranges && t->opt.core)
			s->mem.fd = -1;
		memory_close(&s->mem);
	}
	free(t->sources);
}
