/* SPDX-License-Identifier: BSD-2-Clause */
/* Notifications to the service manager that started the daemon, if one did. */
#ifndef PMCBPF_NOTIFY_H
#define PMCBPF_NOTIFY_H

/* "READY=1", "STOPPING=1", … */
void notify_send(const char *state);

/* The listening socket that the service manager opened for this process, or -1. */
int notify_listen_fd(void);

#endif
