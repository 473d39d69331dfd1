/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of the kernel that are not in the recording: from a vmlinux of the same build, or from
 * /proc/kallsyms if the recorded kernel is running.  Offsets count from _text, so the address at
 * which the kernel was loaded does not matter.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "object.h"

#define KERNEL "[kernel"

static bool object_is_module(const struct object *o)
{
	return o->image.path[0] == '[' && strncmp(o->image.path, KERNEL, strlen(KERNEL)) != 0;
}

/* "[name]" without its brackets. */
static int module_name(const struct object *o, char *to, size_t size)
{
	size_t len = strlen(o->image.path);

	if (len < 3 || o->image.path[len - 1] != ']' || strchr(o->image.path, '/'))
		return -EINVAL;
	snprintf(to, size, "%.*s", (int)(len - 2), o->image.path + 1);
	return 0;
}

/* --- vmlinux ----------------------------------------------------------------------------- */

static bool kernel_find_base(struct object *o)
{
	int n = dwfl_module_getsymtab(o->module);
	bool found = false;
	const char *name;
	GElf_Addr at;
	GElf_Sym sym;

	for (int i = 0; i < n; i++) {
		name = dwfl_module_getsym_info(o->module, i, &sym, &at, NULL, NULL, NULL);
		if (!name || (strcmp(name, "_text") != 0 && strcmp(name, "_stext") != 0))
			continue;
		/* The recording counts from the lower one. */
		if (!found || at - o->bias < o->base)
			o->base = at - o->bias;
		found = true;
	}
	return found;
}

static int vmlinux_take(struct object *o, const char *root, const char *path)
{
	char file[PATH_MAX];
	int fd = file_open(root, path), err;

	if (fd < 0)
		return fd;
	snprintf(file, sizeof(file), "%s%s", root ? root : "", path);
	err = object_take(o, fd, file);
	if (!err && !kernel_find_base(o)) {
		object_drop(o);
		object_state(o, IMAGE_BAD, "%s is not a kernel with symbols (vmlinux)", file);
		err = -ENOEXEC;
	}
	return err;
}

/* -k: a file, or its folder.  It is used or refused, never replaced by another. */
static void vmlinux_open_named(struct object *o)
{
	const char *path = o->symbols->config.kernel;
	char file[PATH_MAX];
	struct utsname u;
	struct stat st;
	int err = 0;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		snprintf(file, sizeof(file), "%s/vmlinux", path);
		err = vmlinux_take(o, NULL, file);
		if (err == -ENOENT && uname(&u) == 0) {
			snprintf(file, sizeof(file), "%s/vmlinux-%s", path, u.release);
			err = vmlinux_take(o, NULL, file);
		}
	} else {
		err = vmlinux_take(o, NULL, path);
	}
	if (err && o->image.state == IMAGE_UNOPENED)
		object_state(o, IMAGE_MISSING, "-k %s: %s: name a vmlinux, or the folder with it",
			     path, strerror(-err));
}

/* Only a build id identifies the recorded kernel. */
static bool vmlinux_find(struct object *o)
{
	static const char *const places[] = {
		"/usr/lib/debug/boot/vmlinux-", "", "/usr/lib/debug/lib/modules/", "/vmlinux",
		"/lib/modules/", "/build/vmlinux", "/boot/vmlinux-", "",
	};
	char path[PATH_MAX];
	struct utsname u;

	if (!o->image.idlen || uname(&u) != 0)
		return false;
	if (o->image.path[0] == '/' && vmlinux_take(o, o->symbols->config.root, o->image.path) == 0)
		return true;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i += 2) {
		snprintf(path, sizeof(path), "%s%s%s", places[i], u.release, places[i + 1]);
		if (vmlinux_take(o, o->symbols->config.root, path) == 0)
			return true;
	}
	return false;
}

/* --- the kernel that runs ---------------------------------------------------------------- */

/* Is the build id of this file of notes the recorded one? */
static bool notes_are_same(const struct object *o, const char *path)
{
	uint8_t notes[4096];
	uint32_t head[3];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, notes, sizeof(notes));
	size_t at = 0, len = n > 0 ? (size_t)n : 0, name, id;
	bool same = false;

	while (len - at >= sizeof(head)) {
		memcpy(head, notes + at, sizeof(head));
		name = at + sizeof(head);
		if (head[0] > len || head[1] > len)
			break;
		id = name + ((head[0] + 3) & ~3u);
		at = id + ((head[1] + 3) & ~3u);
		if (at > len)
			break;
		if (head[2] == NT_GNU_BUILD_ID && head[0] == 4 && !memcmp(notes + name, "GNU", 4))
			same |= head[1] == o->image.idlen &&
				!memcmp(notes + id, o->image.id, head[1]);
	}
	if (fd >= 0)
		close(fd);
	return same;
}

static uint64_t module_base(const char *module)
{
	FILE *f = fopen("/proc/modules", "re");
	char line[4096], name[64];
	uint64_t address, base = 0;

	while (f && !base && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %*s %*s %*s %*s %" SCNx64, name, &address) == 2 &&
		    strcmp(name, module) == 0)
			base = address;
	if (f)
		fclose(f);
	return base;
}

static int entry_order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The list has no sizes: each function ends at the next. */
static int entries_add_kernel(struct object *o, struct entry *list, size_t n)
{
	int err = 0;

	if (n)
		qsort(list, n, sizeof(*list), entry_order);
	for (size_t i = 0, next; !err && i < n; i = next) {
		for (next = i + 1; next < n && list[next].start == list[i].start; next++)
			;
		err = entries_add(&o->names, list[i], next < n ? list[next].start : UINT64_MAX, 0);
	}
	return err ? err : spans_sort(&o->names.spans);
}

/* Functions of the kernel (`module` NULL) or of a module, from /proc/kallsyms. */
static int kallsyms_read(struct object *o, const char *module)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[512], of[128], type;
	struct entry *list = NULL;
	size_t n = 0, room = 0;
	uint64_t address;
	int err = f ? 0 : -errno;

	while (!err && fgets(line, sizeof(line), f)) {
		int fields = sscanf(line, "%" SCNx64 " %c %511s [%127[^]]]", &address, &type, name,
				    of);

		if (fields < 3 || !address || (fields == 4) != (module != NULL) ||
		    (module && strcmp(of, module) != 0))
			continue;
		if (!module && !o->base && (!strcmp(name, "_text") || !strcmp(name, "_stext")))
			o->base = address;
		if (!strchr("tTwW", type) || *name == '$')
			continue;
		err = array_reserve(list, room, n + 1);
		if (!err)
			list[n++] = (struct entry){ .name = arena_string(&o->symbols->arena, name),
						    .start = address };
		if (!err && !list[n - 1].name)
			err = -ENOMEM;
	}
	if (!err)
		err = entries_add_kernel(o, list, n);
	if (f)
		fclose(f);
	free(list);
	return err;
}

static bool kernel_take_running(struct object *o)
{
	char module[64], notes[160];

	if (!o->image.idlen)
		return false;
	if (!object_is_module(o)) {
		if (notes_are_same(o, "/sys/kernel/notes") && kallsyms_read(o, NULL) == 0 &&
		    o->base)
			return true;
	} else if (module_name(o, module, sizeof(module)) == 0) {
		snprintf(notes, sizeof(notes), "/sys/module/%s/notes/.note.gnu.build-id", module);
		o->base = module_base(module);
		if (o->base && notes_are_same(o, notes) && kallsyms_read(o, module) == 0 &&
		    o->names.n)
			return true;
	}
	entries_free(&o->names);
	o->base = 0;
	return false;
}

void kernel_open(struct object *o)
{
	const char *named = o->symbols->config.kernel;

	if (strcmp(o->image.path, SYMBOLS_HIDDEN) == 0 ||
	    strcmp(o->image.path, SYMBOLS_OUTSIDE) == 0) {
		o->image.state = IMAGE_OPEN;
		o->named = true;
		return;
	}
	if (!object_is_module(o)) {
		if (named && *named) {
			vmlinux_open_named(o);
			return;
		}
		if (vmlinux_find(o))
			return;
	}
	/* Files of other builds that were tried are not worth a message. */
	o->image.state = IMAGE_OPEN;
	o->image.why = NULL;
	if (o->nadded || kernel_take_running(o)) {
		o->named = true;
		return;
	}
	object_state(o, IMAGE_MISSING, object_is_module(o) ?
		     "%s: the recording has no names of this module" :
		     "%s: the recording has no names of this kernel, and it is not the one that "
		     "runs: name its vmlinux with -k", o->image.path);
}
