/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocation and release of one PMC. */
#include <errno.h>
#include <unistd.h>

#include "allocate.h"
#include "client.h"
#include "group.h"
#include "query.h"

/* Maps the pages that the reply may carry. */
static void pages_take(const struct wire_allocate_rep *rep, struct exchange *x)
{
	struct read_table *t = client_table_change(&pmc_lib);

	/* Without a mapping reads ask the daemon: slower, but no count is lost. */
	if (t && x->nfds == 2)
		read_table_pages(t, x->fds[0], x->fds[1], rep->ncpu);
	if (t)
		read_table_add(t, rep->pos, rep->pmcid);
	if (!t || rep->pos >= WIRE_PAGE_PMCS)
		client_unplaced_add(&pmc_lib, rep->pmcid);
	client_table_publish(&pmc_lib, t);
	client_exchange_close(x);
}

/* The request, and what follows from it. */
static int allocate_exchange(struct exchange *x, pmc_id_t *pmcid, struct reason *why)
{
	const struct wire_allocate_rep *rep = x->payload;
	int err;

	pthread_mutex_lock(&pmc_lib.handles);
	err = group_reserve(why) ?: client_exchange(&pmc_lib, x, why);
	if (!err) {
		pages_take(rep, x);
		group_note(rep->pmcid, x->request);
		*pmcid = rep->pmcid;
	}
	pthread_mutex_unlock(&pmc_lib.handles);
	return err;
}

int allocate_member(const char *spec, const struct wire_allocate_req *how, pmc_id_t *pmcid,
		    struct reason *why)
{
	struct wire_allocate_req req = *how;
	struct wire_allocate_rep rep = { .nfds = 0 };
	struct exchange x = {
		.op = WIRE_OP_PMCALLOCATE, .request = &req, .request_len = sizeof(req),
		.send_fd = -1, .fds_optional = true, .payload = &rep, .payload_min = sizeof(rep),
		.payload_max = sizeof(rep),
	};
	int err;

	if (req.mode > PMC_MODE_LAST)
		return deny(why, -EINVAL, "%u is not a mode", req.mode);
	if (!spec || !pmcid)
		return call_missing(why, spec ? "pmcid" : "the event specifier");
	if (!pmc_lib.known)
		return deny(why, -ENOSYS, "pmc_init() has not been called, or has failed");
	err = resolve_event(&pmc_lib.machine, PMU_ROOT, spec, &req, why);
	if (err)
		return query_explain(&pmc_lib, spec, req.mode, err, why);
	if (class_of(req.class)->open)
		err = class_of(req.class)->open(spec, &req, &x.send_fd, why);
	if (err)
		return err;
	/* System scope sees descendants anyway; FreeBSD's pmcstat passes both. */
	if (PMC_IS_SYSTEM_MODE(req.mode))
		req.flags &= ~(uint32_t)PMC_F_DESCENDANTS;
	err = allocate_exchange(&x, pmcid, why);
	if (x.send_fd >= 0)
		close(x.send_fd);
	return err;
}

/* The other members of a group, which ends with its first, are found to be void when next read. */
static void table_remove(pmc_id_t pmcid)
{
	struct read_table *t = client_table_change(&pmc_lib);

	if (t)
		read_table_remove(t, pmcid);
	client_unplaced_remove(&pmc_lib, pmcid);
	client_table_publish(&pmc_lib, t);
}

int allocate_undo(pmc_id_t pmcid, struct reason *why)
{
	struct wire_id_req req = { .pmcid = pmcid };
	int err;

	pthread_mutex_lock(&pmc_lib.handles);
	err = client_request(&pmc_lib, WIRE_OP_PMCRELEASE, &req, sizeof(req), -1, why);
	if (!err) {
		table_remove(pmcid);
		group_forget(pmcid);
	}
	pthread_mutex_unlock(&pmc_lib.handles);
	return err;
}
