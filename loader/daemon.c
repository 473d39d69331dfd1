/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets up the tables: the classes and their rows, in hwpmc's order. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sys/pmc.h>

#include "daemon.h"

/* No class offers INTERRUPT: this version counts only. */
#define CAPS_SOFT     (PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_USER | PMC_CAP_SYSTEM)
#define CAPS_TSC      PMC_CAP_READ
#define CAPS_HARDWARE \
	(CAPS_SOFT | PMC_CAP_EDGE | PMC_CAP_THRESHOLD | PMC_CAP_INVERT | PMC_CAP_QUALIFIER)

static const struct row_class class_soft = {
	.kind = COUNT_SOFT, .prefix = "SOFT", .numbered = true,
	.info = { .class = PMC_CLASS_SOFT, .caps = CAPS_SOFT, .width = 64, .num = SOFT_ROWS,
		  .perf_type = ~0u },
};
static const struct row_class class_tsc = {
	.kind = COUNT_TSC,
	.prefix = "TSC",
	.info = { .class = PMC_CLASS_TSC,
		  .caps = CAPS_TSC,
		  .width = 64,
		  .num = 1,
		  .perf_type = ~0u },
};

static int add_hardware(struct daemon *d, struct why *why)
{
	struct perf_pmu pmus[WIRE_CLASS_MAX];
	int n = perf_discover(pmus, WIRE_CLASS_MAX - d->rows.nclass, why), err = 0;

	for (int i = 0; i < n && !err; i++) {
		struct row_class class = {
			.kind = COUNT_HARDWARE, .numbered = true,
			.info = { .class = pmus[i].class, .caps = CAPS_HARDWARE,
				  .width = pmus[i].width, .num = pmus[i].rows,
				  .perf_type = pmus[i].type },
		};

		memcpy(class.prefix, pmus[i].prefix, sizeof(class.prefix));
		memcpy(class.info.pmu, pmus[i].name, sizeof(class.info.pmu));
		err = row_add_class(&d->rows, &class, why);
	}
	return n < 0 ? n : err;
}

int daemon_init(struct daemon *d, struct why *why)
{
	struct stat st;
	int err;

	d->read_cred = policy_read_cred;
	if (stat("/proc/self/ns/pid", &st))
		return deny(why, -errno, "/proc/self/ns/pid: %m (is /proc mounted?)");
	d->pid_ns = st.st_ino;
	cpu_identify(&d->cpu);
	err = row_table_init(&d->rows, perf_ncpu(), why);
	if (!err)
		err = row_add_class(&d->rows, &class_soft, why);
	if (!err && d->cpu.tsc)
		err = row_add_class(&d->rows, &class_tsc, why);
	if (!err)
		err = add_hardware(d, why);
	if (!err && owner_table_init(&d->owners, (unsigned int)d->config.value[TUN_HASHSIZE]))
		err = deny(why, -ENOMEM, "no memory for kern.hwpmc.hashsize=%d; set it lower",
			   d->config.value[TUN_HASHSIZE]);
	return err ? err : alive_new(&d->alive, why);
}

void daemon_free(struct daemon *d)
{
	alive_free(d->alive);
	owner_table_free(&d->owners);
	row_table_free(&d->rows);
	engine_free(d->engine);
}

int daemon_rediscover(struct daemon *d, struct why *why)
{
	if (row_drop_hardware(&d->rows))
		return deny(why, -EBUSY,
			    "hardware rows are in use: their list stays as it is; send "
			    "SIGHUP again once they are free");
	return add_hardware(d, why);
}

int daemon_reread(struct daemon *d, struct why *why)
{
	static const enum tunable writable[] = { TUN_SYSPMCS, TUN_PROC_DEBUG };
	struct config fresh;
	int err = d->reread ? d->reread(d->reread_arg, &fresh, why) : 0;

	for (unsigned int i = 0; d->reread && !err && i < sizeof(writable) / sizeof(writable[0]);
	     i++)
		d->config.value[writable[i]] = fresh.value[writable[i]];
	return err;
}

static const char *class_name(uint32_t class)
{
#define PMC__X(name, value) { #name, value },
	static const struct {
		const char *name;
		uint32_t value;
	} names[] = { PMC__CLASSES(PMC__X) };
#undef PMC__X

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].value == class)
			return names[i].name;
	return "?";
}

static size_t append(char *buf, size_t size, size_t used, const char *text)
{
	int n = used < size ? snprintf(buf + used, size - used, "%s", text) : 0;

	return used + (size_t)n;
}

void daemon_announcement(const struct daemon *d, char *buf, size_t size)
{
	static const char *const caps[] = { "INT", "USR", "SYS", "EDG", "THR", "REA",
					    "WRI", "INV", "QUA", "PRC", "TAG", "CSC" };
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < d->rows.nclass; i++) {
		const struct wire_classinfo *c = &d->rows.classes[i].info;
		const char *sep = "<";
		char text[64];

		snprintf(text, sizeof(text), "%s%s/%u/%u/0x%x", i ? " " : "", class_name(c->class),
			 c->num, c->width, c->caps);
		used = append(buf, size, used, text);
		for (unsigned int bit = 0; bit < sizeof(caps) / sizeof(caps[0]); bit++)
			if (c->caps >> bit & 1) {
				snprintf(text, sizeof(text), "%s%s", sep, caps[bit]);
				used = append(buf, size, used, text);
				sep = ",";
			}
		used = append(buf, size, used, ">");
	}
}
