/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions as text, by Capstone if it was installed at build time.  Lines look as objdump's do,
 * for tools that parse them.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>

#include "pmcannotate.h"

#if __has_include(<capstone/capstone.h>) && !defined(NO_CAPSTONE)
#include <capstone/capstone.h>

#define BYTES_SHOWN 8	/* bytes of an instruction; fewer are padded */

struct disasm {
	csh handle;
	cs_insn *insn;
	unsigned int machine;
	disasm_name name;
	void *arg;
};

static const struct machine {
	unsigned int number;
	cs_arch arch;
	cs_mode mode;
} machines[] = {
	{ EM_X86_64, CS_ARCH_X86, CS_MODE_64 },
	{ EM_386, CS_ARCH_X86, CS_MODE_32 },
	{ EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN },
};

static const struct machine *disasm_machine(const struct binary *b)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		if (machines[i].number == b->machine)
			return &machines[i];
	}
	return NULL;
}

struct disasm *disasm_open(const struct binary *b, disasm_name name, void *arg, const char **why)
{
	const struct machine *machine = disasm_machine(b);
	struct disasm *d;

	*why = "its instructions are neither x86's nor arm64's";
	if (!machine)
		return NULL;
	*why = "no memory";
	d = calloc(1, sizeof(*d));
	if (!d || cs_open(machine->arch, machine->mode, &d->handle) != CS_ERR_OK) {
		free(d);
		return NULL;
	}
	d->machine = b->machine;
	d->name = name;
	d->arg = arg;
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (machine->arch == CS_ARCH_X86)
		cs_option(d->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	d->insn = cs_malloc(d->handle);
	if (!d->insn) {
		disasm_close(d);
		return NULL;
	}
	return d;
}

void disasm_close(struct disasm *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	cs_close(&d->handle);
	free(d);
}

/* The target of a jump or call, if it is an operand: the last one on both machines. */
static bool disasm_target(const struct disasm *d, uint64_t *address)
{
	const cs_detail *detail = d->insn->detail;

	if (!cs_insn_group(d->handle, d->insn, CS_GRP_JUMP) &&
	    !cs_insn_group(d->handle, d->insn, CS_GRP_CALL))
		return false;
	if (d->machine == EM_AARCH64) {
		const cs_arm64 *arm64 = &detail->arm64;

		if (!arm64->op_count || arm64->operands[arm64->op_count - 1].type != ARM64_OP_IMM)
			return false;
		*address = (uint64_t)arm64->operands[arm64->op_count - 1].imm;
		return true;
	}
	if (detail->x86.op_count != 1 || detail->x86.operands[0].type != X86_OP_IMM)
		return false;
	*address = (uint64_t)detail->x86.operands[0].imm;
	return true;
}

static void disasm_put_head(struct buf *out, uint64_t address, const uint8_t *code, size_t len)
{
	buf_printf(out, "%8" PRIx64 ":\t", address);
	for (size_t i = 0; i < len; i++)
		buf_printf(out, "%02x ", code[i]);
	for (size_t i = len; i < BYTES_SHOWN; i++)
		buf_add(out, "   ", 3);
}

size_t disasm_step(struct disasm *d, const uint8_t *code, size_t len, uint64_t address,
		   struct buf *out)
{
	const uint8_t *rest = code;
	size_t left = len;
	uint64_t next = address, to;

	if (!cs_disasm_iter(d->handle, &rest, &left, &next, d->insn)) {
		disasm_put_head(out, address, code, 1);
		buf_printf(out, "\t.byte 0x%02x", code[0]);
		buf_add(out, "", 1);
		return 1;
	}
	disasm_put_head(out, address, d->insn->bytes, d->insn->size);
	buf_printf(out, "\t%s%s%s", d->insn->mnemonic, *d->insn->op_str ? " " : "",
		   d->insn->op_str);
	if (disasm_target(d, &to))
		d->name(d->arg, to, out);
	buf_add(out, "", 1);
	return d->insn->size;
}

#else

struct disasm *disasm_open(const struct binary *b, disasm_name name, void *arg, const char **why)
{
	*why = "this pmcannotate was built without Capstone";
	return NULL;
}

void disasm_close(struct disasm *d)
{
}

size_t disasm_step(struct disasm *d, const uint8_t *code, size_t len, uint64_t address,
		   struct buf *out)
{
	return 1;	/* never called: there is no struct disasm */
}
#endif
