/* SPDX-License-Identifier: BSD-2-Clause */
/* See journal.h. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "journal.h"

/* A child of a service inherits the variable, even if its standard error is another file. */
static bool journal_reads_stderr(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st))
		return false;
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return !strcmp(stream, own);
}

void journal_put(int priority, const char *name, const char *text)
{
	char prefix[8] = "";

	if (journal_reads_stderr())
		snprintf(prefix, sizeof(prefix), "<%d>", LOG_PRI(priority));
	/* To the journal every line is a message of its own. */
	for (const char *end; *prefix && (end = strchr(text, '\n')); text = end + 1)
		fprintf(stderr, "%s%s: %.*s\n", prefix, name, (int)(end - text), text);
	fprintf(stderr, "%s%s: %s\n", prefix, name, text);
}
