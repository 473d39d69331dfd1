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
	pmcstat -q -R log | sed -n 's/^callchain.* //p; s/^\.\.\. *//p; s/^\(cut\|pointers\)  */\1=/p' | tr '\n' ' ' >got
	echo "u 0x550000000012 0x550000000022" \
		"u 0x550000000012 0x550000000022 cut=no table yet" \
		"s $KERNEL $KERNEL cut=inside the kernel 0x550000000012 0x550000000022" \
		"u 0x550000000012 cut=not recorded u 0x550000000012 cut=unknown reason" \
		"u 0x550000000012 pointers=some callers are without proof s $KERNEL cut=no table yet " | diff - <(cat got; echo)
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
		pmcstat -q -R log | grep '^cut ' >>texts
		"$BUILD/bin/pmc" filter -j log - | grep -o '"end":"[a-z0-9]*"' >>keys
	done
	[ "$(sort -u texts | grep -vc unknown\ reason)" -eq 12 ] && [ "$(sort -u keys | grep -vc unknown)" -eq 12 ]
}

# Of eight chains six are whole, one only by frame pointers, and one lacks callers inside the kernel.
made() {
	chains 6:0x101:0x12,0x22 2:0x505:0x12,0x22 1:0x205:0x12 1:0x104:$KERNEL,0x12,0x22 1:0x109:0x32 >log
}

@test "the first lines of a report have the share of whole chains, and the reasons of the others" {
	made
	"$BUILD/bin/pmc" report log >report 2>told
	grep -qx '# whole chains: 63.63 %, cut: no table yet 18.19 %, inside the kernel 9.10 %, limit of frames 9.10 %' report
	grep -qx '# by frame pointers in part: 1, without proof' report
	refute_in '# cut chains' report
	grep -q 'the call chains of 2 of the 11 samples in "log" are cut: .*, and kernel.perf' told
	grep -q 'WARNING: whole call chains in "log": 63.63 %, cut: no table yet 18.19 %' told
	chains 99999:0x101:0x12,0x22 1:0x505:0x12,0x22 >log
	"$BUILD/bin/pmc" report log >report 2>told
	grep -qx '# whole chains: 99.99 %, cut: no table yet 0.01 %' report
	refute_in 'chains' told
	chains 2:0x101:0x12,0x22 >log
	"$BUILD/bin/pmc" report log >report 2>told
	grep -qx '# whole chains: 100.00 %' report
	# Of an older log nothing is known about the other chains.
	chains 2:0x1:0x12,0x22 1:0x5:0x12,0x22 >log
	"$BUILD/bin/pmc" report log >report 2>told
	refute_in 'whole chains' report
	grep -qx '# cut chains: 1, their outermost callers are missing' report
}

# refute_in PATTERN FILE
refute_in() { if grep "$1" "$2"; then return 1; fi; }

@test "a frame stands for missing callers, in every report and export of stacks" {
	made
	for option in "-G graph" "-F calls" "-a pairs" "--folded folded" "--flamegraph svg" "--pprof pprof" "--speedscope scope" \
		"--json=json" "--csv=csv"; do
		pmcstat -q -R log $option 2>/dev/null
	done
	diff - folded <<-'END'
		demo;[demo] 0x22;[demo] 0x12 6
		demo;[demo] 0x22;[demo] 0x12;[cut: inside the kernel];[unknown] 0xffffffff81000010_[k] 1
		demo;[demo] 0x32 1
		demo;[cut: limit of frames];[demo] 0x12 1
		demo;[cut: no table yet];[demo] 0x22;[demo] 0x12 2
	END
	grep -A2 '0x12' graph | grep -q '\[2\] *\[cut: no table yet\]$'
	grep -q '^fn=\[cut: no table yet\]$' calls
	grep -q '^0x0 \[cut: no table yet\] ??:0$' pairs
	grep -q '<g class="frame cut" data-depth="2".*<title>\[cut: no table yet\] (2 samples, 18.18%)</title>' svg
	grep -q 'whole chains 63.63 %, cut: no table yet 18.19 %.*, 1 by frame pointers in part' svg
	gzip -dc pprof | grep -aq 'whole call chains: 63.63 %, cut: no table yet 18.19 %'
	gzip -dc pprof | grep -aq '\[cut: limit of frames\]'
	grep -q '^CLOCK.PROF,demo,10,\[cut: no table yet\],,0,2,0.00,18.18$' csv
	python3 -c '
import json
scope, report = json.load(open("scope")), json.load(open("json"))
assert {"name": "[cut: no table yet]"} in scope["shared"]["frames"]
for s in scope, report["statistics"]:
    assert (s["chains_cut"], s["chains_ended"], s["chains_whole"], s["chains_pointers"]) == (4, 11, 7, 1), s
    assert s["cuts"] == {"table": 2, "inside": 1, "depth": 1}, s
names = [f["name"] for f in report["functions"]]
cut = report["functions"][names.index("[cut: no table yet]")]
assert cut["cut"] == "table" and cut["image"] is None and cut["offset"] is None
outermost = [names[report["frames"][s["frames"][-1]]["function"]] for s in report["stacks"]]
assert outermost.count("[cut: no table yet]") == 1 and outermost.count(None) == 3, outermost'
}

@test "the frame of missing callers is no address in no file" {
	chains 20:0x505:0x12 >log
	pmcstat -R log --folded folded 2>told
	refute_in 'lie in no file' told
	"$BUILD/bin/pmc" report log 2>/dev/null | sed -n 's/  *$//; /cut/p' >report
	grep -qx '  0.00% 100.00%          0 \[cut: no table yet\]' report
}
