/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka with the headers it forgets to include, and what the library's tests share. */
#ifndef PMCBPF_UNIT_H
#define PMCBPF_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/*
 * Fails unless `text` contains `part`: for reasons, whose wording may change but not their subject.
 */
#define assert_contains(text, part)							\
	do {										\
		if (!strstr((text), (part)))						\
			fail_msg("\"%s\" does not contain \"%s\"", (text), (part));	\
	} while (0)

#endif
