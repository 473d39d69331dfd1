/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers that have rows, each read by the module or counted by a perf event. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/pmc.h>

#include "loader/base/base.h"
#include "msr.h"
#include "msrdev.h"

#define UNIT_INTEL 0x606u		/* RAPL_POWER_UNIT: bits 8 to 12, joules as 2^-n */
#define UNIT_AMD   0xc0010299u

/* Registers that perf counts. */
static const struct fixed {
	const char *name, *pmu, *event;
	bool admin;
	bool moves;	/* a value of 0 means that a hypervisor lacks it */
} fixed[MSR_FIXED] = {
	{ "TSC", "msr", "tsc", false, true },
	{ "APERF", "msr", "aperf", true, true },
	{ "MPERF", "msr", "mperf", true, true },
	{ "PPERF", "msr", "pperf", true, true },
	{ "IRPERF", "msr", "irperf", true, true },
	{ "SMI", "msr", "smi", false, false },
	{ "ENERGY.PKG", "power", "energy-pkg", true, true },
	{ "ENERGY.CORES", "power", "energy-cores", true, true },
	{ "ENERGY.GPU", "power", "energy-gpu", true, true },
	{ "ENERGY.RAM", "power", "energy-ram", true, true },
	{ "ENERGY.PSYS", "power", "energy-psys", true, true },
	{ "ENERGY.CORE", "power_core", "energy-core", true, true },
};

enum msr_vendor msr_vendor(const struct cpu *cpu)
{
#ifdef __aarch64__
	return MSR_ARM64;
#else
	if (!strncmp(cpu->id, "GenuineIntel", 12))
		return MSR_INTEL;
	return !strncmp(cpu->id, "AuthenticAMD", 12) || !strncmp(cpu->id, "HygonGenuine", 12) ?
		MSR_AMD : MSR_OTHER;
#endif
}

static const struct fixed *msr_fixed_find(const char *name)
{
	for (unsigned int i = 0; i < MSR_FIXED; i++)
		if (!strcasecmp(fixed[i].name, name))
			return &fixed[i];
	return NULL;
}

static unsigned int msr_any_cpu(void)
{
	unsigned int cpu = 0;

	while (!perf_cpu_online(cpu) && cpu + 1 < perf_ncpu())
		cpu++;
	return cpu;
}

/* --- the list and the module ----------------------------------------------------------------- */

int msr_load(struct msrs *m, const char *file, const struct cpu *cpu, struct reason *why)
{
	struct msrlist list = { .n = 0 };
	int err = msrlist_read(file, msr_vendor(cpu), &list, why);

	if (err && (err != -ENOENT || strcmp(file, MSRLIST_FILE)))
		return err;
	m->list = list;
	snprintf(m->file, sizeof(m->file), "%s", file);
	m->dev_err = m->dev ? 0 : msrdev_open(&m->dev, &m->no_dev);
	if (!m->dev_err)
		m->dev_err = msrdev_allow(m->dev, &m->list, &m->no_dev);
	if (m->dev_err)
		msr_free(m);
	return 0;
}

void msr_free(struct msrs *m)
{
	msrdev_close(m->dev);
	m->dev = NULL;
}

/* --- registers of the module ----------------------------------------------------------------- */

/*
 * -ENOTSUP: the unit of energy is unknown.  Intel's register of units has the package's unit; by
 * their manuals, several servers use another unit for memory and platform.
 */
static int msr_energy_shift(const struct msrs *m, const char *name, const struct cpu *cpu,
			    unsigned int *shift)
{
	uint32_t reg = msr_vendor(cpu) == MSR_INTEL ? UNIT_INTEL : UNIT_AMD;
	uint64_t unit;

	if (!strcasecmp(name, "ENERGY.RAM") || !strcasecmp(name, "ENERGY.PSYS"))
		return -ENOTSUP;
	/* Silvermont Atoms use the unit register differently from the manual's general rule. */
	if (cpu->type == PMC_CPU_INTEL_ATOM_SILVERMONT || !msrlist_find(&m->list, reg) ||
	    msrdev_read(m->dev, reg, msr_any_cpu(), &unit) || !unit)
		return -ENOTSUP;
	*shift = 32 - (unit >> 8 & 31);
	return 0;
}

/* The reason if the module does not read it; NULL if it does. */
static const char *msr_probe(const struct msrs *m, const struct msr_row *r, const struct fixed *f,
			     const struct cpu *cpu)
{
	uint64_t value;
	int err;

	if (!m->dev)
		return "no module";
	if (!cpu->aperf && (!strcasecmp(r->name, "APERF") || !strcasecmp(r->name, "MPERF")))
		return "the CPU has none, by CPUID";
	err = msrdev_read(m->dev, r->reg, msr_any_cpu(), &value);
	if (err)
		return err == -EIO ? "it faults" : strerror(-err);
	return f && f->moves && !value ? "it reads 0: the hypervisor has none" : NULL;
}

static void msr_name_raw(struct msr_row *r)
{
	snprintf(r->name, sizeof(r->name), "0x%x", r->reg);
}

static void msr_add_listed(struct msrs *m, const struct msrlist_entry *e, const struct cpu *cpu,
			   const struct debug *debug)
{
	struct msr_row *r = &m->row[m->n];
	const struct fixed *f = msr_fixed_find(e->name);
	const char *missing;

	*r = (struct msr_row){
		.listed = true, .reg = e->reg, .mask = e->read,
		.admin = e->admin || (f && f->admin),
		.energy = !strncasecmp(e->name, "ENERGY.", 7),
	};
	if (*e->name)
		memcpy(r->name, e->name, sizeof(r->name));
	else
		msr_name_raw(r);
	r->admin |= r->energy;
	missing = msr_probe(m, r, f, cpu);
	r->module = !missing;
	if (missing) {
		DEBUG(debug, MD, INIT, "MSR-%s (0x%x): the module does not read it: %s", r->name,
		      r->reg, missing);
	} else if (r->energy && msr_energy_shift(m, r->name, cpu, &r->shift)) {
		DEBUG(debug, MD, INIT, "MSR-%s (0x%x): its unit is not known", r->name, r->reg);
		msr_name_raw(r);
	}
	m->n++;
}

/* --- registers of perf ----------------------------------------------------------------------- */

static void msr_add_fixed(struct msrs *m, const struct fixed *f, const struct debug *debug)
{
	struct perf_event_spec event;
	unsigned int i = 0;
	int err = perf_named_event(f->pmu, f->event, msr_any_cpu(), &event);

	if (err) {
		DEBUG(debug, MD, INIT, "MSR-%s: perf has no event %s/%s/: %s", f->name, f->pmu,
		      f->event, strerror(-err));
		return;
	}
	while (i < m->n && strcasecmp(m->row[i].name, f->name))
		i++;
	if (i == m->n) {
		m->row[m->n++] = (struct msr_row){
			.mask = ~0ull, .admin = f->admin, .energy = !strncmp(f->name, "ENERGY.", 7),
		};
		snprintf(m->row[i].name, sizeof(m->row[i].name), "%s", f->name);
	}
	m->row[i].perf = true;
	m->row[i].event = event;
}

void msr_discover(struct msrs *m, const struct cpu *cpu, const struct debug *debug)
{
	unsigned int n = 0;

	m->n = 0;
	for (unsigned int i = 0; i < m->list.n; i++)
		if (m->list.entry[i].read)	/* others only serve to select events */
			msr_add_listed(m, &m->list.entry[i], cpu, debug);
	for (unsigned int i = 0; i < MSR_FIXED; i++)
		msr_add_fixed(m, &fixed[i], debug);
	for (unsigned int i = 0; i < m->n; i++)
		if (m->row[i].module || m->row[i].perf)
			m->row[n++] = m->row[i];
	m->n = n;
	for (unsigned int i = 0; i < n; i++)
		m->name[i] = m->row[i].name;
}

/* --- a row ----------------------------------------------------------------------------------- */

int msr_find(const struct msrs *m, uint32_t reg)
{
	for (unsigned int i = 0; i < m->n; i++)
		if (m->row[i].listed && m->row[i].reg == reg)
			return (int)i;
	return -1;
}

enum provider { NOBODY, MODULE, PERF };

/* Energy is left to the power PMU if it counts it: that PMU knows this model's units. */
static enum provider msr_choose(const struct msrs *m, const struct msr_row *r, bool system,
				bool raw)
{
	bool perf = r->perf && !(raw && r->energy);

	if (!system && r->energy)
		return NOBODY;
	if (r->module && (system || m->kfunc) && !(perf && r->energy))
		return MODULE;
	return perf ? PERF : NOBODY;
}

int msr_provider(const struct msrs *m, const struct msr_row *r, bool system, bool raw,
		 struct perf_event_spec *event, struct reason *why)
{
	switch (msr_choose(m, r, system, raw)) {
	case MODULE:
		*event = (struct perf_event_spec){ .msr = true, .config = r->reg,
						   .config1 = r->mask };
		return 0;
	case PERF:
		*event = r->event;
		return 0;
	default:
		break;
	}
	if (!system && r->energy)
		return deny(why, -EOPNOTSUPP, "MSR-%s is the package's, not a process's; count it "
			    "in system scope", r->name);
	if (!m->dev)
		return deny(why, -EOPNOTSUPP, "no reader for MSR-%s: %.300s", r->name,
			    m->no_dev.text);
	if (!r->module)
		return deny(why, -EOPNOTSUPP, "MSR-%s: this CPU lacks the register 0x%x", r->name,
			    r->reg);
	return deny(why, -EOPNOTSUPP, "MSR-%s is counted for CPUs only: %.350s", r->name,
		    m->no_kfunc);
}

uint32_t msr_flags(const struct msrs *m, const struct msr_row *r)
{
	static const uint32_t system[] = { 0, WIRE_MSR_SYSTEM_MODULE, WIRE_MSR_SYSTEM_PERF };
	static const uint32_t process[] = { 0, WIRE_MSR_PROCESS_MODULE, WIRE_MSR_PROCESS_PERF };

	return system[msr_choose(m, r, true, false)] | process[msr_choose(m, r, false, false)] |
	       (r->admin ? WIRE_MSR_ADMIN : 0);
}

int msr_may_select(const struct msrs *m, uint32_t reg, uint64_t value, struct reason *why)
{
	const struct msrlist_entry *e = msrlist_find(&m->list, reg);

	if (!e || !e->write)
		return deny(why, -EPERM, "select: %s does not let register 0x%x be written",
			    m->file, reg);
	if (value & ~e->write)
		return deny(why, -EPERM, "select: %s lets 0x%llx of register 0x%x be written, not "
			    "0x%llx", m->file, (unsigned long long)e->write, reg,
			    (unsigned long long)value);
	if (!m->dev)
		return deny(why, -EOPNOTSUPP, "select: no writer for register 0x%x: %.300s", reg,
			    m->no_dev.text);
	return 0;
}
