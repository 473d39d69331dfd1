/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "receive.h"

/* An O_PATH descriptor is no more than the file's name. */
int receive_check(const struct receive_file *file, int fd, bool *writes)
{
	struct stat st;
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH || fstat(fd, &st))
		return -EBADF;
	if (st.st_dev != file->dev || st.st_ino != file->ino)
		return -ENOTTY;
	*writes = (flags & O_ACCMODE) != O_RDONLY;
	return 0;
}

int receive_plain(int socket, struct received *in)
{
	ssize_t n;

	*in = (struct received){ .error = -EBADF };
	n = recv(socket, in->message, sizeof(in->message), MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	in->len = (uint32_t)n;
	return n ? 1 : -EPIPE;
}

int receive_job(struct helper_call *call)
{
	struct receive_file file;
	struct received in = { .error = -EBADF };
	int fds[MESSAGE_MAX_FDS], err;
	unsigned int nfds;
	bool writes = false;
	long n;

	if (call->len != sizeof(file) || call->nfds != 1)
		return -EINVAL;
	memcpy(&file, call->arg, sizeof(file));
	n = message_receive(call->fds[0], in.message, sizeof(in.message), NULL, 0, fds, &nfds,
			    MSG_DONTWAIT);
	if (n < 0)
		return (int)n;
	in.len = (uint32_t)n;
	/* More than one descriptor counts as none. */
	if (nfds == 1)
		in.error = receive_check(&file, fds[0], &writes);
	in.writes = writes;
	err = helper_emit(call, &in, sizeof(in), NULL, 0);
	for (unsigned int i = 0; i < nfds; i++)
		close(fds[i]);
	return err;
}
