/* SPDX-License-Identifier: BSD-2-Clause */
/* Names without a user's file: demangled ones, JIT maps, the kernel's. */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "naming.h"

/* --- demangling -------------------------------------------------------------------------- */

static void expect_demangled(const char *raw, const char *name)
{
	struct arena a = { 0 };

	assert_string_equal(demangle(&a, raw), name);
	arena_free(&a);
}

static void test_demangled(void **state)
{
	static const char *const names[][2] = {
		{ "main", "main" },
		{ "_start", "_start" },
		{ "_ZN3foo3barEi", "foo::bar(int)" },
		{ "_ZNK4deep3BoxIdE3sumEi", "deep::Box<double>::sum(int) const" },
		{ "_ZN3FooC4Ev", "Foo::Foo()" },
		{ "_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_",
		  "std::remove_reference<int&>::type&& std::move<int&>(int&)" },
		{ "_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]" },
		{ "_ZN3foo3barEi@plt", "foo::bar(int)@plt" },
		{ "puts@plt", "puts@plt" },
		{ "memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14" },
		/* Rust: the style that looks like C++ with a hash, and its own. */
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		  "3bar17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvNtNtCs1234_7mycrate3foo3bar3baz", "mycrate::foo::bar::baz" },
		{ "_RNCNvC4main4main0", "main::main::{closure#0}" },
		/* Not mangled, though it begins like that. */
		{ "_Z", "_Z" },
		{ "_ZN3fooE3barEi junk", "_ZN3fooE3barEi junk" },
		{ "_Restart", "_Restart" },
		{ "_Rust", "_Rust" },
		/* Demanglers for old styles of C++ would change these. */
		{ "foo__3bari", "foo__3bari" },
		{ "new\nline\033[2J", "new?line?[2J" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		expect_demangled(names[i][0], names[i][1]);
}

/* Neither long nor nested names produce long output. */
static void test_demangled_large(void **state)
{
	static char raw[40000];
	struct arena a = { 0 };
	size_t len;

	memset(raw, 'x', sizeof(raw) - 1);
	len = strlen(demangle(&a, raw));
	assert_in_range(len, 1000, 5000);
	strcpy(raw, "_Z1fI");
	for (size_t i = 5; i < sizeof(raw) - 1; i++)
		raw[i] = i < sizeof(raw) / 2 ? 'P' : 'i';
	len = strlen(demangle(&a, raw));
	assert_in_range(len, 1000, 5000);
	memset(raw + 14000, 0, 1);
	assert_in_range(strlen(demangle(&a, raw)), 1000, 20000);
	arena_free(&a);
}

/* --- JIT maps ---------------------------------------------------------------------------- */

static void write_map(const char *text)
{
	assert_int_equal(scratch_run("mkdir -p tmp"), 0);
	scratch_write("tmp/perf-77.map", text, strlen(text));
}

static void test_jit(void **state)
{
	struct symbols *s = with_root(scratch());
	struct image *image;

	write_map("1000 20 first\n1010 4 inner with spaces\n"
		  "ffff800000001000 10 high\n5000 10 unfinished");
	image = symbols_jit(s, 77);
	assert_non_null(image);
	assert_ptr_equal(symbols_jit(s, 77), image);
	assert_string_equal(image->name, "perf-77.map");
	expect_name(s, image, 0x1000, "first");
	expect_name(s, image, 0x1010, "inner with spaces");
	expect_name(s, image, 0x1014, "first");
	expect_name(s, image, 0x1020, "0x1020");
	expect_name(s, image, 0xffff800000001009, "high");
	expect_name(s, image, 0x5001, "unfinished");
	assert_int_equal(image->state, IMAGE_OPEN);
	assert_null(image->why);
	assert_null(symbols_jit(s, 78));
	symbols_free(s);
}

/* The process continues to write; later code replaces older code. */
static void test_jit_grows(void **state)
{
	struct symbols *s = with_root(scratch());
	const struct symbol *first;
	struct image *image;

	write_map("1000 20 first\n2000 10 secon");
	image = symbols_jit(s, 77);
	first = function(s, image, 0x1000);
	expect_name(s, image, 0x3000, "0x3000");
	write_map("1000 20 first\n2000 10 second\n3000 10 third\n1008 8 newer\n");
	expect_name(s, image, 0x3000, "third");
	expect_name(s, image, 0x2000, "second");
	expect_name(s, image, 0x100c, "newer");
	assert_ptr_equal(function(s, image, 0x1000), first);
	/* Begun anew. */
	write_map("4000 10 other\n");
	expect_name(s, image, 0x4000, "other");
	expect_name(s, image, 0x3000, "0x3000");
	symbols_free(s);
}

static void test_jit_hostile(void **state)
{
	struct symbols *s = with_root(scratch());
	struct image *image;

	write_map("\n \nzz 10 a\n1000 zz b\n1000 10\n1000\n-1 10 c\n1000 0 d\n"
		  "ffffffffffffff00 200 wraps\n10000000000000000 10 long\n2000 10 good\n");
	image = symbols_jit(s, 77);
	expect_name(s, image, 0x2000, "good");
	expect_name(s, image, 0x1000, "0x1000");
	assert_contains(image->why, "10 lines");
	assert_contains(image->why, "perf-77.map");
	symbols_free(s);
	s = with_root(scratch());
	write_map("nothing\n");
	image = symbols_jit(s, 77);
	expect_name(s, image, 0x2000, "0x2000");
	assert_int_equal(image->state, IMAGE_BAD);
	symbols_free(s);
}

static void test_jit_not_followed(void **state)
{
	struct symbols *s = with_root(scratch());

	write_map("1000 20 first\n");
	assert_int_equal(scratch_run("mv tmp/perf-77.map elsewhere && "
				     "ln -s ../elsewhere tmp/perf-77.map"), 0);
	assert_null(symbols_jit(s, 77));
	assert_int_equal(scratch_run("rm tmp/perf-77.map && mkfifo tmp/perf-77.map"), 0);
	assert_null(symbols_jit(s, 77));
	assert_int_equal(scratch_run("rm tmp/perf-77.map"), 0);
	symbols_free(s);
}

/* Any user can put a file into /tmp. */
static void test_jit_of_another(void **state)
{
	struct symbols *s = with_root(scratch());
	struct image *image;

	if (geteuid() != 0) {
		symbols_free(s);
		skip();
	}
	write_map("1000 20 forged\n");
	assert_int_equal(chown(scratch_file("tmp/perf-77.map"), 12345, 0), 0);
	image = symbols_jit(s, 77);
	assert_non_null(image);
	expect_name(s, image, 0x1000, "0x1000");
	assert_int_equal(image->state, IMAGE_BAD);
	assert_contains(image->why, "12345");
	symbols_free(s);
}

static void test_jit_alive(void **state)
{
	struct symbols *s = with_root(NULL);
	struct image *image;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);		/* of another process, which had the pid */
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "1000 20 mine\n");
	fclose(f);
	image = symbols_jit(s, getpid());
	unlink(path);
	assert_non_null(image);
	expect_name(s, image, 0x2000, "0x2000");
	symbols_free(s);
	assert_int_equal(access(path, F_OK), -1);
}

/* --- the kernel -------------------------------------------------------------------------- */

static void test_recorded(void **state)
{
	struct symbols *s = symbols_new(&(struct symbols_config){ .no_inlines = true });
	const uint8_t id[20] = { 7 };
	struct image *kernel = symbols_image(s, "[kernel.kallsyms]", id, 20, SYMBOLS_KERNEL);
	struct image *module = symbols_image(s, "[nf_tables]", id, 20, 0);
	const struct symbol *before;

	assert_true(kernel->kernel && module->kernel);
	assert_int_equal(symbols_add(s, kernel, 0x5000, "schedule"), 0);
	before = function(s, kernel, 0x5010);
	assert_string_equal(before->name, "schedule");
	assert_int_equal(before->start, 0x5000);
	expect_name(s, kernel, 0x7000, "schedule");
	/* More are added while the first ones are known already. */
	assert_int_equal(symbols_add(s, kernel, 0x6000, "do_idle"), 0);
	assert_int_equal(symbols_add(s, kernel, 0x1000, "_stext"), 0);
	expect_name(s, kernel, 0x7000, "do_idle");
	expect_name(s, kernel, 0x1000, "_stext");
	assert_ptr_equal(function(s, kernel, 0x5010), before);
	assert_null(function(s, kernel, 0x10)->name);
	assert_int_equal(symbols_add(s, module, 0x10, "nft_do_chain"), 0);
	expect_name(s, module, 0x20, "nft_do_chain");
	symbols_free(s);
}

static void test_kernel_missing(void **state)
{
	struct symbols *s = with_root(scratch());
	const uint8_t id[20] = { 7 };
	struct image *kernel = symbols_image(s, "[kernel.kallsyms]", id, 20, SYMBOLS_KERNEL);
	struct image *module = symbols_image(s, "[nosuch]", id, 20, SYMBOLS_KERNEL);

	assert_null(function(s, kernel, 0x1000)->name);
	assert_int_equal(kernel->state, IMAGE_MISSING);
	assert_contains(kernel->why, "-k");
	assert_null(function(s, module, 0x1000)->name);
	assert_int_equal(module->state, IMAGE_MISSING);
	assert_contains(module->why, "[nosuch]");
	symbols_free(s);
}

static struct symbols *with_kernel(const char *file)
{
	return symbols_new(&(struct symbols_config){ .kernel = file });
}

/* -k: offsets count from _text, wherever the kernel lay. */
static void test_vmlinux(void **state)
{
	static const char text[] =
		"__attribute__((noinline)) int schedule(int a) { return a * 5; }\n"
		"int _start(int a) { return schedule(a); }\n";
	struct symbols *s;
	struct image *kernel;
	uint8_t id[20] = { 7 };

	scratch_write("k.c", text, sizeof(text) - 1);
	assert_int_equal(scratch_run("mkdir -p boot && gcc -O1 -g -static -nostdlib -no-pie "
				     "-Wl,--build-id=sha1 -Wl,-Ttext=0x61000000 "
				     "-Wl,--defsym=_text=0x60fff000 -Wl,--defsym=_stext=0x61000000 "
				     "-fno-pie -o boot/vmlinux k.c"), 0);
	for (int folder = 0; folder < 2; folder++) {
		s = with_kernel(scratch_file(folder ? "boot" : "boot/vmlinux"));
		kernel = symbols_image(s, "[kernel.kallsyms]", id, 0, SYMBOLS_KERNEL);
		expect_name(s, kernel, nm("boot/vmlinux", "schedule") - 0x60fff000, "schedule");
		assert_int_equal(kernel->state, IMAGE_OPEN);
		assert_int_equal(image_address(s, kernel, 0x1000), 0x61000000);
		symbols_free(s);
	}
	/* A file that the user names is used or refused. */
	s = with_kernel(scratch_file("boot/vmlinux"));
	kernel = symbols_image(s, "[kernel.kallsyms]", id, 20, SYMBOLS_KERNEL);
	assert_null(function(s, kernel, 0x1001)->name);
	assert_int_equal(kernel->state, IMAGE_REPLACED);
	assert_contains(kernel->why, "boot/vmlinux");
	symbols_free(s);
	s = with_kernel("/no/such/kernel");
	kernel = symbols_image(s, "[kernel.kallsyms]", id, 20, SYMBOLS_KERNEL);
	assert_null(function(s, kernel, 0x1001)->name);
	assert_int_equal(kernel->state, IMAGE_MISSING);
	assert_contains(kernel->why, "/no/such/kernel");
	symbols_free(s);
	assert_int_equal(scratch_run("gcc -g -o program k.c -nostdlib"), 0);
	s = with_kernel(scratch_file("program"));
	kernel = symbols_image(s, "[kernel.kallsyms]", id, 0, SYMBOLS_KERNEL);
	assert_null(function(s, kernel, 0x1001)->name);
	assert_int_equal(kernel->state, IMAGE_BAD);
	assert_contains(kernel->why, "program");
	symbols_free(s);
}

/* The running kernel's build id. */
static void running_id(uint8_t id[20])
{
	uint8_t notes[4096];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, notes, sizeof(notes));

	close(fd);
	for (ssize_t i = 0; i + 36 <= n; i += 4)
		if (!memcmp(notes + i, "\4\0\0\0\24\0\0\0\3\0\0\0GNU", 16))
			memcpy(id, notes + i + 16, 20);
}

static void test_running(void **state)
{
	struct symbols *s = with_root(NULL);
	uint64_t text = 0, function = 0, address;
	char line[512], name[256], room[24];
	uint8_t id[20] = { 0 };
	struct image *kernel;
	struct place place = { 0 };
	FILE *f = fopen("/proc/kallsyms", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) != 2)
			continue;
		if (!text && (!strcmp(name, "_text") || !strcmp(name, "_stext")))
			text = address;
		if (!strcmp(name, "schedule"))
			function = address;
	}
	if (f)
		fclose(f);
	if (!text || !function) {
		symbols_free(s);
		skip();
	}
	running_id(id);
	kernel = symbols_image(s, "[kernel.kallsyms]", id, 20, SYMBOLS_KERNEL);
	place = (struct place){ .image = kernel, .offset = function - text + 1 };
	assert_string_equal(symbol_text(symbols_function(s, &place), room), "schedule");
	assert_int_equal(image_address(s, kernel, function - text), function);
	/* Another kernel's names are not this one's. */
	id[0] ^= 1;
	place.image = symbols_image(s, "[kernel.kallsyms]", id, 20, SYMBOLS_KERNEL);
	assert_null(symbols_function(s, &place)->name);
	symbols_free(s);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_demangled), T(test_demangled_large), T(test_jit), T(test_jit_grows),
		T(test_jit_hostile), T(test_jit_not_followed), T(test_jit_of_another),
		T(test_jit_alive), T(test_recorded), T(test_kernel_missing), T(test_vmlinux),
		T(test_running),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
