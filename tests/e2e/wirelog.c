/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw client's log, to a file or descriptor that the test controls. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wireclient.h"

static int configure(int fd)
{
	struct wire_configurelog_req r = { .logfd = fd };

	if (fd >= 0) {
		c.send_fds[0] = fd;
		c.nsend = 1;
	}
	return call(WIRE_OP_CONFIGURELOG, &r, sizeof(r));
}

/* log PATH: records go there from now on; existing contents are kept. */
void do_log(char **arg)
{
	int fd = open(arg[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (fd < 0)
		die("%s: %s", arg[0], strerror(errno));
	finish(say("log", configure(fd)));
	close(fd);
}

/* logto HOW FILE: opens FILE for read, write, append or both, or by its path only. */
void do_logto(char **arg)
{
	static const struct {
		const char *how;
		int flags;
	} ways[] = {
		{ "read", O_RDONLY },		   { "write", O_WRONLY | O_CREAT },
		{ "append", O_WRONLY | O_APPEND }, { "both", O_RDWR },
		{ "path", O_PATH },
	};
	int fd = -1;

	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(arg[0], ways[i].how))
			fd = open(arg[1], ways[i].flags | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0)
		die("%s %s: %s", arg[0], arg[1], strerror(errno));
	finish(say("log", configure(fd)));
	close(fd);
}

/* logfd N: an inherited descriptor; none is sent if it is not open, or negative. */
void do_logfd(char **arg)
{
	struct wire_configurelog_req r = { .logfd = (int32_t)number(arg[0]) };

	if (r.logfd >= 0 && fcntl(r.logfd, F_GETFD) >= 0)
		c.send_fds[c.nsend++] = r.logfd;
	finish(say("log", call(WIRE_OP_CONFIGURELOG, &r, sizeof(r))));
}

/* dropfd N: closes it here, so that only the daemon has it. */
void do_dropfd(char **arg)
{
	printf("dropfd %s\n", close((int)number(arg[0])) ? strerrorname_np(errno) : "0");
	fflush(stdout);
}

/* endlog: ends the log and waits until it is written. */
void do_endlog(char **arg)
{
	finish(say("endlog", configure(-1)));
}

void do_flushlog(char **arg)
{
	finish(say("flushlog", call(WIRE_OP_FLUSHLOG, NULL, 0)));
}

void do_closelog(char **arg)
{
	finish(say("closelog", call(WIRE_OP_CLOSELOG, NULL, 0)));
}

/* writelog N TIMES: N user records, beginning with this number. */
void do_writelog(char **arg)
{
	struct wire_writelog_req r = { .userdata = (uint32_t)number(arg[0]) };
	unsigned long long n = number(arg[1]);
	int err = 0;

	while (!err && n--) {
		err = call(WIRE_OP_WRITELOG, &r, sizeof(r));
		r.userdata++;
	}
	finish(say("writelog", err));
}

/* figures: the fields of GETDRIVERSTATS about samples and logs. */
void do_figures(char **arg)
{
	struct wire_driverstats *s = payload();
	int err = say("figures", call(WIRE_OP_GETDRIVERSTATS, NULL, 0));

	if (!err)
		printf(" processed=%u full=%u requests=%u failed=%u sweeps=%u", s->intr_processed,
		       s->intr_bufferfull, s->buffer_requests, s->buffer_requests_failed,
		       s->log_sweeps);
	finish(err);
}

/* losses: of the current PMC; 0 is all PMCs. */
void do_losses(char **arg)
{
	const struct wire_losses_req r = { .pmcid = c.pmcid ? c.pmcid : UINT32_MAX };
	struct wire_losses *l = payload();
	int err = say("losses", call(WIRE_OP_GETLOSSES, &r, sizeof(r)));

	if (!err)
		printf(" chains=%llu cut=%llu", (unsigned long long)l->chains,
		       (unsigned long long)l->cut);
	finish(err);
}
