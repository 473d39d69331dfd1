/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The format of a trace event: the fields of the record that the kernel makes of a hit.  Its text
 * is the event's format file in tracefs.
 */
#ifndef PMCBPF_EVENT_FORMAT_H
#define PMCBPF_EVENT_FORMAT_H

#include <stdbool.h>

#include "bpf/count/record_abi.h"
#include "loader/base/base.h"

#define EVENT_FIELD_NAME 64u		/* bytes, with the NUL */

struct event_field {
	char name[EVENT_FIELD_NAME];
	unsigned int offset, size;	/* in the record's fixed part */
	unsigned int element;		/* bytes of an array's elements */
	bool is_signed, is_array, is_address;
	bool is_text;			/* … to a filter, also of unsigned characters … */
	bool is_bytes;			/* … which are bytes to a reader */
	bool elsewhere;			/* the fixed part has its place and length … */
	bool behind;			/* … and the place counts from behind this word */
};

/*
 * Takes the next field from a format's text; false: there are no more.  Fields that all events have
 * are passed over.  The name "" stands for a line that is unknown.
 */
bool event_format_next(const char **text, struct event_field *f);

/*
 * Finds the record's fixed part, and the texts and arrays behind it.  `call`: the event is a system
 * call's, and its program gets the arguments alone.  -EOPNOTSUPP: no program can copy the record.
 */
int event_format_shape(const char *text, bool call, struct abi_record_shape *shape,
		       struct reason *why);

/* Calls fn() for each field of the event "SYSTEM:NAME". */
int event_format_each(const char *name, void (*fn)(void *arg, const struct event_field *f),
		      void *arg, struct reason *why);

#endif
