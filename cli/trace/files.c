/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding the file that ran.  The mappings of a live process lead to the file itself, even if it
 * was replaced on disk.  Any other file must have the right build id.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/buf.h"
#include "files.h"
#include "maps.h"
#include "cli/common/common.h"
#include "region.h"

#define MAPS_MAX  (1u << 20)
#define NAMES_MAX (16u << 20)
#define TEXT_MAX  (1u << 20)	/* the mappings that a region has */

/* The object of that name and identity, added if it is not there. */
static struct mapped_file *object_named(struct objects *o, const char *path, uint64_t dev,
					uint64_t ino)
{
	struct mapped_file *object;

	for (size_t i = o->nobjects; i-- > 0;)
		if (o->objects[i]->ino == ino && o->objects[i]->dev == dev &&
		    strcmp(o->objects[i]->path, path) == 0)
			return o->objects[i];
	if (array_extend(o->objects, o->nobjects) != 0)
		return NULL;
	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->path = strdup(path);
	object->dev = dev;
	object->ino = ino;
	if (!object->path) {
		free(object);
		return NULL;
	}
	o->objects[o->nobjects++] = object;
	return object;
}

static int objects_add_map(struct objects *o, const struct object_map *map)
{
	if (o->nmaps == MAPS_MAX)
		return -E2BIG;
	if (array_reserve(o->maps, o->maps_room, o->nmaps + 1) != 0)
		return -ENOMEM;
	o->maps[o->nmaps++] = *map;
	return 0;
}

/* Mappings without a file have no path, or one in brackets. */
static int objects_add_file(struct objects *o, const struct mapping *m)
{
	struct object_map map = { .start = m->start, .end = m->end, .offset = m->offset,
		.shared = mapping_shared(m), .writable = mapping_writable(m) };

	if (*m->path != '/')
		return 0;
	map.object = object_named(o, m->path, m->dev, m->inode);
	return map.object ? objects_add_map(o, &map) : -ENOMEM;
}

int objects_of_process(struct objects *o, struct memory *memory, pid_t pid)
{
	struct mapping map;
	struct maps maps;
	int err = maps_open(&maps, pid);

	o->memory = memory;
	o->pid = pid;
	while (!err && (err = maps_next(&maps, &map)) == 0)
		err = objects_add_file(o, &map);
	maps_close(&maps);
	return err < 0 ? err : 0;
}

static int object_map_order(const void *a, const void *b)
{
	const struct object_map *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Layout: count, page size, count times { start, end, page }, and count names. */
static int objects_add_core_maps(struct objects *o, const uint64_t *words, size_t nwords)
{
	uint64_t count = nwords < 2 ? UINT64_MAX : words[0];
	const char *name, *end = (const char *)(words + nwords);
	int err = 0;

	if (count > MAPS_MAX || 2 + 3 * count > nwords)
		return -EBADMSG;
	name = (const char *)(words + 2 + 3 * count);
	for (size_t i = 0; i < count && !err; i++) {
		const uint64_t *w = words + 2 + 3 * i;
		struct object_map map = { .start = w[0], .end = w[1], .offset = w[2] * words[1] };

		if (!memchr(name, '\0', (size_t)(end - name)) || map.start >= map.end)
			return -EBADMSG;
		map.object = object_named(o, name, 0, 0);
		/* The note does not mark shared mappings: objects_regions() compares the magic. */
		map.shared = true;
		err = map.object ? objects_add_map(o, &map) : -ENOMEM;
		name += strlen(name) + 1;
	}
	if (o->nmaps)
		qsort(o->maps, o->nmaps, sizeof(*o->maps), object_map_order);
	return err;
}

int objects_of_core(struct objects *o, struct memory *memory, const struct elf *core)
{
	uint64_t *words;
	size_t size = 0;
	const void *note = elf_note(core, "CORE", NT_FILE, &size);
	int err;

	o->memory = memory;
	if (!note)
		return -ENOENT;
	if (size > NAMES_MAX || size < 2 * sizeof(*words))
		return -EBADMSG;
	words = calloc(size / sizeof(*words) + 2, sizeof(*words));
	if (!words)
		return -ENOMEM;
	memcpy(words, note, size);
	err = objects_add_core_maps(o, words, size / sizeof(*words) + 1);
	free(words);
	return err;
}

int objects_of_region(struct objects *o, struct memory *file, const struct ktr_region *region)
{
	char *text = malloc(TEXT_MAX), *next;
	struct mapping map;
	int err = 0;
	ssize_t n;

	if (!text)
		return -ENOMEM;
	n = file->read(file, region_tail(region), text, TEXT_MAX - 1);
	text[n > 0 ? n : 0] = '\0';
	for (char *line = text; !err && *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		if (next[-1] == '\n')
			next[-1] = '\0';
		err = maps_parse(line, &map);
		err = err ? err : objects_add_file(o, &map);
	}
	free(text);
	return err == -EBADMSG ? 0 : err;
}

static bool object_is_main(const struct objects *o, const struct mapped_file *object)
{
	const char *exe = o->region->exe;
	size_t len = strlen(exe);

	for (size_t i = 0; i < o->nobjects && len; i++)
		if (strncmp(o->objects[i]->path, exe, len) == 0 &&
		    (!o->objects[i]->path[len] || o->objects[i]->path[len] == ' '))
			return o->objects[i] == object;
	return o->nobjects && o->objects[0] == object;
}

/* Regular files only: opening others may block. */
static int object_open_regular(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && (fstat(fd, st) != 0 || !S_ISREG(st->st_mode))) {
		close(fd);
		errno = ENOEXEC;
		fd = -1;
	}
	return fd;
}

/* The file behind a mapping of the process, or -1. */
static int object_open_mapped(const struct objects *o, const struct mapped_file *object)
{
	char path[PATH_MAX + 64];
	struct stat st;
	int fd;

	for (size_t i = 0; i < o->nmaps; i++) {
		if (o->maps[i].object != object)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", o->pid,
			 (unsigned long long)o->maps[i].start, (unsigned long long)o->maps[i].end);
		fd = object_open_regular(path, &st);
		if (fd >= 0)
			return fd;
		break;
	}
	snprintf(path, sizeof(path), "/proc/%d/root%s", o->pid, object->path);
	fd = object_open_regular(path, &st);
	if (fd >= 0 && st.st_ino == object->ino && st.st_dev == object->dev)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The load address of the file, from its first segment that is mapped. */
static bool object_find_bias(const struct objects *o, struct mapped_file *object)
{
	for (size_t i = 0; i < o->nmaps; i++)
		for (size_t s = 0; o->maps[i].object == object && s < object->elf.nheaders; s++) {
			const Elf64_Phdr *p = &object->elf.headers[s];

			if (p->p_type != PT_LOAD || (p->p_offset & ~0xfffull) != o->maps[i].offset)
				continue;
			object->bias = o->maps[i].start - o->maps[i].offset + p->p_offset -
				       p->p_vaddr;
			return true;
		}
	return false;
}

static const char *build_id_text(const uint8_t *id, uint32_t size, char *to)
{
	return size ? buf_hex(id, size, to) : "none";
}

/* The build id of the program that ran: from its image in memory, else from its region. */
static uint32_t object_running_build(const struct objects *o, const struct mapped_file *object,
				     uint8_t *id)
{
	uint32_t size = 0;

	for (size_t i = 0; o->memory && i < o->nmaps && !size; i++) {
		if (o->maps[i].object == object && o->maps[i].offset == 0)
			size = elf_loaded_build(o->memory, o->maps[i].start, id);
	}
	if (!size && object->main) {
		size = o->region->build_id_size;
		memcpy(id, o->region->build_id, size);
	}
	return size;
}

static bool object_same_build(const struct objects *o, const struct mapped_file *object,
			      const char *path)
{
	char ours[2 * ELF_BUILD_ID + 1], theirs[2 * ELF_BUILD_ID + 1];
	const struct elf *elf = &object->elf;
	uint8_t id[ELF_BUILD_ID];
	uint32_t size = object_running_build(o, object, id);

	if (elf_same_build(elf->build_id, elf->build_id_size, id, size))
		return true;
	/* Without a build id only a file named by the user is used. */
	if (!size && (o->exec || o->memory))
		return true;
	note("%s is not the file that ran (build id %s, that had %s): addresses are printed", path,
	     build_id_text(elf->build_id, elf->build_id_size, ours),
	     build_id_text(id, size, theirs));
	return false;
}

static bool object_use_file(struct objects *o, struct mapped_file *object, int fd, const char *path,
			    bool identified)
{
	int err;

	memory_file(&object->file, fd, 0);
	err = elf_open(&object->elf, &object->file);
	if (err) {
		note("%s: %s: addresses are printed", path, err == -ENOEXEC ?
		     "not an ELF file of this machine" : strerror(-err));
		memory_close(&object->file);
		return false;
	}
	if ((identified || object_same_build(o, object, path)) && object_find_bias(o, object)) {
		object->state = OBJECT_FILE;
		return true;
	}
	elf_close(&object->elf);
	memory_close(&object->file);
	return false;
}

void files_open(struct objects *o, struct mapped_file *object)
{
	const char *path = object->path;
	bool identified = false;
	struct stat st;
	int fd = -1;

	object->state = o->pid ? OBJECT_MEMORY : OBJECT_NONE;
	object->main = object_is_main(o, object);
	if (object->main && o->exec)
		path = o->exec;
	else if (o->pid) {
		fd = object_open_mapped(o, object);
		identified = fd >= 0;
		/* Its trace points are also in its memory. */
		if (fd < 0)
			return;
	}
	if (fd < 0) {
		fd = object_open_regular(path, &st);
		identified = fd >= 0 && object->ino && path == object->path &&
			     st.st_ino == object->ino && st.st_dev == object->dev;
	}
	if (fd < 0)
		note("%s: %s: addresses are printed; -N names the executable", path,
		     errno == ENOEXEC ? "not a regular file" : strerror(errno));
	else if (!object_use_file(o, object, fd, path, identified) && path == o->exec)
		object->state = OBJECT_NONE;
}
