/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The room of event names: from the text of a specifier to the fields of an allocation.
 *
 * resolve_event() does it all for pmc_allocate().  It goes through these files from top to bottom,
 * and nothing here calls back:
 *
 *	suggest.c	rejects names of probes, which are not PMCs
 *	perf_spell.c	perf's spellings (cycles:u, r1a2, cache:L1D.READ.MISS), as ours
 *	alias.c		FreeBSD's machine-independent names: spellings on this machine
 *	evspec.c	the grammar: class prefix or PMU, event, terms, qualifiers
 *	sampling.c	qualifiers of samples, of all classes: freq=, addr, …
 *	resolve.c	tries the classes in order: class.c's table, a file class_NAME.c for each
 *	probe_name.c	names of probes, elf_symbol.c, elf_usdt.c: their places in files
 *	pmu_event.c	hardware classes: names and qualifiers to configuration words
 *	pmu.c, pfm.c	two sources of names: the kernel's sysfs, and libpfm4; the third is
 *			perf's own events (lib/base/generic.h), as the daemon reports them
 *	kernel_symbol.c	class BREAKPOINT: addresses of the kernel's symbols
 *	intern.c	gives a hardware event's name the number that struct pmc_info needs
 *
 * The caller describes the machine with struct machine, and has no other part in it.  Any thread
 * may call; only intern.c and pfm.c have state, each behind its own lock.
 *
 * "ic-misses,usr" on an Intel machine becomes "frontend_retired.l1i_miss,usr" (alias), an event and
 * one qualifier (grammar), neither SOFT nor TSC (resolve), not in sysfs (pmu), but an event with a
 * unit mask in libpfm4 (pfm): config 0x1c6, config1 0x12, PMC_CAP_USER.
 */
#ifndef PMCBPF_EVENT_H
#define PMCBPF_EVENT_H

#include "alias.h"
#include "class.h"
#include "elf_file.h"
#include "elf_symbol.h"
#include "elf_usdt.h"
#include "evspec.h"
#include "intern.h"
#include "kernel_symbol.h"
#include "machine.h"
#include "perf_spell.h"
#include "pfm.h"
#include "pmu.h"
#include "pmu_event.h"
#include "probe_name.h"
#include "resolve.h"
#include "sampling.h"
#include "suggest.h"

#endif
