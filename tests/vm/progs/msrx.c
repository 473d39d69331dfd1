// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client of the module pmcbpf_msr that does what its input says, a line at a time, and answers
 * each line with one: the value or "ok", or the error's name.  Errors do not end it.
 *
 *	open	close	version		list REG:READ:WRITE...	raw VERSION N RESERVED [ADDRESS]
 *	read REG CPU	write REG CPU VALUE	at CPU		other REG CPU	user UID
 *	row NAME REG CPU	get NAME [SIZE]	revoke NAME	drop NAME
 *	ioctl REQUEST ADDRESS	kfunc NAME REG	event NAME ADDRESS	called NAME CPU	deny UID
 *	! SHELL COMMAND
 *
 * raw sends a list header as given, with entries 0, 1... that all have that word in `reserved`, or
 * at ADDRESS.  other reads /dev/cpu/CPU/msr.  at binds the client to a CPU; user gives up root.
 * kfunc has a program read the register at every context switch, event a perf event at ADDRESS;
 * called prints the last value that it read on that CPU.  NAME is a letter.  deny has a security
 * module refuse registers to tasks of that user.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kmod/pmcbpf_msr.h"
#include "kfunc.h"

#define NAMES 26
#define WORDS 200

struct client {
	int dev;
	int row[NAMES];
	struct kfunc program[NAMES];
	char *word[WORDS];
	unsigned int nwords;
};

static uint64_t number(const struct client *c, unsigned int at)
{
	return c->nwords > at ? strtoull(c->word[at], NULL, 0) : 0;
}

static unsigned int name(const struct client *c)
{
	return c->nwords > 1 ? (unsigned int)(c->word[1][0] - 'a') % NAMES : 0;
}

/* The answer to a line whose call returned `result`. */
static void answer(const struct client *c, long result)
{
	printf("%s: %s\n", c->word[0], result < 0 ? strerrorname_np(errno) : "ok");
}

static void answer_value(const struct client *c, long result, uint64_t value)
{
	if (result < 0)
		answer(c, result);
	else
		printf("%s: 0x%llx\n", c->word[0], (unsigned long long)value);
}

static void do_open(struct client *c)
{
	int fd = open("/dev/" PMCBPF_MSR_NAME, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		c->dev = fd;
	answer(c, fd);
}

static void do_close(struct client *c)
{
	answer(c, close(c->dev));
	c->dev = -1;
}

static void do_version(struct client *c)
{
	uint32_t version = 0;
	int result = ioctl(c->dev, PMCBPF_MSR_IOC_VERSION, &version);

	answer_value(c, result, version);
}

static void do_list(struct client *c)
{
	struct pmcbpf_msr_entry entry[WORDS] = { 0 };
	struct pmcbpf_msr_list list = {
		.version = PMCBPF_MSR_VERSION, .n = c->nwords - 1, .entries = (uintptr_t)entry,
	};

	for (unsigned int i = 0; i < list.n; i++) {
		char *at = c->word[i + 1];

		entry[i].reg = (uint32_t)strtoull(at, &at, 0);
		entry[i].read = strtoull(at + 1, &at, 0);
		entry[i].write = strtoull(at + 1, &at, 0);
	}
	answer(c, ioctl(c->dev, PMCBPF_MSR_IOC_LIST, &list));
}

static void do_raw(struct client *c)
{
	struct pmcbpf_msr_entry entry[WORDS] = { 0 };
	struct pmcbpf_msr_list list = {
		.version = (uint32_t)number(c, 1), .n = (uint32_t)number(c, 2),
		.entries = c->nwords > 4 ? number(c, 4) : (uintptr_t)entry,
	};

	for (unsigned int i = 0; i < WORDS; i++) {
		entry[i].reg = i;
		entry[i].reserved = (uint32_t)number(c, 3);
	}
	answer(c, ioctl(c->dev, PMCBPF_MSR_IOC_LIST, &list));
}

static void do_read(struct client *c)
{
	struct pmcbpf_msr_io io = { .reg = (uint32_t)number(c, 1), .cpu = (uint32_t)number(c, 2) };
	int result = ioctl(c->dev, PMCBPF_MSR_IOC_READ, &io);

	answer_value(c, result, io.value);
}

static void do_write(struct client *c)
{
	struct pmcbpf_msr_io io = {
		.reg = (uint32_t)number(c, 1), .cpu = (uint32_t)number(c, 2), .value = number(c, 3),
	};
	int result = ioctl(c->dev, PMCBPF_MSR_IOC_WRITE, &io);

	answer_value(c, result, io.value);
}

static void do_at(struct client *c)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(number(c, 1), &set);
	answer(c, sched_setaffinity(0, sizeof(set), &set));
}

static void do_user(struct client *c)
{
	uid_t uid = (uid_t)number(c, 1);

	answer(c, setresuid(uid, uid, uid));
}

static void do_other(struct client *c)
{
	uint64_t value = 0;
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%u/msr", (unsigned int)number(c, 2));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = pread(fd, &value, sizeof(value), (off_t)number(c, 1));
	answer_value(c, n, value);
	close(fd);
}

static void do_row(struct client *c)
{
	struct pmcbpf_msr_io io = { .reg = (uint32_t)number(c, 2), .cpu = (uint32_t)number(c, 3) };
	int fd = ioctl(c->dev, PMCBPF_MSR_IOC_ROW, &io);

	if (fd >= 0)
		c->row[name(c)] = fd;
	answer(c, fd);
}

static void do_get(struct client *c)
{
	size_t size = c->nwords > 2 ? number(c, 2) : sizeof(uint64_t);
	uint64_t value[8] = { 0 };
	ssize_t n = size <= sizeof(value) ? read(c->row[name(c)], value, size) : -1;

	if (n >= 0 && n != (ssize_t)sizeof(value[0]))
		printf("get: %zd bytes\n", n);
	else
		answer_value(c, n, value[0]);
}

static void do_revoke(struct client *c)
{
	answer(c, ioctl(c->row[name(c)], PMCBPF_MSR_IOC_REVOKE));
}

static void do_drop(struct client *c)
{
	answer(c, close(c->row[name(c)]));
	c->row[name(c)] = -1;
}

static void do_ioctl(struct client *c)
{
	answer(c, ioctl(c->dev, number(c, 1), number(c, 2)));
}

static void call_at_switches(struct client *c, const char *function, uint64_t argument)
{
	struct kfunc *program = &c->program[name(c)];

	kfunc_free(program);
	answer(c, kfunc_load(program, function, argument));
}

static void do_kfunc(struct client *c)
{
	call_at_switches(c, "pmcbpf_msr_read", (uint32_t)number(c, 2));
}

static void do_event(struct client *c)
{
	call_at_switches(c, "pmcbpf_event_count", number(c, 2));
}

static void do_called(struct client *c)
{
	uint64_t value = 0;
	int result = kfunc_value(&c->program[name(c)], (unsigned int)number(c, 2), &value);

	answer_value(c, result, value);
}

/* Until the client ends. */
static void do_deny(struct client *c)
{
	answer(c, deny_load((uint32_t)number(c, 1)));
}

static const struct {
	const char *word;
	void (*run)(struct client *c);
} commands[] = {
	{ "open", do_open },	   { "close", do_close },   { "version", do_version },
	{ "list", do_list },	   { "raw", do_raw },	    { "read", do_read },
	{ "write", do_write },	   { "at", do_at },	    { "other", do_other },
	{ "row", do_row },	   { "get", do_get },	    { "revoke", do_revoke },
	{ "drop", do_drop },	   { "ioctl", do_ioctl },   { "kfunc", do_kfunc },
	{ "event", do_event },	   { "called", do_called }, { "user", do_user },
	{ "deny", do_deny },
};

static void line(struct client *c, char *text)
{
	char *save = NULL;

	text[strcspn(text, "\n")] = '\0';
	if (text[0] == '!') {
		int status = system(text + 1);

		printf("!: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
		return;
	}
	c->nwords = 0;
	for (char *w = strtok_r(text, " ", &save); w && c->nwords < WORDS;
	     w = strtok_r(NULL, " ", &save))
		c->word[c->nwords++] = w;
	for (size_t i = 0; c->nwords > 0 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].word, c->word[0])) {
			commands[i].run(c);
			return;
		}
	printf("%s: no such command\n", text);
}

int main(void)
{
	struct client c = { .dev = -1 };
	char *text = NULL;
	size_t size = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < NAMES; i++) {
		c.row[i] = -1;
		c.program[i] = (struct kfunc){ .map = -1, .program = -1, .link = -1, .btf = -1 };
	}
	while (getline(&text, &size, stdin) > 0)
		line(&c, text);
	free(text);
	return 0;
}
