#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# pmcstat and pmccontrol as installed, with users: who may measure what, and what the tools say.

load helpers

# as USER COMMAND... - in the guest
as() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'user=$1; shift; exec su "$user" -c "$*"' "$@"
}

# sleeper USER COMMAND - starts USER's process, called sleep, and prints its pid
sleeper() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'rm -f /tmp/sleeper
		su "$1" -c "echo \$\$; exec $2" >/tmp/sleeper 2>&1 </dev/null &
		until grep -qs "^sleep$" /proc/$(head -n 1 /tmp/sleeper)/comm; do usleep 10000; done
		head -n 1 /tmp/sleeper' "$@"
}

@test "the table: header, one row, newline" {
	run vm_sh 'pmcstat -C -p PAGE_FAULT.ALL -p TASK_CLOCK true 2>&1'
	status_is 0
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[0]} =~ ^#\ \ *p/PAGE_FAULT\.ALL\ \ *p/TASK_CLOCK\ $ ]]
	[[ ${lines[1]} =~ ^\ +[1-9][0-9]*\ +[1-9][0-9]*\ $ ]]
	[ "${#lines[0]}" -eq "${#lines[1]}" ]
}

@test "system scope has one column for each CPU" {
	run vm_sh 'pmcstat -s CPU_CLOCK -l 0.1 2>&1'
	status_is 0
	[[ ${lines[0]} =~ ^#\ \ *s/00/CPU_CLOCK\ \ *s/01/CPU_CLOCK\ $ ]]
	run vm_sh 'pmcstat -c 1 -s CPU_CLOCK -l 0.1 2>&1'
	[[ ${lines[0]} =~ ^#\ \ *s/01/CPU_CLOCK\ $ ]]
}

@test "JSON and CSV say the same" {
	run --separate-stderr vm_sh 'pmcstat --json -o /tmp/json -C -p PAGE_FAULT.ALL true && cat /tmp/json'
	status_is 0
	[ -z "$stderr" ]
	[[ $output =~ ^\{\"time\":\ ?[0-9.]+,.*\"name\":\ ?\"PAGE_FAULT\.ALL\".*\"scope\":\ ?\"process\".*\"value\":\ ?[0-9]+ ]]
	run vm_sh 'pmcstat --csv -o /tmp/csv -C -p PAGE_FAULT.ALL true && cat /tmp/csv'
	[ "${lines[0]}" = "time,p/PAGE_FAULT.ALL" ]
	[[ ${lines[1]} =~ ^[0-9]+\.[0-9]{6},[1-9][0-9]*$ ]]
}

@test "the exit status: the command's, 128+N after a signal" {
	run vm pmcstat -q -p TASK_CLOCK sh -c 'exit 7'
	status_is 7
	run vm pmcstat -q --exit-status -p TASK_CLOCK sh -c 'exit 7'
	status_is 7
	run vm pmcstat -q --exit-status -p TASK_CLOCK sh -c 'kill -TERM $$'
	status_is 143
	run vm pmcstat -q -p TASK_CLOCK /no/such/command
	status_is 71
	[ "${#lines[@]}" -eq 1 ]
	has 'pmcstat: ERROR: execvp "/no/such/command" failed'
	has "No such file or directory"
}

@test "the command's output and errors pass; counts go to -o" {
	run --separate-stderr vm pmcstat -o /tmp/counts -p TASK_CLOCK sh -c 'echo out; echo err >&2'
	status_is 0
	says out
	[ "$stderr" = err ]
	run vm cat /tmp/counts
	has "p/TASK_CLOCK"
}

@test "a target that does not exist" {
	run vm pmcstat -p TASK_CLOCK -t 999999
	status_is 65
	[ "${#lines[@]}" -eq 1 ]
	run vm pmcstat -p TASK_CLOCK -t '^no-such-name$'
	status_is 65
	has "pmcstat: ERROR: No matching target processes."
}

@test "an unprivileged user measures commands and processes of her own" {
	run as alice 'pmcstat --csv -C -p PAGE_FAULT.ALL -d -p TASK_CLOCK true'
	status_is 0
	[[ ${lines[-1]} =~ ^[0-9.]+,[1-9][0-9]*,[1-9][0-9]*$ ]]
	run as alice 'sleep 1000 & pmcstat -l 0.1 -p PAGE_FAULT.ALL -t $!; s=$?; kill $!; exit $s'
	status_is 0
}

@test "alice may not attach to bob's process: one line, EPERM; root may" {
	bob=$(sleeper bob "sleep 1000")
	run as alice "pmcstat -l 0.1 -p PAGE_FAULT.ALL -t $bob"
	status_is 71
	[ "${#lines[@]}" -eq 1 ]
	has "pmcstat: ERROR: cannot attach pmc \"PAGE_FAULT.ALL\" to process $bob"
	has "[Operation not permitted]"
	run as alice "pmcstat -l 0.1 -p PAGE_FAULT.ALL -t '^sleep$'"
	status_is 71
	run vm pmcstat -q --csv -l 0.1 -p PAGE_FAULT.ALL -t "$bob"
	status_is 0
	[[ ${lines[-1]} =~ ^[0-9.]+,0$ ]]
	run as bob "pmcstat -q -l 0.1 -p PAGE_FAULT.ALL -t $bob"
	status_is 0
	vm kill "$bob"
}

@test "system scope and administration need privilege" {
	run as alice 'pmcstat -l 0.1 -s CPU_CLOCK'
	status_is 71
	[ "${#lines[@]}" -eq 1 ]
	has 'pmcstat: ERROR: Cannot allocate system-mode pmc with specification "CPU_CLOCK": '
	has "[Operation not permitted]"
	run as alice 'pmccontrol -c 0 -d 3'
	[ "$status" -ne 0 ]
	has "not permitted"
	run as alice 'pmccontrol -l'
	status_is 0
	run vm_sh 'pmccontrol -c 0 -d 3 && pmccontrol -l'
	status_is 0
	has " 3  SOFT3            SOFT   DISABLED"
	vm pmccontrol -c 0 -e 3
}

@test "security.bsd.unprivileged_syspmcs opens system counting to everybody" {
	vm pmccontrol --tunable security.bsd.unprivileged_syspmcs=1
	run as alice 'pmcstat --csv -C -c 0 -s CPU_CLOCK -l 0.1'
	status_is 0
	[[ ${lines[-1]} =~ ^[0-9.]+,[1-9][0-9]*$ ]]
	vm pmccontrol --tunable security.bsd.unprivileged_syspmcs=0
}

@test "a set-user-id program is not for the one who started it to measure" {
	vm_sh 'cp /usr/bin/load /tmp/sleep && chown bob /tmp/sleep && chmod 4755 /tmp/sleep'
	other=$(sleeper alice "/tmp/sleep -w")
	run vm_sh 'grep ^Uid: /proc/$1/status' "$other"
	[[ $output =~ ^Uid:.1000.1001. ]]
	run as alice "pmcstat -l 0.1 -p PAGE_FAULT.ALL -t $other"
	status_is 71
	[ "${#lines[@]}" -eq 1 ]
	has "[Operation not permitted]"
	vm kill "$other"
}

@test "no daemon: an unprivileged user is told how to start it" {
	vm_daemon_stop
	run as alice 'pmcstat -p TASK_CLOCK true'
	status_is 69
	[ "${#lines[@]}" -eq 1 ]
	has "pmcstat: ERROR: Initialization of the pmc(3) library failed: "
	has "pmcbpfd"
	run as alice 'pmccontrol -l'
	[ "$status" -ne 0 ]
	[ "${#lines[@]}" -eq 1 ]
	has "pmcbpfd"
}

@test "no daemon: root gets a private one for the command's time" {
	run vm pmcstat -q --csv -C -p PAGE_FAULT.ALL true
	status_is 0
	[[ ${lines[-1]} =~ ^[0-9.]+,[1-9][0-9]*$ ]]
	vm_until 60 '! pidof pmcbpfd'
	run vm ls /run/pmcbpf/pmc.sock
	[ "$status" -ne 0 ]
}

@test "the kernel has not complained" {
	vm_clean_log
}
