/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine: the type of its CPUs, and the registers that can be read.
 *
 * cpu.c identifies the CPU.  msr.c keeps the registers that get rows: those on the administrator's
 * list that the companion module can read, and those that perf counts.  msrdev.c is the only user
 * of the module's device.  The daemon loads all of it at its start and with SIGHUP; classes and
 * counting read it, from the event loop's thread.
 */
#ifndef PMCBPF_MACHINE_H
#define PMCBPF_MACHINE_H

#include "cpu.h"
#include "msr.h"
#include "msrdev.h"

#endif
