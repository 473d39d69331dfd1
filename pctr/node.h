/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that programs open: the stand-in, and /dev/pctr. */
#ifndef PMCBPF_PCTR_NODE_H
#define PMCBPF_PCTR_NODE_H

#include <stdbool.h>

#include "messages.h"

/* Makes the folder where it is missing.  -EPERM: others may write there. */
int node_folder(const char *dir, const struct messages *messages);

/*
 * Makes the folder and the file in it, 0644: open for writing is the permission to set.  One that
 * is there, an administrator's with another mode or group, is used as it is.  A descriptor, or
 * -errno with a message.
 */
int node_stand_in(const char *dir, const char *file, const struct messages *messages);

/*
 * Removes a link `node` to `target`, also if a killed pctrd has left it; any other file stays, with
 * -EEXIST.  0: the name is free.
 */
int node_clear(const char *node, const char *target);

/* A link to the stand-in where there is no device.  As node_clear(). */
int node_link(const char *node, const char *target);

/* Makes the device /dev/`name` of CUSE readable for all, unless udev has set its mode. */
int node_open_up(const char *name);

#endif
