/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files of /proc and /sys. */
#ifndef PMCBPF_FILE_H
#define PMCBPF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the first size - 1 bytes of a file, whose name may be relative to the folder `dir`, and
 * adds a NUL.  Returns their number, or -errno with an empty text.
 */
int file_read(int dir, const char *name, char *text, size_t size);
/* Reads the first line, without its end; 0 or -errno. */
int file_line(const char *path, char *line, size_t size);
/* The path of a process's program, or "".  False: it has none, or has exited. */
bool file_executable(pid_t tgid, char *path, size_t size);

/* Looks at the name of the open file only: to use the file might take long. */
bool file_is_pidfd(int fd);

/*
 * True if the kernel alone serves this type of file system, from memory or a block device.  With
 * FUSE, 9p, NFS and the like a program or another machine may keep a reader or writer for ever;
 * overlay may lie on any of them.
 */
bool file_system_is_local(long type);

/*
 * True if a mapping of this name is of a file or the vdso.  Others are memory: "//anon", "[heap]",
 * "[stack]".
 */
#define FILE_LONG_PATH "//toolong"	/* the kernel's name for a path longer than a page */
bool file_is_image(const char *mapping);

#endif
