# man/: mdoc pages, installed with a link for every further name they describe.
MAN_PAGES := $(sort $(wildcard man/*.[1-9]))

INSTALL += install-man
.PHONY: install-man lint-man
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

lint: lint-man
lint-man:  ## manual pages without warnings
	$(Q)mandoc -T lint -W warning $(MAN_PAGES)
