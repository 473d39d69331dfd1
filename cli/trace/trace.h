/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trace rings (KTR), decoded: from bytes anywhere to lines of text.
 *
 * A trace region is a header, the formats of its trace points and one ring of fixed-size entries
 * for each CPU (<sys/ktr_region.h>).  tdump(8) and ktrctl(8) call in; everything runs in the only
 * thread of these programs.  Each layer uses only those above it:
 *
 *   memory.h   bytes to read: a file, a process, a core, a mapping, a machine behind gdb's port
 *   elf.h      headers, notes and the section of trace points of an ELF file
 *   maps.h     /proc/PID/maps
 *   region.h   the header, checked
 *   rings.h    rings, and cursors that walk one ring from either end
 *   save.h     saved files: a region with its formats and strings appended
 *   scan.h     the kernel's entries in an image of a whole machine, as rings
 *   merge.h    all rings as one trace, by time
 *   objects.h  the files that a program's addresses lead into (files.h opens them)
 *   format.h   formats, compiled once and run for each entry
 *   points.h   an entry's trace point and its text
 *
 * tracee.h finds and controls the region of a live process; kernel.h maps the kernel's.
 *
 * Nothing that is read is trusted: rings, formats and files come from programs that may lie, and
 * may change while they are read.  So a header is checked in a copy, an entry is checked against
 * its sequence number before and after it is copied, a format never reaches printf(3), a file has
 * to have the build id of the one that ran.  Only tracee.h writes, and only the mask.
 *
 * For example, one line of `tdump -p 123`: objects_of_process() lists the mapped files of 123,
 * objects_regions() finds the region among them, rings_open() checks its header, merge_next()
 * returns the newest entry of all rings, points_get() reads the format at the entry's descriptor
 * from the program's file and compiles it, and points_text() makes the line.
 */
#ifndef PMCBPF_CLI_TRACE_H
#define PMCBPF_CLI_TRACE_H

#include "cursor.h"
#include "elf.h"
#include "format.h"
#include "kernel.h"
#include "maps.h"
#include "memory.h"
#include "merge.h"
#include "objects.h"
#include "points.h"
#include "region.h"
#include "rings.h"
#include "save.h"
#include "scan.h"
#include "tracee.h"

#endif
