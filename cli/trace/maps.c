/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading /proc/PID/maps: see maps.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "maps.h"

int maps_open(struct maps *maps, pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	*maps = (struct maps){ .file = fopen(path, "re") };
	if (maps->file)
		return 0;
	return errno == ENOENT ? -ESRCH : -errno;
}

void maps_close(struct maps *maps)
{
	if (maps->file)
		fclose(maps->file);
	free(maps->line);
	*maps = (struct maps){ 0 };
}

int maps_parse(const char *line, struct mapping *map)
{
	unsigned int major, minor;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &map->start, &map->end, map->perms, &map->offset, &major, &minor, &map->inode,
		   &at) != 7 || !at)
		return -EBADMSG;
	map->dev = makedev(major, minor);
	map->path = line + at;
	return 0;
}

int maps_next(struct maps *maps, struct mapping *map)
{
	ssize_t len;

	errno = 0;
	len = getline(&maps->line, &maps->size, maps->file);
	if (len < 0)
		return errno ? -errno : 1;
	if (maps->line[len - 1] == '\n')
		maps->line[len - 1] = '\0';
	return maps_parse(maps->line, map);
}
