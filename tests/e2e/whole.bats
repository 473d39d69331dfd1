#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Call chains by call frame information: those of stock programs, which keep no frame pointers, reach the
# program's start, and the chains that do not say why.

load helpers

FAULTS=0x20004 CHAIN=0x80 SAMPLES=0x21

setup() { in_tmpdir_with_daemon -o kern.hwpmc.debugflags='sampling=read,init'; }

# ends: of the samples with a part in user code, the number for each end
ends() {
	pmc filter -j log - | python3 -c '
import collections, json, sys
user = [r for r in map(json.loads, sys.stdin) if r["type"] == "callchain" and ("end" in r or int(r["cpuflags"], 0) & 1)]
for end, n in collections.Counter(r.get("end", "none") for r in user).most_common():
    print(end, n)'
}

# all_are_whole: of those all but some in code without information: a compiler's start-up code
all_are_whole() {
	ends | tee ends | awk '{ n[$1] = $2; all += $2 } END { exit !(n["whole"] >= 30 &&
		n["whole"] + n["rule"] == all && n["rule"] <= 2 + all / 100) }' || { cat ends >&2; return 1; }
}

@test "chains of xz, sort, python3 and gcc, as they are, reach the program's start" {
	head -c 1500000 /dev/urandom >random
	base64 -w 20 random >lines
	for i in $(seq 400); do echo "int f$i(int a) { for (int i = 0; i < a; i++) a ^= i * $i; return a; }"; done >made.c
	for command in 'xz -9 -k -c random' 'sort lines' 'python3 -S -c "import json; [json.dumps([str(i) for i in range(60000)]) for n in range(8)]"' \
		'gcc -O2 -c -o /dev/null made.c'; do
		learn sh -c "exec $command"
		pmcstat -q -d -n 300000 -P CPU_CLOCK -O log sh -c "exec $command" >/dev/null
		all_are_whole
	done
}

@test "chains of hits and of waits of stock programs, too" {
	libc=$(ldd "$(command -v sort)" | awk '/libc\.so/ { print $3 }')
	nap=("$(python3 -c 'import sys; print(sys.executable)')" -S -c 'import time; [time.sleep(0.002) for i in range(200)]')
	learn "${nap[@]}"
	pmc record --no-report -c 10 -e "uprobe:$libc:malloc" -o log "${nap[@]}" >/dev/null
	all_are_whole
	pmc record --no-report -c 1 -e kmem:mm_page_alloc -o kernel "${nap[@]}" >/dev/null
	pmc report --folded folded kernel
	grep -q '^python3.*;_start;.*Py_RunMain.*_\[k\] [0-9]*$' folded
	pmccontrol -L | grep -q OFFCPU_TIME || skip "this kernel lets no program run behind a switch"
	pmc record --off-cpu --no-report -o waits "${nap[@]}" >/dev/null
	# At the end of an exec the new program's mappings are not known yet.
	mv waits log
	ends | awk '{ n[$1] = $2; all += $2 } END { exit !(n["whole"] >= 30 && n["process"] <= 1 && n["whole"] + n["process"] == all) }'
}

# record_new COMMAND PMCSTAT-ARGUMENT...: records a shell's command that maps new files: no table is made while it does,
# and until it has read from ./pause.  Then it reads from ./gate.
record_new() {
	local target

	rm -f begin pause gate
	mkfifo begin pause gate
	pmcstat -q -d "${@:2}" -O log sh -c 'echo $$ >pid; read -r _ <begin; '"$1" &
	exec 5>begin
	read -r target <pid
	suspend_daemon
	echo >&5
	exec 5>pause
	wait_for asleep "$target"
	exec 5>&-
	exec 5>gate
	resume_daemon
	read_files
	exec 5>&-
	wait $!
	ends | tee ends
	refute grep -q table ends
}

new_files() {
	cp "$(command -v cat)" mine
	cp "$(ldd mine | awk '/libc\.so/ { print $3 }')" .
	learn env true
	record_new 'LD_LIBRARY_PATH=. exec ./mine pause gate' "$@"
}

@test "first samples of new files are completed when the tables are there" {
	new_files -n 1 -P PAGE_FAULT.ALL
	pmccontrol -s --json | python3 -c 'import json, sys; s = json.load(sys.stdin); assert s["chains_completed"] > 0 and not s["chains_late"], s'
}

@test "first hits and waits of new files are completed as well" {
	pmccontrol -L | grep -q OFFCPU_TIME || skip "this kernel lets no program run behind a switch"
	stop_daemon
	start_daemon "${ROOM[@]}" -o kern.hwpmc.debugflags='sampling=read,init'
	new_files -U -n 1 -P "uprobe:$PWD/libc.so.6:malloc" -n 1 -P OFFCPU_TIME
	pmc report --folded - log | tee folded
	grep -q '^uprobe:libc.so.6:malloc;mine;[^;]*;__libc_start_main[^;]*;.*;malloc [0-9]*$' folded
	grep -q '^OFFCPU_TIME;mine;[^;]*;__libc_start_main[^;]*;.*;read;.*_\[k\];\[sleep\]_\[k\] [0-9]*$' folded
}

@test "first samples, hits and waits in a new library have the Python frames of their moment" {
	read -r python < <(interpreters) || skip "no Python 3.11 to 3.13 on this machine"
	cat >caller.py <<-'end'
		import ctypes, sys
		def inner(path):
		    ctypes.CDLL(path).nap()
		def outer(path):
		    inner(path)
		outer(sys.argv[1])
		for name in sys.argv[2:]:
		    open(name).read()
	end
	echo 'int usleep(unsigned int); void nap(void) { usleep(5000); usleep(5000); }' | gcc -shared -fPIC -o libnew.so -x c -
	for copy in known first second; do cp libnew.so lib$copy.so; done
	stop_daemon
	start_daemon "${ROOM[@]}" -o kern.hwpmc.debugflags='sampling=read,init'
	learn "$python" caller.py ./libknown.so
	record_new "exec $python caller.py ./libfirst.so pause gate" -n 1 -P PAGE_FAULT.ALL
	pmc report --folded folded log
	calls='<module> (caller.py);outer (caller.py);inner (caller.py);'
	grep ';inner (caller.py);.*;_dl_init;' folded || true
	grep -q ";$calls.*;CDLL.__init__ (__init__.py);.*;_init [0-9]*\$" folded
	pmccontrol -L | grep -q OFFCPU_TIME || skip "this kernel lets no program run behind a switch"
	record_new "exec $python caller.py ./libsecond.so pause gate" -U -n 1 -P "uprobe:$PWD/libsecond.so:nap" -n 1 -P OFFCPU_TIME
	pmc report --folded folded log
		grep ';inner (caller.py);.*;nap' folded || true
	grep -q "^uprobe:libsecond.so:nap;.*;$calls.*;nap [0-9]*\$" folded
	grep -q "^OFFCPU_TIME;.*;$calls.*;nap;.*;\[sleep\]_\[k\] [0-9]*\$" folded
}

@test "a process that runs already: from its first sample" {
	workload w pages=200
	client owner
	expect owner 'log 0' log log
	ask owner caps $SAMPLES alloc 2 15 $FAULTS any $CHAIN setcount 1 attach "${WORKLOAD[w]}" start
	wait_for files_are_read
	work w
	ask owner stop
	expect owner 'endlog 0' endlog
	all_are_whole
}

@test "code without information in shared memory, that returns as the trampolines of python -X perf do" {
	[ "$(uname -m)" = x86_64 ] || skip 'its code is for x86-64'
	cat >trampoline.py <<-'end'
		import ctypes, mmap
		page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
		page.write(b"\x48\x83\xec\x08\xff\xd7\x48\x83\xc4\x08\xc3")  # sub $8,%rsp; call *%rdi; add $8,%rsp; ret
		address = ctypes.addressof(ctypes.c_char.from_buffer(page))
		print("ready", flush=True)
		input()
		work = ctypes.CFUNCTYPE(None)(lambda: print(sum(i * i for i in range(2000000))))
		ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.cast(work, ctypes.c_void_p))
	end
	learn python3 -S trampoline.py <<<go
	mkfifo go
	pmcstat -q -d -n 300000 -P CPU_CLOCK -O log python3 -S trampoline.py <go >said &
	exec 5>go
	wait_for grep -q ready said
	read_files
	echo go >&5
	exec 5>&-
	wait $!
	all_are_whole
}

@test "a new PMC has the way of kern.hwpmc.unwind" {
	pmccontrol --tunable kern.hwpmc.unwind=0
	head -c 1500000 /dev/urandom | base64 -w 20 >lines
	pmcstat -q -P CLOCK.HARD -O log sort lines >/dev/null
	run ends
	[[ $output == 'none '* ]]
	[ "${#lines[@]}" -eq 1 ]
}

# The kernel touches the new program's memory while the registers are still the old one's.
@test "in the middle of execve(2) a thread is in no program's code, whichever way stacks are unwound" {
	for way in 1 0; do
		pmccontrol --tunable kern.hwpmc.unwind=$way
		pmcstat -q -d -U -n 1 -P PAGE_FAULT.ALL -O log$way sh -c '/bin/true; exec /bin/true'
		pmc report --folded folded$way log$way
		grep ';load_elf_binary_\[k\]' folded$way | cut -d ' ' -f 1 >in_exec
		grep -q '^true;' in_exec
		run ! grep -vE '^[^;]+(;[^;]*_\[k\])+$' in_exec
	done
}

# many.py N: maps so many new files to be executed.
many_files() {
	cat >many.py <<-'end'
		import mmap, sys
		for i in range(int(sys.argv[1])):
		    with open("file%d" % i, "w+b") as f:
		        f.write(b"x" * 4096)
		        f.flush()
		        mmap.mmap(f.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
	end
}

@test "files of the past give their numbers back" {
	many_files
	links() { readlink "/proc/$DAEMON_PID/fd/"* | grep -c bpf_link; }
	before=$(links)
	pmcstat -q -n 1000000 -P PAGE_FAULT.ALL -O log python3 -S many.py 4200
	# The programs that look at mappings are detached a moment later.
	detached() { [ "$(links)" -le "$before" ]; }
	wait_for detached
	# A file that a worker has keeps its number.
	wait_for files_are_read
	pmcstat -q -P CLOCK.HARD -O other true
	grep -q '4[0-9]* of 4[0-9]* files have no number any more' "$DAEMON_LOG"
	learn sort /etc/services
}

@test "a user who maps more files than there are numbers leaves some for others" {
	many_files
	mkdir -m 777 open
	# Mappings are looked at as long as something is sampled.
	client a
	expect a "start 0" caps $SAMPLES alloc 2 15 $FAULTS any $CHAIN setcount 1000000 log "$PWD/kept" attach $$ start
	(cd open && "${nobody[@]}" /usr/bin/python3 -S ../many.py 8300)
	cp "$(command -v sort)" mine
	learn ./mine /etc/services
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log ./mine /etc/services >/dev/null
	ends | tee ends
	awk '{ n[$1] = $2; all += $2 } END { exit !(n["whole"] >= 0.9 * all && !n["table"]) }' ends
	part a
}

@test "kern.hwpmc.unwind_memory is a limit: chains end in files without room as if there were no table" {
	stop_daemon
	start_daemon -o kern.hwpmc.unwind_memory=2 -o kern.hwpmc.debugflags='sampling=read'
	for i in $(seq 200); do echo "int f$i(int a) { for (int i = 0; i < a; i++) a ^= i * $i; return a; }"; done >made.c
	learn gcc -O2 -c -o /dev/null made.c
	learn python3 -S -c 0
	grep -q 'kern.hwpmc.unwind_memory is used up' "$DAEMON_LOG"
	pmcstat -q -d -P CLOCK.HARD -O log gcc -O2 -c -o /dev/null made.c
	run ends
	[[ $output == *table* ]]
	refute grep -qE 'form|none' <<<"$output"
}

@test "processes with many executable mappings: 256 at most" {
	cc -O1 -o many -xc - <<-'C'
		#include <fcntl.h>
		#include <stdlib.h>
		#include <sys/mman.h>

		int main(int argc, char *argv[])
		{
			int fd = open(argv[0], O_RDONLY);
			char *memory = mmap(NULL, 100 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			madvise(memory, 100 << 12, MADV_NOHUGEPAGE);
			for (int i = atoi(argv[1]); i > 0; i--)
				if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
					return 1;
			for (int page = 0; page < 100; page++)
				memory[page << 12] = 1;
			return 0;
		}
	C
	learn ./many 1
	# Besides those of the program, its libraries and the vDSO.
	pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O log ./many 250
	all_are_whole
	for mappings in 270 65000; do
		pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O log ./many $mappings
		ends | tee ends | awk '{ n[$1] = $2 } END { exit !(n["process"] >= 100 && n["whole"] >= 30) }' || { cat ends >&2; false; }
	done
}

@test "a stack pointer that points anywhere: the chain ends, and the program goes on" {
	[ "$(uname -m)" = x86_64 ] || skip 'its code is for x86-64'
	cc -O1 -o anywhere -xc - <<-'C'
		static const char data[4096];

		int main(void)
		{
			const unsigned long places[] = {
				0, 1, 4096, 0x7ffffffffff8, 0xffffffff81000000, -8ul,
				(unsigned long)main, (unsigned long)data + 4095,
			};

			for (unsigned int i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
				unsigned long n = 20000000;

				asm volatile("mov %%rsp, %%rbx; mov %1, %%rsp; 1: dec %0; jnz 1b; mov %%rbx, %%rsp"
					     : "+&r"(n) : "r"(places[i]) : "rbx", "cc");
			}
			return 0;
		}
	C
	learn ./anywhere
	pmcstat -q -d -n 300000 -P CPU_CLOCK -O log ./anywhere
	ends | tee ends | awk '{ n[$1] = $2; all += $2 } END { exit !(n["stack"] >= 20 && n["whole"] <= all / 4) }' || { cat ends >&2; false; }
	pmc report --folded - log | tee folded
	refute grep -E '^anywhere;[^[].*;main[; ]' folded
}

# published MAP: the processes whose mappings it has
published() {
	bpftool -j map dump id "$1" | python3 -c '
import json, sys
for entry in json.load(sys.stdin):
    print(int.from_bytes(bytes(int(b, 0) for b in entry["key"]), sys.byteorder))'
}

# Of those that both looks have seen: bpftool has ended when its own look is read.
none_is_dead() {
	local pid
	published "$1" | sort >first
	published "$1" | sort >second
	comm -12 first second >both
	while read -r pid; do
		[ -e "/proc/$pid" ] || return 1
	done <both
}

@test "a storm of execs leaves nothing behind, and chains are whole after it" {
	learn sort /etc/services
	pmcstat -q -n 1000000000 -S PAGE_FAULT.ALL -O all &
	all=$!
	wait_for eval 'pmccontrol -l | grep -q "ENABLED.*PAGE_FAULT"'
	map=$(daemon_map unwind_processes)
	storms=()
	for i in $(seq 8); do
		(for j in $(seq 50); do /bin/true; done) &
		storms+=($!)
	done
	sleep 1000 &
	alive=$!
	wait "${storms[@]}"
	wait_for none_is_dead "$map"
	grep -qx "$alive" both
	kill "$alive"
	head -c 1500000 /dev/urandom | base64 -w 20 >lines
	pmcstat -q -d -n 300000 -P CPU_CLOCK -O log sort lines >/dev/null
	all_are_whole
	kill -INT "$all"
	wait "$all"
}

@test "a daemon that is killed while its tables are in use: the next one starts anew" {
	head -c 1500000 /dev/urandom | base64 -w 20 >lines
	mkfifo gate
	learn sort lines
	pmcstat -q -d -n 300000 -P CPU_CLOCK -O lost sh -c 'sort lines; touch sorted; read -r _ <gate' >/dev/null 2>&1 &
	wait_for test -e sorted
	stop_daemon KILL || true
	exec 5<>gate
	echo >&5
	wait $! || true
	exec 5<&-
	start_daemon -o kern.hwpmc.debugflags='sampling=read'
	learn sort lines
	pmcstat -q -d -n 300000 -P CPU_CLOCK -O log sort lines >/dev/null
	all_are_whole
}

@test "a program with several executable segments: from its first instruction" {
	cc -O1 -no-pie -Wl,--section-start=.far=0x420000 -o parts -xc - <<-'C'
		#include <stddef.h>
		#include <sys/mman.h>

		__attribute__((noinline, section(".far"))) int far(char *memory)
		{
			for (int page = 0; page < 100; page++)
				memory[page << 12] = 1;
			return *memory;
		}

		int main(void)
		{
			char *memory = mmap(NULL, 100 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			madvise(memory, 100 << 12, MADV_NOHUGEPAGE);
			return far(memory) - 1;
		}
	C
	[ "$(readelf -lW parts | grep -c 'LOAD.* R E ')" -eq 2 ]
	learn ./parts
	pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O log ./parts
	all_are_whole
}

@test "the caller of vfork(2), whose return address is in a register" {
	[ "$(uname -m)" = x86_64 ] || skip 'only there'
	learn dash -c '/bin/true; true'
	# shellcheck disable=SC2016 # for dash
	pmc record --no-report -c 1 -e sched:sched_process_fork -o log dash -c 'for i in $(seq 40); do /bin/true; done'
	all_are_whole
	pmc report --folded folded log >/dev/null
	awk '/;__libc_start_main.*;__vfork;/ { n += $NF } END { exit n < 40 }' folded || { cat folded; false; }
}
