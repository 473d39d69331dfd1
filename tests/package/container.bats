#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The container of packaging/container, made of namespaces: what the recipe copies, and the daemon's socket.

load helpers

# container_make FOLDER - the packages that the recipe copies, a shell and ls, and the libraries that they need
container_make() {
	local root=$1 name file

	for name in $(sed -n '/^COPY /s/_\*\.deb//gp' "$ROOT/packaging/container/Containerfile" | sed 's/^COPY //; s/ [^ ]*$//'); do
		dpkg-deb -x "$(deb "$name")" "$root"
	done
	mkdir -p "$root"/{proc,sys,run/pmcbpf,tmp,dev,lib64,etc}
	cp /etc/passwd /etc/group "$root/etc"
	cp --parents -L /bin/ls /bin/sh "$root"
	for file in "$root"/usr/bin/* /bin/ls /bin/sh; do
		LD_LIBRARY_PATH=$(dirname "$root"/usr/lib/*/libpmc-compat.so.0) ldd "$file" | grep -oE '/[^ ]+ ' |
			grep -v "^$root" || true
	done | sort -u | while read -r file; do
		[ -e "$root$file" ] || cp --parents -L "$file" "$root"
	done
}

# container_run PROGRAM... - as nobody, with /proc and /sys as every container has them and nothing of the host's but
# the folder of the socket
container_run() {
	ROOTFS=$BATS_TEST_TMPDIR/root RUN=$BATS_TEST_TMPDIR/run unshare --mount --pid --net --ipc --uts --fork --propagation private \
		bash -euc '
			mount -t proc proc "$ROOTFS/proc"
			mount -t sysfs -o ro sysfs "$ROOTFS/sys"
			mount --bind "$RUN" "$ROOTFS/run/pmcbpf"
			mount -o remount,bind,ro "$ROOTFS/run/pmcbpf"
			exec setpriv --no-new-privs chroot --userspec=65534:65534 --groups= "$ROOTFS" "$@"
		' container "$@"
}

teardown() {
	[ -z "${DAEMON:-}" ] || { kill "$DAEMON" && wait "$DAEMON"; } || true
}

@test "pmcstat in the container counts through the host's socket, as a user without privilege" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)"
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "${BATS_TEST_TMPDIR%/*}" "$BATS_TEST_TMPDIR"
	mkdir "$BATS_TEST_TMPDIR"/{root,run,daemon}
	chmod 755 "$BATS_TEST_TMPDIR"/{root,run}
	container_make "$BATS_TEST_TMPDIR/root"
	dpkg-deb -x "$(deb pmcbpf)" "$BATS_TEST_TMPDIR/daemon"
	"$BATS_TEST_TMPDIR/daemon/usr/sbin/pmcbpfd" -f -s "$BATS_TEST_TMPDIR/run/pmc.sock" 2>"$BATS_TEST_TMPDIR/log" 3>&- &
	DAEMON=$!
	until PMCBPF_SOCKET=$BATS_TEST_TMPDIR/run/pmc.sock LD_LIBRARY_PATH=$BUILD/lib "$BUILD/bin/pmccontrol" -s >/dev/null 2>&1; do
		kill -0 "$DAEMON" || { cat "$BATS_TEST_TMPDIR/log"; false; }
		sleep 0.05
	done
	run container_run /usr/bin/pmcstat -p PAGE_FAULT.ALL /bin/ls /
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *PAGE_FAULT.ALL* && $output == *usr* ]]
	[ "$(awk '$1 ~ /^[0-9]+$/ { print ($1 > 0) }' <<<"$output")" = 1 ]
	# Nothing but the socket is the host's: other processes cannot be named, nor CPUs counted.
	run container_run /usr/bin/pmcstat -t "$DAEMON" -p PAGE_FAULT.ALL
	echo "$output"
	[ "$status" -ne 0 ]
	[[ $output == *"There is no process $DAEMON" ]]
	run container_run /usr/bin/pmcstat -s CPU_CLOCK /bin/ls
	echo "$output"
	[ "$status" -ne 0 ]
	[[ $output == *"system-scope PMCs are not for processes in a container"* ]]
}
