/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of an image: found, compared with the build id in the recording, and opened through
 * libdwfl.  A file of another build is not used, since its names would be wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "lib/base/buf.h"
#include "object.h"

#define SEGMENTS_MAX 65536u
#define VDSO_MAX     (1u << 20)

void object_state(struct object *o, enum image_state state, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	o->image.state = state;
	o->image.why = arena_string(&o->symbols->arena, text);
	/* Out of memory: the path stands for the reason. */
	if (!o->image.why)
		o->image.why = o->image.path;
}

static int object_read_segments(struct object *o, Elf *elf)
{
	size_t n;
	GElf_Phdr h;

	if (elf_getphdrnum(elf, &n) != 0 || n > SEGMENTS_MAX)
		return -ENOEXEC;
	o->segments = calloc(n + 1, sizeof(*o->segments));
	if (!o->segments)
		return -ENOMEM;
	o->nsegments = 0;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &h))
			return -ENOEXEC;
		/* Debug files have headers of segments without their contents. */
		if (h.p_type != PT_LOAD || !h.p_filesz || h.p_offset + h.p_filesz < h.p_offset)
			continue;
		o->segments[o->nsegments++] = (struct segment){
			.offset = h.p_offset, .size = h.p_filesz, .address = h.p_vaddr,
			.code = h.p_flags & PF_X };
	}
	return o->nsegments || o->kind == OBJECT_KERNEL ? 0 : -ENOEXEC;
}

static bool object_has_id(const struct object *o, const void *id, ssize_t len)
{
	if (!o->image.idlen)
		return true;
	return len >= o->image.idlen && memcmp(id, o->image.id, o->image.idlen) == 0;
}

static int object_take_fd(struct object *o, int fd, const char *file)
{
	const void *id;
	GElf_Addr bias;
	ssize_t len;
	void **data;
	Elf *elf;

	o->dwfl = dwfl_begin(object_callbacks());
	if (!o->dwfl)
		return -ENOMEM;
	dwfl_report_begin(o->dwfl);
	o->module = dwfl_report_elf(o->dwfl, o->image.name, file, fd, 0, true);
	if (!o->module) {
		close(fd);
		dwfl_report_end(o->dwfl, NULL, NULL);
		return -ENOEXEC;
	}
	/* The module owns the descriptor now. */
	dwfl_report_end(o->dwfl, NULL, NULL);
	dwfl_module_info(o->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = o;
	elf = dwfl_module_getelf(o->module, &bias);
	if (!elf)
		return -ENOEXEC;
	o->bias = bias;
	len = dwelf_elf_gnu_build_id(elf, &id);
	return object_has_id(o, id, len) ? object_read_segments(o, elf) : -ESTALE;
}

void object_drop(struct object *o)
{
	free(o->segments);
	o->segments = NULL;
	o->nsegments = 0;
	if (o->dwfl)
		dwfl_end(o->dwfl);
	o->dwfl = NULL;
	o->module = NULL;
}

/* The message has the build ids of the recording and of the file. */
static void object_say_replaced(struct object *o, int fd, const char *file)
{
	char recorded[IMAGE_ID_TEXT], found[IMAGE_ID_TEXT] = "none";
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const void *id;
	ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &id) : 0;

	if (len > 0)
		buf_hex(id, (size_t)len < IMAGE_ID_MAX ? (size_t)len : IMAGE_ID_MAX, found);
	elf_end(elf);
	object_state(o, IMAGE_REPLACED,
		     "%s is another build (build id %s, recorded %s): point -r at the old one, or "
		     "install its debug symbols", file, found,
		     buf_hex(o->image.id, o->image.idlen, recorded));
}

int object_take(struct object *o, int fd, const char *file)
{
	int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int err = again < 0 ? -errno : 0;

	if (err)
		close(fd);
	else if (!file_is_elf(fd)) {
		close(fd);
		err = -ENOEXEC;
	} else {
		err = object_take_fd(o, fd, file);
	}
	if (!err) {
		o->image.state = IMAGE_OPEN;
		o->image.why = NULL;
		o->image.file = arena_string(&o->symbols->arena, file);
		err = o->image.file ? 0 : -ENOMEM;
	} else if (err == -ESTALE) {
		object_say_replaced(o, again, file);
	} else if (err == -ENOEXEC && o->image.state != IMAGE_REPLACED) {
		object_state(o, IMAGE_BAD, "%s is not an ELF file, or is damaged", file);
	}
	if (err)
		object_drop(o);
	if (again >= 0)
		close(again);
	return err;
}

/* This process's vdso stands for all of the same build. */
static int vdso_open(void)
{
	const Elf64_Ehdr *vdso = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	size_t size;
	int fd;

	if (!vdso)
		return -ENOENT;
	size = vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize;
	if (size > VDSO_MAX)
		return -ENOEXEC;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, vdso, size) != (ssize_t)size) {
		close(fd);
		return -EIO;
	}
	return fd;
}

static bool path_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/*
 * A process in a container has other files: another root, or other file systems mounted below the
 * same root.  For processes with our files the path is enough, also after their end.
 */
static int object_open_of_process(const struct object *o, char *file, size_t size)
{
	char mounts[32];
	int len = snprintf(file, size, "/proc/%d/root", (int)o->pid);
	int fd;

	snprintf(mounts, sizeof(mounts), "/proc/%d/ns/mnt", (int)o->pid);
	if (o->pid <= 0 ||
	    (path_same_file(file, "/") && path_same_file(mounts, "/proc/self/ns/mnt")))
		return -ENOENT;
	fd = file_open(file, o->image.path);
	snprintf(file + len, size - (size_t)len, "%s", o->image.path);
	return fd;
}

/* With -r the log is from another machine, and so are its processes. */
static bool object_try_path(struct object *o, int *err)
{
	const char *root = o->symbols->config.root ? o->symbols->config.root : "";
	char file[PATH_MAX + 64];
	int fd = *root ? -ENOENT : object_open_of_process(o, file, sizeof(file));

	if (fd >= 0 && object_take(o, fd, file) == 0)
		return true;
	snprintf(file, sizeof(file), "%s%s", root, o->image.path);
	fd = file_open(root, o->image.path);
	*err = fd < 0 ? fd : object_take(o, fd, file);
	return *err == 0;
}

static void object_missing(struct object *o, int err)
{
	const char *root = o->symbols->config.root;

	if (o->image.state != IMAGE_UNOPENED)
		return;
	if (err == -EINVAL)
		object_state(o, IMAGE_BAD, "%s is not a regular file", o->image.path);
	else
		object_state(o, IMAGE_MISSING, "%s%s: %s%s", root ? root : "", o->image.path,
			     strerror(-err),
			     err == -EACCES ? "" : ": point -r at the file system that has it");
}

static void object_open_file(struct object *o)
{
	char *file = NULL;
	int err, fd;

	if (strcmp(o->image.path, "[vdso]") == 0) {
		fd = vdso_open();
		if (fd >= 0)
			object_take(o, fd, "[vdso]");
		else
			object_state(o, IMAGE_MISSING, "[vdso]: %s", strerror(-fd));
		return;
	}
	if (o->image.path[0] == '[') {
		object_state(o, IMAGE_MISSING, "%s is not a file", o->image.path);
		return;
	}
	if (object_try_path(o, &err))
		return;
	object_missing(o, err);
	fd = object_by_id(o, &file);
	if (fd >= 0) {
		enum image_state state = o->image.state;
		const char *why = o->image.why;

		if (object_take(o, fd, file) != 0) {
			o->image.state = state;
			o->image.why = why;
		}
	}
	free(file);
}

/* Has it a symbol table besides the dynamic one? */
static bool object_has_table(struct object *o)
{
	Elf *elf = dwfl_module_getelf(o->module, &(GElf_Addr){ 0 });
	Elf_Scn *section = NULL;
	GElf_Shdr h;

	while (elf && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &h) && h.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

static void object_find_names(struct object *o)
{
	o->named = true;
	if (elf_names(o) != 0)
		entries_free(&o->names);
	if (!object_has_table(o) && !o->debug_file && strcmp(o->image.path, "[vdso]") != 0)
		object_state(o, IMAGE_STRIPPED,
			     "%s is stripped: install its debug symbols, or use --debuginfod",
			     o->image.file);
}

void object_open(struct object *o)
{
	if (o->image.state != IMAGE_UNOPENED)
		return;
	if (o->kind == OBJECT_KERNEL)
		kernel_open(o);
	else if (o->kind == OBJECT_FILE)
		object_open_file(o);
	else
		o->image.state = IMAGE_OPEN;
	if (o->module && !o->named && !o->symbols->config.no_names)
		object_find_names(o);
}

void object_reset(struct object *o)
{
	dwarf_close(o);
	object_drop(o);
	entries_free(&o->names);
	free(o->debug_file);
	o->debug_file = NULL;
	o->named = o->dwarf_tried = o->alternate = false;
	o->image.state = IMAGE_UNOPENED;
	o->image.why = o->image.file = NULL;
	o->image.debug = false;
	o->generation++;
}

void object_close(struct object *o)
{
	dwarf_close(o);
	object_drop(o);
	entries_free(&o->names);
	python_free(o);
	free(o->added);
	free(o->debug_file);
	free(o);
}

bool object_address(const struct object *o, uint64_t offset, uint64_t *address)
{
	if (o->kind != OBJECT_FILE || !o->nsegments) {
		*address = offset + o->base;
		return o->kind != OBJECT_FILE;
	}
	/* Segments may share pages of the file: prefer code. */
	for (int code = 1; code >= 0; code--)
		for (size_t i = 0; i < o->nsegments; i++) {
			const struct segment *s = &o->segments[i];

			if (s->code != code || offset < s->offset || offset - s->offset >= s->size)
				continue;
			*address = s->address + (offset - s->offset);
			return true;
		}
	*address = offset;
	return false;
}

bool object_offset(const struct object *o, uint64_t address, uint64_t *offset)
{
	if (o->kind != OBJECT_FILE || !o->nsegments) {
		*offset = address - o->base;
		return o->kind != OBJECT_FILE;
	}
	for (size_t i = 0; i < o->nsegments; i++) {
		const struct segment *s = &o->segments[i];

		if (address < s->address || address - s->address >= s->size)
			continue;
		*offset = s->offset + (address - s->address);
		return true;
	}
	*offset = address;
	return false;
}
