# SPDX-License-Identifier: BSD-2-Clause
# kmod/: the module pmcbpf_msr, which is optional.  Built in $(O), for the kernel of KDIR; packages
# build it with DKMS.
KMOD_SRCS := $(wildcard kmod/*.[ch]) kmod/Kbuild kmod/Makefile
KDIR      ?= /lib/modules/$(shell uname -r)/build

# O and ARCH of this make are not the kernel's.
.PHONY: kmod
kmod:  ## build the module for the kernel whose headers are in KDIR
	@[ -e $(KDIR)/Makefile ] || { echo "kmod: $(KDIR) has no kernel headers: install" \
		"linux-headers-$$(uname -r), or set KDIR" >&2; exit 1; }
	$(call say,KMOD,$(KDIR))
	$(Q)mkdir -p $(O)/kmod && cp $(KMOD_SRCS) $(O)/kmod
	$(Q)env -u MAKEFLAGS -u O make -C $(O)/kmod KDIR='$(KDIR)' $(if $(filter $(ARCH),$(HOST_ARCH)),ARCH=$(patsubst x86_64,x86,$(ARCH)),\
		ARCH=$(ARCH) CROSS_COMPILE=$(CROSS_COMPILE))

# Where DKMS looks for sources, regardless of PREFIX; then: dkms install pmcbpf-msr/$(VERSION).
DKMS_DIR  := $(DESTDIR)/usr/src/pmcbpf-msr-$(VERSION)
LINT_SH   += packaging/dkms/dkms.conf

.PHONY: install-dkms
install-dkms:  ## install the module's sources for DKMS
	$(call say,INSTALL,$(DKMS_DIR))
	$(Q)install -d $(DKMS_DIR)
	$(Q)install -m 644 $(KMOD_SRCS) $(DKMS_DIR)
	$(Q)sed 's/@VERSION@/$(VERSION)/' packaging/dkms/dkms.conf >$(DKMS_DIR)/dkms.conf

# Before it: dkms remove pmcbpf-msr/$(VERSION) --all.
.PHONY: uninstall-dkms
uninstall-dkms:  ## remove what install-dkms has installed
	$(Q)rm -f $(addprefix $(DKMS_DIR)/,$(notdir $(KMOD_SRCS)) dkms.conf)
	$(Q)[ ! -d $(DKMS_DIR) ] || rmdir $(DKMS_DIR)
