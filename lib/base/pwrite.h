/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing a whole buffer to a file, whatever write(2) takes at a time. */
#ifndef PMCBPF_BASE_PWRITE_H
#define PMCBPF_BASE_PWRITE_H

#include <stddef.h>
#include <stdint.h>

/* All of `len` bytes at an offset of the file.  0 or -errno. */
int pwrite_all(int fd, const void *data, size_t len, uint64_t at);

#endif
