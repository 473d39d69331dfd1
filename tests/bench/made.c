/* SPDX-License-Identifier: BSD-2-Clause */
/* Synthetic logs: samples at chosen addresses, of one event, one every 25 µs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/pmclog.h>

#include "bench.h"

#define PMCID	    0x00010f00u
#define INTERVAL_NS 25000u

static void put(FILE *f, const void *data, size_t len)
{
	if (len && fwrite(data, len, 1, f) != 1)
		die("cannot write a log: %s", strerror(errno));
}

FILE *made_begin(const char *path)
{
	const struct pmclog_initialize init = {
		.pl_header = PMCLOG_HEADER(PMCLOG_TYPE_INITIALIZE, sizeof(init)),
		.pl_version = PMC_VERSION, .pl_cpu = PMC_CPU_GENERIC, .pl_tsc_freq = 1000000000,
	};
	const struct pmclog_pmcallocatedyn a = {
		.pl_header = PMCLOG_HEADER(PMCLOG_TYPE_PMCALLOCATEDYN, sizeof(a)),
		.pl_pmcid = PMCID, .pl_flags = PMC_F_CALLCHAIN | PMC_F_USERCALLCHAIN,
		.pl_evname = "CPU_CLOCK",
	};
	FILE *f = fopen(path, "we");

	if (!f)
		die("%s: %s", path, strerror(errno));
	put(f, &init, sizeof(init));
	put(f, &a, sizeof(a));
	return f;
}

void made_mapping(FILE *f, uint32_t pid, uint64_t start, const char *path)
{
	static const char nul[4];
	const size_t len = strlen(path), padded = (len + 4) & ~3ul;
	const struct pmclog_map_in m = {
		.pl_header = PMCLOG_HEADER(PMCLOG_TYPE_MAP_IN, sizeof(m) + padded), .pl_pid = pid,
		.pl_start = start,
	};

	put(f, &m, sizeof(m));
	put(f, path, len);
	put(f, nul, padded - len);
}

void made_process(FILE *f, uint32_t pid)
{
	struct pmclog_proccreate p = {
		.pl_header = PMCLOG_HEADER(PMCLOG_TYPE_PROC_CREATE, sizeof(p)), .pl_pid = pid,
	};

	snprintf(p.pl_pcomm, sizeof(p.pl_pcomm), "program-%u", pid);
	put(f, &p, sizeof(p));
}

void made_sample(FILE *f, uint64_t number, uint32_t pid, uint32_t tid, const uint64_t *chain,
		 unsigned int n)
{
	const bool user = !(chain[0] >> 63);
	const struct pmclog_callchain s = {
		.pl_header = PMCLOG_HEADER(PMCLOG_TYPE_CALLCHAIN, sizeof(s) + n * sizeof(*chain)),
		.pl_tsc = number * INTERVAL_NS, .pl_pid = pid, .pl_tid = tid, .pl_pmcid = PMCID,
		.pl_cpuflags = PMC_CALLCHAIN_TO_CPUFLAGS(number & 1,
							 user ? PMC_CC_F_USERSPACE : 0),
	};

	put(f, &s, sizeof(s));
	put(f, chain, n * sizeof(*chain));
}

void made_end(FILE *f, uint64_t samples)
{
	const struct pmclog_closelog end = {
		.pl_header = PMCLOG_HEADER(PMCLOG_TYPE_CLOSELOG, sizeof(end)),
		.pl_tsc = samples * INTERVAL_NS,
	};

	put(f, &end, sizeof(end));
	if (fclose(f))
		die("cannot write a log: %s", strerror(errno));
}

/* The same at every run. */
uint64_t made_random(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}
