#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Who may attach to whom: what each kernel answers for users, groups, capabilities, set-id programs,
# namespaces and Yama.

load helpers

setup() {
	vm_sh 'killall -q -9 stand wireclient load setid; echo 0 >/proc/sys/kernel/yama/ptrace_scope; :'
}

# attach CLIENT TARGET [WORD...] - CLIENT tries to attach to TARGET, which waits; both are options of stand. "heir
# N" as TARGET: its own Nth descendant
# shellcheck disable=SC2016 # the guest's shell expands it
attach() {
	run vm_sh 'export PMCBPF_SOCKET=/run/pmcbpf/pmc.sock
		try="wireclient hello alloc 3 15 0x20004 any 0"
		case $2 in
		heir*) stand $1 $try $2 attach heir ;;
		*)	rm -f /tmp/target # left by the call before
			stand $2 >/tmp/target & target=$!
			until [ -s /tmp/target ]; do kill -0 $target || exit; usleep 10000; done
			stand $1 $try attach $target
			status=$?
			kill $target
			exit $status ;;
		esac' "$@"
	status_is 0
}

allowed() {
	attach "$@"
	[[ $output == *$'\nattach 0' ]] || { echo "$*: $output" >&2; return 1; }
}

# refused REASON CLIENT TARGET
refused() {
	attach "${@:2}"
	[[ $output == *$'\nattach EPERM -- process '*"$1"* ]] || { echo "$*: $output" >&2; return 1; }
}

alice='-u 1000 -g 1000' bob='-u 1001 -g 1001'
ptrace=0x80000 perfmon=0x4000000000 admin=0x200000 net=0x1000

@test "REQ-043, REQ-179: same user and same group, or no access" {
	allowed "$alice" "$alice"
	refused 'belongs to another user or group' "$alice" "$bob"
	refused 'belongs to another user or group' "$alice" '-u 1000 -g 1001'
	refused 'belongs to another user or group' '-u 1000 -g 1001' "$alice"
	refused 'belongs to another user or group' "$alice" ''
	refused 'belongs to another user or group' "$alice" '-u 0 -g 1000'
}

@test "REQ-043: capabilities beyond one's own forbid it, CAP_SYS_PTRACE permits all" {
	refused 'has capabilities that you lack' "$alice" "$alice -c $net"
	allowed "$alice -c $net" "$alice -c $net"
	allowed "$alice -c $ptrace" "$bob"
	allowed "$alice -c $ptrace" ''
	allowed "$alice -c $ptrace" "$bob -d"
	refused 'belongs to another user or group' "-c $net" "$bob"
}

@test "REQ-042: the super-user attaches to any process: root, CAP_PERFMON, CAP_SYS_ADMIN" {
	allowed '' "$bob -d"
	allowed "$alice -c $perfmon" ''
	allowed "$alice -c $admin" "$bob -n"
}

@test "REQ-179: a process that is not dumpable" {
	refused 'PR_SET_DUMPABLE 0' "$alice" "$alice -d"
}

# shellcheck disable=SC2016 # the guest's shell expands it
@test "REQ-179: set-id programs, and programs that the user may execute but not read" {
	vm_sh 'cp /usr/bin/load /tmp/setid; chown 1001:1001 /tmp/setid'
	for mode in '4755 another' '2755 another' '0711 PR_SET_DUMPABLE'; do
		run vm_sh 'export PMCBPF_SOCKET=/run/pmcbpf/pmc.sock; rm -f /tmp/out
			chmod $1 /tmp/setid
			stand -u 1000 -g 1000 /tmp/setid -w spins=1 >/tmp/out 2>&1 & target=$!
			until grep -qs ready /tmp/out; do kill -0 $target || exit; usleep 10000; done
			stand -u 1000 -g 1000 wireclient hello alloc 3 15 0x20004 any 0 attach $target
			kill -9 $target' "${mode% *}"
		echo "$mode: $output; $(vm cat /tmp/out)"
		has 'attach EPERM -- process'
		has "${mode#* }"
	done
}

# shellcheck disable=SC2016 # the guest's shell expands it
@test "a set-id program cannot send on its caller's connection, wherever the exec happens" {
	vm_sh 'cp /usr/bin/wireclient /tmp/setid; chown 0:0 /tmp/setid; chmod 4755 /tmp/setid'
	run vm_sh 'export PMCBPF_SOCKET=/run/pmcbpf/pmc.sock
		stand -u 1000 -g 1000 wireclient hello bequeath /tmp/setid
		rm -f /tmp/out; killall -STOP pmcbpfd
		stand -u 1000 -g 1000 wireclient connect bequeath /tmp/setid >/tmp/out &
		until grep -qs bequeath /tmp/out; do usleep 10000; done
		owner=$(sed -n "s/^bequeath //p" /tmp/out)
		until grep -q "^Uid:.1000.0.0.0" /proc/$owner/status; do usleep 10000; done
		killall -CONT pmcbpfd
		wait
		cat /tmp/out
		wireclient hello settunable security.bsd.unprivileged_syspmcs 0'
	echo "$output"
	[ "$(grep -c "^listen closed" <<<"$output")" -eq 2 ]
	[ "$(grep -c "^listen EPERM -- process .*connect again" <<<"$output")" -eq 1 ]
	[ "$(grep -c "^listen" <<<"$output")" -eq 3 ]
	has 'settunable 0'
}

@test "REQ-043, trap 7: root of a user namespace may attach to the processes inside" {
	allowed "$alice -n" 'heir 1'
	allowed "$alice -n" 'heir 3'
	refused 'outside of the container' "$alice -n" "$alice"
	refused 'outside of the container' "$alice -n" "$alice -n"
	refused 'outside of the container' "$alice -n" "$bob"
	refused 'outside of the container' '-n' "$alice"
	# The creator of a container has all rights in it.
	allowed "$alice" "$alice -n"
	refused 'belongs to another user or group' "$bob" "$alice -n"
}

# shellcheck disable=SC2016 # the guest's shell expands it
@test "D13, REQ-183: a pid namespace limits the processes that a client can name, with or without a descriptor" {
	run vm_sh 'export PMCBPF_SOCKET=/run/pmcbpf/pmc.sock
		rm -f /tmp/target; stand -u 1000 -g 1000 >/tmp/target & target=$!
		until [ -s /tmp/target ]; do usleep 10000; done
		stand -u 1000 -g 1000 wireclient keep $target inside hello alloc 3 15 0x20004 any 0 \
			attach kept attach $target heir 2 attach heir start rows 0 who
		kill $target'
	echo "$output"
	[[ $output =~ attach\ ESRCH\ --\ there\ is\ no\ process.*attach\ ESRCH\ --\ there\ is\ no\ process ]]
	has $'\nattach 0\nstart 0\nrows 0 SOFT0/THREAD/1/PAGE_FAULT.ALL\nwho 1'
}

@test "REQ-178, C-20: root in a user namespace is not the super-user" {
	run vm_sh 'PMCBPF_SOCKET=/run/pmcbpf/pmc.sock stand -u 1000 -g 1000 -n wireclient hello \
		alloc 1 15 0x2000b 0 0 admin 0 0 4 alloc 3 15 0x20004 any 0 start'
	echo "$output"
	has 'alloc EPERM -- '
	has 'admin EPERM -- '
	has $'\nalloc 0'
	has $'\nstart 0'
}

need_yama() {
	vm test -e /proc/sys/kernel/yama/ptrace_scope || skip "this kernel has no Yama"
}

@test "Yama 1: one's own descendants, or CAP_SYS_PTRACE; PR_SET_PTRACER_ANY" {
	need_yama
	vm_sh 'echo 1 >/proc/sys/kernel/yama/ptrace_scope'
	allowed "$alice" 'heir 1'
	allowed "$alice" 'heir 4'
	refused 'is no child of yours' "$alice" "$alice"
	allowed "$alice" "$alice -a"
	refused 'belongs to another user or group' "$alice" "$bob -a"
	allowed "$alice -c $ptrace" "$bob"
	allowed '' "$bob"
	allowed "$alice -n" 'heir 2'
	refused 'belongs to another user or group' "$alice" "$bob"
}

# shellcheck disable=SC2016 # the guest's shell expands it
@test "Yama 1: PR_SET_PTRACER for this client, and for another" {
	need_yama
	vm_sh 'echo 1 >/proc/sys/kernel/yama/ptrace_scope'
	for whose in client other; do
		run vm_sh 'export PMCBPF_SOCKET=/run/pmcbpf/pmc.sock; rm -f /tmp/target
			tracer=$$
			[ $1 = client ] || { sleep 600 & tracer=$!; }
			# It is an orphan by the time of the attach.
			(stand -u 1000 -g 1000 -p $tracer >/tmp/target & )
			until [ -s /tmp/target ]; do usleep 10000; done
			exec stand -u 1000 -g 1000 wireclient hello alloc 3 15 0x20004 any 0 attach $(cat /tmp/target)' $whose
		echo "$whose: $output"
		case $whose in
		client) has $'\nattach 0' ;;
		other)	has 'attach EPERM -- process' && has 'is no child of yours' ;;
		esac
	done
	vm_sh 'killall sleep'
}

@test "a Landlock domain: its own children only, even with CAP_SYS_PTRACE" {
	vm stand -l true || skip "this kernel has no Landlock"
	allowed "$alice -l" 'heir 1'
	allowed "$alice -l" 'heir 3'
	attach "$alice -l" "$alice"
	has 'attach EPERM -- nothing has proven'
	attach "$alice -l -c $ptrace" "$bob"
	has 'attach EPERM -- '
	allowed "$alice -l -c $perfmon" "$bob"
}

@test "Yama 2: CAP_SYS_PTRACE only; oneself always" {
	need_yama
	vm_sh 'echo 2 >/proc/sys/kernel/yama/ptrace_scope'
	refused 'ptrace_scope is 2' "$alice" "$alice -a"
	refused 'ptrace_scope is 2' "$alice" 'heir 1'
	allowed "$alice -c $ptrace" "$bob"
	allowed "$alice -n" 'heir 1'
	allowed "$alice -c $perfmon" "$bob"
	run vm_sh 'PMCBPF_SOCKET=/run/pmcbpf/pmc.sock stand -u 1000 wireclient hello alloc 3 15 0x20004 any 0 \
		attach 0 start read'
	has $'\nattach 0\nstart 0\nread 0 '
}

# The last test: Yama's 3 is permanent.
@test "Yama 3: no process, except for the super-user, who needs no permission to count" {
	need_yama
	vm_sh 'echo 3 >/proc/sys/kernel/yama/ptrace_scope'
	refused 'ptrace_scope is 3' "$alice" "$alice"
	refused 'ptrace_scope is 3' "$alice" 'heir 1'
	attach "$alice -c $ptrace" "$bob"
	has 'attach EPERM -- process'
	allowed "$alice -c $perfmon" "$bob"
	allowed '' "$bob"
}

# PERF-315, PERF-316, PERF-317
@test "kernel.perf_event_paranoid restricts users of perf, not of the daemon: both sides of one's own processes" {
	run vm_sh 'export PMCBPF_SOCKET=/run/pmcbpf/pmc.sock
		for level in 3 2 1 0 -1; do
			echo $level >/proc/sys/kernel/perf_event_paranoid
			stand -u 1000 -g 1000 wireclient hello alloc 3 15 0x20004 any 0 attach 0 start
			stand -u 1000 -g 1000 wireclient hello alloc 1 15 0x20004 0 0
			stand -u 1000 -g 1000 wireclient hello alloc 3 15 0x20004 any 0 attach 1
		done 2>&1 | grep -E "^(start|alloc E|attach E)"'
	echo "$output"
	[ "${#lines[@]}" -eq 15 ]
	for ((i = 0; i < 15; i += 3)); do
		[[ ${lines[i]} == "start 0" && ${lines[i + 1]} == "alloc EPERM -- system-scope PMCs need CAP_PERFMON"* ]]
		[[ ${lines[i + 2]} == "attach EPERM -- process 1 belongs to another user"* ]]
	done
}

@test "the kernel has not complained" {
	vm_clean_log
}
