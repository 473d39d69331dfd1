/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests by number: see request.h. */
#include <errno.h>

#include "lib/base/pctr_wire.h"
#include "request.h"

int request_decode(uint32_t number, int *what)
{
	static const uint32_t sets[PCTR_NUM] = { PCIOCS0, PCIOCS1, PCIOCS2, PCIOCS3 };

	for (int n = 0; n < PCTR_NUM; n++)
		if (pctr_is(number, sets[n])) {
			*what = n;
			return 0;
		}
	if (pctr_is(number, PCIOCRD)) {
		*what = REQUEST_READ;
		return 0;
	}
	return _IOC_TYPE(number) == 'c' ? -EINVAL : -ENOTTY;
}
