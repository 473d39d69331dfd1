/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPython from outside, as far as a real interpreter never shows it: files and memory that are
 * damaged, contradict themselves, or change while they are read.
 */
#include <elf.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/python/python.h"
#include "unit.h"

/* --- files ------------------------------------------------------------------------------------ */

#define DATA 0x400000u			/* address of the data */

/* A library with an interpreter's objects, and nothing else. */
struct library {
	Elf64_Ehdr head;
	Elf64_Phdr data;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[6];
	char names[96];
	uint64_t version;
	uint64_t runtime[80];
};

static void symbol_add(struct library *l, unsigned int n, const char *name, uint64_t address)
{
	uint32_t at = 1;

	while (l->names[at])
		at += (uint32_t)strlen(l->names + at) + 1;
	strcpy(l->names + at, name);
	l->symbols[n] = (Elf64_Sym){ .st_name = at, .st_value = address, .st_shndx = 1,
				     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT) };
}

static struct library library_of(uint64_t version)
{
	struct library l = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
			  .e_type = ET_DYN, .e_machine = EM_X86_64, .e_phnum = 1, .e_shnum = 3,
			  .e_phoff = offsetof(struct library, data),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_shoff = offsetof(struct library, sections),
			  .e_shentsize = sizeof(Elf64_Shdr) },
		.data = { .p_type = PT_LOAD, .p_vaddr = DATA, .p_filesz = sizeof(l) },
		.version = version,
	};

	l.sections[1] = (Elf64_Shdr){ .sh_type = SHT_DYNSYM, .sh_link = 2,
				      .sh_offset = offsetof(struct library, symbols),
				      .sh_size = sizeof(l.symbols),
				      .sh_entsize = sizeof(Elf64_Sym) };
	l.sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct library, names),
				      .sh_size = sizeof(l.names) };
	symbol_add(&l, 1, "_PyRuntime", DATA + offsetof(struct library, runtime));
	symbol_add(&l, 2, "Py_Version", DATA + offsetof(struct library, version));
	symbol_add(&l, 3, "PyCode_Type", 0x1000);
	symbol_add(&l, 4, "PyUnicode_Type", 0x2000);
	symbol_add(&l, 5, "PyBytes_Type", 0x3000);
	return l;
}

static int bytes_read(const void *bytes, size_t size, struct python_process *p, struct reason *why)
{
	int fd = memfd_create("library", MFD_CLOEXEC), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	*why = (struct reason){ "" };
	err = python_file_read(p, fd, why);
	close(fd);
	/* A refusal has a reason. */
	assert_true(!err == !*why->text);
	return err;
}

static int library_read(const struct library *l, struct python_process *p, struct reason *why)
{
	return bytes_read(l, sizeof(*l), p, why);
}

static void test_versions(void **state)
{
	struct library l = library_of(0x030b0bf0);
	struct python_process p;
	struct reason why;

	assert_int_equal(library_read(&l, &p, &why), 0);
	assert_int_equal(p.layout.version, 0x030b);
	assert_int_equal(p.runtime, DATA + offsetof(struct library, runtime));
	assert_int_equal(p.code_type, 0x1000);
	python_process_move(&p, 0x10000);
	assert_int_equal(p.code_type, 0x11000);
	assert_int_equal(p.text_type, 0x12000);
	assert_int_equal(p.bytes_type, 0x13000);
	l.version = 0x030c01f0;
	assert_int_equal(library_read(&l, &p, &why), 0);
	assert_int_equal(p.layout.version, 0x030c);
	for (unsigned int minor = 8; minor < 20; minor += minor == 10 ? 4 : 1) {
		l.version = 0x03000000 | minor << 16;
		assert_int_equal(library_read(&l, &p, &why), -ENOTSUP);
		assert_contains(why.text, "not 3.11 to 3.13");
	}
}

/* 3.13 describes itself: what it says is checked. */
static void test_description(void **state)
{
	struct library l = library_of(0x030d00f0);
	struct python_process p;
	struct reason why;

	assert_int_equal(library_read(&l, &p, &why), -EBADMSG);
	memcpy(&l.runtime[0], "xdebugpy", 8);
	l.runtime[1] = l.version;
	assert_int_equal(library_read(&l, &p, &why), 0);
	assert_int_equal(p.layout.loop_frame, PYTHON_NONE);
	l.runtime[2] = 1;
	assert_int_equal(library_read(&l, &p, &why), -ENOTSUP);
	assert_contains(why.text, "global lock");
	l.runtime[2] = 0;
	for (unsigned int i = 5; i <= 70; i++) {
		l.runtime[i] = 1ull << 40;
		assert_int_equal(library_read(&l, &p, &why), -EBADMSG);
		l.runtime[i] = 0;
	}
	/* Members that are not in the parts that are read, or not aligned. */
	for (unsigned int i = 29; i <= 39; i++) {
		if (i == 32 || i == 34 || i == 36)
			continue;
		l.runtime[i] = 18 * 8;
		assert_int_equal(library_read(&l, &p, &why), -ENOTSUP);
		l.runtime[i] = 0;
	}
	l.runtime[31] = 4;
	assert_int_equal(library_read(&l, &p, &why), -ENOTSUP);
}

static void test_no_interpreter(void **state)
{
	struct library l = library_of(0x030b0bf0);
	struct python_process p;
	struct reason why;

	assert_int_equal(bytes_read("#!/bin/sh\n", 10, &p, &why), -ENOEXEC);
	/* Each object is needed, and has to be defined here. */
	for (unsigned int i = 1; i < 6; i++) {
		l = library_of(0x030b0bf0);
		l.symbols[i].st_shndx = SHN_UNDEF;
		assert_int_equal(library_read(&l, &p, &why), -ENODATA);
	}
	l = library_of(0x030b0bf0);
	l.symbols[2].st_value = DATA - 8;
	assert_int_equal(library_read(&l, &p, &why), -EBADMSG);
	l.symbols[2].st_value = DATA + sizeof(l) - 7;
	assert_int_equal(library_read(&l, &p, &why), -EBADMSG);
}

static void test_limits(void **state)
{
	struct library l = library_of(0x030b0bf0);
	struct python_process p;
	struct reason why;

	l.sections[1].sh_size = UINT64_MAX;
	assert_int_equal(library_read(&l, &p, &why), -E2BIG);
	l = library_of(0x030b0bf0);
	l.sections[2].sh_size = UINT64_MAX;
	assert_int_equal(library_read(&l, &p, &why), -E2BIG);
	l = library_of(0x030b0bf0);
	l.sections[1].sh_offset = UINT64_MAX;
	assert_int_equal(library_read(&l, &p, &why), -EBADMSG);
	l = library_of(0x030b0bf0);
	l.sections[1].sh_link = 3;
	assert_int_equal(library_read(&l, &p, &why), -EBADMSG);
	l = library_of(0x030b0bf0);
	l.head.e_shnum = 65535;
	assert_int_equal(library_read(&l, &p, &why), -E2BIG);
	l = library_of(0x030b0bf0);
	l.head.e_shoff = 0;
	assert_int_equal(library_read(&l, &p, &why), -ENODATA);
	l = library_of(0x030b0bf0);
	l.head.e_shoff = UINT64_MAX;
	assert_int_equal(library_read(&l, &p, &why), -EBADMSG);
}

/* Shortened anywhere, or with any byte damaged: an answer in any case. */
static void test_damage(void **state)
{
	const struct library good = library_of(0x030b0bf0);
	struct python_process p;
	struct reason why;

	for (size_t size = 0; size < offsetof(struct library, runtime); size++)
		assert_int_not_equal(bytes_read(&good, size, &p, &why), 0);
	for (size_t at = 0; at < sizeof(good); at++) {
		struct library l = good;

		((uint8_t *)&l)[at] ^= 0xff;
		(void)library_read(&l, &p, &why);
	}
}

/* --- code objects ----------------------------------------------------------------------------- */

/* 3.11's, at addresses of a process. */
#define CODE 0x7000000u

struct text {
	uint64_t references, type, length, hash;
	uint32_t state, pad;
	uint64_t wide, utf8_length, utf8, wide_length;
	char data[8192];
};

struct objects {
	uint64_t code[PYTHON_WORDS];	/* 18 of them are read */
	struct text name, file;
	uint64_t lines[4];
	uint8_t entries[512];
};

struct space {
	struct python_memory m;		/* first */
	struct objects o;
	unsigned int reads, change_at;	/* the object is another one from this read on */
};

static int space_read(const struct python_memory *m, void *to, size_t size, uint64_t address)
{
	struct space *s = (struct space *)m;

	if (++s->reads == s->change_at)
		s->o.code[9]++;
	address -= CODE;
	if (address > sizeof(s->o) || size > sizeof(s->o) - address)
		return -EFAULT;
	memcpy(to, (const char *)&s->o + address, size);
	return 0;
}

#define PYTHON_READ(arg, to, size, address) space_read(arg, to, size, address)
#include "bpf/python/python.bpf.h"

#define STATE(kind, ascii) ((kind) << 2 | 1u << 5 | (ascii) << 6)
#define AT(member) (CODE + offsetof(struct objects, member))

static struct python_process process(void)
{
	struct library l = library_of(0x030b0bf0);
	struct python_process p;
	struct reason why;

	assert_int_equal(library_read(&l, &p, &why), 0);
	return p;
}

static void text_set(struct text *t, const char *text, size_t bytes, unsigned int kind, bool ascii)
{
	*t = (struct text){ .type = 0x2000, .length = bytes / kind, .state = STATE(kind, ascii),
			    .hash = bytes };
	memcpy(ascii ? (char *)t + 48 : t->data, text, bytes);
}

static struct space *space_new(void)
{
	struct space *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->m.read = space_read;
	s->o.code[1] = 0x1000;
	s->o.code[9] = 7;		/* its first line */
	s->o.code[14] = AT(file);
	s->o.code[16] = AT(name);
	s->o.code[17] = AT(lines);
	s->o.lines[1] = 0x3000;
	text_set(&s->o.name, "f", 1, 1, true);
	text_set(&s->o.file, "f.py", 4, 1, true);
	return s;
}

static int space_code(struct space *s, struct python_code **c)
{
	const struct python_process p = process();
	const uint64_t identity = python_code_identity((const __u64 *)s->o.code, &p, s);

	s->reads = 0;
	return python_code_read(c, &p, &s->m, CODE, identity ?: 1);
}

static void code_is(struct space *s, const char *name, const char *file)
{
	struct python_code *c;

	assert_int_equal(space_code(s, &c), 0);
	assert_string_equal(c->name, name);
	assert_string_equal(c->file, file);
	assert_int_equal(c->first_line, 7);
	free(c);
}

static void test_text(void **state)
{
	struct space *s = space_new();
	char longest[PYTHON_TEXT * 2];

	code_is(s, "f", "f.py");
	text_set(&s->o.name, "caf\xe9\n", 5, 1, false);
	code_is(s, "caf\xc3\xa9?", "f.py");
	text_set(&s->o.name, "\xe9\0\x2c\x20\xff\xdc\0\xd8\0\0", 10, 2, false);
	code_is(s, "\xc3\xa9\xe2\x80\xac\xff??", "f.py");
	text_set(&s->o.name, "\x18\xd5\1\0\xff\xff\xff\xff", 8, 4, false);
	code_is(s, "\xf0\x9d\x94\x98?", "f.py");
	text_set(&s->o.name, "", 0, 1, true);
	code_is(s, "", "f.py");
	memset(longest, 'x', sizeof(longest));
	longest[PYTHON_TEXT - 1] = '\0';
	text_set(&s->o.name, longest, PYTHON_TEXT - 1, 1, true);
	code_is(s, longest, "f.py");
	longest[PYTHON_TEXT - 1] = 'y';
	text_set(&s->o.name, longest, PYTHON_TEXT, 1, true);
	memcpy(longest, "...", 3);
	longest[PYTHON_TEXT - 2] = 'y';
	longest[PYTHON_TEXT - 1] = '\0';
	code_is(s, longest, "f.py");
	memset(longest, 'x', sizeof(longest));
	text_set(&s->o.name, longest, sizeof(longest), 1, true);
	memcpy(longest, "...", 3);
	longest[PYTHON_TEXT - 1] = '\0';
	code_is(s, longest, "f.py");
	free(s);
}

static void test_no_code(void **state)
{
	struct python_code *c;
	struct space *s = space_new();
	const struct { uint64_t *at; uint64_t value; int err; } bad[] = {
		{ &s->o.code[1], 0x1008, -ESTALE }, { &s->o.code[14], 8, -EFAULT },
		{ &s->o.code[16], 8, -ESTALE }, { &s->o.code[17], 8, -EFAULT },
		{ &s->o.name.type, 0x2008, -ESTALE }, { &s->o.lines[1], 0x3008, -ESTALE },
		{ &s->o.lines[2], PYTHON_LINES_MAX + 1, -E2BIG },
		{ &s->o.lines[2], UINT64_MAX, -E2BIG },
		{ &s->o.name.length, UINT64_MAX, -ESTALE },
		{ &s->o.name.length, 1u << 20, -EFAULT },
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const uint64_t before = *bad[i].at;

		*bad[i].at = bad[i].value;
		assert_int_equal(space_code(s, &c), bad[i].err);
		assert_null(c);
		*bad[i].at = before;
	}
	/* Lines that cannot be read leave the names. */
	s->o.lines[2] = PYTHON_LINES_MAX;
	assert_int_equal(space_code(s, &c), 0);
	assert_int_equal(c->nlines, 0);
	assert_true(malloc_usable_size(c) < 2 * sizeof(*c));
	free(c);
	s->o.lines[2] = 0;
	/* Characters of no size, elsewhere, or wider than ASCII is. */
	for (uint32_t kind = 0; kind < 8; kind++) {
		s->o.name.state = STATE(kind, kind & 2u ? 1u : 0u) & ~(kind == 1 ? 1u << 5 : 0);
		assert_int_equal(space_code(s, &c), kind == 4 ? 0 : -ESTALE);
		free(c);
	}
	free(s);
}

/* Another object at the address, before the reading or during it, is not the one that is meant. */
static void test_identity(void **state)
{
	const struct python_process p = process();
	struct space *s = space_new();
	const uint64_t identity = python_code_identity((const __u64 *)s->o.code, &p, s);
	struct python_code *c;
	unsigned int reads;

	assert_int_equal(space_code(s, &c), 0);
	assert_int_equal(c->identity, identity);
	free(c);
	reads = s->reads;
	for (unsigned int word = 0; word < 18; word++) {
		const bool counts = word == 0 || word == 6;

		s->o.code[word]++;
		s->o.name.hash ^= word == 16;	/* nothing is at the address of the name */
		assert_int_equal(python_code_read(&c, &p, &s->m, CODE, identity),
				 counts ? 0 : -ESTALE);
		free(c);
		s->o.name.hash ^= word == 16;
		s->o.code[word]--;
	}
	s->o.name.hash++;
	assert_int_equal(python_code_read(&c, &p, &s->m, CODE, identity), -ESTALE);
	s->o.name.hash--;
	for (unsigned int at = 1; at < reads; at++) {
		s->reads = 0;
		s->change_at = at;
		assert_int_equal(python_code_read(&c, &p, &s->m, CODE, identity), -ESTALE);
		s->o.code[9]--;
	}
	free(s);
}

/* --- lines ------------------------------------------------------------------------------------ */

static uint32_t line_of(const char *entries, size_t n, int32_t first, int64_t instruction)
{
	struct python_code *c = calloc(1, sizeof(*c) + n);
	uint32_t line;

	assert_non_null(c);
	c->first_line = first;
	c->nlines = (uint32_t)n;
	memcpy(c->lines, entries, n);
	line = python_code_line(c, instruction);
	free(c);
	return line;
}

static void test_lines(void **state)
{
	/* Short; same line; 2 lines on; back 1; long, 66 on; none; again. */
	static const char table[] = "\x81\x00" "\xd0\x01\x02" "\xe0\x01\x02" "\xe8\x03"
				    "\xf3\x44\x02\x00\x41\x01\x00" "\xf8" "\xe8\x00";
	static const uint32_t lines[] = { 10, 10, 10, 12, 11, 77, 77, 77, 77, 0, 77 };

	for (int64_t i = 0; i < (int64_t)(sizeof(lines) / sizeof(lines[0])); i++) {
		assert_int_equal(line_of(table, sizeof(table) - 1, 10, i * 2), lines[i]);
		assert_int_equal(line_of(table, sizeof(table) - 1, 10, i * 2 + 1), lines[i]);
	}
	assert_int_equal(line_of(table, sizeof(table) - 1, 10, 22), 0);
	assert_int_equal(line_of(table, sizeof(table) - 1, 10, INT64_MAX), 0);
	/* A frame that has not begun is at the first line. */
	assert_int_equal(line_of(table, sizeof(table) - 1, 10, -2), 10);
	assert_int_equal(line_of("", 0, 10, 0), 0);
	/* Shortened, without the mark of an entry, with a number that is too long, below line 1. */
	assert_int_equal(line_of("\xf0\x02\x00\x00", 4, 10, 0), 0);
	assert_int_equal(line_of("\x00\x00", 2, 10, 0), 0);
	assert_int_equal(line_of("\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x01", 8, 10, 0), 0);
	assert_int_equal(line_of("\xe8\x15", 2, 10, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_description),
		cmocka_unit_test(test_no_interpreter),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_no_code),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
