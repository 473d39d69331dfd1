/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages: one write(2) a line, no control characters, no endless wait for a stopped reader. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <pmc.h>

#include "msg.h"

#define MSG_MAX	    2048	/* more than twice the longest tail */
#define MSG_WAIT_MS 2000

/* The number of bytes that snprintf() has stored, from its return value. */
static size_t msg_cut(int wanted, size_t room)
{
	if (wanted < 0)
		return 0;
	return (size_t)wanted < room ? (size_t)wanted : room - 1;
}

/*
 * Names come from users and may hold any byte: a newline in one must not look like a second
 * message.  If standard error is a full pipe, the line is dropped after MSG_WAIT_MS; the exit code
 * still reports the failure.
 */
static void msg_put(const char *tail, const char *format, va_list args)
{
	char line[MSG_MAX + 1];
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t tail_len = strlen(tail);
	size_t room = MSG_MAX - tail_len;	/* for the rest, its NUL included */
	size_t len = 0;

	len = msg_cut(snprintf(line, room, "%s: ", program_invocation_short_name), room);
	len += msg_cut(vsnprintf(line + len, room - len, format, args), room - len);
	memcpy(line + len, tail, tail_len);
	len += tail_len;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	line[len++] = '\n';
	if (poll(&ready, 1, MSG_WAIT_MS) == 1 && write(STDERR_FILENO, line, len) < 0)
		return;
}

int (fail)(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	msg_put("", format, args);
	va_end(args);
	return code;
}

int fail_errno(int code, const char *format, ...)
{
	char tail[256];
	va_list args;

	snprintf(tail, sizeof(tail), ": %s", strerror(errno));
	va_start(args, format);
	msg_put(tail, format, args);
	va_end(args);
	return code;
}

int fail_pmc(int code, const char *format, ...)
{
	const char *text = strerror(errno);
	const char *reason = pmc_errstr();
	char tail[1024];
	va_list args;

	if (strstr(reason, text))
		snprintf(tail, sizeof(tail), ": %s", reason);
	else
		snprintf(tail, sizeof(tail), ": %s [%s]", reason, text);
	va_start(args, format);
	msg_put(tail, format, args);
	va_end(args);
	return code;
}

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	msg_put("", format, args);
	va_end(args);
}

void msg_open_standard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}
