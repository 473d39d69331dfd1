/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's list of trace events, and its messages about filters.  Only root can read it, so
 * that clients ask the daemon.
 */
#ifndef PMCBPF_TRACEFS_H
#define PMCBPF_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/helper.h"
#include "lib/base/wire.h"
#include "loader/base/base.h"
#include "tracefs_name.h"

/* True if the file system is mounted, and can be read. */
bool tracefs_here(void);

/* The number by which perf knows the event.  -ENOENT: none, with the nearest name. */
int tracefs_id(const char *name, uint64_t *id, struct reason *why);

/* The event's format file: the caller frees the text. */
int tracefs_format(const char *name, char **text, struct reason *why);

/* Reads the names of all events.  `text` is the lines' memory; the caller frees both. */
struct tracefs_list {
	char *text;
	const char **name;
	unsigned int n;
};
int tracefs_list(struct tracefs_list *l, struct reason *why);
void tracefs_list_free(struct tracefs_list *l);

/*
 * The job of a helper: the answer is the reason for which the kernel has refused a filter, with the
 * place in it.  It takes the kernel some grace periods.
 */
struct tracefs_filter {
	char name[WIRE_NAME_MAX], filter[WIRE_FILTER_MAX];
};
int tracefs_filter_job(struct helper_call *call);

#endif
