/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include <pmc.h>

#include "call.h"
#include "lib/base/sigdefer.h"

static __thread struct {
	int error;
	struct reason why;
} call;

struct reason *call_begin(void)
{
	call.why.text[0] = '\0';
	return &call.why;
}

int call_end(int err)
{
	if (err >= 0)
		return 0;
	call.error = -err;
	errno = -err;
	return -1;
}

int call_end_with(int err, const struct reason *why)
{
	if (err < 0)
		call.why = *why;
	return call_end(err);
}

struct reason *call_enter(void)
{
	sigdefer_begin();
	return call_begin();
}

int call_leave(int err)
{
	struct reason why = call.why;

	sigdefer_end();
	/* A deferred handler may have made a call, and left its own reason. */
	if (err < 0)
		call.why = why;
	return call_end(err);
}

int (call_missing)(struct reason *why, const char *argument)
{
	return deny(why, -EFAULT, "%s is a null pointer", argument);
}

PMC_API_PUBLIC const char *pmc_errstr(void)
{
	return call.why.text[0] ? call.why.text : strerror(call.error);
}
