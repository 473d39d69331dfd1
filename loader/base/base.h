/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that every room of the daemon uses, along with lib/base/reason.h (reasons of refusals).  It
 * uses no other room of the daemon.
 *
 *	messages.h	lines to standard error or syslog
 *	debug.h		the lines that kern.hwpmc.debugflags turns on
 *	clock.h		the clock of all times in the daemon
 *	file.h		small files of /proc and /sys
 *	text.h		texts built piece by piece
 *	fiber.h		operations that give up the CPU: only the event loop's thread
 *	worker.h	threads beside the event loop
 *	caps.h		the capabilities that the daemon keeps: only main.c
 *
 * All but fibers may be called by any thread.
 */
#ifndef PMCBPF_LOADER_BASE_H
#define PMCBPF_LOADER_BASE_H

#include "caps.h"
#include "clock.h"
#include "debug.h"
#include "fiber.h"
#include "file.h"
#include "lib/base/reason.h"
#include "messages.h"
#include "text.h"
#include "version.h"
#include "worker.h"

#endif
