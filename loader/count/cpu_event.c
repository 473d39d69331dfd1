/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System-scope PMCs that a perf event counts.  If the CPU goes offline, the event never counts
 * again but can still be read: its count is added, and a new event is opened when the CPU is back.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "count_period.h"
#include "count_state.h"
#include "cpu_event.h"

static int cpu_event_copy(const struct count *c)
{
	int fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

static int cpu_event_open(const struct count *c)
{
	struct perf_event_spec spec = count_state_event(c);
	int fd, err = 0;

	if (c->lender)
		return c->lender->fd < 0 ? -ENXIO : cpu_event_copy(c->lender);
	count_period_fill(c, &spec);
	fd = perf_open_cpu(&spec, c->spec.cpu);
	if (fd >= 0 && c->spec.sampling)
		err = perf_set_program(fd, c->spec.program);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int cpu_event_new(struct count *c, struct reason *why)
{
	c->backend = &backend_cpu_event;
	c->downs = cpu_bell_cpu(c->e->cpu_bell, c->spec.cpu).downs;
	c->fd = cpu_event_open(c);
	if (c->fd >= 0)
		return 0;
	if (c->fd == -ENXIO)
		return deny(why, -ENXIO, "CPU %u is offline", c->spec.cpu);
	return deny(why, -EINVAL, "CPU %u cannot count this event on row %s: %s", c->spec.cpu,
		    c->spec.row_name, perf_error(c->fd));
}

/* An owner may keep a copy of the descriptor, so the counter is given back explicitly. */
void cpu_event_close(struct count *c)
{
	if (c->fd < 0)
		return;
	(void)perf_disable(c->fd);
	if (c->spec.from == COUNT_FROM_TRACEPOINT)
		tracepoints_close_event(c->e->tracepoints, c->fd);
	else
		close(c->fd);
	c->fd = -1;
	c->generation++;
}

bool cpu_event_borrow(struct count *c, struct count *lender)
{
	int fd = lender->fd < 0 ? -1 : cpu_event_copy(lender);

	if (fd < 0)
		return false;
	cpu_event_close(c);
	c->lender = lender;
	c->fd = fd;
	c->downs = lender->downs;
	return true;
}

static bool cpu_event_gauge(const struct count *c, struct gauge *g)
{
	g->fd = c->fd;
	return true;
}

static int cpu_event_now(struct count *c, uint64_t *value, struct reason *why)
{
	int err;

	if (c->lost)
		return count_state_lost(c, -EBUSY, why);
	err = perf_read(c->fd, value);
	if (!err)
		return 0;
	if (err == -EBUSY)
		return count_state_lost(c, err, why);
	return deny(why, err, "CPU %u: the counter of row %u (%s) cannot be read: %s", c->spec.cpu,
		    c->spec.row, c->spec.row_name, strerror(-err));
}

static int cpu_event_start(struct count *c, struct reason *why)
{
	int err = count_state_away(c, why) ?: cpu_event_now(c, &c->start, why);

	return !err && c->spec.sampling ? perf_enable(c->fd) : err;
}

static int cpu_event_stop(struct count *c, struct reason *why)
{
	uint64_t now = c->start;
	int err;

	if (c->spec.sampling)
		(void)perf_disable(c->fd);	/* fails if the CPU has gone */
	err = count_state_away(c, why);
	/* If the CPU has gone, the event's count has been added already. */
	if (!err && !cpu_event_now(c, &now, why))
		c->raw += now - c->start;
	return err;
}

static int cpu_event_read(struct count *c, uint64_t *raw, struct reason *why)
{
	uint64_t now = c->start;
	int err = count_state_away(c, why);

	if (!err && c->lost)
		err = count_state_lost(c, -EBUSY, why);
	if (!err && c->running)
		err = cpu_event_now(c, &now, why);
	*raw = c->raw + (c->running ? now - c->start : 0);
	return err;
}

/* --- CPUs that go and come ------------------------------------------------------------------- */

static void cpu_event_keep_dead(struct count *c)
{
	uint64_t last;

	if (c->running && !perf_read(c->fd, &last))
		c->raw += last - c->start;
	else if (c->running)
		c->lost = true;
	cpu_event_close(c);
	c->start = 0;
}

static void cpu_event_moved(struct count *c, const struct cpu_state *now)
{
	if (c->lender)
		cpu_event_moved(c->lender, now);
	if (c->fd >= 0 && c->downs != now->downs)
		cpu_event_keep_dead(c);
	if (c->fd >= 0 || !now->here)
		return;
	c->downs = now->downs;
	c->fd = cpu_event_open(c);
	if (c->fd == -ENXIO)		/* the CPU went again, which is reported later */
		c->away = true;
	else if (c->fd < 0 || (c->running && c->spec.sampling && perf_enable(c->fd)))
		c->lost = true;
}

/* --- the page -------------------------------------------------------------------------------- */

/*
 * The owner reads the counter by itself if it can.  It cannot if the event is a clock: its ticks
 * are scaled.  A perf event's descriptor allows more than reading: hence spec.passes_fd.
 */
static enum wire_how cpu_event_how(const struct count *c)
{
	return c->spec.passes_fd && !c->spec.sampling && c->fd >= 0 && !count_state_scales(c) &&
	       !c->spec.event.breakpoint ?
		WIRE_HOW_EVENTS : WIRE_HOW_ASK;
}

void cpu_event_fill(struct count *c, struct wire_page_pmc *p)
{
	if (p->how == WIRE_HOW_EVENTS)
		p->base += c->raw - c->start;
	else if (p->how == WIRE_HOW_VALUE)
		p->base += count_state_scale(c, c->raw);
}

unsigned int cpu_event_fds(const struct count *c, int *fds, unsigned int max)
{
	if (!max || c->backend->how(c) != WIRE_HOW_EVENTS)
		return 0;
	fds[0] = c->fd;
	return 1;
}

const struct backend backend_cpu_event = {
	.name = "CPU event", .start = cpu_event_start, .stop = cpu_event_stop,
	.read = cpu_event_read, .gauge = cpu_event_gauge, .cpu_moved = cpu_event_moved,
	.how_stopped = WIRE_HOW_VALUE, .how = cpu_event_how, .fill = cpu_event_fill,
	.fds = cpu_event_fds,
};
