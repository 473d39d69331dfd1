/* SPDX-License-Identifier: BSD-2-Clause */
/* The fake of msrdev.h: only listed registers can be read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_msrdev.h"

struct fake_module fake_module = { .refuse_open = -ENOENT };
static char one_device;

void fake_module_reset(void)
{
	memset(&fake_module, 0, sizeof(fake_module));
	fake_module.refuse_open = -ENOENT;
}

void fake_module_set(uint32_t reg, uint64_t value, bool faults)
{
	struct fake_msr *r = fake_module.reg;

	while (r->reg && r->reg != reg)
		r++;
	*r = (struct fake_msr){ .reg = reg, .value = value, .faults = faults };
}

int msrdev_open(struct msrdev **out, struct reason *why)
{
	if (fake_module.refuse_open)
		return deny(why, fake_module.refuse_open, "fake: no module");
	if (fake_module.open++)
		abort();
	*out = (struct msrdev *)&one_device;
	return 0;
}

void msrdev_close(struct msrdev *dev) { fake_module.open -= dev != NULL; }

int msrdev_allow(struct msrdev *dev, const struct msrlist *list, struct reason *why)
{
	if (fake_module.refuse_list)
		return deny(why, fake_module.refuse_list, "fake: no list");
	fake_module.list = *list;
	return 0;
}

int msrdev_read(struct msrdev *dev, uint32_t reg, unsigned int cpu, uint64_t *value)
{
	const struct msrlist_entry *e = msrlist_find(&fake_module.list, reg);
	const struct fake_msr *r = fake_module.reg;

	if (!e)
		return -EPERM;
	while (r->reg && r->reg != reg)
		r++;
	if (r->faults || !r->reg)
		return -EIO;
	*value = r->value & e->read;
	return 0;
}
