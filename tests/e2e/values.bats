#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Rates and values of samples that a specifier asks for (pmc.perf(3)): what a log has, what reports make of it, and what
# is refused where the event, the hardware or the kernel lacks it.
# shellcheck disable=SC2154 # bats sets status, output and stderr

load helpers

PAGE=$(getconf PAGESIZE)
MARK=0x5eed00000000beef

setup() { in_tmpdir_with_daemon "${ROOM[@]}"; }

# values: in ./values, a line for each sample of the log: JSON of its values, with side and pc of its chain
values() {
	pmc filter -j log - | python3 -c 'import json, sys
last = None
for line in sys.stdin:
    r = json.loads(line)
    if r["type"] == "callchain" and last:
        assert last["tsc"] == r["tsc"] and last["pmcid"] == r["pmcid"]
        print(json.dumps({**last["values"], "pc": r["pc"][0], "pid": r["pid"]}))
    last = r if r["type"] == "values" else None' >values
}

# check EXPRESSION...: python over the samples `s` of ./values, and the words that follow in `a`
check() {
	python3 -c 'import json, sys
s = [json.loads(line) for line in open("values")]
a = sys.argv[2:]
def number(text): return int(text, 0)
assert eval(sys.argv[1]), (sys.argv[1], len(s), s[:3])' "$@"
}

# refused STATUS... PATTERN: the last line on standard error
refused() {
	run --separate-stderr pmcstat -q -n 1 -P "$1" -O no.log true
	# shellcheck disable=SC2053 # a pattern
	[ "$status" -ne 0 ] && [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == $2 ]] ||
		{ printf '%s: exit %s: %s\n' "$1" "$status" "$stderr" >&2; return 1; }
	refute test -s no.log
}

# events LOG: the sum of the periods of its samples
weights() { pmcstat -q -R "$1" | awk '$1 == "values" { split($3, v, "="); n += v[2] } END { print n + 0 }'; }

# --- values -----------------------------------------------------------------------------------

# PERF-104, PERF-113, PERF-258, PERF-200, PERF-273, PERF-274
@test "addr and user-regs: each fault's page, and the registers of its instruction or system call" {
	base=$(pmcstat -q -n 1 -P PAGE_FAULT.ALL,addr,user-regs -O log touched 200)
	values
	# In the order of the faults, each once; the kernel's have the registers of the call.
	ours='0 <= number(v["addr"]) - number(a[0]) < 200 * int(a[1])'
	check '[number(v["addr"]) - number(a[0]) for v in s if '"$ours"'] == [i * int(a[1]) for i in range(200)]' \
		"$base" "$PAGE"
	check 'all({v["addr"], a[2]} <= set(v["user-regs"].values()) for v in s if '"$ours)" "$base" "$PAGE" $MARK
	# In the exec, at the beginning, the thread has none.
	check 'all(v["user-regs"]["abi"] == 64 for v in s[sum(not v["user-regs"] for v in s):])'
	check 'all(number(v["pc"]) >> 63 for v in s if not v["user-regs"])'
	# In user code the program counter among them is the sampled address.
	check 'sum(v["user-regs"].get("ip", v["user-regs"].get("pc")) == v["pc"] for v in s if '"$ours) == 100" \
		"$base" "$PAGE"
}

# PERF-120
@test "intr-regs: those of the code that was interrupted, in the kernel its own" {
	pmcstat -q -n 1 -P PAGE_FAULT.ALL,intr-regs,user-regs -O log touched 200
	values
	check 'sum(a[0] in v["user-regs"].values() for v in s) >= 200' $MARK
	check 'all(v["intr-regs"].get("ip", v["intr-regs"].get("pc")) == v["pc"] for v in s)'
	check 'all((v["intr-regs"] == v["user-regs"]) == (number(v["pc"]) < 1 << 63) for v in s)'
}

@test "registers and addresses of the kernel do not reach owners that may not see it" {
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ] || skip "every user may see the kernel"
	open_tmpdir
	chmod 777 .
	run_as_nobody pmcstat -q -n 1 -P PAGE_FAULT.ALL,addr,intr-regs,user-regs -O log "$(public_build)/tests/load" pages=50 fills=50
	values
	check 'sum(v["pc"] == "0x8000000000000000" for v in s) >= 50'
	check 'all((v["intr-regs"] == {}) == (number(v["pc"]) >= 1 << 63) for v in s)'
	check 'all(number(v.get("addr", "0")) < 1 << 63 for v in s)'
	refute grep -q '0xffffffff[89a-e]' values
	run --separate-stderr run_as_nobody pmcstat -q -n 1 -P PAGE_FAULT.ALL,branch=any -O no.log true
	[[ $status -ne 0 && $stderr == *"branches are recorded by hardware"* ]]
}

@test "a kernel thread has no user registers" {
	# The idle CPU of a sampled machine, or any kernel thread.
	pmcstat -q -c 0 -S CPU_CLOCK,period=1000000,user-regs -l 2 -O log 2>/dev/null
	values
	check 'len(s) > 100 and all(v["user-regs"] == {} for v in s if v["pid"] == 0)'
	check 'all(v["user-regs"] or number(v["pc"]) >= 1 << 63 for v in s)'
}

@test "cgroup: the number of the cgroup in which the sample was taken" {
	TOP=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$TOP" ] || skip "no hierarchy of cgroups, version 2, is mounted"
	group=$TOP/pmcbpf-values.$$
	mkdir "$group" || skip "no cgroup can be made in $TOP"
	# shellcheck disable=SC2016 # the other shell expands it
	pmcstat -q -d -n 1 -P PAGE_FAULT.ALL,cgroup -O log bash -c 'echo $$ >"$1/cgroup.procs"; exec load pages=50' bash "$group"
	id=$(stat -c %i "$group")
	wait_for rmdir "$group"
	values
	check 'sum(v["cgroup"] == a[0] for v in s) >= 50 and len({v["cgroup"] for v in s}) == 2' "$id"
	check '[v["cgroup"] == a[0] for v in s] == sorted(v["cgroup"] == a[0] for v in s)' "$id"
}

@test "breakpoints: the address that was written, and a steered period" {
	need_breakpoints
	at=0x$(nm "$BUILD/tests/load" | awk '$3 == "load_word" { print $1 }')
	pmcstat -q -P "breakpoint:$at/4:w,period=1,addr" -O log load stores=50
	values
	check 'len(s) >= 50 and {number(v["addr"]) for v in s} == {number(a[0])}' "$at"
	pmcstat -q -P "breakpoint:$at/4:w,freq=100" -O log load stores=20000
	n=$(pmcstat -q -R log | grep -c '^values .* period=')
	[ "$n" -ge 1 ] && [ "$n" -le 2000 ]
}

@test "code-page-size: of the page of the sampled address" {
	pmcstat -q -P CPU_CLOCK,period=1000000,code-page-size,usr -O log load spins=100000000 2>told ||
		{ grep -q "this kernel collects it after" told && skip "Linux before 6.3"; }
	values
	# The program's own code runs all the time.  A page of the libraries may be away for a moment, and has size 0 then.
	check '{v["code-page-size"] for v in s} <= {a[0], "0"}' "$PAGE"
	grep '"pc": "0x00000000004' values >own
	mv own values
	check 'len(s) > 10 and {v["code-page-size"] for v in s} == {a[0]}' "$PAGE"
}

@test "only logs whose owner asked have records of values, and old programs do not see them" {
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log load pages=50
	refute grep -q '^values' <(pmcstat -q -R log)
	pmcstat -q -n 1 -P PAGE_FAULT.ALL,addr -O log load pages=50
	pmcstat -q -R log >text
	grep -q '^values  *0xfff20f00 addr=0x' text
	[ "$(grep -c '^values' text)" -eq "$(grep -c '^callchain' text)" ]
	# Each in front of its sample.
	awk '$1 == "callchain" && last != "values" { exit 1 } { last = $1 }' text
	stop_daemon
	start_daemon -o kern.hwpmc.logversion=3
	pmcstat -q -n 1 -P PAGE_FAULT.ALL,addr -O old.log load pages=50
	[ "$(pmcstat -q -R old.log | grep -c '^values .* addr=0x')" -ge 50 ]
}

@test "pmc filter keeps values with their samples" {
	pmcstat -q -d -n 1 -P PAGE_FAULT.ALL,addr -O log load pages=50 children=1
	values
	pids=$(python3 -c 'import json; print(*{json.loads(line)["pid"] for line in open("values")})')
	read -r one other <<<"$pids"
	[ -n "$other" ]
	pmc filter --keep -p "$one" log part.log
	pmcstat -q -R part.log >text
	[ "$(grep -c '^values' text)" -eq "$(grep -c "^callchain $one " text)" ]
	[ "$(grep -c '^callchain' text)" -eq "$(grep -c "^callchain $one " text)" ]
	grep -q '^values' text
}

# --- rates ------------------------------------------------------------------------------------

# PERF-097, PERF-109, PERF-165, PERF-262
@test "freq: the kernel steers the period, and samples' periods add up to the events" {
	faults=40000
	pmcstat -q -P PAGE_FAULT.ALL,freq=1000 -O log load pages=$faults
	sum=$(weights log)
	pmcstat -q -R log >text
	samples=$(grep -c '^callchain' text)
	echo "$samples samples, $sum of $faults"
	# Far fewer than with a period of 1, and not of one period; the kernel's book-keeping is not exact.
	[ "$samples" -ge 5 ] && [ "$samples" -le $((faults / 10)) ]
	[ "$(grep '^values' text | sort -u | wc -l)" -ge 3 ]
	[ "$sum" -ge $((faults * 7 / 10)) ] && [ "$sum" -le $((faults * 13 / 10)) ]
	# Reports weigh by it.
	pmc report log >report 2>told
	grep -q "^PAGE_FAULT.ALL: $sum events, in samples at a steady rate$" report
	[ "$(pmc summary log | tail -n 1)" = "	load: $sum" ]
	[ "$(pmc summary -f log | tail -n 1)" = "load: $samples" ]
	pmcstat -q -R log --json | python3 -c 'import json, sys
r = json.load(sys.stdin)
event = r["events"][0]
assert event["steered"] and event["period"] * event["samples"] == int(sys.argv[1]), event
assert sum(s["samples"] for s in r["stacks"]) == int(sys.argv[1])' "$sum"
	[ "$(pmcstat -q -R log --folded - 2>/dev/null | awk '{ n += $NF } END { print n }')" -eq "$sum" ]
}

@test "freq: a clock has the period of its rate, and ticks are not lost" {
	pmcstat -q -P CPU_CLOCK,freq=500 -P CLOCK.HARD,freq=300 -O log load spins=300000000
	pmcstat -q -R log >text
	[ "$(grep '^values .*0xfff20f00' text | sort -u)" = "values    0xfff20f00 period=2000000" ]
	# 3.33 ticks each: the rests add up.
	n=$(grep -c '^values .*0xfff20f01' text)
	sum=$(awk '$1 == "values" && $2 == "0xfff20f01" { split($3, v, "="); n += v[2] } END { print n }' text)
	echo "$n samples, $sum ticks"
	[ "$n" -ge 5 ] && [ "$sum" -ge $((n * 10 / 3 - 1)) ] && [ "$sum" -le $((n * 10 / 3 + 1)) ]
}

@test "period in the specifier stands for the period of the call" {
	pmcstat -q -n 1 -P PAGE_FAULT.ALL,period=100 -O log load pages=2000
	n=$(pmcstat -q -R log | grep -c '^callchain')
	[ "$n" -ge 19 ] && [ "$n" -le 40 ]
	client owner
	expect owner 'log 0' log log
	ask owner caps 0x21 rate 500 alloc 2 15 0x20004 any 0
	expect owner 'setcount EINVAL -- the kernel steers the period of this PMC (freq=500)' setcount 10
	expect owner 'start 0' start
	expect owner 'release 0' release
	expect owner 'alloc EINVAL -- rates, precision and values are for sampling modes' caps 0x20 rate 5 alloc 3 15 0x20004 any 0
}

# --- refusals ---------------------------------------------------------------------------------

# PERF-112, PERF-115, PERF-116, PERF-118, PERF-357, PERF-359
@test "values of hardware are refused where it is absent, with the reason" {
	refused page-faults,weight '*weight: PAGE_FAULT.ALL cannot have it: weights come from hardware*'
	refused page-faults,data-src '*data-src: PAGE_FAULT.ALL cannot have it: data sources come from hardware*'
	refused page-faults,txn '*txn: PAGE_FAULT.ALL cannot have it: transactions are those of hardware*'
	refused page-faults,phys-addr '*phys-addr: PAGE_FAULT.ALL cannot have it*page is there*'
	refused page-faults,data-page-size '*data-page-size: PAGE_FAULT.ALL cannot have it*page is there*'
	refused cpu-clock,addr '*addr: CPU_CLOCK cannot have it: it accesses no data*page faults do*'
	refused cs,addr '*addr: CONTEXT_SWITCHES cannot have it*'
	for kind in usr os any any-call any-return ind-call cond abort-tx in-tx no-tx any-call+usr; do
		refused page-faults,branch=$kind '*branch: PAGE_FAULT.ALL cannot have it: branches are recorded by hardware*'
	done
	refused page-faults,branch=hv '*no side of a hypervisor*'
	refused page-faults,branch=all '*branch=all: there are usr, os, any, any-call*'
	refused page-faults,branch '*branch=: there are usr*'
}

@test "what no sample or no counting PMC has is refused" {
	for word in addr user-regs cgroup weight freq=99 period=5 branch=any precise=1; do
		run --separate-stderr pmcstat -p page-faults,$word true
		[[ $status -ne 0 && $stderr == *"${word%%=*} is for samples, and this PMC counts: use a sampling mode"* ]]
	done
	refused page-faults,addr=1 '*addr takes no value: "1"*'
	refused page-faults,cgroup=/a '*cgroup takes no value*pmcstat -t cgroup:PATH*'
	refused page-faults,period=5,freq=5 '*freq has the kernel choose the period: leave period out*'
	for word in freq=0 freq=x freq freq=4294967296 period=0 period=9223372036854775808; do
		refused page-faults,$word "*${word%%=*} takes a number from 1 to *"
	done
	run --separate-stderr pmcstat -q -S page-faults,freq=10 -c 0 -l 1 -O log --flamegraph x.svg
	[ "$status" -ne 0 ] || [ -s log ]
}

# PERF-098, PERF-320, PERF-341
@test "freq: a rate above the kernel's limit is refused, with the limit" {
	most=$(</proc/sys/kernel/perf_event_max_sample_rate)
	refused page-faults,freq=$((most + 1)) "*freq=$((most + 1)): the kernel takes at most $most samples a second (kernel.perf_event_max_sample_rate)*"
}
