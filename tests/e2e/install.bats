#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# make install, and make uninstall after it: nothing is left but what the administrator has changed.

load helpers

setup() {
	ROOT=$BATS_TEST_DIRNAME/../..
	TO=$BATS_TEST_TMPDIR/to
}

# Its name must equal the build's, or everything is rebuilt.
build() { make -s -C "$ROOT" O="$(realpath --relative-to="$ROOT" "$BUILD")" DESTDIR="$TO" "$@" >/dev/null; }

@test "make uninstall removes what make install installed, except an administrator's list of registers" {
	list=$TO/etc/pmcbpf/msr.list
	build install install-dkms
	cmp "$list" "$ROOT/packaging/msr.list"
	for name in pctrd.service pmcbpfd.service 60-pctr.rules pctr.pc pctr.4 msr.list.5 dkms.conf pmcbpf_msr.c; do
		[ -n "$(find "$TO" -name $name -size +0)" ] || { echo "no $name" >&2; false; }
	done
	run -1 grep -rE '@[A-Z]+@' "$TO"/usr/local/lib/{systemd,pkgconfig} "$TO"/usr/src
	echo "# mine" >>"$list"
	build install
	[ "$(tail -n 1 "$list")" = "# mine" ]
	build uninstall uninstall-dkms
	run -0 find "$TO" ! -type d
	[ "$output" = "$list" ]
	[ ! -e "$TO/usr/local/include/pmcbpf" ]
	cp "$ROOT/packaging/msr.list" "$list"
	build uninstall
	[ ! -e "$TO/etc/pmcbpf" ]
}

@test "systemd-analyze accepts the units" {
	command -v systemd-analyze >/dev/null || skip "systemd is not installed"
	mkdir "$BATS_TEST_TMPDIR/units"
	cp "$ROOT"/packaging/systemd/*.socket "$BATS_TEST_TMPDIR/units"
	for unit in pmcbpfd pctrd; do
		sed "s|@SBINDIR@|$BUILD/sbin|" "$ROOT/packaging/systemd/$unit.service" >"$BATS_TEST_TMPDIR/units/$unit.service"
	done
	# Errors in this machine's own units are ignored.
	run systemd-analyze verify --man=no "$BATS_TEST_TMPDIR"/units/*
	[[ $output != *"$BATS_TEST_TMPDIR/units"* && $output != *pmcbpfd* && $output != *pctrd* ]] ||
		{ echo "$output" >&2; false; }
}
