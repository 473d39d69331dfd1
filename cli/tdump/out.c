/* SPDX-License-Identifier: BSD-2-Clause */
/* tdump's output: a file, a pipe, or a pager if standard output is a terminal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "tdump.h"

#define OUT_SIZE (256u << 10)

int out_begin(struct tdump_out *out, const struct tdump_options *opt)
{
	bool terminal = !opt->output && isatty(STDOUT_FILENO) == 1;
	int code;

	out->fd = STDOUT_FILENO;
	out->held = HELD_NONE;
	out->color = opt->color == COLOR_ALWAYS ||
		     (opt->color == COLOR_AUTO && !opt->output && pager_colour(STDOUT_FILENO));
	out->data = malloc(OUT_SIZE + OUT_LINE);
	if (!out->data)
		return fail(EX_OSERR, "ERROR: out of memory");
	if (opt->output) {
		if (output_create(&out->output, opt->output,
				  opt->follow ? OUTPUT_GROWING : OUTPUT_WHOLE, 0666) < 0)
			return fail(EX_CANTCREAT, "ERROR: cannot write \"%s\": %s", opt->output,
				    out->output.why);
		out->file = opt->output;
		out->fd = out->output.fd;
		return 0;
	}
	if (!terminal || opt->follow)
		return 0;
	code = pager_start(&out->pager, &out->fd);
	if (out->pager > 0)
		pager_hold(&out->held);
	return code;
}

static int out_failed(const struct tdump_out *out)
{
	return out->file ? fail_errno(EX_OSERR, "ERROR: cannot write to \"%s\"", out->file) :
			   fail_errno(EX_OSERR, "ERROR: cannot write to standard output");
}

int out_flush(struct tdump_out *out)
{
	size_t done = 0;

	while (done < out->len) {
		ssize_t n = write(out->fd, out->data + done, out->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			out->len = 0;
			/* The user has quit the pager: not an error. */
			if (out->pager > 0 && errno == EPIPE)
				return -1;
			return errno == EPIPE && !out->file ? EX_READER_LEFT : out_failed(out);
		}
		done += (size_t)n;
	}
	out->len = 0;
	return 0;
}

int out_room(struct tdump_out *out)
{
	return out->len < OUT_SIZE ? 0 : out_flush(out);
}

int out_text(struct tdump_out *out, struct buf *text)
{
	int code = text->failed ? fail(EX_OSERR, "ERROR: out of memory") : 0;

	for (size_t at = 0, n; at < text->len && !code; at += n) {
		n = text->len - at < OUT_LINE ? text->len - at : OUT_LINE;
		memcpy(out->data + out->len, text->data + at, n);
		out->len += n;
		code = out_room(out);
	}
	text->len = 0;
	return code;
}

int out_end(struct tdump_out *out, int code)
{
	int flushed = out->data ? out_flush(out) : 0, closed = 0;

	free(out->data);
	out->data = NULL;
	if (out->file)
		closed = output_finish(&out->output, out->complete && !flushed);
	else if (out->fd > STDERR_FILENO && close(out->fd) != 0 && out->pager <= 0)
		closed = -errno;
	errno = -closed;
	if (closed && !flushed)
		flushed = out_failed(out);
	pager_wait(out->pager);
	pager_release(&out->held);
	if (code < 0 || flushed < 0)
		return 0;
	return code ? code : flushed;
}
