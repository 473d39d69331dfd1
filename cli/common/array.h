/* SPDX-License-Identifier: BSD-2-Clause */
/* Short lists that grow by one element at a time. */
#ifndef PMCBPF_CLI_ARRAY_H
#define PMCBPF_CLI_ARRAY_H

#include <stdlib.h>

/* Makes room for one more element behind the `n` of `list`.  False, ENOMEM: out of memory. */
#define array_room(list, n) __extension__ ({ \
	void *longer_ = reallocarray((list), (n) + 1, sizeof(*(list))); \
	if (longer_) \
		(list) = longer_; \
	longer_ != NULL; \
})

#endif
