/* SPDX-License-Identifier: BSD-2-Clause */
/* pmcstat(8): counts events of a command, of processes and of CPUs. */
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"
#include "msg.h"

#define INTERVAL_SECONDS 5.0

/* A measurement, in order; the first phase that fails is the last. */
static int (*const phases[])(struct measure *m) = {
	args_check,  pmcs_allocate, run_prepare, child_spawn, targets_find,
	pmcs_attach, pmcs_start,    child_go,	 run_loop,    run_finish,
};

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static int clean_up(struct measure *m)
{
	int code;

	child_abort(m);
	code = out_close(&m->out);
	targets_free(m);
	for (size_t i = 0; i < m->ncolumns; i++)
		free(m->columns[i].name);
	free(m->columns);
	close_fd(m->child.pidfd);
	close_fd(m->signal_fd);
	close_fd(m->tick_fd);
	close_fd(m->end_fd);
	return code;
}

int main(int argc, char *argv[])
{
	struct measure m = {
		.verbosity = 1,
		.interval = INTERVAL_SECONDS,
		.format = &format_table,
		.child = { .pidfd = -1, .sock = -1 },
		.signal_fd = -1,
		.tick_fd = -1,
		.end_fd = -1,
	};
	bool ended = false;
	int code, closing;

	msg_open_standard();
	code = args_parse(&m, argc, argv, &ended);
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]) && !code && !ended; i++)
		code = phases[i](&m);
	closing = clean_up(&m);
	if (!code)
		code = closing;
	if (!code && (m.seen & SEEN_EXIT_STATUS))
		code = child_exit_code(&m.child);
	return code;
}
