#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What the log of a user without privilege may not have: names and addresses of programs with more rights than he
# has, which his own processes start, and addresses of the kernel.

load helpers

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
	start_daemon "${ROOM[@]}"
	mkdir -m 777 open
	B=$(public_build)
}

teardown() {
	local name
	: >open/enough
	[ -z "${HOG:-}" ] || kill "$HOG" 2>/dev/null || true
	for name in "${!SYSCTL[@]}"; do echo "${SYSCTL[$name]}" >"/proc/sys/$name"; done
	part_all
	rest_all
	stop_daemon KILL || true
}

# set_to NAME VALUE: changes a kernel setting for the duration of the test.
declare -gA SYSCTL
set_to() {
	[ -n "${SYSCTL[$1]:-}" ] || SYSCTL[$1]=$(<"/proc/sys/$1")
	echo "$2" >"/proc/sys/$1" || skip "/proc/sys/$1 cannot be set here"
}

# as_user COMMAND...: as user nobody, who may gain rights by an exec.
as_user() { "${nobody[@]}" env PATH="$B/bin:$B/tests:$PATH" LD_LIBRARY_PATH="$B/lib" "$@"; }

# with_caps CAPS COMMAND...: as user nobody with these capabilities.
with_caps() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$1" --ambient-caps "$1" --bounding-set "$1" \
		env PATH="$B/bin:$B/tests:$PATH" LD_LIBRARY_PATH="$B/lib" "${@:2}"
}

# rounds NAME N: open/NAME runs the commands of standard input N times, with the round's number in i.
rounds() {
	cat >"open/$1" <<-END
		cd open
		self='/proc/self/stat /proc/self/maps'
		i=0
		while [ \$i -lt $2 ]; do
			i=\$((i + 1))
			$(cat)
		done
	END
}

# The only kernel address in the logs of users who may not see kernel addresses.
HIDDEN=0x8000000000000000

# in_kernel AS...: samples, all in the kernel, of a load that switches, into ./log and ./text.
in_kernel() {
	"$@" pmcstat -q -n 1 -P CONTEXT_SWITCHES -O open/log load switches=300
	mv open/log log
	pmcstat -q -R log >text
	# Less the switches that this kernel hides from perf.
	[ "$(grep -c '^callchain .* s$' text)" -ge 200 ]
}

# ./log has nothing of the kernel but the placeholder address.
hides_kernel() {
	refute python3 "$BATS_TEST_DIRNAME/leaks.py" log
	refute grep 'map-in *-1 ' text
	[ "$(grep -c "^\.\.\. *$HIDDEN\$" text)" -eq "$(grep -c '^callchain .* s$' text)" ]
}

# shows_kernel: addresses only; names_kernel: with their names.
shows_kernel() {
	grep -q '^\.\.\. *0xffff' text
	refute grep 'map-in *-1 ' text
	refute grep "$HIDDEN" text
}
names_kernel() {
	grep -q '^\.\.\. *0xffff' text
	grep -q 'map-in *-1 .*"\[kernel.kallsyms\]schedule"' text
	refute grep "$HIDDEN" text
}

# secret NAME PROGRAM [MODE [OWNER]]: a copy in ./open, set-id by default.
secret() {
	cp "$(readlink -f "$(command -v "$2")")" "open/$1"
	chown "${4:-65533}" "open/$1"
	chmod "${3:-4755}" "open/$1"
}

# leaks SELF...: the addresses and paths of these processes that ./text has.
leaks() { python3 "$BATS_TEST_DIRNAME/leaks.py" -p "$@" <text; }

# The number of processes that have reported their addresses.
said() { cat open/maps.* | grep -c '\[vdso\]'; }

# Each reports its address: as a fork's exec and as a vfork's, by capabilities, unreadable, before it runs an
# ordinary program with all rights, and in its descendants.
secrets() {
	secret cat-setid cat
	as_user open/cat-setid /proc/self/status >status
	grep -q 'Uid:	65534	65533' status || skip "this file system knows no set-id programs"
	secret cat-cap cat 755 0
	setcap cap_net_raw+ep open/cat-cap 2>/dev/null || chmod 4755 open/cat-cap
	secret cat-secret cat 711 0
	secret setpriv-setid setpriv 4755 0
	secret dash-setid dash
	cat >open/script <<-'END'
		cd open
		self='/proc/self/stat /proc/self/maps'
		./cat-setid $self >maps.fork
		vexec ./cat-setid $self >maps.vfork
		./cat-cap $self >maps.cap
		vexec ./cat-secret $self >maps.secret
		./setpriv-setid --reuid 0 --clear-groups cat $self >maps.ordinary
		./dash-setid -p -c "cat $self; :" >maps.child
		./dash-setid -p -c "(cat $self; :) & wait" >maps.grandchild
		(exec ./cat-setid $self) >maps.exec
	END
	names='cat-setid|cat-cap|cat-secret|setpriv-setid|dash-setid'
}

# ./log has none of their addresses, and is complete to its end.
keeps_secrets() {
	pmcstat -q -R log >text
	refute leaks open/maps.*
	refute grep -E "$names" text
	[[ "$(tail -n 1 text)" == closelog* ]]
}

# … and it has the script's own process, and each of its children up to its exec.
has_the_rest() {
	grep -q '^exec .*dash"' text
	[ "$(grep -c '^fork' text)" -ge 8 ]
	lost_slices text
}

@test "set-id programs that a target starts: their user's log has no address or name of theirs" {
	secrets
	local version
	for version in 10 3; do
		pmccontrol --tunable kern.hwpmc.logversion=$version
		as_user pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O open/log dash open/script
		mv open/log log
		[ "$(said)" -eq 8 ]
		keeps_secrets
		has_the_rest
		# Counting PMCs log execs, too.
		as_user pmcstat -q -d -E -p PAGE_FAULT.ALL -O open/log dash open/script
		mv open/log log
		keeps_secrets
		has_the_rest
	done
}

@test "set-id programs that a target starts: the super-user's log has all of their addresses" {
	secrets
	chown -R 0 open
	chmod 4755 open/cat-setid open/dash-setid
	chown 65533 open/cat-setid open/dash-setid
	# Root gains no rights by the others, but follows these.
	pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O log dash open/script
	pmcstat -q -R log >text
	[ "$(grep -c '^exec .*cat-setid"' text)" -eq 3 ]
	[ "$(grep -c '^map-in .*cat-setid"' text)" -ge 3 ]
	leaks open/maps.fork
	leaks open/maps.exec
}

@test "set-id programs whose events the kernel keeps: no sample of theirs either" {
	set_to fs/suid_dumpable 1
	secrets
	# At the same addresses in every process.
	secret deep-setid deep
	cat >open/spin <<-'END'
		cd open
		./deep-setid 3 1 500 50
		vexec ./deep-setid 3 1 500 50
		./dash-setid -p -c '../deep 3 1 500 50; :'
	END
	cp "$BUILD/tests/deep" deep
	as_user pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -n 1 -P CONTEXT_SWITCHES -O open/log dash open/spin
	pmcstat -q -R open/log >text
	refute grep deep text
	refute grep '^\.\.\. *0x4[0-9a-f]\{5\}$' text
	pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O log dash open/spin
	pmcstat -q -R log >text
	grep -q '^\.\.\. *0x4[0-9a-f]\{5\}$' text
}

@test "hundreds of set-id programs, while the daemon is late repeatedly" {
	secrets
	rounds script 150 <<-'END'
		./cat-setid $self >maps.a$i & ./cat-secret $self >maps.b$i &
		vexec /bin/true
		wait
	END
	as_user pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O open/log dash open/script &
	local owner=$!
	while kill -0 $owner 2>/dev/null; do
		kill -STOP "$DAEMON_PID"
		sleep 0.03
		kill -CONT "$DAEMON_PID"
		sleep 0.01
	done
	wait $owner
	mv open/log log
	[ "$(said)" -eq 300 ]
	keeps_secrets
	# The whole machine may meanwhile produce more than the kernel buffers for so late a reader.
	if ! grep -q '^drop' text; then
		[ "$(grep -c '^exec .*vexec"' text)" -eq 150 ]
		[ "$(grep -c '^exec .*true"' text)" -eq 150 ]
	fi
}

@test "an exec that takes long: its mappings are logged after the kernel's decision, for users and root" {
	command -v chrt >/dev/null || skip "chrt is not installed"
	secrets
	chrt -f 50 taskset -c 0 python3 -c '
import time
while True:
    end = time.monotonic() + 0.06
    while time.monotonic() < end:
        pass
    time.sleep(0.0024)' 3>&- &
	HOG=$!
	# shellcheck disable=SC2016 # the other shell expands it
	as_user pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O open/log taskset -c 0 dash -c \
		'for i in $(seq 100); do /bin/true; open/cat-setid /proc/self/stat /proc/self/maps; done' >maps.all
	kill "$HOG"
	pmcstat -q -R open/log >text
	awk '$1 == "exec" { n++ } $1 == "exec" && $NF == "\"\"" { bad++ }
		END { print n " execs, " bad + 0 " without a path"; exit n < 102 || bad }' text
	refute leaks maps.all
	refute grep cat-setid text
	run logcheck open/log
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "a set-id program that starts while its user attaches, or while his log begins" {
	secrets
	rounds loop 400 <<-'END'
		./cat-setid $self >maps.$i
	END
	"${nobody[@]}" dash open/loop 3>&- &
	local target=$!
	client a run_as_nobody
	touch open/log
	chmod 666 open/log
	ask a alloc 2 15 0x20004 any 2 setcount 1
	while kill -0 $target 2>/dev/null; do
		ask a log "$PWD/open/log" attach $target start detach $target stop endlog
		pmcstat -q -R open/log >>text
		ask a attach $target start log "$PWD/open/log" stop endlog detach $target
		pmcstat -q -R open/log >>text
	done
	part a
	[ "$(said)" -eq 400 ]
	refute leaks open/maps.*
	refute grep cat-setid text
	grep -q dash text
}

@test "set-id programs that start while the mappings of their processes are read" {
	secrets
	cat >open/many <<-'END'
		cd open
		n=0
		while [ ! -e enough ]; do
			i=0
			while [ $i -lt 60 ]; do
				i=$((i + 1)) n=$((n + 1))
				(while [ $n -gt 0 ] && [ ! -e round.$((n % 7)) ]; do :; done
				exec ./cat-setid /proc/self/stat /proc/self/maps >maps.$n) &
			done
			for r in 0 1 2 3 4 5 6; do : >round.$r; done
			wait
			rm round.*
		done
	END
	"${nobody[@]}" dash open/many 3>&- &
	local target=$! i
	client a run_as_nobody
	touch open/log
	chmod 666 open/log
	ask a alloc 2 15 0x20004 any 2 setcount 1 log "$PWD/open/log"
	for ((i = 0; i < 150; i++)); do
		ask a attach $target detach $target
	done
	expect a 'endlog 0' endlog
	part a
	: >open/enough
	wait $target
	pmcstat -q -R open/log >text
	echo "$(grep -c '^attach' text) attachments, $(grep -c '^map-in' text) mappings, $(said) programs"
	[ "$(grep -c '^attach' text)" -ge 500 ]
	refute leaks open/maps.*
	refute grep cat-setid text
}

# grow N: the body of a script with so many children, and then others that become set-id programs, until
# ./open/enough.
grow() {
	cat <<-END
		i=0
		while [ \$i -lt $1 ]; do
			i=\$((i + 1))
			sleep 600 &
			all="\$all \$!"
		done
		: >ready
		while [ ! -e enough ]; do ./cat-setid /dev/null; echo >>runs; done
		kill \$all
	END
}

# More than that number have run.
have_run() { [ -e open/runs ] && [ "$(wc -l <open/runs)" -gt "$1" ]; }

@test "a set-id program that starts while a large tree is detached, or its PMC released" {
	secrets
	{ echo cd open; grow 1200; } >open/tree
	"${nobody[@]}" dash open/tree 3>&- &
	local target=$! i
	wait_for test -e open/ready
	client a run_as_nobody
	touch open/log
	chmod 666 open/log
	# Counts, with descendants.
	ask a log "$PWD/open/log"
	for ((i = 0; i < 20; i++)); do
		expect a 'detach 0' alloc 3 15 0x20004 any 2 attach $target start detach $target
		expect a 'release 0' stop attach $target start release
	done
	expect a 'endlog 0' endlog
	part a
	: >open/enough
	wait $target
	pmcstat -q -R open/log >text
	[ "$(grep -c '^attach' text)" -ge 40000 ]
	grep -q '^detach' text
	refute grep cat-setid text
}

@test "a set-id program that starts in a child beyond the limit of targets" {
	secrets
	pmccontrol --tunable user.share=1
	{ echo 'cd open; while [ ! -e go ]; do sleep 0.05; done'; grow 800; } >open/tree
	"${nobody[@]}" dash open/tree 3>&- &
	local target=$!
	client a run_as_nobody
	touch open/log
	chmod 666 open/log
	expect a 'start 0' alloc 3 15 0x20004 any 2 log "$PWD/open/log" attach $target start
	: >open/go
	wait_for test -e open/ready
	wait_for have_run 100
	expect a 'stop 0' stop
	expect a 'endlog 0' endlog
	part a
	: >open/enough
	wait $target
	pmcstat -q -R open/log >text
	[ "$(grep -c '^fork' text)" -ge 800 ]
	[ "$(grep -c '^exec .*sleep"' text)" -ge 500 ]
	grep -q '^drop' text
	refute grep cat-setid text
}

# --- the kernel --------------------------------------------------------------------------------------------------

@test "kernel addresses: a user's log has addresses and names where perf and /proc/kallsyms show them to all" {
	local version
	for version in 10 3; do
		pmccontrol --tunable kern.hwpmc.logversion=$version
		set_to kernel/perf_event_paranoid 1
		set_to kernel/kptr_restrict 0
		in_kernel as_user
		names_kernel
		set_to kernel/kptr_restrict 1
		in_kernel as_user
		hides_kernel
		set_to kernel/kptr_restrict 2
		in_kernel as_user
		hides_kernel
		set_to kernel/perf_event_paranoid 2
		in_kernel as_user
		hides_kernel
		set_to kernel/kptr_restrict 0
		in_kernel as_user
		hides_kernel
	done
}

@test "kernel addresses: one capability shows them, another one names them, kptr_restrict=2 hides the names from all" {
	with_caps -all,+cap_38 true || skip "this kernel has no CAP_PERFMON"
	set_to kernel/perf_event_paranoid 2
	set_to kernel/kptr_restrict 1
	in_kernel with_caps -all,+cap_38
	shows_kernel
	in_kernel with_caps -all,+cap_38,+syslog
	names_kernel
	in_kernel with_caps -all,+syslog
	hides_kernel
	in_kernel env
	names_kernel
	set_to kernel/kptr_restrict 2
	in_kernel with_caps -all,+cap_38,+syslog
	shows_kernel
	in_kernel env
	shows_kernel
}

@test "kernel addresses: the settings at the PMC's allocation apply" {
	set_to kernel/perf_event_paranoid 1
	set_to kernel/kptr_restrict 0
	touch open/log open/next
	chmod 666 open/log open/next
	waits_to_become "${nobody[@]}" -- "$B/tests/load" -w switches=300
	go
	client a run_as_nobody
	expect a "alloc 0 *" alloc 2 15 0x2000b any 0
	set_to kernel/perf_event_paranoid 2
	expect a "start 0" setcount 1 log "$PWD/open/log" attach "$TARGET" start
	work_of_target
	expect a "endlog 0" stop endlog
	kill -KILL "$TARGET"
	pmcstat -q -R open/log >text
	names_kernel
	# The next one is another PMC.
	waits_to_become "${nobody[@]}" -- "$B/tests/load" -w switches=300
	go
	expect a "start 0" alloc 2 15 0x2000b any 0 setcount 1 log "$PWD/open/next" attach "$TARGET" start
	work_of_target
	expect a "endlog 0" stop endlog
	kill -KILL "$TARGET"
	mv open/next log
	pmcstat -q -R log >text
	hides_kernel
	part a
}

@test "kernel addresses: callers in user space stay, and so does the number of samples" {
	set_to kernel/perf_event_paranoid 2
	as_user pmcstat -q -E -n 1 -U -P CONTEXT_SWITCHES -p CONTEXT_SWITCHES -O open/log \
		deep 3 1 1 220
	mv open/log log
	pmcstat -q -R log >text
	refute python3 "$BATS_TEST_DIRNAME/leaks.py" log
	# Each nap is one switch, unless its timer is over first; switches of the process's end are in neither or both.
	# A slice that the log lacks, because this kernel hid a switch, takes its switches out of the count, but not out
	# of the samples.
	local count samples lost
	count=$(awk '$1 == "exitval" { print $4 }' text)
	samples=$(grep -c "^\.\.\. *$HIDDEN\$" text)
	echo "$count switches, $samples samples"
	lost_slices text
	[ "$lost" -gt 0 ] || [ "$count" -ge 200 ]
	[ "$lost" -gt 0 ] || [ "$samples" -le $((count + 5)) ]
	[ "$samples" -ge $((count - 5)) ]
	[ "$samples" -ge 200 ]
	# leaf and outer, which follows the kernel's placeholder address.
	[ "$(grep -A 3 "^\.\.\. *$HIDDEN\$" text | grep -c '^\.\.\. *0x40[0-9a-f]\{4\}$')" -ge 200 ]
}

@test "kernel addresses: nor are they shown with one PC per sample, or by any event that can be sampled" {
	set_to kernel/perf_event_paranoid 2
	as_user pmcstat -q -N -n 1 -P CONTEXT_SWITCHES -n 1 -P PAGE_FAULT.ALL -n 20000 -P CPU_CLOCK -n 20000 -P TASK_CLOCK \
		-n 1 -P CPU_MIGRATIONS -O open/log load switches=300 reads=300 pages=300 spins=10000000
	mv open/log log
	pmcstat -q -R log >text
	hides_kernel
}

@test "kernel addresses: a jump to a guessed kernel address does not reveal the name of the function there" {
	set_to kernel/perf_event_paranoid 2
	local at
	at=$(awk '$3 == "schedule" { print $1 }' /proc/kallsyms)
	as_user pmcstat -q -n 1 -P PAGE_FAULT.ALL -O open/log vexec --jump "$at" || true
	mv open/log log
	pmcstat -q -R log >text
	grep -q "$HIDDEN" text
	hides_kernel
}

@test "reports of a log without kernel addresses call all of it [kernel]" {
	set_to kernel/perf_event_paranoid 2
	as_user pmcstat -q -n 1 -U -P CONTEXT_SWITCHES -O open/log deep 3 1 1 200
	pmc report --csv=csv open/log
	grep -q '^CONTEXT_SWITCHES,deep,[0-9]*,\[kernel\],\[kernel\],' csv
	pmcstat -R open/log -G - >graph
	grep -q '\[kernel\] @ \[kernel\]' graph
	pmc report --folded=folded open/log
	grep -q 'deep;.*;main;outer;.*;\[kernel\]_\[k\] [0-9]*$' folded
	# No table of names is read, whichever is given.
	pmc report -k /boot --csv=same open/log
	cmp csv same
	run pmcannotate open/log "$BUILD/tests/deep"
	[[ $output == *'most lie in "[kernel]"'* ]]
}
