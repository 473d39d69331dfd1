/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes mappings as records: those of processes, read by helpers, and the kernel's own. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "loader/process/process.h"
#include "loader/base/base.h"
#include "loader/errand/errand.h"
#include "loader/log/log.h"
#include "mappings.h"
#include "loader/kernel/kernel.h"

#define KERNEL_PID (-1)
#define ALL_MS	   30000u		/* for the mappings of all processes */

static void mapping_put_file(struct logfile *l, pid_t pid, uint64_t start, const char *path,
			     const struct buildid *id)
{
	struct pmclog_ev ev;

	ev.pl_type = PMCLOG_TYPE_MAP_IN;
	ev.pl_u.pl_mi.pl_pid = pid;
	ev.pl_u.pl_mi.pl_start = start;
	(void)logrec_path(ev.pl_u.pl_mi.pl_pathname, path, LOGREC_PATH);
	ev.pl_u.pl_mi.pl_buildidlen = id->len;
	memcpy(ev.pl_u.pl_mi.pl_buildid, id->id, id->len);
	(void)logfile_put(l, clock_ns(), &ev);
}

/* --- processes ------------------------------------------------------------------------------ */

static void mapping_put_process(struct logfile *l, const struct mapping *m)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_PROC_CREATE };

	ev.pl_u.pl_pc.pl_pid = m->pid;
	snprintf(ev.pl_u.pl_pc.pl_pcomm, PMCLOG_COMM, "%s", m->name);
	(void)logfile_put(l, clock_ns(), &ev);
}

static void mapping_put_thread(struct logfile *l, const struct mapping *m)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_THR_CREATE };

	ev.pl_u.pl_tc.pl_tid = m->tid;
	ev.pl_u.pl_tc.pl_pid = m->pid;
	snprintf(ev.pl_u.pl_tc.pl_tdname, PMCLOG_COMM, "%s", m->name);
	(void)logfile_put(l, clock_ns(), &ev);
}

void mappings_of_outside(struct logfile *l)
{
	const struct mapping m = {
		.pid = PMCLOG_PID_OUTSIDE, .tid = PMCLOG_PID_OUTSIDE, .name = "[outside]",
	};

	mapping_put_process(l, &m);
	mapping_put_thread(l, &m);
}

static void mapping_put(struct logfile *l, const struct mapping *m)
{
	switch (m->what) {
	case MAPPING_PROCESS:
		mapping_put_process(l, m);
		break;
	case MAPPING_THREAD:
		mapping_put_thread(l, m);
		break;
	default:
		mapping_put_file(l, m->pid, m->start, m->name, &m->id);
	}
}

/* One reading of mappings. */
struct reading {
	struct errands *es;
	struct user *user;
	struct logfile *log;
	mappings_show_fn *shows;	/* NULL: the log may have all */
	mappings_name_fn *named;	/* or NULL */
	void *arg;
	unsigned int ms;
};

/* Returns the number of entries. */
static uint32_t part_put(const struct reading *r, const struct helper_part *part)
{
	uint8_t copy[HELPER_MAX_PART];
	struct mapping m;
	size_t at = 0, len = part->len;
	uint32_t n = 0;

	/* The part is valid only until another fiber reads one. */
	memcpy(copy, part->data, len);
	while (mappings_read_next(copy, len, &at, &m)) {
		mapping_put(r->log, &m);
		if (m.what == MAPPING_THREAD && r->named)
			r->named(r->arg, m.tid, m.name);
		n++;
		fiber_breathe(r->es->fibers);
	}
	return n;
}

/*
 * Reading the build id of a mapping's file may hang.  If so, the remaining mappings are read again
 * without build ids; if that hangs as well, the log gets a gap.
 */
static void mappings_fetch(const struct reading *r, pid_t pid)
{
	struct mappings_request q = { .pid = pid };
	struct helper_part part;
	struct errand *e;
	struct reason why;
	int err;

	/* Outside of an operation there is no fiber to wait in. */
	if (!fiber_current(r->es->fibers)) {
		logfile_gap(r->log);
		return;
	}
	do {
		err = errand_begin(r->es, r->user, ERRAND_MAPPINGS, &q, sizeof(q), NULL, 0, r->ms,
				   &e, &why);
		if (err)
			break;
		while ((err = errand_next(e, &part)) > 0) {
			if (r->shows && !r->shows(r->arg, pid)) {
				err = 0;
				break;
			}
			q.from += part_put(r, &part);
		}
		errand_end(e);
	} while (err == -ETIMEDOUT && !q.without_ids++);
	if (err)
		logfile_gap(r->log);
}

void mappings_of_process(struct errands *es, struct user *u, struct logfile *l, pid_t pid,
			 mappings_show_fn *shows, mappings_name_fn *named, void *arg)
{
	mappings_fetch(&(struct reading){
		.es = es, .user = u, .log = l, .shows = shows, .named = named, .arg = arg,
		.ms = ERRAND_MS,
	}, pid);
}

void mappings_of_all(struct errands *es, struct user *u, struct logfile *l)
{
	mappings_fetch(&(struct reading){ .es = es, .user = u, .log = l, .ms = ALL_MS },
		       MAPPINGS_OF_ALL);
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* The image with symbols if it is readable, else the name that stands for /proc/kallsyms. */
static void kernel_path(char *path, size_t size)
{
	static const char *const places[] = {
		"/usr/lib/debug/boot/vmlinux-%s", "/usr/lib/debug/lib/modules/%s/vmlinux",
		"/lib/modules/%s/build/vmlinux", "/boot/vmlinux-%s",
	};
	struct utsname u;

	for (unsigned int i = 0; !uname(&u) && i < sizeof(places) / sizeof(places[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, size, places[i], u.release);
#pragma GCC diagnostic pop
		if (!access(path, R_OK))
			return;
	}
	snprintf(path, size, "[kernel.kallsyms]");
}

/* Parses lines "name size refs users state address"; address 0 if addresses are hidden. */
static void modules_put(struct logfile *l)
{
	FILE *f = fopen("/proc/modules", "re");
	char line[4096], name[64], path[128];
	struct buildid id;
	uint64_t address;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %*s %*s %*s %*s %" SCNx64, name, &address) == 2 && address) {
			snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id",
				 name);
			buildid_of_notes_file(&id, path);
			snprintf(path, sizeof(path), "[%s]", name);
			mapping_put_file(l, KERNEL_PID, address, path, &id);
		}
	if (f)
		fclose(f);
}

bool mappings_of_kernel(struct logfile *l)
{
	char path[512];
	struct buildid id;
	uint64_t start;

	/* Without an address log no mapping, rather than a wrong one. */
	if (ksyms_start("/proc/kallsyms", &start))
		return false;
	kernel_path(path, sizeof(path));
	buildid_of_notes_file(&id, "/sys/kernel/notes");
	mapping_put_file(l, KERNEL_PID, start, path, &id);
	modules_put(l);
	return true;
}
