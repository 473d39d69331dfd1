/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing without blocking: see out.h. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "msg.h"
#include "out.h"

void out_use(struct out *out, int fd, const char *name)
{
	struct stat st;

	out->fd = fd;
	out->name = name;
	out->paced = fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);
}

int out_open(struct out *out, const char *path, enum output_kind kind)
{
	struct output file;

	if (output_create(&file, path, kind, 0666) < 0)
		return fail(EX_OSERR, "ERROR: cannot open \"%s\" for writing. (%s)", path,
			    file.why);
	out_close(out);
	out_use(out, file.fd, path);
	out->file = file;
	out->opened = true;
	out->complete = false;
	return 0;
}

static int out_fail(struct out *out)
{
	int code = EX_READER_LEFT;

	if (errno != EPIPE || out->fd != STDOUT_FILENO)
		code = fail_errno(EX_OSERR, "ERROR: cannot write to \"%s\"", out->name);
	buf_free(&out->text);
	return code;
}

int out_push(struct out *out)
{
	if (out->text.failed) {
		errno = ENOMEM;
		return out_fail(out);
	}
	while (out_waits(out)) {
		struct pollfd ready = { .fd = out->fd, .events = POLLOUT };
		size_t len = out->text.len;
		ssize_t done;

		/* A pipe that is ready takes PIPE_BUF bytes without blocking. */
		if (out->paced) {
			if (poll(&ready, 1, 0) != 1)
				return 0;
			if (len > PIPE_BUF)
				len = PIPE_BUF;
		}
		done = write(out->fd, out->text.data, len);
		if (done < 0 && (errno == EINTR || errno == EAGAIN))
			return 0;
		if (done < 0)
			return out_fail(out);
		buf_skip(&out->text, (size_t)done);
	}
	return 0;
}

int out_push_all(struct out *out)
{
	int code = 0;

	while (!code && out_waits(out)) {
		struct pollfd ready = { .fd = out->fd, .events = POLLOUT };

		poll(&ready, 1, -1);
		code = out_push(out);
	}
	return code;
}

int out_close(struct out *out)
{
	int code = 0;

	if (out->opened) {
		int err = output_finish(&out->file, out->complete);

		errno = -err;
		if (err)
			code = fail_errno(EX_OSERR, "ERROR: cannot write to \"%s\"", out->name);
	}
	out->opened = false;
	buf_free(&out->text);
	return code;
}
