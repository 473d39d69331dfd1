#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# A machine that has crashed: its memory, dumped by QEMU or read through its gdb stub, has the trace rings, and
# tdump finds them there without symbols or page tables.

load helpers

# A dump takes long, and only our own part of it is tested.
chosen() { [[ ${PMCBPF_VM_KERNEL:-6.1-x86} =~ ^(6.1-x86|6.12-arm64)$ ]]; }

setup_file() {
	PATH="$(cd "$VM_OUT" && pwd)/bin:$PATH"
	export LD_LIBRARY_PATH="$VM_OUT/lib"
	export DUMP=$BATS_FILE_TMPDIR/memory TRACE=$BATS_FILE_TMPDIR/trace
	chosen || return 0
	vm_start --daemon --append panic=0 --mem 384
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'ktrread ktr.size=524288 ktr.compile=SCHED,SYSC,PROC,GEN
		for i in 1 2 3 4 5 6 7 8 9; do ktrread "mark=before the crash $i"; done'
	# it never answers
	"$VM_DIR/guest" run "$VM_ID" -- sh -c 'echo c >/proc/sysrq-trigger' >/dev/null 2>&1 3>&- &
	local run=$! end=$((SECONDS + 180))
	until "$VM_DIR/guest" console "$VM_ID" | grep -q 'end Kernel panic'; do
		[ $SECONDS -lt $end ] || return
		sleep 0.2
	done
	kill -KILL $run
	"$VM_DIR/guest" monitor "$VM_ID" stop
	"$VM_DIR/guest" monitor "$VM_ID" dump-guest-memory "$DUMP"
	tdump -q -M "$DUMP" >"$TRACE"
}

setup() {
	PATH="$(cd "$VM_OUT" && pwd)/bin:$PATH"
	export LD_LIBRARY_PATH="$VM_OUT/lib"
	chosen || skip "one kernel of each architecture proves it"
}

teardown_file() {
	vm_stop
}

@test "KTR-62: tdump -M finds the rings in a dump of the crashed machine's memory" {
	for i in {1..9}; do
		[ "$(grep -c "before the crash $i\$" "$TRACE")" -eq 1 ]
	done
	grep -qE 'syscall p=0x[0-9a-f]+ #0x[0-9a-f]+$' "$TRACE"
	grep -qE 'KTRGRAPH group:"thread", id:"[^"]+ tid [0-9]+", state:"running"' "$TRACE"
	# of each CPU's ring every entry, without a gap
	python3 - "$TRACE" <<-'EOF'
		import sys
		last = {}
		for line in open(sys.argv[1]):
		    cpu, index = (int(word, 16) for word in line.split()[:2])
		    assert index == (last.get(cpu, index + 1) - 1) % 8192, line
		    last[cpu] = index
		assert len(last) == 2
	EOF
}

@test "KTR-35: the panic has stopped tracing, and the newest entry is about it" {
	# The other CPU may have been about to write one.
	head -n 2 "$TRACE"
	grep -q ' tracing stopped: panic: sysrq triggered crash$' <(head -n 2 "$TRACE")
	cpu=$(sed -n '/ tracing stopped: /s/ .*//p' "$TRACE")
	grep -m 1 "^$cpu " "$TRACE" | grep -q ' tracing stopped: '
	run grep -c 'tracing stopped' "$TRACE"
	[ "$output" = 1 ]
	grep -q ' sysrq: Trigger a crash$' "$TRACE"
}

@test "KTR-63: tdump -R reads the same entries from the machine itself" {
	[ "$VM_KERNEL" = 6.1-x86 ] || skip "takes half a minute; 6.1-x86 proves it"
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	"$VM_DIR/guest" monitor "$VM_ID" gdbserver "tcp:127.0.0.1:$port"
	timeout 1500 tdump -q -R "127.0.0.1:$port" | cmp - "$TRACE"
}
