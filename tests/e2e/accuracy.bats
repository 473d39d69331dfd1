#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What reports say of a program that knows where its time went: shares, names, and that nothing is
# lost where there are none.

load helpers
HOT="$BUILD/tests/hot $BUILD/tests/hot_library.so"

# Room for all samples, should the daemon get no time: what is lost at once is not everybody's share.
setup() { in_tmpdir_with_daemon "${ROOM[@]}"; }

teardown() {
	[ -z "${PROGRAM:-}" ] || rm -f "/tmp/perf-$PROGRAM.map"
	[ -z "${GATE:-}" ] || exec {GATE}>&-
	stop_daemon KILL || true
}

# table [OPTION...]: the report of ./log, a row for each function, in ./table; ./warnings say what it lacks
table() { pmcstat report --csv=table "$@" log 2>warnings; }

# The pid of the program in ./log.
program() { pmcstat -q -R log | awk '$1 == "exec" && /\/hot"/ { print $3; exit }'; }

# object FUNCTION - where the table has it
object() { awk -F, -v f="$1" '$2 == "hot" && $4 == f { print $5 }' table; }

# All samples of the log are some row's own.
complete() {
	local samples
	samples=$(pmcstat -q -R log | grep -c '^callchain')
	[ "$samples" -ge 1000 ]
	[ "$(awk -F, 'NR > 1 { n += $6 } END { print n }' table)" -eq "$samples" ]
}

@test "shares are what the program's own clocks say: plain, inlined, recursive, loaded, made and threaded code" {
	# shellcheck disable=SC2086 # two words
	pmcstat -q -n 100000 -P CPU_CLOCK -O log $HOT 600 >figures
	PROGRAM=$(program)
	table
	complete
	python3 "$BATS_TEST_DIRNAME/accuracy.py" figures <table
	[ "$(object plain)" = "$BUILD/tests/hot" ]
	[ "$(object tight)" = "$BUILD/tests/hot" ]
	[ "$(object in_library)" = "$BUILD/tests/hot_library.so" ]
	[ "$(object jit_code)" = "/tmp/perf-$PROGRAM.map" ]
	# Where none of these files is: addresses and objects, of as many samples.
	mkdir elsewhere
	table -r elsewhere
	complete
	grep "no names for .*$BUILD/tests/hot: No such file" warnings
	[ -z "$(object plain)$(object jit_code)" ]
	awk -F, -v hot="$BUILD/tests/hot" '$5 == hot && $4 ~ /^0x[0-9a-f]+$/ { n += $6 } END { exit !(n > 1000) }' table
}

@test "a process in a root and a pid space of its own is resolved through them, while it lives" {
	mkfifo gate said
	# Its /tmp has the program and the map of the code that it makes; here there is neither.
	cat >contained <<-'SH'
	mount -t tmpfs tmpfs /mnt
	cp "$1/hot" "$1/hot_library.so" /mnt
	mount --move /mnt /tmp
	exec /tmp/hot /tmp/hot_library.so 600 nap
	SH
	exec {GATE}<>gate
	pmcstat -q -d -n 100000 -w 0.2 -P CPU_CLOCK -O log unshare -m -p -f --kill-child \
		sh "$PWD/contained" "$BUILD/tests" <gate >said 2>errors 3>&- {GATE}>&- &
	recorder=$!
	while read -r line; do
		echo "$line" >>figures
		[[ "$line" != threaded* ]] || break
	done <said
	# Of a live log there is what has been written: all of the work, once there is a fork behind it.
	worked() { pmcstat -q -R log | awk '/^exec .*\/hot"/ { hot = $3 } /^fork/ && $2 == hot { n++ } END { exit !n }'; }
	wait_for worked
	table
	python3 "$BATS_TEST_DIRNAME/accuracy.py" figures <table
	[ "$(object plain)" = /tmp/hot ]
	[[ "$(object jit_code)" == /tmp/perf-*.map ]]
	exec {GATE}>&-
	GATE=
	wait "$recorder"
	table
	complete
	grep 'no names for .* /tmp/hot: No such file' warnings
	[ -z "$(object plain)$(object jit_code)" ]
}
