/* SPDX-License-Identifier: BSD-2-Clause */
/* The fake of count.h, perf.h and engine.h: exact book-keeping, no counters. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/pmc.h>

#include "loader/kernel/hop.h"
#include "loader/kernel/programs.h"
#include "loader/kernel/kernel_symbols.h"
#include "fake_count.h"

#define MAX_TARGETS 16

struct count_owner {
	pid_t tgid;
};

struct count_holder {
	int unused;
};

struct count {
	struct count *next;
	struct count_spec spec;
	pid_t targets[MAX_TARGETS];
	unsigned int ntargets;
	bool running, cgroup;
	uint64_t value;
};

const struct count_holder holder_nothing, holder_own, holder_counter, holder_register;
const struct count_holder holder_breakpoint;

struct fake fake;

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.pmus = 1;
}

static int find(const struct count *c, pid_t tgid)
{
	for (unsigned int i = 0; i < c->ntargets; i++)
		if (c->targets[i] == tgid)
			return (int)i;
	return -1;
}

static void drop(struct count *c, pid_t tgid)
{
	int i = find(c, tgid);

	if (i >= 0)
		c->targets[i] = c->targets[--c->ntargets];
}

void fake_exit(pid_t tgid)
{
	for (struct count *c = fake.list; c; c = c->next)
		drop(c, tgid);
}

/* --- engine.h, perf.h -------------------------------------------------------------------- */

int engine_new(struct engine **out, struct reason *why)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void engine_free(struct engine *e) { free(e); }

bool tracefs_here(void) { return fake.tracefs; }

bool count_slices_cgroup(const struct engine *e, const struct count_spec *spec)
{
	(void)e;
	(void)spec;
	return true;
}

bool probes_here(void) { return fake.probes; }

bool probes_in_kernel(void) { return fake.probes; }

int probe_check_function(const struct engine *e, const char *function, uint64_t offset,
			 struct reason *why)
{
	return strcmp(function, "vfs_read") ? deny(why, -EINVAL, "fake: no function %s", function) :
					      0;
}

int tracepoints_id(struct tracepoints *t, const char *name, uint64_t *id, struct reason *why)
{
	static const char *const names[] = {
		"syscalls:sys_enter_openat", "sched:sched_switch", "sched:sched_stat_runtime",
		"kmem:kmalloc",
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i])) {
			*id = 100 + i;
			return 0;
		}
	return deny(why, -ENOENT, "fake: no tracepoint %s", name);
}

int tracepoints_check(struct tracepoints *t, const char *name, const struct perf_event_spec *spec,
		      bool *refused, struct reason *why)
{
	return strcmp(spec->filter, "bad") ? 0 : deny(why, -EINVAL, "fake: bad filter of %s", name);
}

/* Two fields, whatever the event. */
int event_format_each(const char *name, void (*fn)(void *arg, const struct event_field *f),
		      void *arg, struct reason *why)
{
	fn(arg, &(struct event_field){ .name = "fd", .offset = 16, .size = 8, .element = 8 });
	fn(arg, &(struct event_field){ .name = "path", .offset = 24, .size = 4, .element = 1,
				       .is_array = true, .is_text = true, .elsewhere = true });
	return 0;
}

void tracepoints_list(struct tracepoints *t) { }

void breakpoints_discover(struct breakpoints *b)
{
	*b = (struct breakpoints){ .data = fake.breakpoints };
}

const char *breakpoints_reason(const struct breakpoints *b)
{
	return b->data ? NULL : "fake: no registers";
}

struct perf_event_spec breakpoints_spec(uint64_t address, uint64_t length, uint32_t type)
{
	return (struct perf_event_spec){ .config1 = address, .config2 = length,
					 .breakpoint = type };
}

/* Enough for more than one reply. */
const char *tracepoints_listed(const struct tracepoints *t, unsigned int i)
{
	static char name[32];

	snprintf(name, sizeof(name), "%s:event_%u", i % 2 ? "syscalls" : "kmem", i);
	return i < FAKE_TRACEPOINTS ? name : NULL;
}

bool programs_have(const struct programs *p, enum engine_need what)
{
	return false;
}

bool programs_have_hook(const struct programs *p, uint32_t hook)
{
	return !(fake.lacks_hooks >> hook & 1);
}

int perf_discover(struct perf_pmu *pmus, unsigned int max, struct reason *why)
{
	unsigned int n = fake.pmus < max ? fake.pmus : max;

	for (unsigned int i = 0; i < n; i++) {
		pmus[i] = (struct perf_pmu){ .prefix = "IAP",
					     .type = 4 + i,
					     .class = PMC_CLASS_IAP + (fake.same_class ? 0 : i),
					     .width = 48,
					     .rows = 4,
					     .everywhere = !fake.one_kind };
		snprintf(pmus[i].name, sizeof(pmus[i].name), "cpu%u", i);
	}
	return (int)n;
}

/* PMUs that count for CPUs: one on CPU 1, with two counters. */
void pmus_discover(struct pmus *p, unsigned int rows, const struct debug *debug)
{
	static const char *const names[] = { "fake_uncore-0", "fake_uncore-1" };

	p->n = fake.uncore && rows >= 2;
	p->rows = 2 * p->n;
	p->one[0] = (struct pmus_one){ .name = "fake_uncore", .type = 40, .rows = 2 };
	for (unsigned int i = 0; i < p->rows; i++)
		p->row[i] = names[i];
}

const struct pmus_one *pmus_find(const struct pmus *p, uint32_t type)
{
	return p->n && type == p->one[0].type ? &p->one[0] : NULL;
}

int pmus_cpus(const struct pmus_one *pmu, char *list, size_t size)
{
	if (fake.uncore_gone)
		return -ESRCH;
	snprintf(list, size, "1");
	return 0;
}

/* Of perf's own events a PMU knows instructions, cache misses, and LLC-loads. */
bool perf_knows(const struct perf_pmu *pmu, const struct perf_event_spec *spec)
{
	uint64_t config = spec->config & UINT32_MAX;

	if (spec->type == PERF_TYPE_HW_CACHE)
		return config == PERF_COUNT_HW_CACHE_LL;
	return spec->type == PERF_TYPE_HARDWARE && (config == PERF_COUNT_HW_INSTRUCTIONS ||
						    config == PERF_COUNT_HW_CACHE_MISSES);
}

bool perf_has_pmu(char *name, size_t size)
{
	snprintf(name, size, "cpu0");
	return fake.pmu_taken;
}

int perf_free_here(const struct perf_pmu *pmu, unsigned int cpu)
{
	int had = 4 - (int)fake.foreign[cpu];

	for (unsigned int row = 0; row < FAKE_ROWS; row++)
		had -= pmu->type == 4 && count_holds(NULL, row, cpu);
	return had;
}

int perf_named_event(const char *pmu, const char *name, unsigned int cpu,
		     struct perf_event_spec *spec)
{
	static const char *const names[FAKE_REGISTERS] = {
		"tsc", "aperf", "smi", "energy-pkg", "energy-ram"
	};

	for (unsigned int i = 0; i < FAKE_REGISTERS; i++)
		if (!strcmp(name, names[i]) && fake.perf_registers >> i & 1) {
			*spec = (struct perf_event_spec){ .type = *pmu == 'm' ? 10 : 11,
							  .config = i };
			return 0;
		}
	return -ENOENT;
}

enum abi_proof proof_check(const struct engine *e, int pidfd, int proof)
{
	fake.proofs++;
	return fake.proof;
}

const char *flush_no_msr(const struct flush *f)
{
	return fake.kfunc ? NULL : "the module pmcbpf_msr was not loaded when pmcbpfd started";
}

bool flush_reads_counters(const struct flush *f) { return fake.kfunc; }
unsigned long long flush_counters_disagreed(const struct flush *f) { return 0; }

/* The table has all names. */
int kernel_symbols_find(const struct engine *e, const uint64_t *address, size_t n,
			struct kernel_symbol *found)
{
	return -EPERM;
}

bool perf_watchdog(void) { return fake.watchdog; }

unsigned int engine_probe(engine_report *tell, void *arg)
{
	tell(arg, "perf_event_open(2)", fake.lacks_perf, fake.lacks_perf ? "fake remedy" : NULL);
	return fake.lacks_perf != NULL;
}

/* The thread stays where it is: every CPU of the fake is as good as this one. */
int hop_begin(struct hop *h) { return 0; }
int hop_to(unsigned int cpu) { return 0; }
void hop_end(const struct hop *h) {}
bool perf_cpu_online(unsigned int cpu) { return cpu < FAKE_CPUS && !fake.offline[cpu]; }
unsigned int perf_ncpu(void) { return FAKE_CPUS; }

uint64_t sampler_max_rate(void) { return fake.max_rate; }
bool sampler_collects(void) { return fake.collects; }
unsigned int perf_max_precise(const char *pmu) { return fake.precise; }
const char *perf_error(int err) { return strerror(-err); }

int perf_takes(const char *pmu, const struct perf_event_spec *spec)
{
	return spec->branch && !fake.branches ? -EOPNOTSUPP : 0;
}

/* --- count.h ------------------------------------------------------------------------------- */

int count_init(struct engine *e) { return 0; }
void count_fini(struct engine *e) {}

int count_owner_new(struct engine *e, pid_t tgid, struct user *user, struct count_owner **out,
		    struct reason *why)
{
	if (fake.refuse_owner)
		return fake.refuse_owner;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->tgid = tgid;
	fake.owners++;
	return 0;
}

void count_owner_free(struct count_owner *o)
{
	fake.owners -= o != NULL;
	free(o);
}

void count_owner_fds(const struct count_owner *o, int fds[2])
{
	fds[0] = 0;
	fds[1] = 1;
}

int count_rank(const struct engine *e, const struct count_spec *spec)
{
	return fake.rank[spec->row];
}

bool count_prepare(struct engine *e, const struct count_spec *spec, struct user *user)
{
	return false;
}

int count_new(struct engine *e, struct count_owner *o, const struct count_spec *spec,
	      struct count **out, struct reason *why)
{
	struct count *c;

	fake.last = *spec;
	if (fake.refuse_new[spec->row])
		return deny(why, fake.refuse_new[spec->row], "fake: row %u", spec->row);
	if (spec->system && !perf_cpu_online(spec->cpu))
		return deny(why, -ENXIO, "fake: offline");
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->spec = *spec;
	c->next = fake.list;
	fake.list = c;
	fake.counts++;
	*out = c;
	return 0;
}

void count_let_go(struct count *c)
{
	if (c)
		c->running = false;
}

void count_free(struct count *c)
{
	struct count **at = &fake.list;

	if (!c)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	fake.counts--;
	free(c);
}

bool count_is_lost(const struct count *c)
{
	const struct count *alive = fake.list;

	while (alive && alive != c)
		alive = alive->next;
	fake.stale += !alive;
	return false;
}

unsigned int count_pos(const struct count *c) { return fake.no_page ? ~0u : c->spec.row; }

int count_choose_thread(struct count *c, pid_t tid, struct reason *why)
{
	return c->ntargets ? deny(why, -EBUSY, "fake: a thread is attached") : 0;
}

int count_attach_cgroup(struct count *c, int folder, struct reason *why)
{
	(void)folder;
	if (c->cgroup)
		return deny(why, -EBUSY, "fake: a cgroup is attached");
	c->cgroup = true;
	return 0;
}

bool count_has_cgroup(const struct count *c) { return c->cgroup; }

int count_attach(struct count *c, int pidfd, pid_t tgid, bool waits,
		 const struct count_guard *guard, struct reason *why)
{
	if (fake.refuse_attach)
		return fake.refuse_attach;
	if (find(c, tgid) >= 0)
		return deny(why, -EEXIST, "fake: attached already");
	if (count_target_rows(NULL, tgid) >> c->spec.row & 1)
		return deny(why, -EBUSY, "fake: row taken on %d", tgid);
	if (c->ntargets == MAX_TARGETS)
		return -ENOMEM;
	c->targets[c->ntargets++] = tgid;
	if (fake.on_attach)
		fake.on_attach();
	/* A tree of two, if the test asks for it. */
	if (c->spec.descendants && fake.descendant &&
	    (!guard || guard->admits(guard, fake.descendant)))
		c->targets[c->ntargets++] = fake.descendant;
	return 0;
}

int count_detach(struct count *c, pid_t tgid, struct reason *why)
{
	bool monitored = false;

	for (struct count *o = fake.list; o; o = o->next)
		monitored |= find(o, tgid) >= 0;
	if (!monitored)
		return deny(why, -ESRCH, "fake: %d not monitored", tgid);
	if (find(c, tgid) < 0)
		return deny(why, -EINVAL, "fake: %d monitored by others", tgid);
	drop(c, tgid);
	return 0;
}

bool count_orphaned(struct count *c) { return false; }
unsigned int count_ntargets(const struct count *c) { return c->ntargets; }

int count_each_target(const struct count *c, void (*fn)(void *arg, pid_t tgid), void *arg)
{
	for (unsigned int i = 0; i < c->ntargets; i++)
		fn(arg, c->targets[i]);
	return 0;
}

bool count_follows_setid(const struct count *c) { return false; }
bool count_measures(const struct count *c, pid_t tgid) { return find(c, tgid) >= 0; }

row_mask count_target_rows(const struct engine *e, pid_t tgid)
{
	row_mask rows = 0;

	for (struct count *c = fake.list; c; c = c->next)
		rows |= (row_mask)(find(c, tgid) >= 0) << c->spec.row % TARGET_ROWS;
	return rows;
}

/* A process-scope PMC has a counter of every CPU, the other kind one. */
bool count_holds(const struct engine *e, unsigned int row, unsigned int cpu)
{
	for (struct count *c = fake.list; c; c = c->next)
		if (c->spec.holder == &holder_counter && c->spec.row == row &&
		    (c->spec.system ? c->spec.cpu == cpu : !fake.moved))
			return true;
	return false;
}

int count_start(struct count *c, struct reason *why)
{
	/* The contract: only legal calls. */
	if (c->running || (!c->spec.system && !c->ntargets))
		abort();
	if (fake.refuse_start)
		return fake.refuse_start;
	if (c->spec.system && !perf_cpu_online(c->spec.cpu))
		return deny(why, -ENXIO, "fake: offline");
	c->running = true;
	return 0;
}

int count_stop(struct count *c, struct reason *why)
{
	if (!c->running)
		abort();
	c->running = false;
	return fake.refuse_stop;
}

int count_read(struct count *c, uint64_t *value, struct reason *why)
{
	if (c->spec.system && !perf_cpu_online(c->spec.cpu))
		return deny(why, -ENXIO, "fake: offline");
	*value = c->value;
	return 0;
}

void count_form_group(struct count *const *list, unsigned int n, bool descendants)
{
}

int count_start_all(struct count *const *list, unsigned int n, unsigned int *failed,
		    struct reason *why)
{
	for (*failed = 0; *failed < n; ++*failed) {
		int err = count_start(list[*failed], why);

		if (err) {
			for (unsigned int i = 0; i < *failed; i++)
				list[i]->running = false;
			return err;
		}
	}
	return 0;
}

void count_stop_all(struct count *const *list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		(void)count_stop(list[i], &(struct reason){ "" });
}

int count_read_all(struct count *const *list, unsigned int n, uint64_t *values,
		   unsigned int *failed, struct reason *why)
{
	int err = 0;

	for (*failed = 0; *failed < n && !err; *failed += !err)
		err = count_read(list[*failed], &values[*failed], why);
	return err;
}

bool count_shares_targets(struct count *const *list, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++)
		if (list[i]->ntargets != list[0]->ntargets)
			return false;
	return true;
}

int count_write(struct count *c, uint64_t value, struct reason *why)
{
	if (c->running)
		abort();
	c->value = value;
	return 0;
}

int count_set_period(struct count *c, uint64_t period, struct reason *why)
{
	if (!c->spec.sampling || c->running || !period)
		abort();
	c->spec.period = period;
	return 0;
}

int count_hidden_switches(struct engine *e, uint64_t *hidden, struct reason *why)
{
	*hidden = fake.hidden;
	return 0;
}

void count_cpus(struct engine *e) {}

unsigned int count_read_fds_all(struct count *const *list, unsigned int n, int *fds,
				unsigned int max, uint32_t *generation, struct count_places *places)
{
	places->places = n;
	for (unsigned int i = 0; i < n; i++)
		places->place[i] = (uint8_t)(n - 1 - i);
	return count_read_fds(list[0], fds, max, generation);
}

unsigned int count_read_fds(const struct count *c, int *fds, unsigned int max, uint32_t *generation)
{
	for (unsigned int i = 0; i < fake.self_fds && i < max; i++)
		fds[i] = 0;
	*generation = 7;
	return fake.self_fds;
}
