/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of operations, and what all of them share: frame, sender, order, statistics. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "request.h"

struct op {
	const char *name;
	uint32_t arg_size;		/* of the request */
	unsigned int fds;		/* most descriptors of the packet */
	int (*handle)(struct request *rq);
	int (*allowed)(struct request *rq);	/* called before the request is checked */
	int (*resume)(struct request *rq);	/* called again after OP_LATER */
	bool contended;			/* it may be refused because others hold something */
};

/* The aligned copy of the payload that operations read. */
union op_argument {
	uint8_t bytes[WIRE_MAX_REQUEST];
	struct wire_hello_req hello;
	struct wire_version version;
	struct wire_losses_req losses;
	struct wire_overflows_req overflows;
	struct wire_cpu_req cpu;
	struct wire_class_req class;
	struct wire_admin_req admin;
	struct wire_allocate_req allocate;
	struct wire_attach_req attach;
	struct wire_thread_req thread;
	struct wire_id_req id;
	struct wire_getmsr_req getmsr;
	struct wire_rw_req rw;
	struct wire_readgroup_req readgroup;
	struct wire_setcount_req setcount;
	struct wire_configurelog_req configurelog;
	struct wire_writelog_req writelog;
	struct wire_tunable_req tunable;
	struct wire_ktr_req ktr;
	struct wire_kgmon_req kgmon;
	struct wire_policy_req policy;
};

/* Further members of an operation follow by name. */
#define OP(NAME, handler, size, ...) \
	[WIRE_OP_##NAME] = { .name = #NAME, .arg_size = size, .handle = handler, __VA_ARGS__ }

static const struct op ops[] = {
	OP(CONFIGURELOG, op_configurelog, sizeof(struct wire_configurelog_req), .fds = 1,
	   .resume = op_configurelog_later),
	OP(FLUSHLOG, op_flushlog, 0, .resume = op_flushlog_later),
	OP(WRITELOG, op_writelog, sizeof(struct wire_writelog_req)),
	OP(CLOSELOG, op_closelog, 0),
	OP(GETCPUINFO, op_getcpuinfo, 0),
	OP(GETDRIVERSTATS, op_getdriverstats, 0),
	OP(GETLOSSES, op_getlosses, sizeof(struct wire_losses_req)),
	OP(GETMODULEVERSION, op_getmoduleversion, sizeof(struct wire_version)),
	OP(GETPMCINFO, op_getpmcinfo, sizeof(struct wire_cpu_req)),
	OP(PMCADMIN, op_pmcadmin, sizeof(struct wire_admin_req), .allowed = op_pmcadmin_allowed,
	   .contended = true),
	OP(PMCALLOCATE, op_pmcallocate, sizeof(struct wire_allocate_req), .fds = 1,
	   .contended = true),
	OP(PMCATTACH, op_pmcattach, sizeof(struct wire_attach_req), .fds = 2, .contended = true),
	OP(ATTACHEXEC, op_attachexec, sizeof(struct wire_attach_req), .fds = 2, .contended = true),
	OP(ATTACHTHREAD, op_attachthread, sizeof(struct wire_thread_req), .fds = 2,
	   .contended = true),
	OP(ATTACHCGROUP, op_attachcgroup, sizeof(struct wire_id_req), .fds = 1),
	OP(PMCDETACH, op_pmcdetach, sizeof(struct wire_attach_req), .fds = 1),
	OP(PMCGETMSR, op_pmcgetmsr, sizeof(struct wire_getmsr_req)),
	OP(PMCRELEASE, op_pmcrelease, sizeof(struct wire_id_req)),
	OP(PMCRW, op_pmcrw, sizeof(struct wire_rw_req)),
	OP(COMMITGROUP, op_commitgroup, sizeof(struct wire_commitgroup_req)),
	OP(READGROUP, op_readgroup, sizeof(struct wire_readgroup_req)),
	OP(PMCSETCOUNT, op_pmcsetcount, sizeof(struct wire_setcount_req)),
	OP(OVERFLOWS, op_overflows, sizeof(struct wire_overflows_req)),
	OP(PMCSTART, op_pmcstart, sizeof(struct wire_id_req), .contended = true),
	OP(PMCSTOP, op_pmcstop, sizeof(struct wire_id_req)),
	OP(GETDYNEVENTINFO, op_getdyneventinfo, sizeof(struct wire_class_req)),
	OP(HELLO, op_hello, sizeof(struct wire_hello_req)),
	OP(TUNABLE, op_tunable, sizeof(struct wire_tunable_req), .resume = op_tunable_later),
	OP(KTR, op_ktr, sizeof(struct wire_ktr_req), .resume = op_ktr_later),
	OP(GATES, op_gates, 0),
	OP(KGMON, op_kgmon, sizeof(struct wire_kgmon_req)),
	OP(POLICY, op_policy, sizeof(struct wire_policy_req)),
	OP(SIGNALS, op_signals, sizeof(struct wire_signals_req)),
};

/* -EPROTO: the packet is not one of the protocol; the connection is then given up. */
static int packet_check(const struct packet *m, struct wire_hdr *h, struct reason *why)
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
static int packet_check_sender(const struct session *s, const struct packet *m, struct reason *why)
{
	if (m->pid == 0)
		return deny(why, -EPERM,
			    "the sender of this message is unknown: set SO_PASSCRED on the "
			    "daemon's end of the connection before the first message");
	if (m->pid != s->owner->cred.pid || owner_gone(s->owner))
		return deny(why, -EPERM,
			    "this connection belongs to process %d; others make their own",
			    s->owner->cred.inner_pid);
	return 0;
}

static int packet_check_order(const struct session *s, const struct wire_hdr *h, struct reason *why)
{
	if (h->op != WIRE_OP_HELLO && !s->hello)
		return deny(why, -EPROTO, "the first message of a connection is HELLO");
	if (h->op == WIRE_OP_HELLO && s->hello)
		return deny(why, -EPROTO, "HELLO was said before");
	return 0;
}

/* Tries again if exited processes still held something, which is free by then. */
static int op_call(const struct op *op, struct request *rq)
{
	int err = op->handle(rq);

	if (err >= 0 || !op->contended ||
	    !owner_wait_ended(&rq->d->owners, rq->d->errands.fibers, rq->s->owner))
		return err;
	reply_begin(rq->r);
	return op->handle(rq);
}

static int op_run(struct request *rq, const struct wire_hdr *h)
{
	static const char *const takes[] = {
		"no descriptor", "at most one descriptor", "at most two descriptors",
	};
	const struct op *op = h->op < sizeof(ops) / sizeof(ops[0]) ? &ops[h->op] : NULL;
	struct reason *why = &rq->r->why;
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
	err = op_call(op, rq);
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

void op_handle(struct daemon *d, struct session *s, const struct packet *m, struct reply *r)
{
	union op_argument arg;
	struct request rq = { .d = d, .s = s, .arg = &arg, .m = m, .r = r };
	struct wire_hdr h;
	int err;

	reply_begin(r);
	err = packet_check(m, &h, &r->why);
	r->close = err != 0;
	if (!err)
		err = packet_check_sender(s, m, &r->why);
	if (!err)
		err = packet_check_order(s, &h, &r->why);
	if (!err) {
		memcpy(arg.bytes, m->data + sizeof(h), h.len);
		d->stats.syscalls += h.op != WIRE_OP_HELLO;
		err = op_run(&rq, &h);
		DEBUG(&d->debug, MODULE, SYSCALL, "pid %d operation %u: %s%s%s",
		      s->owner->cred.pid, h.op, strerror(err < 0 ? -err : 0), err < 0 ? ": " : "",
		      err < 0 ? r->why.text : "");
		d->stats.syscall_errors += err < 0 && h.op != WIRE_OP_HELLO;
	}
	r->later = err == OP_LATER;
	if (!r->later)
		reply_finish(r, h.op, h.seq, err);
}

bool op_resume(struct daemon *d, struct session *s, struct reply *r)
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
