/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Twenty cgroups and one event in each, as `pmcstat --for-each-cgroup` and `perf stat
 * --for-each-cgroup` count them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

/* The hierarchy of version 2, which is mounted if it is not. */
static bool cgroups_find(const struct bench *b, struct cgroups *g)
{
	FILE *mounts = setmntent("/proc/mounts", "r");
	const struct mntent *m;

	g->top[0] = '\0';
	while (mounts && (m = getmntent(mounts)))
		if (!strcmp(m->mnt_type, "cgroup2"))
			snprintf(g->top, sizeof(g->top), "%s", m->mnt_dir);
	if (mounts)
		endmntent(mounts);
	if (g->top[0])
		return true;
	snprintf(g->top, sizeof(g->top), "%s/cgroup", b->dir);
	g->mounted = mkdir(g->top, 0755) == 0 && mount("none", g->top, "cgroup2", 0, NULL) == 0;
	return g->mounted;
}

/* Perf counts by this hierarchy once it has any controller. */
static void controller_enable(const struct cgroups *g)
{
	char path[192], name[64] = "+";
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.controllers", g->top);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%62s", name + 1) != 1)
		name[0] = '\0';
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", g->top);
	f = name[0] ? fopen(path, "we") : NULL;
	if (f) {
		fputs(name, f);
		fclose(f);
	}
}

static void cgroup_name(const struct cgroups *g, unsigned int i, char *path, size_t size)
{
	snprintf(path, size, "%s/pmcbpf-bench.%d.%u", g->top, g->pid, i);
}

bool cgroups_make(const struct bench *b, struct cgroups *g)
{
	char path[192];

	memset(g, 0, sizeof(*g));
	g->pid = getpid();
	if (!cgroups_find(b, g)) {
		left_out("switch: cgroups", "no cgroups of version 2: %s", strerror(errno));
		return false;
	}
	controller_enable(g);
	for (g->n = 0; g->n < CGROUPS; g->n++) {
		cgroup_name(g, g->n, path, sizeof(path));
		if (mkdir(path, 0755)) {
			left_out("switch: cgroups", "%s: %s", path, strerror(errno));
			cgroups_remove(g);
			return false;
		}
		g->folder[g->n] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (g->folder[g->n] < 0)
			die("%s: %s", path, strerror(errno));
	}
	return true;
}

void cgroups_remove(struct cgroups *g)
{
	char path[192];

	while (g->n) {
		g->n--;
		close(g->folder[g->n]);
		cgroup_name(g, g->n, path, sizeof(path));
		if (rmdir(path))
			note("%s stays: %s", path, strerror(errno));
	}
	if (g->mounted && (umount(g->top) || rmdir(g->top)))
		note("%s stays: %s", g->top, strerror(errno));
}

/* The process that calls it joins the cgroup. */
void cgroup_enter(const struct cgroups *g, unsigned int i)
{
	int fd = openat(g->folder[i], "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		die("cgroup.procs: %s", strerror(errno));
	close(fd);
}

static int cgroup_perf_open(const struct bench *b, const struct event *ev, int folder)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = ev->type,
		.config = ev->config,
	};
	int fd = syscall(SYS_perf_event_open, &attr, folder, b->arena, -1,
			 PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		die("perf_event_open of a cgroup: %s", strerror(errno));
	return fd;
}

void cgroups_count(const struct bench *b, struct cgroups *g, enum how how, const struct event *ev)
{
	g->how = how;
	for (unsigned int i = 0; i < g->n; i++) {
		if (how == HOW_PERF)
			g->fd[i] = cgroup_perf_open(b, ev, g->folder[i]);
		if (how != HOW_OURS)
			continue;
		check_pmc(pmc_allocate(ev->spec, PMC_MODE_TC, PMC_F_CGROUP, PMC_CPU_ANY, &g->id[i],
				       0),
			  ev->spec);
		check_pmc(pmc_attach_cgroup(g->id[i], g->folder[i]), "pmc_attach_cgroup");
		check_pmc(pmc_start(g->id[i]), "pmc_start");
	}
}

void cgroups_count_end(struct cgroups *g)
{
	for (unsigned int i = 0; i < g->n; i++) {
		if (g->how == HOW_PERF)
			close(g->fd[i]);
		if (g->how == HOW_OURS)
			check_pmc(pmc_release(g->id[i]), "pmc_release");
	}
}
