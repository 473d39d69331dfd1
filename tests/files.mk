# SPDX-License-Identifier: BSD-2-Clause
# tests/: what belongs to no tier.  ids.tsv numbers what the tests prove, exceptions.tsv what none can yet.
CHECKS += check-coverage
.PHONY: check-coverage
check-coverage:  ## every number of tests/ids.tsv has a test that names it, or a reason why not
	$(Q)tests/coverage
