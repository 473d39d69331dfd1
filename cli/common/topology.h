/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the machine that CPUs belong to, as the kernel numbers them in sysfs. */
#ifndef PMCBPF_CLI_TOPOLOGY_H
#define PMCBPF_CLI_TOPOLOGY_H

#include <stddef.h>

enum topology_unit { UNIT_CPU, UNIT_CORE, UNIT_SOCKET, UNIT_NODE, UNIT_MACHINE };

#define TOPOLOGY_NAME 40	/* bytes of a name */

/*
 * Names the unit of an online CPU: "S0-D0-C3" a core ("S0-C3" where sockets have no dies), "S0" a
 * socket, "N1" a node, "all" the machine.  CPUs of equal names are in the same unit.  `root` is
 * the folder of sysfs, "" for the machine's own.  -ENOENT: the kernel does not report it.
 */
int topology_name(const char *root, int cpu, enum topology_unit unit, char name[TOPOLOGY_NAME]);

#endif
