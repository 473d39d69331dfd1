/* SPDX-License-Identifier: BSD-2-Clause */
/* Iterators: one returns its result in shared memory, the other is read. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "pmcbpf.skel.h"

static int visit_open(struct bpf_program *p, const struct bpf_iter_attach_opts *opts)
{
	struct bpf_link *link = bpf_program__attach_iter(p, opts);
	int fd;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		fd = -errno;
	/* The iterator keeps its own reference. */
	bpf_link__destroy(link);
	return fd;
}

/* Runs an iterator over the tasks of `info`, or over all, to its end. */
static int visit_read(struct bpf_program *p, union bpf_iter_link_info *info)
{
	struct bpf_iter_attach_opts opts;
	char buf[64];
	ssize_t n;
	int fd, err = 0;

	/* LIBBPF_OPTS() may not clear the padding at the end, and libbpf wants zeros there. */
	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.link_info = info;
	opts.link_info_len = sizeof(*info);
	fd = visit_open(p, info ? &opts : NULL);
	if (fd < 0)
		return fd;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		;
	if (n < 0)
		err = -errno;
	close(fd);
	return err;
}

int visit_run(const struct engine *e, struct abi_visit_args *args)
{
	struct abi_visit_args *shared = &e->skel->bss->visit;
	union bpf_iter_link_info info = { .task.tid = args->tgid };
	int err;

	if (args->op == ABI_VISIT_RUNNING)
		info.task.tid = 0, info.task.pid = args->tgid;
	memcpy(shared, args, sizeof(*args));
	err = visit_read(e->skel->progs.visit_tasks, args->tgid ? &info : NULL);
	memcpy(args, shared, sizeof(*args));
	return err;
}

int visit_all(struct bpf_program *p)
{
	return visit_read(p, NULL);
}

int visit_process_mappings(const struct engine *e, uint32_t pid)
{
	union bpf_iter_link_info info = { .task.pid = pid };

	return visit_read(e->skel->progs.visit_mappings, &info);
}

int visit_cover(const struct engine *e, uint32_t tgid, struct abi_cover *cover)
{
	struct abi_cover *shared = &e->skel->bss->cover;
	union bpf_iter_link_info info = { .task.tid = tgid };
	int err;

	memcpy(shared, cover, sizeof(*cover));
	err = visit_read(e->skel->progs.cover_process, &info);
	memcpy(cover, shared, sizeof(*cover));
	return err;
}

int visit_copies(const struct engine *e, int fd)
{
	uint64_t args[1] = { (uint64_t)fd };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err = bpf_prog_test_run_opts(bpf_program__fd(e->skel->progs.cover_copies), &opts);

	return err ?: (int)opts.retval;
}

int visit_bind_thread(const struct engine *e, struct abi_alone_at at, uint32_t tid)
{
	union bpf_iter_link_info info = { .task.tid = tid };

	e->skel->bss->alone_at = at;
	return visit_read(e->skel->progs.bind_thread, &info);
}

void visit_watch_forks(struct engine *e, bool watch)
{
	e->fork_watches += watch ? 1 : -1;
	__atomic_store_n(&e->skel->bss->watch_forks, e->fork_watches, __ATOMIC_RELEASE);
}

int visit_processes(const struct engine *e)
{
	return visit_open(e->skel->progs.list_processes, NULL);
}

uint64_t visit_exits(const struct engine *e)
{
	uint64_t done = __atomic_load_n(&e->skel->bss->exits_done, __ATOMIC_ACQUIRE);
	uint64_t begun = __atomic_load_n(&e->skel->bss->exits_begun, __ATOMIC_ACQUIRE);

	return begun * 2 + (begun != done);
}
