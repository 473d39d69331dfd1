#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# pmccontrol --doctor where there are hardware counters, other users of them, and who may know of whom.

load helpers

setup_file() {
	vm_start
	[ "$VM_ARCH" = arm64 ] || return 0
	vm_sh 'echo 0 >/proc/sys/kernel/nmi_watchdog'
	vm_daemon
}

setup() {
	vm_require_arch arm64
}

teardown() {
	[ "$VM_ARCH" != arm64 ] || vm_sh 'killall hog pmcx 2>/dev/null; rm -f /tmp/hold; true'
}

# doctor [USER] - sets rows to its line of the hardware rows
doctor() {
	if [ $# -eq 0 ]; then
		run vm pmccontrol --doctor
	else
		run vm su "$1" -s /bin/sh -c 'pmccontrol --doctor'
	fi
	status_is 0
	rows=$(grep -E '^[a-z]+ +ARMV8 rows: ' <<<"$output") || { echo "$output" >&2; return 1; }
}

# hog N - holds that many counters of both CPUs; sets hog to its process number
hog() {
	hog=$(vm_spawn /tmp/hog hog "$1")
	vm_until 60 'grep -q . /tmp/hog'
	vm cat /tmp/hog
}

line() {
	# shellcheck disable=SC2053 # a pattern
	[[ $rows == $1 ]] || { printf 'line:   %s\nwanted: %s\n' "$rows" "$1" >&2; return 1; }
}

@test "without other users all seven counters are available" {
	doctor
	line 'ok      ARMV8 rows: 7 of every CPU with PMU armv8_*: 7 FREE, 0 THREAD, 0 STANDALONE; 7 counters can be had now'
}

@test "another user of the PMU: the number of counters, the CPUs, and the user, for callers that may know" {
	hog 2
	doctor
	line "limits  ARMV8 rows: 7 of every CPU with PMU armv8_*: 7 FREE, *; 5 counters can be had now; others hold 2 on CPU 0-1; perf events are open in: pid $hog (hog); end those programs*"
	doctor alice
	line 'limits *; others hold 2 on CPU 0-1; perf events are open in: 1 process that you may not see; end *'
	vm kill "$hog"
	vm_until 60 '! pidof hog'
	doctor
	line 'ok *; 7 counters can be had now'
}

@test "counters that PMCs hold are not attributed to other users, in both scopes" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'rm -f /tmp/held; mkfifo /tmp/hold; sleep 1000 3>/tmp/hold & pmcx hold 3 inst_retired inst_retired </tmp/hold >/tmp/held &
		until grep -qs held /tmp/held; do usleep 10000; done'
	doctor
	line 'ok *: 4 FREE, 3 THREAD, 0 STANDALONE; 4 counters can be had now'
	vm_sh 'killall pmcx sleep; rm /tmp/hold'
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 14 ]'
	vm_spawn /tmp/out pmcstat -q -o /tmp/rows -w 100 -p inst_retired -p cpu_cycles sleep 1000 >/dev/null
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*THREAD")" -eq 4 ] && pidof sleep'
	doctor
	line 'ok *: 5 FREE, 2 THREAD, 0 STANDALONE; 5 counters can be had now'
	vm_sh 'killall sleep'
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 14 ]'
	vm_spawn /tmp/out pmcstat -q -o /tmp/rows -w 100 -c 1 -s inst_retired >/dev/null
	vm_until 60 'pmccontrol -l | grep -q "ARMV8-.*STANDALONE"'
	run vm_sh "pmccontrol -l | awk '\$2 ~ /^ARMV8-[45]\$/ { print \$1 }'"
	vm pmccontrol -c 0 -d "${lines[1]}" -d "${lines[0]}"
	numbers=("${lines[@]}")
	doctor
	vm pmccontrol -c 0 -e "${numbers[1]}" -e "${numbers[0]}"
	line 'ok *: 4 FREE, 0 THREAD, 3 STANDALONE; 5 to 6 counters can be had now, by CPU'
	vm killall -INT pmcstat
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 14 ]'
}

@test "the doctor takes no counter from running PMCs, whatever runs on the CPU" {
	# Two owners that count other events on the same rows: per-task events, and nothing to spare.  When both
	# count, their loads begin again and again, until the doctor has looked three times.
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh "$VM_AWAIT"'
		rm -f /tmp/done /tmp/a.* /tmp/b.*
		owner() { # NAME EVENT
			mkfifo /tmp/$1.go
			exec pmcstat -q --csv -C -o /tmp/$1 -d -p cpu_cycles -p $2 -p $2 -p $2 -p $2 -p $2 -p $2 \
				sh -c ": >/tmp/$1.ready; read -r line </tmp/$1.go
					n=0; until [ -e /tmp/done ]; do load spins=50000000; n=\$((n + 1)); done
					echo \$n >/tmp/$1.n" 2>/tmp/$1.error
		}
		owner a inst_retired & a=$!
		owner b inst_retired,usr & b=$!
		await 10000 "[ -e /tmp/a.ready ] && [ -e /tmp/b.ready ] || ! kill -0 $a || ! kill -0 $b"
		echo >/tmp/a.go; echo >/tmp/b.go
		n=0; while [ $n -lt 3 ] && pmccontrol --doctor >/dev/null; do n=$((n + 1)); done
		: >/tmp/done
		wait $a; ra=$?; wait $b; rb=$?
		echo "$ra $rb $n"; cat /tmp/a.error /tmp/b.error >&2; for o in a b; do cat /tmp/$o.n; tail -n 1 /tmp/$o; done'
	echo "$output"
	status_is 0
	[ "${lines[0]}" = "0 0 3" ]
	for owner in 1 3; do
		IFS=, read -r -a counts <<<"${lines[owner + 1]}"
		[ "${#counts[@]}" -eq 8 ]
		for count in "${counts[@]:2}"; do
			# The loops' count is exact.  In any row the other CPU's instructions may be counted as
			# well: millions in some rows, if QEMU turns to it while the kernel sets the rows.
			[ "$count" -ge $((lines[owner] * 100000000)) ]
		done
	done
}

@test "rows that were held when the daemon started: more are available after it has looked again" {
	hog 2
	vm_sh 'kill -HUP $(pidof pmcbpfd)'
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-")" -eq 10 ]'
	vm kill "$hog"
	vm_until 60 '! pidof hog'
	doctor
	line 'limits *ARMV8 rows: 5 of every CPU*; 7 counters can be had now; others have given 2 back since the rows were counted; send SIGHUP*'
	vm_sh 'kill -HUP $(pidof pmcbpfd)'
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-")" -eq 14 ]'
	doctor
	line 'ok *'
}

@test "the kernel has not complained" {
	vm_clean_log
}
