# SPDX-License-Identifier: BSD-2-Clause
# man/: mdoc pages, installed with a link for every further name they describe.
MAN_PAGES := $(sort $(wildcard man/*.[1-9]))

INSTALL += install-man
.PHONY: install-man
# A page's names are the .Nm lines of its NAME section.
install-man: $(MAN_PAGES)
	$(call say,INSTALL,$(DESTDIR)$(MANDIR))
	$(Q)set -e; for page in $(MAN_PAGES); do \
		section=$${page##*.}; dir=$(DESTDIR)$(MANDIR)/man$$section; file=$${page##*/}; \
		install -d $$dir; install -m 644 $$page $$dir; \
		for name in $$(sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \([^ ]*\).*/\1/p' $$page); do \
			[ $$name.$$section = $$file ] || ln -sf $$file $$dir/$$name.$$section; \
		done; \
	done

# In TAP, a test for each page.
CHECKS += check-man
.PHONY: check-man
check-man:  ## manual pages without warnings
	$(Q)n=0; status=0; for page in $(MAN_PAGES); do n=$$((n + 1)); \
		mandoc -T lint -W warning $$page && echo "ok $$n - $$page" || \
			{ echo "not ok $$n - $$page"; status=1; }; done; \
		echo "1..$$n"; exit $$status
