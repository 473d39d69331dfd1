/* SPDX-License-Identifier: BSD-2-Clause */
/* The only user of /dev/pmcbpf_msr: registers of a CPU, through the companion module. */
#ifndef PMCBPF_MSRDEV_H
#define PMCBPF_MSRDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/config/msrlist.h"
#include "loader/base/base.h"

struct msrdev;

/* -ENOENT: no module; -EPROTO: of another version; -EPERM: locked down; -EBUSY: others have it. */
int msrdev_open(struct msrdev **out, struct reason *why);
void msrdev_close(struct msrdev *dev);

/* Only what is on the list can be read or written from now on. */
int msrdev_allow(struct msrdev *dev, const struct msrlist *list, struct reason *why);

/* The bits that the list has; -EIO: the register faults; -ENXIO: offline; -EPERM: not listed. */
int msrdev_read(struct msrdev *dev, uint32_t reg, unsigned int cpu, uint64_t *value);
/* Changes the bits that the list lets change; *old: what these were. */
int msrdev_write(struct msrdev *dev, uint32_t reg, unsigned int cpu, uint64_t value,
		 uint64_t *old);

/* A descriptor for read(2) that may be passed to a client, or -errno; the caller's to close. */
int msrdev_row(struct msrdev *dev, uint32_t reg, unsigned int cpu);
/* A client that has a copy reads -ENODEV from now on. */
void msrdev_revoke(int row);

#endif
