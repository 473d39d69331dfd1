/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_gates(3): the obstacles between the caller and its counts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

_Static_assert(sizeof(((struct pmc_gate *)0)->pg_name) == WIRE_GATE_NAME, "gate");
_Static_assert(sizeof(((struct pmc_gate *)0)->pg_finding) == WIRE_GATE_TEXT, "gate");

/* Text from the daemon is terminated and kept on one line. */
static void gate_text_copy(char *to, const char *from, size_t size)
{
	memcpy(to, from, size);
	to[size - 1] = '\0';
	reason_clean(to);
}

static int gates_request(struct pmc_gate **gates, int *ngates, struct reason *why)
{
	struct wire_gates_rep *rep = malloc(WIRE_MAX_REPLY);
	struct exchange x = {
		.op = WIRE_OP_GATES, .send_fd = -1, .payload = rep,
		.payload_min = sizeof(*rep), .payload_max = WIRE_MAX_REPLY,
	};
	const struct wire_gate *gate;
	struct pmc_gate *out;
	int err = -ENOMEM;

	if (!rep)
		goto out;
	err = client_exchange(&pmc_lib, &x, why);
	if (err)
		goto out;
	client_exchange_close(&x);
	gate = (const void *)(rep + 1);
	if (rep->count > WIRE_GATES_MAX ||
	    x.payload_len != sizeof(*rep) + rep->count * sizeof(*gate)) {
		err = deny(why, -EPROTO, "pmcbpfd sent a malformed list of gates; install "
			   "library and daemon of one release");
		goto out;
	}
	out = calloc(rep->count + 1, sizeof(*out));
	if (!out) {
		err = -ENOMEM;
		goto out;
	}
	for (uint32_t i = 0; i < rep->count; i++) {
		gate_text_copy(out[i].pg_name, gate[i].name, sizeof(out[i].pg_name));
		gate_text_copy(out[i].pg_finding, gate[i].finding, sizeof(out[i].pg_finding));
		gate_text_copy(out[i].pg_remedy, gate[i].remedy, sizeof(out[i].pg_remedy));
		out[i].pg_state = gate[i].state <= WIRE_GATE_CLOSED ?
			(enum pmc_gate_state)gate[i].state : PMC_GATE_LIMITS;
	}
	*gates = out;
	*ngates = (int)rep->count;
out:
	free(rep);
	return err;
}

PMC_API_PUBLIC int pmc_gates(struct pmc_gate **gates, int *ngates)
{
	struct reason *why = call_enter();

	if (!gates || !ngates)
		return call_leave(call_missing(why, gates ? "ngates" : "gates"));
	return call_leave(gates_request(gates, ngates, why));
}
