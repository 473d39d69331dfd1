# SPDX-License-Identifier: BSD-2-Clause
# What the bats files of tests/package share: the packages under test, and a copy of this system to install them in.
# shellcheck shell=bash

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-$ROOT/build}
VERSION=${VERSION:-$(sed -n 's/^VERSION *:= *//p' "$ROOT/Makefile")}
DIST=${DIST:-$BUILD/dist/pmcbpf-$VERSION.tar.xz}
DEBS=$BUILD/deb
RPMS=$BUILD/rpm
PACKAGES=(libktr-dev libktr0 libpctr-dev libpctr0 libpmc-compat-dev libpmc-compat0 pmcbpf pmcbpf-dkms pmcbpf-tools)
unset "${!LC_@}" LANG LANGUAGE MAKEFLAGS MAKELEVEL MFLAGS
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
bats_require_minimum_version 1.5.0

# deb PACKAGE - its file
deb() { echo "$DEBS/$1_$VERSION-"*.deb; }

# deb_field PACKAGE FIELD
deb_field() { dpkg-deb -f "$(deb "$1")" "$2"; }

# deb_files PACKAGE - the names of what is no folder
deb_files() { dpkg-deb --fsys-tarfile "$(deb "$1")" | tar t | sed -n 's/^\.//; /[^/]$/p'; }

# unpacked PACKAGE... - a folder with their files
unpacked() {
	local dir=$BATS_TEST_TMPDIR/unpacked name

	for name; do
		dpkg-deb -x "$(deb "$name")" "$dir"
	done
	echo "$dir"
}

# with_root - runs the shell code on standard input as root of a copy of this system, in namespaces of its own.  The
# copy's changes are in $BATS_TEST_TMPDIR/copy/upper; the packages are in /debs, autopkgtests in /tests.
with_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	mkdir -p "$BATS_TEST_TMPDIR/copy"
	cat >"$BATS_TEST_TMPDIR/inside"
	PATH=$PATH:/usr/sbin:/sbin COPY=$BATS_TEST_TMPDIR/copy DEBS=$DEBS TESTS=$ROOT/packaging/debian/tests \
		INSIDE=$BATS_TEST_TMPDIR/inside unshare --mount --pid --fork --net --ipc --propagation private \
		bash -euc '
			mount -t tmpfs -o mode=755 copy "$COPY"
			mkdir "$COPY"/{upper,work,root}
			mount -t overlay overlay -o "lowerdir=/,upperdir=$COPY/upper,workdir=$COPY/work" "$COPY/root"
			mount -t proc proc "$COPY/root/proc"
			mount -t tmpfs run "$COPY/root/run"
			mount -t tmpfs tmp "$COPY/root/tmp"
			mount --rbind -o ro /sys "$COPY/root/sys"
			mount --rbind /dev "$COPY/root/dev"
			mkdir "$COPY"/root/{debs,tests}
			mount --bind "$DEBS" "$COPY/root/debs"
			mount --bind "$TESTS" "$COPY/root/tests"
			# The copy lives in memory, and nobody reads an index of pages there.
			echo force-unsafe-io >"$COPY/root/etc/dpkg/dpkg.cfg.d/copy"
			[ ! -e /usr/bin/mandb ] || mount --bind /bin/true "$COPY/root/usr/bin/mandb"
			cp "$INSIDE" "$COPY/root/run/inside"
			exec env -u BASH_ENV COPY= UPPER="$COPY/upper" chroot "$COPY/root" /bin/bash -euo pipefail /run/inside
		' 2>&1
}
