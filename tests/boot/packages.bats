#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The packages in a clean Debian system with its own kernel, from the first installation to the purge.  The tests are one
# story and depend on those before them.
#
# shellcheck disable=SC2046 # names of packages, without blanks

load helpers

setup_file() { boot_start; }

setup() {
	# After a failure the rest would only repeat it.
	[ ! -e "$BATS_FILE_TMPDIR/failed" ] || skip "depends on a test that has failed"
}

teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || [ -n "${BATS_TEST_SKIPPED:-}" ] || : >"$BATS_FILE_TMPDIR/failed"
}

@test "apt installs the packages from a folder and what they need; the service runs, and each user sees it" {
	vm_sh '/srv/packages/tests/snapshot | LC_ALL=C sort >/var/tmp/clean'
	apt_get install $(packages before)
	[ "$(service ActiveState)/$(service SubState)/$(service Result)" = active/running/success ]
	[ "$(vm systemctl is-enabled pmcbpfd.service)" = enabled ]
	run vm systemctl is-enabled pmcbpfd.socket pctrd.service
	says $'disabled\ndisabled'
	run as alice 'systemctl status --no-pager pmcbpfd'
	status_is 0
	has 'Active: active (running)'
	has 'Docs: man:pmcbpfd(8)'
	run vm getent group pmcbpf
	[[ $output =~ ^pmcbpf:x:[0-9]+:$ ]]
	run vm systemctl --failed --no-legend
	says ''
}

@test "a user counts a program" {
	run as alice 'pmcstat -p PAGE_FAULT.ALL ls /usr/share/doc/pmcbpf'
	status_is 0
	has 'p/PAGE_FAULT.ALL'
	has 'README.Debian'
	[[ ${lines[-1]} =~ ^\ *[1-9][0-9]+\ *$ ]]
}

@test "a user records a program and reads root's recording, which has the kernel's names" {
	run as alice 'pmc record -o own.log sh -c "i=0; while [ \$i -lt 20000 ]; do i=\$((i+1)); done" && pmc report own.log'
	status_is 0
	has ' FUNCTION '
	[[ $output =~ ' dash'($'\n'|$) ]]
	vm_sh 'cd /tmp && pmc record -a -l 1 -o root.log && chmod 644 root.log'
	run as alice 'pmc report /tmp/root.log'
	status_is 0
	[[ $output =~ [a-z_0-9]{4,}\ +'[kernel.kallsyms]' ]]
}

@test "a user compiles programs with pkg-config and runs them" {
	run as alice 'cc -Wall -Werror -o count /srv/packages/tests/count.c $(pkg-config --cflags --libs libpmc-compat) &&
		./count'
	status_is 0
	[[ $output =~ ^'1000 pages, '([0-9]+)' faults'$ ]]
	[ "${BASH_REMATCH[1]}" -ge 1000 ]
	run as alice 'printf "%s\n" "#define KTR" "#include <sys/ktr.h>" "#include <unistd.h>" \
		"int main(void) { CTR1(KTR_DEV, \"opened %d times\", 42); return pause(); }" >trace.c
		cc -o trace trace.c $(pkg-config --cflags --libs libktr) || exit
		./trace & pid=$!
		until tdump -p $pid 2>&1 | grep "opened 42 times"; do kill -0 $pid || exit; done
		kill $pid'
	status_is 0
	has 'opened 42 times'
	as alice 'echo "#include <machine/cpufunc.h>" | cc -fsyntax-only -xc $(pkg-config --cflags pctr) -'
}

@test "every page of the packages is found by man, by its name and section" {
	# One man(1) for all pages of a section, because each takes an emulated CPU a moment.
	run vm_sh 'dpkg -L pmcbpf pmcbpf-tools libpmc-compat-dev libktr-dev libpctr-dev | grep "/man/man[0-9]/" >pages
		for suffix in $(sed "s/.*\.\([^.]*\)\.gz/\1/" pages | sort -u); do
			grep "\.$suffix\.gz$" pages >these
			man -w -s "$suffix" $(sed "s|.*/||; s/\.[^.]*\.gz//" these) >found
			xargs readlink -f <these | diff - found
		done'
	status_is 0
	says ''
	run as alice 'man pmcstat | sed -n 1p; man 8pmcbpf pmc | sed -n 1p'
	[[ ${lines[0]} =~ ^PMCSTAT\(8\)\ .*PMCSTAT\(8\)$ ]]
	[[ ${lines[1]} =~ ^PMC\(8\)\ .*PMC\(8\)$ ]]
}

@test "bash completes events of this machine" {
	run as alice 'bash -c ". /usr/share/bash-completion/bash_completion; _completion_loader pmcstat
		COMP_WORDS=(pmcstat -p page_fault.a) COMP_CWORD=2 COMP_LINE=\"pmcstat -p page_fault.a\" COMP_POINT=23
		\$(complete -p pmcstat | sed -E \"s/.* -F ([^ ]+) .*/\\1/\") pmcstat page_fault.a -p
		echo \"\${COMPREPLY[@]}\""'
	status_is 0
	says PAGE_FAULT.ALL
}

@test "a reload applies new rules, and keeps the old ones if the new ones are wrong" {
	local pid

	pid=$(service MainPID)
	vm_sh 'echo "user=bob pmcs=0" >/etc/pmcbpf/policy.d/50-site.conf'
	vm systemctl reload pmcbpfd
	until_true 'pmccontrol --policy | grep 50-site.conf:1'
	run as bob 'pmcstat -p PAGE_FAULT.ALL ls'
	[ "$status" -ne 0 ]
	has '/etc/pmcbpf/policy.d/50-site.conf:1'
	as alice 'pmcstat -p PAGE_FAULT.ALL ls'
	vm_sh 'echo "user=bob pcms=0" >/etc/pmcbpf/policy.d/50-site.conf'
	run vm pmcbpfd -t
	[ "$status" -ne 0 ]
	has '/etc/pmcbpf/policy.d/50-site.conf:1'
	run vm systemctl reload pmcbpfd
	[ "$status" -ne 0 ]
	until_true 'journalctl -u pmcbpfd | grep "50-site.conf:1: rules have no \"pcms\""'
	run as bob 'pmcstat -p PAGE_FAULT.ALL ls'
	[ "$status" -ne 0 ]
	vm_sh 'echo "user=bob pmcs=0" >/etc/pmcbpf/policy.d/50-site.conf'
	[ "$(service MainPID)" = "$pid" ]
}

@test "an upgrade while a user counts: the count ends with the reason, what the site has changed stays" {
	local pid

	pid=$(service MainPID)
	vm_sh 'echo "# The site has changed it." >>/etc/pmcbpf/pmcbpf.conf'
	count_in_background
	apt_get -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold install $(packages new)
	count_has_ended
	[ "$(service ActiveState)" = active ]
	[ "$(service MainPID)" != "$pid" ]
	run vm dpkg-query -W -f '${Version} ${db:Status-Abbrev}\n' pmcbpf pmcbpf-tools libpmc-compat0
	[[ $output != *~before* ]]
	[ "$(vm tail -n 1 /etc/pmcbpf/pmcbpf.conf)" = '# The site has changed it.' ]
	vm grep -q 'socket.group' /etc/pmcbpf/pmcbpf.conf.dpkg-dist
	run vm_sh 'grep "Of the version before" /etc/pmcbpf/pmcbpf.conf.dpkg-dist'
	status_is 1
	as alice 'pmcstat -p PAGE_FAULT.ALL ls'
	run as bob 'pmcstat -p PAGE_FAULT.ALL ls'
	has '/etc/pmcbpf/policy.d/50-site.conf:1'
}

@test "a module that does not build: apt names DKMS's log, which has the error; counting goes on" {
	run apt_get install "$(vm_sh 'cd /srv/packages && echo ./broken/*.deb')"
	echo "$output"
	has 'make.log'
	vm_sh 'grep -F "this header is broken" /var/lib/dkms/pmcbpf-msr/*/build/make.log'
	run vm_sh 'modprobe pmcbpf_msr'
	[ "$status" -ne 0 ]
	run as alice 'pmccontrol --doctor'
	has 'module pmcbpf_msr: the module pmcbpf_msr is not loaded'
	as alice 'pmcstat -p PAGE_FAULT.ALL ls'
}

@test "DKMS builds and signs the module for this kernel, and the daemon reads registers with it" {
	apt_get install "$(vm_sh 'cd /srv/packages && echo ./new/pmcbpf-dkms_*.deb')"
	run vm_sh 'dkms status'
	has 'installed'
	run vm_sh 'modinfo -F signer pmcbpf_msr'
	has 'DKMS'
	vm systemctl restart pmcbpfd
	run as alice 'pmc list-events -u MSR'
	has 'for CPUs: module'
	run vm_sh 'pmcstat -c 0 -w 1 -l 1 -s MSR-TSC_AUX'
	status_is 0
}

@test "a kernel without type information: the unit says so, and pmcbpfd -t names the remedy" {
	vm mount -t tmpfs none /sys/kernel/btf
	vm systemctl stop pmcbpfd
	vm systemctl start pmcbpfd
	run vm_sh 'systemctl status --no-pager pmcbpfd'
	status_is 3
	has 'ConditionPathExists=/sys/kernel/btf/vmlinux'
	run vm pmcbpfd -t
	status_is 1
	has 'pmcbpfd: kernel types (/sys/kernel/btf/vmlinux): missing; boot a kernel built with CONFIG_DEBUG_INFO_BTF=y'
	run as alice 'pmcstat -p PAGE_FAULT.ALL ls'
	[ "$status" -ne 0 ]
	has 'no pmcbpfd answers at /run/pmcbpf/pmc.sock'
	vm umount /sys/kernel/btf
	vm systemctl start pmcbpfd
	[ "$(service ActiveState)" = active ]
}

@test "the socket starts the daemon for the first user who counts, if the site wants that" {
	vm systemctl disable --now pmcbpfd.service
	vm systemctl enable --now pmcbpfd.socket
	[ "$(service ActiveState)" = inactive ]
	as alice 'pmcstat -p PAGE_FAULT.ALL ls'
	[ "$(service ActiveState)" = active ]
	vm systemctl disable --now pmcbpfd.socket
	vm systemctl enable --now pmcbpfd.service
	as alice 'pmcstat -p PAGE_FAULT.ALL ls'
}

@test "lockdown: the kernel refuses a module whose key it does not know, and counting goes on" {
	vm systemctl stop pmcbpfd
	vm rmmod pmcbpf_msr
	# As lockdown=integrity on the command line; there is no way back.
	vm_sh 'echo integrity >/sys/kernel/security/lockdown'
	run vm modprobe pmcbpf_msr
	[ "$status" -ne 0 ]
	has "could not insert 'pmcbpf_msr'"
	vm systemctl start pmcbpfd
	[ "$(service ActiveState)" = active ]
	run vm systemctl --failed --no-legend
	says ''
	run as alice 'pmccontrol --doctor'
	has 'kernel lockdown: integrity'
	has 'module pmcbpf_msr: the module pmcbpf_msr is not loaded'
	as alice 'pmcstat -p PAGE_FAULT.ALL ls'
}

@test "removed, the service is gone and the configuration stays" {
	apt_get remove pmcbpf
	run vm_sh 'systemctl status --no-pager pmcbpfd'
	status_is 4
	vm_sh '! pgrep -x pmcbpfd && ! test -e /run/pmcbpf && ! test -e /sys/fs/bpf/pmcbpf'
	run as alice 'pmcstat -p PAGE_FAULT.ALL ls'
	[ "$status" -ne 0 ]
	has 'no pmcbpfd answers at /run/pmcbpf/pmc.sock'
	[ "$(vm tail -n 1 /etc/pmcbpf/pmcbpf.conf)" = '# The site has changed it.' ]
	vm test -e /etc/pmcbpf/policy.d/50-site.conf
}

@test "an installation by hand: the package names each file that is used instead of its own, and touches none" {
	local files='/usr/local/lib/systemd/system/pmcbpfd.service /usr/local/sbin/pmcbpfd'

	vm_sh 'dpkg-deb -x /srv/packages/new/pmcbpf_*.deb /tmp/hand && mkdir -p /usr/local/lib/systemd/system &&
		cp /tmp/hand/usr/sbin/pmcbpfd /usr/local/sbin &&
		sed "s|/usr/sbin|/usr/local/sbin|" $(find /tmp/hand -name pmcbpfd.service) \
			>/usr/local/lib/systemd/system/pmcbpfd.service && rm -rf /tmp/hand && systemctl daemon-reload &&
		systemctl start pmcbpfd && md5sum '"$files"' >/tmp/hand.sums'
	run apt_get install $(packages new 'pmcbpf_*.deb')
	status_is 0
	has "pmcbpf: used instead of this package, installed by hand (make uninstall, or remove): $files"
	vm md5sum --quiet -c /tmp/hand.sums
	[ "$(vm readlink "/proc/$(service MainPID)/exe")" = /usr/local/sbin/pmcbpfd ]
	as alice 'pmcstat -p PAGE_FAULT.ALL ls'
	vm_sh "rm $files && systemctl daemon-reload && systemctl restart pmcbpfd"
	vm_sh 'rmdir /usr/local/lib/systemd/system /usr/local/lib/systemd'
	[ "$(vm readlink "/proc/$(service MainPID)/exe")" = /usr/sbin/pmcbpfd ]
}

@test "purged while a user counts: the count ends with the reason; service, configuration and group are gone" {
	count_in_background
	apt_get purge pmcbpf
	count_has_ended
	run vm_sh 'systemctl status --no-pager pmcbpfd'
	status_is 4
	vm_sh '! pgrep -x pmcbpfd && ! getent group pmcbpf'
	vm_sh 'for f in /run/pmcbpf /sys/fs/bpf/pmcbpf /etc/pmcbpf; do ! test -e $f || exit; done'
}

@test "after the purge of all packages, the system is as it was before the first" {
	apt_get purge 'pmcbpf*' 'libpmc-compat*' 'libktr*' 'libpctr*'
	apt_get autoremove --purge
	run vm_sh '/srv/packages/tests/snapshot | LC_ALL=C sort | diff /var/tmp/clean -'
	says ''
}

@test "the kernel has not complained" {
	vm_clean_log
}
