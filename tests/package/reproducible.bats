#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The tarball depends on the commit alone, and the packages on the tarball alone.

load helpers

setup() {
	TO=$BATS_TEST_TMPDIR/elsewhere
	mkdir "$TO"
}

@test "a second tarball of the commit, by another user with other settings, has the same bytes" {
	command -v git >/dev/null || skip "git is not installed"
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
	chown nobody "$TO"
	git -c safe.directory='*' clone -q --no-hardlinks "$ROOT" "$TO/a clone"
	chown -R nobody "$TO/a clone"
	(umask 077 && TZ=Asia/Tokyo LC_ALL=C runuser -u nobody -- \
		"$TO/a clone/packaging/dist" "$TO/a clone/build/x.tar.xz" "$VERSION")
	cmp "$TO/a clone/build/x.tar.xz" "$DIST"
}

@test "make dist, deb and rpm outside a git tree ask for the tarball, and refuse another's" {
	tar xf "$DIST" -C "$TO"
	cd "$TO/pmcbpf-$VERSION"
	# In a folder of another project it is not that project's tree.
	git init -q "$TO"
	for target in dist deb rpm; do
		run -2 make -s $target
		[[ $output == *"dist: $PWD is no git tree, and a tarball is made of a commit: name the tarball that this tree"* ]]
		[[ $output == *"(make deb TARBALL=../pmcbpf-$VERSION.tar.xz)"* ]]
	done
	: | xz >"$TO/empty.tar.xz"
	run -2 make -s deb TARBALL="$TO/empty.tar.xz"
	[[ $output == *"dist: $TO/empty.tar.xz is no tarball of pmcbpf $VERSION"* ]]
	run -2 make -s deb TARBALL="$DIST" VERSION=9.9
	[[ $output == *"dist: $DIST is no tarball of pmcbpf 9.9"* ]]
	run -2 make -s dist TARBALL="$TO/absent"
	[[ $output == *"dist: $TO/absent is no tarball"* ]]
	make -s dist TARBALL="$DIST"
	cmp "$DIST" "build/dist/pmcbpf-$VERSION.tar.xz"
}

@test "a version without an entry in the changelog is refused" {
	mkdir "$TO/pmcbpf-$VERSION"
	sed 's/^## 0/## older 0/' "$ROOT/CHANGELOG.md" >"$TO/pmcbpf-$VERSION/CHANGELOG.md"
	tar cJf "$TO/t.tar.xz" -C "$TO" "pmcbpf-$VERSION"
	run -1 "$ROOT/packaging/deb" "$TO/t.tar.xz" "$VERSION" "$TO/deb"
	[[ $output == *"deb: CHANGELOG.md has no entry for version $VERSION" ]]
}

@test "packages built without git, in another folder, by another user, umask, locale and time zone, have the same bytes" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
	chmod 777 "$TO"
	cp "$DIST" "$TO/t.tar.xz"
	chmod 644 "$TO/t.tar.xz"
	# shellcheck disable=SC2016 # the inner shell's
	(umask 0077 && HOME=/nonexistent TZ=Asia/Tokyo LC_ALL=C LANG=POSIX runuser -u nobody -- bash -euc '
		cd "$1"
		tar xf t.tar.xz
		cd "pmcbpf-$2"
		make -s -j2 deb TARBALL=../t.tar.xz O=../another/folder
	' build "$TO" "$VERSION") || { tail -n 40 "$TO/another/folder/deb/build.log" >&2; false; }
	cd "$DEBS"
	n=0
	for file in *.deb *.dsc *.debian.tar.xz; do
		cmp "$file" "$TO/another/folder/deb/$file"
		n=$((n + 1))
	done
	[ $n -eq 16 ]
}

@test "BPF objects have the same bytes wherever they are built" {
	tar xf "$DIST" -C "$TO"
	for name in one "other folder"; do
		mkdir "$TO/$name"
		cp -a "$TO/pmcbpf-$VERSION" "$TO/$name/tree"
	done
	for name in one "other folder"; do
		(cd "$TO/$name/tree" && make -s build/bpf/pmcbpf.bpf.o build/bpf/ktrace.bpf.o build/bpf/log/sample.bpf.o >/dev/null)
	done
	for object in pmcbpf.bpf.o ktrace.bpf.o log/sample.bpf.o count/switch.bpf.o; do
		cmp "$TO/one/tree/build/bpf/$object" "$TO/other folder/tree/build/bpf/$object"
		run -1 grep -F "$TO" "$TO/one/tree/build/bpf/$object"
	done
}
