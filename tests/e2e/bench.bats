#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The benchmark where programs are missing that it compares with: as in a guest.

load helpers

setup() { need_root; }

@test "make bench: groups whose programs are missing are left out by name, and nothing fails" {
	mkdir "$BATS_TEST_TMPDIR/bin"
	ln -s /bin/sh "$BATS_TEST_TMPDIR/bin"
	run --separate-stderr env PATH="$BATS_TEST_TMPDIR/bin" "$BUILD/bench/pmcbpf-bench" -r 1 -t 0.1 \
		-d "$BUILD/sbin/pmcbpfd" sample report
	status_is 0
	[ -z "$stderr" ]
	grep -q $'^figure\tpmcbpfd exec to first answer\t' <<<"$output"
	grep -qx $'left\tsample: measured beside perf: install it (Debian: linux-perf)' <<<"$output"
	grep -qx $'left\treport: samples: measured beside perf: install it (Debian: linux-perf)' <<<"$output"
	grep -q $'^left\treport: lines of addresses: .*addr2line not found here$' <<<"$output"
	grep -qx $'left\treport: the live view: python3, tar, gzip, find not found here' <<<"$output"
}
