/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace points and strings by address: see objects.h.  files.c opens the files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "files.h"
#include "rings.h"

#define MEMFD "/memfd:ktr"

/* The mapping at an address. */
static const struct object_map *objects_map_at(const struct objects *o, uint64_t address)
{
	size_t i = array_upto(o->maps, o->nmaps, end, address);

	return i < o->nmaps && address >= o->maps[i].start ? &o->maps[i] : NULL;
}

size_t objects_regions(const struct objects *o, uint64_t *bases, size_t most)
{
	size_t n = 0;

	/* The library's own region first, then regions in files (KTR_FILE). */
	for (int named = 1; named >= 0; named--)
		for (size_t i = 0; i < o->nmaps && n < most; i++) {
			const struct object_map *m = &o->maps[i];
			bool memfd = strncmp(m->object->path, MEMFD, strlen(MEMFD)) == 0;

			if (m->offset == 0 && memfd == named && (memfd || m->shared) &&
			    rings_probe(o->memory, m->start) == 0)
				bases[n++] = m->start;
		}
	return n;
}

static bool object_in_sites(const struct elf *elf, uint64_t address)
{
	return address >= elf->sites && address < elf->sites_end &&
	       elf->sites_end - address >= sizeof(struct ktr_site) &&
	       (address - elf->sites) % sizeof(struct ktr_site) == 0;
}

/* Copies bytes of the object that the program cannot have changed. */
static int object_get(const struct objects *o, const struct mapped_file *object, uint64_t address,
		      void *to, size_t len)
{
	const struct object_map *map = objects_map_at(o, address);

	if (object->state == OBJECT_FILE)
		return elf_get(&object->elf, address - object->bias, to, len);
	if (!map || map->object != object || map->writable || map->shared ||
	    map->end - address < len)
		return -EFAULT;
	return memory_get(o->memory, address, to, len);
}

static int object_string(const struct objects *o, const struct mapped_file *object,
			 uint64_t address, char *to, size_t size)
{
	const struct object_map *map = objects_map_at(o, address);

	if (object->state == OBJECT_FILE)
		return elf_string(&object->elf, address - object->bias, to, size);
	if (!map || map->object != object || map->writable || map->shared)
		return -EFAULT;
	return memory_string(o->memory, address, to, size);
}

/* The object at an address, its file open if there is one. */
static struct mapped_file *object_at(struct objects *o, uint64_t address)
{
	const struct object_map *map = objects_map_at(o, address);

	if (!map)
		return NULL;
	if (map->object->state == OBJECT_UNTRIED)
		files_open(o, map->object);
	return map->object;
}

int objects_site(struct objects *o, uint64_t address, struct ktr_site *site, char *format,
		 size_t format_size, char *file, size_t file_size)
{
	struct mapped_file *object = object_at(o, address);
	int len;

	/* The file's list of mappings dates from one moment; the program may have had more. */
	if (!object)
		return o->memory ? -EFAULT : -ENOENT;
	if (object->state == OBJECT_NONE)
		return -ENOENT;
	if (object->state == OBJECT_FILE && !object_in_sites(&object->elf, address - object->bias))
		return -EFAULT;
	if (object_get(o, object, address, site, sizeof(*site)) != 0)
		return -EFAULT;
	len = object_string(o, object, address + (uint64_t)(int64_t)site->ktr_fmt, format,
			    format_size);
	if (len < 0 && len != -ENAMETOOLONG)
		return -EFAULT;
	len = object_string(o, object, address + offsetof(struct ktr_site, ktr_file) +
			    (uint64_t)(int64_t)site->ktr_file, file, file_size);
	if (len < 0 && len != -ENAMETOOLONG)
		file[0] = '\0';
	return 0;
}

int objects_string(struct objects *o, uint64_t address, char *to, size_t size)
{
	struct mapped_file *object;
	int len = -EFAULT;

	/* A core omits pages that equal their file's. */
	if (o->memory)
		len = memory_string(o->memory, address, to, size);
	if (len >= 0 || len == -ENAMETOOLONG)
		return len;
	object = object_at(o, address);
	if (!object || object->state != OBJECT_FILE)
		return -EFAULT;
	return elf_string(&object->elf, address - object->bias, to, size);
}

void objects_close(struct objects *o)
{
	for (size_t i = 0; i < o->nobjects; i++) {
		if (o->objects[i]->state == OBJECT_FILE) {
			elf_close(&o->objects[i]->elf);
			memory_close(&o->objects[i]->file);
		}
		free(o->objects[i]->path);
		free(o->objects[i]);
	}
	free(o->objects);
	free(o->maps);
	*o = (struct objects){ 0 };
}
