/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tunables and their file.  An own parser because libinih reads another language: it keeps the
 * quotes, takes ':' for '=', joins indented lines to the one before and cuts long ones.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/pmc.h>

#include "config.h"

#define DEBUGFLAGS "kern.hwpmc.debugflags"
#define BLANK	   " \t\r"
#define MAX_LINE   1024u
#define MAX_FILE   (256u * 1024)

static const struct {
	const char *name;
	int preset, min, max, fallback;
	const char *complaint;		/* takes the value, then the fallback */
} tunables[TUNABLES] = {
	[TUN_CALLCHAINDEPTH] = { "kern.hwpmc.callchaindepth", 8, 1, PMC_CALLCHAIN_DEPTH_MAX,
		PMC_CALLCHAIN_DEPTH_MAX,
		"tunable \"callchaindepth\"=%d out of range - using %d." },
	[TUN_HASHSIZE] = { "kern.hwpmc.hashsize", 16, 1, INT_MAX, 16,
		"tunable hashsize=%d must be greater than zero." },
	[TUN_LOGBUFFERSIZE] = { "kern.hwpmc.logbuffersize", 4, 1, INT_MAX, 4,
		"tunable logbuffersize=%d must be greater than zero." },
	[TUN_MTXPOOLSIZE] = { "kern.hwpmc.mtxpoolsize", 32, INT_MIN, INT_MAX, 32, "" },
	/* The message has always called this one by another name. */
	[TUN_NBUFFERS] = { "kern.hwpmc.nbuffers", 64, 1, INT_MAX, 64,
		"tunable nlogbuffers=%d must be greater than zero." },
	[TUN_NSAMPLES] = { "kern.hwpmc.nsamples", 512, 1, 65535, 512,
		"tunable nsamples=%d out of range." },
	[TUN_SYSPMCS] = { "security.bsd.unprivileged_syspmcs", 0, INT_MIN, INT_MAX, 0, "" },
	[TUN_PROC_DEBUG] = { "security.bsd.unprivileged_proc_debug", 1, INT_MIN, INT_MAX, 1, "" },
};

void config_init(struct config *c)
{
	memset(c, 0, sizeof(*c));
	for (unsigned int i = 0; i < TUNABLES; i++)
		c->value[i] = tunables[i].preset;
}

int config_set(struct config *c, const char *name, const char *value, struct why *why)
{
	char *end;
	long n;

	if (!strcmp(name, DEBUGFLAGS)) {
		c->debugflags = true;
		return 0;
	}
	for (unsigned int i = 0; i < TUNABLES; i++) {
		if (strcmp(name, tunables[i].name))
			continue;
		errno = 0;
		n = strtol(value, &end, 0);
		if (end == value || *end || errno || n < INT_MIN || n > INT_MAX)
			return deny(why, -EINVAL, "%s takes a number, not \"%.40s\"", name, value);
		c->value[i] = (int)n;
		return 0;
	}
	return deny(why, -EINVAL, "no tunable is called \"%.60s\"; pmcbpf.conf(5) lists them",
		    name);
}

/* Splits a line in place. 1: a name and a value; 0: nothing on it. */
static int parse_line(char *line, char **name, char **value, struct why *why)
{
	char *p = line + strspn(line, BLANK), *end;
	const char *rest;
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
	rest += strspn(rest, BLANK);
	if (*rest && *rest != '#')
		return deny(why, -EINVAL, "\"%.20s\" after the value; put a # before a comment",
			    rest);
	*end = '\0';
	return 1;
}

int config_option(struct config *c, const char *text, struct why *why)
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

int config_text(struct config *c, const char *file, const char *text, size_t len, struct why *why)
{
	unsigned int number = 0;

	while (len) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len;
		char line[MAX_LINE], *name = NULL, *value = NULL;
		struct why what;
		int err;

		number++;
		if (n >= sizeof(line) || memchr(text, '\0', n))
			return deny(why, -EINVAL, "%s:%u: not a line of text of at most %u bytes",
				    file, number, MAX_LINE - 1);
		memcpy(line, text, n);
		line[n] = '\0';
		err = parse_line(line, &name, &value, &what);
		if (err > 0)
			err = config_set(c, name, value, &what);
		if (err)
			return deny(why, err, "%s:%u: %s", file, number, what.text);
		n += nl != NULL;
		text += n;
		len -= n;
	}
	return 0;
}

int config_read(struct config *c, const char *file, bool must_exist, struct why *why)
{
	FILE *f = fopen(file, "re");
	char *text = NULL;
	size_t len;
	int err;

	if (!f && errno == ENOENT && !must_exist)
		return 0;
	if (!f)
		return deny(why, -errno, "cannot read %s: %m", file);
	text = malloc(MAX_FILE);
	if (!text) {
		err = deny(why, -ENOMEM, "no memory to read %s", file);
		goto out;
	}
	len = fread(text, 1, MAX_FILE, f);
	if (ferror(f))
		err = deny(why, -EIO, "cannot read %s: %m", file);
	else if (len == MAX_FILE)
		err = deny(why, -EFBIG, "%s is longer than %u bytes: is it the right file?", file,
			   MAX_FILE - 1);
	else
		err = config_text(c, file, text, len, why);
out:
	free(text);
	fclose(f);
	return err;
}

void config_check(struct config *c, void (*say)(void *arg, const char *line), void *arg)
{
	char line[128];

	for (unsigned int i = 0; i < TUNABLES; i++) {
		int value = c->value[i];

		if (value >= tunables[i].min && value <= tunables[i].max)
			continue;
		c->value[i] = tunables[i].fallback;
		snprintf(line, sizeof(line), tunables[i].complaint, value, tunables[i].fallback);
		say(arg, line);
	}
	if (c->debugflags)
		say(arg, "tunable debugflags is ignored: this is not a debug build.");
}
