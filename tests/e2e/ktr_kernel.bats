#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The kernel's trace rings: off until asked for, one for each CPU, in the page's words, frozen and thawed.

load helpers
load ktr

setup() {
	need_root
	TRACE=$BATS_TEST_TMPDIR/trace
}

teardown() { stop_daemon || true; }

@test "KTR-30 KTR-38: off until requested: no program, map, pin or thread, and tools print how to turn it on" {
	start_ktr
	[ -z "$(attached)" ]
	[ ! -e "/sys/fs/bpf/pmcbpf/ktr-$DAEMON_PID" ]
	threads=$(ls "/proc/$DAEMON_PID/task" | wc -l)
	run ktr info
	[ "$output" = 'compile 0 missing 0 mask 0 saved ffff77ff frozen 0 entries 0 ncpu '"$(rings)"' written 0 stopped ""' ]
	for order in read freeze thaw clear mark=x; do
		run ktr "$order"
		[ "$status" -eq 1 ]
		[[ $output == *': No such device or address: there are no trace rings: ktr.compile is "none"; ktrctl compile SCHED,SYSC makes some' ]]
	done
	[ "$(ls "/proc/$DAEMON_PID/task" | wc -l)" -eq "$threads" ]
	ktr ktr.compile=PROC
	[ "$(ls "/proc/$DAEMON_PID/task" | wc -l)" -eq $((threads + 1)) ]
	[ -e "$(pin)" ]
	ktr ktr.compile=none
	[ -z "$(attached)" ]
	[ ! -e "/sys/fs/bpf/pmcbpf/ktr-$DAEMON_PID" ]
	field_is entries 0
}

@test "KTR-39: ktr.size=0 makes no rings and loads no program, whatever classes are compiled in" {
	start_ktr -o ktr.size=0 -o ktr.compile=all
	[ -z "$(attached)" ]
	field_is entries 0
	run ktr read
	[ "$status" -eq 1 ]
	[[ $output == *'there are no trace rings: ktr.size is 0' ]]
}

@test "KTR-11 KTR-15 KTR-17 KTR-18: the region describes itself: 1024 entries for each CPU, in ns" {
	start_ktr -o ktr.compile=PROC
	run ktr header
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "version 1 entries 1024 ncpu $(rings) flags 1 clock 4 compile 1000 cpumask "*" pid $DAEMON_PID comm kernel" ]]
	[ ${#lines[@]} -eq $((1 + $(rings))) ]
	before=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
	trace true
	after=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
	[ "$(wc -l <"$TRACE")" -gt 0 ]
	awk -v from="$before" -v to="$after" '$3 < from || $3 > to { exit 1 }' <(grep ' sched_process_' "$TRACE")
}

@test "KTR-22 KTR-25 KTR-27: only compiled classes are loaded, and attached while they are on" {
	start_ktr -o ktr.compile=PROC,SYSC -o ktr.mask=PROC -o ktr.stop=none
	attached_is 'sched_process_exec sched_process_exit sched_process_fork task_newtask task_rename '
	field_is compile 3000
	ktr ktr.mask=SYSC
	attached | grep -qx sys_enter
	# kept for a second, in case it is wanted again
	wait_for attached_is 'sys_enter sys_exit '
	ktr ktr.mask=none
	wait_for attached_is ''
	ktr ktr.mask=SYSC
	attached_is 'sys_enter sys_exit '
	ktr ktr.compile=PROC
	attached_is ''
	field_is compile 1000
	field_is mask 2000
}

@test "KTR-31: a class that is not compiled in: its bit is kept, without effect until it is compiled in" {
	start_ktr -o ktr.compile=PROC -o ktr.mask=SIG
	trace bash -c 'kill -0 $$'
	[ ! -s "$TRACE" ] || refute grep -v 'tracing frozen' "$TRACE"
	field_is mask 400
	ktr ktr.compile=SIG
	trace bash -c 'trap : USR1; kill -USR1 $$'
	grep -q 'signal 10 to' "$TRACE"
}

@test "KTR-26: all classes load; events that no kernel has are reported" {
	start_ktr -o ktr.compile=all
	missing=$(field missing)
	[ "$(field compile)" = "$(printf %x $((0xffffffff & ~0x$missing)))" ]
	# SPL, SPARE4, VOP
	[ $((0x$missing & 0x98000)) -eq $((0x98000)) ]
	wait_for grep -qE 'pmcbpfd: this kernel has no trace points of class .*SPL,SPARE4,.*VOP' "$DAEMON_LOG"
	refute grep -q refused "$DAEMON_LOG"
}

@test "KTR-01 KTR-43: system calls in the page's format, with errno and result" {
	start_ktr -o ktr.compile=SYSC -o $BIG
	trace cat /nonexistent
	by_tid $TID >"$BATS_TEST_TMPDIR/calls"
	# exit_group has no end
	grep -qE '^syscall p=0x[0-9a-f]+ #0x[0-9a-f]+$' "$BATS_TEST_TMPDIR/calls"
	grep -qE '^syscall p=0x[0-9a-f]+ err=2 ret=fffffffffffffffe$' "$BATS_TEST_TMPDIR/calls"
	refute grep -qvE '^syscall p=0x[0-9a-f]+ (#0x[0-9a-f]+|err=[0-9]+ ret=[0-9a-f]+)$' "$BATS_TEST_TMPDIR/calls"
	[ "$(cut -d' ' -f2 "$BATS_TEST_TMPDIR/calls" | sort -u | wc -l)" -eq 1 ]
	[[ $(tail -n 1 "$BATS_TEST_TMPDIR/calls") == *"#0x"* ]]
}

@test "KTR-76: PROC: forks, names, execs, exits" {
	start_ktr -o ktr.compile=PROC -o $BIG
	trace bash -c 'exec -a long-name-of-a-program /bin/false'
	texts | grep -qx "fork parent=[0-9]* child=$TID"
	texts | grep -qE "^new task tid=$TID flags=[0-9a-f]+ bash$|^new task tid=$TID flags=[0-9a-f]+ .*"
	by_tid $TID | grep -qx "exec pid=$TID bash"
	by_tid $TID | grep -qx "rename tid=$TID bash to false"
	by_tid $TID | grep -qx "exec pid=$TID false"
	by_tid $TID | grep -qx "exit tid=$TID code=100 false"
}

@test "SIG: sender and receiver of a signal, and its delivery" {
	start_ktr -o ktr.compile=SIG -o $BIG
	trace bash -c 'trap : USR1; kill -USR1 $$; trap "" USR2; kill -USR2 $$'
	by_tid $TID | grep -qx "signal 10 to tid=$TID code=0 res=0"
	by_tid $TID | grep -qx 'signal 10 delivered code=0'
	by_tid $TID | grep -qx "signal 12 to tid=$TID code=0 res=1"
	by_tid $TID >"$BATS_TEST_TMPDIR/signals"
	refute grep -q 'signal 12 delivered' "$BATS_TEST_TMPDIR/signals"
}

@test "KTR-F13: SCHED: switches as lines for schedgraph, RUNQ: wake-ups and migrations" {
	start_ktr -o ktr.compile=SCHED,RUNQ -o $BIG
	mkfifo "$BATS_TEST_TMPDIR/never"
	# It sleeps several times: a nap may be over before the CPU is given away.
	trace bash -c '(sleep 0.01) & wait; for i in 1 2 3 4; do read -t 0.1 <>"$0"; done' "$BATS_TEST_TMPDIR/never"
	texts | grep -qxE "KTRGRAPH group:\"thread\", id:\"[^\"]+ tid $TID\", state:\"running\", attributes: prio:[0-9]+"
	texts | grep -qxE "KTRGRAPH group:\"thread\", id:\"[^\"]+ tid $TID\", state:\"sleep\", attributes: prio:[0-9]+"
	texts | grep -qxE "KTRGRAPH group:\"thread\", id:\"[^\"]+ tid $TID\", point:\"wokeup\", attributes: prio:[0-9]+"
	texts | grep -qxE "wakeup tid=$TID prio=[0-9]+ cpu=[0-9]+"
	texts | grep -qxE 'wakeup new tid=[0-9]+ prio=[0-9]+ cpu=[0-9]+'
	# the scheduled thread is the one that runs
	awk '/state:"running"/ { if (match($0, /tid [0-9]+"/)) { t = substr($0, RSTART + 4, RLENGTH - 5); if (t != $4) exit 1 } }' "$TRACE"
}

@test "KTR-23 KTR-24: every class of the machine has its events; events of two classes come with either" {
	start_ktr -o ktr.compile=all -o ktr.mask=none -o $BIG
	# has CLASS PATTERN: while only that class is on
	has() {
		ktr "ktr.mask=$1"
		trace work
		texts | grep -qxE "$2" || { echo "$1: no $2" >&2; texts | sort | uniq -c | sort -rn | head -n 20 >&2; return 1; }
		bits=$(awk '{ print $6 }' "$TRACE" | sort -u | tr '\n' ' ')
		echo "$1: $bits"
	}
	work() {
		echo 'ktr e2e' >/dev/kmsg
		dd if=/dev/zero of="$BATS_TEST_TMPDIR/file" bs=64k count=4 conv=fsync
		python3 -c 'import socket
l = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(l.getsockname())
c.send(b"x"); l.accept()[0].recv(1); u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.sendto(b"x", l.getsockname())'
		flock "$BATS_TEST_TMPDIR/file" true
		sleep 0.02
	}
	has GEN 'ktr e2e'
	has NET 'net xmit skb=0x[0-9a-f]+ len=[0-9]+ dev=lo rc=0'
	has NET 'net queue skb=0x[0-9a-f]+ len=[0-9]+ dev=lo'
	has INET 'sock 0x[0-9a-f]+ state 2 to 1 lport=[0-9]+ rport=[0-9]+'
	has MALLOC 'kmalloc 0xffff[0-9a-f]+ size=[0-9]+ from 0xffff[0-9a-f]+'
	has MALLOC 'kfree 0xffff[0-9a-f]+ from 0xffff[0-9a-f]+'
	has UMA 'slab alloc 0xffff[0-9a-f]+ size=[0-9]+ from 0xffff[0-9a-f]+ [a-zA-Z0-9_:-]+'
	has VM 'page alloc 0xffff[0-9a-f]+ order=[0-9]+ gfp=[0-9a-f]+'
	has VM 'mmap area at 0x[0-9a-f]+'
	has VFS 'flock ino=[0-9]+ res=0'
	has CALLOUT 'hrtimer 0x[0-9a-f]+ fn=0xffff[0-9a-f]+ expires=[0-9]+'
	has CALLOUT 'timer 0x[0-9a-f]+ fn=0xffff[0-9a-f]+ expires=[0-9]+'
	has INTR 'softirq vec=[0-9]+'
	if [ "$(uname -m)" = x86_64 ]; then
		has TRAP 'pagefault addr=0x[0-9a-f]+ ip=0x[0-9a-f]+ err=[0-9a-f]+'
		has PMAP 'tlb flush pages=-?[0-9]+ reason=[0-9]+'
		has CLK 'clock tick'
		# TRAP | PMAP
		has PMAP 'kernel pagefault addr=0x[0-9a-f]+ ip=0xffff[0-9a-f]+ err=[0-9a-f]+'
		has TRAP 'kernel pagefault addr=0x[0-9a-f]+ ip=0xffff[0-9a-f]+ err=[0-9a-f]+'
		grep -qE ' page_fault_kernel 140 ' "$TRACE"
	fi
}

@test "LOCK and CONTENTION: the thread that waits for a lock, and how long" {
	[ "$(nproc)" -gt 1 ] || skip "takes two CPUs"
	grep -qw contention_begin /sys/kernel/tracing/available_events 2>/dev/null ||
		[ -d /sys/kernel/tracing/events/lock/contention_begin ] || skip "no such tracepoint"
	start_ktr -o ktr.compile=LOCK,CONTENTION -o $BIG
	# one pipe and one lock for all of them
	contend() { timeout $PATIENCE bash -c 'for i in 1 2 3 4; do (for ((n = 0; n < 3000; n++)); do echo x; done) & done | cat >/dev/null; wait'; }
	for ((try = 0; try < 50; try++)); do
		trace contend
		texts | grep -qE '^lock contention 0x' && texts | grep -q '^lock contention end' && break
	done
	texts | grep -qxE 'lock contention 0x[0-9a-f]+ flags=[0-9a-f]+'
	texts | grep -qxE 'lock contention end 0x[0-9a-f]+ res=-?[0-9]+'
	texts | grep -qxE 'lock 0x[0-9a-f]+ waited [0-9]+ ns'
}

@test "PTRACE: only these calls" {
	command -v strace >/dev/null || skip "no strace"
	start_ktr -o ktr.compile=PTRACE -o $BIG
	trace strace -o /dev/null true
	texts | grep -qE '^ptrace request=0x[0-9a-f]+ pid=[0-9]+$'
	refute grep -q 'syscall p=' "$TRACE"
}

@test "KTR-04 KTR-73: each CPU has a ring of its own" {
	[ "$(nproc)" -gt 1 ] || skip "takes two CPUs"
	start_ktr -o ktr.compile=SYSC -o $BIG
	for cpu in 0 1; do
		trace taskset -c $cpu bash -c 'for i in 1 2 3 4 5 6 7 8 9; do kill -0 $$; done; exec true'
		# before the switch it may have run anywhere
		[ "$(sort -k 3n "$TRACE" | awk -v tid=$TID '$4 == tid { print $1 }' | tail -n 20 | sort -u)" = $cpu ]
	done
}

@test "KTR-F04: CPUs that are not in ktr.cpumask write nothing" {
	[ "$(nproc)" -gt 1 ] || skip "takes two CPUs"
	start_ktr -o ktr.compile=SYSC -o ktr.cpumask=1
	trace bash -c 'taskset -c 0 true; taskset -c 1 true'
	[ "$(grep -v ' tracing ' "$TRACE" | cut -d' ' -f1 | sort -u)" = 1 ]
	[[ $(ktr header) == *' cpumask 2 '* ]]
	# explicit marks are written nevertheless
	only_marks
	ktr mark=everywhere read | grep -q '^0 .* - 1 everywhere$'
	ktr ktr.cpumask=all
	trace bash -c 'taskset -c 0 true; taskset -c 1 true'
	# With more than two CPUs others may have entries as well.
	grep -q '^0 ' "$TRACE"
	grep -q '^1 ' "$TRACE"
	run ktr ktr.cpumask=0,900
	[ "$status" -eq 1 ]
	[[ $output == *"ktr.cpumask: this machine has no CPU 900, its last is $(($(rings) - 1))" ]]
	[[ $(ktr header) != *' cpumask 1 '* ]]
}

# Only marked entries, on one CPU.
only_marks() {
	taskset -pc 0 "$DAEMON_PID" >/dev/null
	ktr clear
}

@test "KTR-07 KTR-13: a new entry overwrites the oldest, numbers continue; a ring may have one entry" {
	start_ktr -o ktr.compile=INIT -o ktr.mask=none -o ktr.size=512
	only_marks
	for i in {1..13}; do ktr "mark=number $i" >/dev/null; done
	run ktr read
	[ "$status" -eq 0 ]
	[ ${#lines[@]} -eq 8 ]
	for i in {0..7}; do
		[[ ${lines[i]} == "0 $((i + 5)) "*" - 1 number $((i + 6))" ]]
	done
	ktr ktr.size=64
	only_marks
	ktr mark=first mark=second
	run ktr read
	[[ $output == '0 1 '*' - 1 second' ]]
	field_is entries 1
}

@test "a mark is cut to 31 bytes and has its writer's tid" {
	start_ktr -o ktr.compile=INIT -o ktr.mask=none
	only_marks
	ktr "mark=0123456789abcdef0123456789abcdef01" >/dev/null
	ktr mark= read | tee "$TRACE"
	grep -qE '^0 0 [0-9]+ [0-9]+ - 1 0123456789abcdef0123456789abcde$' "$TRACE"
	grep -qE '^0 1 [0-9]+ [0-9]+ - 1 $' "$TRACE"
	[ "$(cut -d' ' -f4 "$TRACE" | sort -u | wc -l)" -eq 2 ]
}

@test "KTR-33: freezes nest; the last thaw restores the mask" {
	start_ktr -o ktr.compile=PROC -o ktr.mask=PROC,SIG
	ktr freeze freeze
	field_is mask 0
	field_is saved 1400
	field_is frozen 2
	written=$(field written)
	true
	/bin/true
	[ "$(field written)" = "$written" ]
	run ktr mark=x
	[[ $output == *'tracing is frozen; ktrctl thaw ends that' ]]
	# while frozen, the mask to restore may change
	ktr ktr.mask=PROC
	field_is mask 0
	field_is saved 1000
	ktr thaw
	field_is mask 0
	ktr thaw
	field_is mask 1000
	field_is frozen 0
	run ktr thaw
	[ "$status" -eq 1 ]
	[[ $output == 'thaw: Invalid argument: tracing is not frozen' ]]
	ktr freeze read | grep -qE ' - 1 tracing frozen by ktrread pid=[0-9]+$'
	ktr thaw freeze read | grep -qE ' - 1 tracing goes on, by ktrread pid=[0-9]+$'
}

@test "KTR-71: the freeze is its CPU's last entry: not even the end of its own system call follows" {
	start_ktr -o ktr.compile=SYSC -o $BIG
	for _ in 1 2 3 4 5; do
		ktr freeze read thaw clear >"$TRACE"
		grep -q 'syscall p=' "$TRACE"
		sort -k 1,1n -k 2n "$TRACE" | awk '
			/ tracing frozen by / { cpu = $1; n = $2 }
			cpu != "" && $1 == cpu && $2 > n { print; late = 1 }
			END { exit cpu == "" || late }'
	done
}

@test "long freezes detach the programs; a thaw attaches them before it returns" {
	start_ktr -o ktr.compile=PROC -o ktr.stop=none
	# They stay attached for a second; a later look proves nothing.
	for ((try = 0; try < 20; try++)); do
		began=${EPOCHREALTIME/./}
		ktr freeze
		seen=$(attached)
		[ -z "$seen" ] || break
		[ $((${EPOCHREALTIME/./} - began)) -ge 1000000 ]
		ktr thaw
	done
	[ -n "$seen" ]
	wait_for attached_is ''
	ktr thaw
	attached | grep -qx sched_process_fork
	trace true
	grep -q 'fork parent' "$TRACE"
}

@test "KTR-F10: clear forgets all entries, new sizes make new rings" {
	start_ktr -o ktr.compile=PROC
	/bin/true
	ktr freeze
	[ "$(field written)" -gt 0 ]
	ktr clear
	field_is written 0
	[ -z "$(ktr read)" ]
	ktr ktr.size=8192 thaw
	field_is entries 128
	trace true
	grep -q 'fork parent' "$TRACE"
	[ -e "$(pin)" ]
}

@test "KTR-12 KTR-14: impossible sizes: EINVAL and ENOMEM, and the rings stay as they are" {
	start_ktr -o ktr.compile=PROC
	run ktr ktr.size=100
	[ "$status" -eq 1 ]
	[[ $output == 'ktr.size: Invalid argument: ktr.size takes the bytes of each CPU'"'"'s ring, a power of two from 64 to 1073741824, or 0 for no rings, not "100"' ]]
	# Slightly more, over all CPUs, than the daemon may have.
	for ((size = 64; size * $(rings) < 150000000; size *= 2)); do :; done
	prlimit --pid "$DAEMON_PID" --as=$(($(awk '/VmSize/ { print $2 }' "/proc/$DAEMON_PID/status") * 1024 + 100000000))
	run ktr ktr.size=$size
	[ "$status" -eq 1 ]
	[[ $output == 'ktr.size: Cannot allocate memory: '*'trace rings'* ]]
	run ktr info
	[[ $output == *' entries 1024 '* ]]
	trace true
	grep -q 'fork parent' "$TRACE"
	[ "$(pmccontrol --tunable ktr.size)" = 65536 ]
}

@test "KTR-72: the mapping has the contents that bpftool shows, and user space cannot write to it" {
	command -v bpftool >/dev/null || PATH=$PATH:/usr/sbin
	start_ktr -o ktr.compile=PROC,SIG
	/bin/true
	ktr freeze
	ktr dump >"$BATS_TEST_TMPDIR/mapping"
	bpftool -j map dump pinned "$(pin)" >"$BATS_TEST_TMPDIR/dump"
	python3 - "$BATS_TEST_TMPDIR" <<-'EOF'
		import json, sys
		at = sys.argv[1]
		slots = json.load(open(at + "/dump"))
		view = bytearray()
		for n, slot in enumerate(slots):
		    assert int.from_bytes(bytes(int(b, 16) for b in slot["key"]), "little") == n
		    view += bytes(int(b, 16) for b in slot["value"])
		assert bytes(view) == open(at + "/mapping", "rb").read()
		assert "ktr_time" in slots[-1]["formatted"]["value"]
	EOF
	run ktr write
	[ "${lines[0]}" = 'write Operation not permitted' ]
	[ "${lines[1]}" = 'mprotect Permission denied' ]
	mapfile -t zeroes < <(printf '00\n%.0s' {1..64})
	run bpftool map update pinned "$(pin)" key hex 00 00 00 00 value hex "${zeroes[@]}"
	[ "$status" -ne 0 ]
}

@test "KTR-34 KTR-37: ktr.stop: a signal freezes the entries that led to it, and its name is reported" {
	start_ktr -o ktr.compile=PROC,SYSC -o ktr.stop=signal:SEGV,signal:XFSZ -o $BIG
	bash -c 'kill -TERM $$' || true
	field_is frozen 0
	bash -c 'kill -SEGV $$' &
	victim=$!
	wait $victim || true
	[[ $(ktr info) == *" mask 0 saved ffff77ff frozen 1 "*" stopped \"signal 11 to $victim (bash)\"" ]]
	ktr read >"$TRACE"
	# the newest entry of all, except for calls in progress
	grep -q " - 1 tracing stopped: signal 11 to $victim (bash)\$" "$TRACE"
	[ "$(by_tid $victim | grep -n 'tracing stopped' | cut -d: -f1)" -ge $(($(by_tid $victim | wc -l) - 2)) ]
	# a concurrent copy does not end the freeze
	ktr freeze thaw
	field_is frozen 1
	written=$(field written)
	/bin/true
	[ "$(field written)" = "$written" ]
	ktr thaw
	[[ $(ktr info) == *' mask ffff77ff '*' stopped ""' ]]
	bash -c 'kill -XFSZ $$' || true
	[[ $(ktr info) == *' stopped "signal 25 to '*' (bash)"' ]]
}

@test "KTR-37: ktr.stop: any tracepoint; one that the kernel lacks is refused and nothing changes" {
	start_ktr -o ktr.compile=PROC -o ktr.stop=none
	run ktr ktr.stop=tp:sched_process_exec,tp:no_such_point
	[ "$status" -eq 1 ]
	[[ $output == 'ktr.stop: No such file or directory: ktr.stop: this kernel has no tracepoint "no_such_point"'* ]]
	[ "$(pmccontrol --tunable ktr.stop)" = none ]
	/bin/true
	field_is frozen 0
	# Nor in between, if another process execs.
	touch "$BATS_TEST_TMPDIR/execs"
	(while [ -e "$BATS_TEST_TMPDIR/execs" ]; do /bin/true; done) 3>&- &
	for _ in {1..50}; do
		run ktr ktr.stop=tp:sched_process_exec,tp:no_such_point
		[ "$status" -eq 1 ]
	done
	rm "$BATS_TEST_TMPDIR/execs"
	wait $!
	field_is frozen 0
	ktr ktr.stop=oom,tp:task:task_rename,tp:sched_process_exec
	/bin/true
	# Another process's exec may have passed its first point by then.
	[[ $(ktr info) =~ ' frozen 1 '.*' stopped "'('tracepoint '(task_rename|sched_process_exec))'"'$ ]]
	ktr read | grep -q " - 1 tracing stopped: ${BASH_REMATCH[1]}\$"
	ktr ktr.stop=none thaw
	/bin/true
	field_is frozen 0
}

@test "KTR-80: other users may query, not read; with ktr.unprivileged they get a copy without addresses" {
	# the contents of a copy
	for ((size = 4194304; size * $(rings) > 16777216; size /= 2)); do :; done
	start_ktr -o ktr.compile=SYSC,MALLOC,PROC,GEN -o ktr.size=$size
	b=$(public_build)
	[ "$b" = "$BUILD" ] || cp "$BUILD/tests/ktrread" "$b/tests"
	run run_as_nobody ktrread info
	[ "$status" -eq 0 ]
	for order in freeze thaw clear mark=x ktr.mask=none; do
		run run_as_nobody ktrread "$order"
		[ "$status" -eq 1 ]
		[[ $output == *': Operation not permitted: '*CAP_PERFMON* ]]
	done
	run run_as_nobody ktrread read
	[[ $output == *'Operation not permitted: the kernel'"'"'s trace rings need CAP_PERFMON, or ktr.unprivileged="1" in pmcbpf.conf' ]]
	pmccontrol --tunable ktr.unprivileged=1
	# The newest entries of each class, however many the others have.
	ktr ktr.mask=SYSC,MALLOC
	/bin/true
	ktr ktr.mask=PROC,GEN
	echo 'a secret for e2e' >/dev/kmsg
	/bin/true
	ktr freeze read >"$TRACE"
	grep -q 'kmalloc 0xffff' "$TRACE"
	grep -q 'a secret' "$TRACE"
	[[ $(run_as_nobody ktrread header) == *' flags 5 '* ]]
	run_as_nobody ktrread read >"$TRACE.nobody"
	[[ $(run_as_nobody ktrread write) == *'write Operation not permitted'* ]]
	grep -qE 'kmalloc 0x0 size=[0-9]+ from 0x0$' "$TRACE.nobody"
	grep -qE 'fork parent=[0-9]+ child=[0-9]+$' "$TRACE.nobody"
	refute grep -q 'a secret' "$TRACE.nobody"
	refute grep -qE 'ffff[0-9a-f]{12}' "$TRACE.nobody"
	# in a container nothing of them, not even as root there
	gives_like 1 "*: Operation not permitted: the kernel's trace rings are not for processes in a container; read them on the host" \
		unshare --user --map-root-user ktrread read
	# the same entries, by number
	diff <(cut -d' ' -f1-6 "$TRACE.nobody") <(grep -v ' console ' "$TRACE" | cut -d' ' -f1-6)
}

@test "writers neither lose nor tear entries while rings wrap and are read" {
	start_ktr -o ktr.compile=SYSC,SCHED,INTR,UMA,MALLOC -o ktr.size=8388608
	local writers=()
	for ((i = 0; i < 4; i++)); do
		(timeout $PATIENCE bash -c 'for ((n = 0; n < 1500; n++)); do kill -0 $$; : >/dev/null; done') 3>&- &
		writers+=($!)
	done
	wait "${writers[@]}"
	ktr freeze read >"$TRACE"
	refute grep -q ^torn "$TRACE"
	[ "$(wc -l <"$TRACE")" -gt 10000 ]
	refute grep -q ' lost [^0]' <(ktr header)
}
