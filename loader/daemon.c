/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets up the tables: the classes and their rows, in hwpmc's order. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sys/pmc.h>

#include "daemon.h"
#include "loader/ktr/ktr.h"
#include "loader/pmc/lifetime.h"
#include "loader/kernel/programs.h"
#include "loader/server/raise.h"
#include "loader/count/target.h"
#include "loader/pmc/sample_log.h"

#define CAPS_SOFT \
	(PMC_CAP_INTERRUPT | PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_USER | PMC_CAP_SYSTEM)
#define CAPS_TSC      PMC_CAP_READ
#define CAPS_MSR      (PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_QUALIFIER)
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
	/* One is left for registers. */
	int n = perf_discover(pmus, WIRE_CLASS_MAX - 1 - d->rows.nclass, why), err = 0;

	for (int i = 0; i < n && !err; i++) {
		struct row_class class = {
			.kind = COUNT_HARDWARE, .numbered = true,
			.everywhere = pmus[i].everywhere,
			.info = { .class = pmus[i].class, .caps = CAPS_HARDWARE,
				  .width = pmus[i].width, .num = pmus[i].rows,
				  .perf_type = pmus[i].type },
		};

		DEBUG(&d->debug, MD, INIT, "%s: PMU %s has %u counters of %u bits", pmus[i].prefix,
		      pmus[i].name, pmus[i].rows, pmus[i].width);
		memcpy(class.prefix, pmus[i].prefix, sizeof(class.prefix));
		memcpy(class.info.pmu, pmus[i].name, sizeof(class.info.pmu));
		err = row_add_class(&d->rows, &class, why);
	}
	return n < 0 ? n : err;
}

/* The module may be open now, or not any more. */
static int load_msr(struct daemon *d, struct why *why)
{
	int err = msr_load(&d->msr, d->config.msr_list, &d->cpu, why);

	engine_msr_from(d->engine, d->msr.dev);
	return err;
}

static int add_msr(struct daemon *d, struct why *why)
{
	struct row_class class = {
		.kind = COUNT_MSR, .prefix = "MSR", .name = d->msr.name,
		.info = { .class = PMC_CLASS_MSR, .caps = CAPS_MSR, .width = 64, .perf_type = ~0u },
	};

	if (d->msr.dev_err && d->msr.dev_err != -ENOENT)
		log_msg(&d->log, LOG_WARNING, "%s", d->msr.no_dev.text);
	d->msr.kfunc = engine_reads_msr(d->engine);
	d->msr.no_kfunc = engine_no_msr(d->engine);
	if (d->msr.dev && !d->msr.kfunc)
		log_msg(&d->log, LOG_WARNING, "registers are counted for CPUs only: %s",
			d->msr.no_kfunc);
	msr_discover(&d->msr, &d->cpu, &d->debug);
	class.info.num = d->msr.n;
	return class.info.num ? row_add_class(&d->rows, &class, why) : 0;
}

/*
 * What the programs have room for, and descriptors: server.c knows how many there are.  Rows of
 * hardware counters take sources, too, one each.
 */
static void size_pools(struct daemon *d)
{
	unsigned int hardware = 0;

	for (unsigned int i = 0; i < d->rows.nclass; i++)
		if (d->rows.classes[i].kind == COUNT_HARDWARE)
			hardware += d->rows.classes[i].info.num;
	if (hardware > ABI_SOURCE_MSR / 2)
		hardware = ABI_SOURCE_MSR / 2;
	user_pool(&d->users, POOL_SOURCES, ABI_SOURCE_MSR - hardware);
	user_pool(&d->users, POOL_REGISTERS, ABI_MSR_SOURCES);
	user_pool(&d->users, POOL_SETS, TARGET_SETS);
	user_pool(&d->users, POOL_TARGETS, ABI_MAX_TARGETS);
	user_pool(&d->users, POOL_SHARES, ABI_MAX_SHARES);
	user_pool(&d->users, POOL_SAMPLERS, ABI_SAMPLERS);
}

/* What cannot be leaves the presets. */
static int begin_ktr(struct daemon *d, struct why *why)
{
	struct config preset;
	int err = ktr_new(&d->ktr, d->rows.ncpu, why);

	config_init(&preset);
	err = err ?: ktr_configure(d->ktr, &preset.ktr, why);
	return err ?: ktr_configure(d->ktr, &d->config.ktr, why);
}

int daemon_init(struct daemon *d, struct why *why)
{
	struct stat st;
	int err;

	d->read_cred = policy_read_cred;
	d->read_identity = identity_read;
	d->read_label = policy_read_label;
	d->may_debug = access_debug;
	d->debug.log = &d->log;
	user_table_init(&d->users, &d->config);
	watchdog_init(&d->watchdog);
	memcpy(d->debug.on, d->config.debug, sizeof(d->debug.on));
	d->raise = raise_signal;
	if (stat("/proc/self/ns/pid", &st))
		return deny(why, -errno, "/proc/self/ns/pid: %m (is /proc mounted?)");
	d->pid_ns = st.st_ino;
	cpu_identify(&d->cpu);
	err = row_table_init(&d->rows, perf_ncpu(), why);
	d->rows.debug = &d->debug;
	if (!err)
		err = row_add_class(&d->rows, &class_soft, why);
	if (!err && d->cpu.tsc)
		err = row_add_class(&d->rows, &class_tsc, why);
	if (!err)
		err = add_hardware(d, why);
	if (!err)
		err = load_msr(d, why);
	if (!err)
		err = add_msr(d, why);
	if (!err && owner_table_init(&d->owners, (unsigned int)d->config.value[TUN_HASHSIZE],
				    &d->debug))
		err = deny(why, -ENOMEM, "no memory for kern.hwpmc.hashsize=%d; set it lower",
			   d->config.value[TUN_HASHSIZE]);
	if (!err) {
		struct logpool_config logs = {
			.buffers = (unsigned int)d->config.value[TUN_NBUFFERS],
			.size = (unsigned int)d->config.value[TUN_LOGBUFFERSIZE] * 1024,
			.users = &d->users,
			.log = &d->log,
		};

		err = logpool_new(&d->logs, &logs, &d->log_event, why);
	}
	if (!err) {
		struct samplers_config rings = {
			.ncpu = d->rows.ncpu,
			.nsamples = (unsigned int)d->config.value[TUN_NSAMPLES],
			.depth = &d->config.value[TUN_CALLCHAINDEPTH],
			.level = programs_nested(engine_programs(d->engine)),
		};

		err = lifelog_new(d->engine, &d->errands, &d->life, why);
		if (!err) {
			d->kgmon = kgmon_new();
			err = d->kgmon ? 0 : deny(why, -ENOMEM, "no memory for a profile");
		}
		if (!err)
			err = trace_new(&d->trace, &rings, d->engine, d->life, d->kgmon, why);
	}
	size_pools(d);
	if (!err)
		err = begin_ktr(d, why);
	return err ? err : alive_new(&d->alive, why);
}

void daemon_free(struct daemon *d)
{
	alive_free(d->alive);
	ktr_free(d->ktr);
	owner_table_free(&d->owners);
	trace_free(d->trace);
	kgmon_free(d->kgmon);
	lifelog_free(d->life);
	logpool_free(d->logs);
	row_table_free(&d->rows);
	engine_free(d->engine);
	msr_free(&d->msr);
	errands_free(&d->errands);
}

int daemon_rediscover(struct daemon *d, struct why *why)
{
	struct why list;
	int err;

	DEBUG(&d->debug, MODULE, INIT, "looking for counters again");
	if (row_drop_discovered(&d->rows))
		return deny(why, -EBUSY,
			    "hardware rows or registers are in use: their lists stay as they are; "
			    "send SIGHUP again once they are free");
	if (load_msr(d, &list))
		log_msg(&d->log, LOG_ERR, "%s; the list of registers stays as it was", list.text);
	err = add_hardware(d, why) ?: add_msr(d, why);
	size_pools(d);
	return err;
}

/* All of them at once.  Done by another thread: daemon_ktr_done(). */
static int configure_ktr(struct daemon *d, const struct ktr_conf *conf, struct why *why)
{
	int err = ktr_configure(d->ktr, conf, why);

	if (!err)
		d->config.ktr = *conf;
	return err;
}

int daemon_reread(struct daemon *d, struct why *why)
{
	struct config fresh;
	char value[WIRE_TUNABLE_MAX];
	int err = d->reread ? d->reread(d->reread_arg, &fresh, why) : 0;

	for (unsigned int t = 0; d->reread && !err && t < TUNABLES; t++) {
		if (!config_writable(t) || config_ktr(t))
			continue;
		config_value(&fresh, t, value, sizeof(value));
		err = daemon_set(d, config_name(t), value, why);
	}
	return err || !d->reread ? err : configure_ktr(d, &fresh.ktr, why);
}

static int set_ktr(struct daemon *d, const char *name, const char *value, struct why *why)
{
	struct config with = d->config;
	int err = config_set(&with, name, value, why);

	return err ?: configure_ktr(d, &with.ktr, why);
}

int daemon_set(struct daemon *d, const char *name, const char *value, struct why *why)
{
	int t = config_find(name, why), err;

	if (t < 0)
		return t;
	if (!config_writable(t))
		return deny(why, -EPERM, "%s holds from start to end; write %s=\"%.40s\" to %s and "
			    "start pmcbpfd anew", name, name, value, d->config_file);
	if (config_ktr(t))
		return set_ktr(d, name, value, why);
	err = config_change(&d->config, name, value, why);
	memcpy(d->debug.on, d->config.debug, sizeof(d->debug.on));
	return err;
}

void daemon_ktr_done(struct daemon *d)
{
	struct why note, why;
	int err;

	ktr_seen(d->ktr, &note);
	if (note.text[0])
		log_msg(&d->log, LOG_WARNING, "%s", note.text);
	err = ktr_result(d->ktr, ktr_ticket(d->ktr), &why);
	if (err < 0) {
		log_msg(&d->log, LOG_ERR, "%s", why.text);
		ktr_now(d->ktr, &d->config.ktr);
	}
}

uint32_t daemon_cputype(const struct daemon *d)
{
	for (unsigned int i = 0; i < d->rows.nclass; i++)
		if (d->rows.classes[i].kind == COUNT_HARDWARE)
			return d->cpu.type;
	return PMC_CPU_GENERIC;
}

const char *daemon_class_name(uint32_t class)
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

		snprintf(text, sizeof(text), "%s%s/%u/%u/0x%x", i ? " " : "",
			 daemon_class_name(c->class), c->num, c->width, c->caps);
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
