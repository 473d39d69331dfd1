/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grouped EVENT... -- COMMAND...: counts a command and its descendants by a group, and reads that
 * before it begins, all the time while it runs, and when the group has stopped.  Members of one
 * event must have one count in every reading.  Prints the last counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pmc.h>

static const char *events[PMC_GROUP_MAX_MEMBERS + 1];
static unsigned int n;
static pmc_id_t ids[PMC_GROUP_MAX_MEMBERS + 1];
static struct pmc_group_member members[PMC_GROUP_MAX_MEMBERS];

static void die(const char *what)
{
	fprintf(stderr, "grouped: %s: %s\n", what, pmc_errstr());
	exit(1);
}

static pid_t start_command(char **command, int *go)
{
	int fds[2];
	pid_t pid;
	char c;

	if (pipe(fds))
		die("pipe");
	pid = fork();
	if (pid == 0) {
		close(fds[1]);
		if (read(fds[0], &c, 1) == 1) {
			close(fds[0]);
			execvp(command[0], command);
		}
		_exit(127);
	}
	close(fds[0]);
	*go = fds[1];
	return pid;
}

static void read_equal(void)
{
	uint32_t size = n;

	if (pmc_group_read(ids[0], &size, members, NULL))
		die("pmc_group_read");
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < i; j++)
			if (!strcmp(events[i], events[j]) &&
			    members[i].pm_value != members[j].pm_value) {
				printf("%s is %ju and %ju\n", events[i],
				       (uintmax_t)members[i].pm_value,
				       (uintmax_t)members[j].pm_value);
				exit(1);
			}
}

static void make_group(void)
{
	uint32_t group;

	if (pmc_init())
		die("pmc_init");
	if (pmc_group_create(&group))
		die("pmc_group_create");
	for (unsigned int m = 0; m < n; m++)
		if (pmc_allocate_group(events[m], PMC_MODE_TC, m ? 0 : PMC_F_DESCENDANTS,
				       PMC_CPU_ANY, &ids[m], 0) ||
		    pmc_group_add(group, ids[m], m == 0))
			die(events[m]);
	if (pmc_group_commit(group))
		die("pmc_group_commit");
}

int main(int argc, char **argv)
{
	int i = 1, go, status;
	pid_t pid;

	for (; i < argc && strcmp(argv[i], "--"); i++)
		if (n <= PMC_GROUP_MAX_MEMBERS)
			events[n++] = argv[i];
	make_group();
	pid = start_command(argv + i + 1, &go);
	if (pmc_attach(ids[0], pid) || pmc_start(ids[0]))
		die("start");
	read_equal();
	if (write(go, "", 1) != 1)
		die("write");
	do
		read_equal();
	while (waitpid(pid, &status, WNOHANG) == 0);
	if (pmc_stop(ids[0]))
		die("stop");
	read_equal();
	if (pmc_group_release(ids, n))
		die("release");
	for (unsigned int m = 0; m < n; m++)
		printf("%s%ju", m ? " " : "", (uintmax_t)members[m].pm_value);
	printf("\n");
	return status == 0 ? 0 : 1;
}
