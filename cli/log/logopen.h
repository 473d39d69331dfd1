/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a log: a file, standard input, or a port. */
#ifndef PMCBPF_CLI_LOGOPEN_H
#define PMCBPF_CLI_LOGOPEN_H

/*
 * Opens a file, standard input for "-", or a port for "host:port", and waits for one writer there.
 * Returns 0, or an exit code after printing the error.
 */
int log_open_input(const char *name, int *fd);

/* The port in "host:port", from its colon on; NULL if the name is a path. */
const char *log_port(const char *name);

#endif
