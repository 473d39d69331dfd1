/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_kgmon(3): the kernel profile, through the daemon. */
#include <errno.h>
#include <string.h>

#include "client.h"

_Static_assert(sizeof(((struct pmc_kgmon *)NULL)->pk_event) ==
	       sizeof(((struct wire_kgmon *)NULL)->event), "an event's name");
_Static_assert(sizeof(struct pmc_kgmon_hit) == sizeof(struct wire_kgmon_hit), "a dump's element");
_Static_assert((int)PMC_KGMON_CLOCK == (int)WIRE_KGMON_CLOCK &&
	       (int)PMC_KGMON_PMCS == (int)WIRE_KGMON_PMCS, "sources");

/* *fd is the reply's descriptor, for a dump. */
static int kgmon_request(uint32_t what, struct wire_kgmon *rep, int *fd, struct reason *why)
{
	const struct wire_kgmon_req req = { .what = what };
	struct exchange x = {
		.op = WIRE_OP_KGMON, .request = &req, .request_len = sizeof(req), .send_fd = -1,
		.payload = rep, .payload_min = sizeof(*rep), .payload_max = sizeof(*rep),
	};
	unsigned int wanted = what == WIRE_KGMON_DUMP;
	int err = client_exchange(&pmc_lib, &x, why);

	if (err)
		return err;
	if (x.nfds != wanted) {
		client_exchange_close(&x);
		return deny(why, -EPROTO, "pmcbpfd sent %u descriptors of a profile, not %u; "
			    "install library and daemon of one release", x.nfds, wanted);
	}
	if (wanted)
		*fd = x.fds[0];
	return 0;
}

PMC_API_PUBLIC int pmc_kgmon(enum pmc_kgmon_op op, struct pmc_kgmon *info)
{
	static const uint32_t what[] = {
		[PMC_KGMON_STATE] = WIRE_KGMON_STATE, [PMC_KGMON_INFO] = WIRE_KGMON_INFO,
		[PMC_KGMON_START] = WIRE_KGMON_START, [PMC_KGMON_STOP] = WIRE_KGMON_STOP,
		[PMC_KGMON_RESET] = WIRE_KGMON_RESET, [PMC_KGMON_DUMP] = WIRE_KGMON_DUMP,
	};
	struct reason *why = call_enter();
	struct wire_kgmon rep;
	int fd = -1, err;

	if ((unsigned int)op >= sizeof(what) / sizeof(what[0]))
		return call_leave(
			deny(why, -EINVAL, "the kernel profile has no operation %d", (int)op));
	err = kgmon_request(what[op], &rep, &fd, why);
	if (!err && info) {
		*info = (struct pmc_kgmon){
			.pk_on = rep.on, .pk_source = rep.source, .pk_rate = rep.rate,
			.pk_hits = rep.hits, .pk_period = rep.period, .pk_samples = rep.samples,
			.pk_user = rep.user, .pk_lost = rep.lost,
		};
		memcpy(info->pk_event, rep.event, sizeof(info->pk_event) - 1);
	}
	return call_leave(err) ? -1 : fd >= 0 ? fd : 0;
}
