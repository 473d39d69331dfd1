/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside symbol.h: an object is an image with its open file and its sources of names.
 *
 * Two kinds of addresses occur.  An image's offsets are positions in its file (of the kernel: from
 * _text; of a JIT map: the address itself).  The file's addresses are the ones in its own symbol
 * table; object_address() and object_offset() convert them by segments.  libdwfl's addresses are
 * these plus `bias`.
 */
#ifndef PMCBPF_CLI_PROFILE_OBJECT_H
#define PMCBPF_CLI_PROFILE_OBJECT_H

#include <elfutils/libdwfl.h>

#include "arena.h"
#include "debuginfod.h"
#include "entries.h"
#include "item_table.h"
#include "symbol.h"

struct segment {
	uint64_t offset, size;	/* in the file */
	uint64_t address;
	bool code;
};

enum object_kind { OBJECT_FILE, OBJECT_KERNEL, OBJECT_JIT, OBJECT_PYTHON };

struct dwarf;

struct object {
	struct image image;	/* first: a symbol names only this */
	enum object_kind kind;
	pid_t pid;
	uint32_t generation;	/* changes whenever answers become outdated */
	bool named;		/* `names` were read, or are not wanted */
	bool sorted;		/* `added` is */
	bool alternate;		/* the shared debug file (dwz) was found */
	bool dwarf_tried;
	struct symbols *symbols;	/* its registry */

	struct segment *segments;
	size_t nsegments;
	uint64_t base;		/* kernel: the address of offset 0 */
	struct entries names;	/* of the file, or of the JIT map */
	struct entry *added;	/* names from the recording, by offset */
	size_t nadded, added_room;

	Dwfl *dwfl;
	Dwfl_Module *module;
	uint64_t bias;		/* libdwfl's addresses minus the file's */
	char *debug_file;	/* path of the separate debug file */
	struct dwarf *dwarf;
	struct jit *jit;
	struct python_names *python;
};

struct symbols {
	struct symbols_config config;
	struct arena arena;
	struct item_table images, known;	/* objects, symbols: by number */
	struct item_table answers;
	struct debuginfod debuginfod;
};

/* --- symbol.c ---------------------------------------------------------------------------- */

/* The image of this name, whatever files have it; NULL: no memory. */
struct object *symbols_special(struct symbols *s, const char *name, enum object_kind kind);
/* The one symbol of an image, a name (NULL: none) and a start; NULL: no memory. */
const struct symbol *symbols_get(struct symbols *s, const struct image *image, const char *raw,
				 uint64_t start, uint64_t size, bool inlined);

/* --- python.c ---------------------------------------------------------------------------- */

/* The function at an offset; NULL: the log has not named it. */
const struct symbol *python_symbol(const struct object *o, uint64_t offset);
/* Its file and line. */
void python_line(const struct object *o, uint64_t offset, struct frame *frame);
void python_free(struct object *o);

/* --- files.c: opening untrusted paths ---------------------------------------------------- */

/*
 * Opens a regular file for reading; links are followed inside of `root` (NULL or "": the whole file
 * system).  Returns a descriptor or -errno; -EINVAL: not a regular file.
 */
int file_open(const char *root, const char *path);
/* … where no link is followed. */
int file_open_itself(const char *root, const char *path);

/* May this file be passed to libdwfl? */
bool file_is_elf(int fd);

/* --- object.c ---------------------------------------------------------------------------- */

/* Opens the file, once, and sets the state. */
void object_open(struct object *o);
void object_close(struct object *o);
/* Takes the file `fd` for the image.  0, -ENOMEM, -ENOEXEC, or -ESTALE: another build. */
int object_take(struct object *o, int fd, const char *file);
/* Forgets everything about the file: it is opened again. */
void object_reset(struct object *o);
/* Closes the file and keeps the state. */
void object_drop(struct object *o);
/* Sets a state and its reason. */
void object_state(struct object *o, enum image_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* false: no segment of the file has it. */
bool object_address(const struct object *o, uint64_t offset, uint64_t *address);
bool object_offset(const struct object *o, uint64_t address, uint64_t *offset);

/* libdwfl's callbacks, which find the debug information of stripped files. */
Dwfl_Callbacks *object_callbacks(void);
/* The file itself by its build id, from /usr/lib/debug or debuginfod.h.  A descriptor or -errno. */
int object_by_id(struct object *o, char **file);

/* --- sources of names: 0 or -ENOMEM; finding nothing is no error ------------------------- */

int elf_names(struct object *o);		/* elf_names.c: symbol tables, PLT */
void kernel_open(struct object *o);		/* kernel.c */

/* --- jit.c ------------------------------------------------------------------------------- */

int jit_open(struct object *o, pid_t pid);	/* 0, or -errno: there is no map */
struct entry *jit_find(struct object *o, uint64_t address);	/* NULL: the map has none */
bool jit_refresh(struct object *o);	/* the map has changed and was read again */

/* --- jitdump.c --------------------------------------------------------------------------- */

/* Is this the path of a jitdump: jit-PID.dump? */
bool jitdump_path(const char *path);
/* Adds the functions behind *done and moves it; counts bad records.  0 or -ENOMEM. */
int jitdump_read(struct object *o, int fd, off_t size, off_t *done, uint64_t *bad);

/* --- dwarf.c ----------------------------------------------------------------------------- */

struct dwarf_frame {
	const char *name;	/* not demangled; NULL: not known */
	bool inlined;
	uint64_t start, size;	/* address of a function that is not inlined */
	const char *file;
	unsigned int line;
};

/* The frames of an address, innermost first, at most `room`; 0: no debug information has it. */
size_t dwarf_frames(struct object *o, uint64_t address, struct dwarf_frame *frames, size_t room);
bool dwarf_open(struct object *o);
void dwarf_close(struct object *o);

/* --- demangle.c -------------------------------------------------------------------------- */

/* The readable form of a C++ or Rust name, the name itself for all others.  NULL: no memory. */
char *demangle(struct arena *a, const char *name);

#endif
