/* SPDX-License-Identifier: BSD-2-Clause */
/* Iterators: one that answers in shared memory, and one that is read. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "visit.h"

static int open_iterator(struct bpf_program *p, const struct bpf_iter_attach_opts *opts)
{
	struct bpf_link *link = bpf_program__attach_iter(p, opts);
	int fd;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		fd = -errno;
	/* The iterator keeps what it needs. */
	bpf_link__destroy(link);
	return fd;
}

int visit_run(struct bpf_program *p, struct abi_visit_args *shared, struct abi_visit_args *args)
{
	union bpf_iter_link_info info = { .task.tid = args->tgid };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	char buf[64];
	ssize_t n;
	int fd, err = 0;

	if (args->op == ABI_VISIT_RUNNING)
		info.task.tid = 0, info.task.pid = args->tgid;
	memcpy(shared, args, sizeof(*args));
	fd = open_iterator(p, args->tgid ? &opts : NULL);
	if (fd < 0)
		return fd;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		;
	if (n < 0)
		err = -errno;
	close(fd);
	memcpy(args, shared, sizeof(*args));
	return err;
}

int visit_processes(struct bpf_program *p)
{
	return open_iterator(p, NULL);
}
