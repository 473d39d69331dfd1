/* SPDX-License-Identifier: BSD-2-Clause */
/* Build ids of well-formed files, and of arbitrary ones. */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/process/buildid.h"
#include "unit.h"

struct notes {
	Elf64_Nhdr other;
	char other_name[4], other_desc[8];
	Elf64_Nhdr h;
	char name[4];
	uint8_t id[20];
};
struct image {
	Elf64_Ehdr h;
	Elf64_Phdr load, note;
	struct notes notes;
};

static struct notes make_notes(void)
{
	struct notes n = {
		.other = { 4, 6, 5 }, .other_name = "GNU", .h = { 4, 20, NT_GNU_BUILD_ID },
		.name = "GNU",
	};

	for (unsigned int i = 0; i < sizeof(n.id); i++)
		n.id[i] = (uint8_t)(i + 1);
	return n;
}

static struct image make_image(void)
{
	struct image i = {
		.h = { .e_phoff = offsetof(struct image, load), .e_phnum = 2,
		       .e_phentsize = sizeof(Elf64_Phdr) },
		.load = { .p_type = PT_LOAD },
		.note = { .p_type = PT_NOTE, .p_offset = offsetof(struct image, notes),
			  .p_filesz = sizeof(struct notes) },
		.notes = make_notes(),
	};

	memcpy(i.h.e_ident, ELFMAG, SELFMAG);
	i.h.e_ident[EI_CLASS] = ELFCLASS64;
	return i;
}

static struct buildid of_notes(const struct notes *n, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);	/* the sanitizer sees a byte more */
	struct buildid b;

	assert_non_null(exact);
	memcpy(exact, n, size);
	buildid_of_notes(&b, exact, size);
	free(exact);
	return b;
}

static void test_notes(void **state)
{
	struct notes n = make_notes();
	struct buildid b = of_notes(&n, sizeof(n));

	assert_int_equal(b.len, 20);
	assert_memory_equal(b.id, n.id, 20);
	for (size_t size = 0; size < sizeof(n); size++)
		assert_int_equal(of_notes(&n, size).len, 0);
	for (unsigned int i = 0; i < 3; i++) {
		n = make_notes();
		(&n.other.n_namesz)[i] = ~0u;
		assert_int_equal(of_notes(&n, sizeof(n)).len, i < 2 ? 0 : 20);
		n = make_notes();
		(&n.h.n_namesz)[i] = ~0u;
		assert_int_equal(of_notes(&n, sizeof(n)).len, 0);
	}
}

static char path[] = "/tmp/pmcbpf-buildid.XXXXXX";

static struct buildid of_image(const struct image *i, size_t size)
{
	FILE *f = fopen(path, "w");
	struct buildid b = { .len = 99 };

	assert_non_null(f);
	assert_int_equal(fwrite(i, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	buildid_of_file(&b, path);
	return b;
}

static void test_file(void **state)
{
	struct image i = make_image();
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(of_image(&i, sizeof(i)).len, 20);
	for (size_t size = 0; size < i.note.p_offset + sizeof(struct notes); size++)
		assert_int_equal(of_image(&i, size).len, 0);
	i.h.e_phoff = ~0ull;
	assert_int_equal(of_image(&i, sizeof(i)).len, 0);
	i = make_image();
	i.h.e_phnum = 0xffff;
	assert_int_equal(of_image(&i, sizeof(i)).len, 20);
	i.note.p_filesz = ~0ull;
	assert_int_equal(of_image(&i, sizeof(i)).len, 20);
	i.note.p_offset = ~0ull;
	assert_int_equal(of_image(&i, sizeof(i)).len, 0);
	i = make_image();
	i.h.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(of_image(&i, sizeof(i)).len, 0);
	unlink(path);
}

/* It does not wait for a writer, and reads regular files only. */
static void test_other(void **state)
{
	struct buildid b = { .len = 99 };

	buildid_of_file(&b, path);
	assert_int_equal(b.len, 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	b.len = 99;
	buildid_of_file(&b, path);
	assert_int_equal(b.len, 0);
	unlink(path);
	b.len = 99;
	buildid_of_file(&b, "/tmp");
	assert_int_equal(b.len, 0);
	b.len = 99;
	buildid_of_notes_file(&b, path);
	assert_int_equal(b.len, 0);
}

static int vdso_notes(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct buildid *b = arg;

	for (unsigned int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE && !b->len &&
		    strstr(info->dlpi_name, "vdso"))
			buildid_of_notes(b, (const void *)(info->dlpi_addr +
							   info->dlpi_phdr[i].p_vaddr),
					 info->dlpi_phdr[i].p_filesz);
	return 0;
}

/* The vdso's equals the dynamic linker's view of it; another process's has none. */
static void test_vdso(void **state)
{
	struct buildid b = { .len = 99 }, expected = { .len = 0 };

	dl_iterate_phdr(vdso_notes, &expected);
	assert_int_not_equal(expected.len, 0);
	buildid_of_vdso(&b, getauxval(AT_SYSINFO_EHDR));
	assert_int_equal(b.len, expected.len);
	assert_memory_equal(b.id, expected.id, b.len);
	buildid_of_vdso(&b, 0xf7f00000);
	assert_int_equal(b.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes), cmocka_unit_test(test_file),
		cmocka_unit_test(test_other), cmocka_unit_test(test_vdso),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
