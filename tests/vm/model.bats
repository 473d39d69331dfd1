#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The daemon of every supported kernel against the reference model of hwpmc's operations: tests/model.
# PMCBPF_MODEL_OPS (2000) is the number of random operations, PMCBPF_MODEL_SEED what they follow from.

load helpers

setup_file() {
	export OPS=${PMCBPF_MODEL_OPS:-2000}
	vm_start ${PMCBPF_MODEL_OPS:+--lifetime $((3600 + OPS / 5))}
}

@test "REQ-034, C-16: random operations of random processes have the model's results" {
	VM_TIMEOUT=$((900 + OPS / 5)) run vm model -n "$OPS" -s "${PMCBPF_MODEL_SEED:-$EPOCHSECONDS}"
	sed 's/^/# /' <<<"$output" >&3
	status_is 0
	[ "$(grep -c '^ok ' <<<"$output")" -eq 4 ]
	vm_clean_log
}
