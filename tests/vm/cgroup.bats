#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# PMCs of a control group on every kernel: calls, faults and instructions of the processes in it, and of no others.

load helpers

ENTER=syscalls:sys_enter_sched_get_priority_max

# in_cgroups SCRIPT [ARG...] - SCRIPT begins in /tmp, where `cgroup` is the hierarchy of version 2
in_cgroups() {
	local script=$1

	shift
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'cd /tmp && mkdir -p cgroup && mount -t cgroup2 none cgroup || exit
		read -r any _ <cgroup/cgroup.controllers
		echo "+$any" >cgroup/cgroup.subtree_control
		'"$script" "$@"
}

# cgroup_counts EVENT... - `load` works in /tmp/cgroup/a/below and beside it, while pmcstat counts a; sets counts[]
# shellcheck disable=SC2154 # bats sets output and lines
cgroup_counts() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'mkdir -p cgroup/a/below && rm -f rows
		pmcstat -q --csv -C -w 0.1 -o rows $1 -t cgroup:/tmp/cgroup/a & p=$!
		until [ "$(wc -l <rows)" -ge 2 ]; do usleep 20000; kill -0 $p || exit; done
		work="load calls=10 spins=1000000 forks=1"
		sh -c "echo \$\$ >cgroup/a/below/cgroup.procs && exec $work" && $work || exit
		kill -INT $p; wait $p
		tail -n 1 rows
		rmdir cgroup/a/below cgroup/a; umount cgroup' "$*"
	echo "$output"
	status_is 0
	IFS=, read -r -a counts <<<"${lines[-1]}"
	counts=("${counts[@]:1}")
}

@test "PERF-031: calls and CPU time of a cgroup" {
	cgroup_counts -p $ENTER -p TASK_CLOCK -p CONTEXT_SWITCHES
	[ "${counts[0]}" -eq 20 ]
	[ "${counts[1]}" -gt 0 ]
	[ "${counts[2]}" -gt 0 ]
}

@test "the doctor reports which way cgroups are counted" {
	run vm pmccontrol --doctor
	if perf_counts; then
		has "limits  cgroups: perf counts them, because this kernel shows no program a process that is moved"
	else
		has "ok      cgroups: counted in time slices"
	fi
}

@test "instructions of a cgroup" {
	[ "$VM_ARCH" = arm64 ] || skip "guests of this architecture have no counters"
	cgroup_counts -p inst_retired,usr -p inst_retired,usr -p $ENTER
	# Two for each of the rounds, the shell, and the beginning and end of the process and its child.
	[ "${counts[0]}" -ge 4000000 ]
	[ "${counts[0]}" -lt 6000000 ]
	[ "${counts[1]}" -ge 4000000 ]
	[ "${counts[2]}" -eq 20 ]
}

# samples_of_cgroup EVENT - of `load` in /tmp/cgroup/a/below, beside which it does the same in no
# cgroup; sets samples, and processes that have any
samples_of_cgroup() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'mkdir -p cgroup/a/below
		echo "echo \$\$ >cgroup/a/below/cgroup.procs && exec load spins=1000000" >inside
		echo "sh inside & inside=\$!; load spins=1000000; wait \$inside" >both
		pmcstat -q -n 100000 -P $1 -O log -t cgroup:/tmp/cgroup/a sh both &&
			pmc filter -j log log.json && sed -n "/\"callchain\"/s/.*\"pid\":\"\([0-9]*\)\".*/\1/p" log.json >pids
		echo "$(wc -l <pids) $(sort -u pids | wc -l)"
		rmdir cgroup/a/below cgroup/a; umount cgroup' "$1"
	echo "$output"
	status_is 0
	read -r samples processes <<<"${lines[-1]}"
}

@test "PERF-031: samples of a cgroup, of time and of instructions, are of its processes" {
	samples_of_cgroup CPU_CLOCK
	[ "$samples" -ge 1 ] && [ "$processes" -eq 1 ]
	[ "$VM_ARCH" = arm64 ] || skip "guests of this architecture have no counters"
	# QEMU interrupts late, so that samples are fewer than periods.
	samples_of_cgroup inst_retired,usr
	[ "$samples" -ge 1 ] && [ "$processes" -eq 1 ]
}

@test "samples of hits in a cgroup are of its processes, while they are in it: calls, and those that a probe meets" {
	# The shell itself makes the system calls.
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'mkdir -p cgroup/a/below cgroup/b
		cat >moves <<"END"
			at() { echo 0 >cgroup/$1/cgroup.procs; i=0; while [ $i -lt $2 ]; do kill -0 $$; i=$((i + 1)); done; }
			at b 20; load calls=20; at a/below 300; load calls=30; at b 40; at a 100; load calls=5; at b 1
END
		pmcstat -q -n 10 -P syscalls:sys_enter_kill -n 1 -P uprobe:/usr/bin/load:load_call -P syscalls:sys_enter_kill \
			-O log -t cgroup:/tmp/cgroup/a sh moves >/dev/null
		pmcstat -q -R log | awk "\$1 ~ /^allocate/ { id[++n] = \$2 } \$1 == \"callchain\" { has[\$3]++ }
			END { print has[id[1]], has[id[2]], has[id[3]] }"
		rmdir cgroup/a/below cgroup/a cgroup/b; umount cgroup'
	echo "$output"
	status_is 0
	[ "${lines[-1]}" = "40 35 400" ]
}

@test "waits in a cgroup have their whole lengths, and are of its processes" {
	if ! vm_sh 'pmccontrol -L | grep -q OFFCPU_TIME'; then
		[ "$VM_KERNEL" = 6.1-arm64 ]
		skip "arm64 has no place for it before Linux 6.4"
	fi
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'mkdir -p cgroup/a/below cgroup/b
		sh -c "echo 0 >cgroup/b/cgroup.procs; exec waited sleep 1000 2000000" >/dev/null & beside=$!
		pmcstat -q -n 1 -P OFFCPU_TIME -O log -t cgroup:/tmp/cgroup/a \
			sh -c "echo 0 >cgroup/a/below/cgroup.procs; exec waited sleep 20 2000000" >figures
		kill $beside; wait $beside
		pmc filter -j log log.json
		rmdir cgroup/a/below cgroup/a cgroup/b; umount cgroup'
	echo "$output"
	status_is 0
	vm_get /tmp/log.json "$BATS_TEST_TMPDIR/log.json"
	vm_get /tmp/figures "$BATS_TEST_TMPDIR/figures"
	cd "$BATS_TEST_TMPDIR" || return
	python3 "$BATS_TEST_DIRNAME/../e2e/offcpu.py" sleep log.json figures
	read -r inside _ <figures
	[ "$(sed -n '/"type":"callchain"/s/.*"pid":"\([0-9]*\)".*/\1/p' log.json | sort -u)" = "$inside" ]
}

@test "stores to a word by the processes of a cgroup, and samples of them" {
	local word

	word=breakpoint:$(readelf -sW "${PMCBPF_VM_OVERLAY:-$VM_OUT/vm/overlay}/$VM_ARCH/usr/bin/load" |
		awk '$8 == "load_word" { print "0x" $2; exit }'):w
	# No shell is in the cgroup: it may have something of its own at this address.
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'mkdir -p cgroup/a/below
		stores() {
			rm -f out.* started end
			for n in 100 10 1000; do
				load -w stores=$n >out.$n & eval "w$n=$!"
				until grep -qs ready out.$n; do usleep 20000; done
			done
			echo $w100 >cgroup/a/below/cgroup.procs
			echo $w10 >cgroup/a/cgroup.procs
			pmcstat -q "$@" -t cgroup:/tmp/cgroup/a sh -c ": >started; until [ -e end ]; do usleep 20000; done" & p=$!
			until [ -e started ]; do usleep 20000; kill -0 $p || exit; done
			kill -USR1 $w100 $w10 $w1000
			until [ "$(cat out.* | grep -c ^all)" -eq 6 ]; do usleep 20000; done
			: >end; wait $p; kill $w100 $w10 $w1000
		}
		stores --csv -C -o rows -p $1; tail -n 1 rows
		stores -n 10 -P $1 -O log; pmcstat -q -R log | grep -c ^callchain
		wait; rmdir cgroup/a/below cgroup/a; umount cgroup' "$word"
	echo "$output"
	status_is 0
	[[ "${lines[-2]}" == *,110 ]]
	[ "${lines[-1]}" = 11 ]
}

# Where no program sees a task that is moved, perf counts.
perf_counts() { [ "$VM_KERNEL" = 6.1-arm64 ]; }

@test "a process that moves itself, and goes on: each call counts where it was made" {
	# The shell itself makes these calls; nothing else has to run in between.
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'mkdir -p cgroup/a/below cgroup/b && rm -f rows
		pmcstat -q --csv -C -w 0.1 -o rows -p syscalls:sys_enter_kill --for-each-cgroup "a,a/below,b" & p=$!
		until [ -s rows ]; do usleep 20000; kill -0 $p || exit; done
		cat >moves <<"END"
			at() { echo 0 >cgroup/$1/cgroup.procs; i=0; while [ $i -lt $2 ]; do kill -0 $$; i=$((i + 1)); done; }
			at a 1; at b 20; at a/below 300; at b 4000; at a 50000
END
		taskset -c 1 sh moves
		kill -INT $p; wait $p
		tail -n 3 rows | cut -d, -f2-
		rmdir cgroup/a/below cgroup/a cgroup/b; umount cgroup'
	echo "$output"
	status_is 0
	has "a,50301"
	has "a/below,300"
	has "b,4020"
}

@test "a cgroup that is removed keeps its counts, and the next one of that name begins at 0" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'later() { was=$(cat $1 | wc -l); until [ $(cat $1 | wc -l) -gt $((was + 1)) ]; do usleep 20000; done; }
		begin() {
			rm -f $1; mkdir -p cgroup/a/b
			pmcstat -q --csv -C -w 0.1 -o $1 -p $2 -t cgroup:/tmp/cgroup/a/b &
			until [ -s $1 ]; do usleep 20000; kill -0 $! || exit; done
		}
		begin first $1; p1=$!
		sh -c "echo \$\$ >cgroup/a/b/cgroup.procs && exec load threads=1 forks=1 calls=10"
		until grep -q "populated 0" cgroup/a/b/cgroup.events; do usleep 20000; done
		rmdir cgroup/a/b && later first
		begin second $1; p2=$!
		sh -c "echo \$\$ >cgroup/a/b/cgroup.procs && exec load calls=7"
		later first
		kill -INT $p1; wait $p1; begin third $1; p3=$!
		sh -c "echo \$\$ >cgroup/a/b/cgroup.procs && exec load calls=100"
		kill -INT $p2 $p3; wait $p2; wait $p3
		tail -qn 1 first second third | cut -d, -f2
		rmdir cgroup/a/b cgroup/a; umount cgroup' $ENTER
	echo "$output"
	status_is 0
	# The first has two threads and a child.
	[[ $output == *"30
107
100" ]]
}

@test "events that only programs count: calls of a function, kinds of switches, locks; where perf counts they are refused" {
	events="uprobe:/usr/bin/load:load_call CONTEXT_SWITCHES.VOLUNTARY LOCK.FAILED sched:sched_stat_runtime"
	if perf_counts; then
		for event in $events; do
			run vm pmcstat -t cgroup:/ -p "$event" true
			[ "$status" -ne 0 ]
			[[ $output == *"for a cgroup"* ]]
		done
		return
	fi
	cgroup_counts -p uprobe:/usr/bin/load:load_call -p CONTEXT_SWITCHES -p CONTEXT_SWITCHES.VOLUNTARY \
		-p CONTEXT_SWITCHES.INVOLUNTARY -p PAGE_FAULT.WRITE -p sched:sched_switch
	[ "${counts[0]}" -eq 20 ]
	[ "${counts[1]}" -gt 0 ]
	[ "${counts[1]}" -eq $((counts[2] + counts[3])) ]
	[ "${counts[4]}" -gt 0 ]
	[ "${counts[1]}" -eq "${counts[5]}" ]
}

@test "instructions of several cgroups: they share a counter, also with a process" {
	[ "$VM_ARCH" = arm64 ] || skip "guests of this architecture have no counters"
	if perf_counts; then skip "perf counts here, with a counter for each: 6.12-arm64 proves it"; fi
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do mkdir -p cgroup/g/$i; done
		rm -f rows
		pmcstat -q --csv -C -w 0.1 -o rows -p inst_retired,usr -p inst_retired,usr -p $1 \
			--for-each-cgroup "^g" & p=$!
		until [ -s rows ]; do usleep 20000; kill -0 $p || exit; done
		for i in 1 2 3; do
			sh -c "echo \$\$ >cgroup/g/$i/cgroup.procs && exec load calls=$i spins=${i}000000 forks=1"
		done
		# QEMU may count what the other CPU executes meanwhile: nothing.
		kill -STOP $p
		pmcstat -q --csv -C -o own -p inst_retired,usr load spins=1000000
		kill -CONT $p
		tail -n 1 own
		kill -INT $p; wait $p
		tail -n 21 rows | cut -d, -f2-
		for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do rmdir cgroup/g/$i; done
		rmdir cgroup/g; umount cgroup' $ENTER
	echo "$output"
	status_is 0
	declare -A count
	while IFS=, read -r name first second calls; do
		[[ $name == g* ]] || continue
		[ "$first" -eq "$second" ]
		count[$name]=$first
		count[$name.calls]=$calls
	done <<<"$output"
	for i in 1 2 3; do
		[ "${count[g/$i.calls]}" -eq $((2 * i)) ]
		[ "${count[g/$i]}" -ge $((4000000 * i)) ]
		[ "${count[g/$i]}" -lt $((4000000 * i + 2000000)) ]
	done
	[ "${count[g/4]}" -eq 0 ]
	[ "${count[g]}" -eq $((count[g/1] + count[g/2] + count[g/3])) ]
	[[ $output =~ (^|$'\n')[0-9.]+,(2[0-9]{6})($'\n'|$) ]]
}

@test "five processes move among cgroups, while cgroups and PMCs come and go: no call is lost or counted twice" {
	if perf_counts; then kinds=; else kinds="-p CONTEXT_SWITCHES.VOLUNTARY -p CONTEXT_SWITCHES.INVOLUNTARY"; fi
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'for i in 0 1 2 3 4 5 6 7; do mkdir -p cgroup/g/$i/x; done
		cat >moves <<"END"
			n=0; i=$1
			while [ $n -lt 40 ]; do
				i=$(((i * 1103 + 12345) % 65536)); g=$((i % 8))
				[ $((i / 8 % 2)) = 0 ] && g=$g/x
				echo 0 >cgroup/g/$g/cgroup.procs
				k=0; while [ $k -lt 25 ]; do kill -0 $$; k=$((k + 1)); done
				n=$((n + 1))
			done
END
		rm -f rows over
		pmcstat -q --csv -C -w 0.05 -o rows -p $1 -p CONTEXT_SWITCHES $2 --for-each-cgroup "^g" & p=$!
		until [ -s rows ]; do usleep 20000; kill -0 $p || exit; done
		while [ ! -e over ]; do
			mkdir -p cgroup/g/new
			for g in 3 new; do pmcstat -q -p $1 -t cgroup:/tmp/cgroup/g/$g true || exit; done
			rmdir cgroup/g/new
		done >/dev/null & q=$!
		w=
		for s in 11 22 33 44 55; do sh moves $s & w="$w $!"; done
		wait $w; touch over; wait $q || exit
		kill -INT $p; wait $p
		tail -n 17 rows | cut -d, -f2-
		for i in 0 1 2 3 4 5 6 7; do rmdir cgroup/g/$i/x cgroup/g/$i; done
		rmdir cgroup/g; umount cgroup' syscalls:sys_enter_kill "$kinds"
	echo "$output"
	status_is 0
	calls=0 switches=0
	while IFS=, read -r name a b voluntary involuntary; do
		[[ $name == g* ]] || continue
		[ $((a % 25)) -eq 0 ]
		[ -z "$kinds" ] || [ "$b" -eq $((voluntary + involuntary)) ]
		case $name in
		g) all=$a all_switches=$b ;;
		g/?) calls=$((calls + a)) switches=$((switches + b)) ;;
		esac
	done <<<"$output"
	[ "$all" -eq $((5 * 40 * 25)) ]
	[ "$calls" -eq "$all" ]
	[ "$switches" -eq "$all_switches" ]
}

@test "64 PMCs count a cgroup together with those above it; the next one is refused, also from above" {
	if perf_counts; then skip "perf counts here: 6.12-arm64 proves it"; fi
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'mkdir -p cgroup/a/below && rm -f rows above
		many() { i=0; while [ $i -lt $1 ]; do echo "-p $2"; i=$((i + 1)); done; }
		pmcstat -q --csv -C -w 0.1 -o above $(many 40 $1) -t cgroup:/tmp/cgroup/a & p1=$!
		until [ -s above ]; do usleep 20000; kill -0 $p1 || exit; done
		pmcstat -q --csv -C -w 0.1 -o rows $(many 24 $1) -t cgroup:/tmp/cgroup/a/below & p2=$!
		until [ -s rows ]; do usleep 20000; kill -0 $p2 || exit; done
		sh -c "echo \$\$ >cgroup/a/below/cgroup.procs && exec load calls=10"
		for g in a a/below; do pmcstat -q -p $1 -t cgroup:/tmp/cgroup/$g true; done
		kill -INT $p2; wait $p2
		pmcstat -q --csv -C -o again -p $1 -t cgroup:/tmp/cgroup/a true && tail -n 1 again
		kill -INT $p1; wait $p1
		tail -n 1 above; tail -n 1 rows
		rmdir cgroup/a/below cgroup/a; umount cgroup' $ENTER
	echo "$output"
	status_is 0
	[ "$(grep -c "64 PMCs count this cgroup or one below it" <<<"$output")" -eq 2 ]
	[ "$(grep -cE "^[0-9.]+,0$" <<<"$output")" -eq 1 ]
	[ "$(grep -cE "^[0-9.]+(,10){40}$" <<<"$output")" -eq 1 ]
	[ "$(grep -cE "^[0-9.]+(,10){24}$" <<<"$output")" -eq 1 ]
}

@test "a user who may count CPUs takes his share of the 64, and leaves the others to others" {
	if perf_counts; then skip "perf counts here: 6.12-arm64 proves it"; fi
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'mkdir -p cgroup/a/below && rm -f own
		pmccontrol --tunable security.bsd.unprivileged_syspmcs=1 || exit
		many() { i=0; while [ $i -lt $1 ]; do echo "-p $2"; i=$((i + 1)); done; }
		stand -u 1000 -g 1000 pmcstat -q --csv -C -w 0.1 -o own $(many 16 $1) -t cgroup:/tmp/cgroup/a & p=$!
		until [ -s own ]; do usleep 20000; kill -0 $p || exit; done
		for g in a a/below; do stand -u 1000 -g 1000 pmcstat -q -p $1 -t cgroup:/tmp/cgroup/$g true; done
		for u in 1001 0; do stand -u $u -g $u pmcstat -q -p $1 -t cgroup:/tmp/cgroup/a/below true && echo "$u counts"; done
		kill -INT $p; wait $p
		pmccontrol --tunable security.bsd.unprivileged_syspmcs=0
		rmdir cgroup/a/below cgroup/a; umount cgroup' syscalls:sys_enter_kill
	echo "$output"
	[ "$(grep -c "16 PMCs count this cgroup .* 16 of them are this user.s\.  This user may have 16, " <<<"$output")" -eq 2 ]
	has "1001 counts"
	has "0 counts"
}

@test "CPU_MIGRATIONS of a cgroup and of the one above it: as the kernel counts them; where perf counts, refused" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups "$VM_ASLEEP"'
		mkdir -p cgroup/a/below && rm -f rows out
		sh -c "echo \$\$ >cgroup/a/below/cgroup.procs && exec load -w moves=100" >out & w=$!
		until grep -q ready out && asleep $w; do usleep 20000; done
		pmcstat -q --csv -C -w 0.1 -o rows -p CPU_MIGRATIONS --for-each-cgroup "a,a/below" 2>said & p=$!
		until [ "$(cat rows 2>&1 | grep -c ,)" -ge 2 ]; do
			usleep 20000; kill -0 $p || { kill $w; wait; cat said; rmdir cgroup/a/below cgroup/a; umount cgroup; exit 9; }
		done
		before=$(moved $w)
		kill -USR1 $w
		load moves=100
		until [ "$(grep -c ^all out)" -eq 2 ] && asleep $w; do usleep 20000; done
		kill -INT $p; wait $p || exit
		echo $(($(moved $w) - before))
		tail -n 2 rows | cut -d, -f2-
		kill $w; wait
		rmdir cgroup/a/below cgroup/a; umount cgroup'
	echo "$output"
	if perf_counts; then
		status_is 9
		has "CPU_MIGRATIONS cannot be counted for a cgroup: count its processes"
		return
	fi
	status_is 0
	[ "${lines[-3]}" -ge 100 ]
	[ "${lines[-2]}" = "a,${lines[-3]}" ]
	[ "${lines[-1]}" = "a/below,${lines[-3]}" ]
}

@test "a CPU that comes online while a cgroup is counted" {
	vm_all_cpus
	# shellcheck disable=SC2016 # the guest's shell expands it
	in_cgroups 'mkdir -p cgroup/a && rm -f rows
		echo 0 >/sys/devices/system/cpu/cpu1/online
		sh -c "echo \$\$ >cgroup/a/cgroup.procs && exec load -w calls=10" >out & w=$!
		until grep -q ready out; do usleep 20000; done
		pmcstat -q --csv -C -w 0.1 -o rows -p $1 -t cgroup:/tmp/cgroup/a 2>said & p=$!
		until [ -s rows ]; do usleep 20000; kill -0 $p || { cat said; exit 1; }; done
		kill -USR1 $w
		until [ "$(grep -c ^all out)" -eq 2 ]; do usleep 20000; done
		until tail -n 1 rows | grep -q ",10$"; do usleep 20000; kill -0 $p || exit; done
		echo 1 >/sys/devices/system/cpu/cpu1/online
		was=$(cat rows | wc -l)
		until [ $(cat rows | wc -l) -gt $((was + 1)) ]; do usleep 20000; kill -0 $p 2>/dev/null || break; done
		taskset -c 1 sh -c "echo \$\$ >cgroup/a/cgroup.procs && exec load calls=100"
		kill -INT $p; wait $p; echo "status $?"; cat said
		tail -n 1 rows | cut -d, -f2-
		kill $w; wait
		rmdir cgroup/a; umount cgroup' $ENTER
	echo "$output"
	if perf_counts; then
		[[ $output == *"status 71"* && $output == *"CPU 1 came online while this PMC counted a cgroup"* ]]
	else
		[[ $output == *"status 0"*$'\n'*110* ]]
	fi
}

# The last one: the controller may stay in this hierarchy.
@test "cgroups of version 1: the perf_event controller's" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'cd /tmp && mkdir -p v1 && mount -t cgroup -o perf_event none v1 && mkdir -p v1/a/below v1/b || exit
		for g in a/below b; do
			sh -c "echo \$\$ >v1/$g/cgroup.procs && exec load -w calls=10" >out.${g%/*} & eval "${g%/*}=$!"
			until grep -q ready out.${g%/*}; do usleep 20000; done
		done
		rm -f rows
		pmcstat -q --csv -C -w 0.1 -o rows -p $1 --for-each-cgroup "a,a/below,/" & p=$!
		until [ "$(wc -l <rows)" -ge 4 ]; do usleep 20000; kill -0 $p || exit; done
		kill -USR1 $a $b
		until [ "$(cat out.a out.b | grep -c ^all)" -eq 4 ]; do usleep 20000; done
		kill -INT $p; wait $p
		kill $a $b; wait
		tail -n 3 rows | cut -d, -f2-
		pmcstat -q -n 1 -P $1 -O log -t cgroup:/tmp/v1/a true 2>&1
		rmdir v1/a/below v1/a v1/b; umount v1' $ENTER
	echo "$output"
	status_is 0
	has "hits are sampled in cgroups of version 2"
	[[ $output == *"/,20
a,10
a/below,10"* ]]
}

@test "every row is free, and the kernel has not complained" {
	run vm_sh 'pmccontrol -l | grep -c " ENABLED .*\(THREAD\|STANDALONE\) *$"'
	[ "${lines[0]}" = 0 ]
	vm_clean_log
}
