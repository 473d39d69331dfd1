#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Class MSR where there is no module: rows come from perf's msr PMU, and the listing, the refusals and the doctor
# say so.

load helpers

setup() {
	need_root
	grep -qx event=0x00 /sys/bus/event_source/devices/msr/events/tsc 2>/dev/null ||
		skip "this kernel's perf counts no tsc"
	[ ! -e /dev/pmcbpf_msr ] || skip "the module is loaded here: tests/vm has tests for that"
	cd "$BATS_TEST_TMPDIR" || return
	LIST=$BATS_TEST_TMPDIR/msr.list
	printf '0x10 0xffffffffffffffff 0 x86 any TSC SDM\n0x611 0xffffffff 0 x86 any - SDM\n' >"$LIST"
}

teardown() { stop_daemon; }

# counts SCRIPT: Python with the library as `pmc`, new(SPEC, MODE[, CPU]), read(ID), SC and TC
counts() {
	run python3 - <<<"import ctypes, os, time
pmc = ctypes.CDLL('$BUILD/lib/libpmc-compat.so', use_errno=True)
SC, TC = 1, 3
def check(status):
    if status:
        pmc.pmc_errstr.restype = ctypes.c_char_p
        raise OSError(ctypes.get_errno(), pmc.pmc_errstr().decode())
def new(spec, mode, cpu=0xffffffff):
    id = ctypes.c_uint32()
    check(pmc.pmc_allocate(spec.encode(), mode, 0, ctypes.c_int(cpu if cpu != 0xffffffff else -1), ctypes.byref(id), ctypes.c_uint64(0)))
    return id
def read(id):
    value = ctypes.c_uint64()
    check(pmc.pmc_read(id, ctypes.byref(value)))
    return value.value
check(pmc.pmc_init())
$1"
	[ "$status" -eq 0 ] || unless_hidden "$output"
	status_is 0
}

@test "a CPU's MSR-TSC is the time stamp counter: it lies between two readings of it" {
	start_daemon -o msr.list="$LIST"
	counts "
os.sched_setaffinity(0, {0})
tsc, msr = new('TSC', SC, 0), new('msr.tsc', SC, 0)
def both():
    before = read(tsc)
    value = read(msr)
    return before, value, read(tsc)
begin = read(tsc)
check(pmc.pmc_start(msr))
a = both()
assert a[1] <= a[2] - begin
for i in range(200000): pass
b = both()
assert b[0] - a[2] <= b[1] - a[1] <= b[2] - a[0], (a, b)
check(pmc.pmc_stop(msr))
stopped = read(msr)
assert b[1] <= stopped <= read(tsc) - begin
for i in range(1000): pass
assert read(msr) == stopped
check(pmc.pmc_write(msr, ctypes.c_uint64(12345)))
assert read(msr) == 12345
begin = read(tsc)
check(pmc.pmc_start(msr))
assert 12345 < read(msr) <= 12345 + read(tsc) - begin"
}

@test "a process's MSR-TSC runs while the process does" {
	start_daemon -o msr.list="$LIST"
	counts "
tsc, msr = new('TSC', SC, 0), new('MSR-0x10', TC)
begin, mono, inner = read(tsc), time.monotonic_ns(), read(tsc)
check(pmc.pmc_start(msr))
first = read(msr)
# Stolen time is on the process's clock: only the time between two readings of the count is compared.
cpu = time.process_time_ns()
time.sleep(0.2)
while time.process_time_ns() - cpu < 150000000: pass
cpu = time.process_time_ns() - cpu
count = read(msr)
inner, mono, end = read(tsc) - inner, time.monotonic_ns() - mono, read(tsc)
# Ticks per ns, minimum and maximum: other programs may run between two of these readings.
low, high = inner / mono, (end - begin) / mono
assert first < count <= end - begin
# It slept for 0.2 s of that: the count is lower than the total by as much, and covers its time on the CPU.
assert count <= (mono - 190000000) * high, (count, mono, high)
assert count - first >= (cpu - 10000000) * low, (count, first, cpu, low)"
	run --separate-stderr run_as_nobody pmcstat -q --csv -C -p MSR-TSC true
	status_is 0
	[[ ${stderr##*$'\n'}$output =~ [1-9][0-9]{3} ]]
}

# PERF-330
@test "the reader of each register: in the listing, the rows, the announcement" {
	start_daemon -o msr.list="$LIST"
	run pmc list-events -u MSR-TSC
	[ "$output" = "MSR-TSC:	for CPUs: perf; for processes: perf" ]
	run pmccontrol -L
	status_is 0
	[[ $output == *$'\nMSR\n\tMSR-TSC'* ]]
	run pmccontrol -l
	[[ $output =~ MSR-TSC\ +MSR\ +ENABLED\ +FREE ]]
	grep -q '^hwpmc: .* MSR/[0-9]*/64/0x160<REA,WRI,QUA>$' "$DAEMON_LOG"
}

@test "the doctor and -t report missing readers, and the remedy" {
	start_daemon -o msr.list="$LIST"
	run pmccontrol --doctor
	status_is 0
	grep -q '^limits  module pmcbpf_msr: the module pmcbpf_msr is not loaded: modprobe pmcbpf_msr' <<<"$output"
	grep -qE '^ok +registers: rows of class MSR: [1-9][0-9]*; the module reads 0, perf [1-9]' <<<"$output"
	run pmcbpfd -t
	status_is 0
	grep -q 'the module pmcbpf_msr is not loaded: modprobe pmcbpf_msr' <<<"$output"
	grep -qx 'pmcbpfd: nothing is missing' <<<"$output"
}

# refused STATUS TEXT ARG...: pmcstat prints only this
refused() {
	local code=$1 text=$2

	shift 2
	run pmcstat "$@" true
	status_is "$code"
	[[ $output == *"$text"* ]] || { echo "not \"$text\": $output" >&2; return 1; }
}

@test "registers that may not or cannot be counted are refused with the reason" {
	start_daemon -o msr.list="$LIST"
	refused 71 "register 0x612 is not on the list $LIST; " -s MSR-0x612
	refused 71 'no reader for register 0x611: the module pmcbpf_msr is not loaded' -s MSR-0x611
	refused 71 'no register "NONE": MSR-NUMBER, as MSR-0x10, or one' -p MSR-NONE
	refused 71 'class MSR cannot sample' -O samples -P MSR-TSC
	refused 71 '"usr" is no qualifier of a register: there is select=REGISTER:VALUE' -p MSR-TSC,usr
	refused 71 'select takes REGISTER:VALUE, as 0x186:0x4100c0, not "5"' -s MSR-TSC,select=5
	refused 71 "select: $LIST does not let register 0x10 be written" -s MSR-TSC,select=0x10:1
	run run_as_nobody pmcstat -s MSR-TSC true
	[[ $output == *'unprivileged_syspmcs'* ]]
	for energy in /sys/bus/event_source/devices/power/events/energy-*; do
		[[ $energy != *[.*]* ]] || continue
		energy=MSR-ENERGY.${energy##*-}
		refused 71 "${energy^^} is the package's, not a process's" -p "$energy"
		stop_daemon
		start_daemon -o msr.list="$LIST" -o security.bsd.unprivileged_syspmcs=1
		run run_as_nobody pmcstat -c 0 -s "$energy" true
		[[ $output == *'needs CAP_PERFMON or CAP_SYS_ADMIN, whatever the tunables say'* ]]
		run run_as_nobody pmcstat -c 0 -s MSR-TSC true
		status_is 0
	done
}

@test "the file: a malformed one prevents the start and is ignored at SIGHUP; a named one must exist" {
	echo '0x10 0x1 0 x86 any' >>"$LIST"
	run pmcbpfd -f -s "$BATS_TEST_TMPDIR/s" -o msr.list="$LIST"
	status_is 1
	[[ $output == "pmcbpfd: $LIST:3: 5 of 7 columns: register read-mask write-mask vendor who name source,"* ]]
	run pmcbpfd -f -s "$BATS_TEST_TMPDIR/s" -o msr.list="$LIST.none"
	status_is 1
	[[ $output == *"$LIST.none: No such file or directory" ]]
	run pmcbpfd -f -s "$BATS_TEST_TMPDIR/s" -o msr.list=msr.list
	status_is 1
	[[ $output == *'msr.list takes the path of a file from the root'* ]]
	run pmcbpfd -t -s "$BATS_TEST_TMPDIR/s" -o msr.list=msr.list
	status_is 1
	[[ $output == *'msr.list takes the path'* && $output != *'cannot read'* ]]
	sed -i '$d' "$LIST"
	start_daemon -o msr.list="$LIST"
	echo '0x612 0x2 0 x86 any - SDM' >>"$LIST"
	kill -HUP "$DAEMON_PID"
	wait_for grep -q "$LIST:3: read mask 0x2: .*; the list of registers stays as it was" "$DAEMON_LOG"
	refused 71 'register 0x612 is not on the list' -s MSR-0x612
	sed -i 's/0x2 0/0x3 0/' "$LIST"
	kill -HUP "$DAEMON_PID"
	listed() { pmcstat -s MSR-0x612 true 2>&1 | grep -q 'no reader for register 0x612'; }
	wait_for listed
}
