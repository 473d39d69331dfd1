/* SPDX-License-Identifier: BSD-2-Clause */
/* See probes.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/helper.h"
#include "lib/base/nearest.h"
#include "engine.h"
#include "perf.h"
#include "pmcbpf.skel.h"
#include "probes.h"
#include "tracepoints.h"

#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"
#define KPROBE_TYPE "/sys/bus/event_source/devices/kprobe/type"
#define ENOTSUPP    524			/* the kernel's own, which reaches its callers */

/* Of perf_event_attr.config; the semaphore's offset is above it. */
#define CONFIG_RETURN	 1ull
#define CONFIG_SEMAPHORE 32

/* Each site has a perf event, which carries the program; one of returns has two. */
#define EVENTS_MAX (2 * WIRE_PROBE_SITES)

struct probe {
	unsigned int slot, n;
	bool kernel;			/* the kernel counts; at[0] has the sampling program */
	struct hit_sampler *sampler;	/* its program counts instead of on_probe; NULL: none */
	struct probe_event {
		int event, link;
	} at[EVENTS_MAX];
};

bool probes_here(void)
{
	return access(UPROBE_TYPE, R_OK) == 0;
}

bool probes_in_kernel(void)
{
	return access(KPROBE_TYPE, R_OK) == 0;
}

static uint32_t probe_type(const char *path)
{
	char text[32];

	return file_line(path, text, sizeof(text)) ? 0 : (uint32_t)strtoul(text, NULL, 10);
}

int probe_identify(const struct probe_spec *spec, struct probe_id *id)
{
	struct stat st = { .st_size = 0 };

	if (!spec->function && fstat(spec->file, &st))
		return -errno;
	memset(id, 0, sizeof(*id));
	if (spec->function)
		snprintf(id->function, sizeof(id->function), "%s", spec->function);
	id->device = st.st_dev;
	id->inode = st.st_ino;
	id->kind = spec->kind;
	id->nsites = spec->nsites;
	id->samples = spec->samples;
	memcpy(id->site, spec->site, spec->nsites * sizeof(spec->site[0]));
	memcpy(id->semaphore, spec->semaphore, spec->nsites * sizeof(spec->semaphore[0]));
	return 0;
}

/* --- places ----------------------------------------------------------------------------------- */

static int probe_deny(const struct probe_spec *spec, uint64_t site, int err, struct reason *why)
{
	const char *text = strerror(-err);

	switch (-err) {
	case EINVAL:
		text = "no place of the file for a probe, or for one with this semaphore";
		break;
	case ENOTSUPP:
	case EOPNOTSUPP:
		text = "the instruction there cannot be executed elsewhere, as probes do";
		break;
	case ENOEXEC:
	case EILSEQ:
		text = "there is no instruction";
		break;
	case EFAULT:
	case EIO:
		text = "the file has nothing there, or its file system takes no probes";
		break;
	case EACCES:
	case EPERM:
		text = "pmcbpfd needs CAP_PERFMON for that, and a kernel that is not locked down";
		break;
	}
	return deny(why, err == -ENOMEM || err == -EMFILE || err == -ENFILE ? err : -EOPNOTSUPP,
		    "%s: the kernel refuses a probe at offset 0x%llx: %s", spec->name,
		    (unsigned long long)site, text);
}

/*
 * The kernel looks at the instruction when it puts the breakpoint into a process, and maybe no
 * process has the file mapped yet: the probe would then fail later, in silence.  So this process
 * maps it.
 */
static void *site_map(const struct probe_spec *spec, uint64_t site, size_t page)
{
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, spec->file,
			(off_t)(site & ~(uint64_t)(page - 1)));

	return at == MAP_FAILED ? NULL : at;
}

#define FILE_PATH 32			/* bytes */

/* The magic link leads to the open file itself; no name is looked up. */
static void file_path(int file, char path[FILE_PATH])
{
	snprintf(path, FILE_PATH, "/proc/self/fd/%d", file);
}

/* Of place `i`: in all processes, or in the tasks of this one only. */
static int site_open(const struct probe_spec *spec, unsigned int i, bool returns, bool here)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[FILE_PATH];
	struct perf_event_spec event = {
		.type = probe_type(UPROBE_TYPE), .config = returns ? CONFIG_RETURN : 0,
		.config1 = (uintptr_t)path, .config2 = spec->site[i],
	};
	void *mapped;
	int fd;

	if (!event.type)
		return -EOPNOTSUPP;
	file_path(spec->file, path);
	event.config |= spec->semaphore[i] << CONFIG_SEMAPHORE;
	mapped = site_map(spec, spec->site[i], page);
	if (!mapped)
		return -EFAULT;
	fd = here ? perf_open_task(&event, 0, -1) : perf_open_idle(&event);
	munmap(mapped, page);
	return fd;
}

static int probe_link(struct probe_event *at, const struct probe_spec *spec,
		      const struct bpf_program *program, uint64_t cookie, struct reason *why)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);

	at->link = bpf_link_create(bpf_program__fd(program), at->event, BPF_PERF_EVENT, &opts);
	return at->link < 0 ? deny(why, at->link, "%s: no program can be attached: %s", spec->name,
				   strerror(-at->link)) : 0;
}

/* A disabled event on one CPU is enough: its program runs for all hits, of all CPUs. */
static int probe_add(struct probe *p, const struct probe_spec *spec, unsigned int i, bool returns,
		     const struct bpf_program *program, uint64_t cookie, struct reason *why)
{
	struct probe_event at = { .event = site_open(spec, i, returns, false) };
	int err;

	if (at.event < 0)
		return probe_deny(spec, spec->site[i], at.event, why);
	err = probe_link(&at, spec, program, cookie, why);
	if (err)
		close(at.event);
	else
		p->at[p->n++] = at;
	return err;
}

/* --- places for single tasks ------------------------------------------------------------------ */

struct probe_sites {
	int file;
	char path[FILE_PATH];
	uint32_t type;
	unsigned int n;
	uint64_t site[WIRE_PROBE_SITES], semaphore[WIRE_PROBE_SITES];
};

/* Tries the places, as an event of a task whose file is not mapped yet does not. */
static int sites_check(const struct engine *e, const struct probe_spec *spec, struct reason *why)
{
	for (unsigned int i = 0; i < spec->nsites; i++) {
		int fd = site_open(spec, i, false, true);

		if (fd < 0)
			return probe_deny(spec, spec->site[i], fd, why);
		tracepoints_close_event(e->tracepoints, fd);
	}
	return 0;
}

int probe_sites_new(const struct engine *e, const struct probe_spec *spec,
		    struct probe_sites **out, struct reason *why)
{
	int err = sites_check(e, spec, why);
	struct probe_sites *s = err ? NULL : calloc(1, sizeof(*s));
	char path[FILE_PATH];

	if (!s)
		return err ?: deny(why, -ENOMEM, "%s: no memory for a probe", spec->name);
	/* No file system is asked when such a descriptor is closed, so that none can delay it. */
	file_path(spec->file, path);
	s->file = open(path, O_PATH | O_CLOEXEC);
	if (s->file < 0) {
		err = deny(why, -errno, "%s: %m", spec->name);
		free(s);
		return err;
	}
	file_path(s->file, s->path);
	s->type = probe_type(UPROBE_TYPE);
	s->n = spec->nsites;
	memcpy(s->site, spec->site, s->n * sizeof(s->site[0]));
	memcpy(s->semaphore, spec->semaphore, s->n * sizeof(s->semaphore[0]));
	*out = s;
	return 0;
}

unsigned int probe_sites_n(const struct probe_sites *s)
{
	return s->n;
}

void probe_sites_event(const struct probe_sites *s, unsigned int i, struct perf_event_spec *event)
{
	event->type = s->type;
	event->config = s->semaphore[i] << CONFIG_SEMAPHORE;
	event->config1 = (uintptr_t)s->path;
	event->config2 = s->site[i];
}

void probe_sites_free(struct probe_sites *s)
{
	if (!s)
		return;
	close(s->file);
	free(s);
}

/* --- probes ----------------------------------------------------------------------------------- */

static uint64_t *probe_cookie(const struct engine *e, unsigned int slot)
{
	return (uint64_t *)&e->skel->bss->probe_cookies[slot];
}

/* Another one than the counter's last: its low bits are the counter. */
static uint64_t cookie_next(const struct engine *e, unsigned int slot)
{
	return (*probe_cookie(e, slot) | (ABI_TRACEPOINTS - 1)) + 1 + slot;
}

enum hit_kind probe_hit_kind(const struct probe_spec *spec)
{
	return !spec->function ? HIT_PROBE :
	       spec->kind == WIRE_PROBE_KRETPROBE ? HIT_KERNEL_RETURN : HIT_KERNEL_PROBE;
}

static int probe_load_sampler(struct engine *e, struct probe *p, const struct probe_spec *spec,
			      struct reason *why)
{
	int err = hit_sampler_new(e, p->slot, probe_hit_kind(spec), NULL, &p->sampler);

	return err ? deny(why, err, "%s: the sampling program cannot be loaded: %s", spec->name,
			  strerror(-err)) : 0;
}

static int probe_open_user(struct engine *e, struct probe *p, const struct probe_spec *spec,
			   struct reason *why)
{
	const struct bpf_program *count = e->skel->progs.on_probe;
	const struct bpf_program *enter = e->skel->progs.on_probe_enter;
	bool returns = spec->kind == WIRE_PROBE_URETPROBE;
	uint64_t cookie = cookie_next(e, p->slot);
	int err = spec->samples ? probe_load_sampler(e, p, spec, why) : 0;

	if (err)
		return err;
	if (p->sampler)
		count = hit_sampler_program(p->sampler);

	__atomic_store_n(probe_cookie(e, p->slot), cookie, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < spec->nsites && !err; i++) {
		/* The entry comes first, so that no return is counted whose call was not seen. */
		if (returns)
			err = probe_add(p, spec, i, false, enter, cookie, why);
		err = err ?: probe_add(p, spec, i, returns, count, cookie, why);
	}
	return err;
}

static int kprobe_deny(const struct probe_spec *spec, int err, struct reason *why)
{
	const char *text = strerror(-err);

	switch (-err) {
	case EINVAL:
		text = "the kernel needs this function for probes, or may not stop there";
		break;
	case EILSEQ:
		text = "no instruction begins there";
		break;
	case ENOENT:
		text = "it has no such function, or the function is shorter";
		break;
	case EACCES:
	case EPERM:
		text = "pmcbpfd needs CAP_PERFMON for that, and a kernel that is not locked down";
		break;
	}
	return deny(why, -EINVAL, "%s: the kernel refuses the probe: %s", spec->name, text);
}

/* The kernel's event of the probe carries the program.  Hits before that are none of its own. */
static int probe_sample_kernel(struct engine *e, struct probe *p, const struct probe_spec *spec,
			       struct reason *why)
{
	int source = ABI_SOURCE_TRACEPOINT + (int)p->slot;
	int err = probe_load_sampler(e, p, spec, why);
	uint64_t hits;

	err = err ?: probe_link(&p->at[0], spec, hit_sampler_program(p->sampler), 0, why);
	for (unsigned int cpu = 0; cpu < e->ncpu && !err; cpu++) {
		err = tracepoints_now(e->tracepoints, source, cpu, &hits);
		hit_sampler_begin(p->sampler, cpu, hits - e->cpus[cpu].hits[p->slot]);
	}
	return err;
}

/* A disabled event holds the kprobe; the kernel counts hits on each CPU whether anybody listens. */
static int probe_open_kernel(struct engine *e, struct probe *p, const struct probe_spec *spec,
			     struct reason *why)
{
	uint32_t anchor = (uint32_t)bpf_map__fd(e->skel->maps.anchor);
	struct perf_event_spec event = {
		.type = probe_type(KPROBE_TYPE),
		.config = spec->kind == WIRE_PROBE_KRETPROBE ? CONFIG_RETURN : 0,
		.config1 = (uintptr_t)spec->function, .config2 = spec->site[0],
	};
	int fd = perf_open_idle(&event), err = 0;

	if (fd < 0)
		return kprobe_deny(spec, fd, why);
	p->kernel = true;
	p->at[p->n++] = (struct probe_event){ .event = fd, .link = -1 };
	for (unsigned int cpu = 0; cpu < e->ncpu && !err; cpu++)
		err = tracepoints_ctl(e, ABI_TRACEPOINT_KPROBE, (uint32_t)fd,
				      ABI_TRACEPOINT_AT(p->slot, cpu), anchor);
	if (err)
		return deny(why, -EOPNOTSUPP, "%s: this kernel's types do not show where it counts "
			    "hits of kprobes", spec->name);
	return spec->samples ? probe_sample_kernel(e, p, spec, why) : 0;
}

int probe_open(struct engine *e, const struct probe_spec *spec, unsigned int slot,
	       struct probe **out, struct reason *why)
{
	struct probe *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->slot = slot;
	err = spec->function ? probe_open_kernel(e, p, spec, why) :
			       probe_open_user(e, p, spec, why);
	if (err) {
		probe_close(e, p, NULL);
		return err;
	}
	*out = p;
	return 0;
}

void probe_close(struct engine *e, struct probe *p, struct helpers *helpers)
{
	if (!p)
		return;
	__atomic_store_n(probe_cookie(e, p->slot), cookie_next(e, p->slot), __ATOMIC_RELEASE);
	if (p->sampler)
		hit_sampler_end(p->sampler);
	/* The kernel's counters go with the event. */
	for (unsigned int cpu = 0; p->kernel && cpu < e->ncpu; cpu++)
		e->cpus[cpu].misses[p->slot] = 0;
	for (unsigned int i = 0; i < p->n; i++) {
		int fds[] = { p->at[i].link, p->at[i].event };

		if (helpers) {
			helper_dispose(helpers, fds, 2);
			continue;
		}
		if (fds[0] >= 0)
			close(fds[0]);
		close(fds[1]);
	}
	hit_sampler_free(p->sampler);
	free(p);
}

struct hit_sampler *probe_sampler(const struct probe *p)
{
	return p->sampler;
}

uint64_t probe_missed(const struct engine *e, const struct probe *p, bool all)
{
	const __u64 *deep = all ? e->skel->bss->probe_deep_all : e->skel->bss->probe_deep;

	if (!p->kernel)
		return __atomic_load_n(&deep[p->slot], __ATOMIC_RELAXED);
	if (tracepoints_ctl(e, ABI_TRACEPOINT_MISSED, (uint32_t)p->at[0].event, 0, 0))
		return UINT64_MAX;
	return e->skel->bss->learned.hits;
}

/* --- the kernel's functions ------------------------------------------------------------------- */

#define BREATH 4096			/* lines without a breath */

/* What is looked for in /proc/kallsyms, and found. */
struct functions {
	const char *name;
	bool guessing;			/* `near` is offered all names */
	struct nearest near;
	unsigned int n;			/* functions of that name */
	uint64_t start, end;		/* the last of them, and the next symbol behind `start` */
};

/* A line is "ADDRESS TYPE NAME [MODULE]". */
static void functions_take(struct functions *fs, char *line)
{
	char *type, *name;
	uint64_t at = strtoull(line, &type, 16);

	if (*type != ' ' || !type[1] || type[2] != ' ' || !strchr("tTwW", type[1]))
		return;
	name = type + 3;
	name[strcspn(name, "\t\n")] = '\0';
	if (fs->guessing)
		nearest_offer(&fs->near, name);
	if (at > fs->start && at < fs->end)
		fs->end = at;
	if (strcmp(name, fs->name) != 0)
		return;
	fs->n++;
	fs->start = at;
}

static int functions_read(const struct engine *e, struct functions *fs)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char *line = NULL;
	size_t room = 0;

	if (!f)
		return -errno;
	fs->n = 0;
	fs->end = UINT64_MAX;
	for (unsigned int i = 1; getline(&line, &room, f) > 0; i++) {
		functions_take(fs, line);
		if (i % BREATH == 0)
			engine_breathe(e);
	}
	free(line);
	fclose(f);
	return 0;
}

static int functions_deny(const struct engine *e, struct functions *fs, struct reason *why)
{
	if (fs->n)
		return deny(why, -EINVAL, "the kernel has %u functions \"%s\", and a probe cannot "
			    "choose among them; count a function that calls one of them", fs->n,
			    fs->name);
	nearest_begin(&fs->near, fs->name);
	fs->guessing = true;
	(void)functions_read(e, fs);
	return deny(why, -EINVAL, "the kernel has no function \"%s\"%s; it may be inlined, or its "
		    "module is not loaded", fs->name, nearest_hint(&fs->near, ""));
}

/* Some kernels take any offset, and would count in another function. */
static int functions_check(const struct engine *e, struct functions *fs, uint64_t offset,
			   struct reason *why)
{
	int err = functions_read(e, fs);	/* `start` is known now, for `end` */

	if (err)
		return deny(why, -EINVAL, "/proc/kallsyms: %s", strerror(-err));
	if (!fs->start || fs->end == UINT64_MAX)
		return deny(why, -EINVAL, "%s+0x%llx: kernel.kptr_restrict hides the lengths of "
			    "functions from pmcbpfd; count at the function's beginning", fs->name,
			    (unsigned long long)offset);
	if (offset < fs->end - fs->start)
		return 0;
	return deny(why, -EINVAL, "%s+0x%llx: the function has %llu bytes", fs->name,
		    (unsigned long long)offset, (unsigned long long)(fs->end - fs->start));
}

int probe_check_function(const struct engine *e, const char *function, uint64_t offset,
			 struct reason *why)
{
	struct functions fs = { .name = function };
	int err = functions_read(e, &fs);

	if (err)
		return deny(why, -EINVAL, "/proc/kallsyms: %s", strerror(-err));
	if (fs.n != 1)
		return functions_deny(e, &fs, why);
	return offset ? functions_check(e, &fs, offset, why) : 0;
}
