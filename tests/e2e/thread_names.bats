#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What threads are called: THR_CREATE records have it, from the beginning and at each change.

load helpers

setup() {
	in_tmpdir_with_daemon "${ROOM[@]}"
	mkdir -m 777 open
	# A program that all users may run.
	PYTHON=$(PATH=/usr/bin:/bin command -v python3)
	cat >open/names.py <<-'END'
		import ctypes, sys, threading
		libc = ctypes.CDLL(None)
		def work(new):
		    libc.prctl(15, new)
		    libc.prctl(15, b"renamed-again")
		    bytearray(b"x" * (4 << 20))
		def thread(new):
		    t = threading.Thread(target=work, args=(new,))
		    t.start()
		    t.join()
		if "wait" in sys.argv:
		    libc.prctl(15, b"named-before")
		    print("ready", flush=True)
		    sys.stdin.readline()
		    thread(b"worker-3")
		else:
		    thread(b"worker-1")
		    libc.prctl(15, b"the-main-thread")
		    thread(b"worker-2")
	END
}

# names LOG: the names of "main" and of the threads, in the order of their records, a line for each process.
names() {
	pmcstat -q -R "$1" | awk '$1 == "thr-create" { gsub("\"", "")
		of[$3] = of[$3] (of[$3] ? " " : "") ($2 == $3 ? "main:" : "") $NF }
		END { for (pid in of) print of[pid] }'
}

wanted='python3 worker-1 renamed-again main:the-main-thread the-main-thread worker-2 renamed-again'

@test "a new thread has its creator's name, each change is a record: in one process and in all" {
	pmcstat -q -n 100 -P PAGE_FAULT.ALL -O own "$PYTHON" open/names.py
	run names own
	echo "$output"
	[[ "$output " == *"$wanted " ]]
	run_as_nobody pmcstat -q -n 100 -P PAGE_FAULT.ALL -O open/log "$PYTHON" open/names.py
	run names open/log
	echo "$output"
	[[ "$output " == *"$wanted " ]]
	pmcstat -q -n 100 -S PAGE_FAULT.ALL -O all "$PYTHON" open/names.py
	run names all
	grep -q "${wanted#python3 }\$" <<<"$output"
	# Samples of a thread are found by its name.
	[ "$(pmc filter -j --keep -T renamed-again own - | grep -c '"callchain"')" -ge 5 ]
}

@test "an attach logs the names of existing threads" {
	mkfifo go
	exec 5<>go
	chmod 666 go
	"${nobody[@]}" "$PYTHON" open/names.py wait <go >out 3>&- 5>&- &
	TARGET=$!
	wait_for grep -q ready out
	run_as_nobody pmcstat -q -n 1 -P PAGE_FAULT.ALL -t $TARGET -O open/log 3>&- 5>&- & measuring=$!
	attached() { pmcstat -q -R open/log | grep -q '^attach'; }
	wait_for attached
	echo >&5
	wait $measuring
	TARGET=
	run names open/log
	echo "$output"
	[ "$output" = "main:named-before named-before worker-3 renamed-again" ]
}

@test "a program with more rights hides the names of its threads from its user's log" {
	cp "$(readlink -f "$(command -v perl)")" open/perl
	chown 65533 open/perl
	chmod 4755 open/perl
	# shellcheck disable=SC2016 # perl's
	"${nobody[@]}" env PATH="$(public_build)/bin:$PATH" LD_LIBRARY_PATH="$(public_build)/lib" pmcstat -q -n 1 \
		-P PAGE_FAULT.ALL -O open/log perl -e '$0 = "known-before"; exec "open/perl", "-e", q{
			$0 = "secret"; print "$> $<\n"; open(F, "/proc/self/comm"); print <F>}' >out
	[ "$(cat out)" = $'65533 65534\nsecret' ]
	run names open/log
	echo "$output"
	[[ $output == *main:known-before ]]
	[[ $output != *secret* ]]
}
