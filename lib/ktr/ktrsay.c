/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libktr's lines on standard error: messages, and entries if KTR_VERBOSE is set.  Entries are
 * formatted here when they are written, in whatever context that is.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ktr.h"

/* If the reader of standard error has gone, SIGPIPE must not kill the program. */
static void line(const char *text, size_t length)
{
	const struct timespec now = { 0 };
	sigset_t pipe, old, pending;
	int saved = errno;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &old);
	if (write(STDERR_FILENO, text, length) < 0 && errno == EPIPE &&
	    !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
}

void ktr_say(const char *format, ...)
{
	char text[KTR_LINE] = "ktr: ";
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	vsnprintf(text + 5, sizeof(text) - 6, format, arguments);
	va_end(arguments);
	length = strlen(text);
	text[length++] = '\n';
	line(text, length);
}

struct output {
	char *at, *end;
};

static void line_put(struct output *out, const char *text, size_t length)
{
	size_t room = (size_t)(out->end - out->at);

	if (length > room)
		length = room;
	memcpy(out->at, text, length);
	out->at += length;
}

static void line_put_number(struct output *out, const char *flags, char conversion, uint64_t word,
			    unsigned int type)
{
	bool negative = conversion == 'd' || conversion == 'i';
	char format[32], text[128];

	/* The value of a parameter, cut to its declared width. */
	if (type == KTR_ARG_S32 || type == KTR_ARG_U32)
		word = negative ? (uint64_t)(int32_t)word : (uint32_t)word;
	else if (type == KTR_ARG_S16 || type == KTR_ARG_U16)
		word = negative ? (uint64_t)(int16_t)word : (uint16_t)word;
	else if (type == KTR_ARG_S8 || type == KTR_ARG_U8)
		word = negative ? (uint64_t)(int8_t)word : (uint8_t)word;
	snprintf(format, sizeof(format), "%%%s%s%c", flags, conversion == 'c' ? "" : "ll",
		 conversion);
	if (conversion == 'c')
		snprintf(text, sizeof(text), format, (int)word);
	else
		snprintf(text, sizeof(text), format, (long long)word);
	line_put(out, text, strlen(text));
}

/*
 * Scans a conversion after its '%'.  Returns the rest of the format, NULL if it takes no argument.
 */
static const char *line_convert(struct output *out, const char *format, const uint64_t *word,
				unsigned int type)
{
	char flags[16] = "";
	size_t n = strspn(format, "0123456789-# +");
	char number[24];

	if (n < sizeof(flags))
		memcpy(flags, format, n);
	format += n;
	if (*format == '.')
		format += 1 + strspn(format + 1, "0123456789");
	format += strspn(format, "hljztLq");
	if (!*format || !strchr("diuxXocpsaAeEfFgG", *format))
		return NULL;
	if (*format == 's' && *word)
		line_put(out, (const char *)(uintptr_t)*word,
			 strnlen((const char *)(uintptr_t)*word, 79));
	else if (*format == 's')
		line_put(out, "(null)", 6);
	else if (*format == 'p')
		line_put(out, number, (size_t)snprintf(number, sizeof(number), "0x%llx",
						       (unsigned long long)*word));
	else if (strchr("diuxXoc", *format))
		line_put_number(out, flags, *format, *word, type);
	else
		line_put(out, "<fp?>", 5);
	return format + 1;
}

void ktr_say_entry(uint32_t cpu, uint64_t desc, const uint64_t *parms, unsigned int n,
		   uint32_t verbose)
{
	const struct ktr_site *site = desc & KTR_DESC_TEXT ? NULL : (const void *)(uintptr_t)desc;
	const char *format = (const char *)(uintptr_t)(desc & ~KTR_DESC_TEXT);
	char text[KTR_LINE];
	struct output out = { text, text + sizeof(text) - 1 };
	unsigned int i = 0;

	if (site)
		format = (const char *)&site->ktr_fmt + site->ktr_fmt;
	out.at += snprintf(text, sizeof(text), "cpu%u ", cpu);
	if (verbose > 1 && site)
		out.at += snprintf(out.at, (size_t)(out.end - out.at), "%.200s.%u\t",
				   (const char *)&site->ktr_file + site->ktr_file, site->ktr_line);
	while (*format) {
		size_t plain = strcspn(format, "%");
		const char *rest = NULL;

		line_put(&out, format, plain);
		format += plain;
		if (!*format)
			break;
		if (i < n)
			rest = line_convert(&out, format + 1, &parms[i],
					    site ? KTR_ARGTYPE(site->ktr_argtypes, i)
						 : KTR_ARG_WORD);
		i += rest != NULL;
		if (!rest) {
			line_put(&out, "%", 1);
			rest = format + 1 + (format[1] == '%');
		}
		format = rest;
	}
	if (out.at == text || out.at[-1] != '\n')
		*out.at++ = '\n';
	line(text, (size_t)(out.at - text));
}
