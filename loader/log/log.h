/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owners' logs: from a record to the file, pipe or socket that an owner has handed over.
 *
 * The room knows neither PMCs nor processes.  It is called with records (struct pmclog_ev, or a
 * call chain as the rings have it), in the order of time, and reports which have been written.
 * Callers are pmc/ (samples, events of processes), op/ (configure, flush, close) and the server.
 *
 *   logrec	   struct pmclog_ev to the bytes of a record, in either format
 *   lognumbers	   pids as the owner of a log in a lower PID namespace has them
 *   logfile	   one owner's log: order, gaps, buffers; begin and end
 *   loglate	   call chains that are completed later, and the records behind them
 *   logpool	   the buffers of all logs, their users' shares, logs without an owner
 *   logwriter	   a log's thread: writes its buffers with the owner's ids
 *   kernel_names  names of the kernel's functions in a log: by address, or from a table
 *   ksyms	   tables of functions: /proc/kallsyms, or those that the kernel found
 *   logdest	   kinds of descriptors that a log may be written to
 *
 * Threads.  The event loop calls all functions of this door, and none of them waits, but for
 * logdest_check() and ksyms_*(), which have no state and run in any thread or helper.
 *   - Each log has a thread, log_writer(), from logfile_new() until its file is closed.  It writes,
 *     polls, shuts down and closes the owner's descriptor, looks for kernel addresses in what it
 *     writes, and waits for their names at the log's end.
 *   - The loop asks the kernel for these names, in kernel_names_serve(): a log's thread has no
 *     capabilities.
 *   - One more thread reads /proc/kallsyms, for addresses that the kernel does not find;
 *     kernel_names_serve() starts it, because a thread inherits the ids of the one that starts it.
 * Locks are the pool's, the log's and the table's.  None of them is held across a system call on an
 * owner's descriptor, and no two of them are held together.
 *
 * Order.  A record's time never goes back: one that comes late gets the time of the one before it.
 * A record that finds no buffer is counted, and a DROPNOTIFY stands where it is missing.  Example:
 * three samples find no room; the next record that does is preceded by DROPNOTIFY with pl_lost 3.
 */
#ifndef PMCBPF_LOADER_LOG_H
#define PMCBPF_LOADER_LOG_H

#include "ksyms.h"
#include "logdest.h"
#include "logfile.h"
#include "lognumbers.h"
#include "logrec.h"

#endif
