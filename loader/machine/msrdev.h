/* SPDX-License-Identifier: BSD-2-Clause */
/* The only user of /dev/pmcbpf_msr: registers of a CPU, through the companion module. */
#ifndef PMCBPF_MSRDEV_H
#define PMCBPF_MSRDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/config/msrlist.h"
#include "loader/base/base.h"

struct msrdev;

/* -ENOENT: no module; -EPROTO: wrong version; -EPERM: locked down; -EBUSY: already open. */
int msrdev_open(struct msrdev **out, struct reason *why);
void msrdev_close(struct msrdev *dev);

/* From now on only registers on the list can be read or written. */
int msrdev_allow(struct msrdev *dev, const struct msrlist *list, struct reason *why);

/* Reads the bits on the list; -EIO: the register faults; -ENXIO: offline; -EPERM: not listed. */
int msrdev_read(struct msrdev *dev, uint32_t reg, unsigned int cpu, uint64_t *value);
/* Writes the bits that the list lets change; *old: their value before. */
int msrdev_write(struct msrdev *dev, uint32_t reg, unsigned int cpu, uint64_t value,
		 uint64_t *old);

/* A descriptor for read(2) that may be passed to a client, or -errno; the caller closes it. */
int msrdev_row(struct msrdev *dev, uint32_t reg, unsigned int cpu);
/* From now on reads of clients' copies fail with -ENODEV. */
void msrdev_revoke(int row);

#endif
