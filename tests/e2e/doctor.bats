# SPDX-License-Identifier: BSD-2-Clause
#
# pmccontrol --doctor on this machine: with a daemon and without, as root and as nobody.

load helpers

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() { stop_daemon; }

# gate NAME: its state, finding and remedy in the JSON of $output
gate() {
	python3 -c 'import json, sys
print(next("{state}: {finding}; {remedy}".format(**g) for g in json.load(sys.stdin)["gates"] if g["name"] == sys.argv[1]))' \
		"$1" <<<"$output"
}

# PERF-009
@test "REQ-133 root and a daemon: every gate has a line, none is closed, exit 0" {
	start_daemon
	run --separate-stderr pmccontrol --doctor
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(grep -cE '^(ok|limits) +[a-z][^:]*: [^ ]' <<<"$output")" -eq ${#lines[@]} ]
	for name in kernel 'kernel lockdown' kernel.perf_event_paranoid kernel.nmi_watchdog \
		kernel.yama.ptrace_scope capabilities container socket daemon 'perf_event_open(2)' 'bpf(2)' breakpoints \
		cgroups 'system-scope counting' 'processes of others' 'names of the kernel'; do
		name=${name//[()]/.}
		[ "$(grep -cE "^[a-z]+ +$name: " <<<"$output")" -eq 1 ] ||
			{ echo "no gate $name" >&2; false; }
	done
	grep -qx "ok      kernel: Linux $(uname -r); pmcbpfd needs 6.1" <<<"$output"
	grep -qx "ok      socket: $PMCBPF_SOCKET can be connected to" <<<"$output"
	text=$output
	run pmccontrol --doctor --json
	[ "$status" -eq 0 ]
	python3 -c 'import json, sys
all = json.load(sys.stdin)
assert all["ok"] is True
# Turn times and hidden switches differ from run to run.
moving = ("  event loop of pmcbpfd: ", "  context switches: ", "  cgroups: ")
lines = lambda text: [l for l in text.strip().split("\n") if not any(m in l for m in moving)]
text = "".join("%-6s  %s: %s%s\n" % (g["state"], g["name"], g["finding"], "; " + g["remedy"] if g["remedy"] else "")
               for g in all["gates"])
assert lines(text) == lines(sys.argv[1]), text' "$text" <<<"$output"
}

@test "an unprivileged user: refusals have the words of the real refusal, and a remedy" {
	start_daemon
	run run_as_nobody pmccontrol --doctor --json
	[ "$status" -eq 0 ]
	[[ $(gate capabilities) == "limits: none that matters: your own processes; CAP_PERFMON or"* ]]
	system=$(gate 'system-scope counting')
	[[ $system == "limits: no: system-scope PMCs need CAP_PERFMON, or "*'unprivileged_syspmcs="1"'* ]]
	run run_as_nobody pmcstat -s CPU_CLOCK -l 1
	[ "$status" -eq 71 ]
	reason=${system#limits: no: }
	[[ $output == *"${reason%; None}"* ]]
	stop_daemon
	start_daemon -o security.bsd.unprivileged_syspmcs=1 -o security.bsd.unprivileged_proc_debug=0
	run run_as_nobody pmccontrol --doctor --json
	[ "$status" -eq 0 ]
	[[ $(gate 'system-scope counting') == "ok: allowed (security.bsd.unprivileged_syspmcs=1)"* ]]
	[[ $(gate 'processes of others') == "limits: no, not even your own other ones "*'unprivileged_proc_debug="1"'* ]]
}

@test "no daemon: the other gates, how to start the daemon, exit 69" {
	open_tmpdir
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/none.sock
	run --separate-stderr pmccontrol --doctor
	[ "$status" -eq 69 ]
	[ -z "$stderr" ]
	grep -q '^ok      kernel: ' <<<"$output"
	grep -qx "closed  socket: no pmcbpfd answers at $PMCBPF_SOCKET; start it as root, with \"pmcbpfd\" or \"systemctl start pmcbpfd\"" <<<"$output"
	[[ ${lines[-1]} == "closed  daemon: "* ]]
	run run_as_nobody pmccontrol --doctor --json
	[ "$status" -eq 69 ]
	[[ $(gate socket) == "closed: no pmcbpfd answers "* ]]
	python3 -c 'import json, sys; assert json.load(sys.stdin)["ok"] is False' <<<"$output"
}

@test "a socket that others may not use is reported" {
	start_daemon
	chmod 600 "$PMCBPF_SOCKET"
	run run_as_nobody pmccontrol --doctor --json
	[ "$status" -eq 69 ]
	[[ $(gate socket) == "closed: you may not connect to $PMCBPF_SOCKET; its mode "* ]]
}

@test "root at the default path without a daemon: a private one answers, and ends afterwards" {
	[ ! -e /run/pmcbpf/pmc.sock ] || skip "this machine has a pmcbpfd of its own"
	unset PMCBPF_SOCKET
	run pmccontrol --doctor --json
	[ "$status" -eq 0 ]
	[[ $(gate socket) == "limits: no pmcbpfd answers at /run/pmcbpf/pmc.sock; start it"* ]]
	[[ $(gate 'private daemon') == ok:* ]]
	[[ $(gate daemon) == "ok: pmcbpfd "* ]]
}

@test "the doctor reports a container" {
	start_daemon
	run unshare --pid --fork --mount-proc pmccontrol --doctor --json
	[ "$status" -eq 0 ]
	[[ $(gate container) == "limits: yes, with a pid namespace of its own"* ]]
	run unshare --user --map-root-user pmccontrol --doctor --json
	[ "$status" -eq 0 ]
	[[ $(gate container) == "limits: yes, with a user namespace of its own"* ]]
	[[ $(gate 'system-scope counting') == "limits: no: "* ]]
}

@test "the doctor leaves nothing behind in the daemon" {
	start_daemon
	pmccontrol --doctor >/dev/null
	wait_for daemon_idle
	before=$(daemon_fds)
	for _ in 1 2 3; do
		pmccontrol --doctor >/dev/null
	done
	wait_for daemon_idle
	wait_for fds_are "$before"
}
