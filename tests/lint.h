/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Included first by the analyzers, which see one file at a time: declares that a refusal returns
 * the given error.
 */
#if defined(LINT_loader) || defined(LINT_lib)
#include <errno.h>
#include "lib/base/reason.h"
#define deny(why, err, ...) ((void)(deny)(why, err, __VA_ARGS__), (err))
#endif
#ifdef LINT_cli
#include "cli/common/msg.h"
#define fail(code, ...) ((void)(fail)(code, __VA_ARGS__), (code))
#endif
#ifdef LINT_lib
#include "lib/pmc/pmc.h"
#define call_missing(why, argument) ((void)(call_missing)(why, argument), -EINVAL)
#endif
