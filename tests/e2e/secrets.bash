# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Set-id programs and kernel addresses, and what logs show of them: for secrets.bats, settings.bats and starved.bats.

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
	start_daemon "${ROOM[@]}"
	mkdir -m 777 open
	B=$(public_build)
}

end_secrets() {
	: >open/enough
	[ -z "${HOG:-}" ] || kill "$HOG" 2>/dev/null || true
	part_all
	rest_all
	stop_daemon KILL || true
}

teardown() { end_secrets; }

# as_user COMMAND...: as user nobody, who may gain rights by an exec.
as_user() { "${nobody[@]}" env PATH="$B/bin:$B/tests:$PATH" LD_LIBRARY_PATH="$B/lib" "$@"; }

# with_caps CAPS COMMAND...: as user nobody with these capabilities.
with_caps() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$1" --ambient-caps "$1" --bounding-set "$1" \
		env PATH="$B/bin:$B/tests:$PATH" LD_LIBRARY_PATH="$B/lib" "${@:2}"
}

# rounds NAME N: open/NAME runs the commands of standard input N times, with the round's number in i.
rounds() {
	cat >"open/$1" <<-END
		cd open
		self='/proc/self/stat /proc/self/maps'
		i=0
		while [ \$i -lt $2 ]; do
			i=\$((i + 1))
			$(cat)
		done
	END
}

# The only kernel address in the logs of users who may not see kernel addresses.
HIDDEN=0x8000000000000000

# in_kernel AS...: samples, all in the kernel, of a load that switches, into ./log and ./text.
in_kernel() {
	"$@" pmcstat -q -n 1 -P CONTEXT_SWITCHES -O open/log load switches=300
	mv open/log log
	pmcstat -q -R log >text
	# Less the switches that this kernel hides from perf.
	[ "$(grep -c '^callchain .* s$' text)" -ge 200 ]
}

# ./log has nothing of the kernel but the address $HIDDEN.
hides_kernel() {
	refute python3 "$BATS_TEST_DIRNAME/leaks.py" log
	refute grep 'map-in *-1 ' text
	[ "$(grep -c "^\.\.\. *$HIDDEN\$" text)" -eq "$(grep -c '^callchain .* s$' text)" ]
}

# shows_kernel: addresses only; names_kernel: with their names.
shows_kernel() {
	grep -q '^\.\.\. *0xffff' text
	refute grep 'map-in *-1 ' text
	refute grep "$HIDDEN" text
}
names_kernel() {
	grep -q '^\.\.\. *0xffff' text
	grep -q 'map-in *-1 .*"\[kernel.kallsyms\]schedule"' text
	refute grep "$HIDDEN" text
}

# secret NAME PROGRAM [MODE [OWNER]]: a copy in ./open, set-id by default.
secret() {
	cp "$(readlink -f "$(command -v "$2")")" "open/$1"
	chown "${4:-65533}" "open/$1"
	chmod "${3:-4755}" "open/$1"
}

# leaks SELF...: the addresses and paths of these processes that ./text has.
leaks() { python3 "$BATS_TEST_DIRNAME/leaks.py" -p "$@" <text; }

# The number of processes that have reported their addresses.
said() { cat open/maps.* | grep -c '\[vdso\]'; }

# Each reports its address: as a fork's exec and as a vfork's, by capabilities, unreadable, before it runs an
# ordinary program with all rights, and in its descendants.
secrets() {
	secret cat-setid cat
	as_user open/cat-setid /proc/self/status >status
	grep -q 'Uid:	65534	65533' status || skip "this file system knows no set-id programs"
	secret cat-cap cat 755 0
	setcap cap_net_raw+ep open/cat-cap 2>/dev/null || chmod 4755 open/cat-cap
	secret cat-secret cat 711 0
	secret setpriv-setid setpriv 4755 0
	secret dash-setid dash
	cat >open/script <<-'END'
		cd open
		self='/proc/self/stat /proc/self/maps'
		./cat-setid $self >maps.fork
		vexec ./cat-setid $self >maps.vfork
		./cat-cap $self >maps.cap
		vexec ./cat-secret $self >maps.secret
		./setpriv-setid --reuid 0 --clear-groups cat $self >maps.ordinary
		./dash-setid -p -c "cat $self; :" >maps.child
		./dash-setid -p -c "(cat $self; :) & wait" >maps.grandchild
		(exec ./cat-setid $self) >maps.exec
	END
	names='cat-setid|cat-cap|cat-secret|setpriv-setid|dash-setid'
}

# ./log has none of their addresses, and is complete to its end.
keeps_secrets() {
	pmcstat -q -R log >text
	refute leaks open/maps.*
	refute grep -E "$names" text
	[[ "$(tail -n 1 text)" == closelog* ]]
}

# … and it has the script's own process, and each of its children up to its exec.
has_the_rest() {
	grep -q '^exec .*dash"' text
	[ "$(grep -c '^fork' text)" -ge 8 ]
	lost_slices text
}
