/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that all tools share: option tables, messages and exit codes, output files, the pager, lists
 * and groups of CPUs, text that grows, JSON.
 *
 * The other rooms of cli/ call in; this room calls libpmc-compat and lib/base only, and knows
 * neither logs nor profiles.  It has no threads and no state: each function works on its arguments
 * in the calling thread.  Only top/tap.c starts another one.
 *
 * One convention holds in all of cli/.  A function that reports its failure to the user prints one
 * line (msg.h) and returns an exit code of sysexits(3), 0 for success; its caller passes the code
 * on and prints nothing.  Headers call this "an exit code and its line".  Functions below that
 * level return -errno and print nothing.
 *
 * An output file goes through three steps, in this order: guard.h refuses to replace a file that
 * cannot be made again, output.h makes the file safely, out.h writes to it without blocking.
 */
#ifndef PMCBPF_CLI_COMMON_H
#define PMCBPF_CLI_COMMON_H

#include "lib/base/array.h"
#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "running.h"
#include "cpulist.h"
#include "events.h"
#include "guard.h"
#include "msg.h"
#include "opt.h"
#include "out.h"
#include "output.h"
#include "pager.h"
#include "progress.h"
#include "topology.h"

#endif
