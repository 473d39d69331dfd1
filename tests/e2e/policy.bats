#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The administrator's rules: what they refuse and allow on a running daemon, which file and line a refusal names,
# reading them again, and files that are wrong.  tests/unit/loader_site.c has every setting's judgement.

load helpers

FAULTS=0x20004 CLOCK=0x20009 SWITCHES=0x2000b
SAMPLES=0x21

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
	# The unit's sandbox has a /tmp of its own.
	RULES=$(mktemp -d /run/pmcbpf-rules.XXXXXX)
	chmod 755 "$RULES"
}

teardown() {
	part_all
	rest_all
	stop_daemon KILL || true
	rm -rf "$RULES"
}

# rules NAME: a file of the folder, from standard input.
rules() { cat >"$RULES/$1.conf"; }

# with_rules [OPTION]...: a daemon with the rules on standard input.
with_rules() {
	rules 50-test
	start_daemon -o "policy.dir=$RULES" "$@"
}

# reload TEXT: the rules are read again, and the daemon says TEXT.
reload() {
	: >"$DAEMON_LOG"
	kill -HUP "$DAEMON_PID"
	wait_for grep -qF "$1" "$DAEMON_LOG"
}

# Words for a client without privilege.
nobody_asks() { run run_as_nobody wireclient hello "$@"; }

# last_is PATTERN: the last line of the output.
last_is() {
	# shellcheck disable=SC2053 # a pattern
	[[ ${lines[-1]} == $1 ]] || { printf 'got: %s\nwanted: %s\n' "$output" "$1" >&2; return 1; }
}

@test "events, modes and the kernel's side; the refusal names rule, file and line; root is not limited" {
	with_rules <<-'END'
	# nobody may count page faults in user code
	user="65534" events="SOFT:PAGE_FAULT.*,TSC" kernel="no"
	modes="TC"
	END
	nobody_asks caps 0x22 alloc 3 15 $FAULTS any 0 start read
	last_is 'read 0 *'
	nobody_asks alloc 3 15 $SWITCHES any 0
	last_is "alloc EPERM -- SOFT:CONTEXT_SWITCHES is not among *: events=\"SOFT:PAGE_FAULT.\*,TSC\" ($RULES/50-test.conf:2)"
	nobody_asks alloc 3 15 $FAULTS any 0
	last_is "alloc EPERM -- you may not count in the kernel; * kernel=\"no\" ($RULES/50-test.conf:2)"
	nobody_asks caps 0x23 alloc 2 15 $FAULTS any 0
	last_is "alloc EPERM -- mode TS is not among those that you may use; * modes=\"TC\" ($RULES/50-test.conf:3)"
	nobody_asks alloc 1 15 $FAULTS 0 0
	last_is "alloc EPERM -- mode SC is not among those that you may use; *"
	run wireclient hello alloc 1 15 $SWITCHES 0 0 start read
	last_is 'read 0 *'
}

@test "a rule opens whole CPUs to one user where the tunable does not, and never to a container" {
	with_rules <<<'user="65534" modes="SC,TC" '
	nobody_asks alloc 1 15 $SWITCHES 0 0 start read
	last_is 'read 0 *'
	run setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps=-all --bounding-set=-all \
		env PATH="$(public_build)/tests:$PATH" wireclient hello alloc 1 15 $SWITCHES 0 0
	last_is 'alloc EPERM -- *unprivileged_syspmcs*'
	run unshare -r setpriv --bounding-set=-all wireclient hello alloc 1 15 $SWITCHES 0 0
	last_is 'alloc EPERM -- *not for processes in a container*'
}

@test "processes: only oneself, or those of the same user" {
	with_rules <<<'processes="self"'
	start="sleep 60 3>&- & pid=\$!; wireclient hello alloc 3 15 $FAULTS any 0 attach \$pid attach 0; kill \$pid"
	run run_as_nobody bash -c "$start"
	[[ $output == *"attach EPERM -- you may not attach to other processes; "*"processes=\"self\" ($RULES/50-test.conf:1)"* ]]
	last_is 'attach 0'
	rules 50-test <<<'processes="own"'
	reload 'hwpmc:'
	run run_as_nobody pmccontrol --doctor
	[[ $output == *"limits  processes of others: your own that you may debug: processes=\"own\" ($RULES/50-test.conf:1)"* ]]
	run run_as_nobody bash -c "$start"
	refute grep EPERM <<<"$output"
	workload other pages=10
	run setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=+sys_ptrace --ambient-caps=+sys_ptrace \
		env PATH="$(public_build)/tests:$PATH" wireclient hello alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[other]}"
	last_is "attach EPERM -- process ${WORKLOAD[other]} is another user's; *processes=\"own\"*"
}

@test "pmcs: the user's in all processes together, and room again after a release" {
	with_rules <<<'pmcs="3"'
	client a "${nobody[@]}"
	client b "${nobody[@]}"
	expect a 'alloc 0 *' alloc 3 15 $FAULTS any 0 alloc 3 15 $FAULTS any 0
	expect b 'alloc 0 *' alloc 3 15 $FAULTS any 0
	expect b "alloc EAGAIN -- uid 65534 has 3 PMCs, *: pmcs=\"3\" ($RULES/50-test.conf:1)" alloc 3 15 $FAULTS any 0
	expect a 'release 0' release
	expect b 'alloc 0 *' alloc 3 15 $FAULTS any 0
	part a
	wait_for rest_is_given_back
	part b
}
rest_is_given_back() { ask b alloc 3 15 $FAULTS any 0; [[ $reply == 'alloc 0 '* ]]; }

@test "rate of clocks, period of other events: at the setting and at the start" {
	with_rules <<<'rate="1000" period="100"'
	mkdir his && chown 65534 his
	client a "${nobody[@]}"
	expect a "setcount EPERM -- a period of 999999 makes 1000 samples a second; use 1000000 or more: rate=\"1000\" *" \
		caps $SAMPLES alloc 2 15 $CLOCK any 0 setcount 999999
	expect a 'stop 0' setcount 1000000 log his/log start stop
	expect a 'setcount EPERM -- a period of 99 is too short; use 100 or more: period="100" *' \
		caps $SAMPLES alloc 2 15 $FAULTS any 0 setcount 99
	expect a 'stop 0' setcount 100 start stop
	# A stricter rule applies to a PMC that is there from its next start on.
	rules 50-test <<<'period="200"'
	reload 'hwpmc:'
	expect a 'start EPERM -- a period of 100 is too short; *' start
	part a
}

@test "logs: none, or so many kilobytes a second" {
	with_rules <<<'log="0"'
	mkdir his && chown 65534 his
	nobody_asks log his/log
	last_is 'log* EPERM -- you may not write a log; *log="0" *'
	rules 50-test <<<'log="16"'
	reload 'hwpmc:'
	client a "${nobody[@]}"
	# 2000 records of 24 bytes cannot be written within two seconds, and are all written.
	begun=$EPOCHREALTIME
	expect a 'endlog 0*' log his/log writelog 7 2000 endlog
	awk -v from="$begun" -v to="$EPOCHREALTIME" 'BEGIN { exit to - from < 2 }'
	[ "$(stat -c %s his/log)" -ge 48000 ]
	# An owner that ends does not lose what is not written yet.
	expect a 'writelog 0*' log his/log2 writelog 7 2000
	part a
	wait_for is_complete his/log2
}
is_complete() { [ "$(stat -c %s "$1")" -ge 48000 ]; }

@test "trace rings by rule" {
	with_rules -o ktr.compile=SCHED <<-'END'
	user="65534" trace="no"
	trace="yes"
	END
	b=$(public_build)
	[ "$b" = "$BUILD" ] || cp "$BUILD/tests/ktrread" "$b/tests"
	run run_as_nobody ktrread read
	[ "$status" -ne 0 ]
	[[ $output == *"you may not read the kernel's trace rings"*"trace=\"no\" ($RULES/50-test.conf:1)"* ]]
	rules 50-test <<<'trace="yes"'
	reload 'hwpmc:'
	run run_as_nobody ktrread read
	[ "$status" -eq 0 ]
}

@test "share and reserve by rule, named in the refusal" {
	with_rules <<<'user="65534" share="1"'
	share=$(pmccontrol --tunable user.share)
	[ "$share" = 25 ]
	nobody_asks many 100
	[[ $output == *"(share=\"1\" percent in $RULES/50-test.conf:1)"* ]]
}

@test "groups, control groups, user namespaces" {
	# The path that the daemon sees: systemd's own hierarchy, or the only one.
	own=$(sed -n 's/^[0-9]*:name=systemd://p' /proc/self/cgroup)
	own=${own:-$(sed -n 's/^0:://p' /proc/self/cgroup)}
	with_rules <<-END
	container="any" events="SOFT:PAGE_FAULT.*"
	group="4242" modes="SC,TC"
	container="/pmcbpf-test-*" kernel="no"
	container="/pmcbpf-test-*,$own" events="~SOFT:PAGE_FAULT.*"
	END
	run setpriv --reuid 65534 --regid 65534 --groups 4242 --inh-caps=-all --bounding-set=-all \
		env PATH="$(public_build)/tests:$PATH" wireclient hello alloc 1 15 $SWITCHES 0 0
	last_is 'alloc 0 *'
	nobody_asks alloc 1 15 $SWITCHES 0 0
	last_is 'alloc EPERM -- *'
	nobody_asks alloc 3 15 $SWITCHES any 0
	last_is 'alloc 0 *'
	nobody_asks alloc 3 15 $FAULTS any 0
	last_is "alloc EPERM -- SOFT:PAGE_FAULT.ALL is not among * ($RULES/50-test.conf:4)"
	run_in_namespace() { run unshare -r setpriv --bounding-set=-all wireclient hello "$@"; }
	run_in_namespace alloc 3 15 $FAULTS any 0
	last_is 'alloc 0 *'
	run_in_namespace alloc 3 15 $SWITCHES any 0
	last_is "alloc EPERM -- SOFT:CONTEXT_SWITCHES is not among * ($RULES/50-test.conf:1)"
}

# hold_users: a lease on the file $RULES/users, so that an open(2) of it waits for release_users.
hold_users() {
	exec {held}< <(exec 3>&- && USERS=$RULES/users exec python3 -c '
import fcntl, os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO, signal.SIGUSR1})
file = os.open(os.environ["USERS"], os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
signal.sigwait({signal.SIGIO})
print("opened", flush=True)
signal.sigwait({signal.SIGUSR1})
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
print("released", flush=True)')
	HOLDER=$!
	users_are held
}
release_users() {
	kill -USR1 "$HOLDER"
	users_are released
	exec {held}<&-
}
# users_are held|opened|released
users_are() { read -r -t $PATIENCE -u "$held" line && [ "$line" = "$1" ]; }

@test "a name service that hangs: requests go on under the old rules, and the reload is given up" {
	# The unit's sandbox has a mount namespace already.
	[ -n "${PMCBPF_UNIT:-}" ] ||
		daemon_command() { COMMAND=(unshare --mount --propagation private pmcbpfd -f -s "$PMCBPF_SOCKET"); }
	with_rules <<<'pmcs="1"'
	client a "${nobody[@]}"
	expect a 'alloc EAGAIN *' alloc 3 15 $FAULTS any 0 alloc 3 15 $FAULTS any 0
	echo 'somebody:x:65534:65534::/:/bin/sh' >"$RULES/users"
	nsenter --mount --target "$DAEMON_PID" mount --bind "$RULES/users" /etc/passwd
	rules 50-test <<<'user="somebody" pmcs="2"'
	hold_users
	reload_waits
	expect a "alloc EAGAIN *pmcs=\"1\" ($RULES/50-test.conf:1)" alloc 3 15 $FAULTS any 0
	wait_for grep -q 'looking up the users and groups in .* takes more than 5 s: .*; the rules stay as they were' \
		"$DAEMON_LOG"
	expect a 'alloc EAGAIN *pmcs="1" *' alloc 3 15 $FAULTS any 0
	release_users
	# A service that answers late; a SIGHUP that comes meanwhile has the files read once more.
	hold_users
	reload_waits
	rules 60-more <<<'modes="TC"'
	kill -HUP "$DAEMON_PID"
	release_users
	wait_for rules_are_shown 60-more
	expect a "alloc EPERM *mode TS is not among * ($RULES/60-more.conf:1)" caps $SAMPLES alloc 2 15 $CLOCK any 0
	expect a 'alloc 0 *' alloc 3 15 $FAULTS any 0
	expect a "alloc EAGAIN *pmcs=\"2\" ($RULES/50-test.conf:1)" alloc 3 15 $FAULTS any 0
	refute grep -q 'stay as they were' "$DAEMON_LOG"
	# The daemon ends while it hangs.
	hold_users
	reload_waits
	part a
	stop_daemon
	release_users
}
reload_waits() {
	: >"$DAEMON_LOG"
	kill -HUP "$DAEMON_PID"
	users_are opened
}
# A request that takes nothing: between the two readings all modes are allowed.
rules_are_shown() { pmccontrol --policy | grep -qF "$RULES/$1.conf"; }

@test "SIGHUP: all files or none; the daemon names file and line, and the old rules stay" {
	with_rules <<<'pmcs="1"'
	client a "${nobody[@]}"
	expect a 'alloc EAGAIN *' alloc 3 15 $FAULTS any 0 alloc 3 15 $FAULTS any 0
	rules 60-more <<<'pmcs="many"'
	rules 50-test <<<'pmcs="5"'
	reload "$RULES/60-more.conf:1: pmcs takes a number"
	grep -q 'the rules stay as they were' "$DAEMON_LOG"
	expect a 'alloc EAGAIN *pmcs="1" *' alloc 3 15 $FAULTS any 0
	# A contradiction between files.
	rules 60-more <<<'user="65534" pmcs="6"'
	reload "$RULES/60-more.conf:1: pmcs=\"6\" never takes effect: $RULES/50-test.conf:1 comes first"
	expect a 'alloc EAGAIN *' alloc 3 15 $FAULTS any 0
	rm "$RULES/60-more.conf"
	reload 'hwpmc:'
	# The process that was there before has the new rules.
	expect a 'alloc 0 *' alloc 3 15 $FAULTS any 0
	# A user who does not exist: a warning, and the other rules hold.
	rules 60-more <<<'user="no-such-user" kernel="no"'
	reload "$RULES/60-more.conf:1: there is no user \"no-such-user\""
	refute grep -q 'stay as they were' "$DAEMON_LOG"
	# Without rules, for a process that had some.
	rm "$RULES"/*.conf
	reload 'hwpmc:'
	run pmccontrol --policy
	[ "$output" = '# no rules: the tunables decide, see pmcbpf.policy(5)' ]
	expect a 'alloc 0 *' alloc 3 15 $FAULTS any 0
	# And with new ones again.
	rules 50-test <<<'events="none"'
	reload 'hwpmc:'
	expect a 'alloc EPERM *events="none" *' alloc 3 15 $FAULTS any 0
	part a
}

@test "a daemon with a broken rule does not start; -t finds it and warns of names" {
	rules 50-test <<<'user="0" pmcs="x"'
	run timeout 60 pmcbpfd -f -s "$BATS_TEST_TMPDIR/other.sock" -o "policy.dir=$RULES"
	status_is 1
	[ "$output" = "pmcbpfd: $RULES/50-test.conf:1: pmcs takes a number from 0 to 1000000, or unlimited, not \"x\"" ]
	run timeout 60 pmcbpfd -t -o "policy.dir=$RULES"
	status_is 1
	[[ $output == *"$RULES/50-test.conf:1: pmcs takes a number"* ]]
	rules 50-test <<<'user="no-such-user" pmcs="1"'
	run timeout 60 pmcbpfd -t -o "policy.dir=$RULES"
	[[ $output == *"$RULES/50-test.conf:1: there is no user \"no-such-user\""* ]]
	refute grep -q 'pmcs takes' <<<"$output"
}

@test "only files that root alone may write are rules" {
	rules 50-test <<<'pmcs="1"'
	refused() {
		run timeout 60 pmcbpfd -f -s "$BATS_TEST_TMPDIR/other.sock" -o "policy.dir=$RULES"
		status_is 1
		[ "$output" = "pmcbpfd: $1" ] || { echo "got: $output" >&2; return 1; }
	}
	chmod 664 "$RULES/50-test.conf"
	refused "$RULES/50-test.conf may be written by other users than root; run chmod go-w on it"
	chmod 646 "$RULES/50-test.conf"
	refused "$RULES/50-test.conf may be written by other users than root; run chmod go-w on it"
	chmod 644 "$RULES/50-test.conf"
	chown 65534 "$RULES/50-test.conf"
	refused "$RULES/50-test.conf belongs to uid 65534; run chown root on it"
	chown 0 "$RULES/50-test.conf"
	chmod 775 "$RULES"
	refused "$RULES may be written by other users than root; run chmod go-w on it"
	chmod 755 "$RULES"
	chown 65534 "$RULES"
	refused "$RULES belongs to uid 65534; run chown root on it"
	chown 0 "$RULES"
	start_daemon -o "policy.dir=$RULES"
	[ "$(pmccontrol --policy)" = "pmcs=\"1\"  # $RULES/50-test.conf:1" ]
}

@test "pmccontrol --policy: all rules for root, each setting and its origin for others" {
	with_rules <<-'END'
	user="0" pmcs="7"   # not for others
	modes="TC"
	END
	[ "$(pmccontrol --policy)" = "user=\"0\" pmcs=\"7\"  # $RULES/50-test.conf:1
modes=\"TC\"  # $RULES/50-test.conf:2" ]
	run run_as_nobody pmccontrol --policy
	[ "$output" = "events=\"all\"  # default
modes=\"TC\"  # $RULES/50-test.conf:2
kernel=\"yes\"  # default
processes=\"any\"  # security.bsd.unprivileged_proc_debug
registers=\"any\"  # default
tracepoints=\"plain\"  # default
probes=\"none\"  # default
breakpoints=\"plain\"  # default
pmcs=\"unlimited\"  # default
rate=\"unlimited\"  # default
period=\"1\"  # default
log=\"unlimited\"  # default
trace=\"no\"  # ktr.unprivileged
share=\"25\"  # user.share
reserve=\"10\"  # user.reserve" ]
	run run_as_nobody pmccontrol --doctor
	[[ $output == *'system-scope counting: no: mode SC is not among those that you may use; '*"modes=\"TC\" ($RULES/50-test.conf:2)"* ]]
	# The output for root is a file of rules; a thousand take several replies.
	pmccontrol --policy >before
	for ((i = 0; i < 1000; i++)); do echo "user=\"$((100000 + i))\" pmcs=\"$i\""; done | rules 40-many
	reload 'hwpmc:'
	pmccontrol --policy >all
	[ "$(wc -l <all)" -eq 1002 ]
	cp all "$RULES/40-many.conf"
	rm "$RULES/50-test.conf"
	reload 'hwpmc:'
	[ "$(pmccontrol --policy | sed 's/  # .*//')" = "$(sed 's/  # .*//' all)" ]
}

@test "the examples of pmcbpf.policy(5) are rules that the daemon reads" {
	page=$BATS_TEST_DIRNAME/../../man/pmcbpf.policy.5
	mandoc -T ascii "$page" >/dev/null
	awk '/^\.Bd -literal -offset indent -compact$/ { n++; on = 1; next } /^\.Ed/ { on = 0 }
		on { gsub(/\\e/, "\\"); gsub(/\\\(dq/, "\""); print >"example" n }' "$page"
	[ -s example1 ] && [ -s example2 ] && [ -s example3 ]
	for example in example?; do
		rm -f "$RULES"/*.conf
		cp "$example" "$RULES/50-example.conf"
		run timeout 60 pmcbpfd -t -o "policy.dir=$RULES"
		# The machine may lack the groups, which is a warning.
		refute grep -v ': there is no \(user\|group\) "' <(grep -F 50-example.conf <<<"$output")
	done
}
