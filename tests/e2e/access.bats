#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Privileges, tunables and identities on this kernel; what kernels answer for users, groups, set-id
# programs and Yama is in tests/vm/access.bats.

load helpers

setup() { need_root; }

# Three kinds of clients, as a prefix of the command that they run.
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"; }
as_perfmon() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all,+perfmon \
		--ambient-caps=-all,+perfmon "$@"
}
as_jailed() { as_user unshare --user --map-root-user "$@"; }

# A client that all three can execute.
raw() { "$(public_build)/tests/wireclient" "$@"; }
raw_as() {
	local who=$1
	shift
	run "as_$who" "$(public_build)/tests/wireclient" hello "$@"
}

# may WHO ERROR MODE CPU...: WHO's allocation of a context switch counter ends with ERROR
may_allocate() {
	raw_as "$1" alloc "$3" 15 "$4" "$5" 0
	grep -q "^alloc $2\( \|$\)" <<<"$output" || { echo "$*: $output" >&2; return 1; }
}

@test "REQ-109, REQ-110, REQ-115, C-20: unprivileged_syspmcs affects unprivileged users only" {
	start_daemon
	for value in unset 1 0; do
		if [ $value != unset ]; then
			stop_daemon
			start_daemon -o security.bsd.unprivileged_syspmcs=$value
		fi
		local expected=EPERM
		[ $value != 1 ] || expected=0
		may_allocate user $expected 1 0x2000b 0
		may_allocate perfmon 0 1 0x2000b 0
		may_allocate jailed EPERM 1 0x2000b 0
		grep -q 'not for processes in a container' <<<"$output"
		# Process scope is open to all users.
		may_allocate user 0 3 0x2000b any
		may_allocate jailed 0 3 0x2000b any
	done
}

@test "REQ-109, REQ-116: unprivileged_syspmcs is read from the file at the start and again at SIGHUP" {
	local conf=$BATS_TEST_TMPDIR/conf
	echo 'security.bsd.unprivileged_syspmcs="1"' >"$conf"
	start_daemon -c "$conf"
	may_allocate user 0 1 0x2000b 0
	echo 'security.bsd.unprivileged_syspmcs="0"' >"$conf"
	kill -HUP "$DAEMON_PID"
	wait_for may_allocate user EPERM 1 0x2000b 0
	grep -q 'unprivileged_syspmcs="1" in pmcbpf.conf\|unprivileged_syspmcs' <<<"$output"
}

# attaches WHO ERROR: WHO attaches to a child of the same user
may_attach() {
	raw_as "$1" alloc 3 15 0x20004 any 0 heir 1 attach heir
	grep -q "^attach $2\( \|$\)" <<<"$output" || { echo "$*: $output" >&2; return 1; }
}

@test "REQ-111, REQ-112, REQ-117: unprivileged_proc_debug=0 forbids other processes, not one's own" {
	start_daemon
	may_attach user 0
	may_attach jailed 0
	stop_daemon
	start_daemon -o security.bsd.unprivileged_proc_debug=0
	may_attach user EPERM
	grep -q 'unprivileged_proc_debug="0".*attach to yourself, or get CAP_PERFMON' <<<"$output"
	may_attach jailed EPERM
	may_attach perfmon 0
	for who in user jailed; do
		raw_as $who alloc 3 15 0x20004 any 0 attach 0 start read alloc 3 15 0x20004 any 0 start
		[ "$(grep -c '^attach 0$' <<<"$output")" -eq 1 ]
		[ "$(grep -c '^start 0$' <<<"$output")" -eq 2 ]
		grep -q '^read 0 ' <<<"$output"
	done
}

@test "REQ-112: an unprivileged process cannot include its own children either" {
	start_daemon -o security.bsd.unprivileged_proc_debug=0
	raw_as user heir 1 alloc 3 15 0x20004 any 2 attach 0 detach heir
	grep -q '^attach 0$' <<<"$output"
	grep -q '^detach ESRCH' <<<"$output"
	raw_as perfmon heir 1 alloc 3 15 0x20004 any 2 attach 0 detach heir
	grep -q '^detach 0$' <<<"$output"
}

@test "REQ-090, REQ-177, REQ-178, C-4: PMCADMIN checks the privilege before the request" {
	start_daemon
	for who in user jailed; do
		# No such CPU, no such row, no state, and no request at all.
		raw_as $who admin 0 0 4 admin 99999 -1 77 op 6 3
		[ "$(grep -c '^admin EPERM -- .*CAP_PERFMON or CAP_SYS_ADMIN' <<<"$output")" -eq 2 ]
		grep -q '^op EPERM' <<<"$output"
	done
	raw_as perfmon op 6 3 admin 99999 0 4
	grep -q '^op EFAULT' <<<"$output"
	grep -q '^admin EINVAL' <<<"$output"
}

# Trap 31: the connection was made as root, and the process is no longer root.
@test "REQ-031, REQ-177, REQ-179: a client's rights are its current ones, not those at connect(2)" {
	start_daemon
	sleep 60 3>&- & local target=$!
	run wireclient hello alloc 1 15 0x2000b 0 0 alloc 3 15 0x20004 any 0 attach $target detach $target \
		setid 65534 attach $target alloc 1 15 0x2000b 0 0 op 6 3 attach 0
	kill $target
	[ "$(grep -c '^alloc 0' <<<"$output")" -eq 2 ]
	[ "$(grep -c '^attach 0$' <<<"$output")" -eq 2 ]
	grep -q "^attach EPERM -- process $target belongs to another user" <<<"$output"
	grep -q '^alloc EPERM' <<<"$output"
	grep -q '^op EPERM' <<<"$output"
	# It keeps its PMCs: only ownership of the handle matters there.
	run wireclient hello alloc 1 15 0x2000b 0 0 setid 65534 start stop read release
	[ "$(grep -cE '^(start|stop|read|release) 0' <<<"$output")" -eq 4 ]
}

# Traps 4 and 5.
@test "REQ-145: a connection serves one process, neither its child nor the receiver of the descriptor" {
	start_daemon
	for how in fork passed; do
		run wireclient hello alloc 3 15 0x20004 any 0 $how start read release
		[ "$(grep -cE '^(start|read|release) EPERM -- .*others make their own' <<<"$output")" -eq 3 ]
	done
}

# Trap 8.
@test "REQ-183: a thread is not a process" {
	start_daemon
	run wireclient hello alloc 3 15 0x20004 any 0 thread
	grep -q '^thread ESRCH -- ' <<<"$output"
}

@test "D13, REQ-183: a process that a container cannot see does not exist for it, even by a descriptor" {
	unshare --pid --user --map-root-user --fork true 2>/dev/null || skip "no namespaces here"
	start_daemon
	setpriv --reuid 65534 --regid 65534 --clear-groups sleep 60 3>&- & local target=$!
	wait_for grep -q "^Uid:.65534" /proc/$target/status
	run as_user "$(public_build)/tests/wireclient" keep $target inside hello alloc 3 15 0x20004 any 0 \
		attach kept attach $target heir 2 attach heir detach heir who
	kill $target
	echo "$output"
	[ "$(grep -c '^attach ESRCH -- there is no process' <<<"$output")" -eq 2 ]
	grep -q '^attach 0$' <<<"$output"
	grep -q '^who 1$' <<<"$output"
}

@test "D13: holders have the pids of the viewer's own namespace, also in nested containers" {
	unshare --pid --fork --mount-proc true 2>/dev/null || skip "no pid namespaces here"
	start_daemon
	client outer unshare --pid --fork --mount-proc
	client sibling unshare --pid --fork --mount-proc
	# As outer sees it, the process in the namespace below has a pid of its own.
	client host
	ask outer alloc 3 15 0x20004 any 0 start
	expect outer 'rows 0 SOFT0/THREAD/1/*' rows 0
	expect sibling 'rows 0 SOFT0/THREAD/-1/*' rows 0
	ask host rows 0
	[[ $reply =~ SOFT0/THREAD/([0-9]+)/ ]]
	[ "${BASH_REMATCH[1]}" -gt 1 ]
	[ "$(awk '/^NSpid/ { print $NF }' "/proc/${BASH_REMATCH[1]}/status")" = 1 ]
	part host
	# bash has pid 1 in the outer namespace, and so sees its child in the nested one.
	run unshare --pid --fork --mount-proc bash -c '
		unshare --pid --fork --mount-proc wireclient hello alloc 3 15 0x20004 any 0 alloc 3 15 0x20004 any 0 \
			hold >"$1" 3>&- &
		until grep -q ^hold "$1"; do sleep 0.05; done
		wireclient hello rows 0; ps -o pid= -C wireclient; kill -9 $!' bash "$BATS_TEST_TMPDIR/out"
	echo "$output"
	[[ $output =~ SOFT1/THREAD/([0-9]+)/ ]]
	[ "${BASH_REMATCH[1]}" -gt 1 ]
	grep -qx " *${BASH_REMATCH[1]}" <<<"$output"
	grep -qx 'hold 1' "$BATS_TEST_TMPDIR/out"
}

@test "a refusal reveals nothing of the target but the reason" {
	start_daemon
	sleep 60 3>&- & local target=$!
	raw_as user alloc 3 15 0x20004 any 0 attach $target
	kill $target
	[ "$(sed -n 's/^attach EPERM -- //p' <<<"$output")" = "process $target belongs to another user or group; \
attach to your own processes, or get CAP_SYS_PTRACE" ]
}
