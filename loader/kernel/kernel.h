/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's side of counting.  Everything that calls bpf(2) or perf_event_open(2) is in this
 * room, and so is all code that uses libbpf and the skeletons of bpf/.
 *
 * `struct engine` holds the parts, each an object with a header of its own.  Callers use the part
 * directly, as in flush_all(e->flush); engine.h has only operations that concern several parts.
 * All of it belongs to the event loop's thread, with three exceptions: owner_maps.c has a thread
 * of its own, load_thread.c has one that loads programs for operations, and the trace rings' thread
 * (loader/ktr) calls ktrload.c.
 *
 * Order at the start: programs are chosen, loaded and verified as one; then the parts are created
 * on their maps; then counting begins.  A program is attached from its first need until a moment
 * after the last one, see engine_need().  At the end programs are detached, then parts freed.
 */
#ifndef PMCBPF_KERNEL_H
#define PMCBPF_KERNEL_H

#include "engine.h"
#include "event_format.h"
#include "hop.h"
#include "kernel_symbols.h"
#include "ktrload.h"
#include "load_thread.h"
#include "notes.h"
#include "profclock.h"
#include "sampler.h"
#include "stack_walk.h"

#endif
