/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tunables and their file.  libinih cannot read it: it keeps quotes, takes ':' for '=', joins
 * indented lines to the previous one and cuts long ones.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "config.h"
#include "lib/base/nearest.h"
#include "lib/base/number.h"

#define BLANK	   " \t\r"
#define MAX_LINE   1024u
#define MAX_FILE   (256u * 1024)
#define MAX_LOGBUFFERSIZE 65536		/* kilobytes */

static int set_debugflags(struct config *c, const char *value, struct reason *why)
{
	return debug_parse(value, c->debug, why);
}

static int set_ktr_compile(struct config *c, const char *value, struct reason *why)
{
	return ktrconf_compile(&c->ktr, value, why);
}

static int set_ktr_cpumask(struct config *c, const char *value, struct reason *why)
{
	return ktrconf_cpumask(&c->ktr, value, why);
}

static int set_ktr_mask(struct config *c, const char *value, struct reason *why)
{
	return ktrconf_mask(&c->ktr, value, why);
}

static int set_ktr_size(struct config *c, const char *value, struct reason *why)
{
	return ktrconf_size(&c->ktr, value, why);
}

static int set_ktr_stop(struct config *c, const char *value, struct reason *why)
{
	return ktrconf_stop(&c->ktr, value, why);
}

/* Not a relative path: the daemon leaves the folder in which it was started. */
static int set_msr_list(struct config *c, const char *value, struct reason *why)
{
	return *value == '/' ? 0 : deny(why, -EINVAL, "msr.list takes the path of a file from the "
					"root, as " CONFIG_MSR_LIST ", not \"%.100s\"", value);
}

static int set_policy_dir(struct config *c, const char *value, struct reason *why)
{
	return *value == '/' ? 0 : deny(why, -EINVAL, "policy.dir takes the path of a folder from "
					"the root, as " CONFIG_POLICY_DIR ", not \"%.100s\"",
					value);
}

/* The group is looked up when the socket is made. */
static int set_socket_group(struct config *c, const char *value, struct reason *why)
{
	return 0;
}

#define NUMBER(name, ...)     { name, __VA_ARGS__, NULL, NULL }
#define TEXT(name, writable, set, text) { name, 0, 0, 0, 0, NULL, writable, set, text }
static const struct {
	const char *name;
	int preset, min, max, fallback;
	const char *complaint;		/* takes the value, then the fallback */
	bool writable;			/* at run time */
	/* Texts only: the parser and the preset. */
	int (*set)(struct config *c, const char *value, struct reason *why);
	const char *text;
} tunables[TUNABLES] = {
	[TUN_CALLCHAINDEPTH] = NUMBER("kern.hwpmc.callchaindepth", 128, 1, PMC_CALLCHAIN_DEPTH_MAX,
		PMC_CALLCHAIN_DEPTH_MAX,
		"tunable \"callchaindepth\"=%d out of range - using %d.", true),
	[TUN_DEBUGFLAGS] = TEXT("kern.hwpmc.debugflags", true, set_debugflags, ""),
	[TUN_HASHSIZE] = NUMBER("kern.hwpmc.hashsize", 16, 1, INT_MAX, 16,
		"tunable hashsize=%d must be greater than zero.", false),
	[TUN_LOGBUFFERSIZE] = NUMBER("kern.hwpmc.logbuffersize", 256, 1, MAX_LOGBUFFERSIZE, 256,
		"tunable logbuffersize=%d must be greater than zero.", false),
	/* 3: for readers on FreeBSD 6 to 11. */
	[TUN_LOGVERSION] = NUMBER("kern.hwpmc.logversion", 10, 3, 10, 10,
		"tunable logversion=%d out of range.", true),
	[TUN_MTXPOOLSIZE] = NUMBER("kern.hwpmc.mtxpoolsize", 32, INT_MIN, INT_MAX, 32, "", false),
	/* hwpmc's message uses another name. */
	[TUN_NBUFFERS] = NUMBER("kern.hwpmc.nbuffers", 0, 1, INT_MAX, 0,
		"tunable nlogbuffers=%d must be greater than zero.", false),
	[TUN_NBUFFERS_PCPU] = NUMBER("kern.hwpmc.nbuffers_pcpu", 32, 1, INT_MAX, 32,
		"tunable nbuffers_pcpu=%d must be greater than zero.", false),
	[TUN_NSAMPLES] = NUMBER("kern.hwpmc.nsamples", 512, 1, 65535, 512,
		"tunable nsamples=%d out of range.", false),
	[TUN_OFFCPURATE] = NUMBER("kern.hwpmc.offcpurate", 10000, 1, INT_MAX, 10000,
		"tunable offcpurate=%d out of range - using %d.", true),
	[TUN_SOFTEVENTS] = NUMBER("kern.hwpmc.softevents", 16, 1, PMC_EV_DYN_COUNT,
		PMC_EV_DYN_COUNT, "tunable \"softevents\"=%d out of range.", false),
	[TUN_UNWIND] = NUMBER("kern.hwpmc.unwind", 1, 0, 1, 1,
		"tunable unwind=%d out of range - using %d.", true),
	/* Megabytes. */
	[TUN_UNWIND_MEMORY] = NUMBER("kern.hwpmc.unwind_memory", 64, 2, 256, 64,
		"tunable unwind_memory=%d out of range - using %d.", false),
	[TUN_KTR_COMPILE] = TEXT("ktr.compile", true, set_ktr_compile, "none"),
	[TUN_KTR_CPUMASK] = TEXT("ktr.cpumask", true, set_ktr_cpumask, "all"),
	[TUN_KTR_MASK] = TEXT("ktr.mask", true, set_ktr_mask, "~SPL,~CLK"),
	[TUN_KTR_SIZE] = TEXT("ktr.size", true, set_ktr_size, "65536"),
	[TUN_KTR_STOP] = TEXT("ktr.stop", true, set_ktr_stop, "panic"),
	[TUN_KTR_UNPRIVILEGED] = NUMBER("ktr.unprivileged", 0, INT_MIN, INT_MAX, 0, "", true),
	[TUN_MSR_LIST] = TEXT("msr.list", false, set_msr_list, CONFIG_MSR_LIST),
	[TUN_POLICY_DIR] = TEXT("policy.dir", false, set_policy_dir, CONFIG_POLICY_DIR),
	[TUN_PROC_DEBUG] = NUMBER("security.bsd.unprivileged_proc_debug", 1, INT_MIN, INT_MAX, 1,
		"", true),
	[TUN_SYSPMCS] = NUMBER("security.bsd.unprivileged_syspmcs", 0, INT_MIN, INT_MAX, 0, "",
		true),
	[TUN_SOCKET_GROUP] = TEXT("socket.group", false, set_socket_group, ""),
	[TUN_USER_GREETING] = NUMBER("user.greeting", 10, 1, 3600, 10,
		"tunable user.greeting=%d out of range - using %d seconds.", true),
	[TUN_USER_RESERVE] = NUMBER("user.reserve", 10, 0, 90, 10,
		"tunable user.reserve=%d out of range - using %d percent.", true),
	[TUN_USER_SHARE] = NUMBER("user.share", 25, 1, 100, 25,
		"tunable user.share=%d out of range - using %d percent.", true),
};

void config_init(struct config *c)
{
	struct reason why;

	memset(c, 0, sizeof(*c));
	for (unsigned int i = 0; i < TUNABLES; i++) {
		c->value[i] = tunables[i].preset;
		if (tunables[i].set)
			config_set(c, tunables[i].name, tunables[i].text, &why);
	}
}

const char *config_name(enum tunable t)
{
	return tunables[t].name;
}

_Static_assert(TUN_KTR_STOP - TUN_KTR_COMPILE + 1 == KTR_TEXTS, "texts of ktr.*");

bool config_ktr(enum tunable t)
{
	return t >= TUN_KTR_COMPILE && t <= TUN_KTR_STOP;
}

bool config_writable(enum tunable t)
{
	return tunables[t].writable;
}

int config_find(const char *name, struct reason *why)
{
	struct nearest near;

	nearest_begin(&near, name);
	for (unsigned int i = 0; i < TUNABLES; i++) {
		if (!strcmp(name, tunables[i].name))
			return (int)i;
		nearest_offer(&near, tunables[i].name);
	}
	return deny(why, -EINVAL, "no tunable is called \"%.60s\"%s; pmcbpf.conf(5) lists them",
		    name, nearest_hint(&near, ""));
}

/* The offset of a text tunable in struct config. */
static size_t config_text_offset(enum tunable t)
{
	if (config_ktr(t))
		return offsetof(struct config, ktr.text) +
		       (t - TUN_KTR_COMPILE) * sizeof(((struct config *)0)->ktr.text[0]);
	if (t == TUN_SOCKET_GROUP)
		return offsetof(struct config, socket_group);
	if (t == TUN_POLICY_DIR)
		return offsetof(struct config, policy_dir);
	return t == TUN_MSR_LIST ? offsetof(struct config, msr_list) :
				   offsetof(struct config, debugflags);
}

void config_value(const struct config *c, enum tunable t, char *buf, size_t size)
{
	if (tunables[t].set)
		snprintf(buf, size, "%s", (const char *)c + config_text_offset(t));
	else
		snprintf(buf, size, "%d", c->value[t]);
}

static int config_set_text(struct config *c, enum tunable t, const char *value, struct reason *why)
{
	char *text = (char *)c + config_text_offset(t);
	int err;

	if (strlen(value) >= WIRE_TUNABLE_MAX)
		return deny(why, -EINVAL, "%s takes at most %u characters, not %zu",
			    tunables[t].name, WIRE_TUNABLE_MAX - 1, strlen(value));
	err = tunables[t].set(c, value, why);
	if (err)
		return err;
	/* Tunables are printed in one line. */
	for (size_t i = 0; i <= strlen(value); i++)
		text[i] = isspace((unsigned char)value[i]) ? ' ' : value[i];
	return 0;
}

/* An out-of-range value may be negative: it is replaced, and the message shows it. */
static int value_parse(const char *text, int *value)
{
	const bool minus = *text == '-';
	uint64_t n;

	if (number_parse(text + minus, 0, (uint64_t)INT_MAX + minus, &n))
		return -EINVAL;
	*value = (int)(minus ? -(int64_t)n : (int64_t)n);
	return 0;
}

int config_set(struct config *c, const char *name, const char *value, struct reason *why)
{
	int t = config_find(name, why);
	int n;

	if (t < 0)
		return t;
	if (tunables[t].set)
		return config_set_text(c, t, value, why);
	if (value_parse(value, &n))
		return deny(why, -EINVAL, "%s takes a number, not \"%.40s\"", name, value);
	if (t == TUN_LOGVERSION && n != 3 && n != 10)
		return deny(why, -EINVAL, "%s is 10 (today's format) or 3 (for readers on FreeBSD "
			    "6 to 11), not \"%.40s\"", name, value);
	if (t == TUN_LOGBUFFERSIZE && n > MAX_LOGBUFFERSIZE)
		return deny(why, -EINVAL, "%s takes at most %d kilobytes, not \"%.40s\"", name,
			    MAX_LOGBUFFERSIZE, value);
	c->value[t] = n;
	c->nbuffers_given |= t == TUN_NBUFFERS;
	return 0;
}

int config_change(struct config *c, const char *name, const char *value, struct reason *why)
{
	struct config with = *c;
	int err = config_set(&with, name, value, why);
	int t = err ? -1 : config_find(name, why);

	if (err)
		return err;
	if (with.value[t] < tunables[t].min || with.value[t] > tunables[t].max)
		return deny(why, -EINVAL, "%s takes a number from %d to %d, not \"%.40s\"", name,
			    tunables[t].min, tunables[t].max, value);
	*c = with;
	return 0;
}

static int config_deny_rest(const char *rest, struct reason *why)
{
	return deny(why, -EINVAL, "\"%.20s\" after the value; put a # before a comment", rest);
}

int config_pair(char **at, char **name, char **value, struct reason *why)
{
	char *p = *at + strspn(*at, BLANK), *end, *rest;
	size_t n;

	if (!*p || *p == '#')
		return 0;
	*name = p;
	n = strcspn(p, BLANK "=#\"");
	p += n + strspn(p + n, BLANK);
	if (!n || *p != '=')
		return deny(why, -EINVAL, "expected name=\"value\"");
	(*name)[n] = '\0';
	p++;
	p += strspn(p, BLANK);
	if (*p == '"') {
		*value = ++p;
		end = strchr(p, '"');
		if (!end)
			return deny(why, -EINVAL, "the value of %.60s lacks its closing quote",
				    *name);
		rest = end + 1;
	} else {
		*value = p;
		end = p + strcspn(p, BLANK "#\"");
		rest = end;
		if (end == p)
			return deny(why, -EINVAL, "%.60s has no value; write %.60s=\"value\"",
				    *name, *name);
	}
	if (*rest && !strchr(BLANK "#", *rest))
		return config_deny_rest(rest, why);
	*at = *rest == '#' ? rest + strlen(rest) : rest + (*rest != '\0');
	*end = '\0';
	return 1;
}

static int config_line(void *arg, char *line, unsigned int number, struct reason *why)
{
	char *name, *value;
	int err = config_pair(&line, &name, &value, why);

	if (err <= 0)
		return err;
	line += strspn(line, BLANK);
	if (*line && *line != '#')
		return config_deny_rest(line, why);
	return config_set(arg, name, value, why);
}

int config_option(struct config *c, const char *text, struct reason *why)
{
	char line[MAX_LINE], *eq;

	if (strlen(text) >= sizeof(line) || !strchr(text, '='))
		return deny(why, -EINVAL, "\"%.60s\": -o takes NAME=VALUE, for example "
			    "-o kern.hwpmc.nbuffers=128", text);
	strcpy(line, text);
	eq = strchr(line, '=');
	*eq = '\0';
	return config_set(c, line, eq + 1, why);
}

int config_lines(const char *file, const char *text, size_t len, config_take_line *take, void *arg,
		 struct reason *why)
{
	unsigned int number = 0;

	while (len) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len;
		char line[MAX_LINE];
		struct reason what;
		int err;

		number++;
		if (n >= sizeof(line) || memchr(text, '\0', n))
			return deny(why, -EINVAL, "%s:%u: not a line of text of at most %u bytes",
				    file, number, MAX_LINE - 1);
		memcpy(line, text, n);
		line[n] = '\0';
		err = take(arg, line, number, &what);
		if (err)
			return deny(why, err, "%s:%u: %s", file, number, what.text);
		n += nl != NULL;
		text += n;
		len -= n;
	}
	return 0;
}

int config_text(struct config *c, const char *file, const char *text, size_t len,
		struct reason *why)
{
	return config_lines(file, text, len, config_line, c, why);
}

int config_file(const char *file, FILE *f, config_take_line *take, void *arg, struct reason *why)
{
	char *text = malloc(MAX_FILE);
	size_t len;
	int err;

	if (!text)
		return deny(why, -ENOMEM, "no memory to read %s", file);
	len = fread(text, 1, MAX_FILE, f);
	if (ferror(f))
		err = deny(why, -EIO, "cannot read %s: %m", file);
	else if (len == MAX_FILE)
		err = deny(why, -EFBIG, "%s is longer than %u bytes: is it the right file?", file,
			   MAX_FILE - 1);
	else
		err = config_lines(file, text, len, take, arg, why);
	free(text);
	return err;
}

int config_read(struct config *c, const char *file, bool must_exist, struct reason *why)
{
	FILE *f = fopen(file, "re");
	int err;

	if (!f && errno == ENOENT && !must_exist)
		return 0;
	if (!f)
		return deny(why, -errno, "cannot read %s: %m", file);
	err = config_file(file, f, config_line, c, why);
	fclose(f);
	return err;
}

/* Counts online CPUs only: far more may be possible. */
static void config_count_buffers(struct config *c)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t n = c->value[TUN_NBUFFERS_PCPU] * (cpus > 0 ? (int64_t)cpus : 1);

	c->value[TUN_NBUFFERS] = n < INT_MAX ? (int)n : INT_MAX;
}

void config_check(struct config *c, void (*say)(void *arg, const char *line), void *arg)
{
	char line[128];

	for (unsigned int i = 0; i < TUNABLES; i++) {
		int value = c->value[i];

		if (tunables[i].set || (i == TUN_NBUFFERS && !c->nbuffers_given))
			continue;
		if (value >= tunables[i].min && value <= tunables[i].max)
			continue;
		c->value[i] = tunables[i].fallback;
		c->nbuffers_given &= i != TUN_NBUFFERS;
		snprintf(line, sizeof(line), tunables[i].complaint, value, tunables[i].fallback);
		say(arg, line);
	}
	if (!c->nbuffers_given)
		config_count_buffers(c);
}
