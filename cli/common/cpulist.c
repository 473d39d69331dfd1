/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of CPU numbers: see cpulist.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cpulist.h"
#include "lib/base/cpuranges.h"

#define ONLINE_FILE "/sys/devices/system/cpu/online"

int cpulist_parse(const char *text, struct cpulist *list)
{
	static const char separators[] = ", \t\n";
	const char *s = text + strspn(text, separators);
	bool any = false;

	*list = (struct cpulist){ 0 };
	while (*s) {
		unsigned int first, last;

		if (!cpuranges_next(&s, &first, &last) || last < first || last >= CPULIST_MAX ||
		    (*s && !strchr(separators, *s)))
			return -EINVAL;
		for (unsigned int cpu = first; cpu <= last; cpu++)
			list->bits[cpu / 64] |= 1ULL << (cpu % 64);
		any = true;
		s += strspn(s, separators);
	}
	return any ? 0 : -EINVAL;
}

int cpulist_online(struct cpulist *list)
{
	char text[4096];
	ssize_t len;
	int err = 0;
	int fd = open(ONLINE_FILE, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text) - 1);
	if (len < 0)
		err = -errno;
	close(fd);
	if (err)
		return err;
	text[len] = '\0';
	return cpulist_parse(text, list);
}

int cpulist_next(const struct cpulist *list, int from)
{
	for (int cpu = from; cpu < CPULIST_MAX; cpu++) {
		uint64_t word = list->bits[cpu / 64] >> (cpu % 64);

		if (word)
			return cpu + __builtin_ctzll(word) < CPULIST_MAX ?
				       cpu + __builtin_ctzll(word) : -1;
		cpu |= 63;
	}
	return -1;
}
