/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The room of libpmc-compat's functions (<pmc.h>), each a request to the daemon.
 *
 * A public function lives in the file of its subject (pmc.c, query.c, log.c, ...).  It begins with
 * call_enter() and ends with call_leave(), which defer signals and keep the reason of a failure
 * (call.c).  In between it fills a struct exchange and calls client_exchange(): one message to the
 * daemon, one back, under the lock `io` (client.c).  pmc_read() makes no request where a page or a
 * register has the count (lib/read), and takes no lock.
 *
 * Any thread of any program may call, also from a signal handler, while a thread is cancelled, and
 * after fork(2).  So there is one struct lib for the process, its three locks are taken in the
 * order init, io, table, and always with signals deferred; a child of fork(2) drops the parent's
 * connection and makes its own at the next request.  A program may also close descriptors that it
 * did not open: each is checked before it is used (lib/read/ownfd.h).
 *
 * One allocation: pmc_allocate() resolves the event's name (lib/event) into a wire_allocate_req;
 * client_exchange() sends it; the reply has the PMC's id and, once for each process, two pages,
 * which are mapped into a new version of the read table (lib/read/read_share.h).
 */
#ifndef PMCBPF_PMC_ROOM_H
#define PMCBPF_PMC_ROOM_H

#include "call.h"
#include "client.h"
#include "lib.h"
#include "proof.h"
#include "spawn.h"

#endif
