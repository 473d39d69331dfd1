/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug output, which kern.hwpmc.debugflags turns on.  Groups and flags are hwpmc's; the lines are
 * messages of level LOG_DEBUG.
 */
#ifndef PMCBPF_DEBUG_H
#define PMCBPF_DEBUG_H

#include <stdint.h>

#include "lib/base/reason.h"
#include "messages.h"

#define DEBUG_GROUP_NAMES(X)								\
	X(CPU, "cpu") X(CSW, "csw") X(LOGGING, "logging") X(MD, "md")			\
	X(MODULE, "module") X(OWNER, "owner") X(PMC, "pmc") X(PROCESS, "process")	\
	X(SAMPLING, "sampling")

#define DEBUG_FLAG_NAMES(X)								\
	X(ALLOCATE, "allocate") X(ALLOCATEROW, "allocaterow") X(ATTACH, "attach")	\
	X(BIND, "bind") X(CONFIG, "config") X(EXEC, "exec") X(EXIT, "exit")		\
	X(FIND, "find") X(FLUSH, "flush") X(FORK, "fork") X(GETBUF, "getbuf")		\
	X(HOOK, "hook") X(INIT, "init") X(INTR, "intr") X(LINKTARGET, "linktarget")	\
	X(MAYBEREMOVE, "mayberemove") X(OPS, "ops") X(READ, "read")			\
	X(REGISTER, "register") X(RELEASE, "release") X(REMOVE, "remove")		\
	X(SAMPLE, "sample") X(SCHEDULEIO, "scheduleio") X(SELECT, "select")		\
	X(SIGNAL, "signal") X(START, "start") X(STOP, "stop") X(SWI, "swi")		\
	X(SWO, "swo") X(SYSCALL, "syscall") X(UNLINKTARGET, "unlinktarget")		\
	X(WRITE, "write")

#define DEBUG__GROUP(id, name) DEBUG_GROUP_##id,
#define DEBUG__FLAG(id, name) DEBUG_FLAG_##id,
enum debug_group { DEBUG_GROUP_NAMES(DEBUG__GROUP) DEBUG_GROUPS };
enum debug_flag { DEBUG_FLAG_NAMES(DEBUG__FLAG) DEBUG_FLAGS };
#undef DEBUG__GROUP
#undef DEBUG__FLAG

_Static_assert(DEBUG_FLAGS <= 32, "a group's flags are one word");

struct debug {
	uint32_t on[DEBUG_GROUPS];	/* bit per enum debug_flag */
	const struct messages *messages;
};

/*
 * Parses "group=flag[,flag...] ...", * for all.  -EINVAL with the invalid word; `on` then stays as
 * it was.
 */
int debug_parse(const char *text, uint32_t on[DEBUG_GROUPS], struct reason *why);

/* "group=flag: text", made printable. */
void debug_say(const struct debug *d, enum debug_group group, enum debug_flag flag,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5), cold));

/* One load and one test if it is off; the arguments are then not evaluated. */
#define DEBUG(d, group, flag, ...)							\
	do {										\
		const struct debug *debug__ = (d);					\
											\
		if (debug__->on[DEBUG_GROUP_##group] & 1u << DEBUG_FLAG_##flag)	\
			debug_say(debug__, DEBUG_GROUP_##group, DEBUG_FLAG_##flag,	\
				  __VA_ARGS__);						\
	} while (0)

#endif
