/* SPDX-License-Identifier: BSD-2-Clause */
/* Class PROBE: places in user code.  The process that asks finds them, with its own rights. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "class.h"
#include "elf_symbol.h"
#include "elf_usdt.h"
#include "intern.h"
#include "perf_spell.h"
#include "probe_name.h"

static bool kind_is_kernel(uint32_t kind)
{
	return kind == WIRE_PROBE_KPROBE || kind == WIRE_PROBE_KRETPROBE;
}

/* The word for the place's own side adds nothing. */
static int probe_qualifier(const struct evspec_pair *qual, const char *name,
			   const struct wire_allocate_req *req, struct reason *why)
{
	bool kernel = kind_is_kernel(req->probe);
	const char *own = kernel ? "os" : "usr", *other = kernel ? "usr" : "os";

	if (evspec_same(qual->key, other))
		return deny(why, -EINVAL, "%s is a place in %s: %s would count nothing", name,
			    kernel ? "the kernel" : "user code", other);
	if (!evspec_same(qual->key, own) || qual->value)
		return deny(why, -EINVAL, "\"%s\" is no qualifier of %s: there is %s", qual->key,
			    name, own);
	return 0;
}

/* For lists: the file without its folder; of a name that is too long, the end. */
static void probe_label(const struct probe_name *name, struct wire_allocate_req *req)
{
	const char *slash = name->path ? strrchr(name->path, '/') : NULL;
	const char *file = slash ? slash + 1 : name->path ?: "";
	char text[EVSPEC_MAX + 32];
	size_t len, head = strlen(name->word) + 1, room = sizeof(req->event_name) - 1;

	len = (size_t)snprintf(text, sizeof(text), "%s:%s%s%s%s%s", name->word, file,
			       name->path ? ":" : "", name->provider ?: "",
			       name->provider ? ":" : "", name->symbol);
	if (name->plus)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "+0x%llx",
					(unsigned long long)name->plus);
	if (len <= room)
		strcpy(req->event_name, text);
	else
		snprintf(req->event_name, sizeof(req->event_name), "%s:...%s", name->word,
			 text + len - (room - head - 3));
}

/*
 * perf's modifiers behind a place: "kprobe:vfs_read:u".  NULL: none, or the name would be none
 * without them.  A function may be called u, or b.
 */
static const char *probe_modifiers(const char *text)
{
	const char *last = strrchr(text, ':');
	char copy[EVSPEC_MAX + 1];
	struct probe_name name;
	struct reason unused;

	if (!last || !last[1] || last[1 + strspn(last + 1, PERF_MODIFIERS)] ||
	    !strpbrk(last + 1, "ukhp"))
		return NULL;
	snprintf(copy, sizeof(copy), "%.*s", (int)(last - text), text);
	return probe_name_is(copy) && !probe_name_split(copy, &name, &unused) ? last : NULL;
}

static int probe_deny_modifiers(const char *text, const char *mods, uint32_t kind,
				struct reason *why)
{
	return deny(why, -EINVAL, "\"%s\": perf's modifiers have no meaning for a probe, which is "
		    "a place in %s: leave \"%s\" out", text,
		    kind_is_kernel(kind) ? "the kernel" : "user code", mods);
}

static int probe_split(const char *text, char copy[EVSPEC_MAX + 1], struct probe_name *name,
		       struct reason *why)
{
	const char *mods = probe_modifiers(text);
	int err;

	snprintf(copy, EVSPEC_MAX + 1, "%s", text);
	err = probe_name_split(copy, name, why);
	return err && mods ? probe_deny_modifiers(text, mods, name->kind, why) : err;
}

static int probe_resolve(const struct machine *m, const char *root,
			 const struct wire_classinfo *info, const struct evspec *spec,
			 struct wire_allocate_req *req, struct reason *why)
{
	struct probe_name name;
	char text[EVSPEC_MAX + 1];
	int err;

	if (!probe_name_is(spec->event))
		return deny(why, -EINVAL, "\"%s\" is no probe: write uprobe:PATH:FUNCTION, "
			    "usdt:PATH:PROVIDER:NAME or kprobe:FUNCTION", spec->event);
	err = probe_split(spec->event, text, &name, why);
	if (err)
		return err;
	probe_label(&name, req);
	req->event = intern_event(spec->event, NULL);
	if (!req->event)
		return -ENOMEM;
	req->probe = name.kind;
	req->caps = PMC_CAP_READ | PMC_CAP_WRITE |
		    (kind_is_kernel(name.kind) ? PMC_CAP_SYSTEM : PMC_CAP_USER);
	for (unsigned int i = 0; i < spec->nquals && !err; i++)
		err = probe_qualifier(&spec->quals[i], spec->event, req, why);
	return err;
}

/* --- places ----------------------------------------------------------------------------------- */

/* Opens no device, and waits for no pipe. */
static int probe_open_file(const char *path, int *fd, struct reason *why)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0)
		return deny(why, errno == ENOMEM || errno == EMFILE || errno == ENFILE ? -errno :
			    -EINVAL, "%s: %s", path, strerror(errno));
	if (!fstat(*fd, &st) && S_ISREG(st.st_mode))
		return 0;
	close(*fd);
	*fd = -1;
	return deny(why, -EINVAL, "%s is no regular file: a probe is in a program or a shared "
		    "object", path);
}

static int probe_find_usdt(const struct probe_name *name, int fd, struct wire_allocate_req *req,
			   struct reason *why)
{
	uint64_t semaphore[WIRE_PROBE_SITES];
	int n = elf_usdt_find(fd, name->path, name->provider, name->symbol, req->probe_site,
			      semaphore, WIRE_PROBE_SITES, why);

	for (int i = 0; i < n; i++) {
		if (semaphore[i] > UINT32_MAX)
			return deny(why, -EINVAL, "%s: the semaphore of %s:%s is at offset 0x%llx, "
				    "and the kernel takes those in the first 4 GB", name->path,
				    name->provider, name->symbol,
				    (unsigned long long)semaphore[i]);
		req->probe_semaphore[i] = (uint32_t)semaphore[i];
	}
	return n;
}

static int probe_find(const struct probe_name *name, int fd, struct wire_allocate_req *req,
		      struct reason *why)
{
	int n = 1, err = 0;

	if (name->provider)
		n = probe_find_usdt(name, fd, req, why);
	else
		err = elf_symbol_find(fd, name->path, name->symbol, name->plus,
				      &req->probe_site[0], why);
	req->probe_sites = n < 0 ? 0 : (uint32_t)n;
	return n < 0 ? n : err;
}

static int probe_name_function(const struct probe_name *name, struct wire_allocate_req *req,
			       struct reason *why)
{
	if (strlen(name->symbol) >= sizeof(req->filter))
		return deny(why, -EINVAL, "\"%.40s\"... is longer than any function's name",
			    name->symbol);
	strcpy(req->filter, name->symbol);
	req->probe_site[0] = name->plus;
	req->probe_sites = 1;
	return 0;
}

/* No such file, where its name has a colon: rather the modifiers are too much. */
static int probe_open_path(const char *text, const struct probe_name *name, int *fd,
			   struct reason *why)
{
	const char *mods = probe_modifiers(text);
	int err = probe_open_file(name->path, fd, why);

	return err && mods && access(name->path, F_OK) ?
		       probe_deny_modifiers(text, mods, name->kind, why) : err;
}

static int probe_open(const char *spec, struct wire_allocate_req *req, int *fd, struct reason *why)
{
	size_t len = probe_name_length(spec);
	struct probe_name name;
	char whole[EVSPEC_MAX + 1], text[EVSPEC_MAX + 1];
	int err;

	*fd = -1;
	snprintf(whole, sizeof(whole), "%.*s", (int)len, spec);
	err = probe_split(whole, text, &name, why);
	if (err || !name.path)
		return err ?: probe_name_function(&name, req, why);
	err = probe_open_path(whole, &name, fd, why);
	err = err ?: probe_find(&name, *fd, req, why);
	if (err && *fd >= 0)
		close(*fd);
	if (err)
		*fd = -1;
	return err;
}

/* There are as many places as files have functions. */
static int probe_each(const struct machine *m, const char *root,
		      const struct wire_classinfo *info, event_fn *fn, void *arg)
{
	return 0;
}

const struct event_class class_probe = {
	.interned = true, .resolve = probe_resolve, .each = probe_each,
	.open = probe_open,
};
