# SPDX-License-Identifier: BSD-2-Clause
# What the TAP scripts of tests/unit share; they count tests in $n, $failed is their exit status.
# shellcheck shell=bash disable=SC2034

# result NAME EXPECTED GOT
result()
{
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '# expected: %s\n# got: %s\n' "${2//$'\n'/$'\n# '}" "${3//$'\n'/$'\n# '}"
		failed=1
	fi
}

# have TOOL NAME : or a test of that name is skipped
have()
{
	command -v "$1" >/dev/null && return
	n=$((n + 1))
	echo "ok $n - $2 # SKIP $1 is not installed"
	return 1
}

# as_users_get_it LIBRARY : ends the script, as skipped, if the library is built with sanitizers
as_users_get_it()
{
	nm "$1" | grep -q __asan_init || return 0
	echo "ok 1 - the library as users get it # SKIP sanitizers are in it"
	echo "1..1"
	exit
}
