#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# DESIGN.md: the files and functions that it names are there, and its tours lead from file to file.  TAP.

set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=/dev/null
. util/tap.bash

n=0
failed=0
have python3 "the newcomer's tour" &&
	result "each file of the newcomer's tour is there and leads to the next" "" "$(../rooms tour 2>&1)"
echo "1..$n"
exit "$failed"
