/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_policy(3): the administrator's rules. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "client.h"

_Static_assert(sizeof(((struct pmc_policy *)NULL)->pp_text) ==
	       sizeof(((struct wire_policy *)NULL)->text), "a rule");
_Static_assert(sizeof(((struct pmc_policy *)NULL)->pp_origin) ==
	       sizeof(((struct wire_policy *)NULL)->origin), "its file");

#define PAGE_MAX ((WIRE_MAX_REPLY - sizeof(struct wire_policy_rep)) / sizeof(struct wire_policy))

/* The list so far. */
struct policy_list {
	struct pmc_policy *at;
	uint32_t n, room, total, generation;
};

/* One reply, with elements from list->n on. */
static int policy_page(uint32_t what, const struct policy_list *list, struct wire_policy_rep *rep,
		       struct reason *why)
{
	const struct wire_policy_req req = { .what = what, .first = list->n };
	struct exchange x = {
		.op = WIRE_OP_POLICY, .request = &req, .request_len = sizeof(req), .send_fd = -1,
		.payload = rep, .payload_min = sizeof(*rep), .payload_max = WIRE_MAX_REPLY,
	};
	int err = client_exchange(&pmc_lib, &x, why);

	if (err)
		return err;
	client_exchange_close(&x);
	if (rep->count <= PAGE_MAX && rep->total >= list->n &&
	    rep->count <= rep->total - list->n &&
	    x.payload_len == sizeof(*rep) + rep->count * sizeof(struct wire_policy) &&
	    (rep->count || list->n == rep->total))
		return 0;
	return deny(why, -EPROTO, "pmcbpfd sent a malformed list of rules; install library and "
		    "daemon of one release");
}

/* If the rules have been replaced since the reply before, the list begins again. */
static int policy_add(struct policy_list *list, const struct wire_policy_rep *rep)
{
	const struct wire_policy *from = (const void *)(rep + 1);

	if (list->at && rep->generation != list->generation) {
		list->n = 0;
		list->total = 1;
		list->generation = rep->generation;
		return 0;
	}
	if (array_reserve(list->at, list->room, list->n + rep->count) != 0)
		return -ENOMEM;
	list->total = rep->total;
	list->generation = rep->generation;
	for (uint32_t i = 0; i < rep->count; i++) {
		struct pmc_policy *to = &list->at[list->n++];

		memset(to, 0, sizeof(*to));
		memcpy(to->pp_text, from[i].text, sizeof(to->pp_text) - 1);
		memcpy(to->pp_origin, from[i].origin, sizeof(to->pp_origin) - 1);
		to->pp_line = from[i].line;
	}
	return 0;
}

static int policy_request(uint32_t what, struct pmc_policy **out, unsigned int *count,
			  struct reason *why)
{
	struct wire_policy_rep *rep = malloc(WIRE_MAX_REPLY);
	struct policy_list list = { .total = 1 };
	int err = rep ? 0 : -ENOMEM;

	while (!err && list.n < list.total) {
		err = policy_page(what, &list, rep, why);
		err = err ?: policy_add(&list, rep);
	}
	free(rep);
	if (err) {
		free(list.at);
		return err;
	}
	*out = list.at;
	*count = list.n;
	return 0;
}

PMC_API_PUBLIC int pmc_policy(int all, struct pmc_policy **list, unsigned int *count)
{
	struct reason *why = call_enter();

	if (!list || !count)
		return call_leave(call_missing(why, list ? "count" : "list"));
	return call_leave(policy_request(all ? WIRE_POLICY_RULES : WIRE_POLICY_OWN, list, count,
					 why));
}
