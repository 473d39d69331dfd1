/* SPDX-License-Identifier: BSD-2-Clause */
/* libdwfl over a sample. */
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <err.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "truth.h"

static Dwfl *dwfl;
static const struct truth_sample *sample;
static bool attached, unreadable, guessing;

/* Both walk by what is in the files themselves. */
static int no_debuginfo(Dwfl_Module *m, void **user, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **found)
{
	return -1;
}

static const Dwfl_Callbacks modules = {
	.find_elf = dwfl_build_id_find_elf, .find_debuginfo = no_debuginfo,
};

/* --- the sample as a process ------------------------------------------------------------------ */

static pid_t next_thread(Dwfl *d, void *arg, void **thread)
{
	pid_t tid = *thread ? 0 : sample->tid;

	*thread = &sample;
	return tid;
}

static bool get_thread(Dwfl *d, pid_t tid, void *arg, void **thread)
{
	*thread = &sample;
	return tid == sample->tid;
}

static bool memory_read(Dwfl *d, Dwarf_Addr address, Dwarf_Word *to, void *arg)
{
	const bool good = truth_read(sample, address, to, sizeof(*to));

	unreadable |= !good;
	return good;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	Dwarf_Word regs[TRUTH_REGS];

	for (unsigned int i = 0; i < TRUTH_REGS; i++)
		regs[i] = sample->regs[i];
#ifdef __aarch64__
	dwfl_thread_state_register_pc(thread, regs[TRUTH_PC]);
	return dwfl_thread_state_registers(thread, 0, TRUTH_REGS - 1, regs);
#else
	return dwfl_thread_state_registers(thread, 0, TRUTH_REGS, regs);
#endif
}

static const Dwfl_Thread_Callbacks process = {
	.next_thread = next_thread, .get_thread = get_thread, .memory_read = memory_read,
	.set_initial_registers = set_registers,
};

/* --- modules ---------------------------------------------------------------------------------- */

/* What is added to the file's addresses; false: the mapping is none of its executable segments. */
static bool bias_of(const struct truth_mapping *m, uint64_t *bias)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	Elf *elf = elf_begin(m->fd, ELF_C_READ, NULL);
	bool found = false;
	GElf_Phdr ph;
	size_t n = 0;

	if (elf && elf_getphdrnum(elf, &n))
		n = 0;
	for (size_t i = 0; i < n && !found; i++) {
		found = gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
			ph.p_flags & PF_X && (ph.p_offset & ~(page - 1)) == m->offset;
		*bias = m->start - m->offset + ph.p_offset - ph.p_vaddr;
	}
	elf_end(elf);
	return found;
}

static struct truth_mapping *mappings;
static unsigned int nmappings;

static void module_report(const struct truth_mapping *m)
{
	uint64_t bias;

	if (m->fd >= 0 && bias_of(m, &bias) &&
	    !dwfl_report_elf(dwfl, m->path, m->path, dup(m->fd), bias, true))
		warnx("%s: libdwfl: %s", m->path, dwfl_errmsg(-1));
}

/* What the new mapping covers is gone; returns whether anything was. */
static bool mappings_cut(const struct truth_mapping *new)
{
	unsigned int n = 0;
	bool cut = false;

	for (unsigned int i = 0; i < nmappings; i++) {
		const struct truth_mapping *m = &mappings[i];

		if (m->start < new->start + new->size && new->start < m->start + m->size)
			cut = true;
		else
			mappings[n++] = *m;
	}
	nmappings = n;
	return cut;
}

void dwfl_mapping(const struct truth_mapping *m)
{
	const bool cut = mappings_cut(m);

	if (cut) {
		dwfl_end(dwfl);
		dwfl = NULL;
		attached = false;
	}
	if (array_extend(mappings, nmappings) != 0)
		errx(2, "no memory");
	mappings[nmappings++] = *m;
	if (!dwfl) {
		elf_version(EV_CURRENT);
		dwfl = dwfl_begin(&modules);
		if (!dwfl)
			errx(2, "libdwfl: %s", dwfl_errmsg(-1));
	}
	dwfl_report_begin_add(dwfl);
	for (unsigned int i = cut ? 0 : nmappings - 1; i < nmappings; i++)
		module_report(&mappings[i]);
	dwfl_report_end(dwfl, NULL, NULL);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Elsewhere libdwfl guesses the caller. */
static bool has_information(Dwarf_Addr place)
{
	Dwfl_Module *m = dwfl_addrmodule(dwfl, place);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = m ? dwfl_module_eh_cfi(m, &bias) : NULL;
	Dwarf_Frame *f = NULL;
	const bool found = cfi && !dwarf_cfi_addrframe(cfi, place - bias, &f);

	free(f);
	return found;
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct truth_chain *out = arg;
	Dwarf_Addr pc;
	bool exact;

	if (out->n == TRUTH_FRAMES || !dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	out->pc[out->n++] = pc;
	if (guessing)
		return DWARF_CB_OK;
	out->proven = out->n;
	guessing = !has_information(exact ? pc : pc - 1);
	return DWARF_CB_OK;
}

void dwfl_walk(const struct truth_sample *s, struct truth_chain *out)
{
	/* Before the first mapping libdwfl has no process to walk in. */
	if (!dwfl) {
		*out = (struct truth_chain){ .n = 1, .proven = 1, .guess = true,
					     .pc = { s->regs[TRUTH_PC] } };
		return;
	}
	out->n = out->proven = 0;
	sample = s;
	unreadable = guessing = false;
	if (!attached && !dwfl_attach_state(dwfl, NULL, s->pid, &process, NULL))
		errx(2, "libdwfl: %s", dwfl_errmsg(-1));
	attached = true;
	out->end = dwfl_getthread_frames(dwfl, s->tid, take_frame, out) || unreadable;
	out->guess = guessing;
}
