/* SPDX-License-Identifier: BSD-2-Clause */
/* Three users, some processes of each, one random life after the other. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stranger.h"

#define EACH	 2u			/* processes of a user at a time */
#define WORKERS	 (USERS * EACH)
#define LIFE	 3000u			/* messages of a life */
#define MESSAGES 10000u

static void mount_all(void)
{
	stage->messages = 0;
	stage->stuck = 0;
	stage->fuse = wanted("fuse") && fuse_overlay();
}

static void unmount_all(void)
{
	fuse_end();
	stage->fuse = false;
}

/* Each life has its own sequence, determined by seed, place and number. */
static uint64_t seed_of(unsigned int worker, unsigned int life)
{
	uint64_t z = stage->seed + (worker * 1000003ull + life) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static pid_t give_birth(unsigned int worker, unsigned int life)
{
	pid_t pid = crew_fork();

	if (pid == 0) {
		crew_become(users[worker % USERS]);
		stranger_live(seed_of(worker, life), LIFE);
	}
	return pid;
}

static bool enough(uint64_t begin)
{
	uint64_t most = stage->limit ? stage->limit : stage->seconds ? UINT64_MAX : MESSAGES;

	return attack_over() || stage->messages >= most ||
	       (stage->seconds && now_ns() - begin > stage->seconds * 1000000000ull);
}

/* CPU time in ms; its clock is 100 Hz. */
static unsigned long long time_of(pid_t pid)
{
	unsigned long long user = 0, system = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
			&user, &system) != 2)
		user = 0;
	if (f)
		fclose(f);
	return (user + system) * 10;
}

static void note(uint64_t begin, unsigned int lives)
{
	uint64_t ms = (now_ns() - begin) / 1000000 + 1;

	attack_note("seed %llu: %llu messages of %u lives in %llu s, %llu a second; "
		    "the daemon ran for %llu ms",
		    (unsigned long long)stage->seed, (unsigned long long)stage->messages, lives,
		    (unsigned long long)ms / 1000,
		    (unsigned long long)(stage->messages * 1000 / ms), time_of(stage->daemon));
}

static void all_of_them(void)
{
	unsigned int life[WORKERS] = { 0 }, lives = 0;
	pid_t pid[WORKERS] = { 0 }, gone;
	uint64_t begin = now_ns();

	printf("random: seed %llu, %u kinds of descriptors\n", (unsigned long long)stage->seed,
	       kind_count());
	for (unsigned int i = 0; i < WORKERS; i++, lives++)
		pid[i] = give_birth(i, life[i]++);
	while (!enough(begin)) {
		gone = waitpid(-1, NULL, WNOHANG);
		if (gone <= 0)
			usleep(2000);
		for (unsigned int i = 0; gone > 0 && i < WORKERS; i++)
			if (pid[i] == gone) {
				pid[i] = give_birth(i, life[i]++);
				lives++;
			}
	}
	note(begin, lives);
	for (unsigned int i = 0; i < WORKERS; i++)
		kill(pid[i], SIGKILL);
	attack_hold();
}

const struct attack random_attacks[] = {
	{ .name = "random", .prepare = mount_all, .run = all_of_them, .clean = unmount_all,
	  .as_root = true },
	{ .name = NULL }
};
