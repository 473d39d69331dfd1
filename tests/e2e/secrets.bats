#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What the log of a user without privilege may not have: names and addresses of programs with more rights than he
# has, which his own processes start.

load helpers
load secrets

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

@test "hundreds of set-id programs, while the daemon is late repeatedly" {
	secrets
	rounds script 150 <<-'END'
		./cat-setid $self >maps.a$i & ./cat-secret $self >maps.b$i &
		vexec /bin/true
		wait
	END
	# Programs that sample are loaded now: the kernel does not finish that for a daemon that it stops all the time.
	pmcstat -q -P PAGE_FAULT.ALL -O first true
	as_user pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O open/log dash open/script &
	local owner=$!
	while kill -0 $owner 2>/dev/null; do
		suspend_daemon
		sleep 0.03
		resume_daemon
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
