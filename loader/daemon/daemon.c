/* SPDX-License-Identifier: BSD-2-Clause */
/* See daemon.h; classes and their rows are in hwpmc's order. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <sys/pmc.h>

#include "daemon.h"
#include "loader/base/base.h"
#include "loader/ktr/ktr.h"
#include "loader/pmc/lifetime.h"
#include "loader/kernel/kernel.h"
#include "raise.h"
#include "loader/tables/tables.h"
#include "loader/count/target.h"
#include "loader/pmc/sample_log.h"

/* Also updates the engine's device, which msr_load() may open or close. */
static int daemon_load_msr(struct daemon *d, struct reason *why)
{
	int err = msr_load(&d->msr, d->config.msr_list, &d->cpu, why);

	d->engine->msrdev = d->msr.dev;
	return err;
}

struct class_machine daemon_machine(struct daemon *d)
{
	return (struct class_machine){
		.engine = d->engine, .cpu = &d->cpu, .msr = &d->msr, .debug = &d->debug,
		.messages = &d->messages,
	};
}

/* Adds the rows of all classes, or of those that are discovered again. */
static int daemon_add_rows(struct daemon *d, bool again, struct reason *why)
{
	const struct class_machine m = daemon_machine(d);
	int err = 0;

	for (unsigned int i = 0; !err && classes[i]; i++)
		if (!again || classes[i]->rediscovered)
			err = classes[i]->add_rows(&d->rows, &m, why);
	return err;
}

/*
 * Pools limited by the programs' maps; server.c sizes those limited by descriptors.  Each row of
 * hardware counters or breakpoints takes a source, too.
 */
static void daemon_size_pools(struct daemon *d)
{
	unsigned int hardware = 0;

	for (unsigned int i = 0; i < d->rows.nclass; i++)
		if (d->rows.classes[i].ops->counters || d->rows.classes[i].ops->sources)
			hardware += d->rows.classes[i].info.num;
	if (hardware > ABI_SOURCE_MSR / 2)
		hardware = ABI_SOURCE_MSR / 2;
	user_pool(&d->users, POOL_SOURCES, ABI_SOURCE_MSR - hardware);
	user_pool(&d->users, POOL_TRACEPOINTS, ABI_TRACEPOINTS);
	user_pool(&d->users, POOL_REGISTERS, ABI_MSR_SOURCES);
	user_pool(&d->users, POOL_CGROUPS, ABI_CGROUP_PMCS);
	user_pool(&d->users, POOL_THREADS, ABI_MAX_ALONE);
	user_pool(&d->users, POOL_SETS, TARGET_SETS);
	user_pool(&d->users, POOL_TARGETS, ABI_MAX_TARGETS);
	user_pool(&d->users, POOL_SHARES, ABI_MAX_SHARES);
	user_pool(&d->users, POOL_SAMPLERS, ABI_SAMPLERS);
}

/* Begins with the presets, which stay if the configuration fails. */
static int daemon_begin_ktr(struct daemon *d, struct reason *why)
{
	struct config preset;
	int err = ktr_new(&d->ktr, d->rows.ncpu, why);

	config_init(&preset);
	err = err ?: ktr_configure(d->ktr, &preset.ktr, why);
	return err ?: ktr_configure(d->ktr, &d->config.ktr, why);
}

int daemon_init(struct daemon *d, struct reason *why)
{
	struct stat st;
	int err;

	d->read_cred = policy_read_cred;
	d->read_identity = identity_read;
	d->read_label = policy_read_label;
	d->may_debug = access_debug;
	d->debug.messages = &d->messages;
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
		err = count_init(d->engine);
	if (!err)
		err = daemon_load_msr(d, why);
	if (!err)
		err = daemon_read_rules(d, &d->site, why);
	if (!err)
		err = daemon_add_rows(d, false, why);
	if (!err && owner_table_init(&d->owners, (unsigned int)d->config.value[TUN_HASHSIZE],
				    &d->debug))
		err = deny(why, -ENOMEM, "no memory for kern.hwpmc.hashsize=%d; set it lower",
			   d->config.value[TUN_HASHSIZE]);
	if (!err) {
		struct logpool_config logs = {
			.buffers = (unsigned int)d->config.value[TUN_NBUFFERS],
			.size = (unsigned int)d->config.value[TUN_LOGBUFFERSIZE] * 1024,
			.users = &d->users,
			.messages = &d->messages,
			.engine = d->engine,
		};

		err = logpool_new(&d->logs, &logs, &d->log_event, why);
	}
	if (!err) {
		struct samplers_config rings = {
			.ncpu = d->rows.ncpu,
			.nsamples = (unsigned int)d->config.value[TUN_NSAMPLES],
			.depth = &d->config.value[TUN_CALLCHAINDEPTH],
			.unwind = &d->config.value[TUN_UNWIND],
			.level = programs_nested(d->engine->programs),
		};

		err = lifetime_new(d->engine, &d->errands, &d->life, why);
		if (!err) {
			d->kgmon = kgmon_new();
			err = d->kgmon ? 0 : deny(why, -ENOMEM, "no memory for a profile");
		}
		if (!err)
			err = tables_new(d->engine, &d->errands,
					 (unsigned int)d->config.value[TUN_UNWIND_MEMORY],
					 &d->tables, why);
		if (!err)
			err = sample_log_new(&d->samples, &rings, d->engine, d->life, d->kgmon,
					     why);
	}
	daemon_size_pools(d);
	if (!err)
		err = daemon_begin_ktr(d, why);
	return err ? err : heartbeat_new(&d->heartbeat, why);
}

void daemon_free(struct daemon *d)
{
	heartbeat_free(d->heartbeat);
	ktr_free(d->ktr);
	owner_table_free(&d->owners);
	sample_log_free(d->samples);
	tables_stop(d->tables);
	kgmon_free(d->kgmon);
	lifetime_free(d->life);
	logpool_free(d->logs);
	row_table_free(&d->rows);
	count_fini(d->engine);
	engine_free(d->engine);
	msr_free(&d->msr);
	site_free(d->site);
	errands_free(&d->errands);
	tables_free(d->tables);
}

int daemon_rediscover(struct daemon *d, struct reason *why)
{
	struct reason list;
	int err;

	DEBUG(&d->debug, MODULE, INIT, "looking for counters again");
	if (row_drop_discovered(&d->rows))
		return deny(why, -EBUSY,
			    "hardware rows or registers are in use: their lists stay as they are; "
			    "send SIGHUP again once they are free");
	if (daemon_load_msr(d, &list))
		messages_put(&d->messages, LOG_ERR, "%s; the list of registers stays as it was",
			     list.text);
	err = daemon_add_rows(d, true, why);
	daemon_size_pools(d);
	return err;
}

/* Another thread makes the change: daemon_ktr_done() gets the result. */
static int daemon_configure_ktr(struct daemon *d, const struct ktr_conf *conf, struct reason *why)
{
	int err = ktr_configure(d->ktr, conf, why);

	if (!err)
		d->config.ktr = *conf;
	return err;
}

int daemon_reread(struct daemon *d, struct reason *why)
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
	return err || !d->reread ? err : daemon_configure_ktr(d, &fresh.ktr, why);
}

static int daemon_set_ktr(struct daemon *d, const char *name, const char *value, struct reason *why)
{
	struct config with = d->config;
	int err = config_set(&with, name, value, why);

	return err ?: daemon_configure_ktr(d, &with.ktr, why);
}

int daemon_set(struct daemon *d, const char *name, const char *value, struct reason *why)
{
	int t = config_find(name, why), err;

	if (t < 0)
		return t;
	if (!config_writable(t))
		return deny(why, -EPERM, "%s holds from start to end; write %s=\"%.40s\" to %s and "
			    "start pmcbpfd anew", name, name, value, d->config_file);
	if (config_ktr(t))
		return daemon_set_ktr(d, name, value, why);
	err = config_change(&d->config, name, value, why);
	memcpy(d->debug.on, d->config.debug, sizeof(d->debug.on));
	return err;
}

void daemon_ktr_done(struct daemon *d)
{
	struct reason note, why;
	int err;

	ktr_seen(d->ktr, &note);
	if (note.text[0])
		messages_put(&d->messages, LOG_WARNING, "%s", note.text);
	err = ktr_result(d->ktr, ktr_ticket(d->ktr), &why);
	if (err < 0) {
		messages_put(&d->messages, LOG_ERR, "%s", why.text);
		ktr_now(d->ktr, &d->config.ktr);
	}
}

uint32_t daemon_cputype(const struct daemon *d)
{
	for (unsigned int i = 0; i < d->rows.nclass; i++)
		if (d->rows.classes[i].ops->counters)
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

void daemon_announcement(const struct daemon *d, char *buf, size_t size)
{
	static const char *const caps[] = { "INT", "USR", "SYS", "EDG", "THR", "REA",
					    "WRI", "INV", "QUA", "PRC", "TAG", "CSC" };
	struct text t = text_begin(buf, size);

	for (unsigned int i = 0; i < d->rows.nclass; i++) {
		const struct wire_classinfo *c = &d->rows.classes[i].info;
		const char *sep = "<";

		text_add(&t, "%s%s/%u/%u/0x%x", i ? " " : "", daemon_class_name(c->class), c->num,
			 c->width, c->caps);
		for (unsigned int bit = 0; bit < sizeof(caps) / sizeof(caps[0]); bit++)
			if (c->caps >> bit & 1) {
				text_add(&t, "%s%s", sep, caps[bit]);
				sep = ",";
			}
		text_add(&t, ">");
	}
}
