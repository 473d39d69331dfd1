/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and descriptors of the largest size that the kernel permits. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strangers.h"

#define PAGE 4096u

static const uint32_t CONTEXT_SWITCHES = 0x2000b, CLOCK_HARD = 0x20000;

static double since(uint64_t begin)
{
	return (double)(now_ns() - begin) / 1e6;
}

/* A log and a sampling PMC, so that an attach must list the target's mappings. */
static int prepare_samples(int sock, uint32_t *id)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), err = link_log(sock, null);

	close(null);
	return err ?: link_allocate(sock, PMC_MODE_TS, CLOCK_HARD, 0, id);
}

static void attach_once(pid_t target, const char *what, unsigned int n)
{
	int sock = link_open(), err;
	uint64_t begin;
	uint32_t id = 0;

	err = prepare_samples(sock, &id);
	begin = now_ns();
	if (!err)
		err = link_attach(sock, id, target);
	attack_note("attached to %u %s in %.0f ms%s%.100s", n, what, since(begin),
		    err ? ": " : "", err ? link_reason() : "");
	attack_hold();
}

#define FILES 1024u			/* more than a reader's cache holds */

static void file_name(char *path, size_t size, unsigned int n)
{
	snprintf(path, size, "%s/mapped/%u", stage->dir, n % FILES);
}

static void make_files(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/mapped", stage->dir);
	mkdir(path, 0755);
	for (unsigned int i = 0; i < FILES; i++) {
		int fd;

		file_name(path, sizeof(path), i);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
		if (fd < 0 || ftruncate(fd, PAGE))
			die("%s: %s", path, strerror(errno));
		close(fd);
	}
}

/* No two adjacent ones map adjacent parts of a file, so that none are merged. */
static void mappings(void)
{
	unsigned int n = 0;
	void *at = NULL;

	while (at != MAP_FAILED && n < scaled(65000)) {
		char path[128];
		int fd;

		file_name(path, sizeof(path), n);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		n += at != MAP_FAILED;
		close(fd);
	}
	attach_once(0, "executable mappings", n);
}

/* --- mappings and mounts --------------------------------------------------------------------- */

static pid_t mounted_target;
static unsigned int nmounts, nfiles;

static void map_files(const char *dir)
{
	for (unsigned int i = 0; i < scaled(1000); i++) {
		char path[128];
		int fd;

		snprintf(path, sizeof(path), "%s/file%u", dir, i);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
		if (fd < 0 || ftruncate(fd, PAGE) ||
		    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			break;
		close(fd);
	}
}

static void mount_many(const char *dir)
{
	for (unsigned int i = 0; i < scaled(5000); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/on%u", dir, i % 100);
		mkdir(path, 0755);
		if (mount("none", path, "tmpfs", 0, "size=4k"))
			break;
	}
}

/* Mounted by root, in a namespace that ends with the process, which then becomes the attacker's. */
static void prepare_mounts(void)
{
	char dir[96], byte;
	int ready[2];

	snprintf(dir, sizeof(dir), "%s/mounts", stage->dir);
	mkdir(dir, 0777);
	chmod(dir, 0777);
	nmounts = scaled(5000);
	nfiles = scaled(1000);
	if (pipe2(ready, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	mounted_target = crew_fork();
	if (mounted_target) {
		close(ready[1]);
		byte = (char)read(ready[0], &byte, 1);
		close(ready[0]);
		return;
	}
	if (unshare(CLONE_NEWNS) || mount("none", dir, "tmpfs", 0, "mode=0777,huge=never"))
		_exit(1);
	map_files(dir);
	mount_many(dir);
	crew_become(NOBODY);
	close(ready[1]);
	for (;;)
		pause();
}

static void mounts(void)
{
	char what[64];

	snprintf(what, sizeof(what), "mappings with %u mounts", nmounts);
	attach_once(mounted_target, what, nfiles);
}

static void end_mounts(void)
{
	crew_kill(mounted_target);
	mounted_target = 0;
}

/* --- processes ------------------------------------------------------------------------------- */

static unsigned int make_children(unsigned int wanted_n)
{
	unsigned int n = 0;

	while (n < wanted_n && crew_sleeper() > 0)
		n++;
	return n;
}

/* A tree is attached and detached while others are measured. */
static void tree(unsigned int wanted_n)
{
	int sock = link_open(), err = 0;
	unsigned int n = make_children(wanted_n), times = 0;
	double attach = 0, release = 0;
	char why[120] = "";

	attack_in_place();
	do {
		uint64_t begin;
		uint32_t id;

		err = link_allocate(sock, PMC_MODE_TC, CONTEXT_SWITCHES, PMC_F_DESCENDANTS, &id);
		if (err)
			break;
		begin = now_ns();
		err = link_attach(sock, id, 0);
		if (since(begin) > attach)
			attach = since(begin);
		if (err)
			snprintf(why, sizeof(why), ": %.110s", link_reason());
		begin = now_ns();
		link_id(sock, WIRE_OP_PMCRELEASE, id);
		if (since(begin) > release)
			release = since(begin);
		times++;
	} while (!attack_over());
	attack_note("%u processes, %u times: attached in %.1f ms, released in %.1f ms at most%s", n,
		    times, attach, release, why);
}

static void descendants(void)
{
	tree(scaled(8000));
}

static void release(void)
{
	tree(scaled(10000));
}

/* --- a descriptor that takes long to describe ------------------------------------------------ */

static void large_epoll(void)
{
	int first = eventfd(0, EFD_CLOEXEC), epoll = epoll_create1(EPOLL_CLOEXEC);
	int sock = link_open();
	struct wire_attach_req a = { .pid = 1 };
	unsigned int n = 0, times = 0;
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	while (n < scaled(19900)) {
		struct epoll_event e = { .events = EPOLLIN };
		int fd = dup(first);

		if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e))
			break;
		n++;
	}
	if (link_allocate(sock, PMC_MODE_TC, CONTEXT_SWITCHES, 0, &a.pmcid))
		attack_skip("no PMC: %s", link_reason());
	attack_in_place();
	do {
		link_call(sock, WIRE_OP_PMCATTACH, &a, sizeof(a), epoll, NULL);
		times++;
	} while (!attack_over());
	attack_note("%u entries, sent %u times: %s", n, times, link_reason());
}

const struct attack size_attacks[] = {
	{ .name = "mappings", .prepare = make_files, .run = mappings },
	{ .name = "mounts", .prepare = prepare_mounts, .run = mounts, .clean = end_mounts },
	{ .name = "descendants", .run = descendants },
	{ .name = "release", .run = release },
	{ .name = "epoll", .run = large_epoll },
	{ .name = NULL }
};
