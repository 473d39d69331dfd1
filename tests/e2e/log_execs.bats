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
	umount -l slow 2>/dev/null || true
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
		pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O log sh -c './trap; true'
		pmcstat -R log >text
		grep -q '^exec .*/trap"$' text || { cat text; false; }
	done
}

# The kernel zeroes the end of the image's data in the exec, and waits for the file's page.
@test "an exec that is still in progress at the end of a log is a gap there" {
	[ -c /dev/fuse ] || skip "the kernel has no FUSE"
	echo 'int data = 1, zero[16]; void _start(void) { __builtin_trap(); }' >image.c
	cc -static -nostdlib -Wl,-z,max-page-size=65536,-z,noseparate-code -o image image.c
	mkdir slow
	python3 "$BATS_TEST_DIRNAME/held_file.py" slow image >server 2>&1 3>&- &
	STRANGERS+=($!)
	wait_for grep -q ready server
	mkfifo go
	sh -c 'read -r _; exec slow/image' <go 3>&- &
	local target=$!
	STRANGERS+=("$target")
	exec 7>go
	client a
	ask a alloc 2 15 0x20004 any 0 setcount 1000000000 attach $target log "$PWD/log" start
	echo >&7
	exec 7>&-
	wait_for grep -q held server
	ask a endlog
	pmcstat -R log >text
	grep -q '^drop' text || { cat text; false; }
}
