#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Maintainer scripts, in a copy of this system without systemd running: dpkg runs them as on any other.  tests/boot has
# systems that boot.

load helpers

@test "install, upgrade, remove and purge; nothing is left, and each may be repeated" {
	with_root <<-'INSIDE'
		state() { find /etc /usr /lib /var/lib/systemd /var/lib/dpkg/info -xdev 2>/dev/null | sort; }
		install() { dpkg -i $(ls /debs/*.deb | grep -v -e dbgsym -e dkms) >/run/out 2>&1 || { cat /run/out; exit 1; }; }
		state >/run/before
		cp /etc/group /run/group
		install
		! grep -E 'warning|by hand' /run/out
		getent group pmcbpf
		[ -L /etc/systemd/system/multi-user.target.wants/pmcbpfd.service ]
		[ ! -e /etc/systemd/system/sockets.target.wants/pmcbpfd.socket ]
		[ ! -e /etc/systemd/system/multi-user.target.wants/pctrd.service ]
		pmcbpfd --version | grep -q pmcbpfd

		# The administrator's choices outlive upgrades and removal.
		group=$(getent group pmcbpf)
		echo '# mine' >>/etc/pmcbpf/pmcbpf.conf
		echo '# mine' >/etc/pmcbpf/policy.d/site.conf
		as_script() { DPKG_MAINTSCRIPT_PACKAGE=pmcbpf "$@"; }
		as_script deb-systemd-helper disable pmcbpfd.service >/dev/null
		install
		[ "$(getent group pmcbpf)" = "$group" ]
		grep -q '# mine' /etc/pmcbpf/pmcbpf.conf
		as_script /var/lib/dpkg/info/pmcbpf.postinst configure 0.0.9-0upstream1
		[ ! -e /etc/systemd/system/multi-user.target.wants/pmcbpfd.service ]
		mkdir /run/pmcbpf
		: >/run/pmcbpf/pmc.sock
		dpkg -r pmcbpf >/dev/null
		[ ! -e /run/pmcbpf ]
		[ ! -e /usr/sbin/pmcbpfd ]
		grep -q '# mine' /etc/pmcbpf/pmcbpf.conf
		install
		grep -q '# mine' /etc/pmcbpf/pmcbpf.conf
		[ -e /etc/pmcbpf/policy.d/site.conf ]

		cp /var/lib/dpkg/info/pmcbpf.postrm /run/postrm
		dpkg -P libpmc-compat-dev libktr-dev libpctr-dev pmcbpf pmcbpf-tools libpmc-compat0 libktr0 libpctr0 >/dev/null
		as_script /run/postrm purge
		cmp /run/group /etc/group
		# Registers of dpkg and of users that every installation rewrites.
		state | diff /run/before - | grep '^[<>]' | grep -vE '/etc/((g?shadow|group|passwd)-|\.pwd\.lock)$' >/run/diff || true
		cat /run/diff
		[ ! -s /run/diff ]
	INSIDE
}

@test "README.md's command installs the packages" {
	command=$(sed -n 's|^    # \(apt install .*\)|\1|p' "$ROOT/README.md")
	[ -n "$command" ]
	export COMMAND="${command//.\/build\/deb//debs}"
	with_root <<-'INSIDE'
		eval "$COMMAND --yes --no-install-recommends" >/run/out 2>&1 || { cat /run/out; exit 1; }
		dpkg-query -Wf '${db:Status-Abbrev} ${Package}\n' pmcbpf pmcbpf-tools libpmc-compat0 libktr0 libpctr0 >/run/states
		! grep -v '^ii ' /run/states
		pmccontrol -h >/run/usage
		grep -x Usage: /run/usage
		man -w pmc.soft
		man -w 8pmcbpf pmc
		man -w pmcbpfd
	INSIDE
}

@test "what was installed by hand is named in one line, and stays" {
	with_root <<-'INSIDE'
		mkdir -p /usr/local/sbin /usr/local/lib/systemd/system
		echo '#!/bin/sh' >/usr/local/sbin/pmcbpfd
		echo '[Unit]' >/usr/local/lib/systemd/system/pmcbpfd.service
		dpkg -i /debs/libpmc-compat0_*.deb /debs/pmcbpf_*.deb >/run/out 2>&1
		grep '^pmcbpf: ' /run/out >/run/lines
		cat /run/lines
		by_hand='used instead of this package, installed by hand (make uninstall, or remove)'
		[ "$(cat /run/lines)" = \
			"pmcbpf: $by_hand: /usr/local/lib/systemd/system/pmcbpfd.service /usr/local/sbin/pmcbpfd" ]
		: >/etc/pmcbpf/policy.d/site.conf
		dpkg -P pmcbpf >/dev/null 2>&1
		[ -e /usr/local/sbin/pmcbpfd ]
		# Its rules are in the same folder.
		[ -e /etc/pmcbpf/policy.d/site.conf ]
	INSIDE
}

@test "a daemon that still runs keeps its socket when the package goes" {
	with_root <<-'INSIDE'
		dpkg -i /debs/libpmc-compat0_*.deb /debs/pmcbpf_*.deb >/dev/null 2>&1
		mkdir /run/pmcbpf
		cp /bin/sleep /run/pmcbpfd
		/run/pmcbpfd 600 &
		until [[ $(readlink /proc/$!/exe) == */pmcbpfd ]]; do sleep 0.02; done
		dpkg -P pmcbpf >/run/out 2>&1
		grep -x 'pmcbpf: a pmcbpfd or pctrd still runs: its /run/pmcbpf and /sys/fs/bpf/pmcbpf stay' /run/out
		[ -d /run/pmcbpf ]
		kill $!
	INSIDE
}

@test "a group with members stays, and so does one that was there before, with its number" {
	with_root <<-'INSIDE'
		groupadd --system --gid 942 pmcbpf
		usermod -aG pmcbpf nobody
		dpkg -i /debs/libpmc-compat0_*.deb /debs/pmcbpf_*.deb >/dev/null 2>&1
		[ "$(getent group pmcbpf)" = pmcbpf:x:942:nobody ]
		dpkg -P pmcbpf >/run/out 2>&1
		grep -x 'pmcbpf: the group pmcbpf has members and stays: delgroup pmcbpf' /run/out
		[ "$(getent group pmcbpf)" = pmcbpf:x:942:nobody ]
	INSIDE
}

@test "a group that cannot be made fails the installation, which can be completed afterwards" {
	with_root <<-'INSIDE'
		dpkg -i /debs/libpmc-compat0_*.deb >/dev/null
		dpkg --unpack /debs/pmcbpf_*.deb >/dev/null
		mount --bind /bin/false /usr/sbin/adduser
		status=0
		dpkg --configure pmcbpf >/run/out 2>&1 || status=$?
		cat /run/out
		[ $status -eq 1 ]
		[[ $(dpkg-query -Wf '${db:Status-Abbrev}' pmcbpf) == iF* ]]
		umount /usr/sbin/adduser
		dpkg --configure pmcbpf >/dev/null
		getent group pmcbpf
		[[ $(dpkg-query -Wf '${db:Status-Abbrev}' pmcbpf) == ii* ]]
	INSIDE
}

@test "programs compile against the installed libraries (autopkgtest compile)" {
	with_root <<-'INSIDE'
		dpkg -i /debs/lib*compat*[0v]_*.deb /debs/libktr*[0v]_*.deb /debs/libpctr*[0v]_*.deb >/dev/null
		/tests/compile
		ldconfig -p | grep -q 'libpmc-compat.so.0 .*=> /lib/'
	INSIDE
}
