/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a program by vfork() and exec, between which both share memory: vexec COMMAND... Or jumps to
 * an address, in hexadecimal: vexec --jump ADDRESS
 */
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc == 3 && !strcmp(argv[1], "--jump")) {
		void (*there)(void) = (void (*)(void))(uintptr_t)strtoull(argv[2], NULL, 16);

		there();
	}
	if (argc < 2 || posix_spawn(&pid, argv[1], NULL, NULL, argv + 1, environ))
		return 127;
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return 126;
	return WEXITSTATUS(status);
}
