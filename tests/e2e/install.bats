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

# security UNIT...: the sandbox of each as systemd sees it, "UNIT SCORE ITEM..."; ITEM is open
security() {
	python3 - "$@" <<-'END'
	import json, os, subprocess, sys
	for path in sys.argv[1:]:
	    command = ["systemd-analyze", "--no-pager", "--offline=true", "security", path]
	    items = json.loads(subprocess.run(command + ["--json=short"], check=True, capture_output=True).stdout)
	    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
	    score = text.split("Overall exposure level for ")[1].split()[1]
	    found = sorted(item["json_field"] for item in items if item["exposure"])
	    print(os.path.basename(path), score, *found)
	END
}

# stated UNIT...: the same as the comments of the units have it
stated() {
	python3 - "$@" <<-'END'
	import os, re, sys
	for path in sys.argv[1:]:
	    text = open(path, encoding="utf-8").read()
	    score = re.search(r"^# systemd-analyze security: ([0-9.]+)\.  ", text, re.M)[1]
	    part = text[text.index("# systemd-analyze security: "):].split("\n\n")[0]
	    found, names = [], []
	    for line in part.splitlines()[1:]:
	        if re.match(r"#     ", line):
	            continue
	        before, colon, reason = line[1:].partition(":")
	        names += before.split()
	        if colon:
	            assert reason.strip(), line
	            found += names
	            names = []
	    assert not names, names
	    print(os.path.basename(path), score, *sorted(found))
	END
}

@test "systemd-analyze security: the score and the open items of each unit are those that the unit explains" {
	command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"
	build install
	units=("$TO"/usr/local/lib/systemd/system/{pmcbpfd,pctrd}.service)
	diff <(security "${units[@]}" | tr ' ' '\n') <(stated "${units[@]}" | tr ' ' '\n')
	# A directive less is found.
	sed -i '/^ProtectClock=/d' "${units[0]}"
	refute diff -q <(security "${units[@]}") <(stated "${units[@]}")
}

@test "the units call programs of this package and the shell only" {
	run -0 grep -hoE '^Exec[A-Za-z]+=[^ ]+' "$ROOT"/packaging/systemd/pmcbpfd.service "$ROOT"/packaging/systemd/pctrd.service
	[ "$output" = "ExecStart=@SBINDIR@/pmcbpfd
ExecReload=@SBINDIR@/pmcbpfd
ExecReload=/bin/sh
ExecStart=@SBINDIR@/pctrd" ]
}
