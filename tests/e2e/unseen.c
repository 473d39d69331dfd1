/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process whose context switches a kernel has hidden from pmcbpfd's programs: `unseen DAEMON`. It
 * runs on CPU 0 and writes the state that the daemon's programs would have found: a number of the
 * last seen switch that lags behind the scheduler's, or another task than the one that runs.  So
 * the case can be made on any kernel, and the programs are the real ones.  Orders are lines of
 * words on standard input, each answered by a line: `away`: it was away meanwhile; `home`: it came
 * unseen; `write N`: writes to N new pages; `sleep`: a switch that is seen; `spin`: answers, and
 * keeps the CPU until the next line; `kernel`: prints the number of switches that the kernel itself
 * has hidden.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <err.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bpf/count/count_abi.h"

struct programs {
	volatile struct abi_open *open;	/* CPU 0's */
	volatile struct abi_cpu *cpu;
	volatile __u64 *hidden;
	__u64 made;			/* number of those that this program has made */
};

/* The daemon's map of that name. */
static int map_find(const char *daemon, const char *name, struct bpf_map_info *info)
{
	char path[300], line[128];
	struct dirent *d;
	unsigned int id;
	int found = -1;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", daemon);
	dir = opendir(path);
	if (!dir)
		err(1, "%s", path);
	while (found < 0 && (d = readdir(dir))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", daemon, d->d_name);
		f = fopen(path, "r");
		while (f && found < 0 && fgets(line, sizeof(line), f)) {
			__u32 size = sizeof(*info);
			int fd;

			if (sscanf(line, "map_id: %u", &id) != 1)
				continue;
			memset(info, 0, sizeof(*info));
			fd = bpf_map_get_fd_by_id(id);
			if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, info, &size) &&
			    !strcmp(info->name, name))
				found = fd;
			else if (fd >= 0)
				close(fd);
		}
		if (f)
			fclose(f);
	}
	closedir(dir);
	if (found < 0)
		errx(1, "pid %s has no map %s", daemon, name);
	return found;
}

static void *map_memory(int fd, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, (size + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);

	if (at == MAP_FAILED)
		err(1, "mmap");
	return at;
}

static size_t variable(const struct bpf_map_info *info, const char *name)
{
	struct btf *btf = btf__load_from_kernel_by_id(info->btf_id);
	const struct btf_type *section = btf__type_by_id(btf, info->btf_value_type_id);
	const struct btf_var_secinfo *v = btf_var_secinfos(section);

	for (int i = 0; i < btf_vlen(section); i++)
		if (!strcmp(btf__name_by_offset(btf, btf__type_by_id(btf, v[i].type)->name_off),
			    name))
			return v[i].offset;
	errx(1, "no variable %s", name);
}

static void find(struct programs *p, const char *daemon)
{
	struct bpf_map_info info;
	int fd = map_find(daemon, "pmcbpf.bss", &info);
	char *bss = map_memory(fd, info.value_size);

	p->open = (void *)(bss + variable(&info, "open_slice"));
	p->hidden = (void *)(bss + variable(&info, "switches_hidden"));
	p->made = 0;
	fd = map_find(daemon, "cpus", &info);
	p->cpu = map_memory(fd, (size_t)info.max_entries * info.value_size);
}

static void write_pages(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *at = mmap(NULL, n * page, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		err(1, "mmap");
	madvise((void *)at, n * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		at[i * page] = 1;
}

static void spin(void)
{
	struct pollfd next = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[256];

	puts("spinning");
	while (!poll(&next, 1, 0))
		;
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

/*
 * A seen switch detects the hidden ones.  Before anything was counted it finds no loss, so there
 * must be none in between: no other process takes the CPU from this one.
 */
static void keep_cpu(bool keep)
{
	const struct sched_param priority = { .sched_priority = keep };

	if (sched_setscheduler(0, keep ? SCHED_FIFO : SCHED_OTHER, &priority))
		err(1, "sched_setscheduler");
}

static void obey(struct programs *p, char *line)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
		keep_cpu(strcmp(word, "sleep") && strcmp(word, "spin"));
		if (!strcmp(word, "home")) {
			p->cpu->members = 0;
			p->open->set = 0;
			p->open->outside = 1;	/* no task's address */
			p->made++;
		} else if (!strcmp(word, "away")) {
			p->open->seen--;
			p->made++;
		} else if (!strcmp(word, "write")) {
			word = strtok(NULL, " \n");
			write_pages(strtoul(word ? word : "0", NULL, 10));
		} else if (!strcmp(word, "sleep")) {
			nanosleep(&moment, NULL);
		} else if (!strcmp(word, "spin")) {
			spin();
		} else if (!strcmp(word, "kernel")) {
			printf("kernel %lld\n", (long long)(*p->hidden - p->made));
		} else {
			errx(1, "no order: %s", word);
		}
	}
	keep_cpu(false);
}

int main(int argc, char *argv[])
{
	struct programs p;
	cpu_set_t cpus;
	char line[256];

	if (argc != 2)
		errx(1, "usage: unseen DAEMON");
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		err(1, "CPU 0");
	find(&p, argv[1]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		/* It has touched all of its memory before. */
		volatile __u64 warm = p.open->seen + p.cpu->members;

		(void)warm;
		obey(&p, line);
		puts("done");
	}
	return 0;
}
