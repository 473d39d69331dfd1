/* SPDX-License-Identifier: BSD-2-Clause */
/* See topology.h. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"
#include "topology.h"

#define CPU_FOLDER "%s/sys/devices/system/cpu/cpu%d"

/* A number of the CPU; -ENOENT: there is no such file, or the kernel knows none and writes -1. */
static int topology_number(const char *root, int cpu, const char *file)
{
	char path[PATH_MAX], text[32] = "";
	uint64_t value;
	FILE *f;

	snprintf(path, sizeof(path), CPU_FOLDER "/topology/%s", root, cpu, file);
	f = fopen(path, "re");
	if (!f)
		return -ENOENT;
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	return number_parse(text, 10, INT_MAX, &value) ? -ENOENT : (int)value;
}

/* The CPU's folder has a link to its node. */
static int topology_node(const char *root, int cpu)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int node = -ENOENT;
	uint64_t value;
	DIR *dir;

	snprintf(path, sizeof(path), CPU_FOLDER, root, cpu);
	dir = opendir(path);
	while (dir && node < 0 && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "node", 4) &&
		    number_parse(entry->d_name + 4, 10, INT_MAX, &value) == 0)
			node = (int)value;
	if (dir)
		closedir(dir);
	return node;
}

/* Dies of one socket may number their cores alike. */
static int topology_core(const char *root, int cpu, int socket, char name[TOPOLOGY_NAME])
{
	int die = topology_number(root, cpu, "die_id");
	int core = topology_number(root, cpu, "core_id");

	if (core < 0)
		return core;
	if (die < 0)
		snprintf(name, TOPOLOGY_NAME, "S%d-C%d", socket, core);
	else
		snprintf(name, TOPOLOGY_NAME, "S%d-D%d-C%d", socket, die, core);
	return 0;
}

int topology_name(const char *root, int cpu, enum topology_unit unit, char name[TOPOLOGY_NAME])
{
	int number = 0;

	*name = '\0';
	if (unit == UNIT_CORE || unit == UNIT_SOCKET)
		number = topology_number(root, cpu, "physical_package_id");
	else if (unit == UNIT_NODE)
		number = topology_node(root, cpu);
	if (number < 0)
		return number;
	switch (unit) {
	case UNIT_CPU:
		break;
	case UNIT_CORE:
		return topology_core(root, cpu, number, name);
	case UNIT_SOCKET:
		snprintf(name, TOPOLOGY_NAME, "S%d", number);
		break;
	case UNIT_NODE:
		snprintf(name, TOPOLOGY_NAME, "N%d", number);
		break;
	case UNIT_MACHINE:
		snprintf(name, TOPOLOGY_NAME, "all");
		break;
	}
	return 0;
}
