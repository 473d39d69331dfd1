/* SPDX-License-Identifier: BSD-2-Clause */
/* Making the outputs of a log: see analysis.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "analysis.h"

/* The second pass, for -m and -a. */
struct line_pass {
	struct analysis *a;
	struct report_lines to[2];
	int (*line[2])(struct report_lines *l, struct walk *w, const struct walk_sample *s);
	size_t n;
	uint64_t left;		/* samples of the first pass that are still to come */
};

#define PASS_ENDED (-1)

static int pass_sample(void *arg, struct walk *w, const struct walk_sample *s)
{
	struct line_pass *l = arg;
	int code = 0;

	for (size_t i = 0; i < l->n && !code; i++)
		code = l->line[i](&l->to[i], w, s);
	if (!code && !--l->left)
		code = PASS_ENDED;
	return code;
}

static int pass_push(void *arg)
{
	return out_push_all(arg);
}

static struct out *output_destination(struct analysis_output *o, struct out *common)
{
	return o->path && !o->writer->opens ? &o->file : common;
}

static int analysis_write_lines(struct analysis *a, struct symbols *symbols,
				const struct walk_stats *first,
				const char *log, struct out *out)
{
	struct line_pass l = { .a = a, .left = first->passed };
	const struct walk_user user = { .sample = pass_sample, .arg = &l };
	struct walk *w;
	int code;

	for (size_t i = 0; i < a->noutputs && l.n < 2; i++) {
		struct out *to = output_destination(&a->outputs[i], out);

		if (!a->outputs[i].writer->line)
			continue;
		l.line[l.n] = a->outputs[i].writer->line;
		l.to[l.n++] = (struct report_lines){ symbols, &to->text, pass_push, to };
	}
	if (!l.n || !l.left)
		return 0;
	w = walk_new(symbols, &a->filter, &user);
	if (!w)
		return EX_OSERR;
	code = walk_log(w, a->fd, log, a->verbosity > 0 ? a->terminal : -1);
	walk_free(w);
	for (size_t i = 0; i < l.n && code <= 0; i++)
		code = out_push_all(l.to[i].arg);
	return code;
}

static int analysis_write_reports(struct analysis *a, struct report *r, struct out *out)
{
	int code = 0;

	for (size_t i = 0; i < a->noutputs && !code; i++) {
		const struct writer *writer = a->outputs[i].writer;
		struct out *to = output_destination(&a->outputs[i], out);

		r->threshold = a->threshold < 0 ? writer->threshold : a->threshold;
		if (writer->write)
			writer->write(r, &to->text);
		else if (writer->files)
			code = writer->files(a, &a->outputs[i], r, &to->text);
		if (!code)
			code = out_push_all(to);
	}
	return code;
}

bool analysis_is_text(const struct analysis *a)
{
	for (size_t i = 0; i < a->noutputs; i++)
		if (!a->outputs[i].path && a->outputs[i].writer->machine)
			return false;
	return true;
}

/* The statistics go to standard error if the common output is for programs. */
static int analysis_write_statistics(const struct analysis *a, const struct report *r,
				     struct out *out)
{
	struct out messages = { 0 }, *to = analysis_is_text(a) ? out : &messages;
	int code;

	if (!a->verbosity)
		return 0;
	out_use(&messages, STDERR_FILENO, "standard error");
	report_statistics(r, a->verbosity > 1, &to->text);
	code = out_push_all(to);
	buf_free(&messages.text);
	return code;
}

/* --- files ----------------------------------------------------------------------------------- */

int analysis_temporary(int *fd)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];

	snprintf(path, sizeof(path), "%s/pmcstat.XXXXXX", folder && *folder ? folder : "/tmp");
	*fd = mkostemp(path, O_CLOEXEC);
	if (*fd < 0)
		return fail_errno(EX_OSERR, "ERROR: cannot open \"%s\" for writing", path);
	unlink(path);
	return 0;
}

/* Replaces *fd, which can be read only once, with a temporary file of its contents. */
static int analysis_copy_log(int *fd, const char *log)
{
	static const size_t size = 256u * 1024;
	char *piece = malloc(size);
	int copy = -1, code = piece ? analysis_temporary(&copy) : EX_OSERR;
	ssize_t n = 1;

	while (!code && n) {
		struct pollfd ready = { .fd = *fd, .events = POLLIN };

		n = read(*fd, piece, size);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			poll(&ready, 1, -1);
		else if (n < 0)
			code = fail_errno(EX_OSERR, "ERROR: cannot read \"%s\"", log);
		else if (write(copy, piece, (size_t)n) != n)
			code = fail_errno(EX_OSERR, "ERROR: cannot keep a copy of \"%s\"", log);
	}
	free(piece);
	if (!code && lseek(copy, 0, SEEK_SET) == 0) {
		close(*fd);
		*fd = copy;
	} else if (copy >= 0) {
		close(copy);
	}
	return code;
}

static int analysis_open_outputs(struct analysis *a, int input)
{
	int code = 0;

	for (size_t i = 0; i < a->noutputs && !code; i++) {
		struct analysis_output *o = &a->outputs[i];

		if (!o->path)
			continue;
		code = guard_input(o->path, input, "log");
		if (code || o->writer->opens)
			continue;
		code = out_open(&o->file, o->path, OUTPUT_WHOLE);
		o->file.paced = false;
	}
	return code;
}

static void analysis_complete_outputs(struct analysis *a, struct out *out)
{
	for (size_t i = 0; i < a->noutputs; i++)
		out_complete(&a->outputs[i].file);
	out_complete(out);
}

static int analysis_close_outputs(struct analysis *a)
{
	int code = 0;

	for (size_t i = 0; i < a->noutputs; i++)
		if (out_close(&a->outputs[i].file) && !code)
			code = EX_OSERR;
	return code;
}

/* --- the whole ------------------------------------------------------------------------------- */

void analysis_terminal(struct analysis *a, int fd)
{
	struct winsize size;

	a->colour = pager_colour(fd);
	a->width = isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Not earlier: while the log is read, the terminal shows progress and Ctrl-C ends the program. */
static int analysis_begin_page(struct analysis *a, struct out *out)
{
	int fd = out->fd, code = a->page ? pager_start(&a->pager, &fd) : 0;

	if (!a->pager)
		return code;
	out_use(out, fd, "the pager");
	out->file = OUTPUT_NONE;
	out->file.fd = fd;
	out->opened = true;
	return code;
}

/* Quitting the pager early is not an error. */
static bool analysis_page_left(const struct analysis *a, const struct out *out)
{
	struct pollfd end = { .fd = out->fd };

	return a->pager && poll(&end, 1, 0) == 1 && end.revents & POLLERR;
}

static int analysis_check_profile(const struct analysis *a, const struct report *r)
{
	int code = 0;

	for (size_t i = 0; i < a->noutputs && !code; i++)
		if (a->outputs[i].writer->check)
			code = a->outputs[i].writer->check(r);
	return code;
}

static int analysis_write_all(struct analysis *a, struct profile *p, const char *log,
			      struct out *out)
{
	struct report r = { .profile = p, .log = log, .depth = a->depth,
			    .offsets = a->offsets, .width = a->width, .colour = a->colour };
	int code = analysis_check_profile(a, &r);

	if (!code)
		code = analysis_begin_page(a, out);
	out->paced = false;
	if (!code)
		code = analysis_write_reports(a, &r, out);
	if (!code)
		code = analysis_write_lines(a, p->symbols, walk_stats(p->walk), log, out);
	if (!code)
		code = analysis_write_statistics(a, &r, out);
	return analysis_page_left(a, out) ? 0 : code;
}

/* Does an output read the log a second time? */
static bool analysis_reads_again(const struct analysis *a)
{
	for (size_t i = 0; i < a->noutputs; i++)
		if (a->outputs[i].writer->line || a->outputs[i].writer->opens)
			return true;
	return false;
}

int analysis_run(struct analysis *a, int *fd, const char *log, struct out *out)
{
	struct symbols *symbols = NULL;
	struct profile *p = NULL;
	int code, damage = 0;

	code = symbols_check_kernel(a->symbols.kernel);
	if (!code)
		code = analysis_open_outputs(a, *fd);
	if (!code && analysis_reads_again(a) && lseek(*fd, 0, SEEK_CUR) < 0)
		code = analysis_copy_log(fd, log);
	if (!code) {
		symbols = symbols_new(&a->symbols);
		p = symbols ? profile_new(symbols, &a->filter) : NULL;
		if (!symbols)
			code = fail(EX_OSERR, "ERROR: no memory for names");
		else if (!p)
			code = EX_DATAERR;	/* a regular expression */
	}
	if (!code)
		code = damage = profile_log(p, *fd, log, a->verbosity > 0 ? a->terminal : -1);
	if (!code || code == EX_DATAERR)
		symbols_settle(symbols);
	a->fd = *fd;
	if (p && damage == EX_DATAERR && *walk_stats(p->walk)->cpu)
		code = 0;
	if (!code)
		code = analysis_write_all(a, p, log, out);
	if (!code)
		analysis_complete_outputs(a, out);
	profile_free(p);
	symbols_free(symbols);
	if (analysis_close_outputs(a) && !code)
		code = EX_OSERR;
	return code ? code : damage;
}
