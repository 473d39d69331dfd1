/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool of log buffers, and users that are charged for logs. */
#ifndef PMCBPF_UNIT_LOGS_H
#define PMCBPF_UNIT_LOGS_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader/log/logfile.h"
#include "unit.h"

static struct config logs_config;
static struct user_table logs_users;
static char logs_heard[1024];

static inline void logs_hear(int priority, const char *line)
{
	size_t used = strlen(logs_heard);

	snprintf(logs_heard + used, sizeof(logs_heard) - used, "%d %s\n", priority, line);
}

static const struct messages logs_messages = { .sink = logs_hear };

static inline int logs_pool(struct logpool **pool, struct logpool_config config, int *event,
			    struct reason *why)
{
	config_init(&logs_config);
	memset(&logs_users, 0, sizeof(logs_users));
	user_table_init(&logs_users, &logs_config);
	*logs_heard = '\0';
	config.users = &logs_users;
	config.messages = &logs_messages;
	return logpool_new(pool, &config, event, why);
}

/* With all capabilities, or without any. */
static inline struct user *logs_user(uid_t uid, bool privileged)
{
	const struct cred c = {
		.pid = -1, .uid = { uid, uid, uid }, .user_ns = 4026531837ull,
		.effective = privileged ? ~0ull : 0,
	};
	struct user *u = user_get(&logs_users, &c);

	assert_non_null(u);
	return u;
}

/* A log with the ids and limits of this process. */
static inline int logs_try(struct logpool *pool, struct user *user, int fd,
			   enum logdest_kind kind, enum logfmt format, struct logfile **l,
			   struct reason *why)
{
	struct logfile_config config = {
		.fd = fd, .dest.kind = kind, .user = user, .format = format,
		.cputype = PMC_CPU_INTEL_SKYLAKE, .cpuid = "GenuineIntel-6-5E-3",
	};
	int err;

	assert_int_equal(identity_read(getpid(), &config.id), 0);
	err = logfile_new(pool, &config, l, why);
	if (err)
		free(config.id);
	return err;
}

static inline struct logfile *logs_open(struct logpool *pool, int fd, enum logdest_kind kind,
					enum logfmt format)
{
	struct user *root = logs_user(0, true);
	struct logfile *l = NULL;
	struct reason why;

	assert_int_equal(logs_try(pool, root, fd, kind, format, &l, &why), 0);
	user_put(root);
	return l;
}

#endif
