/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CONFIGURELOG, FLUSHLOG, CLOSELOG, WRITELOG.  Operations that wait for the log's writer are
 * answered later: only the owner waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "loader/base/base.h"
#include "loader/log/log.h"
#include "request.h"
#include "logbook.h"
#include "loader/pmc/sample_log.h"

static int log_missing(struct request *rq)
{
	return deny(&rq->r->why, -EINVAL,
		    "this process has no log; pmc_configure_logfile() gives it one");
}

static int configurelog_failed(struct request *rq, int err)
{
	return deny(&rq->r->why, err, "writing the log failed: %s; records since then are lost, "
		    "pmc_configure_logfile(-1) ends this log", strerror(-err));
}

static int log_identity(const struct request *rq, struct identity **id)
{
	const struct owner *o = rq->s->owner;
	int err = rq->d->read_identity(o->cred.pid, id);

	/* If the owner has not exited by now, the number was not another process's. */
	if (!err && owner_gone(o)) {
		free(*id);
		err = -ESRCH;
	}
	return err ? deny(&rq->r->why, err, "cannot read the ids of the log's owner: %s",
			  strerror(-err)) : 0;
}

static int log_begin(struct request *rq, const struct logdest *dest)
{
	const struct daemon *d = rq->d;
	const struct ruling by = request_ruling(rq);
	struct owner *o = rq->s->owner;
	struct logfile_config config = {
		.kilobytes = grant_number(&by, SET_LOG, &o->cred, 0),
		.dest = *dest, .user = o->user, .owner_stats = &o->stats,
		.format = d->config.value[TUN_LOGVERSION] < 10 ? LOGFMT_OLD : LOGFMT_NEW,
		.cputype = daemon_cputype(d), .cpuid = d->cpu.id,
	};
	int err = log_identity(rq, &config.id);

	if (err)
		return err;
	if (o->cred.pid_ns != d->pid_ns)
		err = lognumbers_new(d->engine, &o->cred, &config.numbers, &rq->r->why);
	if (err) {
		free(config.id);
		return err;
	}
	config.fd = fcntl(rq->fd, F_DUPFD_CLOEXEC, 0);
	err = config.fd < 0 ? deny(&rq->r->why, -errno, "no descriptor for the log: %m") :
			      logfile_new(d->logs, &config, &o->log, &rq->r->why);
	if (!err)
		return 0;
	free(config.id);
	if (config.numbers)
		config.numbers->end(config.numbers);
	/* Does not hang: the client's descriptor is still open. */
	if (config.fd >= 0)
		close(config.fd);
	return err;
}

static int log_configure(struct request *rq)
{
	const struct setting_question q = { 0 };
	struct owner *o = rq->s->owner;
	const struct daemon *d = rq->d;
	int err;

	if (o->log)
		return deny(&rq->r->why, -EBUSY, "this process has a log already; "
			    "pmc_configure_logfile(-1) ends it");
	err = request_judge(rq, POINT_LOG, &o->cred, &q);
	err = err ?: request_fd_refused(rq);
	if (err)
		return err;
	if (rq->fd < 0)
		return deny(&rq->r->why, -EBADF, "the log's descriptor is not open");
	/* Earlier records are not for this log. */
	sample_log_drain(d->samples);
	err = log_begin(rq, rq->m->dest);
	o->logged |= !err;
	if (!err)
		err = logbook_begin(rq->d, o, &rq->r->why);
	if (err && o->log) {
		logfile_free(o->log);
		o->log = NULL;
	}
	DEBUG(&d->debug, LOGGING, CONFIG, "pid %d: a log begins: %s", o->cred.pid, strerror(-err));
	return err;
}

/* Stops the PMCs that need the log, and answers when its last records are written. */
static int log_end(struct request *rq)
{
	struct owner *o = rq->s->owner;

	if (!o->log)
		return log_missing(rq);
	DEBUG(&rq->d->debug, LOGGING, CONFIG, "pid %d: its log ends", o->cred.pid);
	logbook_end(rq->d, o);
	logfile_close(o->log);
	rq->s->later.ticket = logfile_flush(o->log);
	return op_configurelog_later(rq);
}

int op_configurelog_later(struct request *rq)
{
	struct owner *o = rq->s->owner;

	/* Another connection of the process has ended it meanwhile. */
	if (!o->log)
		return 0;
	if (logfile_written(o->log) < rq->s->later.ticket)
		return OP_LATER;
	logfile_free(o->log);
	o->log = NULL;
	return 0;
}

int op_configurelog(struct request *rq)
{
	const struct wire_configurelog_req *a = rq->arg;

	return a->logfd < 0 ? log_end(rq) : log_configure(rq);
}

int op_flushlog(struct request *rq)
{
	struct owner *o = rq->s->owner;

	if (!o->log)
		return log_missing(rq);
	sample_log_write(rq->d->samples, o);
	if (!o->log)
		return log_missing(rq);
	rq->s->later.ticket = logfile_flush(o->log);
	DEBUG(&rq->d->debug, LOGGING, FLUSH, "pid %d: up to buffer %llu", o->cred.pid,
	      (unsigned long long)rq->s->later.ticket);
	return op_flushlog_later(rq);
}

int op_flushlog_later(struct request *rq)
{
	struct owner *o = rq->s->owner;
	int err;

	if (!o->log)
		return log_missing(rq);
	err = logfile_error(o->log, NULL);
	if (err)
		return configurelog_failed(rq, err);
	return logfile_written(o->log) < rq->s->later.ticket ? OP_LATER : 0;
}

int op_closelog(struct request *rq)
{
	struct owner *o = rq->s->owner;

	if (!o->log)
		return log_missing(rq);
	sample_log_finish(rq->d->samples, o);
	logfile_close(o->log);
	return 0;
}

int op_writelog(struct request *rq)
{
	const struct wire_writelog_req *a = rq->arg;
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_USERDATA };
	struct owner *o = rq->s->owner;
	char share[USER_PART_TEXT];

	if (!o->log)
		return log_missing(rq);
	sample_log_complete(rq->d->samples);
	ev.pl_u.pl_u.pl_userdata = a->userdata;
	if (!logfile_put(o->log, clock_ns(), &ev))
		return 0;
	user_part_text(o->user, USER_SHARE, share, sizeof(share));
	return deny(&rq->r->why, -ENOMEM, "the log takes no record: it is being closed, has "
		    "failed, or all buffers that its user may have are in use (%s of "
		    "kern.hwpmc.nbuffers=%d, all if privileged)", share,
		    rq->d->config.value[TUN_NBUFFERS]);
}
