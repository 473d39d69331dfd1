/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ktrctl test: writes entries to its own rings to measure the cost of an entry.  libktr is loaded
 * for this command only, since each program linked with it has rings and obeys KTR_FILE.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/ktr_class.h>

#include "ktrctl.h"
#include "cli/common/common.h"

#define LIBRARY "libktr.so.0"
#define ENTRIES 1000000

/* The symbols that the macro CTR2 uses. */
struct test_points {
	volatile unsigned int *mask;
	void (*write)(uint64_t desc, uint64_t first, uint64_t second);
};

static double clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int points_load(struct test_points *points)
{
	void *library;

	unsetenv("KTR_FILE");
	library = dlopen(LIBRARY, RTLD_NOW);
	if (!library)
		return fail(EX_UNAVAILABLE, "%s", dlerror());
	points->mask = dlsym(library, "ktr_mask");
	points->write = (void (*)(uint64_t, uint64_t, uint64_t))dlsym(library, "__ktr_w2");
	if (!points->mask || !points->write)
		return fail(EX_UNAVAILABLE, LIBRARY " is of another release than ktrctl");
	return 0;
}

/* Entries written to our own rings. */
static int ring_written(uint64_t *entries)
{
	struct tracee self;
	int code = process_open(&self, getpid()), err;

	if (code)
		return code;
	err = tracee_written(&self, entries);
	tracee_close(&self);
	return err ? process_fail(getpid(), err, NULL) : 0;
}

int test_run(const struct ktrctl *ctl)
{
	static const char format[] = "test entry %d of %d";
	uint64_t desc = KTR_DESC_TEXT | (uintptr_t)format, count = ENTRIES, before, after = 0;
	struct test_points points = { 0 };
	struct buf out = { 0 };
	double took;
	int code;

	if (ctl->nargs && opt_number(ctl->args[0], 0, 1, UINT32_MAX, &count))
		return fail(EX_DATAERR, "\"%s\" is no number of entries", ctl->args[0]);
	code = points_load(&points);
	if (!code)
		code = ring_written(&before);
	if (code)
		return code;
	*points.mask |= KTR_GEN;
	took = clock_ns();
	for (uint64_t i = 0; i < count; i++)
		if (*points.mask & KTR_GEN)
			points.write(desc, i, count);
	took = clock_ns() - took;
	code = ring_written(&after);
	buf_printf(&out, "%llu entries in %.3f ms: %.1f ns each\n",
		   (unsigned long long)(after - before), took / 1e6, took / (double)count);
	return ktrctl_put(&out, code);
}
