/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for addresses, from the symbol tables and debug information of images: files, the kernel
 * and its modules, the vdso, JIT maps.
 *
 * An image is opened when the first of its addresses is looked up, in this process (no addr2line),
 * and once.  Answers are kept for each place, an image with an offset, so the same function is
 * always the same struct symbol and pointers can be compared.
 *
 * Missing names are no error: a lookup then returns a symbol without a name, and the image's state
 * and `why` give the reason.  NULL always means that there is no memory.
 */
#ifndef PMCBPF_CLI_PROFILE_SYMBOL_H
#define PMCBPF_CLI_PROFILE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

struct symbols;

/* The last component of a path; a path that ends with a slash as it is. */
static inline const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Strings stay the caller's. */
struct symbols_config {
	const char *root;	/* -r: put in front of every path; NULL or "" for none */
	const char *kernel;	/* -k: the kernel's file or its folder; NULL: look for it */
	bool no_names;		/* -A: addresses only, of images only the segments are read */
	bool no_inlines;	/* symbol tables only: no DWARF, no lines */
	unsigned int debuginfod;	/* seconds that symbols_settle() waits for files; 0: off */
};

enum image_state {
	IMAGE_UNOPENED,		/* no address was looked up yet */
	IMAGE_OPEN,
	IMAGE_STRIPPED,		/* open, but without a symbol table or debug information */
	IMAGE_MISSING,		/* there is no such file */
	IMAGE_REPLACED,		/* there is one, with another build id than the recording's */
	IMAGE_BAD,		/* not ELF, or damaged */
};

#define IMAGE_ID_MAX 20u
#define IMAGE_ID_TEXT (2 * IMAGE_ID_MAX + 1)

struct image {
	const char *path;	/* as recorded: "/usr/lib/x.so", "[vdso]", "[kernel.kallsyms]" */
	const char *name;	/* its last component */
	const char *file;	/* the opened file, NULL: none (yet) */
	const char *why;	/* why the state is not OPEN, or lines were skipped; else NULL */
	enum image_state state;
	bool kernel;		/* the kernel or a module */
	bool special;		/* no mapping, and no file, whatever its path */
	bool debug;		/* lines are known */
	uint8_t id[IMAGE_ID_MAX];
	uint8_t idlen;		/* 0: not recorded */
	uint32_t number;	/* 0, 1, ... in the order of appearance */
};

/* A function, or an address that belongs to none.  Equal pointers are equal functions. */
struct symbol {
	const struct image *image;	/* NULL: no mapping explains the address */
	const char *name;		/* demangled; NULL: not known */
	uint64_t start, size;		/* offset (without an image: address); size 0: not known */
	uint32_t number;		/* 0, 1, ... in the order of appearance */
	bool inlined;			/* its code lies in other functions: no start, no size */
};

/* Only the stand-in for missing callers has a name and no image; `start`: enum pmc_chain_end. */
static inline bool symbol_is_cut(const struct symbol *symbol)
{
	return symbol->name && !symbol->image;
}

/* A function at an address, or one of the functions inlined there. */
struct frame {
	const struct symbol *symbol;	/* never NULL */
	const char *file;		/* source file, NULL: not known */
	unsigned int line;		/* 0: not known */
};

/* A position in an image: an address after the mappings of its process were applied. */
struct place {
	struct image *image;	/* NULL: none */
	uint64_t offset;	/* in the image's file; without an image the address itself */
	bool call;		/* a return address, which stands for the call before it */
	bool cut;		/* no address: callers are missing; `offset`: enum pmc_chain_end */
};

/* Is the path, if there is one, of a file or a folder?  0, or an exit code and its line. */
int symbols_check_kernel(const char *path);

struct symbols *symbols_new(const struct symbols_config *config);	/* NULL: ENOMEM */
void symbols_free(struct symbols *s);

#define SYMBOLS_KERNEL (-1)

/* The image and the function of PMCLOG_PC_KERNEL; no symbol table is searched for it. */
#define SYMBOLS_HIDDEN "[kernel]"
/* The same for PMCLOG_PID_OUTSIDE. */
#define SYMBOLS_OUTSIDE "[outside]"

/*
 * The image of a mapping; the same for the same path and build id.  `pid`: the process with the
 * mapping (while it lives, the file is opened below its root) or 0; SYMBOLS_KERNEL: the kernel or a
 * module, with offsets from its start (_text) instead of in a file.  NULL: no memory.
 */
struct image *symbols_image(struct symbols *s, const char *path, const uint8_t *id, size_t idlen,
			    pid_t pid);

/* Can files come from debuginfod?  0, or an exit code and its line. */
int symbols_debuginfod(void);

/*
 * After the addresses of a log: waits for files from debuginfod.  Until then names may be missing
 * that come from there; names that have been looked up are looked up again.
 */
void symbols_settle(struct symbols *s);

/* A symbol that the recording itself names (the kernel's): `start` as offset in the image. */
int symbols_add(struct symbols *s, struct image *image, uint64_t start, const char *name);

/* The image of Python frames; offsets in it are the log's addresses.  NULL: no memory. */
#define SYMBOLS_PYTHON "[python]"
struct image *symbols_python(struct symbols *s);
/* The names of a code object, as MAP_IN has them.  0 or -ENOMEM. */
int symbols_add_code(struct symbols *s, uint64_t offset, const char *text);

/* The JIT map of a process, an image with addresses as offsets; NULL: it has none. */
struct image *symbols_jit(struct symbols *s, pid_t pid);

/* Is this mapping a jitdump? */
bool symbols_is_jitdump(const char *path);
/* Its image `dump`; if it is NULL or cannot be read: the JIT map. */
struct image *symbols_jitdump(struct symbols *s, struct image *dump, pid_t pid);

/*
 * May this offset be code of the image?  Opens the file.  True also for a file that is missing or
 * not ELF.
 */
bool image_covers(struct symbols *s, struct image *image, uint64_t offset);

/* The part of the file around this offset that is code: [*start, *end).  false: not known. */
bool image_segment(struct symbols *s, struct image *image, uint64_t offset, uint64_t *start,
		   uint64_t *end);

/* The address that the file's own symbol table and disassemblers use for this offset. */
uint64_t image_address(struct symbols *s, struct image *image, uint64_t offset);

/*
 * The frames of a place: inlined functions first, the function with code of its own last.  At
 * least one frame; NULL: no memory.  Valid until symbols_free().
 */
const struct frame *symbols_frames(struct symbols *s, const struct place *place, size_t *n);

/* The last of these frames, without lines and inlined functions: cheaper. */
const struct symbol *symbols_function(struct symbols *s, const struct place *place);

/*
 * "name", or "0x1234" (an address as in the image's own symbol table), which is made in `room`.
 * Never empty.
 */
const char *symbol_text(const struct symbol *symbol, char room[static 24]);

/* Images in their order, for reports of missing files; NULL: no more. */
const struct image *symbols_each(const struct symbols *s, size_t i);

#endif
