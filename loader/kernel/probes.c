/* SPDX-License-Identifier: BSD-2-Clause */
/* See probes.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/helper.h"
#include "engine.h"
#include "perf.h"
#include "pmcbpf.skel.h"
#include "probes.h"

#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"
#define ENOTSUPP    524			/* the kernel's own, which reaches its callers */

/* Of perf_event_attr.config; the semaphore's offset is above it. */
#define CONFIG_RETURN	 1ull
#define CONFIG_SEMAPHORE 32

/* Each site has a perf event, which carries the program; one of returns has two. */
#define EVENTS_MAX (2 * WIRE_PROBE_SITES)

struct probe {
	unsigned int slot, n;
	struct probe_event {
		int event, link;
	} at[EVENTS_MAX];
};

bool probes_here(void)
{
	return access(UPROBE_TYPE, R_OK) == 0;
}

static uint32_t probe_type(void)
{
	char text[32];

	return file_line(UPROBE_TYPE, text, sizeof(text)) ? 0 : (uint32_t)strtoul(text, NULL, 10);
}

int probe_identify(const struct probe_spec *spec, struct probe_id *id)
{
	struct stat st;

	if (fstat(spec->file, &st))
		return -errno;
	memset(id, 0, sizeof(*id));
	id->device = st.st_dev;
	id->inode = st.st_ino;
	id->kind = spec->kind;
	id->nsites = spec->nsites;
	id->semaphore = spec->semaphore;
	memcpy(id->site, spec->site, spec->nsites * sizeof(spec->site[0]));
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

static int site_open(const struct probe_spec *spec, uint64_t site, bool returns)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[32];
	struct perf_event_spec event = {
		.type = probe_type(), .config = returns ? CONFIG_RETURN : 0,
		.config1 = (uintptr_t)path, .config2 = site,
	};
	void *mapped;
	int fd;

	if (!event.type)
		return -EOPNOTSUPP;
	/* The magic link leads to the open file itself; no name is looked up. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", spec->file);
	event.config |= spec->semaphore << CONFIG_SEMAPHORE;
	mapped = site_map(spec, site, page);
	if (!mapped)
		return -EFAULT;
	fd = perf_open_idle(&event);
	munmap(mapped, page);
	return fd;
}

/* A disabled event on one CPU is enough: its program runs for all hits, of all CPUs. */
static int probe_add(struct probe *p, const struct probe_spec *spec, uint64_t site, bool returns,
		     const struct bpf_program *program, uint64_t cookie, struct reason *why)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);
	int event = site_open(spec, site, returns), link;

	if (event < 0)
		return probe_deny(spec, site, event, why);
	link = bpf_link_create(bpf_program__fd(program), event, BPF_PERF_EVENT, &opts);
	if (link < 0) {
		close(event);
		return deny(why, link, "%s: no program can be attached: %s", spec->name,
			    strerror(-link));
	}
	p->at[p->n++] = (struct probe_event){ .event = event, .link = link };
	return 0;
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

int probe_open(struct engine *e, const struct probe_spec *spec, unsigned int slot,
	       struct probe **out, struct reason *why)
{
	const struct bpf_program *count = e->skel->progs.on_probe;
	const struct bpf_program *enter = e->skel->progs.on_probe_enter;
	bool returns = spec->kind == WIRE_PROBE_URETPROBE;
	uint64_t cookie = cookie_next(e, slot);
	struct probe *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->slot = slot;
	__atomic_store_n(probe_cookie(e, slot), cookie, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < spec->nsites && !err; i++) {
		/* The entry comes first, so that no return is counted whose call was not seen. */
		if (returns)
			err = probe_add(p, spec, spec->site[i], false, enter, cookie, why);
		err = err ?: probe_add(p, spec, spec->site[i], returns, count, cookie, why);
	}
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
	for (unsigned int i = 0; i < p->n; i++) {
		int fds[] = { p->at[i].link, p->at[i].event };

		if (helpers) {
			helper_dispose(helpers, fds, 2);
			continue;
		}
		close(fds[0]);
		close(fds[1]);
	}
	free(p);
}

uint64_t probe_deep(const struct engine *e, unsigned int slot, bool all)
{
	const __u64 *deep = all ? e->skel->bss->probe_deep_all : e->skel->bss->probe_deep;

	return __atomic_load_n(&deep[slot], __ATOMIC_RELAXED);
}
