#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Class PERF: PMUs of sysfs that count for CPUs only, by the module fakepmu, whose counts this file decides.
# fake_uncore has three counters and the cpumask 0; fake_kind has two, and the list of CPUs 1.

load helpers

HITS=/sys/module/fakepmu/parameters/hits

setup_file() {
	vm_start
	fake_load
	vm_daemon
}

teardown_file() {
	vm_daemon_stop
	! vm_sh 'grep -q ^fakepmu /proc/modules' || vm rmmod fakepmu
	vm_stop
}

teardown() {
	vm_clean_log
}

# fake_load [PARAMETER...]
fake_load() {
	vm insmod "/lib/pmcbpf/$VM_RELEASE/fakepmu.ko" "$@"
}

# hup_until PATTERN - of pmccontrol -L, after SIGHUP
hup_until() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'kill -HUP $(pidof pmcbpfd)'
	vm_until 60 'pmccontrol -L | grep -q "$1"' "$1"
}

# values - of $output's last row, in JSON
values() { tail -n 1 <<<"$output" | grep -o '"value":[0-9]*' | cut -d: -f2 | xargs; }

# counts CPU VALUES SPEC... - while 1000 hits are made
counts() {
	local cpu=$1 values=$2 spec args=()

	shift 2
	for spec; do
		args+=(-s "$spec")
	done
	run vm pmcstat --json -c "$cpu" "${args[@]}" sh -c "echo 1000 >$HITS"
	echo "$output"
	status_is 0
	[ "$(values)" = "$values" ]
}

# refused PATTERN OPTION... - of pmcstat
refused() {
	local pattern=$1

	shift
	run vm pmcstat "$@" true
	echo "$output"
	[ "$status" -ne 0 ]
	# shellcheck disable=SC2053 # a pattern
	[[ $output == $pattern ]]
}

# rows_are N NAME - of that PMU, on each CPU
rows_are() {
	[ "$(vm pmccontrol -l | grep -c " PERF-$2-[0-9]* ")" -eq $((2 * $1)) ]
}

@test "PERF-039 PERF-329 PERF-186: a PMU with a cpumask counts on its CPUs, exactly" {
	counts 0 "1000 2000 10000" fake_uncore/reads/ fake_uncore/event=2/ fake_uncore/event=1,more=9/
	counts 0 "4000" fake_uncore/config=4/
	counts 0 "65536000" fake_uncore/event=1,config1=0xffff/
}

@test "PERF-329: a PMU with a list of CPUs counts on these; a name that one PMU has needs no PMU" {
	counts 1 "3000 2000" fake_kind/only/ fake_kind/writes/
	counts 1 "3000" only
	counts 0 "1000" PERF-reads
	refused '*writes is an event of several PMUs: write fake_kind/writes/, fake_uncore/writes/ or another*' -c 0 -s writes
}

@test "PERF-329: another CPU, and processes, are refused; the reason names the CPUs" {
	refused '*PMU fake_uncore counts on CPU 0, not on CPU 1*' -c 1 -s fake_uncore/reads/
	refused '*PMU fake_kind counts on CPU 1, not on CPU 0*' -c 0 -s fake_kind/only/
	refused '*PMU fake_uncore counts for CPUs, not for processes: use a mode of system scope on CPU 0*' \
		-p fake_uncore/reads/
	refused '*class PERF cannot sample: its PMUs count for CPUs only*' -c 0 -O /tmp/log -S fake_uncore/reads/
}

@test "PERF-323 PERF-326: words that a PMU lacks are refused, with the nearest names" {
	refused '*no PMU "fake_uncor" whose counters pmcbpfd manages*"fake_uncore"*' -c 0 -s fake_uncor/reads/
	refused '*PMU fake_uncore has no field "raeds"*"reads"*' -c 0 -s fake_uncore/raeds/
	refused '*PMU fake_uncore has no field "mor"*"more"*' -c 0 -s fake_uncore/event=1,mor=1/
	refused '*"event=0x100": the field of PMU fake_uncore has 8 bits*' -c 0 -s fake_uncore/event=0x100/
	refused '*the event needs a value for "event"*' -c 0 -s fake_uncore/any/
	refused '*describes its field "far" as "config3:0-15", which is not understood*' -c 0 -s fake_uncore/far=1/
	refused '*"usr" is no qualifier of a PMU that counts for CPUs*' -c 0 -s fake_uncore/reads/,usr
	refused '*CPU 0 cannot count this event on row PERF-fake_uncore-0: the PMU takes no event of this number*' \
		-c 0 -s fake_uncore/event=99/
}

@test "PERF-329: a PMU has a row for each counter; the one too many is refused" {
	rows_are 3 fake_uncore
	rows_are 2 fake_kind
	counts 0 "1000 1000 1000" fake_uncore/reads/ fake_uncore/reads/ fake_uncore/reads/
	refused '*no row of this PMU is left: 3 held by this process; release one of yours first*' \
		-c 0 -s fake_uncore/reads/ -s fake_uncore/reads/ -s fake_uncore/reads/ -s fake_uncore/reads/
}

@test "an event with a unit is shown in it; JSON has its count and the scale" {
	run vm pmcstat -c 0 -s fake_uncore/reads/ -s fake_uncore/writes/ sh -c "echo 1048576 >$HITS"
	echo "$output"
	status_is 0
	[[ $output == *"s/00/fake_uncore/reads/[MiB] "*"s/00/fake_uncore/writes/ "* ]]
	[ "$(tail -n 1 <<<"$output" | xargs)" = "64.000000 2097152" ]
	run vm pmcstat --csv -c 0 -s PERF-reads sh -c "echo 16384 >$HITS"
	[[ $output == *"s/00/PERF-reads[MiB]"*",1.000000" ]]
	run vm pmcstat --json -c 0 -s fake_uncore/reads/ sh -c "echo 3 >$HITS"
	[[ $output == *'"value":3,"scale":"6.103515625e-05","scaled_unit":"MiB"}'* ]]
}

@test "PERF-323 PERF-327: lists have the PMUs' events, with units and CPUs" {
	run vm pmccontrol -L
	status_is 0
	[ "$(sed -n '/^PERF$/,$p' <<<"$output" | xargs)" = \
		"PERF fake_kind/only/ fake_kind/writes/ fake_uncore/any/ fake_uncore/reads/ fake_uncore/writes/" ]
	run vm pmc list-events -u fake_
	echo "$output"
	status_is 0
	[[ $'\n'$output == *$'\nfake_uncore/reads/:\tevent=0x01; each is 6.103515625e-5 MiB; CPU 0\n'* ]]
	[[ $output == *$'fake_kind/only/:\tevent=0x03; CPU 1\n'* ]]
	run vm pmc list-events -f fake_kind/only
	[[ $output == *$'\tpmu: fake_kind' ]]
}

@test "PERF-039, PERF-328: a module stays while its PMU counts; without it the PMU has gone, until the next SIGHUP" {
	run vm pmcstat --json -c 0 -s fake_uncore/reads/ sh -c "! rmmod fakepmu 2>/dev/null && echo 7 >$HITS"
	echo "$output"
	status_is 0
	[ "$(values)" = 7 ]
	vm rmmod fakepmu
	refused '*PMU fake_uncore has gone, as its module has perhaps been removed*SIGHUP*' -c 0 -s fake_uncore/config=1/
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'kill -HUP $(pidof pmcbpfd)'
	vm_until 60 '! pmccontrol -L | grep -q ^PERF'
	refused '*no PMU "fake_uncore" whose counters pmcbpfd manages*' -c 0 -s fake_uncore/config=1/
	fake_load
	hup_until ^PERF
	counts 0 "1000" fake_uncore/reads/
}

@test "PERF-039: of two kinds of CPUs each counts the event of its own PMU" {
	[ "$VM_KERNEL" = 6.12-x86 ] || skip "other guests have a PMU of the cores, or a kernel with room for one"
	vm rmmod fakepmu
	fake_load kinds=1
	hup_until $'\tbusy$'
	counts 0 "1000" cpu_core/busy/
	counts 1 "3000" cpu_atom/busy/
	counts '*' "1000 3000" busy
	refused '*PMU cpu_core counts on CPU 0, not on CPU 1*' -c 1 -s cpu_core/busy/
	refused '*PMU cpu_atom counts on CPU 1, not on CPU 0*' -c 0 -s cpu_atom/busy/
	[ "$(vm pmccontrol -l | grep -o ' cpu_core-[0-9]* ' | sort -u | wc -l)" -eq 2 ]
	[ "$(vm pmccontrol -l | grep -o ' cpu_atom-[0-9]* ' | sort -u | wc -l)" -eq 3 ]
	# In a process: each kind's own, exactly, and their sum.
	# shellcheck disable=SC2016 # the guest's shell expands it
	local work='taskset -p 1 $$; echo 1000 >'$HITS'; taskset -p 2 $$; echo 10 >'$HITS'; taskset -p 1 $$; echo 1 >'$HITS
	run vm pmcstat --json -p busy -p '{cpu_core/event=2/,cs}' sh -c "$work"
	echo "$output"
	[[ "$(values) " == "1031 30 1001 2002 "* ]]
	run vm pmcstat --json --per-thread -p busy sh -c "$work"
	echo "$output"
	[[ "$(values)" == "1031 30 1001" ]]
	run vm pmc stat sh -c "$work"
	[[ $output == *" 1011  instructions"* ]]
	refused '*"r1": this machine has several kinds of CPUs, each with numbers of its own: write cpu_*/config=0x1/*' -p r1
	# Three events on the two rows of a kind, of owners that do not know of each other: a row's running count goes on
	# in events of threads, CPU by CPU.
	vm_sh 'cd /tmp; rm -f lines.? rows.?; >hits; n=0; for i in 1 2 3; do
			mkfifo lines.$i
			sh -c "while read -r cpu n; do taskset -p \$cpu \$\$ >/dev/null; echo \$n >'$HITS'; echo >>hits; done" <lines.$i 4>&- 5>&- 6>&- & eval p$i=$!
			eval "exec $((i + 3))>lines.$i"
			eval "pmcstat --csv -C -w 0.1 -o rows.$i -p cpu_core/event=$i/ -t \$p$i 4>&- 5>&- 6>&- & s$i=\$!"
			until grep -q "," rows.$i 2>/dev/null && [ "$(wc -l <rows.$i)" -ge 2 ]; do usleep 20000; eval "kill -0 \$s$i" || exit; done
			# One after the other, because all of them read what any one writes.
			for j in $(seq $i); do
				printf "1 100\n2 10\n1 1\n" >&$((j + 3)); n=$((n + 3))
				until [ "$(wc -l <hits)" -eq $n ]; do usleep 2000; done
			done
		done
		exec 4>&- 5>&- 6>&-
		for p in $p1 $p2 $p3 $s1 $s2 $s3; do wait $p; done
		tail -q -n 1 rows.? | cut -d , -f 2 | xargs >sums'
	vm_get /tmp/sums "$BATS_TEST_TMPDIR/sums"
	cat "$BATS_TEST_TMPDIR/sums"
	[ "$(<"$BATS_TEST_TMPDIR/sums")" = "303 404 303" ]
}
