# SPDX-License-Identifier: BSD-2-Clause
# packaging/: a tarball of the committed tree, and packages built from that tarball alone, in $(O).  The Debian and RPM
# files are lists of what `make install` installs; tests/package compares them.
DIST     := $(O)/dist/pmcbpf-$(VERSION).tar.xz
TARBALL  ?=
LINT_SH  += $(addprefix packaging/,deps demo dist deb rpm)
BUILD_JOBS = $(or $(filter-out -j,$(filter -j%,$(MAKEFLAGS))),-j$(JOBS))

# Its bytes depend on the commit only.  In an unpacked tarball TARBALL names the one to build packages from.
.PHONY: dist deb rpm
dist:  ## pack the committed tree: $(O)/dist/pmcbpf-VERSION.tar.xz
	$(call say,DIST,$(DIST))
	$(Q)TARBALL='$(TARBALL)' packaging/dist '$(DIST)' '$(VERSION)'

deb: dist  ## build Debian packages, source and binary, in $(O)/deb
	$(Q)packaging/deps package
	$(call say,DEB,$(O)/deb)
	$(Q)packaging/deb '$(DIST)' '$(VERSION)' '$(O)/deb' $(BUILD_JOBS)

rpm: dist  ## build RPM packages, source and binary, in $(O)/rpm
	$(Q)packaging/deps package rpm
	$(call say,RPM,$(O)/rpm)
	$(Q)packaging/rpm '$(DIST)' '$(VERSION)' '$(O)/rpm' $(BUILD_JOBS)
