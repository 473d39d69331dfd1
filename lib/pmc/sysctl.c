/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_sysctlbyname(3): the variables that FreeBSD's programs read and set by sysctlbyname(3). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"

/* As sysctlbyname(3) returns it: an int, or text with its NUL. */
struct variable {
	bool text;
	int number;
	struct pmc_tunable tunable;
};

/* Text even if the value looks like a number. */
static bool variable_is_text(const char *name)
{
	static const char *const texts[] = {
		"kern.hwpmc.cpuid", "kern.hwpmc.debugflags", "ktr.compile", "ktr.cpumask",
		"ktr.mask", "ktr.size", "ktr.stop", "msr.list", "policy.dir",
		"socket.group",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(name, texts[i]))
			return true;
	return false;
}

static int variable_get(const char *name, struct variable *v, struct reason *why)
{
	char *end;
	long n;

	/* FreeBSD's need no pmc_init(). */
	if (!pmc_lib.known && pmc_init())
		return -errno;
	if (strlen(name) >= sizeof(v->tunable.pm_name))
		return deny(why, -ENOENT, "no variable has a name of %zu characters",
			    strlen(name));
	if (pmc_tunable_get(name, &v->tunable))
		return errno == EINVAL ? -ENOENT : -errno;
	n = strtol(v->tunable.pm_value, &end, 10);
	v->text = variable_is_text(name) || end == v->tunable.pm_value || *end || n < INT_MIN ||
		  n > INT_MAX;
	v->number = v->text ? 0 : (int)n;
	return 0;
}

/* A value that does not fit is cut, and -ENOMEM returned. */
static int variable_copy(const struct variable *v, void *old, size_t *len, struct reason *why)
{
	const char *text = v->tunable.pm_value;
	const void *from = v->text ? (const void *)text : &v->number;
	size_t size = v->text ? strlen(text) + 1 : sizeof(v->number);
	size_t room = old ? *len : size;

	*len = size < room ? size : room;
	if (old)
		memcpy(old, from, *len);
	if (size > room)
		return deny(why, -ENOMEM, "%s has %zu bytes, the buffer %zu",
			    v->tunable.pm_name, size, room);
	return 0;
}

static int variable_set(const struct variable *v, const void *to, size_t len, struct reason *why)
{
	const char *name = v->tunable.pm_name;
	char text[sizeof(v->tunable.pm_value)];
	int number;

	if (!v->text && len != sizeof(number))
		return deny(why, -EINVAL, "%s is an int of %zu bytes, not %zu", name,
			    sizeof(number), len);
	if (v->text && len >= sizeof(text))
		return deny(why, -EINVAL, "%s has at most %zu characters", name,
			    sizeof(text) - 1);
	if (v->text) {
		memcpy(text, to, len);
		text[len] = '\0';
	} else {
		memcpy(&number, to, sizeof(number));
		snprintf(text, sizeof(text), "%d", number);
	}
	return pmc_tunable_set(name, text) ? -errno : 0;
}

static int variable_call(const char *name, void *old, size_t *oldlen, const void *to, size_t len,
			 struct reason *why)
{
	struct variable v = { .text = false };
	int err;

	if (!name || (old && !oldlen) || (!to && len))
		return call_missing(why, !name ? "name" : old && !oldlen ? "oldlenp" : "newp");
	err = variable_get(name, &v, why);
	if (!err && oldlen)
		err = variable_copy(&v, old, oldlen, why);
	if (!err && to)
		err = variable_set(&v, to, len, why);
	return err;
}

PMC_API_PUBLIC int pmc_sysctlbyname(const char *name, void *oldp, size_t *oldlenp, const void *newp,
				    size_t newlen)
{
	return call_leave(variable_call(name, oldp, oldlenp, newp, newlen, call_enter()));
}
