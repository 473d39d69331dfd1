/* SPDX-License-Identifier: BSD-2-Clause */
/* Short lists that grow by one element at a time. */
#ifndef PMCBPF_CLI_ARRAY_H
#define PMCBPF_CLI_ARRAY_H

#include <stdlib.h>

/* Room for one more behind the `n` elements of `list`.  False without memory: errno is ENOMEM. */
#define array_room(list, n) __extension__ ({ \
	void *longer_ = reallocarray((list), (n) + 1, sizeof(*(list))); \
	if (longer_) \
		(list) = longer_; \
	longer_ != NULL; \
})

#endif
