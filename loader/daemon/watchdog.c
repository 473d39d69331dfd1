/* SPDX-License-Identifier: BSD-2-Clause */
/* See watchdog.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "notify.h"
#include "watchdog.h"

#define SHOWN 3u			/* kinds of work that the text names */

static const char *const kinds[WATCHDOG_KINDS - WATCHDOG_ACCEPT] = {
	"a new connection", "a message", "the end of a process", "the end of a connection", "logs",
	"rings", "notes of execs and exits", "helper processes", "CPUs, signals and trace rings",
};

void watchdog_init(struct watchdog *w)
{
	const char *pid = getenv("WATCHDOG_PID"), *usec = getenv("WATCHDOG_USEC");

	/* Twice as often as required. */
	if (usec && (!pid || atol(pid) == (long)getpid()))
		w->period = strtoull(usec, NULL, 10) * 1000u / 2;
}

void watchdog_begin(struct watchdog *w)
{
	w->began = clock_ns();
}

void watchdog_end(struct watchdog *w, unsigned int kind)
{
	uint64_t took = clock_ns() - w->began;

	w->late += took >= WATCHDOG_LATE_NS;
	if (kind < WATCHDOG_KINDS && took > w->longest[kind])
		w->longest[kind] = took;
}

int watchdog_beat(struct watchdog *w)
{
	uint64_t now;

	if (!w->period)
		return -1;
	now = clock_ns();
	if (now >= w->due) {
		notify_send("WATCHDOG=1");
		w->due = now + w->period;
	}
	return (int)((w->due - now) / 1000000u + 1);
}

void watchdog_text(const struct watchdog *w, const char *(*op_name)(unsigned int op), char *buf,
		   size_t size)
{
	struct text t = text_begin(buf, size);
	bool shown[WATCHDOG_KINDS] = { false };

	for (unsigned int i = 0; i < SHOWN; i++) {
		unsigned int longest = WATCHDOG_KINDS;

		for (unsigned int k = 0; k < WATCHDOG_KINDS; k++)
			if (!shown[k] && w->longest[k] &&
			    (longest == WATCHDOG_KINDS || w->longest[k] > w->longest[longest]))
				longest = k;
		if (longest == WATCHDOG_KINDS)
			break;
		shown[longest] = true;
		text_add(&t, "%s%.1f ms (%s)", i ? ", " : "longest turns: ",
			 (double)w->longest[longest] / 1e6,
			 longest < WATCHDOG_ACCEPT ? op_name(longest) :
						     kinds[longest - WATCHDOG_ACCEPT]);
	}
	text_add(&t, "; %llu of 50 ms or more", (unsigned long long)w->late);
}
