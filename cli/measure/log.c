/* SPDX-License-Identifier: BSD-2-Clause */
/* pmcstat -R: a log as text, or analysed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmclog.h>

#include "cli/analysis/analysis.h"
#include "cli/common/common.h"
#include "measure.h"

#define CHUNK (256u * 1024)	/* bytes of text in one write */

static void dump_check_version(const struct measure *m, const struct pmclog_ev *ev)
{
	unsigned int major = ev->pl_u.pl_i.pl_version >> 24;

	if (m->verbosity > 0 && major != PMC_VERSION_MAJOR && (major < 1 || major > 9))
		note("WARNING: Log version 0x%x != expected version 0x%x.",
		     ev->pl_u.pl_i.pl_version, PMC_VERSION);
}

struct dump {
	struct measure *m;
	struct progress progress;
	struct chains ends;
};

static int dump_record(void *arg, const struct pmclog_ev *ev)
{
	struct dump *d = arg;

	if (ev->pl_type == PMCLOG_TYPE_INITIALIZE)
		dump_check_version(d->m, ev);
	if (ev->pl_type == PMCLOG_TYPE_CALLCHAIN)
		chains_add(&d->ends, ev->pl_u.pl_cc.pl_cpuflags);
	progress_show(&d->progress, ev);
	logtext(&d->m->out.text, ev);
	if (d->m->out.text.len < CHUNK)
		return 0;
	return out_push_all(&d->m->out);
}

/* Shows the records so far before it waits for more. */
static int dump_idle(void *arg)
{
	struct dump *d = arg;

	return out_push_all(&d->m->out);
}

int measure_print_log(struct measure *m, int fd, const char *name)
{
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	void *parser = pmclog_open(fd);
	struct dump d = { .m = m };
	const struct log_user user = { dump_record, dump_idle, &d };
	int code;

	if (!ev || !parser) {
		code = fail(EX_OSERR, "ERROR: Cannot allocate memory to read \"%s\"", name);
	} else {
		progress_begin(&d.progress, fd,
			       m->verbosity > 0 && !isatty(m->out.fd) ? STDERR_FILENO : -1);
		m->out.paced = false;
		code = log_pass(parser, fd, ev, &user);
		if (!code)
			code = out_push_all(&m->out);
		if (!code)
			out_complete(&m->out);
		progress_end(&d.progress);
		if (m->verbosity > 0)
			chains_note_cut(name, &d.ends);
		if (!code)
			code = log_damage(parser, ev);
	}
	pmclog_close(parser);
	free(ev);
	return code;
}

int measure_dump_log(struct measure *m)
{
	int fd = -1, code = log_open_input(m->input, &fd);

	if (code)
		return code;
	code = measure_print_log(m, fd, m->input);
	close(fd);
	return code;
}

int measure_analyse_log(struct measure *m)
{
	const char *name = m->input ? m->input : m->log ? m->log : "the log";
	int code = m->input ? log_open_input(m->input, &m->recorded) : 0;

	if (code)
		return code;
	/* The daemon has written through a descriptor that shares the position. */
	if (!m->input && lseek(m->recorded, 0, SEEK_SET) != 0)
		return fail_errno(EX_OSERR, "ERROR: Cannot read the log");
	signal(SIGPIPE, SIG_IGN);
	analysis_terminal(m->analysis, m->out.fd);
	return analysis_run(m->analysis, &m->recorded, name, &m->out);
}
