/* SPDX-License-Identifier: BSD-2-Clause */
/* The mappings of a process: lines of /proc/PID/maps. */
#ifndef PMCBPF_CLI_TRACE_MAPS_H
#define PMCBPF_CLI_TRACE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct mapping {
	uint64_t start, end, offset, dev, inode;
	char perms[5];
	const char *path;	/* in the line; "" if it has none */
};

struct maps {
	FILE *file;
	char *line;		/* the last one, without its newline */
	size_t size;
};

/* 0; -ESRCH: no such process; or -errno. */
int maps_open(struct maps *maps, pid_t pid);
void maps_close(struct maps *maps);

/* The next mapping, valid until the next call.  0; 1: that was the last; or -errno. */
int maps_next(struct maps *maps, struct mapping *map);

/* A line without its newline.  0 or -EBADMSG. */
int maps_parse(const char *line, struct mapping *map);

static inline bool mapping_shared(const struct mapping *map)
{
	return map->perms[3] == 's';
}

static inline bool mapping_writable(const struct mapping *map)
{
	return map->perms[1] == 'w';
}

#endif
