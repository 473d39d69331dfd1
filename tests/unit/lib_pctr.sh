#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# libpctr as it is installed: a program for OpenBSD is built with nothing but pkg-config's flags.

set -u

out=${O:-build}
n=0 failed=0
# shellcheck source=/dev/null
. "$(dirname "$0")/util/tap.bash"
as_users_get_it "$out/lib/libpctr.so"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CC=${CC:-gcc}
export PKG_CONFIG_SYSROOT_DIR=$dir

# flags OPTION... : pkg-config's, for libpctr
flags() { pkg-config "$@" pctr; }

# PCTR-05, PCTR-53: what is installed suffices; the program finds ioctl in libpctr, and runs.
test_installed()
{
	have pkg-config "installed" || return
	"${MAKE:-make}" -s O="$out" install-lib DESTDIR="$dir" >"$dir/log" 2>&1 || sed 's/^/# /' "$dir/log"
	PKG_CONFIG_PATH=$(dirname "$(find "$dir" -name pctr.pc)")
	export PKG_CONFIG_PATH
	# shellcheck disable=SC2046 # are words
	"$CC" -D_GNU_SOURCE -o "$dir/prog" $(flags --cflags) tests/pctr/prog.c $(flags --libs) 2>"$dir/log"
	result "a program compiles" "" "$(cat "$dir/log")"
	result "it has its ioctl from libpctr" 1 "$(readelf -d "$dir/prog" | grep -c 'NEEDED.*\[libpctr.so.0\]')"
	: >"$dir/plain"
	result "it runs" "ENOTTY" "$(LD_LIBRARY_PATH=$PKG_CONFIG_PATH/.. PCTR_DEVICE=$dir/plain "$dir/prog" rdonly read 2>&1)"
	result "flags do not name the build tree" 0 "$(flags --cflags --libs | grep -c "$PWD")"
	include=$(flags --cflags-only-I | awk '{ print substr($NF, 3) }')
	for header in machine/pctr.h machine/cpufunc.h openbsd/machine/cpu.h openbsd/machine/specialreg.h \
		openbsd/sys/ioccom.h openbsd/sys/sysctl.h openbsd/stdlib.h; do
		result "<$header>" yes "$([ -s "$include/$header" ] && echo yes)"
	done
}

# says PAGE TEXT : as one line, without marks
says() { sed 's/^\.[A-Z][a-z] //' "man/$1" | tr '\n' ' ' | grep -qF "$2" && echo yes; }

# PCTR-49, PCTR-50, PCTR-54: required statements of the page.
test_page()
{
	result "events may be inexact" yes "$(says pctr.4 "Not every function is exact, and some make no sense.")"
	result "interrupts are counted" yes "$(says pctr.4 "An interrupt between two readings is counted")"
	result "authors" yes "$(says pctr.4 "David Mazieres , for amd64 by Mike Belopuhov")"
}

test_installed
test_page
echo "1..$n"
exit $failed
