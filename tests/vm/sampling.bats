#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Logs in the guest: every record of a process's life, samples of software clocks on every kernel and
# of real counters' overflows where there is a PMU (arm64).

load helpers

setup_file() {
	vm_start --daemon
	# An emulated CPU takes long for an overflow: the kernel would throttle early.
	vm_sh 'echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent'
}

setup() {
	load ../logs
	# This machine's tools read the guest's recordings.
	PATH=$VM_OUT/bin:$PATH
	# shellcheck disable=SC2034 # of logs.bash
	DEEP=${PMCBPF_VM_OVERLAY:-build/vm/overlay}/$VM_ARCH/usr/bin/deep
}

teardown() {
	vm_all_cpus
}

# sample_overflows - sets sampling[] to a counter's overflows, if there is one.  QEMU's counters overflow many times
# more whenever it turns from one CPU to another: there must be one.
sample_overflows() {
	[ "$VM_ARCH" = arm64 ] || return 0
	vm_one_cpu
	sampling=(-n 100000 -P cpu_cycles)
}

# dump [LOG]: the text of /tmp/log in the guest, in $output; a warning on another pipe may come in the middle of a line
dump() {
	run --separate-stderr vm pmcstat -R "${1:-/tmp/log}"
	status_is 0
}

lines_of() { grep -c "^$1 " <<<"$output" || true; }

@test "a tree's slices and exits are logged, and agree with each other" {
	run vm pmcstat -q -d -E -W -p CONTEXT_SWITCHES -p TASK_CLOCK -O /tmp/log \
		sh -c 'for i in 1 2 3; do sh -c "echo; sleep 0.01"; done'
	status_is 0
	dump
	[ "$(lines_of initlog)" -eq 1 ]
	[ "$(lines_of closelog)" -eq 1 ]
	[ "$(lines_of fork)" -ge 3 ]
	[ "$(lines_of exitval)" -ge 8 ]
	[ "$(lines_of cswval)" -ge 8 ]
	[ "$(lines_of drop)" -eq 0 ]
	awk '$1 == "cswval" { slices[$2 $3] += $4 }
		$1 == "exitval" { n++; if (slices[$2 $3] != $4) { print "differs: " $0; bad++ } }
		END { exit !n || bad }' <<<"$output"
}

@test "a tree's switches: the log has the kernel's figure, without switches after a process's exit hook" {
	run vm_sh 'pmcstat -q -d -E -W -n 1 -P CLOCK.HARD -p CONTEXT_SWITCHES -O /tmp/log \
		busybox time -v sh -c "load switches=30; load forks=3 below=1 switches=20 & sleep 0.1; wait" 2>&1'
	status_is 0
	charged=$(awk -F ': ' '/oluntary context switches/ { sum += $2 } END { print sum }' <<<"$output")
	dump
	# The first process waits for the others and prints the figures.
	read -r logged processes < <(awk '$1 == "attach" { first = $3 }
		$1 == "exitval" && $3 != first { sum += $4; n++ } END { print sum, n }' <<<"$output")
	echo "$charged switches charged, $logged logged, $processes processes"
	[ "$charged" -ge 150 ]
	[ "$processes" -ge 9 ]
	# The last switch, and from Linux 6.16 on switches while its memory is released, for which it may have to
	# wait.
	[ "$logged" -ge $((charged - 3 * processes)) ]
	[ "$logged" -le $((charged + processes)) ]
	awk '$1 == "exec" || $1 == "fork" { born[$3] = 1 } $1 == "exitval" { exits[$3]++ }
		END { for (pid in born) if (exits[pid] != 1) { print pid " has no exit"; bad++ } exit bad > 0 }' \
		<<<"$output"
}

# sample_endless PROGRAM ARGUMENT... - the log of a program that ends when 40 samples of its own code are in the log:
# the ticks of a guest whose host is busy are fewer than its time suggests.
sample_endless() {
	run vm_sh "rm -f /tmp/log
		pmcstat -q -n 1 -P CLOCK.HARD -w 0.2 -O /tmp/log $* & stat=\$!
		until [ \$(pmcstat -R /tmp/log 2>/dev/null | grep -c '^callchain .* u\$') -ge 40 ]; do usleep 100000; done
		killall $1
		wait \$stat"
	status_is 143
	dump
}

@test "a clock samples the function that runs, with call chains" {
	sample_endless load spins=1000000000000
	[ "$(lines_of callchain)" -ge 10 ]
	[ "$(lines_of exec)" -ge 1 ]
	grep -q '^map-in .*/load"$' <<<"$output"
	grep -q '^callchain .* u$' <<<"$output"
}

# chains_of_leaf N: ten samples in leaf have N addresses at least: leaf, outer 21 times, main
chains_of_leaf() {
	local n=0 at pcs

	sample_endless deep 20 1000000000000 0 0
	while read -r -a pcs; do
		inside "${pcs[0]}" leaf || continue
		[ ${#pcs[@]} -ge "$1" ]
		for at in "${pcs[@]:1:21}"; do inside "$at" outer; done
		[ ${#pcs[@]} -lt 23 ] || inside "${pcs[22]}" main
		[ $((++n)) -lt 10 ] || break
	done < <(chains u <<<"$output")
	[ $n -eq 10 ]
}

# chains_cut: their number in all logs so far
chains_cut() { vm pmccontrol -s | awk '/lack callers/ { print $NF }'; }

# PERF-106, PERF-264
@test "call chains of user code: the interrupted function, then its callers, all or the requested number" {
	local before

	chains_of_leaf 23
	before=$(chains_cut)
	vm pmccontrol --tunable kern.hwpmc.callchaindepth=8
	chains_of_leaf 8
	[ "$(chains u <<<"$output" | awk 'NF > 8' | wc -l)" -eq 0 ]
	vm pmccontrol --tunable kern.hwpmc.callchaindepth=128
	[ $(($(chains_cut) - before)) -ge 10 ]
}

# records TAG... - each of them is in the log
records() {
	local tag

	for tag; do
		[ "$(lines_of "$tag")" -ge 1 ] || { echo "no $tag" >&2; return 1; }
	done
}

# The program has no dynamic linker, and a fixed address.
begins_where_it_should() {
	vm cat /usr/bin/load >"$BATS_TEST_TMPDIR/load"
	[ $(($(readelf -h "$BATS_TEST_TMPDIR/load" | awk '/Entry point/ { print $NF }'))) -eq \
		$(($(awk '$1 == "exec" && /\/load"$/ { print $4; exit }' <<<"$output"))) ]
}

# PERF-164
@test "every record of a process's life, in both formats; samples are overflows if there is a counter" {
	vm_once
	local sampling=(-n 1 -P CLOCK.HARD) version

	sample_overflows
	for version in 10 3; do
		vm pmccontrol --tunable kern.hwpmc.logversion=$version
		run vm pmcstat -q -d -E -W "${sampling[@]}" -p CONTEXT_SWITCHES -O /tmp/log \
			sh -c 'unmaps; load threads=2 spins=3000000; load spins=3'
		status_is 0
		dump
		records initlog allocatedyn attach fork exec map-in map-out callchain cswval exitval closelog
		[ $version -eq 3 ] || records thr-create thr-exit
		[ $version -eq 10 ] || begins_where_it_should
		[ "$(unmapped <<<"$output")" = "$UNMAPPED" ]
		run vm pmcstat -q "${sampling[@]/-P/-S}" -O /tmp/log sh -c 'unmaps; load spins=3000000'
		status_is 0
		dump
		records initlog allocatedyn exec map-in map-out exit callchain closelog
		[ $version -eq 3 ] || records proccreate thr-create
		[ "$(unmapped <<<"$output")" = "$UNMAPPED" ]
	done
	vm pmccontrol --tunable kern.hwpmc.logversion=10
	[[ ${lines[0]} == 'initlog   0x3010000 '* ]]
}

@test "a counter's overflows are samples: one for every period" {
	vm_require_arch arm64
	local sampling

	sample_overflows
	run vm pmcstat -q -E -p inst_retired "${sampling[@]}" -O /tmp/log load spins=20000000
	status_is 0
	dump
	count=$(awk '$1 == "exitval" { print $4 }' <<<"$output")
	samples=$(lines_of callchain)
	echo "$count cycles, $samples samples"
	# The kernel's own work on a sample is counted, but not equally by both counters.
	[ "$samples" -ge $((count / 102000)) ]
	[ "$samples" -le $((count / 98000)) ]
	[ "$(lines_of drop)" -eq 0 ]
}

@test "a counter that overflows too often for the kernel: its pauses are counted, reported, and marked" {
	vm_require_arch arm64
	vm_one_cpu
	run vm pmcstat -n 2000 -P cpu_cycles -O /tmp/log load spins=5000000
	status_is 0
	[[ $output =~ sampling\ was\ paused\ at\ least\ [0-9]+\ time ]]
	dump
	[ "$(lines_of drop)" -ge 1 ]
	vm grep -q 'the kernel pauses PMC 0x' /tmp/pmcbpfd.log
}

@test "samples have names: on the machine where they were taken, and elsewhere with only the log and the program" {
	vm_once
	local sampling=(-n 1 -P CLOCK.HARD) overlay=${PMCBPF_VM_OVERLAY:-$VM_OUT/vm/overlay}/$VM_ARCH

	sample_overflows
	cd "$BATS_TEST_TMPDIR"
	run vm pmcstat -q "${sampling[@]}" -O /tmp/log deep 5 100000000 500 20
	status_is 0
	run vm pmcstat report --csv=/tmp/table /tmp/log
	status_is 0
	vm_get /tmp/log log
	vm_get /tmp/table here
	pmcstat report -q -r "$overlay" --csv=there log
	# The program's own samples are nearly all in leaf, which only outer calls; the kernel's have names.
	for table in here there; do
		awk -F, -v OFS=, '$2 == "deep" && $5 ~ /deep$|kallsyms/ { print $4, $5, $6, $7 }' $table | sort >$table.deep
		awk -F, '$2 !~ /kallsyms/ { user += $3 } $1 == "leaf" { leaf = $3; called = $4 } $1 == "outer" { outer = $4 }
			$1 ~ /^0x/ && $2 ~ /kallsyms/ { unknown += $4 }
			END { print user, leaf, called, outer, unknown + 0
				exit !(user >= 10 && leaf >= user * 0.8 && outer >= called && !unknown) }' $table.deep
	done
	diff here.deep there.deep
}

@test "system scope: processes and samples of all users" {
	run vm pmcstat -q -n 1 -S CLOCK.HARD -l 1 -O /tmp/log
	status_is 0
	dump
	[ "$(lines_of proccreate)" -ge 5 ]
	[ "$(lines_of callchain)" -ge 20 ]	# 2000 on a machine that is fast enough for them
	grep -q '^map-in    -1 0xffff' <<<"$output"
}

@test "a CPU that goes and comes is sampled again, and events of its processes are logged" {
	vm_once
	vm_all_cpus
	run vm_sh '
		online=/sys/devices/system/cpu/cpu1/online
		# both SINCE: samples of both CPUs exist, after the mark of a gap if SINCE is 1
		both() {
			until pmcstat -R /tmp/log 2>/dev/null | awk -v since=$1 "
				\$1 == \"drop\" { after = 1 } \$1 == \"callchain\" && after >= since { n[\$4]++ }
				END { exit !(n[0] && n[1]) }"; do usleep 100000; done
		}
		rm -f /tmp/log
		pmcstat -q -n 1 -S CLOCK.HARD -w 0.2 -O /tmp/log & stat=$!
		both 0
		echo 0 >$online
		sleep 0.5
		echo 1 >$online
		both 1
		pmcstat --version >/dev/null
		taskset 2 load spins=10000000
		kill -INT $stat
		wait $stat'
	vm_all_cpus
	status_is 0
	dump
	# Both CPUs, and before and after the gap; CPU 1's first events are lost: that is marked.
	sampled=$(awk '$1 == "drop" { after = 1 } $1 == "callchain" { n[$4 + after * 10]++ }
		END { print n[0] + 0, n[1] + 0, n[10] + 0, n[11] + 0 }' <<<"$output")
	echo "samples on CPU 0 and 1 before, 0 and 1 after: $sampled"
	[[ ! " $sampled " == *" 0 "* ]]
	[ "$(lines_of drop)" -ge 1 ]
	pid=$(awk '$1 == "exec" && /load"$/ { print $3 }' <<<"$output")
	echo "load is $pid; $(grep "[ (]$pid " <<<"$output" | head -n 20)"
	grep -q "^callchain $pid 0x[0-9a-f]* 1 [0-9]* u" <<<"$output"
	grep -q "^map-in    $pid .*/load\"$" <<<"$output"
}

@test "a kernel that hides its addresses: no mapping of it, and a line with the reason" {
	vm_once
	vm_sh 'echo 2 >/proc/sys/kernel/kptr_restrict'
	run vm pmcstat -q -n 1 -S CLOCK.HARD -l 1 -O /tmp/log
	vm_sh 'echo 0 >/proc/sys/kernel/kptr_restrict'
	status_is 0
	dump
	[ "$(lines_of callchain)" -ge 20 ]
	[ "$(grep -c '^map-in    -1' <<<"$output")" -eq 0 ]
	vm grep -q 'the kernel hides its addresses' /tmp/pmcbpfd.log
}

@test "a user's log: no kernel address, and nothing of a set-id program that his process starts" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'cp "$(command -v load)" /setid; chown 65533 /setid; chmod 4755 /setid
		echo 2 >/proc/sys/kernel/perf_event_paranoid'
	run vm stand -u 65534 -g 65534 pmcstat -q -d -n 1 -P CONTEXT_SWITCHES -n 1 -P PAGE_FAULT.ALL -O /tmp/of-user \
		sh -c '/setid pages=10; load switches=10; :'
	status_is 0
	dump /tmp/of-user
	[ "$(grep -c '^exec .*/load"$' <<<"$output")" -ge 1 ]
	[ "$(grep -c '^\.\.\. *0x8000000000000000$' <<<"$output")" -ge 10 ]
	[ "$(grep -c '^fork ' <<<"$output")" -ge 2 ]
	[ "$(grep -c '0xffff[0-9a-f]\{12\}\|map-in *-1 \|setid' <<<"$output")" -eq 0 ]
	# The same for root, who may see all of it.
	run vm pmcstat -q -d -n 1 -P CONTEXT_SWITCHES -n 1 -P PAGE_FAULT.ALL -O /tmp/log sh -c '/setid pages=10; :'
	status_is 0
	dump
	[ "$(grep -c '^exec .*/setid"$' <<<"$output")" -ge 1 ]
	grep -q '^\.\.\. *0xffff' <<<"$output"
	grep -q '^map-in *-1 ' <<<"$output"
}

# signals_of ARG... - runs signalled; its first line's figures are in $signals, $overflows and $unsent
signals_of() {
	run vm signalled "$@"
	echo "$output"
	status_is 0
	read -r signals overflows unsent _ <<<"${lines[0]}"
	[ "$signals" -eq $((overflows - unsent)) ]
}

@test "a program that samples itself has a signal for each overflow: faults, ticks, stores or a counter" {
	vm_one_cpu
	signals_of page-faults 10 29 handle start pages=1000 stop show
	[ "$overflows" -ge 100 ]
	[ "$unsent" -eq 0 ]
	signals_of page-faults 10 40 handle limit=0 start read=1000 stop show
	[ "$overflows" -ge 100 ]
	[ "$unsent" -eq 0 ]
	signals_of CPU_CLOCK 10000000 40 handle limit=0 start spin=300 stop show
	[ "$overflows" -ge 10 ]
	[ "$unsent" -eq 0 ]
	signals_of page-faults 10 40 handle limit=20 start pages=1000 show
	[ "$signals $overflows $unsent" = "20 20 0" ]
	signals_of page-faults 10 40 handle limit=0 start pages=1000 default pages=1000 show
	[ "$signals" -ge 100 ]
	[ "$unsent" -ge 100 ]
	run vm signalled page-faults 1 29 handle start exec
	status_is 0
	if [ "$VM_ARCH" = amd64 ]; then
		signals_of word 3 40 handle limit=0 start stores=30 default stores=30 show
		[ "$signals $overflows $unsent" = "10 20 10" ]
		return
	fi
	run vm signalled word 3 29
	status_is 2
	has "an access whose signal is handled is made, and counted, again"
	signals_of cpu_cycles 100000 40 handle limit=0 start spin=100 stop show
	[ "$overflows" -ge 100 ]
	[ "$unsent" -eq 0 ]
}
