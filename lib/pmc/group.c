/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_group(3): PMCs that are allocated, started and read as one. */
#include <errno.h>
#include <string.h>

#include "allocate.h"
#include "client.h"

_Static_assert(PMC_GROUP_MAX == WIRE_GROUP_MAX, "one size of groups");

static int group_check(const char *const *specs, unsigned int n, const pmc_id_t *ids,
		       struct reason *why)
{
	if (!specs || !ids)
		return call_missing(why, specs ? "ids" : "the event specifiers");
	if (!n || n > PMC_GROUP_MAX)
		return deny(why, -EINVAL, "a group has 1 to %u members, not %u", PMC_GROUP_MAX, n);
	return 0;
}

static int group_request(const char *const *specs, unsigned int n, enum pmc_mode mode,
			 uint32_t flags, int cpu, pmc_id_t *ids, struct reason *why)
{
	struct wire_allocate_req how = {
		.cpu = (uint32_t)cpu, .flags = flags, .mode = (uint32_t)mode,
		.group = WIRE_GROUP_FIRST,
	};
	pmc_id_t made[PMC_GROUP_MAX];
	struct reason member, unused;
	unsigned int i = 0;
	int err = group_check(specs, n, ids, why);

	if (err)
		return err;
	for (; i < n && !err; i += !err) {
		err = allocate_member(specs[i], &how, &made[i], why);
		how.group = WIRE_GROUP_NEXT;
		how.group_first = made[0];
	}
	if (!err) {
		memcpy(ids, made, n * sizeof(*ids));
		return 0;
	}
	member = *why;
	if (i)
		(void)allocate_undo(made[0], &unused);
	return deny(why, err, "member %u (%.80s): %.300s", i + 1, specs[i] ? specs[i] : "",
		    member.text);
}

PMC_API_PUBLIC int pmc_group_allocate(const char *const *specs, unsigned int n, enum pmc_mode mode,
				      uint32_t flags, int cpu, pmc_id_t *ids)
{
	return call_leave(group_request(specs, n, mode, flags, cpu, ids, call_enter()));
}

static int read_request(pmc_id_t first, pmc_value_t *values, unsigned int n, struct reason *why)
{
	struct wire_readgroup_req req = { .pmcid = first, .n = n };
	struct wire_readgroup_rep rep = { .value = { 0 } };
	struct exchange x = {
		.op = WIRE_OP_READGROUP, .request = &req, .request_len = sizeof(req),
		.send_fd = -1, .payload = &rep, .payload_min = sizeof(rep),
		.payload_max = sizeof(rep),
	};
	int err;

	if (!values)
		return call_missing(why, "values");
	err = client_exchange(&pmc_lib, &x, why);
	if (err)
		return err;
	client_exchange_close(&x);
	for (unsigned int i = 0; i < n && i < WIRE_GROUP_MAX; i++)
		values[i] = rep.value[i];
	return 0;
}

PMC_API_PUBLIC int pmc_group_read(pmc_id_t first, pmc_value_t *values, unsigned int n)
{
	return call_leave(read_request(first, values, n, call_enter()));
}
