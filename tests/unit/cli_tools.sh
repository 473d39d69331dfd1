#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The tools over a library of known counts (tests/unit/cli/fakepmc.c): no root, no daemon.  TAP.

set -eu

BUILD=$(realpath "${O:-build}")
export BUILD BATS_TEST_TIMEOUT=300
exec bats --print-output-on-failure --tap "$(dirname "$0")/cli"
