/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc(3): the log of this process.  The daemon writes; the descriptor stays the program's. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"

/*
 * On FreeBSD the end of a log closes the file for every process, and a program that reads its own
 * log from a pipe waits for that.  Here the program's own writing end would keep the pipe open: if
 * it is still the log's, it is replaced by /dev/null.
 */
static void log_leave_pipe(struct lib *l)
{
	struct stat st;
	int fd = l->log_fd, null;

	l->log_fd = -1;
	if (fd < 0 || fstat(fd, &st) || !S_ISFIFO(st.st_mode) || st.st_ino != l->log_ino)
		return;
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null < 0)
		return;
	(void)dup3(null, fd, fcntl(fd, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0);
	close(null);
}

static int log_configure(int fd, struct reason *why)
{
	struct wire_configurelog_req req = { .logfd = fd };
	struct lib *l = &pmc_lib;
	struct stat st;
	bool open = fd >= 0 && fcntl(fd, F_GETFD) >= 0;
	int err;

	/* The daemon checks for an existing log first, and for the descriptor second. */
	err = client_request(&pmc_lib, WIRE_OP_CONFIGURELOG, &req, sizeof(req), open ? fd : -1,
			     why);
	if (err)
		return err;
	pthread_mutex_lock(&l->io);
	if (fd < 0) {
		log_leave_pipe(l);
	} else if (!fstat(fd, &st)) {
		l->log_fd = fd;
		l->log_ino = st.st_ino;
	}
	pthread_mutex_unlock(&l->io);
	return 0;
}

PMC_API_PUBLIC int pmc_configure_logfile(int fd)
{
	return call_leave(log_configure(fd, call_enter()));
}

PMC_API_PUBLIC int pmc_flush_logfile(void)
{
	return call_leave(client_request(&pmc_lib, WIRE_OP_FLUSHLOG, NULL, 0, -1, call_enter()));
}

PMC_API_PUBLIC int pmc_close_logfile(void)
{
	int err = client_request(&pmc_lib, WIRE_OP_CLOSELOG, NULL, 0, -1, call_enter());

	if (!err) {
		pthread_mutex_lock(&pmc_lib.io);
		log_leave_pipe(&pmc_lib);
		pthread_mutex_unlock(&pmc_lib.io);
	}
	return call_leave(err);
}

PMC_API_PUBLIC int pmc_writelog(uint32_t userdata)
{
	struct wire_writelog_req req = { .userdata = userdata };

	return call_leave(
		client_request(&pmc_lib, WIRE_OP_WRITELOG, &req, sizeof(req), -1, call_enter()));
}
