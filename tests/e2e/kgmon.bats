#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The kernel profile: what feeds it, who may have it, and that gprof reads what kgmon writes.

load helpers

CLOCK=0x20000 FAULTS=0x20004 KGMON=0x40 USER_ONLY=0x22

setup() {
	in_tmpdir_with_daemon "${ROOM[@]}"
	CPU=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
}

# Work in the kernel, on the CPU that the PMCs of these tests sample.
work() { taskset -c "$CPU" dd if=/dev/zero of=/dev/null bs=1M count=500 2>/dev/null; }

# The number of samples of KIND (kernel, user, lost) in the profile.
held() {
	kgmon -s | sed -nE "s/^samples: ([0-9]+) in the kernel at [0-9]+ addresses, ([0-9]+) in user code, ([0-9]+) lost\$/\\$1/p"
}
samples() { held 1; }

# sampled N: works until the profile has so many samples.
sampled() {
	enough() { work && [ "$(samples)" -ge "$1" ]; }
	wait_for enough "$1"
}

# pmc NAME EVENT PERIOD: one with PMC_F_KGMON, which runs.
pmc() {
	expect "$1" 'alloc 0 *' alloc 0 15 "$2" "$CPU" $KGMON
	expect "$1" 'setcount 0' setcount "$3"
	expect "$1" 'start 0*' start
}

# is STATE: matches kgmon's last line.
is() {
	local last
	last=$(kgmon | tail -n 1)
	[ "$last" = "kgmon: kernel profiling is $1." ] || { echo "$last" >&2; return 1; }
}

refused() {
	local code=$1 message=$2
	shift 2
	run "$@"
	status_is "$code"
	# shellcheck disable=SC2053 # a pattern
	[[ $output == *$message* ]] || { echo "got: $output" >&2; return 1; }
}

# flat: the functions of gmon.out, of which the kernel has each, in ./flat with their share at the left.  BPF programs
# come and go with other daemons.
flat() {
	command -v gprof >/dev/null || skip "gprof is not installed"
	gprof -b -p gmon.kernel gmon.out >flat
	awk 'NF == 4 && $1 + 0 > 0 && $4 !~ /^bpf_prog_/ { print $4 }' flat | sort -u >functions
	[ -s functions ]
	awk '{ print $3 }' /proc/kallsyms | sort -u | comm -23 functions - >strange
	[ ! -s strange ] || { cat strange flat >&2; return 1; }
	# The functions that read /dev/zero, by their names on different kernels and processors.
	grep -qE '^(read_zero|__?arch_clear_user|__clear_user|clear_user.*|rep_stos_alternative|read_iter_zero|iov_iter_zero)$' functions
}

@test "REQ-054: samples of a PMC with PMC_F_KGMON form a kernel profile, without a log" {
	client root
	pmc root $CLOCK 1
	is off
	kgmon -b
	is running
	sampled 200
	[ "$(kgmon -s | head -n 1)" = 'source: PMCs of CLOCK.HARD, one sample every 1 events' ]
	kgmon -h
	is off
	before=$(samples)
	work
	[ "$(samples)" -eq "$before" ]
	run -0 --separate-stderr kgmon -p
	[ "$stderr" = "kgmon: $before samples of the kernel in gmon.out: gprof gmon.kernel gmon.out" ]
	[ "$(stat -c %a gmon.out gmon.kernel | tr '\n' ' ')" = '600 600 ' ]
	flat
	grep -q '^Each sample counts as 1 samples\.$' flat
	# No sample is lost or counted twice between the daemon and gprof.
	[ "$(awk 'NF == 4 && $1 ~ /^[0-9.]+$/ { last = $2 } END { printf "%.0f\n", last }' flat)" -eq "$before" ]
	kgmon -r
	[ "$(samples)" -eq 0 ]
	[ "$(kgmon -s | head -n 1)" = 'samples: 0 in the kernel at 0 addresses, 0 in user code, 0 lost' ]
	expect root 'stop 0' stop
	expect root 'release 0' release
}

@test "REQ-054: without such a PMC the profiling clock samples every CPU" {
	kgmon -b
	[ "$(kgmon -s | head -n 1)" = 'source: the profiling clock, 8128 samples a second on each CPU' ]
	sampled 1000
	run -0 --separate-stderr kgmon -p -r
	[ "$output" = 'kgmon: kernel profiling is running.' ]
	[ "$(kgmon -s | head -n 1)" = 'source: the profiling clock, 8128 samples a second on each CPU' ]
	flat
	grep -q '^Each sample counts as 0\.000123' flat
	kgmon -h
	# Stopped, it uses no resources.
	wait_for daemon_idle
}

@test "REQ-054: samples of a kernel profile are in no log, even if the owner has one" {
	client root
	: >log
	expect root 'log 0' logto write log
	expect root 'alloc 0 *' alloc 0 15 $FAULTS "$CPU" 0
	logged=$(printf '0x%x' "${reply##* }")
	expect root 'setcount 0' setcount 1
	expect root 'start 0*' start
	pmc root $CLOCK 1
	kgmon -b
	sampled 20
	expect root 'flushlog 0' flushlog
	expect root 'closelog 0' closelog
	pmcstat -q -R log >text
	awk '$1 == "callchain"' text >samples
	grep -q " $logged " samples
	refute grep -qv " $logged " samples
	# The log ends, the profile continues.
	sampled $(($(samples) + 20))
	kgmon -h
}

@test "REQ-054, REQ-053: a PMC that samples user code only cannot feed a kernel profile" {
	client root
	expect root 'alloc EINVAL -- PMC_F_KGMON: this PMC samples user code only*' \
		caps $USER_ONLY alloc 0 15 $CLOCK "$CPU" $KGMON
	expect root 'rows 0' rows 0
}

@test "REQ-054: a user without the right to sample the system only sees whether a profile exists" {
	local option
	kgmon -b
	sampled 20
	gives 0 'kgmon: kernel profiling is running.' run_as_nobody kgmon
	for option in -b -h -p -r -s; do
		refused 71 'the kernel profile takes CAP_PERFMON or CAP_SYS_ADMIN' run_as_nobody kgmon $option
	done
	[ ! -e gmon.out ] && [ ! -e gmon.kernel ]
	is running
	[ "$(samples)" -ge 20 ]
	client user run_as_nobody
	expect user 'alloc EPERM*' alloc 0 15 $CLOCK "$CPU" $KGMON
}

@test "kgmon: refusals, which leave nothing behind" {
	refused 66 'has no samples of the kernel: kgmon -b starts it' kgmon -p
	refused 69 '-M core: the profile is pmcbpfd' kgmon -M core
	refused 69 '-B: a profile of high resolution' kgmon -B
	refused 64 'option -N is used only with -p' kgmon -N x
	refused 64 '"x" is no option' kgmon x
	refused 64 'Usage: kgmon' kgmon -z
	kgmon -b
	sampled 20
	# A kernel with hidden addresses.
	sed -E 's/^[0-9a-f]+/0000000000000000/' /proc/kallsyms >hidden
	refused 77 'the kernel hides its addresses' unshare -m sh -c 'mount --bind hidden /proc/kallsyms && kgmon -p -r'
	refused 77 'cannot check that "copy" is of this boot' \
		unshare -m sh -c 'cp /proc/kallsyms copy && mount --bind hidden /proc/kallsyms && kgmon -p -N copy'
	[ ! -e gmon.out ] && [ ! -e gmon.kernel ]
	# A profile that could not be dumped still exists, and continues.
	is running
	[ "$(samples)" -ge 20 ]
	kgmon -p -h -N copy
	flat
	# Without a daemon there is no profile: a private daemon's would end with kgmon.
	stop_daemon
	PMCBPF_SOCKET='' refused 69 "the kernel profile is pmcbpfd's" kgmon -b
}
