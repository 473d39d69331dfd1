# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Guests for bats files. Each file has one of its own, with a daemon unless it says otherwise:
#
#	load helpers
#	setup_file()    { vm_start --daemon --smp 1; }	# instead of the one below
#
#	@test "..."     { run vm pmccontrol -L; [ "$status" -eq 0 ]; }
#
# The kernel is $PMCBPF_VM_KERNEL, which tests/vm/matrix sets to each one in turn. The guest ends
# with the bats file even if that is killed. The first file of matrix that starts a guest with some options
# saves its state, from which the next ones go on instead of booting. Set for the tests: VM_ID, VM_KERNEL,
# VM_ARCH (amd64 or arm64), VM_RELEASE (uname -r), VM_ROLE (supported or refused).

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VM_OUT=${O:-$VM_DIR/../../build}
bats_require_minimum_version 1.5.0

setup_file() {
	vm_start --daemon
}

teardown_file() {
	vm_stop
}

# vm_kernel_field COLUMN - of the line of $VM_KERNEL in kernels.tsv
vm_kernel_field() {
	awk -F'\t' -v n="$VM_KERNEL" -v c="$1" '$1 == n { print $c }' "$VM_DIR/kernels.tsv"
}

# vm_start [--daemon] [OPTION of guest start...] - a guest with the overlay of the build, if there is one (the
# subdirectory amd64 or arm64 of $PMCBPF_VM_OVERLAY, default build/vm/overlay), and with vm_daemon if its kernel
# runs one
vm_start() {
	local overlay state='' daemon=''

	VM_KERNEL=${PMCBPF_VM_KERNEL:-6.1-x86}
	VM_ARCH=$(vm_kernel_field 2)
	VM_ROLE=$(vm_kernel_field 9)
	VM_RELEASE=$(cat "$("$VM_DIR/fetch" kernel "$VM_KERNEL")/release")
	if [ "${1:-}" = --daemon ]; then
		[ "$VM_ROLE" != supported ] || daemon=with-daemon
		shift
	fi
	# What only this file puts into a guest is of no use to others.
	if [ -n "${PMCBPF_VM_STATES:-}" ] && [[ $* != *"$BATS_FILE_TMPDIR"* ]]; then
		state=$PMCBPF_VM_STATES/$(tr -c 'a-zA-Z0-9.-' _ <<<"$VM_KERNEL $daemon $*")
	fi
	overlay=${PMCBPF_VM_OVERLAY:-$VM_OUT/vm/overlay}/$VM_ARCH
	[ ! -d "$overlay" ] || set -- --overlay "$overlay" "$@"
	export VM_ID VM_KERNEL VM_ARCH VM_ROLE VM_RELEASE
	if [ -e "$state" ]; then
		VM_ID=$("$VM_DIR/guest" start "$VM_KERNEL" --owner $$ --from "$state" "$@")
		return
	fi
	VM_ID=$("$VM_DIR/guest" start "$VM_KERNEL" --owner $$ "$@") || return
	[ -z "$daemon" ] || vm_daemon || return
	[ -z "$state" ] || "$VM_DIR/guest" save "$VM_ID" "$state"
}

# vm COMMAND [ARG...] - runs it in the guest; VM_TIMEOUT (300) seconds at most
vm() {
	"$VM_DIR/guest" run "$VM_ID" --timeout "${VM_TIMEOUT:-300}" -- "$@"
}

# vm_sh SCRIPT [ARG...] - a shell script in the guest, $1... being the arguments
vm_sh() {
	local script=$1

	shift
	vm sh -c "$script" sh "$@"
}

# vm_spawn LOG COMMAND [ARG...] - starts a server in the guest, output to LOG there; prints its pid
vm_spawn() {
	local log=$1

	shift
	# The log is emptied first: an earlier server's output must not be taken for this one's.
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh ': >"$1"; log=$1; shift; setsid "$@" </dev/null >"$log" 2>&1 & echo $!' "$log" "$@"
}

# vm_until SECONDS SCRIPT [ARG...] - waits until the script succeeds in the guest: so long on an idle machine, up to
# five times that on a busy one
vm_until() {
	local limit=$(($1 * 5)) script=$2

	shift 2
	# shellcheck disable=SC2016 # the guest's shell expands it
	VM_TIMEOUT=$limit vm_sh 'script=$1; shift
		until sh -c "$script" sh "$@" >/dev/null 2>&1; do usleep 20000; done' "$script" "$@"
}

# For scripts in the guest: await MICROSECONDS COMMAND waits until it succeeds, but not so long that the host ends
# the script without a word.
# shellcheck disable=SC2016,SC2034 # the guest's shell expands it
VM_AWAIT='await() {
		nap=$1 end=$(($(date +%s) + 200)); shift
		until eval "$*"; do
			[ $(date +%s) -lt $end ] || { echo "waited in vain for: $*"; ps; tail /tmp/*; exit 99; }
			usleep $nap
		done
	}'

# For scripts in the guest: asleep PID.  A process's state is set before it has left its CPU; the kernel waits for that
# in this system call.  And moved PID: its migrations, as the kernel counts them.
# shellcheck disable=SC2016,SC2034 # the guest's shell expands it
VM_ASLEEP='asleep() { grep -q ") S" /proc/$1/stat && ! grep -q running /proc/$1/syscall; }
	moved() { sed -n "s/^se.nr_migrations *: *//p" /proc/$1/sched; }'

# For scripts in the guest: succeeds if the daemon has the tables of the files that are mapped now; its log has
# sampling=read.  What the kernel's programs have asked for is read before the second request.
# shellcheck disable=SC2016,SC2034 # the guest's shell expands it
VM_FILES_ARE_READ='files_are_read() {
		pmccontrol -l >/dev/null && pmccontrol -l >/dev/null &&
			[ "$(grep -o "[0-9]* files wait" /tmp/pmcbpfd.log | tail -n 1)" = "0 files wait" ]
	}
'

vm_put() {
	"$VM_DIR/guest" put "$VM_ID" "$@"
}

vm_get() {
	"$VM_DIR/guest" get "$VM_ID" "$@"
}

# vm_one_cpu, vm_all_cpus - take all CPUs of the guest but the first offline, and back. Exact counts need one CPU:
# QEMU has a single instruction counter for all CPUs of an -icount guest, so instructions of another CPU to which
# QEMU has switched would be counted, too.
vm_one_cpu() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do [ ! -e $cpu ] || echo 0 >$cpu || exit; done'
}

vm_all_cpus() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do [ ! -e $cpu ] || echo 1 >$cpu || exit; done'
}

# vm_clean_log - fails, showing them, if the guest's kernel has complained
vm_clean_log() {
	! vm dmesg | grep -E 'WARNING|BUG:|Oops|Call trace:|Call Trace:|rcu: INFO|hung_task|lockup'
}

# vm_kmod - loads the module; there is one for the kernels of headers.tsv
vm_kmod() {
	vm insmod "/lib/pmcbpf/$VM_RELEASE/pmcbpf_msr.ko"
}

# vm_daemon [OPTION...] - starts pmcbpfd in the guest and waits until it is ready; log: /tmp/pmcbpfd.log
# shellcheck disable=SC2120 # tests in other files pass options
vm_daemon() {
	local pid

	pid=$(vm_spawn /tmp/pmcbpfd.log pmcbpfd -f "$@")
	# By pid: its name may not be pmcbpfd yet.  Loading takes a quarter of a minute, more beside other guests.
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_until 180 'grep -q "^hwpmc: " /tmp/pmcbpfd.log || ! kill -0 $1' "$pid"
	if ! vm grep -q "^hwpmc: " /tmp/pmcbpfd.log; then
		vm cat /tmp/pmcbpfd.log
		return 1
	fi
}

# vm_daemon_stop [SIGNAL] - ends it and waits until it is gone. A child of the daemon may end by
# itself before it gets the signal.
vm_daemon_stop() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'pids=$(pidof pmcbpfd) || exit
for pid in $pids; do kill -s $1 $pid || [ ! -e /proc/$pid ] || exit; done' "${1:-TERM}"
	vm_until 60 '! pidof pmcbpfd'
}

# one_of_each - a kernel of each architecture, for what does not depend on the kernel
one_of_each() { [[ $VM_KERNEL =~ ^(6.1-x86|6.12-arm64)$ ]] || skip "does not depend on the kernel: 6.1-x86 and 6.12-arm64 prove it"; }

# status_is STATUS, says TEXT, has TEXT - check the result of `run`, and show it if it differs
# shellcheck disable=SC2154 # bats sets status and output
status_is() {
	[ "$status" -eq "$1" ] || { echo "status $status, wanted $1; output: $output" >&2; return 1; }
}

says() {
	[ "$output" = "$1" ] || { printf 'output: %s\nwanted: %s\n' "$output" "$1" >&2; return 1; }
}

has() {
	[[ $output == *"$1"* ]] || { printf 'output: %s\nwanted: *%s*\n' "$output" "$1" >&2; return 1; }
}

# run_counts PMCSTAT-ARGUMENT... - a command from its start; sets counts[]
# shellcheck disable=SC2154 # bats sets output and lines
run_counts() {
	run vm pmcstat -q --csv -C "$@"
	echo "$output"
	status_is 0
	IFS=, read -r -a counts <<<"${lines[-1]}"
	counts=("${counts[@]:1}")
}

# is A B [TOLERANCE] - two numbers are the same, or differ by at most that much
is() {
	local difference=$(($1 - $2))

	[ "${difference#-}" -le "${3:-0}" ] || {
		echo "$1, wanted $2${3:+ within $3}" >&2
		return 1
	}
}

# vm_require_arch ARCH - skips the test on guests of another architecture
vm_require_arch() {
	[ "$VM_ARCH" = "$1" ] || skip "needs an $1 guest: $VM_KERNEL is $VM_ARCH"
}

# vm_once - skips a test that does not depend on the kernel, except on one kernel of each architecture
vm_once() {
	[[ $VM_KERNEL == 6.12-* ]] || skip "does not depend on the kernel: 6.12-* runs it"
}

# vm_stop - ends the guest; its console goes to $PMCBPF_VM_LOGS (a directory) if that is set
vm_stop() {
	[ -n "${VM_ID:-}" ] || return 0
	if [ -n "${PMCBPF_VM_LOGS:-}" ]; then
		mkdir -p "$PMCBPF_VM_LOGS"
		"$VM_DIR/guest" console "$VM_ID" >"$PMCBPF_VM_LOGS/$VM_ID.console"
	fi
	"$VM_DIR/guest" stop "$VM_ID"
	unset VM_ID
}

# address SYMBOL - of the workload, which is where it was linked to
address() {
	readelf -sW "${PMCBPF_VM_OVERLAY:-$VM_OUT/vm/overlay}/$VM_ARCH/usr/bin/load" | awk -v name="$1" '$8 == name { print "0x" $2; exit }'
}

# guest_cc ARGUMENT... - the compiler for the guest's programs
guest_cc() {
	local machine=aarch64
	[ "$VM_ARCH" = arm64 ] || machine=x86_64
	"$machine-linux-gnu-gcc" "$@"
}

# counts_between_start_and_stop WORK ORDER... - six processes each do WORK, which is 10 events, before or after ATTACH,
# START, STOP and DETACH of the PMC that wireclient's order allocates
counts_between_start_and_stop() {
	run vm_sh "$VM_AWAIT"'
		cd /tmp; rm -f orders answers out.*; mkfifo orders
		PMCBPF_SOCKET=/run/pmcbpf/pmc.sock wireclient hello orders <orders >answers & client=$!
		exec 6>orders
		orders=0
		order() {
			echo "$*" >&6
			orders=$((orders + 1))
			await 20000 "[ \$(grep -cx \"[.]\" answers) -ge $orders ]"
			echo "$1: $(tail -n 2 answers | head -n 1)"
		}
		work() {
			eval kill -USR1 "\$load$1"
			await 20000 "[ \$(grep -c ^all out.$1) -eq 2 ]"
		}
		what=$1; shift
		order "$@"
		for n in 0 1 2 3 4 5; do
			load -w $what >out.$n & eval load$n=$!
			await 20000 grep -q ready out.$n
			[ $n -eq 0 ] || eval order attach "\$load$n"
		done
		work 1; order start
		work 0; order read
		work 2; order read; order stop
		work 3; order read; order start
		work 4; order read; order detach $load5
		work 5; order read; order stop; order write 5; order read
		kill $client $load0 $load1 $load2 $load3 $load4 $load5' "$@"
	echo "$output"
	[ "$(sed -n 's/^read: read 0 //p' <<<"$output" | tr '\n' ' ')" = '0 10 10 20 20 5 ' ]
}
