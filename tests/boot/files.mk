# SPDX-License-Identifier: BSD-2-Clause
# tests/boot/: the packages in clean Debian systems that boot with systemd and their own kernels.
LINT_SH += $(addprefix tests/boot/,system run snapshot helpers.bash)
LINT_C  += tests/boot/count.c

# Packages that the suite `package` has just built from the same tarball are used again.
INSTALL_CHECKS += check-boot
.PHONY: check-boot
check-boot: dist  ## install, use, upgrade and remove the packages in Debian 12 and 13
	$(Q)cmp -s '$(DIST)' '$(O)/deb/pmcbpf_$(VERSION).orig.tar.xz' && [ -n "$(wildcard $(O)/deb/*.changes)" ] || \
		$(MAKE) deb
	$(Q)tests/boot/run '$(DIST)' '$(VERSION)' '$(O)/deb' '$(O)/boot'
