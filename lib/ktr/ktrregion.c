/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making regions: memory that readers find in /proc/PID/maps by its name, "/memfd:ktr" or KTR_FILE,
 * that core dumps contain, and that children share.  Rings of CPUs that trace nothing take no
 * memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ktr.h"
#include "lib/base/cpuranges.h"

/* Rings are indexed by CPU number: "0-3,8" needs 9, although only 5 CPUs exist. */
static uint32_t possible_cpus(void)
{
	char text[1024];
	long configured = sysconf(_SC_NPROCESSORS_CONF);
	unsigned long most = configured > 0 ? (unsigned long)configured : 1, end;
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n > 0) {
		text[n] = '\0';
		end = cpuranges_end(text);
		if (end > most)
			most = end;
	}
	return most > KTR_REGION_CPUS ? KTR_REGION_CPUS : (uint32_t)most;
}

static size_t page_size(void)
{
	return getauxval(AT_PAGESZ);
}

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

static size_t rings_size(const struct ktr_region *region)
{
	return round_up(region->hdrsize + region->ncpu * region->stride, KTR_REGION_PAGE);
}

static size_t region_size(const struct ktr_region *region, bool file)
{
	return round_up(rings_size(region) + (file ? KTR_OBJECTS : 0), page_size());
}

/* Removes an old trace, but no other file; processes that map it keep its contents. */
static int region_remove_old(const char *path)
{
	char magic[sizeof(KTR_REGION_MAGIC)];
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	n = !fstat(fd, &st) && S_ISREG(st.st_mode) ? read(fd, magic, sizeof(magic)) : -1;
	close(fd);
	if (n != sizeof(magic) || memcmp(magic, KTR_REGION_MAGIC, sizeof(magic)))
		return -EEXIST;
	return unlink(path) ? -errno : 0;
}

/* Allocates all blocks, on any file system: a full disk must not raise SIGBUS later. */
static int region_open_file(const char *path, size_t size)
{
	int error = region_remove_old(path), fd;

	if (error)
		return error;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	error = -posix_fallocate(fd, 0, (off_t)size);
	if (error) {
		unlink(path);
		close(fd);
		return error;
	}
	return fd;
}

static int region_open_memory(size_t size)
{
	int fd = memfd_create("ktr", MFD_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size)) {
		error = -errno;
		close(fd);
		return error;
	}
	return fd;
}

static int object_build_id(struct dl_phdr_info *object, size_t size, void *data)
{
	struct ktr_region *region = data;

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(object->dlpi_addr + segment->p_vaddr);
		const uint8_t *end = at + segment->p_memsz;
		const ElfW(Nhdr) *note;

		if (segment->p_type != PT_NOTE)
			continue;
		while ((size_t)(end - at) >= sizeof(*note)) {
			size_t name, descr;

			note = (const void *)at;
			name = round_up(note->n_namesz, 4);
			descr = round_up(note->n_descsz, 4);
			if (name + descr > (size_t)(end - at) - sizeof(*note))
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    !memcmp(note + 1, "GNU", 4) &&
			    note->n_descsz <= sizeof(region->build_id)) {
				region->build_id_size = note->n_descsz;
				memcpy(region->build_id, (const uint8_t *)(note + 1) + name,
				       note->n_descsz);
				return 1;
			}
			at += sizeof(*note) + name + descr;
		}
	}
	return 1;	/* the first is the executable; the others are not needed */
}

static void region_describe_program(struct ktr_region *region)
{
	region->pid = (uint32_t)getpid();
	prctl(PR_GET_NAME, region->comm, 0, 0, 0);
	if (readlink("/proc/self/exe", region->exe, sizeof(region->exe) - 1) < 0)
		region->exe[0] = '\0';
	dl_iterate_phdr(object_build_id, region);
}

static void region_fill(struct ktr_region *region, const struct ktr_wishes *wishes)
{
	region->mask_address = (uint64_t)(uintptr_t)&ktr_mask;
	region->compile = wishes->compile;
	region->verbose = wishes->verbose;
	region->frequency = ktr_clock_frequency(region->clock);
	for (uint32_t cpu = 0; cpu < region->ncpu; cpu++)
		if (!wishes->cpumasked || wishes->cpumask[cpu / 64] >> cpu % 64 & 1)
			region->cpumask[cpu / 64] |= 1ull << cpu % 64;
	region_describe_program(region);
	ktr_stamp_take(region->clock, &region->first);
	for (uint32_t cpu = 0; cpu < region->ncpu; cpu++)
		ktr_region_ring(region, cpu)->cpu = cpu;
}

/* The kernel would raise SIGXFSZ for a file that is too large. */
static int region_fits(size_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	       size > limit.rlim_cur ? -EFBIG : 0;
}

int ktr_region_make(const struct ktr_wishes *wishes, uint32_t entries, uint32_t clock, bool rseq,
		    struct ktr_region **made, struct ktr_place **place)
{
	struct ktr_region layout = {
		.version = KTR_REGION_VERSION,
		.hdrsize = KTR_REGION_PAGE,
		.entsize = KTR_ENTRY_SIZE,
		.entries = entries,
		.ncpu = possible_cpus(),
		.flags = rseq ? KTR_REGION_RSEQ : 0,
		.stride = sizeof(struct ktr_ring) + (uint64_t)entries * KTR_ENTRY_SIZE,
		.clock = clock,
	};
	size_t front = page_size();
	size_t size = region_size(&layout, wishes->file);
	struct ktr_region *region;
	uint8_t *map = MAP_FAILED;
	int fd, error;

	error = region_fits(size);
	if (error)
		return error;
	fd = wishes->file ? region_open_file(wishes->file, size) : region_open_memory(size);
	if (fd < 0)
		return fd;
	map = mmap(NULL, front + size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED ||
	    mmap(map + front, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		error = -errno;
		goto out;
	}
	region = (struct ktr_region *)(map + front);
	*region = layout;
	region_fill(region, wishes);
	memcpy(region->magic, KTR_REGION_MAGIC, sizeof(region->magic));
	*made = region;
	*place = (struct ktr_place *)map;
	**place = (struct ktr_place){
		.cpus = region->ncpu, .stride = region->stride,
		.rings = (uint8_t *)ktr_region_ring(region, 0),
		.slots = (uint64_t)(entries - 1) * KTR_ENTRY_SIZE,
	};
out:
	if (error && map != MAP_FAILED)
		munmap(map, front + size);
	if (error && wishes->file)
		unlink(wishes->file);
	close(fd);
	return error;
}

/*
 * Retires a region in this process only; others may still use it.  Threads that cached its rings
 * see that these belong to no CPU.
 */
void ktr_region_retire(struct ktr_region *region)
{
	struct ktr_region was = *region;
	void *none = mmap(region, region_size(&was, ktr_lib.wishes.file), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);

	if (none == MAP_FAILED && was.pid != (uint32_t)getpid())
		return;
	memset(was.magic, 0, sizeof(was.magic));
	*region = was;
	for (uint32_t cpu = 0; cpu < region->ncpu; cpu++)
		ktr_region_ring(region, cpu)->cpu = KTR_NO_CPU;
}

/* The lines of /proc/self/maps that name a file: those with a '/'. */
static void region_keep_objects(char *table, size_t size)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t have = 0, kept = 0;
	ssize_t n = 0;

	if (fd < 0)
		return;
	while (have < size - 1 && (n = read(fd, table + have, size - 1 - have)) > 0)
		have += (size_t)n;
	close(fd);
	for (char *line = table, *end; (end = memchr(line, '\n', have - (size_t)(line - table)));
	     line = end + 1) {
		size_t length = (size_t)(end + 1 - line);

		if (!memchr(line, '/', length))
			continue;
		memmove(table + kept, line, length);
		kept += length;
	}
	memset(table + kept, 0, size - kept);
}

void ktr_region_refresh(struct ktr_region *region)
{
	ktr_stamp_take(region->clock, &region->last);
	if (ktr_lib.wishes.file)
		region_keep_objects((char *)region + rings_size(region), KTR_OBJECTS);
}
