# SPDX-License-Identifier: BSD-2-Clause
# What the bats files of tests/e2e share: a daemon of the test's own, and waiting for conditions.
# shellcheck shell=bash

# The build under test; `make check-e2e` sets it.
BUILD=${BUILD:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)/build}
export BUILD
export PATH="$BUILD/bin:$BUILD/sbin:$BUILD/tests:$PATH"
# Messages and numbers in the C locale, as tests compare them.
unset "${!LC_@}" LANG LANGUAGE
export LD_LIBRARY_PATH="$BUILD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# Shells that tests start in a namespace source this as well.
! declare -F bats_require_minimum_version >/dev/null || bats_require_minimum_version 1.5.0

# The default: each test has a daemon of its own, and leaves nothing behind.
setup() {
	need_root
	start_daemon
}

teardown() {
	[ -z "${TARGET:-}" ] || kill -KILL "$TARGET" 2>/dev/null || true
	part_all
	rest_all
	stop_daemon KILL || true
}

need_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)"
}

# As every distribution does.
mount_tracefs() { [ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing; }

# Some hypervisors never report a breakpoint.  The registers are the machine's, so only one test at a time has them, until
# it ends.  For use after start_daemon.
have_breakpoints() {
	local refusals
	exec {BREAKPOINTS}>/tmp/pmcbpf-test.breakpoints
	flock "$BREAKPOINTS"
	breakpoints_listed && return
	# Another test may have had all of them when this daemon started.
	refusals=$(grep -c 'no breakpoints: ' "$DAEMON_LOG")
	kill -HUP "$DAEMON_PID"
	looked_again() { breakpoints_listed || [ "$(grep -c 'no breakpoints: ' "$DAEMON_LOG")" -gt "$refusals" ]; }
	wait_for looked_again
	breakpoints_listed
}
breakpoints_listed() { pmccontrol -l | grep BREAKPOINT >/dev/null; }
need_breakpoints() { have_breakpoints || skip "the daemon found no breakpoints on this machine: pmccontrol --doctor"; }

# A kernel whose system calls are trace events.
need_calls() {
	need_root
	mount_tracefs
	[ -r /sys/kernel/tracing/events/syscalls/sys_enter_getpid/id ] ||
		skip "this kernel's system calls are no trace events (CONFIG_FTRACE_SYSCALLS)"
}

# The requirements of tests/e2e/under_unit.py.
need_unit() {
	command -v systemd-analyze >/dev/null || skip "systemd is not installed"
	python3 -c 'import ctypes; ctypes.CDLL("libseccomp.so.2")' 2>/dev/null || skip "libseccomp is not installed"
}

# Any expected event has occurred after so many seconds, on the slowest machine.
PATIENCE=${PATIENCE:-60}

# wait_for COMMAND...: until it succeeds.
wait_for() {
	local end=$((SECONDS + PATIENCE))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "waited in vain for: $*" >&2; return 1; }
		sleep 0.05
	done
}

# status_is CODE: shows the output if the status differs.
# shellcheck disable=SC2154 # bats sets status, output and stderr
status_is() {
	[ "$status" -eq "$1" ] || { echo "exit $status, not $1: $output $stderr" >&2; return 1; }
}

# The process has ended; without a reaper for orphans it stays a zombie.
process_gone() { ! kill -0 "$1" 2>/dev/null || [[ "$(cat "/proc/$1/stat" 2>/dev/null)" == *") Z "* ]]; }

# The process accepts SIGINT by now; before that a background process ignores it.
takes_int() { (($(sed -n 's/^SigBlk:\t/0x/p' "/proc/$1/status") & 1 << 1)); }

# A folder that all users may enter.
open_tmpdir() {
	local dir=$BATS_TEST_TMPDIR
	while [ "$dir" != / ] && [ "$dir" != /tmp ]; do
		chmod a+x "$dir"
		dir=$(dirname "$dir")
	done
}

daemon_answers() { wireclient hello 2>/dev/null | grep -q '^hello 0'; }

# The daemon has the tables of all files that have been mapped: with debugging of sampling=read, and after its loop has
# turned twice.
files_are_read() {
	daemon_answers && daemon_answers &&
		[ "$(grep -o '[0-9]* files wait' "$DAEMON_LOG" | tail -n 1)" = '0 files wait' ]
}

# read_files: the daemon has the tables of the files that are mapped now
read_files() {
	# What the kernel's programs have asked for is read before the second request.
	pmccontrol -l >/dev/null
	pmccontrol -l >/dev/null
	wait_for files_are_read
}

# learn COMMAND...: the daemon has the tables of what it maps
learn() {
	pmcstat -q -d -P CLOCK.HARD -O learned "$@" >/dev/null
	read_files
}

# interpreters: of Python, in versions whose frames are walked
interpreters() {
	local path
	for path in /usr/bin/python3.1[1-3] /usr/local/bin/python3.1[1-3] "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-3].*/bin/python3; do
		[ ! -x "$path" ] || echo "$path"
	done
}

# The command that starts a daemon on PMCBPF_SOCKET.  PMCBPF_UNIT names a unit file whose sandbox it gets; there it has a socket in
# a runtime directory of its own, because the unit shows it no other place to write to.
daemon_command() {
	COMMAND=(pmcbpfd -f -s "$PMCBPF_SOCKET")
	[ -n "${PMCBPF_UNIT:-}" ] || return 0
	need_unit
	UNIT_RUN=${UNIT_RUN:-$(mktemp -d /run/pmcbpf-test.XXXXXX)}
	chmod 755 "$UNIT_RUN"
	export PMCBPF_SOCKET=$UNIT_RUN/pmcbpf/pmc.sock
	COMMAND=(python3 "$BATS_TEST_DIRNAME/under_unit.py" "$PMCBPF_UNIT" "$BUILD/sbin" "$UNIT_RUN" -s "$PMCBPF_SOCKET")
}

# start_daemon [OPTION]...: in the foreground mode, on a socket of its own, until it answers.
# Sets PMCBPF_SOCKET, DAEMON_PID, DAEMON_LOG.
# shellcheck disable=SC2120 # tests in other files pass options
start_daemon() {
	mount_tracefs
	mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
	open_tmpdir
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/pmc.sock
	DAEMON_LOG=$BATS_TEST_TMPDIR/pmcbpfd.log
	daemon_command
	"${COMMAND[@]}" "$@" >>"$DAEMON_LOG" 2>&1 3>&- &
	DAEMON_PID=$!
	answers_or_ends() { daemon_answers || process_gone "$DAEMON_PID"; }
	wait_for answers_or_ends && daemon_answers && return 0
	echo "pmcbpfd did not start:" >&2
	cat "$DAEMON_LOG" >&2
	return 1
}

# daemon_ids prog|map: of the daemon's programs or maps, which the kernel never reuses; other daemons may run.
daemon_ids() { sed -n "s/^$1_id:[[:space:]]*//p" "/proc/$DAEMON_PID/fdinfo"/* | sort -un; }
# daemon_map NAME: the id of the map, of whose name the kernel has 15 characters
daemon_map() {
	local id
	for id in $(daemon_ids map); do
		! bpftool map show id "$id" | grep -q " name ${1:0:15} " || echo "$id"
	done
}
# daemon_has_program NAME
daemon_has_program() {
	local id
	for id in $(daemon_ids prog); do
		! bpftool prog show id "$id" | grep -q " name $1 " || return 0
	done
	return 1
}
program_loaded() { bpftool prog show id "$1"; }
programs_gone() {
	local id
	for id; do
		! program_loaded "$id" || return 1
	done
}

# in_tmpdir_with_daemon [OPTION]...: the setup of tests that leave files.
# shellcheck disable=SC2120 # tests in other files pass options
in_tmpdir_with_daemon() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
	start_daemon "$@"
}

# Where nothing may be lost, however long a hypervisor holds the daemon's threads up: room for all there will be.
# shellcheck disable=SC2034 # the tests use it
ROOM=(-o kern.hwpmc.nbuffers=1024 -o kern.hwpmc.nsamples=4096)

# stop_daemon [SIGNAL]: waits for its end and returns its status.
stop_daemon() {
	local status=0
	[ -n "${DAEMON_PID:-}" ] || return 0
	kill -"${1:-TERM}" "$DAEMON_PID" 2>/dev/null || true
	wait "$DAEMON_PID" || status=$?
	DAEMON_PID=
	[ -z "${UNIT_RUN:-}" ] || rm -rf "$UNIT_RUN"
	UNIT_RUN=
	return $status
}

# A copy of the build that all users can read, made only if the build itself is out of reach.
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

# The daemon has so many connections, usually none: then all of its descriptors are its own.
daemon_idle() {
	# The listening socket, in the daemon's network, and its end of each connection, in the client's.
	[ "$(awk -v path="$PMCBPF_SOCKET" '$8 == path && !seen[$7]++ { n++ } END { print n + 0 }' /proc/net/unix \
		"/proc/$DAEMON_PID/net/unix")" -eq $((1 + ${1:-0})) ] && daemon_rests
}

# All its threads wait for something to do, and for no time to pass: the one that makes spare maps is done, not in
# the kernel, and no program lingers. The fourth argument of what they wait in is the time, none or -1.
# One may be gone meanwhile: $(<file) would end the test then, whatever waits for this.
daemon_rests() {
	local task stat time
	for task in "/proc/$DAEMON_PID/task"/*; do
		read -r stat <"$task/stat" && [[ $stat == *") S "* ]] || return 1
		read -r _ _ _ _ time _ <"$task/syscall" || return 1
		[[ "$time" == 0x0 || "$time" == 0xffffffff* ]] || return 1
	done
}

# Checks the number of the daemon's open descriptors, or waits for a number.
daemon_fds() {
	local fds=("/proc/$DAEMON_PID/fd"/*)
	echo "${#fds[@]}"
}
fds_are() { [ "$(daemon_fds)" -eq "$1" ]; }

# client NAME [COMMAND...]: a raw client that takes orders; COMMAND runs it.  CLIENT[NAME] is its pid in its own
# namespace; CLIENT_JOB[NAME] is COMMAND's pid.
declare -gA CLIENT CLIENT_JOB CLIENT_IN CLIENT_OUT
client() {
	local name=$1 to=$BATS_TEST_TMPDIR/$1.to from=$BATS_TEST_TMPDIR/$1.from fd

	shift
	mkfifo "$to" "$from"
	"$@" wireclient hello orders <"$to" >"$from" 3>&- &
	CLIENT_JOB[$name]=$!
	exec {fd}>"$to"
	CLIENT_IN[$name]=$fd
	exec {fd}<"$from"
	CLIENT_OUT[$name]=$fd
	rm "$to" "$from"
	read -r -t $PATIENCE -u "$fd" reply && [[ $reply == "hello 0"* ]]
	ask "$name" who
	CLIENT[$name]=${reply#who }
}

# ask NAME WORD...: gives the order; its output is in $answer, the last line of that in $reply.
ask() {
	local line=

	answer='' reply=''
	printf '%s\n' "${*:2}" >&"${CLIENT_IN[$1]}"
	while IFS= read -r -t $PATIENCE -u "${CLIENT_OUT[$1]}" line && [ "$line" != . ]; do
		answer+=${answer:+$'\n'}$line
		reply=$line
	done
	[ "$line" = . ] || { echo "$1 does not answer to: ${*:2}; $answer" >&2; return 1; }
}

# unless_hidden ANSWER: skips the test if the kernel has hidden a context switch of a target and the daemon
# therefore reports the count as lost. unseen.bats tests that report itself; tests/vm/hidden runs the skipped test in a
# guest.
unless_hidden() {
	if [[ $1 == *"lost a time slice: this kernel has not reported a context switch"* ]]; then
		skip "the kernel hid a context switch: $1"
	fi
}

# lost_slices TEXT: sets $lost to the number of slices that the log lacks: 0, except where the kernel hides
# switches.
lost_slices() {
	lost=$(awk '$1 == "drop" { n += $2 } END { print n + 0 }' "$1")
	[ "$lost" -eq 0 ] || echo "the log lacks $lost slices"
	[ "$lost" -eq 0 ] || pmccontrol --doctor | grep -q '^limits  context switches: .* has hidden [1-9]'
}

# expect NAME PATTERN WORD...: matches the last line that these words print.
expect() {
	ask "$1" "${@:3}"
	# shellcheck disable=SC2053 # a pattern
	[[ $reply == $2 ]] || unless_hidden "$reply"
	# shellcheck disable=SC2053 # a pattern
	[[ $reply == $2 ]] || { printf '%s: %s\nanswer: %s\nwanted: %s\n' "$1" "${*:3}" "$answer" "$2" >&2
		return 1; }
}

# place FILE SYMBOL: the offset of the function in the file
place() {
	local address text offset
	address=$(nm "$1" | awk -v symbol="$2" '$3 == symbol { print $1 }')
	read -r text offset < <(objdump -h "$1" | awk '$2 == ".text" { print $4, $6 }')
	printf '0x%x\n' $((0x$address - 0x$text + 0x$offset))
}

# count_of NAME: the value of its latest PMC, in $count.
count_of() {
	expect "$1" 'read 0 *' read
	count=${reply#read 0 }
}

# part NAME: the client exits.
part() {
	printf 'bye\n' >&"${CLIENT_IN[$1]}"
	wait_for process_gone "${CLIENT_JOB[$1]}"
	unset "CLIENT[$1]"
}

part_all() {
	local name
	for name in "${!CLIENT[@]}"; do
		process_gone "${CLIENT_JOB[$name]}" || part "$name"
	done
}

# workload NAME WORK...: a waiting `load`; WORKLOAD[NAME] is its pid.
declare -gA WORKLOAD
workload() {
	local out=$BATS_TEST_TMPDIR/$1.load

	: >"$out"	# of an earlier one of that name
	"$BUILD/tests/load" -w "${@:2}" >"$out" 3>&- &
	WORKLOAD[$1]=$!
	wait_for grep -q ready "$out"
	wait_for asleep "${WORKLOAD[$1]}"
}

# In state S a process may still be leaving the CPU: "running", then.
asleep() {
	local stat call
	read -r stat <"/proc/$1/stat" && read -r call <"/proc/$1/syscall" &&
		[[ $stat == *") S "* && $call != running ]]
}

# All of its threads: a signal reaches each of them when it runs next.
is_stopped() {
	local state='^State:.T'
	grep -q "$state" "/proc/$1/status" && [ -z "$(grep -L "$state" "/proc/$1/task"/*/status)" ]
}

# The daemon reads, answers and sweeps nothing until it is resumed.
suspend_daemon() {
	kill -STOP "$DAEMON_PID"
	wait_for is_stopped "$DAEMON_PID"
}

resume_daemon() { kill -CONT "$DAEMON_PID"; }

# It has sent its request and waits for the answer, in recvmsg(2).
receives() {
	local number=212
	[ "$(uname -m)" != x86_64 ] || number=47
	asleep "$1" && [ "$(cut -d ' ' -f 1 "/proc/$1/syscall")" = $number ]
}

worked() { [ "$(grep -c '^all' "$1")" -eq 2 ]; }

# work NAME: it does its work; its own figures are in $minflt and $cpu, with descendants in $all_minflt.
# shellcheck disable=SC2034 # the tests use them
work() {
	local out=$BATS_TEST_TMPDIR/$1.load pid=${WORKLOAD[$1]}

	kill -USR1 "$pid"
	wait_for worked "$out"
	wait_for asleep "$pid"
	read -r _ minflt _ _ _ cpu < <(tail -n 2 "$out" | head -n 1)
	read -r _ all_minflt _ _ _ _ < <(tail -n 1 "$out")
}

# one_cpu NAME...: the workloads run on CPU 0 only.
one_cpu() {
	local name
	for name; do taskset -p -c 0 "${WORKLOAD[$name]}" >/dev/null; done
}

# rest NAME: the workload ends.
rest() {
	kill -KILL "${WORKLOAD[$1]}"
	wait "${WORKLOAD[$1]}" || true
	unset "WORKLOAD[$1]"
}

rest_all() {
	local name
	for name in "${!WORKLOAD[@]}"; do
		pkill -KILL -P "${WORKLOAD[$name]}" || true
		kill -KILL "${WORKLOAD[$name]}" 2>/dev/null || true
	done
}

# waits_to_become [AS...] -- COMMAND...: a process that execs COMMAND on `go`; TARGET is its pid, its output is in
# $OUT.
waits_to_become() {
	local as=()
	while [ "$1" != -- ]; do
		as+=("$1")
		shift
	done
	shift
	OUT=$BATS_TEST_TMPDIR/out
	rm -f "$BATS_TEST_TMPDIR/go"
	mkfifo "$BATS_TEST_TMPDIR/go"
	exec {GO}<>"$BATS_TEST_TMPDIR/go"
	# shellcheck disable=SC2016 # the other shell expands it
	"${as[@]}" bash -c 'read -r; exec "$@"' waits "$@" <"$BATS_TEST_TMPDIR/go" >"$OUT" 3>&- &
	TARGET=$!
	wait_for is_program "$TARGET" bash
	wait_for asleep "$TARGET"
}

is_program() { [ "$(basename "$(readlink "/proc/$1/exe")")" = "$2" ]; }

go() {
	echo >&"$GO"
	wait_for grep -q ready "$OUT"
	wait_for asleep "$TARGET"
}

# A process of user nobody that may gain rights; run_as_nobody forbids that.
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# set_id_load: a copy of `load` that runs as another user, in $SETID.
set_id_load() {
	open_tmpdir
	SETID=$BATS_TEST_TMPDIR/load-setid
	cp "$BUILD/tests/load" "$SETID"
	chown 65533 "$SETID"
	chmod 4755 "$SETID"
	"${nobody[@]}" "$SETID" -w spins=1 >"$SETID.out" 3>&- &
	TARGET=$!
	# It has the new name before it has the new credentials.
	wait_for grep -q ready "$SETID.out"
	run cat "/proc/$TARGET/status"
	kill "$TARGET"
	wait "$TARGET" || true
	TARGET=
	[[ $output == *"Uid:	65534	65533"* ]] || skip "this file system knows no set-id programs"
}

work_of_target() {
	kill -USR1 "$TARGET"
	wait_for worked "$OUT"
	wait_for asleep "$TARGET"
	# shellcheck disable=SC2034 # the tests use it
	read -r _ minflt _ < <(tail -n 2 "$OUT" | head -n 1)
}

# gives STATUS TEXT COMMAND...: this exit status, and exactly this output.
gives() {
	run "-$1" "${@:3}"
	[ "$output" = "$2" ] || { printf 'wanted: %s\ngot:    %s\n' "$2" "$output" >&2; return 1; }
}

# gives_like STATUS PATTERN COMMAND...: this exit status, and an output that matches.
gives_like() {
	run "-$1" "${@:3}"
	# shellcheck disable=SC2053 # a pattern
	[[ $output == $2 ]] || { printf 'wanted: %s\ngot:    %s\n' "$2" "$output" >&2; return 1; }
}

# ./prog of the C on standard input, which is a client of the library.
libpmc_program() {
	cc -std=c99 -Wall -Wextra -Werror -I"$BATS_TEST_DIRNAME/../../lib/include" -o prog -xc - -xnone \
		-L"$BUILD/lib" -lpmc-compat -Wl,--allow-shlib-undefined
}
