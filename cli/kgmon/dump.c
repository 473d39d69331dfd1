/* SPDX-License-Identifier: BSD-2-Clause */
/* kgmon -p: the profile as gmon.out, and the names that gprof(1) shows it with as gmon.kernel. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "kgmon.h"
#include "cli/common/common.h"
#include "cli/report/report.h"

#define PROFILE "gmon.out"
#define KERNEL	"gmon.kernel"
/* Addresses show where the kernel is in memory: the files are for their owner. */
#define MODE	0600

/*
 * The bucket of an address.  gprof divides a bucket between the functions that share it, so the
 * sample goes to a neighbouring bucket that its own function fills.
 */
static uint64_t bucket_index(struct kernel_names *names, uint64_t address)
{
	uint64_t bucket = address - address % GMON_BUCKET;
	struct kernel_name *e = kernel_names_find(names, address);
	uint64_t end = e ? e->start + e->size : 0;

	if (e)
		e->wanted = true;
	else if (!names->lowest)
		names->lowest = bucket;
	if (!e || address >= end)
		return bucket;
	if (bucket < e->start && bucket + 2 * GMON_BUCKET <= end)
		return bucket + GMON_BUCKET;
	if (bucket + GMON_BUCKET > end && bucket >= e->start + GMON_BUCKET)
		return bucket - GMON_BUCKET;
	return bucket;
}

/* The dump's addresses, which ascend, as buckets. */
static int hits_read(const struct pmc_kgmon *profile, int dump, struct kernel_names *names,
		     struct gmon_file *file)
{
	struct pmc_kgmon_hit hit;
	size_t room = profile->pk_hits;

	file->hits = calloc(room + 1, sizeof(*file->hits));
	if (!file->hits)
		return -ENOMEM;
	for (size_t i = 0; i < room; i++) {
		struct gmon_hit *last = file->nhits ? &file->hits[file->nhits - 1] : NULL;
		ssize_t n = pread(dump, &hit, sizeof(hit), (off_t)(i * sizeof(hit)));
		uint64_t bucket;

		if (n != sizeof(hit))
			return n < 0 ? -errno : -EPROTO;
		bucket = bucket_index(names, hit.pk_address);
		if (!last || last->address != bucket)
			file->hits[file->nhits++] = (struct gmon_hit){ .address = bucket };
		file->hits[file->nhits - 1].samples += hit.pk_samples;
	}
	return 0;
}

static int part_end(struct output *o, const char *name, int err)
{
	int finished = output_finish(o, !err);

	err = err ? err : finished;
	if (!err)
		return 0;
	errno = -err;
	return fail_errno(EX_OSERR, "ERROR: cannot write \"%s\"", name);
}

int dump_write(const struct pmc_kgmon *profile, int dump, struct kernel_names *names)
{
	struct gmon_file file = { .rate = profile->pk_rate };
	struct output out = OUTPUT_NONE, kernel = OUTPUT_NONE;
	int err, code;

	if (output_create(&out, PROFILE, OUTPUT_WHOLE, MODE) < 0)
		return fail(EX_CANTCREAT, "ERROR: cannot create \"" PROFILE "\": %s", out.why);
	if (output_create(&kernel, KERNEL, OUTPUT_WHOLE, MODE) < 0) {
		output_finish(&out, false);
		return fail(EX_CANTCREAT, "ERROR: cannot create \"" KERNEL "\": %s", kernel.why);
	}
	err = hits_read(profile, dump, names, &file);
	if (!err)
		err = gmon_write_gnu(&file, out.fd);
	free(file.hits);
	code = part_end(&kernel, KERNEL, err ? err : symbols_write(names, kernel.fd));
	if (code) {
		output_finish(&out, false);
		return code;
	}
	return part_end(&out, PROFILE, err);
}
