#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What `packaging/deps build` installs has every header that a build may include: a fresh machine has no other.  TAP.

set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 failed=0
# shellcheck source=/dev/null
. "$(dirname "$0")/util/tap.bash"
CC=${CC:-gcc}

have dpkg-query "headers and their packages" || { echo "1..$n"; exit; }

# included FOLDER... - the headers that its sources name in angle brackets, those of this tree aside
included()
{
	find "$@" -name '*.[chS]' -exec sed -nE 's/^[ \t]*#[ \t]*include[ \t]*<([^>]+)>.*/\1/p' {} + | sort -u |
		while read -r header; do
			[ -e "lib/include/$header" ] || [ -e "lib/$header" ] || echo "$header"
		done
}

# found HEADER... - where the compiler has them; what it has not is optional, or the build says so
mapfile -t places < <(LC_ALL=C "$CC" -E -xc -Wp,-v /dev/null 2>&1 >/dev/null | sed -n 's/^ //p' | xargs realpath)
found()
{
	local header place
	for header; do
		for place in "${places[@]}"; do
			[ -e "$place/$header" ] && echo "$place/$header" && break
		done
	done
}

# packaged LIST - of lines "package: file", those whose package LIST does not install for a build
packaged()
{
	local line
	# The compiler's own headers and the kernel's come with gcc; of alternatives each will do.
	sed -nE 's/^[ \t]*build +([^ ]+) .*/\1/p' "$1" | tr '|' '\n' >"$dir/installed"
	while read -r line; do
		case $line in diversion\ *|linux-libc-dev[:,]*|libgcc-*-dev[:,]*) continue ;; esac
		sed -E 's/: \/.*//; s/:[a-z0-9]+(,|$)/\1/g; s/, /\n/g' <<<"$line" | grep -qxFf "$dir/installed" || echo "$line"
	done
}

for folder in lib cli loader pctr bpf; do
	mapfile -t headers < <(included $folder)
	mapfile -t files < <(found "${headers[@]}")
	result "$folder: there are headers of others" yes "$([ ${#files[@]} -ge 3 ] && echo yes)"
	# Headers that belong to no package are their installer's affair, as in packaging/deps.
	dpkg-query -S "${files[@]}" >"$dir/$folder" 2>/dev/null
	result "$folder: a build installs the packages of its headers" "" "$(packaged packaging/deps <"$dir/$folder")"
done

# As it was once: libpfm's headers were among what the tests take.
if grep -q '^libpfm4-dev:' "$dir/lib"; then
	sed 's/build libpfm4-dev/unit  libpfm4-dev/' packaging/deps >"$dir/deps"
	result "a package of another use is noticed" "libpfm4-dev:" "$(packaged "$dir/deps" <"$dir/lib" |
		sed 's/:.*/:/' | sort -u)"
else
	n=$((n + 1))
	echo "ok $n - a package of another use is noticed # SKIP libpfm4-dev is not installed"
fi
echo "1..$n"
exit $failed
