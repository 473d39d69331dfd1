/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of operations, and what is common to all: framing, order, sender, statistics. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "op.h"

struct op {
	const char *name;
	uint32_t arg_size;		/* of the request */
	unsigned int fds;		/* that may come along */
	int (*handle)(struct request *rq);
	int (*allowed)(struct request *rq); /* asked before the request is even looked at */
	int (*resume)(struct request *rq);  /* asked again after OP_LATER */
	bool contended;			/* it may be refused for something that others hold */
};

/* The copy that operations see: the socket's buffer knows neither alignment nor types. */
union argument {
	uint8_t bytes[WIRE_MAX_REQUEST];
	struct wire_hello_req hello;
	struct wire_version version;
	struct wire_cpu_req cpu;
	struct wire_class_req class;
	struct wire_admin_req admin;
	struct wire_allocate_req allocate;
	struct wire_attach_req attach;
	struct wire_id_req id;
	struct wire_getmsr_req getmsr;
	struct wire_rw_req rw;
	struct wire_setcount_req setcount;
	struct wire_configurelog_req configurelog;
	struct wire_writelog_req writelog;
	struct wire_tunable_req tunable;
	struct wire_ktr_req ktr;
	struct wire_kgmon_req kgmon;
};

#define OP(NAME, handler, size) \
	[WIRE_OP_##NAME] = { .name = #NAME, .arg_size = size, .handle = handler }
#define OP_FDS(NAME, handler, size, n) \
	[WIRE_OP_##NAME] = { .name = #NAME, .arg_size = size, .fds = n, .handle = handler }
#define OP_CONTENDED(NAME, handler, size, n, may) \
	[WIRE_OP_##NAME] = { .name = #NAME, .arg_size = size, .fds = n, .handle = handler, \
			     .allowed = may, .contended = true }
#define OP_WAITS(NAME, handler, size, n, later) \
	[WIRE_OP_##NAME] = { .name = #NAME, .arg_size = size, .fds = n, .handle = handler, \
			     .resume = later }

static const struct op ops[] = {
	OP_WAITS(CONFIGURELOG, op_configurelog, sizeof(struct wire_configurelog_req), 1,
		 op_configurelog_later),
	OP_WAITS(FLUSHLOG, op_flushlog, 0, 0, op_flushlog_later),
	OP(WRITELOG, op_writelog, sizeof(struct wire_writelog_req)),
	OP(CLOSELOG, op_closelog, 0),
	OP(GETCPUINFO, op_getcpuinfo, 0),
	OP(GETDRIVERSTATS, op_getdriverstats, 0),
	OP(GETLOSSES, op_getlosses, 0),
	OP(GETMODULEVERSION, op_getmoduleversion, sizeof(struct wire_version)),
	OP(GETPMCINFO, op_getpmcinfo, sizeof(struct wire_cpu_req)),
	OP_CONTENDED(PMCADMIN, op_pmcadmin, sizeof(struct wire_admin_req), 0, op_pmcadmin_allowed),
	OP_CONTENDED(PMCALLOCATE, op_pmcallocate, sizeof(struct wire_allocate_req), 0, NULL),
	OP_CONTENDED(PMCATTACH, op_pmcattach, sizeof(struct wire_attach_req), 2, NULL),
	OP_CONTENDED(ATTACHEXEC, op_attachexec, sizeof(struct wire_attach_req), 2, NULL),
	OP_FDS(PMCDETACH, op_pmcdetach, sizeof(struct wire_attach_req), 1),
	OP(PMCGETMSR, op_pmcgetmsr, sizeof(struct wire_getmsr_req)),
	OP(PMCRELEASE, op_pmcrelease, sizeof(struct wire_id_req)),
	OP(PMCRW, op_pmcrw, sizeof(struct wire_rw_req)),
	OP(PMCSETCOUNT, op_pmcsetcount, sizeof(struct wire_setcount_req)),
	OP_CONTENDED(PMCSTART, op_pmcstart, sizeof(struct wire_id_req), 0, NULL),
	OP(PMCSTOP, op_pmcstop, sizeof(struct wire_id_req)),
	OP(GETDYNEVENTINFO, op_getdyneventinfo, sizeof(struct wire_class_req)),
	OP(HELLO, op_hello, sizeof(struct wire_hello_req)),
	OP_WAITS(TUNABLE, op_tunable, sizeof(struct wire_tunable_req), 0, op_tunable_later),
	OP_WAITS(KTR, op_ktr, sizeof(struct wire_ktr_req), 0, op_ktr_later),
	OP(GATES, op_gates, 0),
	OP(KGMON, op_kgmon, sizeof(struct wire_kgmon_req)),
	OP(SIGNALS, op_signals, sizeof(struct wire_signals_req)),
};

void *reply_room(struct reply *r, size_t len)
{
	uint8_t *p = r->data + sizeof(struct wire_hdr) + r->payload;

	if (len > WIRE_MAX_REPLY - WIRE_MAX_REASON - sizeof(struct wire_hdr) - r->payload)
		return NULL;
	r->payload += (uint32_t)len;
	return memset(p, 0, len);
}

static void reply_finish(struct reply *r, uint16_t op, uint32_t seq, int err)
{
	struct wire_hdr h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = op, .seq = seq,
			      .error = err };

	if (err) {
		r->payload = 0;
		r->nfds = 0;
		h.reason_len = (uint32_t)strlen(r->why.text);
	}
	h.len = r->payload;
	memcpy(r->data, &h, sizeof(h));
	memcpy(r->data + sizeof(h) + h.len, r->why.text, h.reason_len);
	r->len = sizeof(h) + h.len + h.reason_len;
}

void reply_end(struct reply *r)
{
	if (r->own_fd >= 0)
		close(r->own_fd);
	r->own_fd = -1;
}

void reply_refuse(struct reply *r, uint16_t op, uint32_t seq, int err)
{
	reply_finish(r, op, seq, err);
}

/* -EPROTO where the message is none of ours; the connection is then given up. */
static int check_frame(const struct message *m, struct wire_hdr *h, struct why *why)
{
	memset(h, 0, sizeof(*h));
	if (m->len >= sizeof(*h))
		memcpy(h, m->data, sizeof(*h));
	if (m->truncated)
		return deny(why, -EPROTO, "a message has at most %u bytes and two descriptors",
			    WIRE_MAX_REQUEST);
	if (m->len < sizeof(*h))
		return deny(why, -EPROTO, "a message of %zu bytes lacks a header", m->len);
	if (h->magic != WIRE_MAGIC)
		return deny(why, -EPROTO, "not a message of libpmc-compat");
	if (h->version != WIRE_VERSION)
		return deny(why, -EPROTO,
			    "wire version %u: pmcbpfd " PMCBPF_VERSION " speaks version %u; "
			    "install library and daemon of one release",
			    h->version, WIRE_VERSION);
	if (h->len != m->len - sizeof(*h) || h->error || h->reason_len)
		return deny(why, -EPROTO,
			    "the header says %u bytes of payload, the message has %zu", h->len,
			    m->len - sizeof(*h));
	return 0;
}

/* The sender must be the process that made the connection: a forked child owns nothing. */
static int check_sender(const struct session *s, const struct message *m, struct why *why)
{
	if (m->pid == 0)
		return deny(why, -EPERM,
			    "nothing tells who sent this: set SO_PASSCRED on the daemon's end of "
			    "the connection before the first message");
	if (m->pid != s->owner->cred.pid || owner_gone(s->owner))
		return deny(why, -EPERM,
			    "this connection belongs to process %d; others make their own",
			    s->owner->cred.inner_pid);
	return 0;
}

static int check_order(const struct session *s, const struct wire_hdr *h, struct why *why)
{
	if (h->op != WIRE_OP_HELLO && !s->hello)
		return deny(why, -EPROTO, "the first message of a connection is HELLO");
	if (h->op == WIRE_OP_HELLO && s->hello)
		return deny(why, -EPROTO, "HELLO was said before");
	return 0;
}

static void reply_begin(struct reply *r)
{
	r->payload = 0;
	r->nfds = 0;
	r->own_fd = -1;
	r->why.text[0] = '\0';
	r->close = false;
	r->later = false;
}

/* What a process that is gone still held is no reason to refuse anything. */
static int handle(const struct op *op, struct request *rq)
{
	int err = op->handle(rq);

	if (err >= 0 || !op->contended ||
	    !owner_wait_ended(&rq->d->owners, rq->d->errands.fibers, rq->s->owner))
		return err;
	reply_begin(rq->r);
	return op->handle(rq);
}

static int run(struct request *rq, const struct wire_hdr *h)
{
	static const char *const takes[] = {
		"no descriptor", "at most one descriptor", "at most two descriptors",
	};
	const struct op *op = h->op < sizeof(ops) / sizeof(ops[0]) ? &ops[h->op] : NULL;
	struct why *why = &rq->r->why;
	int err;

	if (!op || !op->handle)
		return deny(why, -EINVAL, "pmcbpfd " PMCBPF_VERSION " has no operation %u", h->op);
	err = op->allowed ? op->allowed(rq) : 0;
	if (err)
		return err;
	if (h->len != op->arg_size)
		return deny(why, -EFAULT, "%s takes %u bytes, not %u", op->name, op->arg_size,
			    h->len);
	if (rq->m->nfds > op->fds)
		return deny(why, -EPROTO, "%s takes %s, not %u", op->name, takes[op->fds],
			    rq->m->nfds);
	count_cpus(rq->d->engine);
	rq->fd = rq->m->nfds ? rq->m->fds[0] : -1;
	rq->proof = rq->m->nfds > 1 ? rq->m->fds[1] : -1;
	err = handle(op, rq);
	if (err < 0 && !why->text[0])
		deny(why, err, "%s: %s", op->name, strerror(-err));
	if (err == OP_LATER) {
		rq->s->later.waits = true;
		rq->s->later.op = h->op;
		rq->s->later.seq = h->seq;
	}
	return err;
}

const char *op_name(unsigned int op)
{
	return op < sizeof(ops) / sizeof(ops[0]) && ops[op].name ? ops[op].name : "?";
}

void message_handle(struct daemon *d, struct session *s, const struct message *m, struct reply *r)
{
	union argument arg;
	struct request rq = { .d = d, .s = s, .arg = &arg, .m = m, .r = r };
	struct wire_hdr h;
	int err;

	reply_begin(r);
	err = check_frame(m, &h, &r->why);
	r->close = err != 0;
	if (!err)
		err = check_sender(s, m, &r->why);
	if (!err)
		err = check_order(s, &h, &r->why);
	if (!err) {
		memcpy(arg.bytes, m->data + sizeof(h), h.len);
		d->stats.syscalls += h.op != WIRE_OP_HELLO;
		err = run(&rq, &h);
		DEBUG(&d->debug, MODULE, SYSCALL, "pid %d operation %u: %s%s%s",
		      s->owner->cred.pid, h.op, strerror(err < 0 ? -err : 0), err < 0 ? ": " : "",
		      err < 0 ? r->why.text : "");
		d->stats.syscall_errors += err < 0 && h.op != WIRE_OP_HELLO;
	}
	r->later = err == OP_LATER;
	if (!r->later)
		reply_finish(r, h.op, h.seq, err);
}

bool message_resume(struct daemon *d, struct session *s, struct reply *r)
{
	struct request rq = { .d = d, .s = s, .fd = -1, .proof = -1, .r = r };
	int err;

	reply_begin(r);
	err = ops[s->later.op].resume(&rq);
	if (err == OP_LATER)
		return false;
	s->later.waits = false;
	d->stats.syscall_errors += err < 0;
	reply_finish(r, s->later.op, s->later.seq, err);
	return true;
}

int request_fd_refused(const struct request *rq)
{
	const struct message *m = rq->m;

	if (rq->fd >= 0 || !m->nfds || !m->refusal)
		return 0;
	return deny(&rq->r->why, m->passed[0], "%s", m->refusal->text);
}

int request_cred_now(const struct request *rq, struct cred *cred, struct why *why)
{
	const struct owner *o = rq->s->owner;

	if (rq->d->read_cred(o->cred.pid, cred) || cred->start != o->cred.start)
		return deny(why, -EPERM, "the process of this connection has exited");
	/* What the kernel says of the sender must fit: its pid alone could be somebody else's. */
	if (rq->m->uid != cred->uid[ID_REAL] && rq->m->uid != cred->uid[ID_EFFECTIVE] &&
	    rq->m->uid != cred->uid[ID_SAVED])
		return deny(why, -EPERM, "the sender has changed its user id meanwhile");
	if (policy_grown(&rq->s->cred, cred))
		return deny(why, -EPERM, "process %d has ids or capabilities that it did not have "
			    "when it made this connection; connect again", o->cred.inner_pid);
	return 0;
}

int request_cred(const struct request *rq, struct cred *cred)
{
	return request_cred_now(rq, cred, &rq->r->why);
}

int request_privileged(const struct request *rq, const char *what)
{
	struct cred me;
	int err = request_cred(rq, &me);

	if (err || policy_privileged(&me))
		return err;
	return deny(&rq->r->why, -EPERM, "%s takes CAP_PERFMON or CAP_SYS_ADMIN outside of a "
		    "container", what);
}

pid_t pid_as_seen(const struct request *rq, const struct cred *cred)
{
	const struct cred *viewer = &rq->s->owner->cred;

	return viewer->pid_ns == rq->d->pid_ns ? cred->pid : policy_pid_in(cred, viewer);
}
