/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPython 3.11 to 3.13, from outside: where an interpreter keeps its frames, and the names and
 * lines of its code.  The walk itself is in bpf/python.
 *
 * Both the interpreter's file and the process's memory are other users' and may say anything.  Each
 * read is bounded, and what contradicts itself is an error, never a guess.  Code objects come and
 * go while the process runs, and another one may be at the same address: names are those of a frame
 * only if the code object that is read has the identity that the walk saw.
 */
#ifndef PMCBPF_LOADER_PYTHON_H
#define PMCBPF_LOADER_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/python/python_abi.h"
#include "lib/base/reason.h"

/*
 * Reads an interpreter's file, python3.11 or libpython3.11.so: addresses in *out are those of the
 * file's program headers.  -ENOEXEC: no 64-bit ELF file; -ENODATA: no interpreter; -ENOTSUP: one of
 * another version or kind; -EBADMSG: it is damaged; -E2BIG: it exceeds a limit; -EIO, -ENOMEM.
 */
int python_file_read(struct python_process *out, int fd, struct reason *why);
/* Are all members in the parts of objects that are read? */
bool python_layout_check(const struct python_layout *l);

/* Memory of a process: 0, or a negative errno unless all bytes have been read. */
struct python_memory {
	int (*read)(const struct python_memory *m, void *to, size_t size, uint64_t address);
};

#define PYTHON_TEXT	 1024u		/* bytes of a name, with NUL; a longer one keeps its end */
#define PYTHON_LINES_MAX (256u << 10)	/* bytes of a table of lines */

struct python_code {
	uint64_t identity;
	char name[PYTHON_TEXT];		/* the qualified name, in UTF-8 */
	char file[PYTHON_TEXT];
	int32_t first_line;
	uint32_t nlines;		/* bytes; 0: the interpreter's own, or they are not there */
	uint8_t lines[];
};

/*
 * Reads the code object at `address`.  -ESTALE: it is not the one of that identity; -EFAULT: memory
 * could not be read; -E2BIG: its lines exceed the limit; -ENOMEM.
 */
int python_code_read(struct python_code **out, const struct python_process *p,
		     const struct python_memory *m, uint64_t address, uint64_t identity);
/* The line of an instruction, given in bytes from the first one; 0: it has none. */
uint32_t python_code_line(const struct python_code *c, int64_t instruction);

#endif
