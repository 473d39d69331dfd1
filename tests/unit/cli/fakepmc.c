/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A libpmc for LD_PRELOAD whose counts and failures are known, for tests of the tools' own work.
 *
 * FAKEPMC_LOG=FILE	one line a call is appended
 * FAKEPMC_FAIL=F:N:E	the Nth call of pmc_F (1 is the first) and those after it fail with errno E
 * FAKEPMC_NCPU=N	CPUs, 2; CPU 1 is offline when there are 3
 *
 * PMCs are numbered from 1.  The Kth read of PMC H gives H * 1000 * K.  Counters of events whose
 * name begins with "hw" are 48 bits wide, others 64; the class is SOFT, of "tsc" TSC.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PMC_NO_ARITY_MACRO
#include <pmc.h>
#include <sys/ktr_region.h>

#define API __attribute__((visibility("default")))
#define MAX_PMCS 256
#define NROWS	 4

enum function { INIT, ALLOCATE, ATTACH, START, STOP, READ, RELEASE, ENABLE, DISABLE, PMCINFO, STATS,
		NPMC, CPUINFO, NAMES, GATES, POLICY, LIST, GET, SET, KTR_INFO, KTR_CONTROL,
		KTR_OPEN, NFUNCTIONS };

static const char *const function_names[NFUNCTIONS] = {
	"init", "allocate", "attach", "start", "stop", "read", "release", "enable", "disable",
	"pmcinfo", "stats", "npmc", "cpuinfo", "names", "gates", "policy", "list", "get", "set",
	"ktr_info", "ktr_control", "ktr_open",
};

static struct {
	unsigned int calls[NFUNCTIONS];
	unsigned int reads[MAX_PMCS];
	unsigned int npmcs;
	unsigned char narrow[MAX_PMCS];
	struct fake_group {
		pmc_id_t member[PMC_GROUP_MAX_MEMBERS];
		unsigned int n;
	} groups[MAX_PMCS + 1];
	unsigned int ngroups;
} fake;

__attribute__((format(printf, 1, 2))) static void record(const char *format, ...)
{
	const char *path = getenv("FAKEPMC_LOG");
	va_list args;
	int fd;

	if (!path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	va_start(args, format);
	if (fd < 0 || vdprintf(fd, format, args) < 0)
		abort();
	va_end(args);
	close(fd);
}

/* 0, or -1 with the errno that FAKEPMC_FAIL names. */
static int enter(enum function function)
{
	const char *plan = getenv("FAKEPMC_FAIL");
	size_t len = strlen(function_names[function]);
	unsigned int nth;
	int err;

	fake.calls[function]++;
	if (!plan || strncmp(plan, function_names[function], len) != 0 || plan[len] != ':' ||
	    sscanf(plan + len, ":%u:%d", &nth, &err) != 2 || fake.calls[function] < nth)
		return 0;
	errno = err;
	return -1;
}

static unsigned int ncpu(void)
{
	const char *text = getenv("FAKEPMC_NCPU");

	return text ? (unsigned int)atoi(text) : 2;
}

API const char *pmc_errstr(void)
{
	return "because the test wants it";
}

API int pmc_init(void)
{
	return enter(INIT);
}

API int pmc_allocate(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu, pmc_id_t *pmcid,
		     uint64_t count)
{
	record("allocate %s mode %d flags 0x%x cpu %d\n", spec, (int)mode, flags, cpu);
	if (enter(ALLOCATE) != 0)
		return -1;
	if (++fake.npmcs == MAX_PMCS)
		abort();
	fake.narrow[fake.npmcs] = strncmp(spec, "hw", 2) == 0;
	*pmcid = (strcmp(spec, "tsc") == 0 ? PMC_CLASS_TSC : PMC_CLASS_SOFT) << 8 | fake.npmcs;
	return 0;
}

API int pmc_width(pmc_id_t pmcid, uint32_t *width)
{
	*width = fake.narrow[PMC_ID_TO_ROWINDEX(pmcid)] ? 48 : 64;
	return 0;
}

/* The machine has two kinds of CPUs for these events. */
API int pmc_event_kinds(const char *event, enum pmc_mode mode, char ***specs, int *n)
{
	size_t len = strlen(event) + sizeof("big//");
	char **list = malloc(2 * sizeof(*list) + 2 * (len + 4)), *text = (char *)(list + 2);

	*n = strncmp(event, "kind", 4) == 0 ? 2 : 0;
	list[0] = text;
	list[1] = text + len + 4;
	snprintf(list[0], len, "big/%s/", event);
	snprintf(list[1], len + 4, "little/%s/", event);
	*specs = list;
	return 0;
}

API int pmc_event_unit(const char *event, double *scale, char *unit, size_t size)
{
	*scale = 1;
	*unit = '\0';
	return 0;
}

API int pmc_capabilities(pmc_id_t pmcid, uint32_t *caps)
{
	*caps = PMC_ID_TO_CLASS(pmcid) == PMC_CLASS_TSC ? PMC_CAP_READ :
		PMC_CAP_READ | PMC_CAP_WRITE;
	return 0;
}

#define CALL_OF_PROCESS(name, word) \
	API int pmc_##name(pmc_id_t pmcid, pid_t pid) \
	{ \
		record(word " %u %d\n", PMC_ID_TO_ROWINDEX(pmcid), (int)pid); \
		return enter(ATTACH); \
	}
CALL_OF_PROCESS(attach, "attach")
CALL_OF_PROCESS(attach_exec, "attach-exec")
CALL_OF_PROCESS(attach_thread, "attach-thread")

API int pmc_attach_cgroup(pmc_id_t pmcid, int folder)
{
	(void)folder;
	record("attach-cgroup %u\n", PMC_ID_TO_ROWINDEX(pmcid));
	return enter(ATTACH);
}

#define CALL_OF_PMC(name, function) \
	API int pmc_##name(pmc_id_t pmcid) \
	{ \
		record(#name " %u\n", PMC_ID_TO_ROWINDEX(pmcid)); \
		return enter(function); \
	}
CALL_OF_PMC(start, START)
CALL_OF_PMC(stop, STOP)
CALL_OF_PMC(release, RELEASE)

API int pmc_read(pmc_id_t pmcid, pmc_value_t *value)
{
	if (enter(READ) != 0)
		return -1;
	*value = PMC_ID_TO_ROWINDEX(pmcid) * 1000ULL * ++fake.reads[PMC_ID_TO_ROWINDEX(pmcid)];
	return 0;
}

/* Groups are numbered from 1; their leader is added first. */
API int pmc_allocate_group(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu,
			   pmc_id_t *pmcid, uint64_t count)
{
	return pmc_allocate(spec, mode, flags, cpu, pmcid, count);
}

API int pmc_group_create(uint32_t *groupid)
{
	if (++fake.ngroups == MAX_PMCS)
		abort();
	*groupid = fake.ngroups;
	return 0;
}

API int pmc_group_add(uint32_t groupid, pmc_id_t pmcid, int leader)
{
	struct fake_group *g = &fake.groups[groupid];

	record("group %u %s %u\n", groupid, leader ? "leader" : "add", PMC_ID_TO_ROWINDEX(pmcid));
	if (g->n == PMC_GROUP_MAX_MEMBERS || leader != !g->n)
		abort();
	g->member[g->n++] = pmcid;
	return 0;
}

API int pmc_group_commit(uint32_t groupid)
{
	record("commit %u\n", groupid);
	return 0;
}

API int pmc_group_read(pmc_id_t leader, uint32_t *nmembers, struct pmc_group_member *members,
		       struct pmc_group_times *times)
{
	const struct fake_group *g = &fake.groups[1];

	if (times)
		abort();
	while (g->n && g->member[0] != leader)
		g++;
	if (g->n > *nmembers)
		abort();
	for (*nmembers = 0; *nmembers < g->n; ++*nmembers) {
		members[*nmembers].pm_pmcid = g->member[*nmembers];
		if (pmc_read(g->member[*nmembers], &members[*nmembers].pm_value) != 0)
			return -1;
	}
	return 0;
}

API int pmc_npmc(int cpu)
{
	return enter(NPMC) == 0 ? NROWS : -1;
}

API int pmc_ncpu(void)
{
	return (int)ncpu();
}

#define CALL_OF_ROW(name, function) \
	API int pmc_##name(int cpu, int row) \
	{ \
		record(#name " %d %d\n", cpu, row); \
		return enter(function); \
	}
CALL_OF_ROW(enable, ENABLE)
CALL_OF_ROW(disable, DISABLE)

API int pmc_cpuinfo(const struct pmc_cpuinfo **info)
{
	static struct pmc_cpuinfo known;

	known = (struct pmc_cpuinfo){ .pm_cputype = PMC_CPU_INTEL_HASWELL, .pm_ncpu = ncpu(),
				      .pm_npmc = NROWS, .pm_nclass = 2 };
	known.pm_classes[0] = (struct pmc_classinfo){ .pm_class = PMC_CLASS_SOFT, .pm_num = 2 };
	known.pm_classes[1] = (struct pmc_classinfo){ .pm_class = PMC_CLASS_TSC, .pm_num = 1 };
	*info = &known;
	return enter(CPUINFO);
}

API int pmc_pmcinfo(int cpu, struct pmc_pmcinfo **info)
{
	static const struct pmc_info rows[NROWS] = {
		{ .pm_name = "SOFT0", .pm_class = PMC_CLASS_SOFT, .pm_enabled = 1,
		  .pm_rowdisp = PMC_DISP_FREE, .pm_ownerpid = -1 },
		{ .pm_name = "SOFT1", .pm_class = PMC_CLASS_SOFT, .pm_enabled = 0,
		  .pm_rowdisp = PMC_DISP_FREE, .pm_ownerpid = -1 },
		{ .pm_name = "TSC", .pm_class = PMC_CLASS_TSC, .pm_enabled = 1, .pm_ownerpid = 77,
		  .pm_rowdisp = PMC_DISP_STANDALONE, .pm_mode = PMC_MODE_SC,
		  .pm_event = PMC_EV_TSC_TSC },
		{ .pm_name = "IAP-0", .pm_class = PMC_CLASS_IAP, .pm_enabled = 1,
		  .pm_ownerpid = 812,
		  .pm_rowdisp = PMC_DISP_STANDALONE, .pm_mode = PMC_MODE_SS,
		  .pm_event = (enum pmc_event)0x10123, .pm_reloadcount = 65536 },
	};

	if (enter(PMCINFO) != 0)
		return -1;
	if (ncpu() == 3 && cpu == 1) {
		errno = ENXIO;
		return -1;
	}
	*info = calloc(1, sizeof(**info) + sizeof(rows));
	if (!*info)
		return -1;
	(*info)->pm_cpu = cpu;
	memcpy((*info)->pm_pmcs, rows, sizeof(rows));
	return 0;
}

API int pmc_get_driver_stats(struct pmc_driverstats *stats)
{
	*stats = (struct pmc_driverstats){ 1, 2, 3, 4, 5, 6, 7, 4000000000u };
	return enter(STATS);
}

API int pmc_get_cut_chains(uint64_t *chains)
{
	*chains = 5000000000;
	return enter(STATS);
}

API int pmc_get_chains(pmc_id_t pmcid, struct pmc_chains *chains)
{
	*chains = (struct pmc_chains){
		.pm_chains = 9000000000, .pm_ended = 7000000000, .pm_whole = 3000000000,
		.pm_pointers = 3, .pm_cut = 5000000000, .pm_completed = 70, .pm_late = 8,
		.pm_cuts = { [PMC_CHAIN_NOT_RECORDED] = 1000000000,
			     [PMC_CHAIN_TABLE] = 3999999999, [PMC_CHAIN_STACK] = 1 },
	};
	return enter(STATS);
}

API int pmc_event_names_of_class(enum pmc_class class_, const char ***names, int *nevents)
{
	if (enter(NAMES) != 0)
		return -1;
	*names = calloc(2, sizeof(**names));
	if (!*names)
		return -1;
	(*names)[0] = class_ == PMC_CLASS_TSC ? "TSC" : "CLOCK.HARD";
	(*names)[1] = "LOCK \"FAILED\"";
	*nevents = class_ == PMC_CLASS_MSR ? 0 : 2;	/* this machine counts no registers */
	return 0;
}

/* FAKEPMC_CLOSED: the second one is closed. */
API int pmc_gates(struct pmc_gate **gates, int *ngates)
{
	static const struct pmc_gate known[] = {
		{ .pg_name = "rows", .pg_finding = "all \"free\"", .pg_state = PMC_GATE_OPEN },
		{ .pg_name = "daemon", .pg_finding = "old", .pg_remedy = "get a new one" },
	};

	if (enter(GATES) != 0)
		return -1;
	*gates = calloc(1, sizeof(known));
	if (!*gates)
		return -1;
	memcpy(*gates, known, sizeof(known));
	(*gates)[1].pg_state = getenv("FAKEPMC_CLOSED") ? PMC_GATE_CLOSED : PMC_GATE_LIMITS;
	*ngates = 2;
	return 0;
}

/* FAKEPMC_ROOT: all rules, one of them; else a setting of a rule and one of a tunable. */
API int pmc_policy(int all, struct pmc_policy **list, unsigned int *count)
{
	static const struct pmc_policy own[] = {
		{ "modes=\"TC,TS\"", "security.bsd.unprivileged_syspmcs", 0 },
		{ "kernel=\"yes\"", "", 0 },
		{ "pmcs=\"8\"", "/etc/pmcbpf/policy.d/50-site.conf", 3 },
	};
	const char *root = getenv("FAKEPMC_ROOT");

	record("policy %d\n", all);
	if (enter(POLICY) != 0)
		return -1;
	if (all && !root) {
		errno = EPERM;
		return -1;
	}
	*list = calloc(1, sizeof(own));
	if (!*list)
		return -1;
	memcpy(*list, all ? &own[2] : own, all ? sizeof(own[0]) : sizeof(own));
	*count = all ? (unsigned int)atoi(root) : 3;
	return 0;
}

static const struct pmc_tunable tunables[2] = {
	{ .pm_name = "kern.hwpmc.nsamples", .pm_value = "512" },
	{ .pm_name = "kern.hwpmc.debugflags", .pm_value = "pmc=* md=read", .pm_writable = 1 },
};

API int pmc_tunable_list(struct pmc_tunable **list, unsigned int *count)
{
	if (enter(LIST) != 0)
		return -1;
	*list = malloc(sizeof(tunables));
	if (!*list)
		return -1;
	memcpy(*list, tunables, sizeof(tunables));
	*count = 2;
	return 0;
}

/* FAKEPMC_TUNABLE is the value of all. */
API int pmc_tunable_get(const char *name, struct pmc_tunable *tunable)
{
	const char *value = getenv("FAKEPMC_TUNABLE");

	record("get %s\n", name);
	*tunable = tunables[1];
	if (value)
		snprintf(tunable->pm_value, sizeof(tunable->pm_value), "%s", value);
	return enter(GET);
}

API int pmc_tunable_set(const char *name, const char *value)
{
	record("set %s to %s\n", name, value);
	return enter(SET);
}

/* FAKEPMC_RINGS is a file of rings, FAKEPMC_RINGS_WRITTEN the additional entries that it claims. */
static void look_at_rings(struct pmc_ktr *info, const char *path)
{
	const char *more = getenv("FAKEPMC_RINGS_WRITTEN");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct ktr_region head;
	struct ktr_ring ring;

	if (fd < 0 || pread(fd, &head, sizeof(head), 0) != sizeof(head))
		abort();
	info->pk_entries = head.entries;
	info->pk_written = more ? (uint64_t)atoi(more) : 0;
	for (uint32_t i = 0; i < head.ncpu; i++) {
		if (pread(fd, &ring, sizeof(ring), (off_t)(head.hdrsize + i * head.stride)) !=
		    sizeof(ring))
			abort();
		info->pk_written += ring.head;
	}
	close(fd);
}

/* FAKEPMC_KTR=FROZEN: a trigger has frozen the rings so often. */
API int pmc_ktr_info(struct pmc_ktr *info)
{
	const char *frozen = getenv("FAKEPMC_KTR"), *rings = getenv("FAKEPMC_RINGS");

	*info = (struct pmc_ktr){ .pk_compile = 0x2001, .pk_missing = 0x8000, .pk_mask = 0x2000,
				  .pk_saved = 0x2000, .pk_entries = 1024, .pk_ncpu = 2,
				  .pk_written = 5000000000 };
	if (rings)
		look_at_rings(info, rings);
	if (frozen) {
		info->pk_mask = 0;
		info->pk_frozen = (uint32_t)atoi(frozen);
		strcpy(info->pk_stopped, "signal 11 to 77 (oops)");
	}
	return enter(KTR_INFO);
}

API int pmc_ktr_control(enum pmc_ktr_op op, const char *text)
{
	record("ktr %d %s\n", (int)op, text ? text : "-");
	return enter(KTR_CONTROL);
}

API int pmc_ktr_open(void)
{
	const char *path = getenv("FAKEPMC_RINGS");

	record("ktr open\n");
	return enter(KTR_OPEN) == 0 ? open(path ? path : "/dev/null", O_RDONLY | O_CLOEXEC) : -1;
}

API const char *pmc_name_of_event(enum pmc_event event)
{
	return event == PMC_EV_TSC_TSC ? "TSC" : NULL;
}
