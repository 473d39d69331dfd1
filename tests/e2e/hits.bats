#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Samples of hits: of breakpoints, tracepoints and probes.  A program that knows its own hits gets one sample for each period of them, at the
# place of the hit.

load helpers
load ../logs

setup() { in_tmpdir_with_daemon "${ROOM[@]}"; }

# samples OPTION... -- COMMAND...: pmcstat writes ./log, and the log's lines are in ./text.
samples() {
	run pmcstat -q -O log "$@"
	status_is 0
	pmcstat -q -R log >text
}

# kernel_reaches MAJOR MINOR: it is of this version, or a later one
kernel_reaches() {
	[[ $(uname -r) =~ ^([0-9]+)\.([0-9]+) ]]
	((BASH_REMATCH[1] > $1 || (BASH_REMATCH[1] == $1 && BASH_REMATCH[2] >= $2)))
}

# samples_are N...: the PMCs have so many samples, in the order of their allocation.
samples_are() {
	local has

	has=$(awk '$1 ~ /^allocate/ { id[++n] = $2 } $1 == "callchain" { has[$3]++ }
		END { for (i = 1; i <= n; i++) printf "%d ", has[id[i]] + 0 }' text)
	[ "${has% }" = "$*" ] || { echo "samples: $has, not $*" >&2; return 1; }
}

# inside_load FUNCTION [PROGRAM]: each sampled address in ./text is in that function.
inside_load() {
	local at size

	read -r at size < <(nm -S "${2:-$BUILD/tests/load}" | awk -v name="$1" '$4 == name { print $1, $2 }')
	awk '$1 == "..." && first { print $2 } { first = $1 == "callchain" }' text | sort -u >sampled
	[ -s sampled ]
	while read -r pc; do
		((16#$at <= pc && pc <= 16#$at + 16#$size)) || { echo "$pc is not in $1" >&2; return 1; }
	done <sampled
}

refuses() {
	run "${@:2}"
	# shellcheck disable=SC2053 # a pattern
	[[ $status -ne 0 && $output == $1 ]] || { echo "$output" >&2; return 1; }
}

# --- breakpoints ---------------------------------------------------------------------------------

@test "PERF-136: every nth access is a sample, for each PMC by its own period" {
	need_breakpoints
	for load in load load_pie; do
		samples -n 10 -P breakpoint:load_word:w -n 1 -P breakpoint:load_tick:x -n 7 -P breakpoint:load_word:rw \
			$load stores=1000 loads=50 ticks=70
		samples_are 100 70 150
	done
	samples -n 1000 -P breakpoint:load_word:w load stores=999
	samples_are 0
}

@test "the sampled address is the function's, which a report names" {
	need_breakpoints
	samples -n 5 -P breakpoint:load_tick:x load ticks=100
	samples_are 20
	inside_load load_tick
	pmc record -e breakpoint:load_tick -c 10 -o other --no-report load ticks=100
	run pmcstat -R other -G -
	[[ $status -eq 0 && $output == *load_tick* ]]
}

@test "usr and os choose samples of the program and of the kernel; all threads and children are sampled" {
	need_breakpoints
	samples -n 1 -P breakpoint:load_word:w,usr -P breakpoint:load_word:w,os load stores=7 kernel_stores=5
	samples_are 7 5
	# The process and its two threads; each of two children and their two children.
	samples -n 1 -P breakpoint:load_word:w -d -P breakpoint:load_word:w load_pie stores=100 late=2 forks=2 below=2
	samples_are 300 900
}

@test "PERF-138: CPUs are sampled for privileged owners, other owners' processes for themselves, the kernel on CPUs" {
	need_breakpoints
	local word run=(run_as_nobody pmcstat -q)

	word=0x$(nm "$BUILD/tests/load" | awk '$3 == "load_word" { print $1 }')
	samples -c '*' -n 10 -S "breakpoint:$word:w" taskset -c 0 load stores=200
	samples_are 20 0
	chmod a+rwx .
	run "${run[@]}" -n 1 -O theirs -P breakpoint:load_word:w,usr -P breakpoint:load_word:w,os load stores=7 kernel_stores=5
	status_is 0
	pmcstat -q -R theirs >text
	samples_are 7 5
	# The kernel's side has no address but the one that stands for all.
	refute grep -E '^\.\.\. +0xffff' text
	refuses '*system-scope sampling needs CAP_PERFMON*' "${run[@]}" -c 0 -n 1 -O theirs -S "breakpoint:$word:w" load
	refuses '*a breakpoint in the kernel belongs to no task*pmcstat -S*' \
		pmcstat -q -n 1 -O none -P breakpoint:kernel:schedule_timeout load
}

# --- tracepoints ---------------------------------------------------------------------------------

# The call that `load calls=N` makes.
CALL=syscalls:sys_enter_sched_get_priority_max

# PERF-076, PERF-107, PERF-254
@test "every nth hit of a tracepoint is a sample, for each PMC by its own period, at any end of a call" {
	need_calls
	samples -n 10 -P $CALL -n 1 -P $CALL -n 7 -P ${CALL/enter/exit} -n 1001 -P $CALL load calls=1000
	samples_are 100 1000 142 0
	# Beside PMCs that count the same.
	samples -n 3 -P $CALL -E -p $CALL load calls=300
	samples_are 100 0
	grep -qx 'exitval .* 300' text
}

@test "a period goes on in another thread, process or CPU: threads, children and their children" {
	need_calls
	# 5 x 9 hits by one PMC, 5 x 3 by the other.
	samples -n 4 -P $CALL -d -P $CALL load_pie calls=5 late=2 forks=2 below=2
	samples_are 3 11
	samples -n 100 -d -P $CALL sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do load calls=33; done'
	samples_are 3
}

@test "a call is sampled at its instruction with the program's callers, other tracepoints in the kernel's function" {
	need_calls
	samples -n 1 -P $CALL -N -n 1 -P raw_syscalls:sys_enter load calls=20
	run pmcstat -q -R log -G -
	[[ $status -eq 0 && $output == *sched_get_priority_max*libc* ]]
	refute grep -E 'bpf_prog|bpf_trace_run|__traceiter' <<<"$output"
	samples -n 1 -P sched:sched_switch sleep 0
	samples -n 1 -P $CALL load calls=20
	[ "$(grep -c '^callchain .* u$' text)" -eq 20 ]
	pmc record -e sched:sched_switch -c 1 -o other --no-report sh -c 'for i in 1 2 3; do sleep 0; done'
	run pmc report --folded - other
	[ "$status" -eq 0 ]
	[[ $output == *"__schedule"* && $output != *bpf_* && $output != *__traceiter* ]]
}

@test "CPUs are sampled for privileged owners; two PMCs sample one tracepoint on a CPU" {
	need_calls
	local pid

	# Other processes of the machine are in it as well, other tests' load among them.
	cp "$BUILD/tests/load" own
	samples -c '*' -n 1 -S $CALL taskset -c 0 ./own calls=50
	pid=$(awk -v own="\"$PWD/own\"" '$1 == "map-in" && $NF == own { print $2; exit }' text)
	[ "$(grep -c "^callchain $pid " text)" -eq 50 ]
	refuses '*2 PMCs sample row *(*) hits, and no more can*' \
		pmcstat -q -c 0 -n 1000 -O none -S $CALL -S $CALL -S $CALL sleep 1
}

@test "unprivileged users sample what they may count, without addresses of the kernel" {
	need_calls
	local run=(run_as_nobody pmcstat -q -n 1 -O theirs)

	chmod a+rwx .
	run "${run[@]}" -P $CALL -P raw_syscalls:sys_enter load calls=70
	status_is 0
	pmcstat -q -R theirs >text
	[ "$(grep -c '^callchain .* u$' text)" -eq 70 ]
	[ "$(grep -c '^callchain .* s$' text)" -ge 70 ]
	refute grep -E '^\.\.\. +0xffff' text
	refuses '*system-scope sampling needs CAP_PERFMON*' "${run[@]}" -c 0 -S $CALL load
	refuses '*Operation not permitted*' "${run[@]}" -P sched:sched_switch load
}

@test "the period can be set while the PMC is stopped, and a stopped PMC samples nothing" {
	need_calls
	workload w calls=1000 && workload again calls=1000 && workload last calls=1000
	client owner
	expect owner 'log 0' log log
	ask owner caps 0x21 tracepoint $CALL alloc 2 65 0 any 0 setcount 1000000 attach "${WORKLOAD[w]}"
	ask owner setcount 100 attach "${WORKLOAD[again]}" attach "${WORKLOAD[last]}"
	expect owner 'start 0' start
	work w
	expect owner 'setcount EBUSY*' setcount 10
	expect owner 'stop 0' stop
	work again
	ask owner setcount 10
	expect owner 'start 0' start
	work last
	expect owner 'stop 0' stop
	expect owner 'endlog 0' endlog
	pmcstat -q -R log >text
	[ "$(grep -c "^callchain ${WORKLOAD[w]} " text)" -eq 10 ]
	[ "$(grep -c "^callchain ${WORKLOAD[again]} " text)" -eq 0 ]
	[ "$(grep -c "^callchain ${WORKLOAD[last]} " text)" -eq 100 ]
}

@test "a full ring: every nth hit is in the log, or counted as lost and marked; the ring keeps room for others" {
	need_calls
	stop_daemon
	start_daemon "${ROOM[@]:0:2}"
	workload w calls=60000
	one_cpu w				# each CPU has a ring
	client owner
	expect owner 'log 0' log log
	ask owner caps 0x21 tracepoint $CALL alloc 2 65 0 any 0 setcount 1 attach "${WORKLOAD[w]}" start
	suspend_daemon				# nothing reads the ring
	work w
	resume_daemon
	expect owner 'stop 0' stop
	expect owner 'endlog 0' endlog
	pmcstat -q -R log >text
	expect owner 'figures 0 *' figures
	[[ $reply =~ processed=([0-9]+)\ full=([0-9]+) ]]
	[ "${BASH_REMATCH[1]}" -eq 60000 ]
	[ "${BASH_REMATCH[2]}" -ge 1000 ]
	[ $(($(grep -c '^callchain ' text) + BASH_REMATCH[2])) -eq 60000 ]
	# A mark without a number is for what other processes did meanwhile.
	[ "$(awk '$1 == "drop" && $2 > 0 { print $2 }' text)" = "${BASH_REMATCH[2]}" ]
}

@test "a filter chooses the hits of system calls that are sampled, for each PMC by its own period" {
	need_calls
	samples -n 1 -P "$CALL,filter=policy == 1" -P "$CALL,filter=policy != 1" -n 10 -P "$CALL,filter=policy == 1" \
		-n 1 -P "$CALL,filter=!(policy < 1) && comm ~ \"lo*\"" -P "$CALL,filter=policy > 1 || comm == \"loa\"" -P $CALL \
		-P "${CALL/enter/exit},filter=ret >= 99" -P "${CALL/enter/exit},filter=ret & 0xff && common_pid > 0" load calls=1000
	samples_are 500 500 50 500 0 1000 500 500
	samples -n 1 -P "$CALL,filter=comm ~ \"l*d\"" -P "$CALL,filter=comm ~ \"!l*d\"" -P "$CALL,filter=comm ~ \"l?a[!e-z]\"" \
		-P "$CALL,filter=comm ~ \"l?a?d\"" -P "$CALL,filter=comm ~ \"*o\\ad*\"" load calls=100
	samples_are 100 0 100 0 100
	samples -n 1 -c 0 -S "$CALL,filter=policy == 1 && comm == \"load\"" taskset 1 load calls=100
	samples_are 50
}

@test "a filter of texts in the program's memory chooses the system calls that are sampled, as the kernel's own counts them" {
	need_calls
	local open=syscalls:sys_enter_openat path

	path=$PWD/a_file_to_open
	: >"$path"
	samples -n 1 -P "$open,filter=filename.ustring == \"$path\"" -P "$open,filter=filename.ustring ~ \"*to_open\"" \
		-P "$open,filter=filename.ustring ~ \"$PWD*\"" -P "$open,filter=filename.ustring ~ \"*a?file_[s-u]o*\" && dfd != 3" \
		-P "$open,filter=filename.ustring ~ \"*_to_\"" -P "$open,filter=filename.ustring == \"${path}s\"" \
		-P "$open,filter=!(filename.ustring ~ \"*to_open\") && flags < 0" \
		-E -p "$open,filter=filename.ustring ~ \"*to_open\"" cat "$path" "$path"
	samples_are 2 2 2 2 0 0 0 0
	grep -qx 'exitval .* 2' text
	# Inverted, too, a text that is not in memory is no hit.
	samples -n 1 -P "$open,filter=filename.ustring != \"$path\"" -P $open,raw cat "$path"
	mapfile -t has < <(awk '$1 ~ /^allocate/ { id[++n] = $2 } $1 == "callchain" { has[$3]++ } END { print has[id[1]] + 0; print has[id[2]] + 0 }' text)
	[ "${has[0]}" -lt "${has[1]}" ]
}

@test "a filter of CPUs admits the hits on these CPUs" {
	need_calls
	if ! kernel_reaches 6 6; then
		# Its filters know no lists of CPUs.
		refuses '*the kernel refuses the filter of*' pmcstat -q -n 1 -O none -P "$CALL,filter=cpu & CPUS{1}" true
		return
	fi
	samples -n 1 -P "$CALL,filter=cpu & CPUS{1}" -P "$CALL,filter=cpu != CPUS{1}" -P "$CALL,filter=cpu & CPUS{0-1}" \
		-P "$CALL,filter=policy & CPUS{1} && cpu & CPUS{0-1}" taskset 3 load moves=20 calls=10
	pmc filter -j log json
	# The upper half of a sample's flags is its CPU.
	on_one=$(jq -s 'map(select(.type == "callchain")) | group_by(.pmcid)
		| (map(map(.cpuflags[2:6]) | unique)[:3] == [["0001"], ["0000"], ["0000", "0001"]]) as $right
		| if $right then .[0] | length else error end' json)
	[ "$on_one" -ge 5 ]
	samples_are "$on_one" $((30 - on_one)) 30 5
	refuses '*can be counted, not sampled: character 17: several CPUs are compared by "&"*' \
		pmcstat -q -n 1 -O none -P "$CALL,filter=cpu == CPUS{0-1}" load
}

# PERF-306
@test "a filter of texts chooses the hits inside of the kernel that are sampled" {
	exec=sched:sched_process_exec
	if ! kernel_reaches 6 7; then
		refuses '*before Linux 6.7 hits are sampled without a filter*' \
			pmcstat -q -n 1 -O none -P "$exec,filter=pid > 0" true
		return
	fi
	samples -d -n 1 -P "$exec,filter=filename == \"/bin/true\"" -P "$exec,filter=filename != \"/bin/true\"" \
		-P "$exec,filter=filename ~ \"*true\"" -P "$exec,filter=filename ~ \"*in/e*\"" \
		-P "$exec,filter=filename ~ \"/bin/*\"" -P "$exec,filter=filename ~ \"!/bin/*\"" \
		-P "$exec,filter=filename ~ \"*\" && cpu >= 0" -P "$exec,filter=filename ~ \"*tru\"" \
		-P "$exec,filter=comm == \"ls\" || comm ~ \"ech*\"" -P "$exec,filter=pid < 1 || filename == \"/bin/tru\"" \
		-P "task:task_newtask,filter=comm == \"sh\" && clone_flags != 0" -P "task:task_newtask,filter=comm == \"s\"" \
		sh -c '/bin/true; /bin/true; /bin/echo a; /bin/ls /; :' >/dev/null
	samples_are 2 3 2 1 4 1 5 0 2 0 4 0
	# The place is the same with a filter and without one.
	samples -d -n 1 -P "$exec,filter=pid > 0" -P $exec sh -c '/bin/true; :'
	samples_are 2 2
	awk '$1 == "..." && first { print $2 } { first = $1 == "callchain" }' text | sort | uniq -c >places
	[ "$(awk '{ print $1 }' places)" = 4 ]
}

@test "a filter of a function chooses the hits whose address is in it" {
	alloc=kmem:kmalloc
	if ! kernel_reaches 6 7; then
		refuses '*the kernel refuses the filter of*' pmcstat -q -n 1 -O none -P "$alloc,filter=call_site.function == single_open" true
		return
	fi
	at=0x$(awk '$3 == "single_open" { print $1 }' /proc/kallsyms)
	# The kernel allocates there for each of these files.
	samples -n 1 -P "$alloc,filter=call_site.function == single_open" -P "$alloc,filter=call_site.function != single_open" \
		-P "$alloc,filter=call_site.function == $at && bytes_req > 0" -P "$alloc" cat /proc/version /proc/version /proc/uptime
	all=$(awk '$1 ~ /^allocate/ { id = $2 } $1 == "callchain" { has[$3]++ } END { print has[id] }' text)
	samples_are 3 $((all - 3)) 3 "$all"
	refuses '*the kernel refuses the filter of*Function not found*' \
		pmcstat -q -n 1 -O none -P "$alloc,filter=call_site.function == no_such_function" true
}

# fields_are REGEXP...: of the samples' records, in this order.
fields_are() {
	local i=0

	sed -n 's/^values .* raw=//p' text >records
	mapfile -t has <records
	[ ${#has[@]} -eq $# ] || { echo "${#has[@]} records, not $#" >&2; cat records >&2; return 1; }
	for wanted; do
		[[ ${has[i]} =~ $wanted ]] || { echo "record $i: ${has[i]}, not $wanted" >&2; return 1; }
		i=$((i + 1))
	done
}

@test "PERF-111, PERF-265: samples have the fields of the calls that they are of, beside samples without" {
	need_calls
	samples -n 1 -P "$CALL,raw" -P $CALL -n 10 -P "$CALL,raw,filter=policy == 1" load calls=20
	samples_are 20 20 1
	[ "$(grep -c "^values " text)" -eq 21 ]
	# The number is the machine's.
	[ "$(sed -n 's/^values .* raw={__syscall_nr=[0-9]* policy=\([0-9]*\)}$/\1/p' text | sort | uniq -c | xargs)" = "10 0 11 1" ]
	samples -n 1 -P "${CALL/enter/exit},raw" load calls=2
	fields_are '^\{__syscall_nr=[0-9]+ ret=0\}$' '^\{__syscall_nr=[0-9]+ ret=99\}$'
	pmc filter -j log json
	jq -se 'map(select(.type == "values").values.raw.ret) == ["0", "99"]' json
	# Three sources of addresses: an array, a pointer of the program, and the kernel's number.
	samples -n 1 -P "raw_syscalls:sys_enter,raw" sh -c 'kill -0 $$'
	grep -qE '^values .* raw=\{id=[0-9]+ args=(0x[0-9a-f]+,){5}0x[0-9a-f]+\}$' text
	samples -n 1 -P "syscalls:sys_enter_write,raw" sh -c 'echo abc'
	fields_are '^\{__syscall_nr=[0-9]+ fd=1 buf=0x[0-9a-f]+ count=4\}$'
}

# PERF-076
@test "samples of the kernel's own events have fields with numbers, names and paths" {
	if ! kernel_reaches 6 7; then
		refuses '*before Linux 6.7 hits are sampled without their records (raw)*' \
			pmcstat -q -n 1 -O none -P sched:sched_process_exec,raw true
		return
	fi
	ln -s /bin/true a_longer_name
	samples -d -n 1 -P sched:sched_process_exec,raw sh -c './a_longer_name; /bin/true a; :'
	fields_are '^\{filename="[^"]*/sh" pid=[0-9]+ old_pid=[0-9]+\}$' '^\{filename="./a_longer_name" ' '^\{filename="/bin/true" '
	# The child of each fork, as the log has it.
	samples -d -n 1 -P task:task_newtask,raw sh -c '/bin/true; /bin/true; :'
	[ "$(sed -n 's/^values .* raw={pid=\([0-9]*\) comm="sh" .*/\1/p' text | xargs)" = "$(awk '$1 == "fork" { print $3 }' text | xargs)" ]
	# A CPU's, and every second only.
	samples -c 0 -n 2 -S "sched:sched_process_exec,raw,filter=filename ~ \"*in/true\"" taskset -c 0 sh -c 'for i in 1 2 3 4; do /bin/true; done'
	fields_are 'filename="/bin/true"' 'filename="/bin/true"'
	# A filter copies records with their description.
	pmc filter log shorter
	cmp <(pmcstat -q -R log | grep -E '^(field|values) ') <(pmcstat -q -R shorter | grep -E '^(field|values) ')
}

@test "records of hits are for privileged owners, of tracepoints only, and of samples" {
	need_calls
	refuses '*raw: it needs CAP_PERFMON*' run_as_nobody pmcstat -q -n 1 -O none -P "$CALL,raw" true
	refuses '*raw: PAGE_FAULT.ALL cannot have it: only tracepoints have records of their hits*' pmcstat -q -n 1 -O none -P page-faults,raw true
	refuses '*raw is for samples, and this PMC counts*' pmcstat -q -p "$CALL,raw" true
	refuses '*raw takes no value: "1"*' pmcstat -q -n 1 -O none -P "$CALL,raw=1" true
	refuses '*no values of samples but raw*' pmcstat -q -n 1 -O none -P "$CALL,addr" true
	refuses '*class PROBE has no rates and no values of samples:*' pmcstat -q -n 1 -O none -P "uprobe:$BUILD/tests/load:load_call,raw" true
}

# cpu_times: of the event loop and of the thread that loads programs, in ns
cpu_times() {
	local task loads=0

	for task in /proc/"$DAEMON_PID"/task/*; do
		[ "$(<"$task/comm")" != pmcbpfd-load ] || read -r loads _ <"$task/schedstat"
	done
	echo "$(cut -d' ' -f1 "/proc/$DAEMON_PID/task/$DAEMON_PID/schedstat") $loads"
}

@test "the kernel verifies the program of a tracepoint with a filter while the event loop serves others" {
	local loop loads loop_before loads_before

	samples -n 1 -P syscalls:sys_enter_getppid true
	read -r loop_before loads_before < <(cpu_times)
	for fd in 1 2 3; do
		samples -P "syscalls:sys_enter_write,filter=fd == $fd" true
	done
	read -r loop loads < <(cpu_times)
	echo "event loop $((loop - loop_before)) ns, loading $((loads - loads_before)) ns"
	[ $((loads - loads_before)) -gt $((loop - loop_before)) ]
}

@test "filters that no program can evaluate are refused, with the place" {
	need_calls
	refuses '*can be counted, not sampled: character 68: there are too many or too long patterns*' \
		pmcstat -q -n 1 -O none -P "$CALL,filter=comm ~ \"a?\" || comm ~ \"b?\" || comm ~ \"c?\" || comm ~ \"d?\" || comm ~ \"l?*d\"" load
	refuses '*can be counted, not sampled: character 1: programs cannot read "common_flags"*' \
		pmcstat -q -n 1 -O none -P "$CALL,filter=common_flags == 1" load
	refuses "*the kernel refuses the filter of $CALL*" pmcstat -q -n 1 -O none -P "$CALL,filter=bogus > 0" load
}

# --- probes --------------------------------------------------------------------------------------

FUNCTION=uprobe:$BUILD/tests/load:load_call

@test "every nth call or return that a probe meets is a sample, over threads and children, by its own period" {
	samples -n 10 -P "$FUNCTION" -n 1 -P "uretprobe:${FUNCTION#*:}" -n 7 -P "$FUNCTION" load calls=1000
	samples_are 100 1000 142
	samples -n 1 -P "$FUNCTION" load calls=20
	samples_are 20
	inside_load load_call
	samples -n 4 -P "$FUNCTION" -d -P "$FUNCTION" load calls=5 late=2 forks=2 below=2
	samples_are 3 11
}

@test "one thread's calls are samples, not its process's" {
	workload w threads=2 calls=10
	pmcstat -q -n 1 -P "$FUNCTION" -n 2 -P $CALL -O log -t "tid:${WORKLOAD[w]}" 3>&- &
	pid=$!
	wait_for log_has_targets
	work w
	rest w
	wait $pid
	pmcstat -q -R log >text
	samples_are 10 5
}
log_has_targets() { [ "$(pmcstat -q -R log 2>/dev/null | grep -c '^attach')" -eq 2 ]; }

@test "probes: CPUs for privileged owners, other users' own files" {
	cp "$BUILD/tests/load" own
	samples -c '*' -n 10 -S "uprobe:$PWD/own:load_call" taskset -c 0 ./own calls=500
	samples_are 50 0
	chown 65534 own && chmod a+rwx . own
	refuses '*it needs CAP_PERFMON, or a rule with probes="own"*' run_as_nobody pmcstat -q -n 5 -O theirs -P "$FUNCTION" load
	mkdir policy.d && echo 'user="nobody" probes="own"' >policy.d/site.conf
	stop_daemon
	start_daemon -o policy.dir="$PWD/policy.d"
	run run_as_nobody pmcstat -q -n 5 -O theirs -P "uprobe:./own:load_call" ./own calls=100
	status_is 0
	pmcstat -q -R theirs >text
	samples_are 20
}
