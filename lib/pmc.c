/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc(3): the functions on PMCs.  Each is one request; pmc_read() mostly none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include "client.h"
#include "pmu.h"
#include "proof.h"
#include "resolve.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

struct lib pmc_lib = {
	.io = PTHREAD_MUTEX_INITIALIZER,
	.table = PTHREAD_RWLOCK_INITIALIZER,
	.init = PTHREAD_MUTEX_INITIALIZER,
	.fd = -1,
	.log_fd = -1,
};

/* --- reasons --------------------------------------------------------------------------------- */

static __thread struct {
	int error;
	struct reason why;
} last;

struct reason *lib_begin(void)
{
	last.why.text[0] = '\0';
	return &last.why;
}

int lib_end(int err)
{
	if (err >= 0)
		return 0;
	last.error = -err;
	errno = -err;
	return -1;
}

int lib_missing(struct reason *why, const char *argument)
{
	return refuse(why, -EFAULT, "%s is a null pointer", argument);
}

PMC_API_PUBLIC const char *pmc_errstr(void)
{
	return last.why.text[0] ? last.why.text : strerror(last.error);
}

/* --- requests -------------------------------------------------------------------------------- */

static int id_request(uint16_t op, pmc_id_t pmcid, struct reason *why)
{
	struct wire_id_req req = { .pmcid = pmcid };

	return client_request(&pmc_lib, op, &req, sizeof(req), -1, why);
}

/* Takes the pages along that the reply may bring. */
static void allocated(const struct wire_allocate_rep *rep, struct exchange *x)
{
	struct lib *l = &pmc_lib;

	pthread_rwlock_wrlock(&l->table);
	/* What cannot be mapped costs round trips, not counts: reads then ask the daemon. */
	if (x->nfds == 2)
		read_table_pages(&l->reads, x->fds[0], x->fds[1], rep->ncpu);
	read_table_add(&l->reads, rep->pos, rep->pmcid);
	pthread_rwlock_unlock(&l->table);
	exchange_close(x);
}

static int allocate(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu, pmc_id_t *pmcid,
		    uint64_t count, struct reason *why)
{
	struct wire_allocate_req req = {
		.cpu = cpu, .flags = flags, .mode = mode,
		.count = count == UINT64_MAX ? 0 : count,
	};
	struct wire_allocate_rep rep = { .nfds = 0 };
	struct exchange x = {
		.op = WIRE_OP_PMCALLOCATE, .request = &req, .request_len = sizeof(req),
		.send_fd = -1, .payload = &rep, .payload_min = sizeof(rep),
		.payload_max = sizeof(rep),
	};
	int err;

	if ((unsigned int)mode > PMC_MODE_LAST)
		return refuse(why, -EINVAL, "%u is not a mode", (unsigned int)mode);
	if (!spec || !pmcid)
		return lib_missing(why, spec ? "pmcid" : "the event specifier");
	if (!pmc_lib.known)
		return refuse(why, -ENOSYS, "pmc_init() has not been called, or has failed");
	err = resolve_event(&pmc_lib, PMU_ROOT, spec, &req, why);
	if (err)
		return err;
	/* System scope sees descendants anyway; FreeBSD's pmcstat passes both. */
	if (PMC_IS_SYSTEM_MODE(mode))
		req.flags &= ~(uint32_t)PMC_F_DESCENDANTS;
	err = client_exchange(&pmc_lib, &x, why);
	if (err)
		return err;
	allocated(&rep, &x);
	*pmcid = rep.pmcid;
	return 0;
}

PMC_API_PUBLIC int pmc_allocate(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu,
				pmc_id_t *pmcid, uint64_t count)
{
	return lib_end(allocate(spec, mode, flags, cpu, pmcid, count, lib_begin()));
}

PMC_API_PUBLIC int pmc_allocate5(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu,
				 pmc_id_t *pmcid)
{
	return lib_end(allocate(spec, mode, flags, cpu, pmcid, 0, lib_begin()));
}

PMC_API_PUBLIC int pmc_release(pmc_id_t pmcid)
{
	int err = id_request(WIRE_OP_PMCRELEASE, pmcid, lib_begin());

	if (!err) {
		pthread_rwlock_wrlock(&pmc_lib.table);
		read_table_remove(&pmc_lib.reads, pmcid);
		pthread_rwlock_unlock(&pmc_lib.table);
	}
	return lib_end(err);
}

/* --- targets --------------------------------------------------------------------------------- */

/*
 * The daemon knows a target by the descriptor that comes along, so that a reused pid is never hit.
 * Without one it answers ESRCH, after its other checks: that is for pids that are gone, and for ids
 * of threads that are not processes.
 */
static int target_open(pid_t pid, int *fd, struct reason *why)
{
	*fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	if (pid > 0 && *fd < 0 && errno != ESRCH && errno != EINVAL && errno != ENOENT)
		return refuse(why, -errno, "process %d cannot be named to pmcbpfd: %s", (int)pid,
			      strerror(errno));
	return 0;
}

/* Without a proof the daemon knows why, unless it is something about this process and its /proc. */
static int attach_refused(const char *path, int error, struct reason *why)
{
	struct reason daemon = *why;

	if (error == -EACCES || error == -EPERM || error == -ESRCH)
		return -EPERM;
	if (error == -EMFILE || error == -ENFILE || error == -ENOMEM)
		return refuse(why, error, "no proof for pmcbpfd: %s: %s", path, strerror(-error));
	return refuse(why, -EPERM, "%.300s (%s: %s)", daemon.text, path, strerror(-error));
}

static int attach(pmc_id_t pmcid, pid_t pid, struct reason *why)
{
	struct wire_attach_req req = { .pmcid = pmcid, .pid = pid };
	struct exchange x = {
		.op = WIRE_OP_PMCATTACH, .request = &req, .request_len = sizeof(req),
	};
	char path[64];
	int proof = -1, err = target_open(pid, &x.send_fd, why);

	if (err)
		return err;
	if (x.send_fd >= 0)
		proof = proof_open(x.send_fd, path, sizeof(path));
	x.proof = proof >= 0 ? &proof : NULL;
	err = client_exchange(&pmc_lib, &x, why);
	exchange_close(&x);
	if (err == -EPERM && x.send_fd >= 0 && proof < 0)
		err = attach_refused(path, proof, why);
	if (x.send_fd >= 0)
		close(x.send_fd);
	if (proof >= 0)
		close(proof);
	return err;
}

static int detach(pmc_id_t pmcid, pid_t pid, struct reason *why)
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
	return lib_end(attach(pmcid, pid, lib_begin()));
}

PMC_API_PUBLIC int pmc_detach(pmc_id_t pmcid, pid_t pid)
{
	return lib_end(detach(pmcid, pid, lib_begin()));
}

/* --- start, stop ----------------------------------------------------------------------------- */

/* The directory has one entry, and so one link, per thread, besides its own two. */
static bool single_threaded(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

static int start(pmc_id_t pmcid, struct reason *why)
{
	struct wire_id_req req = { .pmcid = pmcid };
	struct wire_start_rep rep = { .nfds = 0 };
	struct exchange x = {
		.op = WIRE_OP_PMCSTART, .request = &req, .request_len = sizeof(req), .send_fd = -1,
		.payload = &rep, .payload_min = sizeof(rep), .payload_max = sizeof(rep),
	};
	int err = client_exchange(&pmc_lib, &x, why);
	pid_t tid;

	if (err)
		return err;
	/* The page of a CPU's event tells nothing to who runs elsewhere. */
	tid = x.nfds && !PMC_IS_SYSTEM_MODE(PMC_ID_TO_MODE(pmcid)) && single_threaded() ?
		read_thread() : 0;
	pthread_rwlock_wrlock(&pmc_lib.table);
	/* Without memory for the descriptors reads ask the daemon. */
	read_table_events(&pmc_lib.reads, pmcid, rep.generation, x.fds, x.nfds, tid);
	pthread_rwlock_unlock(&pmc_lib.table);
	return 0;
}

PMC_API_PUBLIC int pmc_start(pmc_id_t pmcid)
{
	return lib_end(start(pmcid, lib_begin()));
}

PMC_API_PUBLIC int pmc_stop(pmc_id_t pmcid)
{
	return lib_end(id_request(WIRE_OP_PMCSTOP, pmcid, lib_begin()));
}

/* --- values ---------------------------------------------------------------------------------- */

static int rw(pmc_id_t pmcid, uint32_t flags, pmc_value_t value, pmc_value_t *old,
	      struct reason *why)
{
	struct wire_rw_req req = { .pmcid = pmcid, .flags = flags, .value = value };
	struct wire_rw_rep rep = { .value = 0 };
	struct exchange x = {
		.op = WIRE_OP_PMCRW, .request = &req, .request_len = sizeof(req), .send_fd = -1,
		.payload = &rep, .payload_min = sizeof(rep), .payload_max = sizeof(rep),
	};
	int err = client_exchange(&pmc_lib, &x, why);

	if (err)
		return err;
	exchange_close(&x);
	if (old)
		*old = rep.value;
	return 0;
}

/* Apart, so that a quick read has nothing to save for it. */
static __attribute__((noinline)) int read_slowly(pmc_id_t pmcid, pmc_value_t *value)
{
	struct lib *l = &pmc_lib;
	struct reason *why = lib_begin();
	bool locked = !__libc_single_threaded;
	int err;

	if (!value)
		return lib_end(lib_missing(why, "value"));
	if (locked)
		pthread_rwlock_rdlock(&l->table);
	err = read_value(&l->reads, pmcid, value, why);
	if (locked)
		pthread_rwlock_unlock(&l->table);
	if (err == READ_ASK)
		err = rw(pmcid, PMC_F_OLDVALUE, 0, value, why);
	return lib_end(err);
}

PMC_API_PUBLIC int pmc_read(pmc_id_t pmcid, pmc_value_t *value)
{
	/* A lock that nobody else can want costs more than all the rest of a read. */
	if (__libc_single_threaded && value && read_quick(&pmc_lib.reads, pmcid, value))
		return 0;
	return read_slowly(pmcid, value);
}

PMC_API_PUBLIC int pmc_write(pmc_id_t pmcid, pmc_value_t value)
{
	return lib_end(rw(pmcid, PMC_F_NEWVALUE, value, NULL, lib_begin()));
}

PMC_API_PUBLIC int pmc_rw(pmc_id_t pmcid, pmc_value_t newvalue, pmc_value_t *oldvalue)
{
	struct reason *why = lib_begin();

	if (!oldvalue)
		return lib_end(lib_missing(why, "oldvalue"));
	return lib_end(rw(pmcid, PMC_F_NEWVALUE | PMC_F_OLDVALUE, newvalue, oldvalue, why));
}

PMC_API_PUBLIC int pmc_set(pmc_id_t pmcid, pmc_value_t value)
{
	struct wire_setcount_req req = { .pmcid = pmcid, .count = value };

	return lib_end(client_request(&pmc_lib, WIRE_OP_PMCSETCOUNT, &req, sizeof(req), -1,
				      lib_begin()));
}

static int get_msr(pmc_id_t pmcid, uint32_t *msr, struct reason *why)
{
	struct lib *l = &pmc_lib;
	struct wire_getmsr_req req = { .pmcid = pmcid };
	struct reason missing = { "" };
	uint32_t index = 0;
	int err, found;

	if (!msr)
		return lib_missing(why, "msr");
	pthread_rwlock_rdlock(&l->table);
	found = read_register(&l->reads, pmcid, &index, &missing);
	pthread_rwlock_unlock(&l->table);
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
	return lib_end(get_msr(pmcid, msr, lib_begin()));
}

/* --- administration -------------------------------------------------------------------------- */

static int admin(int cpu, int row, enum pmc_state state)
{
	struct wire_admin_req req = { .cpu = cpu, .pmc = row, .state = state };

	return lib_end(client_request(&pmc_lib, WIRE_OP_PMCADMIN, &req, sizeof(req), -1,
				      lib_begin()));
}

PMC_API_PUBLIC int pmc_enable(int cpu, int row)
{
	return admin(cpu, row, PMC_STATE_FREE);
}

PMC_API_PUBLIC int pmc_disable(int cpu, int row)
{
	return admin(cpu, row, PMC_STATE_DISABLED);
}
