/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_tunable(3): the daemon's tunables, as sysctl(8) has hwpmc's on FreeBSD. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

_Static_assert(PMC_NAME_MAX == WIRE_NAME_MAX, "a tunable's name");
_Static_assert(sizeof(((struct pmc_tunable *)NULL)->pm_value) == WIRE_TUNABLE_MAX, "its value");

/* Makes the request and converts the reply; the caller frees *list. */
static int tunable_request(const struct wire_tunable_req *req, struct pmc_tunable **list,
			   unsigned int *count, struct reason *why)
{
	struct wire_tunable_rep *rep = malloc(WIRE_MAX_REPLY);
	const struct wire_tunable *from;
	struct exchange x = {
		.op = WIRE_OP_TUNABLE, .request = req, .request_len = sizeof(*req),
		.send_fd = -1, .payload = rep, .payload_min = sizeof(*rep),
		.payload_max = WIRE_MAX_REPLY,
	};
	int err;

	if (!rep)
		return -ENOMEM;
	err = client_exchange(&pmc_lib, &x, why);
	if (err)
		goto out;
	client_exchange_close(&x);
	from = (const void *)(rep + 1);
	if (rep->count > WIRE_MAX_REPLY / sizeof(*from) ||
	    x.payload_len != sizeof(*rep) + rep->count * sizeof(*from) ||
	    (req->what != WIRE_TUNABLE_LIST && rep->count != 1)) {
		err = deny(why, -EPROTO, "pmcbpfd sent a malformed list of tunables");
		goto out;
	}
	*list = calloc(rep->count + 1, sizeof(**list));
	*count = rep->count;
	if (!*list)
		err = -ENOMEM;
	for (unsigned int i = 0; !err && i < rep->count; i++) {
		struct pmc_tunable *to = &(*list)[i];

		memcpy(to->pm_name, from[i].name, sizeof(to->pm_name) - 1);
		memcpy(to->pm_value, from[i].value, sizeof(to->pm_value) - 1);
		to->pm_writable = from[i].writable != 0;
	}
out:
	free(rep);
	return err;
}

static int tunable_put(char *field, size_t size, const char *text, const char *what,
		       struct reason *why)
{
	size_t len = strlen(text);

	if (len >= size)
		return deny(why, -EINVAL, "the tunable's %s has more than %zu characters", what,
			    size - 1);
	memcpy(field, text, len + 1);
	return 0;
}

static int tunable_request_one(enum wire_tunable_what what, const char *name, const char *value,
			       struct pmc_tunable *tunable, struct reason *why)
{
	struct wire_tunable_req req = { .what = what };
	struct pmc_tunable *list;
	unsigned int count;
	int err;

	if (!name || !value)
		return call_missing(why, name ? "value" : "name");
	err = tunable_put(req.name, sizeof(req.name), name, "name", why);
	if (!err)
		err = tunable_put(req.value, sizeof(req.value), value, "value", why);
	if (!err)
		err = tunable_request(&req, &list, &count, why);
	if (err)
		return err;
	if (tunable)
		*tunable = list[0];
	free(list);
	return 0;
}

PMC_API_PUBLIC int pmc_tunable_list(struct pmc_tunable **list, unsigned int *count)
{
	const struct wire_tunable_req req = { .what = WIRE_TUNABLE_LIST };
	struct reason *why = call_enter();

	if (!list || !count)
		return call_leave(call_missing(why, list ? "count" : "list"));
	return call_leave(tunable_request(&req, list, count, why));
}

PMC_API_PUBLIC int pmc_tunable_get(const char *name, struct pmc_tunable *tunable)
{
	struct reason *why = call_enter();

	if (!tunable)
		return call_leave(call_missing(why, "tunable"));
	return call_leave(tunable_request_one(WIRE_TUNABLE_GET, name, "", tunable, why));
}

PMC_API_PUBLIC int pmc_tunable_set(const char *name, const char *value)
{
	return call_leave(tunable_request_one(WIRE_TUNABLE_SET, name, value, NULL, call_enter()));
}
