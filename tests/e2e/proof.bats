#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A client without privilege proves that it may debug a process: by its /proc/PID/mem, which the kernel
# opens for debuggers only, whatever security module it has asked for that.

load helpers

teardown() {
	part_all
	[ -z "${TARGET:-}" ] || kill -KILL "$TARGET" || true
	[ -z "${OTHER:-}" ] || kill -KILL "$OTHER" || true
	stop_daemon KILL || true
}

# Readable by all users, in a folder that all may enter.
needs() {
	open_tmpdir
	cp "$BUILD/tests/wireclient" "$BUILD/tests/stand" "$BATS_TEST_TMPDIR"
	PATH=$BATS_TEST_TMPDIR:$PATH
}

as_ptracer() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all,+sys_ptrace \
		--ambient-caps=-all,+sys_ptrace "$@"
}

is_nobodys() { grep -q '^Uid:.65534' "/proc/$1/status" && is_program "$1" sleep; }

# target [AS...]: a sleeping process, in TARGET, which is not a child of ours.
target() {
	local yama=/proc/sys/kernel/yama/ptrace_scope
	[ ! -e $yama ] || [ "$(<$yama)" = 0 ] || skip "kernel.yama.ptrace_scope is not 0"
	"$@" sleep 600 3>&- &
	TARGET=$!
	wait_for is_program "$TARGET" sleep
	wait_for asleep "$TARGET"
}

# says ERROR PATTERN: the only ATTACH is answered so.
says() {
	echo "$output"
	# shellcheck disable=SC2053 # a pattern
	[[ "$(grep '^attach ' <<<"$output")" == "attach $1"$2 ]]
}

count='alloc 3 15 0x20004 any 0'
tree='alloc 3 15 0x20004 any 2'

@test "a Landlock domain: the client attaches to its own children, and to no process outside of it" {
	needs
	run stand -l true
	[ "$status" -ne 77 ] || skip "this kernel has no Landlock"
	target "${nobody[@]}"
	run "${nobody[@]}" wireclient hello $count attach $TARGET
	says 0 ''
	run stand -u 65534 -g 65534 -l wireclient hello $count attach $TARGET
	says EPERM " -- *security module (Landlock, *"
	run stand -u 65534 -g 65534 -l wireclient hello $count heir 1 attach heir
	says 0 ''
	run stand -u 65534 -g 65534 -l wireclient hello $count heir 3 attach heir
	says 0 ''
	# A child with a nested domain of its own.
	run stand -u 65534 -g 65534 -l wireclient hello heir 2 $tree attach 0 detach heir
	says 0 ''
	grep -q '^detach 0$' <<<"$output"
}

@test "a Landlock domain binds CAP_SYS_PTRACE as well, and for the daemon's super-user it does not exist" {
	needs
	run stand -l true
	[ "$status" -ne 77 ] || skip "this kernel has no Landlock"
	target
	run stand -u 65534 -g 65534 -c 0x80000 -l wireclient hello $count attach $TARGET
	says EPERM " -- *"
	run stand -c 0x4000000000 -l wireclient hello $count attach $TARGET
	says 0 ''
}

@test "CAP_SYS_PTRACE without the right to read others' files: /proc/PID/maps suffices, for such clients only" {
	needs
	target
	run as_ptracer wireclient hello $count attach $TARGET
	says 0 ''
	kill -KILL $TARGET
	target "${nobody[@]}"
	run "${nobody[@]}" wireclient hello $count proof file /proc/$TARGET/maps attach $TARGET
	says EPERM " -- *"
	run as_ptracer wireclient hello $count proof file /proc/$TARGET/maps attach $TARGET
	says 0 ''
}

@test "no proof: an older library receives that reason; oneself and the privileged need none" {
	needs
	target "${nobody[@]}"
	run "${nobody[@]}" wireclient hello $count proof none - attach $TARGET
	says EPERM " -- nothing has proven *libpmc-compat is older than pmcbpfd: update it*"
	run "${nobody[@]}" wireclient hello $count proof none - attach 0
	says 0 ''
	run wireclient hello $count proof none - attach $TARGET
	says 0 ''
	run "${nobody[@]}" wireclient hello $count detach $TARGET
	grep -q '^detach ESRCH' <<<"$output"
	# The obstacle is reported if the client may see it.
	kill -KILL $TARGET
	target
	run "${nobody[@]}" wireclient hello $count proof none - attach $TARGET
	says EPERM " -- *belongs to another user or group*"
}

@test "invalid proofs" {
	needs
	target "${nobody[@]}"
	"${nobody[@]}" sleep 600 3>&- & OTHER=$!
	wait_for is_nobodys $OTHER
	cp /dev/null "$BATS_TEST_TMPDIR/mem"
	for proof in "file $BATS_TEST_TMPDIR/mem" "opath /proc/$TARGET/mem" "file /proc/$TARGET/environ" \
		"file /proc/$TARGET/auxv" "file /proc/$TARGET/status" "file /proc/$TARGET" "epoll -" "file /dev/zero"; do
		# shellcheck disable=SC2086 # two words
		run "${nobody[@]}" wireclient hello $count proof $proof attach $TARGET
		says EPERM " -- the second descriptor is not /proc/$TARGET/mem*"
	done
	for proof in "file /proc/$OTHER/mem" "file /proc/self/mem" "file /proc/$OTHER/maps" "dead -"; do
		# shellcheck disable=SC2086 # two words
		run "${nobody[@]}" wireclient hello $count proof $proof attach $TARGET
		says EPERM " -- the second descriptor is another process's*"
	done
	# A forked twin has the same contents at the same addresses.
	run "${nobody[@]}" wireclient hello heir 2 $count proof file /proc/twin/mem attach heir
	says EPERM " -- the second descriptor is another process's*"
	run "${nobody[@]}" wireclient hello heir 2 $count proof file /proc/heir/mem attach heir
	says 0 ''
	run "${nobody[@]}" wireclient hello $count proof file /proc/$TARGET/mem attach $TARGET
	says 0 ''
}

@test "another procfs is valid, and its file of that name proves what it proves there" {
	needs
	unshare --mount true 2>/dev/null || skip "no mount namespaces here"
	target "${nobody[@]}"
	mkdir "$BATS_TEST_TMPDIR/proc"
	# shellcheck disable=SC2016 # the other shell expands it
	run unshare --mount bash -c 'mount -t proc proc "$1" && shift && exec "$@"' bash \
		"$BATS_TEST_TMPDIR/proc" "${nobody[@]}" wireclient hello $count \
		proof file "$BATS_TEST_TMPDIR/proc/$TARGET/mem" attach $TARGET
	says 0 ''
	# shellcheck disable=SC2016 # the other shell expands it
	run unshare --mount bash -c 'touch "$1"; mount --bind "$1" /proc/$2/mem && shift 2 && exec "$@"' bash \
		"$BATS_TEST_TMPDIR/mem" $TARGET "${nobody[@]}" wireclient hello $count attach $TARGET
	says EPERM " -- the second descriptor is not /proc/$TARGET/mem*"
}

@test "more than two descriptors" {
	needs
	target "${nobody[@]}"
	run "${nobody[@]}" wireclient hello $count fds 1 attach $TARGET
	says EPROTO " -- PMCATTACH takes at most two descriptors, not 3"
	run "${nobody[@]}" wireclient hello $count fds 1 detach $TARGET
	grep -q '^detach EPROTO -- PMCDETACH takes at most one descriptor, not 2$' <<<"$output"
}

@test "a process that has executed another program since is checked again" {
	needs
	open_tmpdir
	waits_to_become "${nobody[@]}" -- "$BUILD/tests/load" -w spins=1
	client c "${nobody[@]}"
	ask c $count
	ask c proof file /proc/$TARGET/mem
	go
	expect c "attach EBUSY -- process $TARGET has just executed another program; try again" attach $TARGET
	expect c 'attach 0' attach $TARGET
}

@test "a process without its main thread proves nothing" {
	needs
	run "${nobody[@]}" wireclient hello $count headless proof file /proc/heir/mem attach heir
	says 0 ''
	run "${nobody[@]}" wireclient hello $count headless proof file /proc/heir/mem behead attach heir
	says EPERM " -- process * has no memory to prove anything by: its main thread has exited*"
}
