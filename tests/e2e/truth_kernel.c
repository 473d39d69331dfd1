/* SPDX-License-Identifier: BSD-2-Clause */
/* The product's walk in the kernel, with the tables of a daemon that runs. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <err.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <unistd.h>

#include "truth.h"
#include "truth.skel.h"

/* Chains of samples that have yet to come, oldest first. */
struct pending {
	STAILQ_ENTRY(pending) next;
	struct truth_record record;
};
static STAILQ_HEAD(, pending) pending = STAILQ_HEAD_INITIALIZER(pending);

static struct truth_bpf *skel;
static struct ring_buffer *chains;

/* --- the daemon's maps ------------------------------------------------------------------------ */

static void map_share(__u32 id)
{
	struct bpf_map *const mine[] = {
		skel->maps.unwind_chunks, skel->maps.unwind_files, skel->maps.unwind_processes,
		skel->maps.unwind_notes,
	};
	struct bpf_map_info info = { .id = 0 };
	__u32 size = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		err(2, "map %u", id);
	for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++)
		if (!strncmp(info.name, bpf_map__name(mine[i]), sizeof(info.name) - 1) &&
		    bpf_map__reuse_fd(mine[i], fd))
			err(2, "map %s", info.name);
	close(fd);
}

static void descriptor_share(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[128];
	unsigned int id;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "map_id: %u", &id) == 1)
			map_share(id);
	if (f)
		fclose(f);
}

static void maps_share(pid_t daemon)
{
	char path[320];
	const struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", daemon);
	d = opendir(path);
	if (!d)
		err(2, "%s", path);
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", daemon, e->d_name);
		descriptor_share(path);
	}
	closedir(d);
}

/* --- chains ----------------------------------------------------------------------------------- */

static int take_chain(void *ctx, void *data, size_t size)
{
	struct pending *p = calloc(1, sizeof(*p));

	if (!p || size > sizeof(p->record))
		errx(2, "a chain of %zu bytes", size);
	memcpy(&p->record, data, size);
	STAILQ_INSERT_TAIL(&pending, p, next);
	return 0;
}

void kernel_attach(pid_t daemon, int event)
{
	skel = truth_bpf__open();
	if (!skel)
		err(2, "truth.bpf.o");
	maps_share(daemon);
	if (truth_bpf__load(skel))
		err(2, "truth.bpf.o");
	chains = ring_buffer__new(bpf_map__fd(skel->maps.truths), take_chain, NULL, NULL);
	if (!chains ||
	    ioctl(event, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(skel->progs.on_sample)))
		err(2, "truth.bpf.o");
}

bool kernel_walk(const struct truth_sample *s, struct truth_chain *out)
{
	struct pending *p;
	bool found = false;

	if (!chains)
		return false;
	(void)ring_buffer__consume(chains);
	out->n = 0;
	/* Those before have lost their sample. */
	while (!found && (p = STAILQ_FIRST(&pending))) {
		const struct truth_record *r = &p->record;

		/* In an exec there is no chain. */
		found = (pid_t)r->tid == s->tid && r->sp == s->regs[TRUTH_SP] &&
			(!r->n || r->pc[0] == s->regs[TRUTH_PC]);
		if (found) {
			out->n = r->n;
			out->end = (int)r->end;
			memcpy(out->pc, r->pc, r->n * sizeof(r->pc[0]));
		}
		STAILQ_REMOVE_HEAD(&pending, next);
		free(p);
	}
	return out->n;
}
