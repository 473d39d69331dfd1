/* SPDX-License-Identifier: BSD-2-Clause */
/* The version of the running kernel, for what no other sign of the kernel shows. */
#ifndef PMCBPF_LOADER_VERSION_H
#define PMCBPF_LOADER_VERSION_H

/* 1: the kernel is of this version or newer; 0: older; -ENOSYS: its release names no version. */
int version_reaches(unsigned int major, unsigned int minor);

#endif
