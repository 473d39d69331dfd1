/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_ktr(3): the kernel's trace rings, through the daemon. */
#include <errno.h>
#include <string.h>

#include "client.h"

_Static_assert(sizeof(((struct pmc_ktr *)NULL)->pk_stopped) ==
	       sizeof(((struct wire_ktr *)NULL)->stopped), "who stopped them");

/* The reply's descriptor, if it carries one, is *fd. */
static int ktr_request(uint32_t what, const char *text, struct wire_ktr *rep, int *fd,
		       struct reason *why)
{
	struct wire_ktr_req req = { .what = what };
	struct exchange x = {
		.op = WIRE_OP_KTR, .request = &req, .request_len = sizeof(req), .send_fd = -1,
		.payload = rep, .payload_min = sizeof(*rep), .payload_max = sizeof(*rep),
	};
	unsigned int wanted = fd != NULL;
	int err;

	/* Text that is too long is cut, as in the kernel's entry. */
	if (text)
		memcpy(req.text, text, strnlen(text, sizeof(req.text) - 1));
	err = client_exchange(&pmc_lib, &x, why);
	if (err)
		return err;
	if (x.nfds != wanted) {
		client_exchange_close(&x);
		return deny(why, -EPROTO, "pmcbpfd sent %u descriptors of trace rings, not %u; "
			    "install library and daemon of one release", x.nfds, wanted);
	}
	if (fd)
		*fd = x.fds[0];
	return 0;
}

PMC_API_PUBLIC int pmc_ktr_info(struct pmc_ktr *info)
{
	struct reason *why = call_enter();
	struct wire_ktr rep;
	int err;

	if (!info)
		return call_leave(call_missing(why, "info"));
	err = ktr_request(WIRE_KTR_INFO, NULL, &rep, NULL, why);
	if (err)
		return call_leave(err);
	*info = (struct pmc_ktr){
		.pk_compile = rep.compile, .pk_missing = rep.missing, .pk_mask = rep.mask,
		.pk_saved = rep.saved, .pk_frozen = rep.frozen, .pk_entries = rep.entries,
		.pk_ncpu = rep.ncpu, .pk_written = rep.written,
	};
	memcpy(info->pk_stopped, rep.stopped, sizeof(info->pk_stopped) - 1);
	return call_leave(0);
}

PMC_API_PUBLIC int pmc_ktr_control(enum pmc_ktr_op op, const char *text)
{
	static const uint32_t what[] = {
		[PMC_KTR_FREEZE] = WIRE_KTR_FREEZE, [PMC_KTR_THAW] = WIRE_KTR_THAW,
		[PMC_KTR_CLEAR] = WIRE_KTR_CLEAR, [PMC_KTR_MARK] = WIRE_KTR_MARK,
	};
	struct reason *why = call_enter();
	struct wire_ktr rep;

	if ((unsigned int)op >= sizeof(what) / sizeof(what[0]))
		return call_leave(
			deny(why, -EINVAL, "trace rings have no operation %d", (int)op));
	if (op == PMC_KTR_MARK && !text)
		return call_leave(call_missing(why, "text"));
	if (op != PMC_KTR_MARK && text)
		return call_leave(deny(why, -EINVAL, "only a mark has a text"));
	return call_leave(ktr_request(what[op], text, &rep, NULL, why));
}

PMC_API_PUBLIC int pmc_ktr_open(void)
{
	struct reason *why = call_enter();
	struct wire_ktr rep;
	int fd = -1, err = ktr_request(WIRE_KTR_OPEN, NULL, &rep, &fd, why);

	return call_leave(err) ? -1 : fd;
}
