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

static const char *events[PMC_GROUP_MAX + 1];
static unsigned int n;
static pmc_value_t values[PMC_GROUP_MAX];

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

static void read_equal(pmc_id_t first)
{
	if (pmc_group_read(first, values, n))
		die("pmc_group_read");
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < i; j++)
			if (!strcmp(events[i], events[j]) && values[i] != values[j]) {
				printf("%s is %ju and %ju\n", events[i], (uintmax_t)values[i],
				       (uintmax_t)values[j]);
				exit(1);
			}
}

int main(int argc, char **argv)
{
	pmc_id_t ids[PMC_GROUP_MAX];
	int i = 1, go, status;
	pid_t pid;

	for (; i < argc && strcmp(argv[i], "--"); i++)
		if (n <= PMC_GROUP_MAX)
			events[n++] = argv[i];
	if (pmc_init())
		die("pmc_init");
	if (pmc_group_allocate(events, n, PMC_MODE_TC, PMC_F_DESCENDANTS, PMC_CPU_ANY, ids))
		die("pmc_group_allocate");
	pid = start_command(argv + i + 1, &go);
	if (pmc_attach(ids[0], pid) || pmc_start(ids[0]))
		die("start");
	read_equal(ids[0]);
	if (write(go, "", 1) != 1)
		die("write");
	do
		read_equal(ids[0]);
	while (waitpid(pid, &status, WNOHANG) == 0);
	if (pmc_stop(ids[0]))
		die("stop");
	read_equal(ids[0]);
	if (pmc_release(ids[0]))
		die("release");
	for (unsigned int m = 0; m < n; m++)
		printf("%s%ju", m ? " " : "", (uintmax_t)values[m]);
	printf("\n");
	return status == 0 ? 0 : 1;
}
