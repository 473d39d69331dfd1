#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# How a call chain ended: text, JSON, reports and exports, of logs made of bytes.

load helpers

chains() { python3 "$BATS_TEST_DIRNAME/chainlog.py" "$@"; }
pmcstat() { "$BUILD/bin/pmcstat" "$@"; }

KERNEL=0xffffffff81000010

@test "a log as text: a cut chain has a line where its callers are missing" {
	chains 1:0x101:0x12,0x22 1:0x505:0x12,0x22 1:0x104:$KERNEL,$KERNEL,0x12,0x22 1:0x5:0x12 1:0xf05:0x12 1:0x109:0x12 \
		1:0x504:$KERNEL >log
	pmcstat -q -R log | sed -n 's/^callchain.* //p; s/^\.\.\. *//p' | tr '\n' ' ' >got
	echo "u 0x550000000012 0x550000000022" \
		"u 0x550000000012 0x550000000022 [cut: no table yet]" \
		"s $KERNEL $KERNEL [cut: inside the kernel] 0x550000000012 0x550000000022" \
		"u 0x550000000012 [cut] u 0x550000000012 [cut: unknown reason]" \
		"u 0x550000000012 [some callers by frame pointers] s $KERNEL [cut: no table yet] " | diff - <(cat got; echo)
}

@test "a log as JSON: a chain has a key for its end, and marks" {
	chains 1:0x101:0x12 1:0x505:0x12 1:0x5:0x12 1:0x109:0x12 1:0x1:0x12 >log
	"$BUILD/bin/pmc" filter -j log - | python3 -c '
import json, sys
marks = [{key: value for key, value in row.items() if key in ("end", "cut", "pointers")}
         for row in map(json.loads, sys.stdin) if row["type"] == "callchain"]
assert marks == [{"end": "whole"}, {"end": "table", "cut": True}, {"cut": True}, {"end": "whole", "pointers": True}, {}], marks'
}

@test "every end has a text and a key of its own" {
	for end in {2..13}; do
		chains "1:$(printf '%#x' $((end << 8 | 5))):0x12" >log
		pmcstat -q -R log | grep -o 'cut: .*' >>texts
		"$BUILD/bin/pmc" filter -j log - | grep -o '"end":"[a-z0-9]*"' >>keys
	done
	[ "$(sort -u texts | grep -vc unknown\ reason)" -eq 12 ] && [ "$(sort -u keys | grep -vc unknown)" -eq 12 ]
}
