/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System-scope PMCs that read a register of a CPU.  It runs freely: counts are differences, modulo
 * its bits.  No PMC holds it, except for a control register that a PMC selects with.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cpu_event.h"
#include "register.h"
#include "loader/machine/machine.h"

static int register_error(const struct count *c, uint32_t reg, int err, struct reason *why)
{
	const char *what = strerror(-err);

	switch (err) {
	case -EIO:
		what = "it faults there";
		break;
	case -ENXIO:
		what = "the CPU is offline";
		break;
	case -EPERM:
		what = "the module refuses it: the kernel is locked down, or the register is not "
		       "on its list any more";
		break;
	}
	return deny(why, err, "row %u (%s): register 0x%x of CPU %u: %s", c->spec.row,
		    c->spec.row_name, reg, c->spec.cpu, what);
}

static uint32_t register_number(const struct count *c)
{
	return (uint32_t)c->spec.event.config;
}

bool register_narrow(const struct count *c)
{
	return c->spec.event.msr && (~c->spec.event.config1 || c->spec.shift);
}

int register_new(struct count *c, struct reason *why)
{
	struct msrdev *dev = c->e->msrdev;
	uint64_t value;
	int err = dev ? msrdev_read(dev, register_number(c), c->spec.cpu, &value) : -ENODEV;

	c->backend = &backend_register;
	return err ? register_error(c, register_number(c), err, why) : 0;
}

static int register_select(struct count *c, struct reason *why)
{
	uint64_t old;
	int err = c->spec.select ? msrdev_write(c->e->msrdev, c->spec.select_reg,
						c->spec.cpu, c->spec.select_value, &old) : 0;

	if (err)
		return register_error(c, c->spec.select_reg, err, why);
	if (c->spec.select && !c->selected)
		c->select_old = old;
	c->selected = c->spec.select;
	return 0;
}

static void register_close(struct count *c)
{
	uint64_t ours;

	hotplug_narrow(c->e->hotplug, -register_narrow(c));
	if (c->fd >= 0) {
		msrdev_revoke(c->fd);
		close(c->fd);
	}
	c->fd = -1;
	if (c->selected)
		(void)msrdev_write(c->e->msrdev, c->spec.select_reg, c->spec.cpu,
				   c->select_old, &ours);
	c->selected = false;
}

static int register_start(struct count *c, struct reason *why)
{
	int err = count_state_away(c, why) ?: register_select(c, why);

	if (err)
		return err;
	c->fd = msrdev_row(c->e->msrdev, register_number(c), c->spec.cpu);
	c->generation++;
	err = c->fd < 0 ? c->fd : perf_read(c->fd, &c->start);
	hotplug_narrow(c->e->hotplug, register_narrow(c));
	if (err) {
		register_close(c);
		register_error(c, register_number(c), err, why);
	}
	return err;
}

/* Adds the count since the last reading. */
static int register_add(struct count *c, struct reason *why)
{
	uint64_t now;
	int err = perf_read(c->fd, &now);

	if (err)
		return register_error(c, register_number(c), err, why);
	c->raw += (now - c->start) & c->spec.event.config1;
	c->start = now;
	return 0;
}

static int register_stop(struct count *c, struct reason *why)
{
	int err = count_state_away(c, why) ?: register_add(c, why);

	c->lost |= err != 0;	/* the rest of its count is unknown now */
	register_close(c);
	return err;
}

static int register_read(struct count *c, uint64_t *raw, struct reason *why)
{
	int err = count_state_away(c, why);

	if (!err && c->lost)
		err = count_state_lost(c, -EBUSY, why);
	if (!err && c->running)
		err = register_add(c, why);
	*raw = c->raw;
	return err;
}

static int register_deny_lost(const struct count *c, int err, struct reason *why)
{
	return deny(why, err, "CPU %u was offline meanwhile, or its register could not be "
		    "read, and the count of row %u (%s) is lost; release the PMC and allocate "
		    "again", c->spec.cpu, c->spec.row, c->spec.row_name);
}

/* A failure is reported by the next read. */
static bool register_fold(struct count *c)
{
	struct reason unused;

	if (!c->away)
		(void)register_add(c, &unused);
	return false;
}

/*
 * A register that kept its value while its CPU was away goes on.  A reset shows as a smaller value,
 * unless the register has wrapped: for narrow registers there is no certainty.
 */
static void register_moved(struct count *c, const struct cpu_state *cpu)
{
	uint64_t now;

	if (!cpu->here || !c->running || c->lost)
		return;
	c->lost = register_select(c, &(struct reason){ "" }) || perf_read(c->fd, &now) ||
		  now < c->start || register_narrow(c);
}

static enum wire_how register_how(const struct count *c)
{
	return c->fd >= 0 && !register_narrow(c) ? WIRE_HOW_EVENTS : WIRE_HOW_ASK;
}

const struct backend backend_register = {
	.name = "register", .start = register_start, .stop = register_stop, .read = register_read,
	.cpu_moved = register_moved, .fold = register_fold, .deny_lost = register_deny_lost,
	.how_stopped = WIRE_HOW_VALUE, .how = register_how, .fill = cpu_event_fill,
	.fds = cpu_event_fds,
};
