#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# pctr(1) and programs for pctr(4) over libpctr: software events stand in for hardware counters, so that all of the
# way from an ioctl to a count is there on any machine.  Event c0 is page faults, 76 CPU time.

load helpers

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
	PRELOAD="$(ldd "$BUILD/bin/pctr" | awk '/libasan/ { print $3 }') $BUILD/lib/libpctr.so.0"
	DIR=$BATS_TEST_TMPDIR/run
	PCTRD_PID=
	export PCTR_DEVICE=$DIR/pctr
}

teardown() {
	[ -z "${LINGER_PID:-}" ] || kill -KILL "$LINGER_PID" 2>/dev/null || true
	[ -z "$PCTRD_PID" ] || kill -CONT "$PCTRD_PID" 2>/dev/null || true
	stop_pctrd || true
	stop_daemon || true
}

pctr_answers() { process_gone "$PCTRD_PID" || pctr; }

# start_pctrd [OPTION]...: until it answers.
start_pctrd() {
	pctrd -f -d "$DIR" --no-node "$@" >>pctrd.log 2>&1 3>&- &
	PCTRD_PID=$!
	wait_for pctr_answers
	if process_gone "$PCTRD_PID"; then
		cat pctrd.log >&2
		return 1
	fi
}

# stop_pctrd [SIGNAL]: the status is pctrd's.
stop_pctrd() {
	local status=0 pid=$PCTRD_PID
	[ -n "$pid" ] || return 0
	PCTRD_PID=
	kill -"${1:-TERM}" "$pid" 2>/dev/null || true
	wait "$pid" || status=$?
	return $status
}

soft() {
	start_daemon
	start_pctrd -o pctr.soft=1 -o pctr.intel_counters=4
}

# The program for OpenBSD, not linked with libpctr.
prog() { LD_PRELOAD=$PRELOAD pctr-prog "$@"; }

# value N OPTION...: counter N as pctr prints it; $bracket is the text between the brackets.
value() {
	local n=$1 line
	shift
	line=$(pctr "$@" | grep "^ ctr$n = ")
	[[ $line =~ ^\ ctr.\ =\ \ *([0-9]+)\ \ \[(.*)\]$ ]] || { echo "no line: $line" >&2; return 1; }
	count=${BASH_REMATCH[1]} bracket=${BASH_REMATCH[2]}
}

# shows N PREFIX: the function of counter N.
shows() {
	value "$1"
	[[ $bracket == "$2"* ]] || { echo "counter $1: [$bracket], not [$2" >&2; return 1; }
}

is_zero() { value "$1" && [ "$count" -eq 0 ]; }

@test "pctrd in the background serves when its command returns; its failure is the command's exit status" {
	start_daemon
	pctrd -d "$DIR" --no-node -o pctr.soft=1 2>words 3>&-
	# The first one, whose children are its own.
	PCTRD_PID=$(pgrep -o -x -f "pctrd -d $DIR --no-node -o pctr.soft=1")
	pctr
	grep -q "^pctrd: serving $DIR/" words
	[ "$(ps -o sid= "$PCTRD_PID" | tr -d ' ')" = "$PCTRD_PID" ]
	[ "$(readlink "/proc/$PCTRD_PID/cwd")" = / ]
	for fd in 0 1 2; do
		[ "$(readlink "/proc/$PCTRD_PID/fd/$fd")" = /dev/null ]
	done
	gives_like 1 "pctrd: already running: process $PCTRD_PID holds $DIR/pctr.sock.lock; *" pctrd -d "$DIR" --no-node
	kill "$PCTRD_PID"
	wait_for process_gone "$PCTRD_PID"
	PCTRD_PID=
	refute test -e "$PCTR_DEVICE"
}

@test "counters are read and set" {
	soft
	run -0 pctr
	[[ ${lines[0]} == " ctr0 =                0  [---- 00 00 "* ]]
	[[ ${lines[1]} == " ctr1 =                0  [---- 00 00 "* ]]
	[[ ${lines[-1]} =~ ^\ \ tsc\ =\ [\ 0-9]{16,}$ ]]
	first=${lines[-1]##* }
	pctr -s 0 -f c0
	pctr -s 1 -f 76 -m 3 -t 3 -iu 2>err || [ "$(uname -m)" = aarch64 ]
	shows 0 "--ku c0 00 "
	[ "$(uname -m)" = aarch64 ] || shows 1 "i--u 76 03 +3"
	run -0 pctr
	[ "${lines[-1]##* }" -gt "$first" ]
	# The words themselves, to the bit.
	run -0 prog set 1 0x4100c0 read
	[ "${lines[0]}" = ok ]
	[[ ${lines[1]} == "004300c0 004100c0 00000000 00000000 "* ]]
}

# PCTR-09, PCTR-47, PCTR-48: a CPU's counters count all processes there, and are read for one CPU or for all.
@test "counters of CPUs, and their sum" {
	soft
	pctr -s 0 -f c0
	for cpu in 0 1; do
		taskset -c $cpu true 2>/dev/null || continue
		value 0 -C $cpu
		before=$count
		value 0 -a
		all=$count
		taskset -c $cpu "$BUILD/tests/load" pages=20000
		value 0 -C $cpu
		[ $((count - before)) -ge 20000 ]
		value 0 -a
		[ $((count - all)) -ge 20000 ]
	done
	gives 1 "pctr: CPU 4095 is not online, or not for this process" pctr -C 4095
}

# PCTR-44: settings have no owner; they outlive the program that made them.
@test "settings stay until pctrd stops" {
	soft
	prog set 0 0x4300c0 close
	shows 0 "--ku c0 00 "
	"$BUILD/tests/load" pages=20000
	value 0 -a
	[ "$count" -ge 20000 ]
	stop_pctrd
	[ ! -e "$DIR/pctr" ] && [ ! -e "$DIR/pctr.sock" ]
	start_pctrd -o pctr.soft=1
	shows 0 "---- 00 00 "
	is_zero 0
}

# PCTR-02, PCTR-40: a CPU with two counters has no third.
@test "only the CPU's counters are supported" {
	start_daemon
	start_pctrd -o pctr.soft=1
	if grep -q GenuineIntel /proc/cpuinfo; then
		gives 1 "pctr: only 2 counters are supported" pctr -s 2 -f c0
	else
		pctr -s 3 -f c0
		shows 3 "--ku c0 00 "
	fi
}

# PCTR-39: no counters.
@test "a CPU without counters" {
	for pmu in /sys/bus/event_source/devices/{cpu,cpu_core,armv8*}; do
		[ ! -e "$pmu" ] || skip "this machine has counters"
	done
	start_daemon
	start_pctrd
	run -1 pctr -s 0 -f c0
	[ "$output" = "pctr: pctr_set_cntr: No such device: Linux gives no counters of this CPU; \"pmccontrol --doctor\" says why" ]
	run -0 prog rdonly set 0 0x4b00c0 set 4 1 read
	[ "${lines[0]} ${lines[1]}" = "ENODEV EINVAL" ]
	[[ ${lines[2]} == "00000000 00000000 00000000 00000000 "*" 0 0 0 0" ]]
	# The missing parts are named; CUSE only if a device is requested.
	gives 1 "pctrd: no counters: pmccontrol --doctor says why; only the TSC can be read" pctrd -t --no-node
}

# PCTR-52: the mode of the file decides which users may set; any user may read.
@test "unprivileged users read, and cannot set" {
	# Under any umask of root's.
	umask 077
	soft
	[ "$(stat -c %a "$DIR/pctr")" = 644 ]
	pctr -s 0 -f c0
	run -0 run_as_nobody pctr
	[[ ${lines[0]} == " ctr0 = "*"[--ku c0 00 "* ]]
	run -1 run_as_nobody pctr -s 0 -f c0
	[ "$output" = "pctr: pctr_set_cntr: $DIR/pctr: Permission denied: setting takes write permission, which root has" ]
	# A user with write permission may set.
	chmod 666 "$DIR/pctr"
	run_as_nobody pctr -s 0 -f c1
	shows 0 "--ku c1 00 "
}

# PCTR-53: a program for the other system, without libpctr, and one in another language.
@test "unmodified programs, with libpctr preloaded" {
	soft
	gives 0 ENOTTY pctr-prog rdonly read
	run -0 prog rdonly read
	[ "$(wc -w <<<"$output")" -eq 9 ]
	run -0 env LD_PRELOAD="$PRELOAD" ASAN_OPTIONS=detect_leaks=0 python3 -c '
import fcntl, os, struct, termios
fd = os.open(os.environ["PCTR_DEVICE"], os.O_RDWR)
fcntl.ioctl(fd, 0x40046308, struct.pack("I", 0x4300c0))
print("%x" % struct.unpack("4I5Q", fcntl.ioctl(fd, 0x80386301, bytes(56)))[0])
r, w = os.pipe()
os.write(w, b"12345")
print(struct.unpack("i", fcntl.ioctl(r, termios.FIONREAD, bytes(4)))[0])'
	[ "${lines[*]}" = "4300c0 5" ]
}

# PCTR-16, PCTR-18, PCTR-19: the cost of a reading, and the distance of its time from its counters.
@test "the self test, and repeated readings" {
	soft
	pctr -s 0 -f c0
	run -0 pctr -T
	[ "${#lines[@]}" -eq 4 ]
	[[ ${lines[0]} =~ ^rdtsc\(\)\ +[0-9]+\ ns$ && ${lines[1]} =~ ^PCIOCRD\ +[0-9]+\ ns$ ]]
	[[ ${lines[2]} =~ ^rdpmc\(0\)\ +[0-9]+\ ns$ ]]
	[[ ${lines[3]} =~ ^stamp\ +\+-\ *([0-9]+)\ ticks,\ ([0-9]+)\ at\ worst$ ]]
	[ "${BASH_REMATCH[1]}" -gt 0 ] && [ "${BASH_REMATCH[1]}" -le "${BASH_REMATCH[2]}" ]
	before=0
	while read -r now; do
		[ "$now" -gt "$before" ]
		before=$now
	done < <(pctr -w 0.01 | grep --line-buffered tsc | head -n 5 | awk '{ print $3 }')
	[ "$before" -gt 0 ]
}

@test "no pctrd, a killed one, no pmcbpfd: a line names the program to start" {
	soft
	pctr -s 0 -f c0
	stop_pctrd KILL || true
	[ -e "$DIR/pctr" ]
	run -1 pctr
	[ "$output" = "pctr: pctr_read: No such device or address: counters take pctrd(8) and pmcbpfd(8): start as root what does not run" ]
	start_pctrd -o pctr.soft=1
	stop_daemon
	run -0 pctr
	[[ ${lines[0]} == " ctr0 =                0  [---- 00 00 "* ]]
	run -1 pctr -s 0 -f c0
	[ "$output" = "pctr: pctr_set_cntr: No such device or address: counters take pctrd(8) and pmcbpfd(8): start as root what does not run" ]
}

# PCTR-01: without CUSE the node is a link to the stand-in, and is removed with pctrd.
@test "a node that is a link to the stand-in" {
	start_daemon
	pctrd -f -d "$DIR" -n "$BATS_TEST_TMPDIR/node" -o pctr.soft=1 >pctrd.log 2>&1 3>&- &
	PCTRD_PID=$!
	export PCTR_DEVICE=$BATS_TEST_TMPDIR/node
	wait_for pctr
	[ "$(readlink "$PCTR_DEVICE")" = "$DIR/pctr" ]
	pctr -s 0 -f c0
	shows 0 "--ku c0 00 "
	stop_pctrd
	[ ! -L "$PCTR_DEVICE" ]
}

# Short, long and malformed frames, foreign descriptors, silent clients, and clients that do not read.
@test "hostile frames affect only their sender" {
	soft
	pctr -s 3 -f c1
	# Only the listening socket has the name: the connection that set the counter is gone.
	nobody_connected() { [ "$(grep -cF "$DIR/pctr.sock" /proc/net/unix)" -eq 1 ]; }
	wait_for nobody_connected
	fds=("/proc/$PCTRD_PID/fd"/*)
	run -0 python3 "$BATS_TEST_DIRNAME/../pctr/hostile.py" "$DIR/pctr" 3000
	[[ $output =~ ^answered=([0-9]+)\ refused=([0-9]+)\ dropped=([0-9]+)$ ]]
	for n in 1 2 3; do
		[ "${BASH_REMATCH[n]}" -gt 50 ] || { echo "$output" >&2; false; }
	done
	shows 3 "--ku c1 00 "
	fds_settled() { local now=("/proc/$PCTRD_PID/fd"/*); [ ${#now[@]} -eq ${#fds[@]} ]; }
	wait_for fds_settled
	stop_pctrd
}

# A descriptor that cannot be closed at once delays only a helper, whichever way it arrived.
@test "lingering descriptors delay no request, and SIGTERM ends pctrd" {
	soft
	pctr -s 3 -f c1
	kill -STOP "$PCTRD_PID"
	python3 "$BATS_TEST_DIRNAME/../pctr/linger.py" "$DIR/pctr" >linger.out 2>linger.err 3>&- &
	LINGER_PID=$!
	wait_for grep -q sent linger.out
	kill -CONT "$PCTRD_PID"
	wait_for grep -q ready linger.out
	[ "$(tr '\n' ' ' <linger.out)" = "sent -25 0 ready " ] || { cat linger.out >&2; false; }
	for ((i = 0; i < 20; i++)); do shows 3 "--ku c1 00 "; done
	stop_pctrd
}
