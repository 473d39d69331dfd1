// SPDX-License-Identifier: BSD-2-Clause
/*
 * Shows how programs read the hardware counters of CPU 0: see ABI_EVENT_TRIED in count_abi.h.
 *
 *	counters	prints "used" or "untried" for each source that has one
 *	counters mix	puts the second source's event also in the first one's place
 */
#include <bpf/bpf.h>
#include <err.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/count/count_abi.h"

/* The daemon's map of its state per CPU; CPU 0 is its first element. */
static volatile struct abi_cpu *cpu_map(void)
{
	struct bpf_map_info info;
	__u32 id = 0, size;
	void *at;
	int fd;

	while (bpf_map_get_next_id(id, &id) == 0) {
		fd = bpf_map_get_fd_by_id(id);
		memset(&info, 0, sizeof(info));
		size = sizeof(info);
		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
			err(1, "map %u", id);
		if (!strcmp(info.name, "cpus") && info.value_size == sizeof(struct abi_cpu)) {
			at = mmap(NULL, sizeof(struct abi_cpu), PROT_READ | PROT_WRITE, MAP_SHARED,
				  fd, 0);
			if (at == MAP_FAILED)
				err(1, "mmap");
			return at;
		}
		close(fd);
	}
	errx(1, "there is no map of pmcbpfd's");
}

int main(int argc, char *argv[])
{
	volatile struct abi_cpu *c = cpu_map();
	int found[ABI_DIRECT_SOURCES], n = 0;

	for (int i = 0; i < (int)ABI_DIRECT_SOURCES; i++)
		if (c->event[i])
			found[n++] = i;
	if (argc == 2 && !strcmp(argv[1], "mix")) {
		if (n != 2 || (c->event[found[0]] | c->event[found[1]]) & ABI_EVENT_TRIED)
			errx(1, "%d counters, or one is used already", n);
		c->event[found[0]] = c->event[found[1]];
		return 0;
	}
	for (int i = 0; i < n; i++)
		puts(c->event[found[i]] & ABI_EVENT_TRIED ? "used" : "untried");
	return 0;
}
