#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The kernel reports an exec in pieces, and all later records wait for them.  What is logged up to the end of a PMC or of a log does
# not depend on the execs of others.

load helpers

setup() {
	command -v cc >/dev/null || skip "no C compiler"
	in_tmpdir_with_daemon "${ROOM[@]}"
	cc -O1 -static -nostdlib -no-pie -fno-stack-protector -DSELF="\"$PWD/again\"" -o again "$BATS_TEST_DIRNAME/again.c"
	python3 "$BATS_TEST_DIRNAME/segments.py" again
	STRANGERS=()
	# One of them makes progress on a busy machine, too: execs that take more than 20 ms hold nothing up.
	for nice in -10 0; do
		nice -n $nice ./again 3>&- &
		STRANGERS+=($!)
	done
}

teardown() {
	kill -KILL "${STRANGERS[@]}" 2>/dev/null || true
	stop_daemon KILL || true
}

@test "beside long execs a log has all samples up to a stop, and up to a release" {
	cc -xc -D_GNU_SOURCE -I"$BATS_TEST_DIRNAME/../../lib/include" -o samples - -xnone -L"$BUILD/lib" -lpmc-compat \
		-Wl,--allow-shlib-undefined <<-'C'
		#include <fcntl.h>
		#include <stdio.h>
		#include <sys/mman.h>
		#include <sys/types.h>
		#include <pmc.h>

		#define CHECK(call) do { if ((call) != 0) { fprintf(stderr, "%s: %s\n", #call, pmc_errstr()); return 1; } } while (0)
		#define PAGES 100

		int main(void)
		{
			char *memory = mmap(NULL, PAGES << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			pmc_id_t id;

			madvise(memory, PAGES << 12, MADV_NOHUGEPAGE);
			CHECK(pmc_init());
			CHECK(pmc_configure_logfile(open("log", O_RDWR | O_CREAT | O_TRUNC, 0600)));
			for (int i = 0; i < 50; i++) {
				CHECK(pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TS, 0, PMC_CPU_ANY, &id, 1));
				CHECK(pmc_attach(id, 0));
				CHECK(pmc_start(id));
				for (int page = 0; page < PAGES; page++)
					memory[page << 12] = 1;
				if (i % 2)
					CHECK(pmc_stop(id));
				CHECK(pmc_release(id));
				madvise(memory, PAGES << 12, MADV_DONTNEED);
			}
			CHECK(pmc_flush_logfile());
			return 0;
		}
	C
	./samples
	pmcstat -R log >text
	[ "$(grep -c '^callchain' text)" -ge 5000 ]
}

@test "beside long execs a log has all execs up to its end" {
	echo 'void _start(void) { __builtin_trap(); }' >trap.c
	cc -static -nostdlib -o trap trap.c
	for _ in {1..10}; do
		pmcstat -q -d -E -n 1 -P PAGE_FAULT.ALL -O log sh -c './trap; true'
		pmcstat -R log >text
		grep -q '^exec .*/trap"$' text || { cat text; false; }
	done
}

# Beside a hog in real time that leaves them 2 ms of 60, its execs take most of a second, and nearly all of its time.
@test "an exec that is still in progress at the end of a log is a gap there" {
	command -v chrt >/dev/null || skip "chrt is not installed"
	taskset -c 0 ./again 3>&- &
	local target=$!
	STRANGERS+=("$target")
	client a
	ask a alloc 2 15 0x20004 any 0 setcount 1000000000 attach $target
	chrt -f 50 taskset -c 0 python3 -c '
import time
while True:
    end = time.monotonic() + 0.06
    while time.monotonic() < end:
        pass
    time.sleep(0.002)' 3>&- &
	STRANGERS+=($!)
	# While the log has no exec, the process may not have been found in one.
	execs() { ask a flushlog && pmcstat -R log | grep -q '^exec'; }
	for _ in {1..5}; do
		ask a log "$PWD/log" start
		wait_for execs
		ask a endlog
		pmcstat -R log >text
		! grep -q '^drop' text || break
	done
	grep -q '^drop' text
}
