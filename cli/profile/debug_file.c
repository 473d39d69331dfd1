/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding the debug information of a stripped file: by build id, by its link (.gnu_debuglink), then
 * from debuginfod.  libdwfl's own search opens anything with the right name, even a pipe, and waits
 * for servers, so it is not used.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <elfutils/libdwelf.h>

#include "lib/base/buf.h"
#include "object.h"

#define DEBUG_FOLDER "/usr/lib/debug"
#define ID_MAX	     64u		/* bytes */

/* How a debug file is recognised: by its build id, or else by the checksum in the link to it. */
struct wanted_file {
	const void *id;
	ssize_t idlen;
	GElf_Word crc;
	bool any;		/* the caller compares */
};

static bool crc_is(int fd, GElf_Word crc)
{
	struct stat st;
	void *map;
	bool same;

	if (fstat(fd, &st) != 0 || st.st_size <= 0)
		return false;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	same = crc32_z(0, map, (size_t)st.st_size) == crc;
	munmap(map, (size_t)st.st_size);
	return same;
}

static bool wanted_fits(int fd, const struct wanted_file *w)
{
	Elf *elf = file_is_elf(fd) ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	const void *id;
	ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
	bool same;

	if (!elf)
		same = false;
	else if (w->any)
		same = true;
	else if (w->idlen > 0)
		same = len == w->idlen && memcmp(id, w->id, (size_t)len) == 0;
	else
		same = crc_is(fd, w->crc);
	elf_end(elf);
	return same;
}

/* Below -r ROOT, then on this machine. */
static int debug_file_try(const struct object *o, const char *path, const struct wanted_file *w,
			  char **found)
{
	const char *root = o->symbols->config.root;
	bool own = !root || !*root;

	for (int i = own; i < 2; i++) {
		int fd = file_open(i ? NULL : root, path);

		if (fd >= 0 && wanted_fits(fd, w) &&
		    asprintf(found, "%s%s", i ? "" : root, path) >= 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

static int debug_file_by_id(const struct object *o, const struct wanted_file *w,
			    const char *suffix, char **found)
{
	char id[2 * ID_MAX + 1], path[sizeof(DEBUG_FOLDER) + sizeof(id) + 32];

	if (w->idlen < 2 || w->idlen > (ssize_t)ID_MAX)
		return -1;
	buf_hex(w->id, (size_t)w->idlen, id);
	snprintf(path, sizeof(path), DEBUG_FOLDER "/.build-id/%.2s/%s%s", id, id + 2, suffix);
	return debug_file_try(o, path, w, found);
}

/* Beside the file, below .debug there, in the folder of all debug files. */
static int debug_file_by_link(const struct object *o, const char *link, const struct wanted_file *w,
			      char **found)
{
	const char *file = o->image.path;
	int folder = (int)(strrchr(file, '/') ? strrchr(file, '/') - file : 0);
	char path[PATH_MAX];
	int fd = -1;

	if (!*link || strchr(link, '/') || file[0] != '/')
		return -1;
	for (int i = 0; fd < 0 && i < 3; i++) {
		snprintf(path, sizeof(path), "%s%.*s/%s%s", i == 2 ? DEBUG_FOLDER : "", folder,
			 file, i == 1 ? ".debug/" : "", link);
		fd = debug_file_try(o, path, w, found);
	}
	return fd;
}

/* The file that debug files of a package share (dwz); its name is relative to theirs. */
static int debug_file_alternate(struct object *o, const char *from, const char *name, char **found)
{
	struct wanted_file w = { .any = true };
	const char *slash = from ? strrchr(from, '/') : NULL;
	char path[PATH_MAX];
	int fd;

	if (name[0] == '/')
		snprintf(path, sizeof(path), "%s", name);
	else if (slash)
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - from), from, name);
	else
		return -1;
	fd = debug_file_try(o, path, &w, found);
	o->alternate = fd >= 0;
	return fd;
}

/* libdwfl returns no name for a file that it has fetched. */
static char *debug_file_name(int fd, char *recorded)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	if (recorded)
		return strdup(recorded);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	return n > 0 ? strndup(path, (size_t)n) : NULL;
}

static int debug_file_fetch(const struct object *o, const struct wanted_file *w, bool executable,
			    char **found)
{
	int fd = debuginfod_get(o->symbols, w->id, (size_t)w->idlen, executable, found);

	if (fd < 0 || wanted_fits(fd, w))
		return fd;
	free(*found);
	*found = NULL;
	close(fd);
	return -1;
}

static int debug_file_find(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			   const char *file, const char *link, GElf_Word crc, char **found)
{
	struct object *o = *data;
	Elf *elf = dwfl_module_getelf(module, &(GElf_Addr){ 0 });
	struct wanted_file w = { .crc = crc };
	int fd;

	/* A link without a checksum leads to the shared file. */
	if (link && !crc)
		return debug_file_alternate(o, file, link, found);
	if (elf)
		w.idlen = dwelf_elf_gnu_build_id(elf, &w.id);
	fd = w.idlen > 0 ? debug_file_by_id(o, &w, ".debug", found) : -1;
	if (fd < 0 && link)
		fd = debug_file_by_link(o, link, &w, found);
	if (fd < 0 && w.idlen > 0)
		fd = debug_file_fetch(o, &w, false, found);
	if (fd >= 0) {
		free(o->debug_file);
		o->debug_file = debug_file_name(fd, *found);
	}
	return fd;
}

Dwfl_Callbacks *object_callbacks(void)
{
	static char path[] = DEBUG_FOLDER, *folder = path;
	static Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = debug_file_find,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &folder,
	};

	return &callbacks;
}

int object_by_id(struct object *o, char **file)
{
	const struct wanted_file w = { .id = o->image.id, .idlen = o->image.idlen };
	int fd = debug_file_by_id(o, &w, "", file);

	if (fd < 0 && w.idlen > 0)
		fd = debug_file_fetch(o, &w, true, file);
	return fd >= 0 ? fd : -ENOENT;
}
