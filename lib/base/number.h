/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers in text.  A number begins with a digit: strtoull(3) also takes blanks and signs, which
 * are typing errors.  The functions are inline because libktr.a, which programs link statically,
 * may not define names that could be the program's.
 */
#ifndef PMCBPF_BASE_NUMBER_H
#define PMCBPF_BASE_NUMBER_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Reads the number at *text, and moves *text behind it.  The base is strtoull(3)'s: 0 takes "10",
 * "0x10" and "010".  0, -EINVAL: there is no number, and *text stays; -ERANGE: it is more than
 * `most`.  errno is not changed.
 */
static inline int number_read(const char **text, int base, uint64_t most, uint64_t *value)
{
	const char first = (char)(**text | 0x20);
	const int before = errno;
	char *end;
	int err;

	if (!(first >= '0' && first <= '9') && !(base == 16 && first >= 'a' && first <= 'f'))
		return -EINVAL;
	errno = 0;
	*value = strtoull(*text, &end, base);
	*text = end;
	err = errno || *value > most ? -ERANGE : 0;
	errno = before;
	return err;
}

/* The whole text is a number. */
static inline int number_parse(const char *text, int base, uint64_t most, uint64_t *value)
{
	int err = number_read(&text, base, most, value);

	return *text ? -EINVAL : err;
}

#endif
