/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables for unwinding against libdw, which reads the same information with a parser of its own: at
 * both ends of each row that libdw has, in files of this system, in the kernel's vdso, and, where
 * the cross compiler is installed, in arm64's C and C++ libraries.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glob.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/unwind/unwind.h"
#include "unit.h"

#define TEXT	  96u
#define GAP	  16u			/* a shorter gap has the rule of a neighbour */
#define FILES_MIN 50u
#define LARGEST	  (6u << 20)		/* of files: libdw begins each function anew for each row */

/* What has been compared. */
static struct tally {
	unsigned long rows, gaps, bad, signal, end, plt, loaded, in_register, bx, bx_lost, known;
} tally;

struct names {
	unsigned int ra, fp, sp;
};

static struct names names_of(const struct unwind_table *t)
{
	return t->arch == UNWIND_ARM64 ? (struct names){ 30, 29, 31 } : (struct names){ 16, 6, 7 };
}

/* --- ours as text ----------------------------------------------------------------------------- */

static void our_cfa(const struct unwind_rule *r, struct names n, char *text)
{
	switch (r->cfa) {
	case UNWIND_SP: snprintf(text, TEXT, "r%u%+d", n.sp, r->offset); break;
	case UNWIND_FP: snprintf(text, TEXT, "r%u%+d", n.fp, r->offset); break;
	case UNWIND_REG: snprintf(text, TEXT, "r%u%+d", r->reg, r->offset); break;
	case UNWIND_SP_LOAD:
		snprintf(text, TEXT, "*(r%u%+d)%+d", n.sp, r->offset, r->add);
		break;
	case UNWIND_FP_LOAD:
		snprintf(text, TEXT, "*(r%u%+d)%+d", n.fp, r->offset, r->add);
		break;
	case UNWIND_PLT:
		snprintf(text, TEXT, "r%u%+d+(pc&15>=%u)*%d", n.sp, r->offset, r->reg, r->add);
		break;
	default: snprintf(text, TEXT, "kind %u", r->cfa);
	}
}

static void our_place(unsigned int place, int at, struct names n, char *text)
{
	switch (place) {
	case UNWIND_SAME: snprintf(text, TEXT, "same"); break;
	case UNWIND_AT_CFA: snprintf(text, TEXT, "cfa%+d", at * UNWIND_UNIT); break;
	case UNWIND_AT_FP: snprintf(text, TEXT, "*r%u%+d", n.fp, at * UNWIND_UNIT); break;
	case UNWIND_AT_SP: snprintf(text, TEXT, "*r%u%+d", n.sp, at * UNWIND_UNIT); break;
	case UNWIND_IN_REG: snprintf(text, TEXT, "r%d", at); break;
	default: snprintf(text, TEXT, "other");
	}
}

static void our_bx(const struct unwind_rule *r, struct names n, char *text)
{
	our_place(!r->bx_at			? UNWIND_SAME :
		  r->bx_at == UNWIND_BX_LOST	? UNWIND_UNKNOWN :
						  UNWIND_AT_CFA, r->bx_at, n, text);
}

/* --- libdw's ---------------------------------------------------------------------------------- */

static bool op_base(const Dwarf_Op *op, unsigned int *reg, int *offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*reg = op->atom - DW_OP_breg0;
		*offset = (int)op->number;
		return true;
	}
	*reg = (unsigned int)op->number;
	*offset = (int)op->number2;
	return op->atom == DW_OP_bregx;
}

static bool op_literal(const Dwarf_Op *op, int *value)
{
	*value = op->atom - DW_OP_lit0;
	return op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31;
}

static void plt_text(const Dwarf_Op *op, size_t n, char *text)
{
	unsigned int sp, pc;
	int offset, zero, mask, least, shift;

	if (n == 9 && op_base(&op[0], &sp, &offset) && op_base(&op[1], &pc, &zero) && pc == 16 &&
	    op_literal(&op[2], &mask) && mask == 15 && op[3].atom == DW_OP_and &&
	    op_literal(&op[4], &least) && op[5].atom == DW_OP_ge && op_literal(&op[6], &shift) &&
	    op[7].atom == DW_OP_shl && op[8].atom == DW_OP_plus)
		snprintf(text, TEXT, "r%u%+d+(pc&15>=%d)*%d", sp, offset, least, 1 << shift);
}

static void true_cfa(const Dwarf_Op *op, size_t n, struct names name, char *text)
{
	unsigned int reg;
	int offset, add = 0;

	snprintf(text, TEXT, "other");
	if (!n || !op_base(&op[0], &reg, &offset))
		return;
	if (n == 1) {
		snprintf(text, TEXT, "r%u%+d", reg, offset);
		return;
	}
	if (n == 3 && op[2].atom == DW_OP_plus_uconst)
		add = (int)op[2].number;
	if (op[1].atom == DW_OP_deref && (n == 2 || (n == 3 && add)) &&
	    (reg == name.sp || reg == name.fp))
		snprintf(text, TEXT, "*(r%u%+d)%+d", reg, offset, add);
	else
		plt_text(op, n, text);
}

static void true_place(Dwarf_Frame *frame, unsigned int number, struct names name, char *text)
{
	Dwarf_Op space[3], *op;
	unsigned int reg;
	size_t n;
	int offset;

	assert_int_equal(dwarf_frame_register(frame, (int)number, space, &op, &n), 0);
	snprintf(text, TEXT, "other");
	if (!n)
		snprintf(text, TEXT, "%s", op == space ? "undefined" : "same");
	else if (n == 1 && op[0].atom == DW_OP_call_frame_cfa)
		snprintf(text, TEXT, "cfa+0");
	else if (n == 2 && op[0].atom == DW_OP_call_frame_cfa && op[1].atom == DW_OP_plus_uconst)
		snprintf(text, TEXT, "cfa%+d", (int)op[1].number);
	else if (n == 2 && op[0].atom == DW_OP_call_frame_cfa && op[1].atom == DW_OP_stack_value)
		snprintf(text, TEXT, "the cfa");
	else if (n == 1 && op[0].atom == DW_OP_regx)
		snprintf(text, TEXT, "r%u", (unsigned int)op[0].number);
	/* The CFA is on the expression's stack, below its value. */
	else if (n == 2 && op[0].atom == DW_OP_call_frame_cfa && op_base(&op[1], &reg, &offset) &&
		 (reg == name.fp || reg == name.sp))
		snprintf(text, TEXT, "*r%u%+d", reg, offset);
}

/* --- comparison ------------------------------------------------------------------------------- */

struct subject {
	const char *path;
	const struct unwind_table *t;
	uint64_t gap;			/* start of addresses without information; 0: none */
	GElf_Shdr known[2];		/* sections where libdw has no rule */
};

static const struct unwind_rule *rule_at(const struct subject *s, uint64_t address)
{
	uint32_t rule = unwind_table_rule(s->t, address);

	assert_true(rule < s->t->nrules);
	return &s->t->rules[rule];
}

static void check_texts(const struct subject *s, uint64_t address, const char *what,
			const char *ours, const char *theirs)
{
	if (strcmp(ours, theirs) != 0)
		fail_msg("%s: 0x%llx: %s is %s, libdw has %s", s->path,
			 (unsigned long long)address, what, ours, theirs);
}

static void check_rule(const struct subject *s, uint64_t address, Dwarf_Frame *frame,
		       unsigned int column)
{
	const struct unwind_rule *r = rule_at(s, address);
	const struct names name = names_of(s->t);
	char cfa[TEXT], ra[TEXT], fp[TEXT], sp[TEXT], bx[TEXT], ours[TEXT];
	Dwarf_Op *op;
	size_t n;

	assert_int_equal(dwarf_frame_cfa(frame, &op, &n), 0);
	true_cfa(op, n, name, cfa);
	true_place(frame, column, name, ra);
	true_place(frame, name.sp, name, sp);
	/* A register that the caller need not keep. */
	if (column != name.ra && !strcmp(ra, "undefined"))
		snprintf(ra, sizeof(ra), "other");
	true_place(frame, name.fp, name, fp);
	true_place(frame, UNWIND_BX, name, bx);
	if (r->cfa == UNWIND_BAD) {
		if (strcmp(cfa, "other") != 0 && strcmp(ra, "other") != 0 &&
		    !strcmp(sp, "the cfa"))
			fail_msg("%s: 0x%llx: no rule for CFA %s, return address %s", s->path,
				 (unsigned long long)address, cfa, ra);
		tally.bad++;
		return;
	}
	if (r->cfa == UNWIND_END) {
		check_texts(s, address, "return address", "undefined", ra);
		tally.end++;
		return;
	}
	check_texts(s, address, "SP", "the cfa", sp);
	our_cfa(r, name, ours);
	check_texts(s, address, "CFA", ours, cfa);
	our_place(r->ra, r->ra_at, name, ours);
	check_texts(s, address, "return address", ours, ra);
	our_place(r->fp, r->fp_at, name, ours);
	check_texts(s, address, "FP", ours, strcmp(fp, "undefined") ? fp : "other");
	our_bx(r, name, ours);
	/* libdw does not know that the ABI has it kept where no rule is given. */
	if (s->t->arch == UNWIND_X86_64 && strcmp(ours, "other") != 0)
		check_texts(s, address, "RBX", ours, strcmp(bx, "undefined") ? bx : "same");
	tally.bx += r->bx_at > UNWIND_BX_LOST && r->bx_at;
	tally.bx_lost += r->bx_at == UNWIND_BX_LOST;
	tally.plt += r->cfa == UNWIND_PLT;
	tally.loaded += r->cfa == UNWIND_SP_LOAD || r->cfa == UNWIND_FP_LOAD;
	tally.in_register += r->ra == UNWIND_IN_REG || r->cfa == UNWIND_REG;
}

/* The start of a dynamic linker has no information, and is known to have no caller. */
static bool is_start(const struct subject *s, uint64_t address)
{
	return rule_at(s, address)->cfa == UNWIND_END;
}

/* With the padding behind it. */
static bool is_known(const struct subject *s, uint64_t address)
{
	for (int i = 0; i < 2; i++)
		if (address - s->known[i].sh_addr < ((s->known[i].sh_size + 15) & ~15ull))
			return rule_at(s, address)->cfa == UNWIND_SP;
	return false;
}

static void known_find(struct subject *s, Elf *elf)
{
	const bool arm64 = s->t->arch == UNWIND_ARM64;
	Elf_Scn *section = NULL;
	size_t names;
	GElf_Shdr sh;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &sh)) {
		const char *name = elf_strptr(elf, names, sh.sh_name) ?: "";

		if (!strcmp(name, arm64 ? ".plt" : ".init"))
			s->known[0] = sh;
		else if (!arm64 && !strcmp(name, ".fini"))
			s->known[1] = sh;
	}
	for (int i = 0; i < 2; i++)
		if (s->known[i].sh_size && is_known(s, s->known[i].sh_addr))
			tally.known++;
}

static void check_gap(struct subject *s, uint64_t end)
{
	if (s->gap && end - s->gap >= GAP) {
		for (uint64_t a = s->gap; a < end; a++)
			if (rule_at(s, a)->cfa != UNWIND_NONE && !is_start(s, a) &&
			    !is_known(s, a))
				fail_msg("%s: 0x%llx: a rule where libdw has none", s->path,
					 (unsigned long long)a);
		tally.gaps++;
	}
	s->gap = 0;
}

/* Returns the end of the row. */
static uint64_t check_row(struct subject *s, Dwarf_CFI *cfi, uint64_t address)
{
	Dwarf_Frame *frame;
	Dwarf_Addr start, end;
	bool signal;
	int column;

	if (dwarf_cfi_addrframe(cfi, address, &frame)) {
		s->gap = s->gap ?: address;
		return address + 1;
	}
	check_gap(s, address);
	column = dwarf_frame_info(frame, &start, &end, &signal);
	assert_true(column >= 0);
	if (signal) {
		assert_int_equal(rule_at(s, address)->cfa, UNWIND_SIGNAL);
		assert_int_equal(rule_at(s, end - 1)->cfa, UNWIND_SIGNAL);
		tally.signal++;
	} else {
		check_rule(s, address, frame, (unsigned int)column);
		check_rule(s, end - 1, frame, (unsigned int)column);
	}
	free(frame);
	tally.rows++;
	return end;
}

static void check_elf(struct subject *s, Elf *elf)
{
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	size_t n;
	GElf_Phdr ph;

	assert_non_null(cfi);
	assert_int_equal(elf_getphdrnum(elf, &n), 0);
	for (size_t i = 0; i < n; i++) {
		assert_non_null(gelf_getphdr(elf, (int)i, &ph));
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		s->gap = 0;
		for (uint64_t a = ph.p_vaddr; a < ph.p_vaddr + ph.p_memsz;)
			a = check_row(s, cfi, a);
		check_gap(s, ph.p_vaddr + ph.p_memsz);
	}
	dwarf_cfi_end(cfi);
}

/* Its rows are sorted, begin each page at 0, and name rules that exist. */
static void check_shape(const struct unwind_table *t)
{
	uint32_t rows = 0;

	for (uint32_t p = 0; p < t->npages; p++) {
		const uint32_t *row = t->rows + t->pages[p].first;

		if (!t->pages[p].rows)
			continue;
		assert_int_equal(t->pages[p].first, rows);
		assert_int_equal(UNWIND_ROW_LOW(row[0]), 0);
		for (uint32_t i = 1; i < t->pages[p].rows; i++)
			assert_true(UNWIND_ROW_LOW(row[i]) > UNWIND_ROW_LOW(row[i - 1]));
		rows += t->pages[p].rows;
	}
	assert_int_equal(rows, t->nrows);
	for (uint32_t i = 0; i < t->nrows; i++)
		assert_true(UNWIND_ROW_RULE(t->rows[i]) < t->nrules);
}

/* False: no ELF file, or one without .eh_frame. */
static bool check_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_table t;
	struct subject s = { .path = path, .t = &t };
	struct reason why;
	int err;

	assert_true(fd >= 0);
	err = unwind_table_build(&t, &(struct unwind_input){ .fd = fd }, &why);
	if (!err) {
		Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);

		if (t.nskipped)
			fail_msg("%s: %u entries skipped", path, t.nskipped);
		check_shape(&t);
		known_find(&s, elf);
		check_elf(&s, elf);
		elf_end(elf);
		unwind_table_free(&t);
	} else if (err != -ENOEXEC && err != -ENODATA) {
		fail_msg("%s: %s", path, why.text);
	}
	close(fd);
	return !err;
}

static unsigned int check_files(const char *pattern, unsigned int most)
{
	unsigned int checked = 0;
	struct stat st;
	glob_t g;

	if (glob(pattern, GLOB_BRACE, NULL, &g))
		return 0;
	for (size_t i = 0; i < g.gl_pathc && checked < most; i++)
		if (!lstat(g.gl_pathv[i], &st) && S_ISREG(st.st_mode) && st.st_size < LARGEST)
			checked += check_file(g.gl_pathv[i]);
	globfree(&g);
	return checked;
}

static void report(const char *what, unsigned int files)
{
	print_message("%s: %u files, %lu rows, %lu gaps; %lu bad, %lu signal, %lu end, %lu PLT, "
		      "%lu loaded, %lu in registers, RBX %lu saved, %lu lost; "
		      "%lu known sections\n", what, files,
		      tally.rows, tally.gaps,
		      tally.bad, tally.signal, tally.end, tally.plt, tally.loaded,
		      tally.in_register, tally.bx, tally.bx_lost, tally.known);
}

/* The dynamic linker and the libraries beside it, and programs. */
static void test_system(void **state)
{
	unsigned int files;

	tally = (struct tally){ 0 };
	files = check_files("/lib64/ld-*.so*", 4);
	files += check_files("/usr/lib{64,/x86_64-linux-gnu,/aarch64-linux-gnu}/"
			     "{ld-linux*,libc.*,libc-*,libm.*,libcrypto*,libstdc++*,libgcc_s*}",
			     20);
	files += check_files("/usr/lib{64,/x86_64-linux-gnu,/aarch64-linux-gnu}/lib[d-l]*.so*", 40);
	files += check_files("/usr/bin/{xz,sort,bash,python3.*,[a-g]*}", 40);
	report("this system", files);
	assert_true(files >= FILES_MIN);
	assert_true(tally.end);
#ifdef __x86_64__
	assert_true(tally.signal && tally.in_register && tally.plt && tally.loaded && tally.bx &&
		    tally.known);
	assert_true(tally.bx_lost < tally.bx / 100);
#endif
	/* What no rule expresses is rare. */
	assert_true(tally.bad < tally.rows / 1000);
}

static void test_arm64(void **state)
{
	unsigned int files;

	tally = (struct tally){ 0 };
	files = check_files("/usr/aarch64-linux-gnu/lib/*.so*", 60);
	report("arm64", files);
	if (!files) {
		print_message("skipped: no libraries in /usr/aarch64-linux-gnu/lib\n");
		skip();
	}
	assert_true(tally.rows && tally.end && tally.known);
}

static void test_vdso(void **state)
{
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_input in = { .fd = -1, .memory = (uint8_t *)image, .vdso = true };
	struct unwind_table t;
	struct subject s = { .path = "vdso", .t = &t };
	struct reason why;
	Elf64_Ehdr head;
	Elf *elf;

	assert_non_null(image);
	memcpy(&head, image, sizeof(head));
	in.size = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
	tally = (struct tally){ 0 };
	if (unwind_table_build(&t, &in, &why))
		fail_msg("vdso: %s", why.text);
	elf = elf_memory(image, in.size);
	assert_non_null(elf);
	check_shape(&t);
	check_elf(&s, elf);
	report("vdso", 1);
	assert_true(tally.rows);
	elf_end(elf);
	unwind_table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vdso), cmocka_unit_test(test_system),
		cmocka_unit_test(test_arm64),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
