/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PMCBPF_OPEN_FILES_H
#define PMCBPF_OPEN_FILES_H

/* To be compared with an earlier value: it counts a few entries besides descriptors. */
unsigned int open_files(void);

#endif
