/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The room of pctrd: OpenBSD's /dev/pctr, as a client of pmcbpfd.
 *
 * One thread runs everything.  Its event loop (pctrd.c, watch.c) waits for the kernel's frames,
 * libpctr's messages, helper processes and signals, and while counters are set for a timer once a
 * second.  Requests come in by one of two ways:
 *
 *	cuse.c		from the kernel, where it has CUSE: /dev/pctr is a device
 *	sock.c		from libpctr: /dev/pctr is a link to a plain file, the stand-in, which a
 *			message must carry open; a helper process receives it (receive.c)
 *
 * Both decode the request's number (request.c) and call core_request().  The core (core.c) keeps
 * four function words, translates each to an event (function.c), and holds a PMC on every CPU for
 * each that counts.  It reaches pmcbpfd through a struct source only (service.c; tests have their
 * own).  node.c makes the files, machine.c reads the machine, options.c the command line.
 *
 * Order at the start: helpers before any descriptor is open, then limits, then capabilities are
 * given up, then the lock, and only its holder makes files.  The end undoes that in reverse.
 */
#ifndef PMCBPF_PCTR_ROOM_H
#define PMCBPF_PCTR_ROOM_H

#include "core.h"
#include "cuse.h"
#include "function.h"
#include "messages.h"
#include "machine.h"
#include "node.h"
#include "options.h"
#include "receive.h"
#include "request.h"
#include "service.h"
#include "sock.h"
#include "watch.h"

#endif
