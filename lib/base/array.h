/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow, and searches in sorted ones. */
#ifndef PMCBPF_LIB_BASE_ARRAY_H
#define PMCBPF_LIB_BASE_ARRAY_H

#include <errno.h>
#include <stdlib.h>

/*
 * Grows an array of *room elements to at least `need`, in steps that double it.  NULL: no memory,
 * and it is unchanged.
 */
static inline void *array_grow(void *array, size_t *room, size_t need, size_t element)
{
	size_t more = *room ? *room : 16;
	void *bigger;

	if (need <= *room && array)
		return array;
	while (more < need)
		more *= 2;
	bigger = reallocarray(array, more, element);
	if (bigger)
		*room = more;
	return bigger;
}

/* The same for the variables `list` and `room` of any integer type.  0 or -ENOMEM. */
#define array_reserve(list, room, need) __extension__ ({ \
	size_t room_ = (room); \
	void *longer_ = array_grow((list), &room_, (need), sizeof(*(list))); \
	if (longer_) { \
		(list) = longer_; \
		(room) = (__typeof__(room))room_; \
	} \
	longer_ ? 0 : -ENOMEM; \
})

/* In a list sorted by `member`: the number of elements whose member is at most `key`. */
#define array_upto(list, n, member, key) __extension__ ({ \
	const __typeof__(key) key_ = (key); \
	size_t low_ = 0, high_ = (n); \
	while (low_ < high_) { \
		size_t middle_ = low_ + (high_ - low_) / 2; \
		if ((list)[middle_].member <= key_) \
			low_ = middle_ + 1; \
		else \
			high_ = middle_; \
	} \
	low_; \
})

/* For short lists: makes room for exactly one more element behind the `n` of `list`. */
#define array_extend(list, n) __extension__ ({ \
	void *longer_ = reallocarray((list), (n) + 1, sizeof(*(list))); \
	if (longer_) \
		(list) = longer_; \
	longer_ ? 0 : -ENOMEM; \
})

#endif
