#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What is in the packages.

load helpers

# A multiarch or lib64 folder, and /lib and /usr/lib, are one; pages are compressed here or there.
plain_names() { sed -E 's#^/usr/lib(64|/[a-z0-9_]+-linux-gnu)/#/LIB/#; s#^/lib/#/usr/lib/#; s#\.gz$##' | sort; }

@test "make deb builds these packages, and debug files beside them" {
	run -0 bash -c "cd '$DEBS' && ls *.deb | sed 's/_.*//' | grep -v -- -dbgsym | LC_ALL=C sort"
	[ "$output" = "$(printf '%s\n' "${PACKAGES[@]}")" ]
	for name in pmcbpf pmcbpf-tools libpmc-compat0 libktr0 libpctr0; do
		[ -s "$(deb "$name-dbgsym")" ]
	done
	for file in "pmcbpf_$VERSION.orig.tar.xz" pmcbpf_"$VERSION"-*.{dsc,debian.tar.xz,buildinfo,changes}; do
		[ -s "$(echo "$DEBS"/$file)" ]
	done
	cmp "$DIST" "$DEBS/pmcbpf_$VERSION.orig.tar.xz"
}

@test "each file of make install is in one package, and nothing else but documentation and compressed pages" {
	make -s -C "$ROOT" O="$(realpath --relative-to="$ROOT" "$BUILD")" DESTDIR="$BATS_TEST_TMPDIR/local" \
		install install-dkms >/dev/null
	(cd "$BATS_TEST_TMPDIR/local" && find . ! -type d -printf '/%P\n') |
		sed -E 's#^/usr/local/lib/(lib|pkgconfig)#/LIB/\1#; s#^/usr/local/#/usr/#; s#/man8/pmc\.8$#/man8/pmc.8pmcbpf#' |
		sort >"$BATS_TEST_TMPDIR/installed"
	for name in "${PACKAGES[@]}"; do deb_files "$name"; done | grep -v ^/usr/share/doc/ | plain_names \
		>"$BATS_TEST_TMPDIR/packaged"
	diff "$BATS_TEST_TMPDIR/installed" "$BATS_TEST_TMPDIR/packaged"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/packaged")" -gt 150 ]
}

@test "a package has the files of its subject" {
	has() {
		local name=$1 file
		shift
		for file; do
			deb_files "$name" | plain_names | grep -qx -- "$file" || { echo "$name: no $file" >&2; return 1; }
		done
	}
	has pmcbpf /usr/sbin/pmcbpfd /usr/sbin/pctrd /usr/lib/systemd/system/{pmcbpfd.service,pmcbpfd.socket,pctrd.service} \
		/usr/lib/udev/rules.d/60-pctr.rules /etc/pmcbpf/{msr.list,pmcbpf.conf} \
		/usr/share/man/man8/{pmcbpfd,pctrd}.8 /usr/share/man/man5/{pmcbpf.conf,pmcbpf.policy,msr.list}.5
	has pmcbpf-tools /usr/bin/{pmcstat,pmccontrol,pmcannotate,pmc,kgmon,tdump,ktrdump,ktrctl,pctr} \
		/usr/share/man/man8/{pmcstat.8,pmc.8pmcbpf} /usr/share/man/man3/pmc.soft.3 \
		/usr/share/bash-completion/completions/{pmcstat,pmc} /usr/share/zsh/site-functions/_pmcbpf
	has libpmc-compat0 /LIB/libpmc-compat.so.0
	has libpmc-compat-dev /LIB/libpmc-compat.so /LIB/libpmc.so /LIB/pkgconfig/libpmc-compat.pc \
		/usr/include/pmcbpf/{pmc.h,pmclog.h,sys/pmc.h} /usr/share/man/man3/pmc_allocate.3
	has libktr-dev /LIB/libktr.a /usr/include/pmcbpf/sys/ktr.h /usr/share/man/man9/CTR2.9
	has libpctr-dev /LIB/pkgconfig/{pctr,libpctr}.pc /usr/include/pmcbpf/{machine/pctr.h,openbsd/machine/cpu.h}
	has pmcbpf-dkms "/usr/src/pmcbpf-msr-$VERSION"/{dkms.conf,Kbuild,Makefile,pmcbpf_msr.c,pmcbpf_msr.h,msr_arch.h}
	[ -d "$(unpacked pmcbpf)/etc/pmcbpf/policy.d" ]
}

@test "configuration is conffiles" {
	run -0 dpkg-deb -I "$(deb pmcbpf)" conffiles
	[ "$(sort <<<"$output")" = "/etc/pmcbpf/msr.list
/etc/pmcbpf/pmcbpf.conf" ]
}

@test "a page that links to another is in its package" {
	for name in "${PACKAGES[@]}"; do
		dir=$BATS_TEST_TMPDIR/$name
		dpkg-deb -x "$(deb "$name")" "$dir"
		[ -d "$dir/usr/share/man" ] || continue
		run -0 find "$dir/usr/share/man" -xtype l
		[ -z "$output" ] || { echo "$name: $output" >&2; false; }
	done
}

@test "shared libraries: symbols, dependencies of programs, and architectures side by side" {
	for library in libpmc-compat libktr libpctr; do
		dpkg-deb -I "$(deb ${library}0)" symbols >"$BATS_TEST_TMPDIR/symbols"
		grep -q "^$library.so.0 ${library}0 " "$BATS_TEST_TMPDIR/symbols"
		dpkg-deb -I "$(deb ${library}0)" triggers | grep -q 'activate-noawait ldconfig'
		[ "$(deb_field ${library}0 Multi-Arch)" = same ]
		[ "$(deb_field $library-dev Multi-Arch)" = same ]
		[ "$(deb_field $library-dev Depends)" = "${library}0 (= $(deb_field ${library}0 Version))" ]
	done
	depends() { grep -qE "(^|, )$2( \(|,|$)" <<<"$(deb_field "$1" Depends)"; }
	for name in libbpf1 libc6 libpmc-compat0 adduser; do depends pmcbpf $name; done
	for name in libcapstone4 libdw1 libelf1 libncursesw6 libpctr0 libktr0 libpmc-compat0 zlib1g; do
		depends pmcbpf-tools "$name" || depends pmcbpf-tools "${name/capstone4/capstone5}"
	done
	depends pmcbpf-dkms dkms
	[ "$(deb_field libpctr0 Depends | wc -w)" -eq 3 ]
}

@test "programs and libraries are hardened, without a search path of their own" {
	dir=$(unpacked pmcbpf pmcbpf-tools libpmc-compat0 libktr0 libpctr0)
	n=0
	while read -r file; do
		n=$((n + 1))
		readelf -Wdhln "$file" >"$BATS_TEST_TMPDIR/elf"
		fault() { echo "$file: $1" >&2; false; }
		grep -q 'Type: *DYN' "$BATS_TEST_TMPDIR/elf" || fault "no PIE"
		grep -q GNU_RELRO "$BATS_TEST_TMPDIR/elf" || fault "no RELRO"
		grep -q BIND_NOW "$BATS_TEST_TMPDIR/elf" || fault "lazy binding"
		grep -q 'GNU_STACK .* RW ' "$BATS_TEST_TMPDIR/elf" || fault "executable stack"
		! grep -qE 'R(UN)?PATH' "$BATS_TEST_TMPDIR/elf" || fault "a search path"
		# libktr's fast path and libpctr have no arrays on the stack.
		[[ $file == */lib/* ]] || readelf -Ws "$file" | grep -q __stack_chk_fail || fault "no stack protector"
		[[ $file == */lib/* ]] || readelf -Ws "$file" | grep -q '_chk@' || fault "no checked functions"
	done < <(find "$dir" -type f \( -path '*/bin/*' -o -path '*/sbin/*' -o -name '*.so.*' \))
	[ $n -eq 13 ]
	grep -q -- '-D_FORTIFY_SOURCE=[23].*loader/main.c' "$DEBS/build.log"
}

@test "no file names the folder in which it was built, and none is left with a placeholder" {
	dir=$(unpacked "${PACKAGES[@]}")
	run -1 grep -rF "$ROOT" "$dir"
	run -1 grep -rE '@[A-Z]+@' "$dir"/{lib,etc,usr/lib/*/pkgconfig,usr/src}
}

@test "lintian has no error and no warning; each override says why" {
	command -v lintian >/dev/null || skip "lintian is not installed"
	run --separate-stderr lintian --allow-root --fail-on none --pedantic --show-overrides --tag-display-limit 0 \
		"$DEBS"/*.changes
	echo "$output" "$stderr"
	[ "$status" -eq 0 ] && [ -z "$stderr" ]
	[[ $output == *"O: pmcbpf source: no-homepage-field"* ]]
	run -1 grep -E '^[EWP]:' <<<"$output"
	# An override that overrides nothing is one too many.
	run -1 grep unused-override <<<"$output"
	for file in "$ROOT"/packaging/debian/source/lintian-overrides "$ROOT"/packaging/debian/*.lintian-overrides; do
		[ ! -e "$file" ] || [[ $(head -n 1 "$file") == '#'* ]]
	done
}

@test "the RPM packages hold the same files as the Debian packages of the same names" {
	for name in "${PACKAGES[@]}"; do
		rpm=$(find "$RPMS/RPMS" -name "${name/%-dev/-devel}-$VERSION-*.rpm")
		rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$rpm" |
			sed -nE '/^d/d; s/^[^ ]* //; /^\/usr\/(share\/(doc|licenses)|lib\/.build-id)\//d; p' |
			plain_names >"$BATS_TEST_TMPDIR/rpm"
		deb_files "$name" | grep -v ^/usr/share/doc/ | plain_names >"$BATS_TEST_TMPDIR/deb"
		diff "$BATS_TEST_TMPDIR/deb" "$BATS_TEST_TMPDIR/rpm"
	done
	run -0 rpm -qpc "$RPMS"/RPMS/*/pmcbpf-"$VERSION"-*.rpm
	[ "$output" = "/etc/pmcbpf/msr.list
/etc/pmcbpf/pmcbpf.conf" ]
}

@test "rpmlint finds nothing that the filters do not explain" {
	command -v rpmlint >/dev/null || skip "rpmlint is not installed"
	find "$RPMS" -name '*.rpm' -print0 | xargs -0 rpmlint -c "$ROOT/packaging/redhat/rpmlint.toml" \
		"$ROOT/packaging/redhat/pmcbpf.spec" >"$BATS_TEST_TMPDIR/out" 2>&1 || true
	cat "$BATS_TEST_TMPDIR/out"
	grep -q '10 packages and 1 specfiles checked; 0 errors, 0 warnings' "$BATS_TEST_TMPDIR/out"
}

@test "the daemon's package and all that a minimal system lacks for it are under 15 MB" {
	[ -n "$(apt-cache dumpavail 2>/dev/null | head -c 1)" ] || skip "apt has no package lists"
	: >"$BATS_TEST_TMPDIR/status"
	mapfile -t minimal < <(apt-cache dumpavail | awk '/^Package:/ { name = $2 } /^Priority: required/ { print name }' | sort -u)
	adds() {
		apt-get -s -qq -o Dir::State::status="$BATS_TEST_TMPDIR/status" -o APT::Install-Recommends=false \
			install apt "${minimal[@]}" "$@" | awk '/^Inst/ { print $2 }' | sort -u
	}
	adds >"$BATS_TEST_TMPDIR/before"
	adds "$(deb pmcbpf)" "$(deb libpmc-compat0)" >"$BATS_TEST_TMPDIR/after"
	grep -qx pmcbpf "$BATS_TEST_TMPDIR/after"
	total=0
	while read -r name; do
		case $name in
		pmcbpf|libpmc-compat0) size=$(deb_field "$name" Installed-Size) ;;
		*) size=$(apt-cache show --no-all-versions "$name" | sed -n 's/^Installed-Size: //p;T;q') ;;
		esac
		echo "# $name $size KB" >&3
		total=$((total + size))
	done < <(comm -13 "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after")
	echo "# together $total KB" >&3
	[ $total -lt 15000 ]
}
