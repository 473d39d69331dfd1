/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes, for logs: births, execs, mappings, names, ends.  The room knows no PMCs and no owners;
 * pmc/lifetime.c decides which log gets which event.
 *
 *   process_events  the kernel's records of all processes, read from perf's buffers, in the order
 *		     of time
 *   execs	     execs in progress, whose records wait for the BPF programs' verdict
 *   threads	     names of threads
 *   mappings_read   existing mappings and names: /proc, read by a helper
 *   buildid	     the build of a file
 *
 * Threads.  All of it runs in the event loop, and nothing waits, but for mappings_read_job() and
 * the functions of buildid.h that open a file of a process: these may hang, and run in a helper.
 *
 * Order.  process_events_collect() reads the buffers, then the notes of execs, and returns the time
 * up to which all is known.  Events up to that time are taken in order, and only then samples of
 * that time may be written.  Example: a process forks at 10 and its child is sampled at 11; with a
 * horizon of 12 the birth is delivered first, so the log names the child before its sample.
 */
#ifndef PMCBPF_LOADER_PROCESS_H
#define PMCBPF_LOADER_PROCESS_H

#include "buildid.h"
#include "mappings_read.h"
#include "process_events.h"
#include "threads.h"

#endif
