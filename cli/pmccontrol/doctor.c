/* SPDX-License-Identifier: BSD-2-Clause */
/* pmccontrol --doctor: each condition that can prevent or limit counting, on a line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/common/common.h"
#include "gates.h"
#include "pmccontrol.h"

static const char *const states[] = {
	[PMC_GATE_OPEN] = "ok", [PMC_GATE_LIMITS] = "limits", [PMC_GATE_CLOSED] = "closed",
};

/* Asks the daemon, which pmc_init() starts for root if none listens. */
static void doctor_ask_daemon(struct gates *gates, bool listens)
{
	struct pmc_gate *answer;
	int count;

	if (pmc_init() != 0) {
		gate_add(gates, PMC_GATE_CLOSED, "daemon", "", "%s", pmc_errstr());
		return;
	}
	if (pmc_gates(&answer, &count) != 0) {
		gate_add(gates, PMC_GATE_CLOSED, "daemon",
			 "install library and daemon of one release", "%s", pmc_errstr());
		return;
	}
	if (!listens)
		gate_add(gates, PMC_GATE_OPEN, "private daemon", "",
			 "one was started for this program alone, and answers");
	for (int i = 0; i < count; i++)
		gate_add(gates, answer[i].pg_state, answer[i].pg_name, answer[i].pg_remedy, "%s",
			 answer[i].pg_finding);
	free(answer);
}

static void doctor_put_text(struct buf *out, const struct gates *gates)
{
	for (size_t i = 0; i < gates->count; i++) {
		const struct pmc_gate *gate = &gates->gate[i];

		buf_printf(out, "%-6s  %s: %s%s%s\n", states[gate->pg_state], gate->pg_name,
			   gate->pg_finding, *gate->pg_remedy ? "; " : "", gate->pg_remedy);
	}
}

static void doctor_put_json(struct buf *out, const struct gates *gates, bool open)
{
	struct json json = { .out = out };

	json_open(&json, NULL, '{');
	json_bool(&json, "ok", open);
	json_open(&json, "gates", '[');
	for (size_t i = 0; i < gates->count; i++) {
		const struct pmc_gate *gate = &gates->gate[i];

		json_open(&json, NULL, '{');
		json_string(&json, "name", gate->pg_name);
		json_string(&json, "state", states[gate->pg_state]);
		json_string(&json, "finding", gate->pg_finding);
		json_string(&json, "remedy", *gate->pg_remedy ? gate->pg_remedy : NULL);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	buf_add(out, "\n", 1);
}

int doctor_run(const struct control *control)
{
	struct gates *gates = calloc(1, sizeof(*gates));
	struct buf out = { 0 };
	bool open = true;
	int code;

	if (!gates)
		return fail_errno(EX_OSERR, "ERROR");
	gates_of_kernel(gates, "");
	gates_of_caller(gates, "");
	doctor_ask_daemon(gates, gate_of_socket(gates));
	for (size_t i = 0; i < gates->count; i++)
		open &= gates->gate[i].pg_state != PMC_GATE_CLOSED;
	if (control->json)
		doctor_put_json(&out, gates, open);
	else
		doctor_put_text(&out, gates);
	free(gates);
	code = show_print(&out, 0);
	return code || open ? code : EX_UNAVAILABLE;
}
