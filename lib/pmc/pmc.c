/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc(3): the functions on PMCs.  Each is one request; pmc_read() mostly none. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include "allocate.h"
#include "client.h"
#include "group.h"
#include "lib/base/thread.h"
#include "proof.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

struct lib pmc_lib = {
	.io = PTHREAD_MUTEX_INITIALIZER,
	.table = PTHREAD_MUTEX_INITIALIZER,
	.init = PTHREAD_MUTEX_INITIALIZER,
	.handles = PTHREAD_MUTEX_INITIALIZER,
	.groups = PTHREAD_MUTEX_INITIALIZER,
	.reads = READ_SHARED_INITIALIZER(pmc_lib.reads),
	.socket = OWNFD_INITIALIZER,
	.spare = OWNFD_INITIALIZER,
	.log_fd = -1,
};

/* --- requests -------------------------------------------------------------------------------- */

static int id_request(uint16_t op, pmc_id_t pmcid, struct reason *why)
{
	struct wire_id_req req = { .pmcid = pmcid };

	return client_request(&pmc_lib, op, &req, sizeof(req), -1, why);
}

static int allocate_request(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu,
			    pmc_id_t *pmcid, uint64_t count, struct reason *why)
{
	const struct wire_allocate_req how = {
		.cpu = (uint32_t)cpu, .flags = flags, .mode = (uint32_t)mode,
		.count = count == UINT64_MAX ? 0 : count,
	};

	return allocate_member(spec, &how, pmcid, why);
}

PMC_API_PUBLIC int pmc_allocate(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu,
				pmc_id_t *pmcid, uint64_t count)
{
	return call_leave(allocate_request(spec, mode, flags, cpu, pmcid, count, call_enter()));
}

PMC_API_PUBLIC int pmc_allocate5(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu,
				 pmc_id_t *pmcid)
{
	return call_leave(allocate_request(spec, mode, flags, cpu, pmcid, 0, call_enter()));
}

PMC_API_PUBLIC int pmc_release(pmc_id_t pmcid)
{
	return call_leave(allocate_undo(pmcid, call_enter()));
}

/* --- targets --------------------------------------------------------------------------------- */

/*
 * The daemon identifies a target by its pidfd, so that a reused pid is never attached to.  For a
 * pid that is gone, or a thread that is not a process, there is no pidfd; the daemon answers ESRCH
 * after its other checks.
 */
static int target_open(pid_t pid, int *fd, struct reason *why)
{
	*fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	if (pid > 0 && *fd < 0 && errno != ESRCH && errno != EINVAL && errno != ENOENT)
		return deny(why, -errno, "process %d cannot be named to pmcbpfd: %s", (int)pid,
			    strerror(errno));
	return 0;
}

/* The daemon knows why a proof is missing, unless the cause is this process or its /proc. */
static int attach_refused(const char *path, int error, struct reason *why)
{
	struct reason daemon = *why;

	if (error == -EACCES || error == -EPERM || error == -ESRCH)
		return -EPERM;
	if (error == -EMFILE || error == -ENFILE || error == -ENOMEM)
		return deny(why, error, "no proof for pmcbpfd: %s: %s", path, strerror(-error));
	return deny(why, -EPERM, "%.300s (%s: %s)", daemon.text, path, strerror(-error));
}

/* No pidfd: a number that is a thread's, or nobody's. */
static int attach_explain_missing(pid_t pid, int err, struct reason *why)
{
	pid_t process = pid > 0 ? thread_process(pid) : 0;

	if (err != -ESRCH || !process || process == pid)
		return err;
	return deny(why, err, "%d is a thread of process %d: attach to the process, or count the "
		    "thread alone by PMC_F_THREAD and pmc_attach_thread()", (int)pid,
		    (int)process);
}

/* With ATTACHTHREAD: the thread `tid` of the process; else 0. */
static int attach_request(uint16_t op, pmc_id_t pmcid, pid_t pid, pid_t tid, struct reason *why)
{
	struct wire_thread_req req = { .process = { .pmcid = pmcid, .pid = pid }, .tid = tid };
	struct exchange x = {
		.op = op, .request = &req, .request_len = tid ? sizeof(req) : sizeof(req.process),
	};
	char path[64];
	int proof = -1, err = target_open(pid, &x.send_fd, why);

	if (err)
		return err;
	if (x.send_fd >= 0)
		proof = proof_open(x.send_fd, path, sizeof(path));
	x.proof = proof >= 0 ? &proof : NULL;
	err = client_exchange(&pmc_lib, &x, why);
	client_exchange_close(&x);
	if (err == -EPERM && x.send_fd >= 0 && proof < 0)
		err = attach_refused(path, proof, why);
	if (x.send_fd >= 0)
		close(x.send_fd);
	else
		err = attach_explain_missing(pid, err, why);
	if (proof >= 0)
		close(proof);
	return err;
}

static int attach_thread_request(pmc_id_t pmcid, pid_t tid, struct reason *why)
{
	pid_t process = getpid();

	if (tid > 0)
		process = thread_process(tid);
	else if (tid == 0)
		tid = (pid_t)syscall(SYS_gettid);
	else
		return deny(why, -EINVAL, "%d is no thread id", (int)tid);
	if (!process)
		return deny(why, -ESRCH, "there is no thread %d", (int)tid);
	return attach_request(WIRE_OP_ATTACHTHREAD, pmcid, process, tid, why);
}

static int attach_cgroup_request(pmc_id_t pmcid, int folder, struct reason *why)
{
	struct wire_id_req req = { .pmcid = pmcid };

	if (fcntl(folder, F_GETFD) < 0)
		return deny(why, -EBADF, "%d is no descriptor of a cgroup's folder", folder);
	return client_request(&pmc_lib, WIRE_OP_ATTACHCGROUP, &req, sizeof(req), folder, why);
}

static int detach_request(pmc_id_t pmcid, pid_t pid, struct reason *why)
{
	struct wire_attach_req req = { .pmcid = pmcid, .pid = pid };
	int fd, err = target_open(pid, &fd, why);

	if (err)
		return err;
	err = client_request(&pmc_lib, WIRE_OP_PMCDETACH, &req, sizeof(req), fd, why);
	if (fd >= 0)
		close(fd);
	return err;
}

PMC_API_PUBLIC int pmc_attach(pmc_id_t pmcid, pid_t pid)
{
	return call_leave(attach_request(WIRE_OP_PMCATTACH, pmcid, pid, 0, call_enter()));
}

PMC_API_PUBLIC int pmc_attach_exec(pmc_id_t pmcid, pid_t pid)
{
	return call_leave(attach_request(WIRE_OP_ATTACHEXEC, pmcid, pid, 0, call_enter()));
}

PMC_API_PUBLIC int pmc_attach_thread(pmc_id_t pmcid, pid_t tid)
{
	return call_leave(attach_thread_request(pmcid, tid, call_enter()));
}

PMC_API_PUBLIC int pmc_attach_cgroup(pmc_id_t pmcid, int folder)
{
	return call_leave(attach_cgroup_request(pmcid, folder, call_enter()));
}

PMC_API_PUBLIC int pmc_detach(pmc_id_t pmcid, pid_t pid)
{
	return call_leave(detach_request(pmcid, pid, call_enter()));
}

/* --- start, stop ----------------------------------------------------------------------------- */

static int start_request(pmc_id_t pmcid, struct reason *why)
{
	struct wire_id_req req = { .pmcid = pmcid };
	struct wire_start_rep rep = { .nfds = 0 };
	struct exchange x = {
		.op = WIRE_OP_PMCSTART, .request = &req, .request_len = sizeof(req), .send_fd = -1,
		.fds_optional = true, .payload = &rep, .payload_min = sizeof(rep),
		.payload_max = sizeof(rep),
	};
	int err = client_exchange(&pmc_lib, &x, why);
	pmc_id_t group[WIRE_GROUP_MAX];
	struct read_table *t;
	uint32_t members;
	pid_t tid;

	if (err)
		return err;
	/* The page of a CPU's event is of no use to a thread on another CPU. */
	tid = x.nfds && !PMC_IS_SYSTEM_MODE(PMC_ID_TO_MODE(pmcid)) && thread_alone() ?
		read_thread() : 0;
	members = rep.members ? group_members(pmcid, group) : 0;
	t = client_table_change(&pmc_lib);
	/* Without memory for the descriptors reads ask the daemon. */
	if (t && members && members == rep.members && rep.nfds == x.nfds)
		read_table_group(t, group, &rep, x.fds, tid);
	else if (t && !rep.members)
		read_table_events(t, pmcid, rep.generation, x.fds, x.nfds, tid);
	else
		client_exchange_close(&x);
	client_table_publish(&pmc_lib, t);
	return 0;
}

PMC_API_PUBLIC int pmc_start(pmc_id_t pmcid)
{
	return call_leave(start_request(pmcid, call_enter()));
}

PMC_API_PUBLIC int pmc_stop(pmc_id_t pmcid)
{
	return call_leave(id_request(WIRE_OP_PMCSTOP, pmcid, call_enter()));
}

/* --- values ---------------------------------------------------------------------------------- */

static int rw_request(pmc_id_t pmcid, uint32_t flags, pmc_value_t value, pmc_value_t *old,
		      struct reason *why)
{
	struct wire_rw_req req = { .pmcid = pmcid, .flags = flags, .value = value };
	struct wire_rw_rep rep = { .value = 0 };
	int err = client_query(&pmc_lib, WIRE_OP_PMCRW, &req, sizeof(req), &rep, sizeof(rep), why);

	if (!err && old)
		*old = rep.value;
	return err;
}

/* Takes no lock and defers no signal: a register's instruction may raise one. */
static int read_table_value(struct lib *l, pmc_id_t pmcid, pmc_value_t *value, struct reason *why)
{
	bool moved;
	struct read_version *v = read_share_enter(&l->reads, &moved);
	int err = read_value(&v->table, pmcid, value, why);

	if (read_share_leave(&l->reads, v) || moved)
		client_table_reclaim(l);
	return err;
}

static int read_slow(pmc_id_t pmcid, pmc_value_t *value)
{
	struct lib *l = &pmc_lib;
	struct reason why = { "" };
	int err;

	if (!value)
		return call_end(call_missing(call_begin(), "value"));
	err = read_table_value(l, pmcid, value, &why);
	if (err == READ_ASK) {
		sigdefer_begin();
		err = rw_request(pmcid, PMC_F_OLDVALUE, 0, value, &why);
		sigdefer_end();
	}
	return call_end_with(err, &why);
}

PMC_API_PUBLIC int pmc_read(pmc_id_t pmcid, pmc_value_t *value)
{
	if (!__libc_single_threaded || !value)
		return read_slow(pmcid, value);
	return read_quick(pmcid, value, &pmc_lib.reads, read_slow);
}

PMC_API_PUBLIC int pmc_write(pmc_id_t pmcid, pmc_value_t value)
{
	return call_leave(rw_request(pmcid, PMC_F_NEWVALUE, value, NULL, call_enter()));
}

PMC_API_PUBLIC int pmc_rw(pmc_id_t pmcid, pmc_value_t newvalue, pmc_value_t *oldvalue)
{
	if (!oldvalue)
		return call_end(call_missing(call_begin(), "oldvalue"));
	return call_leave(rw_request(pmcid, PMC_F_NEWVALUE | PMC_F_OLDVALUE, newvalue, oldvalue,
				     call_enter()));
}

PMC_API_PUBLIC int pmc_set(pmc_id_t pmcid, pmc_value_t value)
{
	struct wire_setcount_req req = { .pmcid = pmcid, .count = value };

	return call_leave(
		client_request(&pmc_lib, WIRE_OP_PMCSETCOUNT, &req, sizeof(req), -1, call_enter()));
}

static int overflows_request(const struct wire_overflows_req *req, struct wire_overflows *rep,
			     struct reason *why)
{
	return client_query(&pmc_lib, WIRE_OP_OVERFLOWS, req, sizeof(*req), rep, sizeof(*rep), why);
}

PMC_API_PUBLIC int pmc_set_signal(pmc_id_t pmcid, int signo, uint32_t n)
{
	struct wire_overflows_req req = { .pmcid = pmcid, .signal = (uint32_t)signo, .n = n };
	struct reason *why = call_enter();
	struct wire_overflows rep;

	req.set = sigdefer_blocks(signo) ? WIRE_SIGNAL_BLOCKED : WIRE_SIGNAL_HANDLED;
	return call_leave(overflows_request(&req, &rep, why));
}

PMC_API_PUBLIC int pmc_get_overflows(pmc_id_t pmcid, struct pmc_overflows *overflows)
{
	const struct wire_overflows_req req = { .pmcid = pmcid };
	struct reason *why = call_enter();
	struct wire_overflows rep;
	int err;

	if (!overflows)
		return call_leave(call_missing(why, "overflows"));
	err = overflows_request(&req, &rep, why);
	if (!err)
		*overflows = (struct pmc_overflows){ rep.overflows, rep.unsent, rep.left };
	return call_leave(err);
}

static int msr_request(pmc_id_t pmcid, uint32_t *msr, struct reason *why)
{
	struct lib *l = &pmc_lib;
	struct wire_getmsr_req req = { .pmcid = pmcid };
	struct reason missing = { "" };
	struct read_version *v;
	uint32_t index = 0;
	int err, found;
	bool moved;

	if (!msr)
		return call_missing(why, "msr");
	v = read_share_enter(&l->reads, &moved);
	found = read_register(&v->table, pmcid, &index, &missing);
	if (read_share_leave(&l->reads, v) || moved)
		client_table_reclaim(l);
	req.missing = (uint32_t)-found;
	err = client_request(&pmc_lib, WIRE_OP_PMCGETMSR, &req, sizeof(req), -1, why);
	if (!err)
		*msr = index;
	else if (err == found)
		*why = missing;
	return err;
}

PMC_API_PUBLIC int pmc_get_msr(pmc_id_t pmcid, uint32_t *msr)
{
	return call_leave(msr_request(pmcid, msr, call_enter()));
}

/* --- administration -------------------------------------------------------------------------- */

static int admin_request(int cpu, int row, enum pmc_state state)
{
	struct wire_admin_req req = { .cpu = cpu, .pmc = row, .state = state };

	return call_leave(
		client_request(&pmc_lib, WIRE_OP_PMCADMIN, &req, sizeof(req), -1, call_enter()));
}

PMC_API_PUBLIC int pmc_enable(int cpu, int row)
{
	return admin_request(cpu, row, PMC_STATE_FREE);
}

PMC_API_PUBLIC int pmc_disable(int cpu, int row)
{
	return admin_request(cpu, row, PMC_STATE_DISABLED);
}
