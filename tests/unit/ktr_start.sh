#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# How libktr starts, with what the program and its environment ask for; what it keeps when the program ends,
# and in children.  Of a traced program: tests/ktr/show.c.

set -u

out=${O:-build}
n=0 failed=0
# shellcheck source=/dev/null
. "$(dirname "$0")/util/tap.bash"
# Programs are linked with the library here; the tests inspect its calls and its start.
as_users_get_it "$out/lib/libktr.a"
show=$out/tests/ktr/show
static=$out/tests/ktr/show-static
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset KTR_SIZE KTR_ENTRIES KTR_MASK KTR_CLOCK KTR_FORK KTR_FREEZE_ON KTR_VERBOSE KTR_CPUMASK KTR_FILE

# fields FIELD... : these of a region's line, on standard input
fields()
{
	local line field
	read -r line
	for field in "$@"; do
		grep -oE "\\b$field=[^ ]*" <<<"$line"
	done | tr '\n' ' '
}

# words: entries, on one line
words()
{
	sed 1d | tr '\n' ' '
}

# says COMMAND... : its standard error and its status; a status of 128 and more is a signal's
says()
{
	local status

	# shellcheck disable=SC2016,SC2069 # the inner shell; it says so if a signal ends the program
	bash -c '"$@"; exit $?' bash "$@" 2>&1 >/dev/null
	status=$?
	[ $status -eq 0 ] || echo "status $status"
}

# KTR-15, KTR-18, KTR-28, KTR-30: defaults: 1024 entries a CPU, the cycle counter, all classes but SPL, CLK off.
test_defaults()
{
	result "defaults" "entries=1024 clock=tsc rseq=1 compile=0xffff7fff verbose=0 lost=0 " \
		"$("$show" | fields entries clock rseq compile verbose lost)"
	result "default mask: CLK is compiled in and off" "101 1 " "$("$show" clk 1 | words)"
	result "nothing is said" "" "$(says "$show" 1)"
}

# KTR-11, KTR-12, KTR-13, KTR-14, KTR-17, KTR-F01: KTR_SIZE and KTR_ENTRIES of the environment, for each CPU.
test_sizes()
{
	local value

	result "KTR_SIZE" "entries=4096 " "$(KTR_SIZE=262144 "$show" | fields entries)"
	result "KTR_SIZE in hexadecimal" "entries=16 " "$(KTR_SIZE=0x400 "$show" | fields entries)"
	result "KTR_ENTRIES" "entries=16 " "$(KTR_ENTRIES=16 "$show" | fields entries)"
	result "each CPU has that size" $((4096 + $(getconf _NPROCESSORS_CONF) * (64 + 65536))) \
		"$(KTR_FILE=$dir/size "$show" >/dev/null; "$show" -f "$dir/size" >/dev/null
		od -An -tu8 -j32 -N8 "$dir/size" | awk -v n="$(getconf _NPROCESSORS_CONF)" '{ print 4096 + n * $1 }')"
	result "KTR_SIZE: a power of two" "ktr: KTR_SIZE=1000: not a power of two; using 65536" \
		"$(KTR_SIZE=1000 says "$show")"
	result "... and the default is used" "entries=1024 " "$(KTR_SIZE=1000 "$show" 2>/dev/null | fields entries)"
	for value in x 1k "" " " -64 64x; do
		[ -n "$value" ] || continue
		result "KTR_SIZE: a number, not \"$value\"" "ktr: KTR_SIZE=$value: not a number; using 65536" \
			"$(KTR_SIZE=$value says "$show")"
	done
	result "KTR_SIZE: at most 1 GB" "ktr: KTR_SIZE=2147483648: more than 1 GB for each CPU; using 65536" \
		"$(KTR_SIZE=2147483648 says "$show")"
	result "KTR_SIZE: more than 64 bits" "ktr: KTR_SIZE=99999999999999999999: not a number; using 65536" \
		"$(KTR_SIZE=99999999999999999999 says "$show")"
	result "KTR_ENTRIES: at most 1 GB" "ktr: KTR_ENTRIES=33554432: more than 1 GB for each CPU; using 1024" \
		"$(KTR_ENTRIES=33554432 says "$show")"
	result "a smaller power of two is an entry" "ktr: KTR_SIZE=32: an entry takes 64 bytes; using 64" \
		"$(KTR_SIZE=32 says "$show")"
	result "one entry" "entries=1 " "$(KTR_SIZE=64 "$show" 5 | fields entries)"
	result "... is the newest" "5 " "$(KTR_SIZE=64 taskset -c "$cpu" "$show" 5 | words)"
}

# KTR-39: nothing is mapped, nothing is written, whatever the mask.
test_no_size()
{
	result "KTR_SIZE=0" "none mask=0x0 entries=0" "$(KTR_SIZE=0 "$show" 5)"
	result "KTR_SIZE=0, mask on" "none mask=0xffffffff entries=0" "$(KTR_SIZE=0 "$show" mask 5)"
	result "KTR_SIZE=0 says nothing" "" "$(KTR_SIZE=0 says "$show" 5)"
}

# KTR-14, KTR-80: no memory, a limit, no file: a line, and the program goes on.
test_not_to_be_had()
{
	result "no address space" "ktr: 1073741824 bytes for each CPU: Cannot allocate memory; not tracing (KTR_SIZE asks for less)" \
		"$(ulimit -v 1000000; KTR_SIZE=1073741824 says "$show" 5)"
	result "... and no tracing" "none mask=0x0 entries=0" \
		"$(ulimit -v 1000000; KTR_SIZE=1073741824 "$show" 5 2>/dev/null)"
	result "files may not be that large (no SIGXFSZ)" \
		"ktr: 65536 bytes for each CPU are more than a file may have (ulimit -f); not tracing" \
		"$(ulimit -f 1; says "$show" 5)"
	result "no descriptor" "ktr: no memory that has a name (memfd_create): Too many open files; not tracing" \
		"$(says bash -c "ulimit -n 3; exec 3>&- ; exec $static 5")"
	echo precious >"$dir/precious"
	result "KTR_FILE is somebody else's" "ktr: KTR_FILE=$dir/precious: exists and is no trace; not tracing" \
		"$(KTR_FILE=$dir/precious says "$show" 5)"
	result "... and stays" precious "$(cat "$dir/precious")"
	ln -s precious "$dir/link"
	result "KTR_FILE is a link" "ktr: KTR_FILE=$dir/link: Too many levels of symbolic links; not tracing" \
		"$(KTR_FILE=$dir/link says "$show" 5)"
	result "KTR_FILE in no directory" "ktr: KTR_FILE=$dir/no/file: No such file or directory; not tracing" \
		"$(KTR_FILE=$dir/no/file says "$show" 5)"
	result "KTR_FILE is a device" "ktr: KTR_FILE=/dev/null: exists and is no trace; not tracing" \
		"$(KTR_FILE=/dev/null says "$show" 5)"
}

# KTR-14, KTR-36: calls that an old kernel lacks, or a sandbox refuses.
test_refused_calls()
{
	local refuse=(strace -o /dev/null -e 'trace=memfd_create,rseq' -e)
	local no_memfd=("${refuse[@]}" inject=memfd_create:error=EPERM "$show")

	have strace "refused calls" || return
	result "no memfd_create" "ktr: no memory that has a name (memfd_create): Operation not permitted; not tracing: \
KTR_FILE=path does without" "$(says "${no_memfd[@]}" 5)"
	result "... and no tracing" "none mask=0x0 entries=0" "$("${no_memfd[@]}" 5 2>/dev/null)"
	result "... but with KTR_FILE" "101 1 " "$(KTR_FILE=$dir/instead "${no_memfd[@]}" 1 | words)"
	result "no rseq" "rseq=0 lost=0 " "$("${refuse[@]}" inject=rseq:error=ENOSYS "$show" 5 | fields rseq lost)"
}

# KTR-30: KTR_MASK, classes or a number.
test_masks()
{
	result "KTR_MASK by names" "700 " "$(KTR_MASK=CLK,NET "$show" clk 1 | words)"
	result "KTR_MASK by number" "101 700 " "$(KTR_MASK=0x4800 "$show" clk 1 | words)"
	result "KTR_MASK: bad" "ktr: KTR_MASK=CLK,BLA: BLA is no class of ktr(4) and no number; using 0xffff77ff" \
		"$(KTR_MASK=CLK,BLA says "$show")"
	result "... and the default is used" "101 1 " "$(KTR_MASK=CLK,BLA "$show" clk 1 2>/dev/null | words)"
}

# KTR-19, KTR-36: the kernel's time as of the last tick; a counter that the process may not read.
test_clocks()
{
	local before after stamp

	result "KTR_CLOCK=coarse" "clock=coarse rseq=0 " "$(KTR_CLOCK=coarse "$show" | fields clock rseq)"
	result "... traces" "101 1 2 " "$(KTR_CLOCK=coarse taskset -c "$cpu" "$show" 2 | words)"
	before=$(cut -d. -f1 /proc/uptime)
	KTR_CLOCK=coarse KTR_FILE=$dir/coarse "$show" 1 >/dev/null
	after=$(cut -d. -f1 /proc/uptime)
	stamp=$(($(od -An -tu8 -j104 -N8 "$dir/coarse") / 4294967296))
	result "... in seconds since the start of the machine" "yes" \
		"$([ $stamp -ge $((before - 1)) ] && [ $stamp -le "$after" ] && echo yes || echo "$before $stamp $after")"
	result "KTR_CLOCK: nothing else" 'ktr: KTR_CLOCK=fine: only "coarse" can be asked for' \
		"$(KTR_CLOCK=fine says "$show")"
	[ "$(uname -m)" = x86_64 ] || return
	result "no counter: no tracing, no SIGSEGV" \
		"ktr: the cycle counter is forbidden (PR_SET_TSC); not tracing: KTR_CLOCK=coarse does without" \
		"$(NOTSC=1 EARLY=1 says "$show" 5)"
	result "... mask 0" "none mask=0x0 entries=0" "$(NOTSC=1 "$show" 5 2>/dev/null)"
	result "... but with KTR_CLOCK=coarse" "1001 101 1 " \
		"$(NOTSC=1 EARLY=1 KTR_CLOCK=coarse taskset -c "$cpu" "$static" 1 | words)"
	result "a machine without assembly" "clock=coarse rseq=0 " "$("$show-portable" | fields clock rseq)"
	result "... traces" "1001 101 1 2 " "$(EARLY=1 taskset -c "$cpu" "$show-portable" 2 | words)"
	result "... in children" "101 600 another thread 601 " "$(taskset -c "$cpu" "$show-portable" fork | words)"
	result "... its formats are the entries'" "cpu$cpu 1" \
		"$(KTR_VERBOSE=2 taskset -c "$cpu" "$show-portable" 1 2>&1 >/dev/null | sed -n 2p)"
	result "no rseq" "rseq=0 lost=0 " "$(GLIBC_TUNABLES=glibc.pthread.rseq=0 "$show" 5 | fields rseq lost)"
	result "... traces" "101 1 2 " "$(GLIBC_TUNABLES=glibc.pthread.rseq=0 "$show" 2 | words)"
}

# KTR-16: what is traced before libktr's constructor is kept, at most 64 entries of it.
test_before_the_constructor()
{
	result "static: before all constructors" "1001 1002 101 1 " "$(EARLY=2 "$static" 1 | words)"
	result "shared: before all constructors" "1001 1002 101 1 " "$(EARLY=2 "$show" 1 | words)"
	result "the newest 64" "$(seq -s ' ' 1037 1100) 101 1 " "$(EARLY=100 "$show" 1 | words)"
	result "in rings of four" "1100 101 1 2 " "$(EARLY=100 KTR_ENTRIES=4 taskset -c "$cpu" "$show" 2 | words)"
	result "and atomically" "1001 101 1 " "$(GLIBC_TUNABLES=glibc.pthread.rseq=0 EARLY=1 "$show" 1 | words)"
}

# KTR-79: children go on in their parent's rings, or have their own.
test_children()
{
	local how long

	for how in fork clone; do
		result "$how: the same rings, another thread's number" "101 600 another thread 601 " \
			"$("$show" "$how" | words)"
		result "$how: KTR_FORK=new" "600 of 1 regions 101 601 " \
			"$(KTR_FORK=new "$show" "$how" | grep -v entries | tr '\n' ' ')"
		result "$how: atomically" "101 600 another thread 601 " \
			"$(GLIBC_TUNABLES=glibc.pthread.rseq=0 "$show" "$how" | words)"
	done
	KTR_FORK=new KTR_FILE=$dir/family "$show" fork >/dev/null
	result "KTR_FORK=new: a file of each" "600 " "$("$show" -f "$dir"/family.* | words)"
	result "... and the parent's" "101 601 901 " "$("$show" -f "$dir/family" | words)"
	long=$(printf '%0252d' 0)
	result "KTR_FORK=new: not to be had" "ktr: KTR_FORK=new: File name too long; tracing into the parent's rings" \
		"$(KTR_FORK=new KTR_FILE=$dir/$long says "$show" fork)"
	result "... and the parent's rings it is" "101 600 another thread 601 901 " "$("$show" -f "$dir/$long" | words)"
	result "threads" "101 500 another thread 1 " "$("$show" thread 1 | words)"
	result "KTR_FORK: nothing else" 'ktr: KTR_FORK=old: only "new" can be asked for' \
		"$(KTR_FORK=old says "$show")"
}

# Entries of atexit(3) and destructors are kept, in a file that only its owner can read (KTR-80).
test_the_end()
{
	KTR_FILE=$dir/end "$show" atexit 1 >/dev/null
	result "atexit and destructors" "101 1 900 901 " "$("$show" -f "$dir/end" | words)"
	result "mode of the file" 600 "$(stat -c %a "$dir/end")"
	result "the objects that were mapped" "1 1" \
		"$(strings "$dir/end" | grep -c "r-xp.*/show$") $(strings "$dir/end" | grep -c 'r-xp.*/libktr.so.0$')"
	KTR_FILE=$dir/end "$static" 2 >/dev/null
	result "an old trace is replaced" "101 1 2 901 " "$("$show" -f "$dir/end" | words)"
}

# KTR-35, KTR-33: a signal that ends the program stops tracing, and ends it.
test_freezing()
{
	KTR_FREEZE_ON=SEGV,SIGABRT KTR_FILE=$dir/abort says "$show" 1 abort >"$dir/log"
	result "abort still aborts" "status 134" "$(tail -n1 "$dir/log")"
	result "the trace is there" "101 1 " "$("$show" -f "$dir/abort" | words)"
	result "its end is stamped" yes \
		"$([ "$(od -An -tu8 -j112 -N8 "$dir/abort")" -gt "$(od -An -tu8 -j88 -N8 "$dir/abort")" ] && echo yes)"
	KTR_FREEZE_ON=SEGV KTR_FILE=$dir/fault says "$show" 1 fault >"$dir/log"
	result "SIGSEGV as well" "status 139" "$(tail -n1 "$dir/log")"
	result "KTR_FREEZE_ON: signals" "ktr: KTR_FREEZE_ON: KILL: not a signal that can be caught (SEGV,ABRT,...)
ktr: KTR_FREEZE_ON: X: not a signal that can be caught (SEGV,ABRT,...)" \
		"$(KTR_FREEZE_ON=KILL,TERM,X says "$show")"
}

# KTR-F04: CPUs that do not write.
test_cpumask()
{
	local bit

	bit=$(printf '0x%x' $((1 << cpu)))
	result "KTR_CPUMASK" "cpumask=$bit " "$(KTR_CPUMASK=$bit "$show" | fields cpumask)"
	result "its CPUs write" "101 1 " "$(KTR_CPUMASK=$bit taskset -c "$cpu" "$show" 1 | words)"
	result "others do not" "" "$(KTR_CPUMASK=$((~(1 << cpu) & 0xffff)) EARLY=1 taskset -c "$cpu" "$show" 1 | words)"
	result "several words" "cpumask=$bit " "$(KTR_CPUMASK=$bit,0,0xff "$show" | fields cpumask)"
	result "KTR_CPUMASK: bad" "ktr: KTR_CPUMASK=1;2: not numbers of 64 bits with ',' between them; tracing on all CPUs" \
		"$(KTR_CPUMASK='1;2' says "$show")"
}

# KTR-F05: entries on standard error, 2 with file and line; a closed standard error does not end the program.
test_verbose()
{
	result "KTR_VERBOSE=1" "cpu$cpu constructor 101|cpu$cpu 1|cpu$cpu destructor 901|" \
		"$(KTR_VERBOSE=1 says taskset -c "$cpu" "$show" 1 | tr '\n' '|')"
	result "KTR_VERBOSE=2" 3 "$(KTR_VERBOSE=2 says "$show" 1 | grep -cE $'^cpu[0-9]+ .*show\\.c\\.[0-9]+\t')"
	result "KTR_VERBOSE: bad" "ktr: KTR_VERBOSE=3: not 0, 1 or 2; using 0" "$(KTR_VERBOSE=3 says "$show")"
	result "no SIGPIPE" 0 "$({ KTR_VERBOSE=1 "$show" 10000 2>&1 >/dev/null; echo $? >"$dir/status"; } | true
		cat "$dir/status")"
}

cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
test_defaults
test_sizes
test_no_size
test_not_to_be_had
test_refused_calls
test_masks
test_clocks
test_before_the_constructor
test_children
test_the_end
test_freezing
test_cpumask
test_verbose
echo "1..$n"
exit $failed
