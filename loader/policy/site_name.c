/* SPDX-License-Identifier: BSD-2-Clause */
/* See site_name.h.  A question is "u" or "g", the name, and a NUL. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "loader/base/base.h"
#include "site_name.h"

#define NAMES_MAX 64u			/* in one call, which has a time limit */

struct answer {
	int32_t err;			/* 0, -ENOENT, or the error of the name service */
	uint32_t id;
};

/* --- in a helper ------------------------------------------------------------------------------ */

/* getpwnam(3) lists the values of errno for a name that does not exist. */
static int name_error(void)
{
	switch (errno) {
	case EINTR:
	case EIO:
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ERANGE:
		return -errno;
	default:
		return -ENOENT;
	}
}

int site_name_find(struct site_name *n)
{
	const struct passwd *p = NULL;
	const struct group *g = NULL;
	int err;

	errno = 0;
	if (n->group)
		g = getgrnam(n->text);	/* NOLINT(concurrency-mt-unsafe): a helper has one thread */
	else
		p = getpwnam(n->text);	/* NOLINT(concurrency-mt-unsafe) */
	err = p || g ? 0 : name_error();
	n->known = !err;
	n->id = p ? p->pw_uid : g ? g->gr_gid : 0;
	return err == -ENOENT ? 0 : err;
}

int site_name_job(struct helper_call *call)
{
	const char *p = call->arg, *end = p + call->len;
	struct answer answers[NAMES_MAX];
	unsigned int n = 0;

	while (p < end && n < NAMES_MAX) {
		struct site_name name = { .group = *p == 'g', .text = p + 1 };
		int err = site_name_find(&name);

		answers[n].err = !err && !name.known ? -ENOENT : err;
		answers[n++].id = name.id;
		p += strlen(p) + 1;
	}
	return helper_emit(call, answers, n * sizeof(answers[0]), NULL, 0);
}

/* --- in the daemon ---------------------------------------------------------------------------- */

/* A name is part of a line, and fits. */
unsigned int site_name_ask(const struct site_rules *s, unsigned int first,
			   char arg[HELPER_MAX_ARG], size_t *len)
{
	unsigned int n = 0;

	*len = 0;
	while (first + n < s->nnames && n < NAMES_MAX) {
		const struct site_name *name = s->name[first + n];
		size_t size = strlen(name->text) + 1;

		if (*len + 1 + size > HELPER_MAX_ARG)
			break;
		arg[(*len)++] = name->group ? 'g' : 'u';
		memcpy(arg + *len, name->text, size);
		*len += size;
		n++;
	}
	return n;
}

int site_name_answer(struct site_rules *s, unsigned int first, unsigned int n,
		     const struct helper_part *part, struct reason *why)
{
	struct answer answers[NAMES_MAX];

	if (n > NAMES_MAX || part->len != n * sizeof(answers[0]))
		return deny(why, -EIO, "a helper process has sent a malformed answer");
	memcpy(answers, part->data, part->len);
	for (unsigned int i = 0; i < n; i++) {
		struct site_name *name = s->name[first + i];

		if (answers[i].err && answers[i].err != -ENOENT)
			return deny(why, answers[i].err, "cannot look up the %s \"%.40s\": %s",
				    name->group ? "group" : "user", name->text,
				    strerror(-answers[i].err));
		name->known = !answers[i].err;
		name->id = answers[i].id;
	}
	return 0;
}
