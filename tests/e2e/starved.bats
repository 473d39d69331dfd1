#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Execs that take long, because a program in real time leaves them little of their CPU.  Whatever else runs there starves,
# too, so this file runs alone.

load helpers
load secrets

# hog SECONDS: keeps CPU 0 for so long, then leaves it for 2.4 ms, again and again
hog() {
	command -v chrt >/dev/null || skip "chrt is not installed"
	chrt -f 50 taskset -c 0 python3 -c '
import sys, time
while True:
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        pass
    time.sleep(0.0024)' "$1" 3>&- &
	HOG=$!
}

# execs_have_paths N: there are so many execs in "text", each with its program's path
execs_have_paths() {
	awk -v least="$1" '$1 == "exec" { n++ } $1 == "exec" && $NF == "\"\"" { bad++ }
		END { print n " execs, " bad + 0 " without a path"; exit n < least || bad }' text
}

@test "an exec whose process gets no CPU for long, before its first mapping, has its path" {
	# More than a kernel reserves for programs like ours, which it would release at once.
	hog 0.04
	pmcstat -q -d -n 1 -P CLOCK.HARD -O log taskset -c 0 sh -c 'for i in $(seq 1000); do /bin/true; done'
	kill "$HOG"
	pmcstat -q -R log >text
	execs_have_paths 1003
}

@test "an exec that takes long: its mappings are logged after the kernel's decision, for users and root" {
	secrets
	hog 0.06
	# shellcheck disable=SC2016 # the other shell expands it
	as_user pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O open/log taskset -c 0 dash -c \
		'for i in $(seq 100); do /bin/true; open/cat-setid /proc/self/stat /proc/self/maps; done' >maps.all
	kill "$HOG"
	pmcstat -q -R open/log >text
	execs_have_paths 102
	refute leaks maps.all
	refute grep cat-setid text
	run logcheck open/log
	echo "$output"
	[ "$status" -eq 0 ]
}
