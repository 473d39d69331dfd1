// SPDX-License-Identifier: GPL-2.0
/*
 * Two PMUs for tests, whose counts the test decides: each event counts what is written to the
 * parameter "hits", multiplied by its number.
 *
 * fake_uncore has three counters and the cpumask 0; fake_kind has two, and the CPUs 1 as "cpus", as
 * a PMU of one kind of CPUs has.  With the parameter "kinds" there are cpu_core on CPU 0 and
 * cpu_atom on CPU 1 as well, as on a machine with two kinds of CPUs; their event "busy" has two
 * numbers.
 */
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/version.h>

#define EVENTS 4u

static atomic64_t hits;

struct fake {
	struct pmu pmu;
	unsigned int cpu, counters, used;	/* used: under the CPU's context lock */
};

static int hits_set(const char *text, const struct kernel_param *param)
{
	u64 more;
	int err = kstrtou64(text, 0, &more);

	if (!err)
		atomic64_add((s64)more, &hits);
	return err;
}

static int hits_get(char *text, const struct kernel_param *param)
{
	return sprintf(text, "%lld\n", atomic64_read(&hits));
}

static const struct kernel_param_ops hits_ops = { .set = hits_set, .get = hits_get };
module_param_cb(hits, &hits_ops, NULL, 0644);

static bool kinds;
module_param(kinds, bool, 0444);

static struct fake *fake_of(struct perf_event *event)
{
	return container_of(event->pmu, struct fake, pmu);
}

static u64 fake_now(struct perf_event *event)
{
	u64 number = event->attr.config & 0xff, more = event->attr.config1 & 0xffff;

	return (u64)atomic64_read(&hits) * (number + more);
}

/* Of the CPUs' cores: it counts for tasks, too. */
static bool fake_is_core(const struct perf_event *event)
{
	return event->pmu->capabilities & PERF_PMU_CAP_EXTENDED_HW_TYPE;
}

static int fake_event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type &&
	    !(event->attr.type == PERF_TYPE_HARDWARE && fake_is_core(event)))
		return -ENOENT;
	if (is_sampling_event(event))
		return -EOPNOTSUPP;
	if (!fake_is_core(event) && (event->attach_state & PERF_ATTACH_TASK || event->cpu < 0))
		return -EINVAL;
	if ((event->attr.config & 0xff) > EVENTS || event->attr.config >> 8)
		return -EINVAL;
	if (fake_is_core(event))
		return event->cpu < 0 || event->cpu == (int)fake_of(event)->cpu ? 0 : -ENOENT;
	/* As drivers of the uncore do. */
	event->cpu = (int)fake_of(event)->cpu;
	return 0;
}

static void fake_read(struct perf_event *event)
{
	u64 now = fake_now(event);

	local64_add((s64)(now - (u64)local64_read(&event->hw.prev_count)), &event->count);
	local64_set(&event->hw.prev_count, (s64)now);
}

static void fake_start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, (s64)fake_now(event));
	event->hw.state = 0;
}

static void fake_stop(struct perf_event *event, int flags)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		fake_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int fake_add(struct perf_event *event, int flags)
{
	struct fake *fake = fake_of(event);

	if (fake->used == fake->counters || smp_processor_id() != fake->cpu)
		return -EAGAIN;
	fake->used++;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		fake_start(event, 0);
	return 0;
}

static void fake_del(struct perf_event *event, int flags)
{
	fake_stop(event, PERF_EF_UPDATE);
	fake_of(event)->used--;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
/* True: a thread's event has to wait, because the CPU is of another kind. */
static bool fake_filter(struct pmu *pmu, int cpu)
{
	return cpu != (int)container_of(pmu, struct fake, pmu)->cpu;
}
#define FAKE_FILTER .filter = fake_filter,
#else
#define FAKE_FILTER
#endif

/* --- sysfs ----------------------------------------------------------------------------------- */

#define FAKE_TEXT(id, file, text)							\
	static ssize_t id##_show(struct device *dev, struct device_attribute *a, char *buf)	\
	{										\
		return sysfs_emit(buf, text "\n");					\
	}										\
	static struct device_attribute id = { .attr = { .name = file, .mode = 0444 },	\
					      .show = id##_show }

FAKE_TEXT(fake_cpumask, "cpumask", "0");
FAKE_TEXT(fake_cpus, "cpus", "1");
FAKE_TEXT(fake_format_event, "event", "config:0-7");
FAKE_TEXT(fake_format_more, "more", "config1:0-15");
FAKE_TEXT(fake_format_far, "far", "config3:0-15");
FAKE_TEXT(fake_reads, "reads", "event=0x01");
FAKE_TEXT(fake_reads_unit, "reads.unit", "MiB");
FAKE_TEXT(fake_reads_scale, "reads.scale", "6.103515625e-5");
FAKE_TEXT(fake_writes, "writes", "event=0x02");
FAKE_TEXT(fake_any, "any", "event=?");
FAKE_TEXT(fake_only, "only", "event=0x03");
FAKE_TEXT(fake_core_cpus, "cpus", "0");
FAKE_TEXT(fake_core_busy, "busy", "event=0x01");
FAKE_TEXT(fake_atom_busy, "busy", "event=0x03");

static struct attribute *format[] = {
	&fake_format_event.attr, &fake_format_more.attr, &fake_format_far.attr, NULL
};
static struct attribute *events[] = {
	&fake_reads.attr, &fake_reads_unit.attr, &fake_reads_scale.attr, &fake_writes.attr,
	&fake_any.attr, NULL
};
static struct attribute *kind_events[] = { &fake_writes.attr, &fake_only.attr, NULL };
static struct attribute *core_events[] = { &fake_core_busy.attr, NULL };
static struct attribute *atom_events[] = { &fake_atom_busy.attr, NULL };
static struct attribute *core_cpus[] = { &fake_core_cpus.attr, NULL };
static struct attribute *mask[] = { &fake_cpumask.attr, NULL };
static struct attribute *cpus[] = { &fake_cpus.attr, NULL };
static const struct attribute_group format_group = { .name = "format", .attrs = format };
static const struct attribute_group events_group = { .name = "events", .attrs = events };
static const struct attribute_group kind_group = { .name = "events", .attrs = kind_events };
static const struct attribute_group mask_group = { .attrs = mask };
static const struct attribute_group cpus_group = { .attrs = cpus };
static const struct attribute_group core_group = { .name = "events", .attrs = core_events };
static const struct attribute_group atom_group = { .name = "events", .attrs = atom_events };
static const struct attribute_group core_cpus_group = { .attrs = core_cpus };
static const struct attribute_group *core_groups[] = {
	&format_group, &core_group, &core_cpus_group, NULL
};
static const struct attribute_group *atom_groups[] = {
	&format_group, &atom_group, &cpus_group, NULL
};
static const struct attribute_group *uncore_groups[] = {
	&format_group, &events_group, &mask_group, NULL
};
static const struct attribute_group *kind_groups[] = {
	&format_group, &kind_group, &cpus_group, NULL
};

#define FAKE_PMU(groups, context, more)								\
	{ .module = THIS_MODULE, .attr_groups = groups, .task_ctx_nr = context,	\
	  .capabilities = PERF_PMU_CAP_NO_INTERRUPT | PERF_PMU_CAP_NO_EXCLUDE | (more),		\
	  FAKE_FILTER .event_init = fake_event_init, .add = fake_add, .del = fake_del,		\
	  .start = fake_start, .stop = fake_stop, .read = fake_read }

static struct fake fakes[] = {
	{ .pmu = FAKE_PMU(uncore_groups, perf_invalid_context, 0), .cpu = 0, .counters = 3 },
	{ .pmu = FAKE_PMU(kind_groups, perf_invalid_context, 0), .cpu = 1, .counters = 2 },
	{ .pmu = FAKE_PMU(core_groups, perf_hw_context, PERF_PMU_CAP_EXTENDED_HW_TYPE),
	  .cpu = 0, .counters = 2 },
	{ .pmu = FAKE_PMU(atom_groups, perf_hw_context, PERF_PMU_CAP_EXTENDED_HW_TYPE),
	  .cpu = 1, .counters = 3 },
};
static const char *const names[] = { "fake_uncore", "fake_kind", "cpu_core", "cpu_atom" };
static unsigned int registered;

static void fake_exit(void)
{
	while (registered)
		perf_pmu_unregister(&fakes[--registered].pmu);
}

static int __init fake_init(void)
{
	unsigned int n = kinds ? ARRAY_SIZE(fakes) : 2;
	int err = 0;

	while (registered < n && !err) {
		err = perf_pmu_register(&fakes[registered].pmu, names[registered], -1);
		registered += !err;
	}
	if (err)
		fake_exit();
	return err;
}

module_init(fake_init);
module_exit(fake_exit);
MODULE_DESCRIPTION("PMUs for the tests of pmcbpf");
MODULE_LICENSE("GPL");
