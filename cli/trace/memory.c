/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of files, processes and cores: see memory.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "memory.h"

static ssize_t memory_read_fd(struct memory *mem, uint64_t at, void *to, size_t len)
{
	ssize_t n;

	if (at > INT64_MAX)
		return 0;
	do
		n = pread(mem->fd, to, len, (off_t)at);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EIO && mem->live)
		return 0;
	/* A process's memory has no end: if nothing is read, the process has ended. */
	if (n == 0 && mem->live)
		return -ESRCH;
	return n < 0 ? -errno : n;
}

void memory_file(struct memory *mem, int fd, uint64_t size)
{
	*mem = (struct memory){ .read = memory_read_fd, .fd = fd, .size = size };
}

static ssize_t memory_read_map(struct memory *mem, uint64_t at, void *to, size_t len)
{
	if (at >= mem->size)
		return 0;
	if (len > mem->size - at)
		len = (size_t)(mem->size - at);
	memcpy(to, mem->map + at, len);
	return (ssize_t)len;
}

void memory_map(struct memory *mem, const void *map, uint64_t size)
{
	*mem = (struct memory){ .read = memory_read_map, .fd = -1, .map = map, .size = size };
}

static const struct memory_range *memory_range_at(const struct memory *mem, uint64_t at)
{
	size_t i = array_upto(mem->ranges, mem->nranges, end, at);

	return i < mem->nranges && at >= mem->ranges[i].start ? &mem->ranges[i] : NULL;
}

static ssize_t memory_read_ranges(struct memory *mem, uint64_t at, void *to, size_t len)
{
	const struct memory_range *range = memory_range_at(mem, at);

	if (!range)
		return 0;
	if (len > range->end - at)
		len = (size_t)(range->end - at);
	return memory_read_fd(mem, range->at + (at - range->start), to, len);
}

void memory_ranges(struct memory *mem, struct memory_range *ranges, size_t nranges)
{
	mem->read = memory_read_ranges;
	mem->ranges = ranges;
	mem->nranges = nranges;
}

int memory_get(struct memory *mem, uint64_t at, void *to, size_t len)
{
	while (len) {
		ssize_t n = mem->read(mem, at, to, len);

		if (n <= 0)
			return n < 0 ? (int)n : -EFAULT;
		to = (char *)to + n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* In pieces that end at a page: the next page may not exist. */
int memory_string(struct memory *mem, uint64_t at, char *to, size_t size)
{
	size_t len = 0;

	while (len < size - 1) {
		size_t want = 4096 - (at + len) % 4096;
		ssize_t n;

		if (want > size - 1 - len)
			want = size - 1 - len;
		n = mem->read(mem, at + len, to + len, want);
		if (n <= 0)
			return n < 0 ? (int)n : -EFAULT;
		if (memchr(to + len, '\0', (size_t)n))
			return (int)strlen(to);
		len += (size_t)n;
	}
	to[len] = '\0';
	return -ENAMETOOLONG;
}

void memory_close(struct memory *mem)
{
	if (mem->done)
		mem->done(mem);
	if (mem->fd >= 0)
		close(mem->fd);
	free(mem->ranges);
	*mem = (struct memory){ .fd = -1 };
}
