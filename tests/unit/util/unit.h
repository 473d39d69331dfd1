/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka with the headers it forgets to include, and what the library's tests share. */
#ifndef PMCBPF_UNIT_H
#define PMCBPF_UNIT_H

#include <errno.h>
#include <sched.h>
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

/* A function of the library fails with that errno. */
#define expect_errno(call, error)							\
	do {										\
		errno = 0;								\
		assert_int_equal(call, -1);						\
		assert_int_equal(errno, error);						\
	} while (0)

/* For the rest of the program: a time stamp counter need not be that of another CPU. */
static inline void stay_on_this_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

#endif
