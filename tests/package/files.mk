# SPDX-License-Identifier: BSD-2-Clause
# tests/package/: the packages that `make deb` and `make rpm` build of the last commit, before they are on any system.
PACKAGE_BATS := $(wildcard tests/package/*.bats)
PACKAGE_JOBS ?= 2
LINT_SH += tests/package/helpers.bash packaging/debian/tests/count packaging/debian/tests/compile \
	$(addprefix packaging/debian/pmcbpf.,postinst postrm)

INSTALL_CHECKS += check-package
.PHONY: check-package
check-package: all deb rpm  ## the packages: contents, scripts, reproducibility, size, container
	$(Q)BUILD='$(abspath $(O))' VERSION='$(VERSION)' DIST='$(abspath $(DIST))' \
		tests/together $(PACKAGE_JOBS) '' $(PACKAGE_BATS)
