/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --perf-data: the samples for `perf report` and other readers of its files.  Names, mappings and
 * threads are written right before the first sample that needs them, so that perf resolves each
 * address as of the time of its sample.  A table of fixed size lists the records written so far;
 * one that has lost its entry is written again, which does no harm.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pmc.h>
#include <pmclog.h>

#include "cli/common/common.h"
#include "perf_file.h"
#include "report.h"

#define KNOWN	8192u
#define PAGE	4096ull			/* no mapping begins or ends inside of one */
#define COMM	16u			/* bytes of a name, as the kernel's */
#define PATHS	4096u
#define KERNEL	"[kernel.kallsyms]"

struct known_key {
	uint64_t what[4];
};
struct perf_data {
	struct perf_file file;
	struct symbols *symbols;
	struct known_key *known;
	uint64_t now;			/* ns */
	uint64_t samples;
	int code;			/* of a failed write */
};

enum perf_key { KEY_PAGE = 1, KEY_MAPPING, KEY_NAME };

/* Was this written already?  Marks it as written. */
static bool perfdata_known(struct perf_data *d, struct known_key what)
{
	uint64_t hash = 0;

	for (int i = 0; i < 4; i++)
		hash = (hash ^ what.what[i]) * 0x9e3779b97f4a7c15u;
	hash = (hash ^ hash >> 32) % KNOWN;
	if (memcmp(&d->known[hash], &what, sizeof(what)) == 0)
		return true;
	d->known[hash] = what;
	return false;
}

static void perfdata_forget(struct perf_data *d)
{
	memset(d->known, 0, KNOWN * sizeof(*d->known));
}

/* The end of every record other than a sample: process, thread and time. */
static int perfdata_record_end(struct perf_data *d, size_t begin, uint32_t pid, uint32_t tid)
{
	perf_file_ints(&d->file, pid, tid);
	perf_file_long(&d->file, d->now);
	perf_file_ints(&d->file, 0, 0);
	perf_file_long(&d->file, 0);
	return perf_file_end(&d->file, begin);
}

/* --- processes and threads ------------------------------------------------------------------- */

static int record_task(struct perf_data *d, uint32_t type, uint32_t pid, uint32_t parent)
{
	size_t begin = perf_file_begin(&d->file, type, 0);

	perf_file_ints(&d->file, pid, parent);
	perf_file_ints(&d->file, pid, parent);
	perf_file_long(&d->file, d->now);
	return perfdata_record_end(d, begin, parent, parent);
}

static uint64_t comm_hash(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
	return hash;
}

/* A main thread has its process's name; others may have one of their own. */
static int record_comm(struct perf_data *d, const struct walk_sample *s)
{
	const uint32_t pid = (uint32_t)s->process->pid, tid = s->tid ? (uint32_t)s->tid : pid;
	const char *name = s->process->name;
	size_t begin;

	if (tid != pid && s->thread && s->thread->name)
		name = s->thread->name;
	if (perfdata_known(d, (struct known_key){ { KEY_NAME, tid, s->process->number,
						    comm_hash(name) } }))
		return 0;
	begin = perf_file_begin(&d->file, PERF_RECORD_COMM, 0);
	perf_file_ints(&d->file, pid, tid);
	perf_file_text(&d->file, name, COMM);
	return perfdata_record_end(d, begin, pid, tid);
}

/* --- mappings -------------------------------------------------------------------------------- */

struct range {
	uint64_t start, end;
};

/*
 * The addresses around this one that belong to the same image.  Code of a file ends with its
 * segment, code of other images at the next mapping.  JIT code (its offsets are addresses) is
 * written page by page.
 */
static struct range mapping_range(struct perf_data *d, struct walk *w, const struct walk_sample *s,
				  size_t i, const struct place *place)
{
	const uint64_t page = s->pc[i] & -PAGE, base = s->pc[i] - place->offset;
	struct range r;

	if (base == 0)
		return (struct range){ page, page + PAGE };
	if (!place->image->kernel &&
	    image_segment(d->symbols, place->image, place->offset, &r.start, &r.end))
		return (struct range){ base + (r.start & -PAGE),
				       base + ((r.end + PAGE - 1) & -PAGE) };
	return (struct range){ base, walk_next(w, s, i) };
}

/* The kernel itself, whatever its file is, or a module? */
static bool image_is_kernel(const struct image *image)
{
	return image->kernel && (*image->path != '[' || strcmp(image->path, KERNEL) == 0);
}

static void record_build_id(struct perf_file *f, const struct image *image)
{
	unsigned char id[24] = { image->idlen };

	memcpy(id + 4, image->id, image->idlen);
	buf_add(&f->out.text, (const char *)id, sizeof(id));
}

/* perf needs the address of _text to compute by how much the kernel was moved. */
static int record_mmap(struct perf_data *d, uint32_t pid, const struct image *image, struct range r,
		       uint64_t base)
{
	const uint16_t side = image->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	const bool kernel = image_is_kernel(image);
	struct perf_file *f = &d->file;
	size_t begin = perf_file_begin(f, PERF_RECORD_MMAP2, side | PERF_RECORD_MISC_MMAP_BUILD_ID);

	perf_file_ints(f, pid, pid);
	perf_file_long(f, r.start);
	perf_file_long(f, r.end - r.start);
	perf_file_long(f, kernel ? r.start : r.start - base);
	record_build_id(f, image);
	perf_file_ints(f, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	perf_file_text(f, kernel ? KERNEL "_text" : image->path, PATHS);
	return perfdata_record_end(d, begin, pid, pid);
}

/* Mappings of the kernel belong to all processes. */
static int record_mapping(struct perf_data *d, struct walk *w, const struct walk_sample *s,
			  size_t i)
{
	const bool kernel = s->pc[i] & WALK_KERNEL;
	const uint64_t whose = kernel ? 0 : s->process->number + 1ull;
	const uint64_t space = whose << 32 | (kernel ? 0 : s->process->space);
	struct place place;
	struct range r;

	if (perfdata_known(d, (struct known_key){ { KEY_PAGE, space, s->pc[i] / PAGE } }))
		return 0;
	walk_place(w, s, i, &place);
	if (!place.image)
		return 0;
	r = mapping_range(d, w, s, i, &place);
	if (perfdata_known(d, (struct known_key){ { KEY_MAPPING |
						    (uint64_t)place.image->number << 8,
						    space, r.start, r.end } }))
		return 0;
	return record_mmap(d, kernel ? UINT32_MAX : (uint32_t)s->process->pid, place.image, r,
			   s->pc[i] - place.offset);
}

/* --- samples --------------------------------------------------------------------------------- */

static void record_chain(struct perf_file *f, const struct walk_sample *s)
{
	const size_t at = f->out.text.len;
	uint64_t n = s->npc, context = 0;

	perf_file_long(f, 0);
	for (size_t i = 0; i < s->npc; i++) {
		uint64_t side = s->pc[i] & WALK_KERNEL ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER;

		if (side != context) {
			perf_file_long(f, side);
			context = side;
			n++;
		}
		perf_file_long(f, s->pc[i]);
	}
	if (!f->out.text.failed)
		memcpy(f->out.text.data + at, &n, sizeof(n));
}

static int record_sample(struct perf_data *d, const struct walk_sample *s)
{
	const uint32_t pid = (uint32_t)s->process->pid;
	struct perf_file *f = &d->file;
	size_t begin = perf_file_begin(f, PERF_RECORD_SAMPLE, s->user ? PERF_RECORD_MISC_USER :
				       PERF_RECORD_MISC_KERNEL);

	perf_file_long(f, perf_file_id(s->event_number));
	perf_file_long(f, s->npc ? s->pc[0] : 0);
	perf_file_ints(f, pid, s->tid ? (uint32_t)s->tid : pid);
	perf_file_long(f, d->now);
	perf_file_ints(f, (uint32_t)s->cpu, 0);
	perf_file_long(f, s->event->rate ? s->event->rate * s->weight : 1);
	record_chain(f, s);
	return perf_file_end(f, begin);
}

/* perf sorts by time: times must not contradict the order of the log. */
static int perfdata_sample(void *arg, struct walk *w, const struct walk_sample *s)
{
	struct perf_data *d = arg;

	if (s->waker)
		return d->code = fail(EX_UNAVAILABLE, "ERROR: perf.data has no place for "
				      "wakers, which this log has (--wakers): choose another "
				      "format, or record without them");
	if (s->time > d->now)
		d->now = s->time;
	if (!d->samples++)
		d->file.first = d->now;
	d->file.last = d->now;
	d->code = record_comm(d, s);
	for (size_t i = 0; i < s->npc && !d->code; i++)
		d->code = record_mapping(d, w, s, i);
	if (!d->code)
		d->code = record_sample(d, s);
	return d->code;
}

static const char *perfdata_machine(enum pmc_cputype type)
{
	const char *name = pmc_name_of_cputype(type);

	if (name && (strncmp(name, "INTEL_", 6) == 0 || strncmp(name, "AMD_", 4) == 0))
		return "x86_64";
	return name && strncmp(name, "ARMV8", 5) == 0 ? "aarch64" : NULL;
}

/* Is this record a mapping, not the name of a function? */
static bool record_maps_kernel(const struct pmclog_ev_map_in *mi)
{
	const char *bracket = strrchr(mi->pl_pathname, ']');

	return mi->pl_pid == -1 && (!bracket || !bracket[1]);
}

static int perfdata_record(void *arg, struct walk *w, const struct pmclog_ev *ev)
{
	struct perf_data *d = arg;

	switch (ev->pl_type) {
	case PMCLOG_TYPE_INITIALIZE:
		d->file.machine = perfdata_machine(ev->pl_u.pl_i.pl_arch);
		perfdata_forget(d);
		break;
	case PMCLOG_TYPE_MAP_IN:
		if (record_maps_kernel(&ev->pl_u.pl_mi))
			perfdata_forget(d);
		break;
	case PMCLOG_TYPE_PROCFORK:
		d->code = record_task(d, PERF_RECORD_FORK, (uint32_t)ev->pl_u.pl_f.pl_newpid,
				      (uint32_t)ev->pl_u.pl_f.pl_oldpid);
		break;
	case PMCLOG_TYPE_SYSEXIT:
		d->code = record_task(d, PERF_RECORD_EXIT, (uint32_t)ev->pl_u.pl_se.pl_pid,
				      (uint32_t)ev->pl_u.pl_se.pl_pid);
		break;
	default:
		break;
	}
	return d->code;
}

/* After damage of the log the file is complete in itself, and marked as partial. */
static int perfdata_convert(struct perf_data *d, struct walk *w, int fd, const char *log,
			    const char *file)
{
	int code = perf_file_open(&d->file, file), damage;

	if (code)
		return code;
	damage = walk_log(w, fd, log, STDERR_FILENO);
	if (d->code || (damage && !d->samples))
		return damage;
	code = perf_file_finish(&d->file, w);
	if (!code && damage)
		note("\"%s\" has the %ju samples before the damage.", file, (uintmax_t)d->samples);
	return code ? code : damage;
}

int report_perf_data(int fd, const char *log, struct symbols *symbols, const struct filter *filter,
		     const char *file)
{
	struct perf_data d = { .symbols = symbols, .known = calloc(KNOWN, sizeof(*d.known)) };
	const struct walk_user user = {
		.sample = perfdata_sample, .record = perfdata_record, .arg = &d, .again = true
	};
	struct walk *w = NULL;
	int code, closed;

	if (!d.known)
		return fail(EX_OSERR, "ERROR: no memory to convert \"%s\"", log);
	w = walk_new(symbols, filter, &user);
	code = w ? perfdata_convert(&d, w, fd, log, file) : EX_DATAERR;
	closed = perf_file_close(&d.file);
	walk_free(w);
	free(d.known);
	return code ? code : closed;
}
