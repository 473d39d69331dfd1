/* SPDX-License-Identifier: BSD-2-Clause */
/* Readiness for the service manager that started the daemon; nothing where there is none. */
#ifndef PMCBPF_NOTIFY_H
#define PMCBPF_NOTIFY_H

/* "READY=1", "STOPPING=1", … */
void notify_send(const char *state);

/* The listening socket that the service manager opened for this process, or -1. */
int notify_listen_fd(void);

#endif
