# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# A guest of a whole system ($PMCBPF_BOOT_SYSTEM of systems.tsv) with packages to install, in /srv/packages:
#
#	new/     what this tree builds for the system
#	before/  the same packages with a lower version and another pmcbpf.conf
#	broken/  pmcbpf-dkms of that version, with a header that does not compile
#	tests/   files of this folder
#
# One boot serves the file: its tests run in order, and each goes on where the one before it has ended.

load ../vm/helpers

BOOT_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BOOT_SYSTEM=${PMCBPF_BOOT_SYSTEM:-bookworm}
# Only bounds a hang: a build in an emulated CPU takes minutes beside others.
export VM_TIMEOUT=1800

# repack DEB DIR VERSION [COMMAND...] - the package with a version of its own; COMMAND changes the tree in $1
repack() {
	local deb=$1 dir=$2 version=$3 tree=$BATS_FILE_TMPDIR/tree own

	shift 3
	own=$(dpkg-deb -f "$deb" Version)
	rm -rf "$tree"
	dpkg-deb -R "$deb" "$tree"
	sed -i "s/^Version: .*/Version: $version/; s/(= $own)/(= $version)/g" "$tree/DEBIAN/control"
	[ $# -eq 0 ] || "$@" "$tree"
	mkdir -p "$dir"
	dpkg-deb --root-owner-group -Znone -b "$tree" "$dir" >/dev/null
}

# Another file than the new version's, with the same meaning.
other_configuration() {
	[ ! -e "$1/etc/pmcbpf/pmcbpf.conf" ] || echo '# Of the version before.' >>"$1/etc/pmcbpf/pmcbpf.conf"
}

break_header() {
	echo '#error this header is broken' >>"$(echo "$1"/usr/src/pmcbpf-msr-*/pmcbpf_msr.h)"
}

# boot_packages DIR - fills it with what /srv/packages has
boot_packages() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	local dir=$1 deb version

	mkdir -p "$dir"/{new,tests}
	cp "$BOOT_DIR"/count.c "$BOOT_DIR"/snapshot "$dir/tests"
	for deb in "$BOOT_DEBS"/*.deb; do
		[[ $deb == *-dbgsym_* ]] || cp "$deb" "$dir/new"
	done
	for deb in "$dir"/new/*.deb; do
		version=$(dpkg-deb -f "$deb" Version)~before
		repack "$deb" "$dir/before" "$version" other_configuration
	done
	repack "$(echo "$dir"/new/pmcbpf-dkms_*.deb)" "$dir/broken" "$version" break_header
}

# boot_start - boots the system with the packages of $BOOT_DEBS in /srv/packages
boot_start() {
	local disk=$BATS_FILE_TMPDIR/packages.disk

	boot_packages "$BATS_FILE_TMPDIR/packages"
	truncate -s 64M "$disk"
	/sbin/mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -d "$BATS_FILE_TMPDIR/packages" "$disk"
	VM_ID=$("$VM_DIR/guest" start "$("$BOOT_DIR/system" disk "$BOOT_SYSTEM")" --owner "$$" --smp 1 --drive "$disk" \
		--append 'root=/dev/vda rw mitigations=off' --timeout 1800 --lifetime 7200) || return
	export VM_ID
	vm mkdir -p /srv/packages
	vm mount -o ro /dev/vdb /srv/packages
}

# as USER SCRIPT - in a login shell of the user
as() {
	vm su - "$1" -c "$2"
}

# apt_get ARGUMENT... - without questions; files of packages are below /srv/packages
apt_get() {
	vm_sh 'cd /srv/packages && DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" </dev/null' "$@"
}

# packages FOLDER [PATTERN] - files for apt; without pmcbpf-dkms, which takes a minute to build
packages() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'cd /srv/packages && for f in ./"$1"/$2; do
		case $f in *-dkms_*) ;; *) echo "$f" ;; esac; done' "$1" "${2:-*.deb}"
}

# until_true SCRIPT [ARG...] - waits until it succeeds in the guest
until_true() {
	local script=$1

	shift
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'script=$1; shift; until sh -c "$script" sh "$@" >/dev/null 2>&1; do sleep 0.1; done' "$script" "$@"
}

# service PROPERTY - of pmcbpfd, in systemd
service() {
	vm systemctl show pmcbpfd -p "$1" --value
}

# count_in_background - a user's count of a program that does not end; its output goes to /tmp/counting
count_in_background() {
	vm_sh 'su - alice -c "pmcstat -w 1 -p CONTEXT_SWITCHES sleep 1000000; echo status \$?" </dev/null >/tmp/counting 2>&1 &'
	# shellcheck disable=SC2016 # the guest's shell expands it
	until_true 'test "$(grep -c "^ *[0-9]" /tmp/counting)" -ge 2'
}

# count_has_ended - with an error that says why; the program goes on
count_has_ended() {
	until_true 'grep "gone away" /tmp/counting'
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'kill $(pgrep -f "^sleep 1000000$")'
	until_true 'grep "^status" /tmp/counting'
	run vm cat /tmp/counting
	has 'Cannot read pmc "CONTEXT_SWITCHES": pmcbpfd has gone away, and every PMC with it'
	has 'status 71'
}
