/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of a log as JSON objects.  event_to_json() is FreeBSD's, for C++, and inline: the library
 * itself needs no C++.  pmclog_json() is ours.
 */
#ifndef PMCBPF_PMCFORMAT_H
#define PMCBPF_PMCFORMAT_H

#include <pmclog.h>

#ifdef __cplusplus
#include <string>

extern "C" {
#endif

#define PMCLOG_JSON_MAX 65536		/* largest object, its NUL included */

/*
 * Writes the object, without a newline, and a NUL, cut to the size of the buffer.  Returns the
 * length of the whole object: pmclog(3).
 */
size_t pmclog_json(const struct pmclog_ev *ev, char *to, size_t size);

#ifdef __cplusplus
}

inline std::string event_to_json(struct pmclog_ev *ev)
{
	char text[PMCLOG_JSON_MAX];

	return std::string(text, pmclog_json(ev, text, sizeof(text)));
}
#endif

#endif
