/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads bpf/sample.bpf.c, once for every sampling PMC. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sampler.h"
#include "sample.skel.h"	/* needs the types of the first */

#define LOG_SIZE  (1 << 16)
#define RING_HEAD 8u			/* bytes of the kernel's before each record */
/* At 20,000 samples a second the daemon may be late by a quarter of a second, as perf may. */
#define RING_MIN  (512u * 1024)

struct samplers {
	struct samplers_config config;
	size_t ring_size;
	int *ring_fds;			/* per CPU */
	int epoll;
	struct rings *rings;
};

struct sampler {
	struct sample *skel;
};

/* Room for nsamples records of the full depth at least; rings have a power of two of pages. */
static size_t ring_size(const struct samplers_config *c)
{
	size_t want = c->nsamples * (RING_HEAD + sizeof(struct abi_rec) + 8 * (size_t)c->depth);
	size_t size = RING_MIN;

	while (size < want)
		size *= 2;
	return size;
}

static int make_rings(struct samplers *s)
{
	int err = 0;

	for (uint32_t cpu = 0; cpu < s->config.ncpu && !err; cpu++) {
		struct epoll_event e = { .events = EPOLLIN };
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "pmc_ring", 0, 0,
					(uint32_t)s->ring_size, NULL);

		if (fd < 0)
			return -errno;
		s->ring_fds[cpu] = fd;
		if (bpf_map_update_elem(s->config.map, &cpu, &fd, BPF_ANY) ||
		    epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e))
			err = -errno;
	}
	return err;
}

int samplers_new(const struct samplers_config *config, struct samplers **out, struct why *why)
{
	struct samplers *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return deny(why, -ENOMEM, "no memory for sampling");
	s->config = *config;
	s->ring_size = ring_size(config);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->ring_fds = malloc(config->ncpu * sizeof(int));
	if (s->ring_fds) {
		memset(s->ring_fds, -1, config->ncpu * sizeof(int));
		err = s->epoll < 0 ? -errno : make_rings(s);
	}
	if (err)
		deny(why, err, "cannot make rings of %zu bytes for %u CPUs: %s; a smaller "
		     "kern.hwpmc.nsamples or kern.hwpmc.callchaindepth takes less memory",
		     s->ring_size, config->ncpu, strerror(-err));
	else
		err = rings_new(s->ring_fds, config->ncpu, s->ring_size, &s->rings, why);
	if (err) {
		samplers_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void samplers_free(struct samplers *s)
{
	if (!s)
		return;
	rings_free(s->rings);
	for (uint32_t cpu = 0; s->ring_fds && cpu < s->config.ncpu; cpu++)
		if (s->ring_fds[cpu] >= 0) {
			bpf_map_delete_elem(s->config.map, &cpu);
			close(s->ring_fds[cpu]);
		}
	free(s->ring_fds);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}

int samplers_fd(const struct samplers *s)
{
	return s->epoll;
}

struct rings *samplers_rings(const struct samplers *s)
{
	return s->rings;
}

static int load(struct samplers *ss, struct sample *skel)
{
	int err = bpf_map__set_inner_map_fd(skel->maps.rings, ss->ring_fds[0]);

	err = err ?: bpf_map__reuse_fd(skel->maps.rings, ss->config.map);
	return err ?: sample__load(skel);
}

int sampler_new(struct samplers *ss, uint32_t id, bool chain, bool both_sides, struct sampler **out,
		struct why *why)
{
	struct sampler *s = calloc(1, sizeof(*s));
	char *log = calloc(1, LOG_SIZE);
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = log, .kernel_log_size = LOG_SIZE);
	int err = -ENOMEM;

	if (!s || !log)
		goto out;
	s->skel = sample__open_opts(&opts);
	if (!s->skel) {
		err = -errno;
		goto out;
	}
	s->skel->rodata->pmc = id;
	s->skel->rodata->depth = chain ? ss->config.depth : 1;
	s->skel->rodata->both_sides = both_sides;
	err = load(ss, s->skel);
	if (err)
		deny_program(why, err, "the sampling program", log);
out:
	free(log);
	if (err) {
		sampler_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	sample__destroy(s->skel);
	free(s);
}

int sampler_program(const struct sampler *s)
{
	return bpf_program__fd(s->skel->progs.on_overflow);
}

struct abi_sampler sampler_counts(const struct sampler *s)
{
	const volatile struct abi_sampler *c = &s->skel->bss->counts;

	return (struct abi_sampler){
		.samples = c->samples, .dropped = c->dropped, .paused = c->paused,
	};
}
