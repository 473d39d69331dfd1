/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests: reads trace rings by <sys/ktr_region.h>, this process's or a KTR_FILE's. */
#ifndef TESTS_KTR_RINGS_H
#define TESTS_KTR_RINGS_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sys/ktr_region.h>

/* The region mapped under this name, or NULL. */
static inline const struct ktr_region *rings_of_process(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	const struct ktr_region *region = NULL;
	unsigned long start;
	char line[512];

	while (maps && !region && fgets(line, sizeof(line), maps))
		if (strstr(line, name) && sscanf(line, "%lx", &start) == 1)
			region = (const struct ktr_region *)start;
	if (maps)
		fclose(maps);
	return region && !memcmp(region->magic, KTR_REGION_MAGIC, 8) ? region : NULL;
}

/* The number of regions. */
static inline unsigned int rings_of_process_count(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, name) != NULL;
	if (maps)
		fclose(maps);
	return n;
}

static inline const struct ktr_region *rings_of_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct ktr_region *region = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size >= (off_t)sizeof(*region))
		region = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return region != MAP_FAILED && !memcmp(region->magic, KTR_REGION_MAGIC, 8) ? region : NULL;
}

static inline const struct ktr_ring *rings_ring(const struct ktr_region *region, unsigned int cpu)
{
	return (const struct ktr_ring *)((const char *)region + region->hdrsize +
					 cpu * region->stride);
}

static inline uint64_t rings_head(const struct ktr_region *region, unsigned int cpu)
{
	return __atomic_load_n(&rings_ring(region, cpu)->head, __ATOMIC_ACQUIRE);
}

/*
 * Copies the whole entries of a ring, oldest first, into copy[], which has room for all slots, and
 * their numbers into number[] (or NULL).  Returns how many there are.
 */
static inline size_t rings_copy(const struct ktr_region *region, unsigned int cpu,
				struct ktr_entry *copy, uint64_t *number)
{
	const struct ktr_ring *ring = rings_ring(region, cpu);
	const struct ktr_entry *slots = (const struct ktr_entry *)(ring + 1);
	uint64_t entries = region->entries, head = rings_head(region, cpu), now;
	uint64_t first = head > entries ? head - entries : 0;
	size_t n = 0;

	for (uint64_t i = first; i < head; i++) {
		const struct ktr_entry *slot = &slots[i & (entries - 1)];
		uint32_t before = __atomic_load_n(&slot->ktr_seq, __ATOMIC_ACQUIRE);

		memcpy(&copy[i - first], slot, sizeof(*copy));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		copy[i - first].ktr_seq = __atomic_load_n(&slot->ktr_seq, __ATOMIC_ACQUIRE);
		if (before != copy[i - first].ktr_seq)
			copy[i - first].ktr_seq = 0;
	}
	now = rings_head(region, cpu);
	for (uint64_t i = first; i < head; i++) {
		const struct ktr_entry *entry = &copy[i - first];

		if (i + entries < now || entry->ktr_seq != (uint32_t)(i + 1))
			continue;
		if (number)
			number[n] = i;
		copy[n++] = *entry;
	}
	return n;
}

/* The n-th CPU that this process may use, modulo their number, which is stored in *cpus. */
static inline int rings_cpu(unsigned int n, unsigned int *cpus)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) || !CPU_COUNT(&set))
		return -1;
	*cpus = (unsigned int)CPU_COUNT(&set);
	n %= *cpus;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && !n--)
			return cpu;
	return -1;
}

/* Entries ever written, of all CPUs. */
static inline uint64_t rings_total(const struct ktr_region *region)
{
	uint64_t total = 0;

	for (unsigned int cpu = 0; cpu < region->ncpu; cpu++)
		total += rings_head(region, cpu);
	return total;
}

#endif
