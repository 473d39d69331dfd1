#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The systemd unit, by systemd itself: this machine's, in a guest.  tests/e2e/unit.bats has its sandbox without systemd.

load helpers

setup_file() {
	[ "$(uname -m)" = x86_64 ] || skip "this machine's systemd is of another architecture than the guest"
	[ -x /lib/systemd/systemd ] || skip "systemd is not installed"
	"$VM_DIR/systemd" "$BATS_FILE_TMPDIR/overlay" "${PMCBPF_VM_OVERLAY:-$VM_OUT/vm/overlay}/amd64"
	vm_start --overlay "$BATS_FILE_TMPDIR/overlay"
	vm_sh '/sysd/start </dev/null >/tmp/systemd.log 2>&1 &'
	vm_until 120 'test -S /sysd/run/pmcbpf/pmc.sock || XDG_RUNTIME_DIR=/run SYSTEMD_IGNORE_CHROOT=1 \
		chroot /sysd /usr/bin/systemctl --user is-failed pmcbpfd'
}

# client COMMAND...: a client of the service, outside of its root
client() { vm env PMCBPF_SOCKET=/sysd/run/pmcbpf/pmc.sock "$@"; }

# show PROPERTY: the service's property in systemd
show() {
	vm env XDG_RUNTIME_DIR=/run SYSTEMD_IGNORE_CHROOT=1 chroot /sysd /usr/bin/systemctl --user show pmcbpfd -p "$1" --value
}

# bounding_set: of the unit's list, as /proc shows it
bounding_set() {
	local name mask=0
	for name in $(sed -n 's/^CapabilityBoundingSet=//p' "$VM_DIR/../../packaging/systemd/pmcbpfd.service"); do
		mask=$((mask | 1 << $(sed -nE "s/^#define ${name}[ \t]+([0-9]+)$/\1/p" /usr/include/linux/capability.h)))
	done
	printf '%016x' $mask
}

@test "systemd starts the unit, receives READY, and confines it" {
	vm_until 120 'XDG_RUNTIME_DIR=/run SYSTEMD_IGNORE_CHROOT=1 chroot /sysd /usr/bin/systemctl --user is-active \
		--quiet pmcbpfd || test ! -S /sysd/run/pmcbpf/pmc.sock'
	[ "$(show Result)" = success ]
	[ "$(show NRestarts)" = 0 ]
	run vm cat "/proc/$(show MainPID)/status"
	grep -qP '^NoNewPrivs:\t1$' <<<"$output"
	grep -qP '^Seccomp:\t2$' <<<"$output"
	grep -qP "^CapBnd:\t$(bounding_set)\$" <<<"$output"
	run vm cat "/proc/$(show MainPID)/mountinfo"
	grep -qE '^([^ ]+ ){4}/ ro,nosuid' <<<"$output"
	grep -qE '^([^ ]+ ){3}[^ ]*/inaccessible/dir /root ro,' <<<"$output"
	grep -qE '^([^ ]+ ){4}/run/pmcbpf rw,nosuid' <<<"$output"
}

# systemd_ctl WORD...: systemctl of the guest's systemd
systemd_ctl() {
	vm env XDG_RUNTIME_DIR=/run SYSTEMD_IGNORE_CHROOT=1 chroot /sysd /usr/bin/systemctl --user "$@"
}

@test "systemctl reload takes a changed configuration, and fails if it is broken" {
	vm_sh 'mkdir -p /sysd/etc/pmcbpf; echo kern.hwpmc.debugflags=owner=find >/sysd/etc/pmcbpf/pmcbpf.conf'
	pid=$(show MainPID)
	systemd_ctl reload pmcbpfd
	vm_until 60 'PMCBPF_SOCKET=/sysd/run/pmcbpf/pmc.sock pmccontrol --tunable kern.hwpmc.debugflags |
		grep -q owner=find'
	vm_until 60 'XDG_RUNTIME_DIR=/run SYSTEMD_IGNORE_CHROOT=1 chroot /sysd /usr/bin/systemctl --user is-active \
		--quiet pmcbpfd'
	vm_sh 'echo kern.hwpmc.debugflags=moon >/sysd/etc/pmcbpf/pmcbpf.conf'
	run systemd_ctl reload pmcbpfd
	[ "$status" -ne 0 ]
	run client pmccontrol --tunable kern.hwpmc.debugflags
	[[ $output == *owner=find* ]]
	[ "$(show MainPID)" = "$pid" ]
	[ "$(show ActiveState)" = active ]
	vm rm /sysd/etc/pmcbpf/pmcbpf.conf
	systemd_ctl reload pmcbpfd
}

@test "root's recording of all CPUs has the kernel's names, even if the kernel hides them from others" {
	vm_sh 'echo 1 >/proc/sys/kernel/kptr_restrict'
	run client pmccontrol --doctor
	grep -qx 'ok      names of the kernel: your logs have addresses and names of the kernel' <<<"$output"
	client pmcstat -q -n 1000000 -S CPU_CLOCK -O /tmp/log -l 1
	run client pmcstat -R /tmp/log
	[ "$(grep -cE '^map-in +-1 0xffff[0-9a-f]+ "\[kernel\.kallsyms\][a-z_]' <<<"$output")" -ge 5 ]
	vm rm /tmp/log
}
