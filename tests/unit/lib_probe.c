/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of probes, and their places in ELF files, also in damaged ones. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/event/event.h"
#include "unit.h"
#include "util/scratch.h"

#include <sys/pmc.h>

static void named(const char *text, uint32_t kind, const char *path, const char *provider,
		  const char *symbol, uint64_t plus)
{
	struct probe_name name;
	struct reason why = { "" };
	char copy[256];

	assert_true(probe_name_is(text));
	snprintf(copy, sizeof(copy), "%.*s", (int)probe_name_length(text), text);
	assert_int_equal(probe_name_split(copy, &name, &why), 0);
	assert_int_equal(name.kind, kind);
	assert_string_equal(name.path ?: "", path);
	assert_string_equal(name.provider ?: "", provider);
	assert_string_equal(name.symbol, symbol);
	assert_int_equal(name.plus, plus);
}

static void refused(const char *text, const char *part)
{
	struct probe_name name;
	struct reason why = { "" };
	char copy[256];

	snprintf(copy, sizeof(copy), "%s", text);
	assert_int_equal(probe_name_split(copy, &name, &why), -EINVAL);
	assert_contains(why.text, part);
}

static void test_names(void **state)
{
	named("uprobe:/a/b:f,usr", WIRE_PROBE_UPROBE, "/a/b", "", "f", 0);
	named("uprobe:a:b, c:f+0x10", WIRE_PROBE_UPROBE, "a:b, c", "", "f", 16);
	named("uretprobe:/a:_ZN1a1bEv", WIRE_PROBE_URETPROBE, "/a", "", "_ZN1a1bEv", 0);
	named("usdt:/a,b:p:n", WIRE_PROBE_USDT, "/a,b", "p", "n", 0);
	named("kprobe:vfs_read+4,os", WIRE_PROBE_KPROBE, "", "", "vfs_read", 4);
	named("kretprobe:vfs_read", WIRE_PROBE_KRETPROBE, "", "", "vfs_read", 0);
	refused("uprobe:", "write uprobe:PATH:FUNCTION");
	refused("uprobe:a", "write uprobe:PATH:FUNCTION");
	refused("uprobe::f", "write uprobe:PATH:FUNCTION");
	refused("uprobe:a:", "write uprobe:PATH:FUNCTION");
	refused("usdt:a:b", "write usdt:PATH:PROVIDER:NAME");
	refused("usdt::b:c", "write usdt:PATH:PROVIDER:NAME");
	refused("kprobe:", "write kprobe:FUNCTION");
	refused("kprobe:a:b", "write kprobe:FUNCTION");
	refused("uprobe:a:f+", "an offset is a number of bytes");
	refused("uprobe:a:f+-1", "an offset is a number of bytes");
	refused("kretprobe:f+4", "kretprobe counts returns");
	named("URETPROBE:/a:f", WIRE_PROBE_URETPROBE, "/a", "", "f", 0);
	assert_false(probe_name_is("uprobe"));
	assert_false(probe_name_is("uprobes:a:b"));
	assert_false(probe_name_is("sched:sched_switch"));
}

/* The grammar of specifiers leaves paths alone. */
static void test_specifiers(void **state)
{
	static const struct evspec_machine m = { .nclass = 1, .class = { PMC_CLASS_PROBE } };
	struct evspec spec;
	struct reason why = { "" };

	assert_int_equal(evspec_parse("uprobe:/a/b,c/d:f,usr,x=1", &m, &spec, &why), 0);
	assert_false(spec.raw);
	assert_int_equal(spec.class, PMC_CLASS_PROBE);
	assert_string_equal(spec.event, "uprobe:/a/b,c/d:f");
	assert_int_equal(spec.nquals, 2);
	assert_string_equal(spec.quals[0].key, "usr");
	assert_string_equal(spec.quals[1].value, "1");
}

/* --- files ------------------------------------------------------------------------------------ */

/* What SDT_PROBE() of <sys/sdt.h> makes. */
static const char source[] =
	"__asm__(\".text\\n.globl place\\n.type place, %function\\nplace: nop\\nnop\\n\"\n"
	"\".size place, .-place\\n.pushsection .note.stapsdt,\\\"?\\\",\\\"note\\\"\\n\"\n"
	"\".balign 4\\n.4byte 2f-1f, 4f-3f, 3\\n1: .asciz \\\"stapsdt\\\"\\n2: .balign 4\\n\"\n"
	"\"3: .8byte place\\n.8byte 0\\n.8byte 0\\n.asciz \\\"demo\\\"\\n.asciz \\\"one\\\"\\n\"\n"
	"\".asciz \\\"\\\"\\n4: .balign 4\\n.popsection\\n\");\n"
	"int main(void) { return 0; }\n";

static char *whole;
static size_t size;

static int make_file(void **state)
{
	scratch_write("a.c", source, strlen(source));
	assert_int_equal(scratch_run("${CC:-cc} -O0 -o a a.c"), 0);
	whole = scratch_read("a", &size);
	return whole ? 0 : -1;
}

static int free_file(void **state)
{
	free(whole);
	return 0;
}

/* Looks for both kinds of places.  A refusal has a reason. */
static void look(int fd, const char *symbol, uint64_t *offset, int *usdt)
{
	uint64_t site[2], semaphore[2], unused;
	struct reason why = { "" };
	int err = elf_symbol_find(fd, "a", symbol, 0, offset, &why);

	(void)elf_symbol_find(fd, "a", "0x1", 0, &unused, &why);
	(void)elf_symbol_find(fd, "a", "main@@V", 0, &unused, &why);
	why.text[0] = '\0';
	if (err)
		err = elf_symbol_find(fd, "a", symbol, 0, offset, &why);
	if (err) {
		assert_true(err == -EINVAL || err == -ENOMEM);
		assert_true(err != -EINVAL || *why.text);
		*offset = UINT64_MAX;
	}
	why.text[0] = '\0';
	*usdt = elf_usdt_find(fd, "a", "demo", "one", site, semaphore, 2, &why);
	assert_true(*usdt > 0 || *why.text);
	if (*usdt > 0 && !err)
		assert_int_equal(site[0], *offset);
}

static void test_places(void **state)
{
	int fd = open(scratch_file("a"), O_RDONLY | O_CLOEXEC), usdt;
	struct reason why = { "" };
	uint64_t offset;

	assert_true(fd >= 0);
	look(fd, "place", &offset, &usdt);
	assert_true(offset < size);
	assert_int_equal(usdt, 1);
	assert_int_equal(elf_symbol_find(fd, "a", "plaec", 0, &offset, &why), -EINVAL);
	assert_contains(why.text, "(did you mean \"place\"?)");
	close(fd);
}

/* Finds a function in a file of the scratch folder, or has the reason. */
static int find_in(const char *file, const char *symbol, uint64_t *offset, struct reason *why)
{
	int fd = open(scratch_file(file), O_RDONLY | O_CLOEXEC);
	int err = elf_symbol_find(fd, file, symbol, 0, offset, why);

	close(fd);
	return err;
}

/* Of a stripped program only unwind tables know where functions begin. */
static void test_stripped(void **state)
{
	struct reason why = { "" };
	uint64_t named = 0, address = 0;
	char *text;
	size_t n;

	assert_int_equal(scratch_run("printf 'int f(int i) { return i + 1; } "
				     "int main(void) { return f(-1); }' >s.c && "
				     "${CC:-cc} -fasynchronous-unwind-tables -o s s.c && "
				     "nm s | awk '$3 == \"f\" { printf \"0x\" $1 }' >at && "
				     "strip -o stripped s"), 0);
	text = scratch_read("at", &n);
	assert_int_equal(find_in("s", "f", &named, &why), 0);
	assert_int_equal(find_in("stripped", "f", &address, &why), -EINVAL);
	assert_contains(why.text, "write the address of another one");
	assert_int_equal(find_in("stripped", text, &address, &why), 0);
	assert_true(address == named);
	text[n - 1] ^= 1;
	assert_int_equal(find_in("stripped", text, &address, &why), -EINVAL);
	assert_contains(why.text, "readelf --debug-dump=frames");
	free(text);
}

static void test_versions(void **state)
{
	struct reason why = { "" };
	uint64_t old, new, other;

	assert_int_equal(scratch_run("printf '__asm__(\".symver f1, f@V1; .symver f2, f@@V2\");"
				     "int f1(void) { return 1; } int f2(void) { return 2; }' >v.c; "
				     "printf 'V1 { global: f; local: *; }; V2 { } V1;' >v.map; "
				     "${CC:-cc} -shared -fPIC -Wl,--version-script=v.map "
				     "-o v v.c && strip v"), 0);
	assert_int_equal(find_in("v", "f@@V2", &new, &why), 0);
	assert_int_equal(find_in("v", "f@V1", &old, &why), 0);
	assert_int_equal(find_in("v", "f@V2", &other, &why), 0);
	assert_true(other == new && old != new);
	assert_int_equal(find_in("v", "f", &other, &why), -EINVAL);
	assert_int_equal(find_in("v", "f@@V1", &other, &why), -EINVAL);
	assert_contains(why.text, "v has no function \"f@@V1\", but f@");
	assert_contains(why.text, "f@V1");
	assert_contains(why.text, "f@@V2");
	assert_int_equal(find_in("v", "g@@V1", &other, &why), -EINVAL);
}

/* Writes a damaged copy and looks into it; the places may only be found or refused. */
static void damaged(size_t at, unsigned char byte, size_t length)
{
	unsigned char *copy = malloc(size);
	uint64_t offset;
	int fd, usdt;

	assert_non_null(copy);
	memcpy(copy, whole, size);
	if (at < size)
		copy[at] = byte;
	scratch_write("b", copy, length);
	free(copy);
	fd = open(scratch_file("b"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	look(fd, "place", &offset, &usdt);
	close(fd);
}

static void test_damage(void **state)
{
	Elf64_Ehdr h;

	memcpy(&h, whole, sizeof(h));
	for (size_t at = 0; at < sizeof(h) + h.e_phnum * sizeof(Elf64_Phdr); at++) {
		damaged(at, 0xff, size);
		damaged(at, 0x7f, size);
		damaged(at, 0, size);
	}
	for (size_t at = h.e_shoff; at < size; at++)
		damaged(at, 0xff, size);
	for (size_t length = 0; length < size; length += size / 97)
		damaged(size, 0, length);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_names), T(test_specifiers), T(test_places), T(test_stripped),
		T(test_versions), T(test_damage),
	};

	return cmocka_run_group_tests_name("lib_probe", tests, make_file, free_file);
}
