/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every tool of this tree needs and none of them owns: option tables, messages and exit codes,
 * output files, the pager, lists of CPUs, text that grows, JSON.
 *
 * The other rooms of cli/ call in; this room calls libpmc-compat and lib/base only, and knows no
 * log and no profile.  It has no threads and no state: each function works on its arguments in the
 * thread that calls it, which is the program's only one but for top/tap.c's.
 *
 * One convention holds in all of cli/.  A function that can fail for a reason the user has to know
 * returns an exit code of sysexits(3), 0 for success, and has printed its one line (msg.h) before
 * it returns: its caller passes the code on and prints nothing.  Functions below that level return
 * -errno and print nothing.
 *
 * An output file goes through three steps, in this order: guard.h refuses to replace a file that
 * cannot be made again, output.h makes the file safely, out.h writes to it without blocking.
 */
#ifndef PMCBPF_CLI_COMMON_H
#define PMCBPF_CLI_COMMON_H

#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "running.h"
#include "array.h"
#include "cpulist.h"
#include "events.h"
#include "guard.h"
#include "msg.h"
#include "opt.h"
#include "out.h"
#include "output.h"
#include "pager.h"
#include "progress.h"

#endif
