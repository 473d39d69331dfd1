/* SPDX-License-Identifier: BSD-2-Clause */
/* The layouts of CPython's versions. */
#ifndef PMCBPF_PYTHON_LAYOUT_H
#define PMCBPF_PYTHON_LAYOUT_H

#include "python.h"

#define PYTHON_OFFSETS_WORDS 80u	/* of an interpreter's own description: 3.13 */

/*
 * `version`: as Py_Version has it; `words`: the first ones of _PyRuntime.  -ENOTSUP: not supported;
 * -EBADMSG: the interpreter's own description makes no sense.
 */
int python_layout_find(struct python_layout *l, uint64_t version, const uint64_t *words,
		       struct reason *why);

#endif
