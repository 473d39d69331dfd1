/* SPDX-License-Identifier: BSD-2-Clause */
/* Attacks that take all of a resource. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strangers.h"

#define ROWS 16u

static const uint32_t CONTEXT_SWITCHES = 0x2000b, CLOCK_PROF = 0x20002, ALIGNMENT = 0x20010,
		      CLOCK_HARD = 0x20000;

/* Silent connections; refused ones stay open as well. */
static void silent(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < scaled(4200); i++)
		n += link_connect() >= 0;
	attack_note("%u connections", n);
	attack_hold();
}

/* Connections that open and close all the time. */
static void comers(void)
{
	unsigned int n = 0;

	attack_in_place();
	while (!attack_over()) {
		int sock[64];

		for (unsigned int i = 0; i < 64; i++)
			sock[i] = link_connect();
		for (unsigned int i = 0; i < 64; i++)
			if (sock[i] >= 0)
				close(sock[i]);
		n += 64;
	}
	attack_note("%u connections", n);
}

/* One connection requests the longest replies, and reads none. */
static void flood(void)
{
	struct wire_cpu_req cpu = { .cpu = 0 };
	struct packet p = { .op = WIRE_OP_GETPMCINFO, .arg = &cpu, .len = sizeof(cpu) };
	int sock[32];
	unsigned int n = 0;

	for (unsigned int i = 0; i < 32; i++)
		sock[i] = link_open();
	attack_in_place();
	while (!attack_over()) {
		unsigned int sent = 0;

		for (unsigned int i = 0; i < 32; i++)
			sent += !link_send(sock[i], &p, MSG_DONTWAIT);
		n += sent;
		if (!sent)
			usleep(1000);
	}
	attack_note("%u requests unread", n);
}

/* --- rows, sets, descriptors ----------------------------------------------------------------- */

static unsigned int allocate_all(int sock, uint32_t mode, uint32_t event, uint32_t flags,
				 uint32_t *id, unsigned int n)
{
	unsigned int i = 0;

	while (i < n && !link_allocate(sock, mode, event, flags, &id[i]))
		i++;
	return i;
}

static void soft_rows(void)
{
	uint32_t id[ROWS * 2];
	int sock = link_open();
	unsigned int n = allocate_all(sock, PMC_MODE_TC, CONTEXT_SWITCHES, 0, id, ROWS * 2);

	attack_note("%u PMCs, then %s", n, link_reason());
	attack_hold();
}

/* Every combination of twelve PMCs is measured in one child. */
static void children(void)
{
	uint32_t id[12];
	int sock = link_open();
	unsigned int all = scaled(4095), failed = 0;
	unsigned int n = allocate_all(sock, PMC_MODE_TC, CONTEXT_SWITCHES, PMC_F_DESCENDANTS, id,
				      12);
	char why[120] = "none was refused";

	for (unsigned int i = 1; i <= all; i++) {
		pid_t pid = crew_sleeper();

		for (unsigned int bit = 0; pid > 0 && bit < n; bit++)
			if (i >> bit & 1 && link_attach(sock, id[bit], pid) && !failed++)
				snprintf(why, sizeof(why), "%.119s", link_reason());
	}
	attack_note("%u PMCs on %u children: %s", n, all, why);
	attack_hold();
}

static void *wait_in_thread(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

/* An event for each thread of a process that has many. */
static void threads(void)
{
	uint32_t id = 0;
	int sock = link_open(), err;
	unsigned int n = 0;
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	while (n < scaled(4000) && !pthread_create(&t, &attr, wait_in_thread, NULL))
		n++;
	err = link_allocate(sock, PMC_MODE_TC, ALIGNMENT, 0, &id);
	if (!err)
		err = link_attach(sock, id, 0);
	if (!err)
		err = link_id(sock, WIRE_OP_PMCSTART, id);
	attack_note("%u threads: %s", n, err ? link_reason() : "counted");
	attack_hold();
}

/* A sequence of sampling PMCs, of several processes. */
static void sample_on(unsigned int *done)
{
	int sock = link_open();

	while (!attack_over()) {
		uint32_t id;

		if (link_allocate(sock, PMC_MODE_TS, CLOCK_PROF, 0, &id)) {
			usleep(1000);
			continue;
		}
		link_id(sock, WIRE_OP_PMCRELEASE, id);
		__atomic_fetch_add(done, 1, __ATOMIC_RELAXED);
	}
}

static void sampling(void)
{
	unsigned int *n = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			       0);

	for (unsigned int i = 0; i < 4; i++)
		if (crew_fork() == 0) {
			sample_on(n);
			_exit(0);
		}
	attack_hold();
	attack_note("%u allocations", *n);
}

/* As many sampling PMCs at a time as possible: each process has sixteen. */
static void samplers(void)
{
	unsigned int *total = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				   -1, 0);

	for (unsigned int i = 0; i < scaled(200); i++) {
		uint32_t id[ROWS];
		int ready[2], sock;
		char byte;

		if (pipe2(ready, O_CLOEXEC))
			break;
		if (crew_fork()) {
			close(ready[1]);
			byte = (char)read(ready[0], &byte, 1);
			close(ready[0]);
			continue;
		}
		sock = link_open();
		if (sock >= 0)
			*total += allocate_all(sock, PMC_MODE_TS, CLOCK_HARD, 0, id, ROWS);
		close(ready[1]);
		for (;;)
			pause();
	}
	attack_note("%u sampling PMCs", *total);
	attack_hold();
}

/*
 * --- the helper process that checks permission for us -------------------------------------------
 */

/* Stops any process that the daemon runs with our credentials as soon as it is seen. */
static void stop_children(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", stage->daemon, stage->daemon);
	for (;;) {
		FILE *f = fopen(path, "re");
		int pid;

		while (f && fscanf(f, "%d", &pid) == 1)
			kill(pid, SIGSTOP);
		if (f)
			fclose(f);
	}
}

static void stopped_child(void)
{
	int sock = link_open();
	unsigned int n = 0;
	pid_t target = crew_fork();

	if (target == 0)
		for (;;)
			pause();
	if (crew_fork() == 0)
		stop_children();
	attack_in_place();
	while (!attack_over()) {
		uint32_t id;

		if (link_allocate(sock, PMC_MODE_TC, CONTEXT_SWITCHES, 0, &id))
			break;
		link_attach(sock, id, target);
		link_id(sock, WIRE_OP_PMCRELEASE, id);
		n++;
	}
	attack_note("%u attaches", n);
}

const struct attack crowd_attacks[] = {
	{ .name = "silent", .run = silent },
	{ .name = "comers", .run = comers },
	{ .name = "flood", .run = flood },
	{ .name = "soft-rows", .run = soft_rows },
	{ .name = "children", .run = children },
	{ .name = "threads", .run = threads },
	{ .name = "sampling", .run = sampling },
	{ .name = "samplers", .run = samplers },
	{ .name = "stopped-child", .run = stopped_child },
	{ .name = NULL }
};
