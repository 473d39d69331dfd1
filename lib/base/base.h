/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The common room: code that libraries, daemons and tools share.  It includes only installed
 * headers of other rooms, and any thread may call every function unless its header says otherwise.
 * Each header is a module:
 *
 * contracts between processes
 *	wire.h		libpmc-compat and pmcbpfd: requests, replies, shared pages
 *	pctr_wire.h	libpctr and pctrd
 *	logfmt.h	the records of a pmclog; logvalues.h the values of its samples, logfield.h
 *			fields of tracepoints among these
 * text
 *	reason.h	the line of text that goes with an error
 *	number.h	numbers; cpuranges.h lists of CPUs; ktrmask.h trace classes
 *	nearest.h	"did you mean"
 *	buf.h, json.h	text that is appended to, and JSON in it; utf8.h which bytes are text
 * collections
 *	array.h		growing arrays; index.h their elements by hash
 * processes
 *	message.h	messages with descriptors
 *	helper.h	a daemon's helper processes, for one thread
 *	lockfile.h	one daemon for each socket
 *	confine.h	giving up capabilities
 *	journal.h	messages of services, with priorities for the journal
 *	sigdefer.h	signals and cancellation during a library call
 *	sockname.h	which socket a client of pmcbpfd uses
 *	export.h	the symbols that a library exports
 */
#ifndef PMCBPF_BASE_H
#define PMCBPF_BASE_H

#include "array.h"
#include "buf.h"
#include "confine.h"
#include "cpuranges.h"
#include "export.h"
#include "helper.h"
#include "index.h"
#include "journal.h"
#include "json.h"
#include "ktrmask.h"
#include "lockfile.h"
#include "logfield.h"
#include "logfmt.h"
#include "logvalues.h"
#include "message.h"
#include "nearest.h"
#include "number.h"
#include "pctr_wire.h"
#include "reason.h"
#include "sigdefer.h"
#include "sockname.h"
#include "utf8.h"
#include "wire.h"

#endif
