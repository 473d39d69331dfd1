/* SPDX-License-Identifier: BSD-2-Clause */
/* The contents of a gprof file: hits of code in one image by one event, and calls in that image. */
#ifndef PMCBPF_CLI_REPORT_GMON_H
#define PMCBPF_CLI_REPORT_GMON_H

#include "lib/base/buf.h"
#include "cli/profile/profile.h"

#define GMON_BUCKET 4u	/* bytes of code that are counted together: FreeBSD's FUNCTION_ALIGNMENT */

struct gmon_file {
	struct image *image;
	uint32_t event;
	uint64_t samples;
	uint32_t rate;			/* a clock's samples a second; 0: not a clock */
	uint64_t low, high;		/* of the functions hit; multiples of a bucket */
	struct gmon_hit *hits;		/* by address */
	struct gmon_arc *arcs;
	size_t nhits, narcs;
};

struct gmon_hit {
	uint32_t file;
	uint64_t address;		/* of the bucket */
	uint64_t samples;
};

struct gmon_arc {
	uint32_t file;
	uint64_t from, to;
	uint64_t count;
	size_t last;			/* the tally that had it last, plus one */
};

/*
 * FreeBSD's layout into an open, empty file; code without hits becomes holes.  `wide`: counters
 * of 64 bits.  -E2BIG: the code lies too far apart; -EOVERFLOW: written, with saturated counters.
 */
int gmon_write_bsd(const struct gmon_file *file, int fd, bool wide);

/* GNU's layout: histograms for each piece of code, several where a counter would overflow. */
int gmon_write_gnu(const struct gmon_file *file, int fd);

#endif
