/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files of the kernel's: /proc, /sys. */
#ifndef PMCBPF_FILE_H
#define PMCBPF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The first size - 1 bytes of a file, whose name may be relative to the folder `dir`; ended by a
 * NUL.  How many there were, or -errno, with an empty text.
 */
int file_read(int dir, const char *name, char *text, size_t size);
/* The first line, without its end; 0 or -errno. */
int file_line(const char *path, char *line, size_t size);
/* The path of what a process runs, or "".  False: nothing, it is the kernel's; or it is gone. */
bool file_executable(pid_t tgid, char *path, size_t size);

/* Looks at the name of the open file only: to use the file might take long. */
bool file_is_pidfd(int fd);

/*
 * Is what the kernel calls a mapping somebody's image?  Memory without a file is not, and has no
 * beginning: "//anon", "[heap]", "[stack]".
 */
#define FILE_LONG_PATH "//toolong"	/* for a file whose path has no room in a page */
bool file_is_image(const char *mapping);

#endif
