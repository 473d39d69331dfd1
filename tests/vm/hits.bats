#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Samples of hits against what the workload did, on every kernel and architecture: numbers, places, processes, CPUs.

load helpers

CALL=syscalls:sys_enter_sched_get_priority_max

# samples PMCSTAT-ARGUMENT...: the log's lines are in $text.
samples() {
	vm pmcstat -q -O /tmp/log "$@" >/dev/null
	text=$(vm pmcstat -q -R /tmp/log)
}

# samples_of: of each PMC, in the order of their allocation.  Those of a single one include what is counted as dropped: a
# preemptible kernel skips a tracepoint's program while another task of the CPU is in it.
samples_of() {
	awk '$1 ~ /^allocate/ { id[++n] = $2 } $1 == "callchain" { has[$3]++ }
		$1 == "drop" { dropped += $2; print >"/dev/stderr" }
		END { if (n == 1) has[id[1]] += dropped
			for (i = 1; i <= n; i++) printf "%d%s", has[id[i]] + 0, i < n ? " " : "" }' <<<"$text"
}
samples_are() {
	local has

	has=$(samples_of)
	[ "$has" = "$*" ] || { echo "samples: $has, not $*" >&2; return 1; }
}

@test "PERF-136: every nth access of a breakpoint is a sample" {
	samples -n 10 -P breakpoint:load_word:w -n 7 -P breakpoint:load_tick:x load stores=1000 ticks=70
	samples_are 100 10
	samples -n 1 -d -P breakpoint:load_tick:x load ticks=10 late=2 forks=2 below=2
	samples_are 90
}

@test "every nth hit of a tracepoint is a sample, over threads, children and CPUs" {
	samples -n 10 -P $CALL -n 1 -P $CALL -n 7 -P ${CALL/enter/exit} load calls=1000
	samples_are 100 1000 142
	[ "$(grep -c '^callchain .* u$' <<<"$text")" -eq 1242 ]
	samples -n 4 -d -P $CALL stand -r load calls=50 late=2 forks=2 below=2
	samples_are 112
	samples -n 3 -P $CALL load moves=200
	samples_are 66
}

# PERF-306
@test "a filter admits as many samples as the kernel's own evaluation counts" {
	samples -n 1 -P "$CALL,filter=policy == 1" -n 10 -P "$CALL,filter=policy == 1" \
		-n 1 -P "${CALL/enter/exit},filter=ret < 99 && comm == \"load\"" load calls=1000
	samples_are 500 50 500
	# Texts of the program, which the kernel reads as well.
	samples -n 1 -P 'syscalls:sys_enter_openat,filter=filename.ustring ~ "/dev/n*"' \
		-P 'syscalls:sys_enter_openat,filter=filename.ustring ~ "*?ull"' -P 'syscalls:sys_enter_openat,filter=filename.ustring == "/dev/nul"' \
		-E -p 'syscalls:sys_enter_openat,filter=filename.ustring ~ "/dev/n*"' cat /dev/null /dev/null
	samples_are 2 2 0 0
	grep -qx 'exitval .* 2' <<<"$text"
	if [[ $VM_KERNEL == 6.1-* ]]; then
		run vm pmcstat -q -n 1 -P 'kmem:kmalloc,filter=bytes_req > 0' -O /tmp/log true
		[[ $output == *'before Linux 6.7 hits are sampled without a filter'* ]]
		return
	fi
	local sampled=() counted=() filter
	for filter in 'kmem:kmalloc call_site.function == single_open || bytes_req & 64' 'kmem:kmalloc bytes_alloc >= 512 || node != -1' \
		'sched:sched_process_exec filename ~ "*true"' 'sched:sched_process_exec filename ~ "!*in/e*"' \
		'sched:sched_process_exec filename ~ "/b*/[a-s]?*" || comm ~ "t*?e"' 'sched:sched_process_exec filename ~ "!*/[!a-s]r*e"' \
		'sched:sched_process_exec filename == "/bin/echo" || comm ~ "t*"' \
		'task:task_newtask comm == "sh" || clone_flags & 0x4000'; do
		filter="${filter%% *},filter=(${filter#* }) && comm != \"pmcstat\""
		sampled+=(-P "$filter")
		counted+=(-p "$filter")
	done
	samples -d -n 1 "${sampled[@]}" pmcstat -q -d --csv -C -o /tmp/counted "${counted[@]}" \
		sh -c 'for i in 1 2 3 4 5; do /bin/true; /bin/echo $i; /bin/ls / >/dev/null; done </proc/version'
	run vm_sh 'tail -n 1 /tmp/counted | cut -d , -f 2-'	# without the time
	echo "counted: $output"
	# shellcheck disable=SC2086 # numbers
	samples_are ${output//,/ }
	[[ ,$output, != *,0,* ]]
}

@test "samples have the fields of the hits that they are of" {
	samples -n 1 -P "$CALL,raw" -P "${CALL/enter/exit},raw" load calls=20
	[ "$(sed -n 's/^values .* raw={__syscall_nr=[0-9]* policy=\([0-9]*\)}$/\1/p' <<<"$text" | sort | uniq -c | xargs)" = "10 0 10 1" ]
	[ "$(sed -n 's/^values .* raw={__syscall_nr=[0-9]* ret=\([0-9]*\)}$/\1/p' <<<"$text" | sort | uniq -c | xargs)" = "10 0 10 99" ]
	# Newer kernels record the path as well, which a program at a system call does not get.
	if vm grep -q __filename_val /sys/kernel/tracing/events/syscalls/sys_enter_openat/format; then
		samples -n 1 -P syscalls:sys_enter_openat,raw cat /dev/null
		grep -qE '^values .* raw=\{__syscall_nr=[0-9]+ .* mode=[0-9]+ __filename_val=\?\}$' <<<"$text"
		run ! grep -E '__filename_val=[^?]' <<<"$text"
		run vm pmcstat -q -n 1 -P 'syscalls:sys_enter_openat,filter=__filename_val ~ "*null"' -O /tmp/log true
		[[ $output == *'can be counted, not sampled: character 1: programs cannot read "__filename_val"'* ]]
	fi
	if [[ $VM_KERNEL == 6.1-* ]]; then
		run vm pmcstat -q -n 1 -P sched:sched_process_exec,raw -O /tmp/log true
		[[ $output == *'before Linux 6.7 hits are sampled without their records (raw)'* ]]
		return
	fi
	samples -d -n 1 -P sched:sched_process_exec,raw sh -c '/bin/true; /bin/echo a; :'
	[ "$(sed -n 's/^values .* raw={filename="\([^"]*\)" .*/\1/p' <<<"$text" | xargs)" = "/bin/sh /bin/true /bin/echo" ]
}

@test "hits of a tracepoint that the kernel skips while tasks preempt each other are counted, or their gap is marked" {
	samples -n 4 -d -P $CALL load calls=50 late=2 forks=2 below=2
	has=$(samples_of)
	echo "samples: $has"
	[[ $has -eq 112 || $has -lt 112 && $text =~ (^|$'\n')drop\ *($|$'\n') ]]
}

@test "a tracepoint in the kernel is sampled at the function that passes it" {
	samples -n 1 -P sched:sched_switch -P raw_syscalls:sys_enter load switches=20 calls=20
	run vm pmcstat -q -R /tmp/log -G -
	echo "$output"
	[[ $status -eq 0 && $output == *__schedule* ]]
	run ! grep -E '^[0-9.]+% +\[[0-9]+\] +(bpf_|__bpf_|__traceiter_)' <<<"$output"
}

@test "a CPU's hits" {
	samples -c 0 -n 1 -S $CALL taskset 1 load calls=50
	samples_are 50
}

@test "every nth call that a probe meets, and every return" {
	samples -n 10 -P uprobe:/usr/bin/load:load_call -n 1 -P uretprobe:/usr/bin/load:load_call load calls=1000
	samples_are 100 1000
	samples -n 4 -d -P uprobe:/usr/bin/load:load_call load calls=50 late=2 forks=2 below=2
	samples_are 112
}

@test "calls that a probe meets in tasks that preempt each other: none is counted twice, and no place for samples is lost" {
	local call=uprobe:/usr/bin/load:load_call

	[[ $VM_KERNEL == new-* ]] || skip "each run has its task's stack before Linux 6.13: new-* prove it"
	for _ in 1 2; do
		samples -n 10 -d -P $call taskset 1 load calls=4000 late=2 forks=2 below=2
		samples_are 3600
		grep -q '^callchain' <<<"$text"
	done
}

# first_addresses NUMBER: of all samples of the PMC that was allocated as that one, each once.
first_addresses() {
	awk -v n="$1" '$1 ~ /^allocate/ && ++pmcs == n { id = $2 } $1 == "callchain" { of = $3; at = 0 }
		$1 == "..." && !at++ && of == id { print $2 }' <<<"$text" | sort -u
}

@test "PERF-332: every nth hit of a kprobe is a sample at its place, and of a kretprobe where the function returns to" {
	call=__x64_sys_sched_get_priority_max
	[ "$VM_ARCH" = amd64 ] || call=__arm64_sys_sched_get_priority_max
	samples -n 4 -d -P kprobe:$call -n 1 -P kretprobe:$call load calls=50 late=2 forks=2 below=2
	samples_are 112 450
	at=$(vm_sh "awk '\$3 == \"$call\" { print \"0x\" \$1 }' /proc/kallsyms")
	# A kprobe is behind the instruction that marks a function's beginning for calls by pointers.
	place=$(first_addresses 1)
	echo "sampled at $place, function at $at"
	[[ $((place - at)) -eq 0 || $VM_ARCH:$((place - at)) == amd64:4 ]]
	# It has one caller on each way into the kernel.
	mapfile -t returns < <(first_addresses 2)
	[[ ${#returns[@]} -ge 1 && ${returns[0]} -ne $at ]]
	run vm pmcstat -q -R /tmp/log -G -
	echo "$output"
	status_is 0
	[[ $output == *"$call"* && $output == *"$([ "$VM_ARCH" = amd64 ] && echo do_syscall_64 || echo el0_svc)"* ]]
	samples -c 1 -n 1 -S kprobe:$call taskset 2 load calls=50
	samples_are 50
}

@test "the kernel has not complained" {
	vm_clean_log
}
