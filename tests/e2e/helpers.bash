# SPDX-License-Identifier: BSD-2-Clause
# What the bats files of tests/e2e share: a daemon of the test's own, and waiting for conditions.
# shellcheck shell=bash

# The build under test; `make check-e2e` sets it.
BUILD=${BUILD:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)/build}
export BUILD
export PATH="$BUILD/bin:$BUILD/sbin:$BUILD/tests:$PATH"
export LD_LIBRARY_PATH="$BUILD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

need_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)"
}

# wait_for COMMAND...: until it succeeds, at most 10 seconds.
wait_for() {
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.05
	done
	echo "waited in vain for: $*" >&2
	return 1
}

process_gone() { ! kill -0 "$1" 2>/dev/null; }

# A folder that everybody may enter.
open_tmpdir() {
	local dir=$BATS_TEST_TMPDIR
	while [ "$dir" != / ] && [ "$dir" != /tmp ]; do
		chmod a+x "$dir"
		dir=$(dirname "$dir")
	done
}

daemon_answers() { wireclient hello 2>/dev/null | grep -q '^hello 0'; }

# start_daemon [OPTION]...: in the foreground mode, on a socket of its own, until it answers.
# Sets PMCBPF_SOCKET, DAEMON_PID, DAEMON_LOG.
start_daemon() {
	open_tmpdir
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/pmc.sock
	DAEMON_LOG=$BATS_TEST_TMPDIR/pmcbpfd.log
	pmcbpfd -f -s "$PMCBPF_SOCKET" "$@" >>"$DAEMON_LOG" 2>&1 3>&- &
	DAEMON_PID=$!
	local i
	for ((i = 0; i < 400; i++)); do
		daemon_answers && return 0
		process_gone "$DAEMON_PID" && break
		sleep 0.05
	done
	echo "pmcbpfd did not start:" >&2
	cat "$DAEMON_LOG" >&2
	return 1
}

# stop_daemon [SIGNAL]: and wait for its end; the status is the daemon's.
stop_daemon() {
	local status=0
	[ -n "${DAEMON_PID:-}" ] || return 0
	kill -"${1:-TERM}" "$DAEMON_PID" 2>/dev/null || true
	wait "$DAEMON_PID" || status=$?
	DAEMON_PID=
	return $status
}

# A copy of the build where everybody may read it, made only if the build itself is out of reach.
public_build() {
	if setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$BUILD/tests/wireclient"; then
		echo "$BUILD"
		return
	fi
	local copy=$BATS_TEST_TMPDIR/build
	if [ ! -d "$copy" ]; then
		open_tmpdir
		mkdir -p "$copy/tests"
		cp -a "$BUILD/lib" "$BUILD/sbin" "$copy"
		[ ! -d "$BUILD/bin" ] || cp -a "$BUILD/bin" "$copy"
		cp "$BUILD/tests/wireclient" "$copy/tests"
		chmod -R a+rX "$copy"
	fi
	echo "$copy"
}

# run_as_nobody COMMAND...: without any privilege.
run_as_nobody() {
	local b
	b=$(public_build)
	PATH="$b/bin:$b/sbin:$b/tests:$PATH" LD_LIBRARY_PATH="$b/lib" \
		setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
		--no-new-privs "$@"
}

# No row of CPU 0 is in use.
rows_free() { [ "$(wireclient hello rows 0 | tail -n 1)" = "rows 0" ]; }

# refute COMMAND...: fails if it succeeds; a plain "! command" never fails a bats test.
refute() {
	if "$@"; then
		echo "unexpected success of: $*" >&2
		return 1
	fi
}

# The daemon has no connection: what is open is its own.
daemon_idle() {
	local fd n=0
	for fd in "/proc/$DAEMON_PID/fd"/*; do
		[[ "$(readlink "$fd")" != socket:* ]] || n=$((n + 1))
	done
	[ $n -eq 1 ] && daemon_rests
}

# All its threads wait for something to do: the one that makes spare maps is done, not in the kernel.
daemon_rests() {
	local stat
	for stat in "/proc/$DAEMON_PID/task"/*/stat; do
		[[ "$(<"$stat")" == *") S "* ]] || return 1
	done
}

# How many descriptors the daemon has open, and waiting for a number.
daemon_fds() {
	local fds=("/proc/$DAEMON_PID/fd"/*)
	echo "${#fds[@]}"
}
fds_are() { [ "$(daemon_fds)" -eq "$1" ]; }
