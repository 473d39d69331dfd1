// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process with given credentials:
 *
 *	stand [-u UID] [-g GID] [-c CAPS] [-d] [-n] [-a] [-p PID] [-l] [-r] [COMMAND [ARG]...]
 *
 * -u, -g	real, effective and saved ids (0); no other group
 * -c CAPS	of the capabilities only these, a number; COMMAND gets them too
 * -n		as root of a user namespace of its own
 * -d		not dumpable
 * -a		lets every process trace it where Yama asks
 * -p PID	lets this one
 * -l		in a Landlock domain, whose processes trace none outside; 77 if there are none
 * -r		in real time: no other such process preempts it
 *
 * Without COMMAND it prints its pid and waits; -d and -a last until an exec only.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

static void check(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(126);
	}
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	check(fd < 0 || write(fd, text, strlen(text)) < 0, path);
	close(fd);
}

static void limit(uint64_t caps)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	for (int i = 0; i < 2; i++)
		d[i].permitted = d[i].effective = d[i].inheritable = (uint32_t)(caps >> 32 * i);
	check(syscall(SYS_capset, &h, d), "capset");
	for (unsigned int i = 0; i < 64; i++)
		if (caps >> i & 1)
			check(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0), "ambient");
}

static void own_namespace(unsigned int uid, unsigned int gid)
{
	char map[64];

	check(unshare(CLONE_NEWUSER), "unshare");
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
}

/* Any rule makes a domain: this one is about block devices. */
static void own_domain(void)
{
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK,
	};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs),
			      0);

	if (fd < 0)
		exit(77);
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	check(syscall(SYS_landlock_restrict_self, fd, 0) != 0, "landlock");
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned int uid = 0, gid = 0;
	int dumpable = 1, namespace = 0, domain = 0, realtime = 0, opt;
	long tracer = 0;
	uint64_t caps = 0;

	while ((opt = getopt(argc, argv, "+u:g:c:dnap:lr")) > 0) {
		switch (opt) {
		case 'u': uid = (unsigned int)atoi(optarg); break;
		case 'g': gid = (unsigned int)atoi(optarg); break;
		case 'c': caps = strtoull(optarg, NULL, 0); break;
		case 'd': dumpable = 0; break;
		case 'n': namespace = 1; break;
		case 'a': tracer = -1; break;
		case 'p': tracer = atol(optarg); break;
		case 'l': domain = 1; break;
		case 'r': realtime = 1; break;
		default: return 2;
		}
	}
	if (realtime)
		check(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 1 }), "real time");
	if (!uid && caps)		/* or an exec by root brings them all back */
		check(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT), "securebits");
	check(prctl(PR_SET_KEEPCAPS, 1), "keepcaps");
	check(setgroups(0, NULL), "setgroups");
	check(setresgid(gid, gid, gid), "setresgid");
	check(setresuid(uid, uid, uid), "setresuid");
	if (uid || caps)
		limit(caps);
	prctl(PR_SET_DUMPABLE, 1);	/* or its own /proc would be root's */
	if (namespace)
		own_namespace(uid, gid);
	prctl(PR_SET_DUMPABLE, dumpable);
	if (tracer)
		check(prctl(PR_SET_PTRACER, tracer, 0, 0, 0), "PR_SET_PTRACER");
	if (domain)
		own_domain();
	if (optind < argc) {
		execvp(argv[optind], argv + optind);
		check(1, argv[optind]);
	}
	printf("%d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}
