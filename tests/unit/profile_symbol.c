/* SPDX-License-Identifier: BSD-2-Clause */
/* Images: missing, stripped, replaced and damaged ones, and those in containers. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "lib/base/buf.h"
#include "cli/profile/object.h"
#include "naming.h"

static const char program[] =
	"__attribute__((noinline)) static int hidden(int a) { return a * 3; }\n"
	"__attribute__((visibility(\"default\"))) int shown(int a) { return hidden(a) + 1; }\n"
	"int main(int argc, char *argv[]) { return shown(argc); }\n";

static void build(const char *flags, const char *file)
{
	scratch_write("p.c", program, sizeof(program) - 1);
	if (scratch_run("gcc -O1 %s -o %s p.c", flags, file) != 0)
		fail_msg("gcc %s failed", flags);
}

static size_t id_of(const char *file, uint8_t id[20])
{
	int fd = open(scratch_file(file), O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const void *bits;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &bits);

	assert_int_equal(len, 20);
	memcpy(id, bits, 20);
	elf_end(elf);
	close(fd);
	return 20;
}

/* --- files ------------------------------------------------------------------------------- */

static void test_position(void **state)
{
	static const char *const flags[] = { "-pie -fPIE", "-no-pie -fno-pie", "-shared -fPIC",
					     "-pie -fPIE -Wl,-z,noseparate-code",
					     "-no-pie -Wl,-Ttext-segment=0x7000000" };
	struct symbols *s;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct image *image;
		uint64_t at;

		build(flags[i], "p");
		s = with_root(NULL);
		image = open_image(s, scratch_file("p"));
		assert_int_equal(image->state, IMAGE_OPEN);
		assert_null(image->why);
		assert_string_equal(image->name, "p");
		assert_string_equal(image->file, image->path);
		at = offset_of(image, "p", "hidden");
		expect_name(s, image, at, "hidden");
		assert_int_equal(function(s, image, at)->start, at);
		assert_true(function(s, image, at)->size > 0);
		assert_int_equal(image_address(s, image, at), nm("p", "hidden"));
		assert_true(image_covers(s, image, at));
		/* Data is no code, and behind the end is nothing. */
		assert_false(image_covers(s, image, 1u << 24));
		/* An address after a function that has a size, before the next one. */
		at += function(s, image, at)->size;
		if (at != offset_of(image, "p", "shown"))
			assert_null(function(s, image, at)->name);
		symbols_free(s);
	}
}

static void test_one_image(void **state)
{
	struct symbols *s = with_root(NULL);
	const uint8_t a[20] = { 1 }, b[20] = { 2 };
	struct image *image = symbols_image(s, "/x/y", a, 20, 0);

	assert_ptr_equal(image, symbols_image(s, "/x/y", a, 20, 5));
	assert_ptr_not_equal(image, symbols_image(s, "/x/y", b, 20, 0));
	assert_ptr_not_equal(image, symbols_image(s, "/x/y", NULL, 0, 0));
	assert_ptr_not_equal(image, symbols_image(s, "/x/z", a, 20, 0));
	assert_ptr_equal(symbols_each(s, 0), image);
	assert_int_equal(symbols_each(s, 3)->number, 3);
	assert_null(symbols_each(s, 4));
	symbols_free(s);
}

/* Every address has a name: without a symbol it is the address, always the same. */
static void test_unknown(void **state)
{
	struct symbols *s = with_root(NULL);
	struct place nowhere = { .offset = 0x1234 }, call = { .offset = 0x1234, .call = true };
	const struct frame *frames;
	size_t n;
	char room[24];

	frames = symbols_frames(s, &nowhere, &n);
	assert_int_equal(n, 1);
	assert_null(frames->symbol->image);
	assert_null(frames->symbol->name);
	assert_string_equal(symbol_text(frames->symbol, room), "0x1234");
	assert_ptr_equal(symbols_function(s, &call), frames->symbol);
	assert_ptr_equal(symbols_frames(s, &nowhere, &n), frames);
	symbols_free(s);
}

static void test_missing(void **state)
{
	struct symbols *s = with_root(scratch());
	struct image *image = open_image(s, "/no/such");

	assert_int_equal(image->state, IMAGE_MISSING);
	assert_contains(image->why, scratch());
	assert_contains(image->why, "/no/such");
	assert_contains(image->why, "-r");
	assert_true(image_covers(s, image, 0x5000));
	expect_name(s, image, 0x5000, "0x5000");
	assert_ptr_equal(function(s, image, 0x5000)->image, image);
	image = open_image(s, "[heap]");
	assert_int_equal(image->state, IMAGE_MISSING);
	assert_false(image->kernel);
	symbols_free(s);
}

static void test_stripped(void **state)
{
	struct symbols *s;
	struct image *image;
	uint64_t shown, hidden;

	build("-O2 -g -shared -fPIC", "whole.so");
	s = with_root(NULL);
	image = open_image(s, scratch_file("whole.so"));
	shown = offset_of(image, "whole.so", "shown");
	hidden = offset_of(image, "whole.so", "hidden");
	assert_int_equal(scratch_run("strip -s -o stripped.so whole.so"), 0);
	image = open_image(s, scratch_file("stripped.so"));
	assert_int_equal(image->state, IMAGE_STRIPPED);
	assert_contains(image->why, "stripped.so");
	assert_contains(image->why, "--debuginfod");
	expect_name(s, image, shown, "shown");
	assert_null(function(s, image, hidden)->name);
	symbols_free(s);
}

/* Below -r lies a system with its own debug files. */
static void test_debug_by_id(void **state)
{
	struct symbols *s;
	struct image *image;
	uint8_t id[20];
	char hex[IMAGE_ID_TEXT];
	uint64_t hidden;

	build("-shared -fPIC -Wl,--build-id=sha1", "lib.so");
	buf_hex(id, id_of("lib.so", id), hex);
	hidden = nm("lib.so", "hidden");
	assert_int_equal(scratch_run("d=usr/lib/debug/.build-id/%.2s; mkdir -p $d && "
				     "objcopy --only-keep-debug lib.so $d/%s.debug && "
				     "strip -s lib.so", hex, hex + 2), 0);
	s = with_root(scratch());
	image = symbols_image(s, "/lib.so", id, 20, 0);
	expect_name(s, image, hidden, "hidden");
	assert_int_equal(image->state, IMAGE_OPEN);
	/* Another build's debug file under that name is not it. */
	symbols_free(s);
	assert_int_equal(scratch_run("cp stripped.so usr/lib/debug/.build-id/%.2s/%s.debug", hex,
				     hex + 2), 0);
	s = with_root(scratch());
	image = symbols_image(s, "/lib.so", id, 20, 0);
	assert_null(function(s, image, hidden)->name);
	assert_int_equal(image->state, IMAGE_STRIPPED);
	symbols_free(s);
}

static void test_replaced(void **state)
{
	struct symbols *s = with_root(NULL);
	struct image *image;
	uint8_t id[20];
	char hex[IMAGE_ID_TEXT];

	build("-Wl,--build-id=sha1", "old");
	buf_hex(id, id_of("old", id), hex);
	image = symbols_image(s, scratch_file("old"), id, 20, 0);
	expect_name(s, image, nm("old", "hidden"), "hidden");
	build("-O2 -Wl,--build-id=sha1", "new");
	assert_int_equal(scratch_run("mv new old"), 0);
	symbols_free(s);
	s = with_root(NULL);
	image = symbols_image(s, scratch_file("old"), id, 20, 0);
	assert_true(image_covers(s, image, 1));
	assert_int_equal(image->state, IMAGE_REPLACED);
	assert_null(function(s, image, nm("old", "shown"))->name);
	assert_contains(image->why, "/old");
	assert_contains(image->why, hex);
	buf_hex(id, id_of("old", id), hex);
	assert_contains(image->why, hex);
	symbols_free(s);
}

/* debuginfod has both the replaced file and its debug information. */
static void test_debuginfod(void **state)
{
	struct symbols_config config = { .debuginfod = 600 };
	struct symbols *s;
	struct image *image;
	uint8_t id[20];
	char hex[IMAGE_ID_TEXT], url[128];
	uint64_t hidden;

	if (scratch_run("ldconfig -p | grep -q libdebuginfod.so.1") != 0)
		skip();
	build("-g -Wl,--build-id=sha1", "served");
	hidden = nm("served", "hidden");
	buf_hex(id, id_of("served", id), hex);
	assert_int_equal(scratch_run("mkdir -p web/buildid/%s && objcopy --only-keep-debug served "
				     "web/buildid/%s/debuginfo && strip -s served && "
				     "mv served web/buildid/%s/executable", hex, hex, hex), 0);
	snprintf(url, sizeof(url), "file://%s/web", scratch());
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", scratch_file("cache"), 1);
	/* Only if it is asked for. */
	s = with_root(scratch());
	image = symbols_image(s, "/served", id, 20, 0);
	symbols_settle(s);
	assert_null(function(s, image, hidden)->name);
	assert_int_equal(image->state, IMAGE_MISSING);
	symbols_free(s);
	config.root = scratch();
	s = symbols_new(&config);
	image = symbols_image(s, "/served", id, 20, 0);
	/* A name that is missing now is there later, and reading the log waits for nothing. */
	assert_null(function(s, image, hidden)->name);
	symbols_settle(s);
	expect_name(s, image, hidden, "hidden");
	assert_int_equal(image->state, IMAGE_OPEN);
	assert_contains(image->file, "cache");
	symbols_free(s);
	unsetenv("DEBUGINFOD_URLS");
}

static void expect_bad(const char *name, const char *part)
{
	struct symbols *s = with_root(scratch());
	char path[64];
	struct image *image;

	snprintf(path, sizeof(path), "/%s", name);
	image = open_image(s, path);
	assert_int_equal(image->state, IMAGE_BAD);
	assert_contains(image->why, name);
	assert_contains(image->why, part);
	assert_true(image_covers(s, image, 77));
	expect_name(s, image, 77, "0x4d");
	symbols_free(s);
}

static void test_bad(void **state)
{
	scratch_write("text", "not an ELF file\n", 16);
	scratch_write("empty", "", 0);
	scratch_write("zipped", "\x1f\x8b\x08\0\0\0\0\0", 8);
	assert_int_equal(scratch_run("mkfifo pipe; mkdir folder; ln -s /dev/zero device"), 0);
	expect_bad("text", "ELF");
	expect_bad("empty", "ELF");
	expect_bad("zipped", "ELF");
	/* A FIFO without a writer: opening it would block forever. */
	expect_bad("pipe", "regular");
	expect_bad("folder", "regular");
}

/* Looks up every address; the results do not matter. */
static void ask_around(const char *name)
{
	struct symbols *s = with_root(NULL);
	struct image *image = open_image(s, scratch_file(name));
	struct place place = { .image = image };
	size_t n;

	assert_true(image->state != IMAGE_UNOPENED);
	assert_true((image->state == IMAGE_OPEN) == !image->why);
	for (place.offset = 0; place.offset < 0x3000; place.offset += 64)
		assert_non_null(symbols_frames(s, &place, &n));
	symbols_free(s);
}

static void test_truncated(void **state)
{
	char *data;
	size_t size;

	build("-g", "full");
	data = scratch_read("full", &size);
	for (size_t len = 0; len < size; len += len < 1024 ? 16 : size / 150) {
		scratch_write("cut", data, len);
		ask_around("cut");
	}
	free(data);
}

/* Every field of the headers gets values that point out of the file. */
static void test_hostile_headers(void **state)
{
	static const uint64_t values[] = { 0, 1, 0x7fffffff, UINT32_MAX, UINT64_MAX,
					   UINT64_MAX / 2 };
	const size_t nvalues = sizeof(values) / sizeof(values[0]);
	Elf64_Ehdr *h;
	size_t size;
	char *data;

	build("-g", "full");
	data = scratch_read("full", &size);
	h = (void *)data;
	for (size_t i = 0, at; i < 600; i++) {
		uint64_t kept;

		/* The file's, then its sections', which are at its end. */
		at = i < 40 ? 16 + i : h->e_shoff + (i - 40) * 4;
		if (at + sizeof(kept) > size)
			break;
		memcpy(&kept, data + at, sizeof(kept));
		memcpy(data + at, &values[i % nvalues], i & 1 ? 4 : sizeof(kept));
		scratch_write("hostile", data, size);
		ask_around("hostile");
		memcpy(data + at, &kept, sizeof(kept));
	}
	free(data);
}

/* Addresses only: only segments are read. */
static void test_no_names(void **state)
{
	struct symbols *s = symbols_new(&(struct symbols_config){ .no_names = true });
	struct image *image;
	uint64_t at;

	build("-g -pie -fPIE", "p");
	image = open_image(s, scratch_file("p"));
	at = offset_of(image, "p", "hidden");
	assert_null(function(s, image, at)->name);
	assert_true(image_covers(s, image, at));
	assert_false(image_covers(s, image, 0));
	symbols_free(s);
}

static void test_arm64(void **state)
{
	struct symbols *s = with_root(NULL);
	struct image *image;
	uint64_t at;

	if (scratch_run("command -v aarch64-linux-gnu-gcc >where") != 0) {
		symbols_free(s);
		skip();
	}
	scratch_write("p.c", program, sizeof(program) - 1);
	assert_int_equal(scratch_run("aarch64-linux-gnu-gcc -O1 -g -shared -fPIC -o arm p.c"), 0);
	image = open_image(s, scratch_file("arm"));
	at = offset_of(image, "arm", "hidden");
	expect_name(s, image, at, "hidden");
	/* Not "$x", which marks code. */
	expect_name(s, image, at + 4, "hidden");
	symbols_free(s);
}

static void test_choice(void **state)
{
	static const char text[] =
		"\t.text\n\t.globl wide, same_global\n\t.weak same_weak\n"
		"\t.type wide, @function\n\t.type same_weak, @function\n"
		"\t.type same_global, @function\n"
		"\t.type same_local, @function\n\t.type alone, @function\n"
		"wide:\tnop\nlabel:\tnop\n\tnop\n\t.size wide, .-wide\n"
		"same_local:\nsame_weak:\nsame_global:\n\tnop\n\tnop\n"
		"\t.size same_local, 2\n\t.size same_weak, 2\n\t.size same_global, 2\n\tnop\n"
		"alone:\tnop\n\tnop\nplain:\tnop\n\tnop\n";
	struct symbols *s = with_root(NULL);
	struct image *image;
	uint64_t at;

	scratch_write("choice.s", text, sizeof(text) - 1);
	assert_int_equal(scratch_run("gcc -nostdlib -shared -o choice choice.s"), 0);
	image = open_image(s, scratch_file("choice"));
	at = offset_of(image, "choice", "wide");
	expect_name(s, image, at + 1, "wide");
	expect_name(s, image, at + 2, "wide");
	expect_name(s, image, at + 4, "same_global");
	assert_null(function(s, image, at + 5)->name);
	expect_name(s, image, at + 7, "alone");
	expect_name(s, image, at + 9, "plain");
	symbols_free(s);
}

static void test_plt(void **state)
{
	struct symbols *s = with_root(NULL);
	struct image *image;
	char *text;
	uint64_t at;

	static const char calls[] = "int puts(const char *);\n"
				    "int main(void) { return puts(\"\"); }\n";

	scratch_write("calls.c", calls, sizeof(calls) - 1);
	assert_int_equal(scratch_run("gcc -O1 -Wl,-z,lazy -o calls calls.c && objdump -d calls | "
				     "sed -n 's/^\\([0-9a-f]*\\) <puts@plt>:/\\1/p' >stub"), 0);
	text = scratch_read("stub", NULL);
	at = strtoull(text, NULL, 16);
	free(text);
	assert_true(at > 0);
	image = open_image(s, scratch_file("calls"));
	expect_name(s, image, at, "puts@plt");
	expect_name(s, image, at + 15, "puts@plt");
	symbols_free(s);
}

/* --- processes --------------------------------------------------------------------------- */

static void test_vdso(void **state)
{
	struct symbols *s = with_root(NULL);
	struct image *image = open_image(s, "[vdso]");
	const uint8_t other[20] = { 9 };
	bool found = false;
	char room[24];

	assert_int_equal(image->state, IMAGE_OPEN);
	for (uint64_t at = 0; at < 0x4000; at += 16)
		found |= strstr(symbol_text(function(s, image, at), room), "clock_gettime") != NULL;
	assert_true(found);
	image = symbols_image(s, "[vdso]", other, 20, 0);
	assert_true(image_covers(s, image, 0x500));
	assert_int_equal(image->state, IMAGE_REPLACED);
	symbols_free(s);
}

/* A process with another root: its file is used, although a link leads elsewhere. */
static void test_container(void **state)
{
	struct symbols *s;
	struct image *image;
	uint64_t at;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	build("-pie -fPIE", "p");
	at = nm("p", "hidden");
	assert_int_equal(scratch_run("mkdir -p box/bin && cp p box/bin/boxed && "
				     "ln -sf /bin box/link"), 0);
	pid = fork();
	if (pid == 0)
		_exit(chroot(scratch_file("box")) == 0 && chdir("/") == 0 && raise(SIGSTOP) == 0);
	assert_int_equal(waitpid(pid, &(int){ 0 }, WUNTRACED), pid);
	s = with_root(NULL);
	image = symbols_image(s, "/bin/boxed", NULL, 0, pid);
	expect_name(s, image, at, "hidden");
	image = symbols_image(s, "/link/boxed", NULL, 0, pid);
	expect_name(s, image, at, "hidden");
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	symbols_free(s);
	s = with_root(NULL);
	image = symbols_image(s, "/bin/boxed", NULL, 0, pid);
	assert_true(image_covers(s, image, at));
	assert_int_equal(image->state, IMAGE_MISSING);
	symbols_free(s);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_position), T(test_one_image), T(test_unknown), T(test_missing),
		T(test_stripped), T(test_debug_by_id), T(test_replaced), T(test_debuginfod),
		T(test_bad), T(test_truncated), T(test_hostile_headers), T(test_no_names),
		T(test_arm64), T(test_choice), T(test_plt), T(test_vdso), T(test_container),
	};

	/* The user's settings must not find files beyond these. */
	unsetenv("DEBUGINFOD_URLS");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
