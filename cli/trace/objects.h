/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that a program has mapped, or had, by its addresses.  Trace points are looked up in the
 * section ktr_sites of such a file and nowhere else, and only if the file is the one that ran.
 */
#ifndef PMCBPF_CLI_TRACE_OBJECTS_H
#define PMCBPF_CLI_TRACE_OBJECTS_H

#include <sys/ktr_region.h>
#include <sys/types.h>

#include "elf.h"

struct mapped_file {
	char *path;
	uint64_t dev, ino;	/* a process's */
	enum { OBJECT_UNTRIED, OBJECT_FILE, OBJECT_MEMORY, OBJECT_NONE } state;
	bool main;		/* the executable */
	struct memory file;
	struct elf elf;
	uint64_t bias;		/* difference between an address and the file's own */
};

struct object_map {
	uint64_t start, end, offset;
	bool shared, writable;
	struct mapped_file *object;
};

struct objects {
	struct memory *memory;	/* the process's or the core's memory; NULL: none */
	pid_t pid;		/* of a live process, else 0 */
	struct object_map *maps;	/* sorted */
	size_t nmaps, maps_room, nobjects;
	struct mapped_file **objects;
	const char *exec;	/* of -N, or NULL */
	const struct ktr_region *region;
};

/* From /proc/PID/maps.  0 or -errno. */
int objects_of_process(struct objects *objects, struct memory *memory, pid_t pid);

/* From a core's note of mapped files.  0; -ENOENT: no such note; -EBADMSG: it is damaged. */
int objects_of_core(struct objects *objects, struct memory *memory, const struct elf *core);

/* From the lines of /proc/PID/maps behind the rings of a saved region.  0 or -errno. */
int objects_of_region(struct objects *objects, struct memory *file,
		      const struct ktr_region *region);

/*
 * Addresses of regions: the mappings of files that may be one.  Returns the number, up to `most`.
 */
size_t objects_regions(const struct objects *objects, uint64_t *bases, size_t most);

/*
 * Looks up a trace point, its format and the name of its file.  0; -EFAULT: no trace point can be
 * at this address; -ENOENT: the file is missing.
 */
int objects_site(struct objects *objects, uint64_t address, struct ktr_site *site,
		 char *format, size_t format_size, char *file, size_t file_size);

/* Any string of the program.  As memory_string(). */
int objects_string(struct objects *objects, uint64_t address, char *to, size_t size);
void objects_close(struct objects *objects);

#endif
