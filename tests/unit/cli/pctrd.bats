# SPDX-License-Identifier: BSD-2-Clause
#
# pctrd's command line, and what keeps it from starting.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	umask 022
}

# refuses LINE OPTION... - exit status 1 and only this line; it does not start serving
refuses() {
	gives 1 "pctrd: $1" timeout 600 "$BUILD/sbin/pctrd" "${@:2}"
}

@test "pctrd --help and --version" {
	gives_like 0 "Usage: pctrd *.keep_same*" "$BUILD/sbin/pctrd" --help
	[ "$output" = "$("$BUILD/sbin/pctrd" -h)" ]
	run -0 "$BUILD/sbin/pctrd" --version
	[[ $output == "pctrd "[0-9]* ]]
}

@test "pctrd: one line for each wrong option" {
	refuses 'pctr.width is 40, 48 or 64, not "41"' -o pctr.width=41
	refuses 'pctr.scope is cpu or all, not "one"' -o pctr.scope=one
	refuses "-o pctr.nothing=1: no option is called that; pctrd(8) lists them" -o pctr.nothing=1
	refuses '-o pctr.sope=1: no option is called that (did you mean "pctr.scope"?); pctrd(8) lists them' -o pctr.sope=1
	run -1 "$BUILD/sbin/pctrd" --no-nodes
	[[ $output == *'pctrd: pctrd --help lists the options (did you mean "--no-node"?)' ]]
	refuses "-o pctr.soft: it takes NAME=VALUE; pctrd(8) lists them" -o pctr.soft
	refuses '"more": no arguments are taken besides options' more
	refuses '"run": folder and node are absolute paths' -d run
	refuses '"": folder and node are absolute paths' -d ''
	refuses '"dev": folder and node are absolute paths' -n dev
}

@test "pctrd: only root serves" {
	local as=()

	# The file is open because another user may not be allowed to look into its folder.
	exec 4<"$BUILD/sbin/pctrd"
	[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	gives 1 "pctrd: must be started as root: it counts on whole CPUs and makes /dev/pctr; try sudo pctrd" \
		timeout 600 "${as[@]}" /proc/self/fd/4 -f
}

@test "pctrd: a folder, a file and a socket in the way" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	local dir=$BATS_TEST_TMPDIR
	mkdir open own
	chmod 1777 open
	refuses "$dir/open: others may write there; chown root and chmod go-w it, or choose another folder with -d" \
		-f --no-node -d "$dir/open"
	ln -s /etc/passwd own/pctr
	refuses "$dir/own/pctr is in the way: it is no plain file; remove it, or choose another folder with -d" \
		-f --no-node -d "$dir/own"
	rm own/pctr
	mkdir own/pctr
	refuses "$dir/own/pctr is in the way: it is no plain file; remove it, or choose another folder with -d" \
		-f --no-node -d "$dir/own"
	rmdir own/pctr
	: >own/pctr.sock
	refuses "$dir/own/pctr.sock exists and is no socket; remove it, or choose another folder with -d" \
		-f --no-node -d "$dir/own"
	refuses "cannot open /proc/pctr.sock.lock: No such file or directory; choose another folder with -d" -f --no-node -d /proc
	refuses "$dir/a/b: No such file or directory; choose another folder with -d" -f --no-node -d "$dir/a/b"
}
