/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tunables, the file that sets them, and the command line.
 *
 * A tunable is hwpmc's (kern.hwpmc.*), FreeBSD's (security.bsd.*) or the daemon's own.  It begins
 * with its preset.  The file (`name="value"` lines and # comments, as in loader.conf(5)) overrides
 * that, and the command line (-o) overrides the file.  config_check() then brings numbers into
 * their range.
 *
 * main.c reads all of it before there is any other thread.  From then on struct config belongs to
 * the event loop's thread: config_change() sets a tunable that may change at run time, and SIGHUP
 * reads file and command line again.  ktrconf.h has the texts of the trace rings' tunables.
 */
#ifndef PMCBPF_CONFIG_H
#define PMCBPF_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ktrconf.h"
#include "loader/base/base.h"

#define CONFIG_MSR_LIST	  PMCBPF_SYSCONFDIR "/pmcbpf/msr.list"
#define CONFIG_POLICY_DIR PMCBPF_SYSCONFDIR "/pmcbpf/policy.d"

enum tunable {
	TUN_CALLCHAINDEPTH,
	TUN_DEBUGFLAGS,
	TUN_HASHSIZE,
	TUN_LOGBUFFERSIZE,
	TUN_LOGVERSION,
	TUN_MTXPOOLSIZE,
	TUN_NBUFFERS,
	TUN_NBUFFERS_PCPU,
	TUN_NSAMPLES,
	TUN_OFFCPURATE,
	TUN_SOFTEVENTS,
	TUN_UNWIND,
	TUN_UNWIND_MEMORY,
	TUN_KTR_COMPILE,
	TUN_KTR_CPUMASK,
	TUN_KTR_MASK,
	TUN_KTR_SIZE,
	TUN_KTR_STOP,
	TUN_KTR_UNPRIVILEGED,
	TUN_MSR_LIST,
	TUN_POLICY_DIR,
	TUN_PROC_DEBUG,
	TUN_SYSPMCS,
	TUN_SOCKET_GROUP,
	TUN_USER_GREETING,
	TUN_USER_RESERVE,
	TUN_USER_SHARE,
	TUNABLES
};

struct config {
	int value[TUNABLES];
	bool nbuffers_given;			/* else nbuffers_pcpu for each CPU */
	char debugflags[WIRE_TUNABLE_MAX];	/* as written … */
	uint32_t debug[DEBUG_GROUPS];		/* … and parsed */
	char msr_list[WIRE_TUNABLE_MAX];
	char policy_dir[WIRE_TUNABLE_MAX];
	char socket_group[WIRE_TUNABLE_MAX];
	struct ktr_conf ktr;
};

void config_init(struct config *c);

const char *config_name(enum tunable t);
/* True if struct ktr_conf holds it: all of ktr.* but ktr.unprivileged. */
bool config_ktr(enum tunable t);
/* True if it may change at run time. */
bool config_writable(enum tunable t);
/* The tunable of that name, or -EINVAL. */
int config_find(const char *name, struct reason *why);
/* The value as text, at most `size` bytes of it. */
void config_value(const struct config *c, enum tunable t, char *buf, size_t size);

/* -EINVAL: there is no such tunable, or it has no such value. */
int config_set(struct config *c, const char *name, const char *value, struct reason *why);

/* The same at run time: also refuses a number that is out of range. */
int config_change(struct config *c, const char *name, const char *value, struct reason *why);

/* One "NAME=VALUE" of the command line. */
int config_option(struct config *c, const char *text, struct reason *why);

/* Parses the text of `file` up to the first invalid line, which `why` names. */
int config_text(struct config *c, const char *file, const char *text, size_t len,
		struct reason *why);

/* An absent file is an error only if it must exist. */
int config_read(struct config *c, const char *file, bool must_exist, struct reason *why);

/*
 * Replaces numbers that are out of range, with hwpmc's message for each (without "hwpmc: "), and
 * computes dependent ones.
 */
void config_check(struct config *c, void (*say)(void *arg, const char *line), void *arg);

/* --- other files of name="value" pairs: rules (loader/policy/site.c) ------------------------- */

/*
 * Splits the next name="value" off a line, in place, and moves *at behind it.  1: a pair; 0: the
 * rest of the line is empty or a comment; -EINVAL.
 */
int config_pair(char **at, char **name, char **value, struct reason *why);

/* Takes a line, which it may change.  config_lines() prepends file and line to its reason. */
typedef int config_take_line(void *arg, char *line, unsigned int number, struct reason *why);
/* Hands over each line of the text of `file`, up to the first that is refused. */
int config_lines(const char *file, const char *text, size_t len, config_take_line *take, void *arg,
		 struct reason *why);
/* The same for an open file. */
int config_file(const char *file, FILE *f, config_take_line *take, void *arg, struct reason *why);

/* --- the command line: options.c ------------------------------------------------------------ */

#define OPTIONS_DONE 1		/* after --help, --version: exit */

struct options {
	bool foreground, test;
	const char *socket, *config;
	bool config_given;
	int client_fd;			/* -1: none */
	struct config set;		/* the file's tunables, overridden by -o */
	int argc;
	char **argv;
};

/* 0, OPTIONS_DONE, or -EINVAL. */
int options_parse(struct options *o, int argc, char **argv, struct reason *why);

/* Reads the tunables again: the file may have changed. */
int options_tunables(const struct options *o, struct config *config, struct reason *why);

#endif
