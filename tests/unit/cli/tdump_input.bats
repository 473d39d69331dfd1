# SPDX-License-Identifier: BSD-2-Clause
#
# What tdump takes as rings, and what it says of everything else.

load tdump

# KTR-62: pages in any order, and duplicated, as a raw image and as an ELF file.
@test "the kernel's entries in a machine's memory" {
	local i
	{
		page_formats
		for ((i = 0; i < 300; i++)); do
			echo entry $((i % 2)) $((1000 + i)) 1 1 "$i" "$i"
		done
	} >spec
	ktrfile rings entries=128 ncpu=2 <spec
	tdump -i rings >wanted
	[ "$(wc -l <wanted)" -eq 256 ]
	ktrfile image entries=128 ncpu=2 image=8192 <spec
	cat image image >twice
	tdump -M twice >got
	cmp wanted <(head -n 256 got)
	# Entries whose slots were next are whole here.
	[ "$(wc -l <got)" -eq 258 ]
	python3 - image vmcore <<-'END'
	import struct, sys
	memory = open(sys.argv[1], "rb").read()
	half = len(memory) // 2 // 4096 * 4096
	# Segments where no page begins in the file, as QEMU writes them.
	head = 64 + 2 * 56 + 20
	load = lambda at, address, size: struct.pack("=IIQQQQQQ", 1, 0, at, 0, address, size, size, 0)
	elf = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("=HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
	elf += load(head + half, 0x100000000, len(memory) - half) + load(head, 0, half)
	open(sys.argv[2], "wb").write(elf.ljust(head, b"\0") + memory)
	END
	tdump -M vmcore | cmp got
	tdump -M vmcore --save saved
	tdump -i saved | cmp wanted
	head -c $(($(stat -c %s vmcore) - 100)) vmcore >short
	gives_like 65 '*truncated*' tdump -M short
	head -c 100000 /dev/zero >zeros
	run -69 tdump -M zeros
	says "tdump: ERROR: \"zeros\": no trace entries of the kernel: no image of a machine, or its rings were off"
}

port_is_known() { read -r PORT <asked; }
# gdbstub MEMORY [WORD]...: a machine behind gdb's protocol; its port is PORT, its notes are in ./asked.
gdbstub() {
	: >asked
	python3 "$BATS_TEST_DIRNAME/gdbstub.py" "$@" >asked 2>stub.errors 3>&- &
	STUB=$!
	wait_for port_is_known
}

# KTR-63: memory with a hole, through each variant of the protocol; only reading commands are sent.
@test "the kernel's entries in a machine behind gdb's protocol" {
	local words i
	{
		page_formats
		for ((i = 0; i < 100; i++)); do
			echo entry $((i % 2)) $((1000 + i)) 1 1 "$i" "$i"
		done
	} | ktrfile image entries=64 ncpu=2 image=8192
	tdump -M image >wanted
	[ "$(wc -l <wanted)" -ge 100 ]
	for words in '' acks packed 'acks packed'; do
		gdbstub image $words
		tdump -R "127.0.0.1:$PORT" | cmp - wanted
		wait $STUB
		[ ! -s stub.errors ]
		diff - <(sed '1d; s/^m .*/m/' asked) <<-END
		qSupported 1
		QStartNoAckMode 1
		Qqemu.PhyMemMode:1 1
		qRcmd 1
		m
		D 1
		END
	done
}

@test "stubs that are not QEMU's, or are cut off" {
	head -c 65536 /dev/zero >memory
	while IFS='|' read -r code word text; do
		gdbstub memory $word
		refused "$code" "127.0.0.1:$PORT: $text" -R "127.0.0.1:$PORT"
		wait $STUB
	done <<-'LIST'
	69|virtual|this stub gives no physical memory; QEMU's does
	69|nowhere|the stub does not report where memory is
	74|silent|Function not implemented
	65|holes|truncated: memory at 0x100000000 is not there
	74|odd|Bad message
	74|letters|Bad message
	74|long|Bad message
	74|ends|Connection reset by peer
	69||no trace entries of the kernel
	LIST
	refused 68 '127.0.0.1:nosuchport: ' -R 127.0.0.1:nosuchport
}

@test "rings of an earlier start of the daemon are not mixed in" {
	printf '%s\n' 'format 1 1 0 x old' 'entry 0 10 1 1' 'entry 0 20 1 1' | ktrfile old generation=7 image=0
	printf '%s\n' 'format 1 1 0 x new' 'entry 0 30 1 1' | ktrfile new generation=8 mono0=25 image=0
	cat old new old >both
	prints tdump -q -M both <<<'0   0        0 new'
}

@test "saved rings are equal, also when saved again" {
	some_file
	tdump --save saved -i some
	tdump --save again -i saved
	diff <(tdump -i some) <(tdump -i saved)
	diff <(tdump -v -f -H -i some) <(tdump -v -f -H -i again)
	some_file image=0
	tdump --save imaged -M some
	[ "$(tdump -q -i imaged | wc -l)" -eq 4 ]
}

@test "wrong options" {
	local options
	some_file
	for options in '-p 0' '-p x' '-c 0' '-T -1' '-C x' '-i some -M some' '-k -i some' '-z -i some' '-N some' \
		'-l -i some' '-r -s -i some' '--json --chrome -i some' '-K --json -i some' '-i some more' '-i' '--nonsense' \
		'--save x -o y -i some' '--save x --chrome -i some' '--save x -l -p 1' '-R nohost'; do
		run -64 tdump $options
	done
	run -64 tdump -i ''
	run -69 tdump -R 127.0.0.1:1
}

# KTR-80: files of rings are not trusted.
@test "files that contain no rings" {
	mkfifo pipe
	: >empty
	head -c 10000 /dev/zero >zeros
	while IFS='|' read -r code text words; do
		refused "$code" "$text" $words
	done <<-LIST
	66|"nothing": No such file|-i nothing
	66|"." is a directory|-i .
	66|"/dev/null" is no regular file|-i /dev/null
	66|"pipe" is no regular file|-M pipe
	66|"empty" is empty|-i empty
	65|"zeros": no trace rings|-i zeros
	65|is an ELF file, but no core|-M $BUILD/bin/tdump
	LIST
	some_file version=2
	refused 65 'unsound rings: ktr version mismatch' -i some
	some_file version=$((1 << 24))
	refused 65 'other byte order' -i some
	some_file
	head -c 5000 some >short
	refused 65 '"short": unsound rings: it is shorter than its rings' -i short
	chmod 000 zeros
	if [ "$(id -u)" -ne 0 ]; then
		refused 77 '"zeros": Permission denied' -i zeros
	fi
}

@test "outputs that cannot be written" {
	some_file
	run -71 --separate-stderr bash -c '"$BUILD/bin/tdump" -i some >/dev/full'
	[ "$stderr" = 'tdump: ERROR: cannot write to standard output: No space left on device' ]
	run bash -c 'exec > >(:); wait $!; "$BUILD/bin/tdump" -i some 2>text; echo $? >status'
	[ "$(<status)" -eq 141 ]
	[ ! -s text ]
	refused 73 'cannot write "nowhere/file"' -i some -o nowhere/file
	refused 71 'cannot write to "/dev/full": No space left on device' -i some -o /dev/full
	refused 73 'cannot write "nowhere/file"' -i some --save nowhere/file
	refused 74 'cannot write "/dev/full": ' -i some --save /dev/full
}

@test "a process without rings, and a missing process" {
	sleep 100 3>&- & pid=$!
	wait_for grep -qx sleep /proc/$pid/comm
	refused 69 'has no trace rings: it is not linked with libktr' -p $pid
	kill $pid
	wait $pid || true
	refused 66 "there is no process $pid" -p $pid
}

# KTR-75: a process's entry newer than now can only come from another clock.
@test "entries that are newer than now: one warning" {
	printf '%s\n' 'entry 0 0x7000000000000000 1 0x1000 1' 'entry 0 0x7000000000000001 1 0x1000 1' | ktrfile future
	live future
	run -0 --separate-stderr tdump -q -p $LIVE
	[ "${#lines[@]}" -eq 2 ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == 'tdump: the newest entry is 0x'*' clocks newer than now: counters of CPUs are not synchronised, '* ]]
	end_live
}

# KTR-77 KTR-80: a process with false rings shows only its own data, and blocks no reader.
@test "a hostile process" {
	local secret
	{
		# Trace points in the stack, in no memory, in the kernel, at an odd place, and strings of the same kinds.
		for desc in 0 0x10 0x7fffffffe000 0xffffffff81000000 0xffffffffffffffff 0x8000000000000000 \
			0xffffffff00001000 0x400001; do
			echo entry 0 5 1 $desc $desc $desc $desc $desc $desc
		done
	} | ktrfile hostile mono0=1 clock0=1 exe=/etc/shadow
	live hostile
	run -0 --separate-stderr tdump -q -p $LIVE
	[ "${#lines[@]}" -eq 8 ]
	for secret in "${lines[@]}"; do
		[[ $secret == *'--- trace entry corrupt ---' ]]
	done
	end_live
	for field in entries=1048576 ncpu=1024 hdrsize=8192; do
		printf '%s\n' 'entry 0 5 1 0' | ktrfile hostile
		[ "${field%=*}" != entries ] || field+=" stride=$((64 + 64 * ${field#*=}))"
		header hostile $field
		live hostile
		run --separate-stderr tdump -q -p $LIVE
		[[ $status == 65 || $status == 0 ]]
		[ "$status" -eq 0 ] || [[ $stderr == *'some of its rings are not there' ]]
		end_live
	done
	# Its head exceeds the possible number.
	printf '%s\n' 'head 0 0xfffffffffffffff0' 'entry 0 5 1 0' | ktrfile hostile entries=16
	live hostile
	run -0 tdump -q -p $LIVE
	end_live
}
