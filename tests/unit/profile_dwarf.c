/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines and inlined functions of programs that are compiled here, at every address of their
 * functions, against addr2line, which reads them with another library.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/profile/object.h"
#include "scratch.h"
#include "unit.h"

#define FRAMES 32u

static const char program[] =
	"#include <stdio.h>\n"
	"#define INLINE static inline __attribute__((always_inline))\n"
	"#define APART __attribute__((noinline))\n"
	"INLINE int twice(int a)\n{\n\treturn a * 2 + (a > 7 ? a : 3);\n}\n"
	"INLINE int more(int a)\n{\n\tint b = twice(a);\n\n\tif (b > 20) {\n"
	"\t\tint c = twice(b + a);\n\t\tb ^= c;\n\t}\n\treturn b + twice(b);\n}\n"
	"APART static int rest(int a)\n{\n\tint s = 0;\n\n\tfor (int i = 0; i < a; i++)\n"
	"\t\ts += more(i) / (i + 1);\n\treturn s;\n}\n"
	"APART int deeper(int n)\n{\n\tif (n <= 0)\n\t\treturn rest(n + 4);\n"
	"\tif (__builtin_expect(n > 1000, 0))\n\t\t__builtin_abort();\n"
	"\treturn deeper(n - 1) + more(n);\n}\n"
	"int main(int argc, char *argv[])\n{\n\tprintf(\"%d\\n\", deeper(argc) + rest(argc));\n"
	"\treturn more(argc);\n}\n";

static const char templates[] =
	"namespace deep {\n"
	"template <class T> struct Box {\n\tT v;\n"
	"\t__attribute__((always_inline)) T get(int k) const\n"
	"\t{\n\t\treturn v * k + (k > 3 ? v : 1);\n\t}\n"
	"\t__attribute__((noinline)) T sum(int k) const\n\t{\n\t\tT s = 0;\n\n"
	"\t\tfor (int i = 0; i < k; i++)\n\t\t\ts += get(i);\n\t\treturn s;\n\t}\n};\n}\n"
	"namespace {\n__attribute__((noinline)) double local(int n)\n{\n"
	"\treturn deep::Box<double>{ 2.5 }.sum(n) + deep::Box<double>{ 1.0 * n }.get(n);\n}\n}\n"
	"int main(int argc, char **)\n{\n\tdeep::Box<int> b{ argc };\n\n"
	"\treturn b.sum(argc) + (int)local(argc) + b.get(argc);\n}\n";

static const char nested[] =
	"APART int outer(int n)\n{\n"
	"\tAPART int inner(int k)\n\t{\n\t\treturn more(k) * n;\n\t}\n\n"
	"\treturn inner(n) + inner(n + 1);\n}\n";

struct line {
	char name[512];
	char where[PATH_MAX];
};

/* addr2line's answers, an address after another: "0x…", then a name and a place for each frame. */
static size_t next_answer(FILE *f, char pending[static PATH_MAX], struct line *lines)
{
	char text[PATH_MAX];
	size_t n = 0;

	if (!*pending && !fgets(pending, PATH_MAX, f))
		return 0;
	while (fgets(text, sizeof(text), f) && strncmp(text, "0x", 2) != 0) {
		assert_true(n < FRAMES);
		snprintf(lines[n].name, sizeof(lines[n].name), "%.*s", (int)strcspn(text, "\n"),
			 text);
		assert_non_null(fgets(text, sizeof(text), f));
		snprintf(lines[n].where, sizeof(lines[n].where), "%.*s", (int)strcspn(text, " \n"),
			 text);
		n++;
	}
	snprintf(pending, PATH_MAX, "%s", feof(f) ? "" : text);
	return n;
}

/* Clones are functions of their own in symbol tables only. */
static void same_name(uint64_t address, const char *ours, const char *theirs)
{
	const char *clone = strstr(ours, " [clone");
	size_t len = clone ? (size_t)(clone - ours) : strcspn(ours, ".");

	if (strncmp(ours, theirs, len) != 0 || (theirs[len] && theirs[len] != '.'))
		fail_msg("0x%lx: \"%s\" is \"%s\" for addr2line", (unsigned long)address, ours,
			 theirs);
}

static void same_frame(uint64_t address, const struct frame *ours, const struct line *theirs)
{
	char room[24], where[PATH_MAX];

	same_name(address, symbol_text(ours->symbol, room), theirs->name);
	if (!ours->line) {
		assert_true(theirs->where[0] == '?' || strstr(theirs->where, ":?") ||
			    strstr(theirs->where, ":0"));
		return;
	}
	assert_non_null(ours->file);
	snprintf(where, sizeof(where), "%s:%u", ours->file, ours->line);
	if (strcmp(where, theirs->where) != 0)
		fail_msg("0x%lx: %s is %s for addr2line", (unsigned long)address, where,
			 theirs->where);
}

/* Every address of every function with lines; returns how many there were. */
static size_t write_addresses(struct object *o, uint64_t *list, size_t room)
{
	FILE *f = fopen(scratch_file("addresses"), "we");
	size_t n = 0;

	assert_non_null(f);
	for (size_t i = 0; i < o->names.n; i++)
		for (uint64_t a = 0; a < o->names.entry[i].size && n < room; a++) {
			list[n] = o->names.entry[i].start - o->bias + a;
			/* Stubs have names only here; other addresses agree with addr2line. */
			if (!strchr(o->names.entry[i].name, '@'))
				fprintf(f, "%lx\n", (unsigned long)list[n++]);
		}
	assert_int_equal(fclose(f), 0);
	return n;
}

static void compare(const char *file, const char *oracle)
{
	struct symbols *s = symbols_new(&(struct symbols_config){ 0 });
	struct image *image = symbols_image(s, scratch_file(file), NULL, 0, 0);
	static uint64_t list[4096];
	static struct line lines[FRAMES];
	size_t n, nframes = 0, inlined = 0;
	char pending[PATH_MAX] = "";
	FILE *f;

	image_covers(s, image, 0);
	assert_int_equal(image->state, IMAGE_OPEN);
	n = write_addresses((struct object *)image, list, sizeof(list) / sizeof(list[0]));
	assert_true(n > 300);
	assert_int_equal(scratch_run("addr2line -Cfia -e %s <addresses >answers", oracle), 0);
	f = fopen(scratch_file("answers"), "re");
	assert_non_null(f);
	for (size_t i = 0; i < n; i++) {
		struct place place = { .image = image };
		const struct frame *frames;
		size_t theirs = next_answer(f, pending, lines);

		assert_true(object_offset((struct object *)image, list[i], &place.offset));
		frames = symbols_frames(s, &place, &nframes);
		assert_non_null(frames);
		if (nframes != theirs)
			fail_msg("0x%lx: %zu frames, %zu for addr2line", (unsigned long)list[i],
				 nframes, theirs);
		for (size_t j = 0; j < nframes; j++)
			same_frame(list[i], &frames[j], &lines[j]);
		inlined += nframes > 1;
		assert_ptr_equal(symbols_function(s, &place), frames[nframes - 1].symbol);
	}
	assert_true(inlined > 0);
	assert_int_equal(next_answer(f, pending, lines), 0);
	assert_true(image->debug);
	fclose(f);
	symbols_free(s);
}

static void built(const char *command)
{
	scratch_write("p.c", program, sizeof(program) - 1);
	scratch_write("p.cc", templates, sizeof(templates) - 1);
	if (scratch_run("%s", command) != 0)
		fail_msg("%s failed", command);
}

static void test_gcc_pie(void **state)
{
	built("gcc -O2 -g -pie -fPIE -o pie p.c");
	compare("pie", "pie");
}

static void test_gcc_fixed_dwarf4(void **state)
{
	built("gcc -O2 -gdwarf-4 -no-pie -fno-pie -o fixed p.c");
	compare("fixed", "fixed");
}

/* … writes no .debug_aranges. */
static void test_clang(void **state)
{
	built("clang-14 -O2 -g -o clang p.c 2>/dev/null || clang -O2 -gdwarf-4 -o clang p.c");
	compare("clang", "clang");
}

static void test_templates(void **state)
{
	built("g++ -O2 -g -o templates p.cc");
	compare("templates", "templates");
}

static void test_compressed(void **state)
{
	built("gcc -O2 -g -gz -o packed p.c");
	compare("packed", "packed");
}

static void test_debug_link(void **state)
{
	built("gcc -O2 -g -Wl,--build-id=none -o linked p.c && cp linked whole && "
	      "mkdir -p .debug && objcopy --only-keep-debug linked .debug/linked.debug && "
	      "strip -s linked && "
	      "objcopy --add-gnu-debuglink=.debug/linked.debug linked");
	compare("linked", "whole");
	/* A link to another build is none. */
	assert_int_equal(scratch_run("echo >>.debug/linked.debug"), 0);
	{
		struct symbols *s = symbols_new(&(struct symbols_config){ 0 });
		struct image *image = symbols_image(s, scratch_file("linked"), NULL, 0, 0);

		image_covers(s, image, 0);
		assert_int_equal(image->state, IMAGE_STRIPPED);
		assert_contains(image->why, "stripped");
		assert_contains(image->why, "linked");
		symbols_free(s);
	}
}

/* Debug information in files beside the program's objects, not all of which addr2line finds. */
static void test_split(void **state)
{
	built("gcc -O2 -gdwarf-5 -gsplit-dwarf -o split p.c && gcc -O2 -gdwarf-5 -o whole p.c");
	compare("split", "whole");
}

/* A nested function, of which the unit has only a declaration. */
static void test_nested(void **state)
{
	scratch_write("n.c", nested, sizeof(nested) - 1);
	built("cat p.c n.c >whole.c && gcc -O2 -g -o nested whole.c");
	compare("nested", "nested");
}

static const struct frame *frames_at(struct symbols *s, struct image *image, const char *function,
				     struct place place, size_t *n)
{
	static const struct symbol nobody = { .name = "" };
	static const struct frame none = { .symbol = &nobody };
	struct object *o = (struct object *)image;
	const struct frame *frames;
	uint64_t start;

	image_covers(s, image, 0);
	place.image = image;
	*n = 1;
	for (size_t i = 0; i < o->names.n; i++)
		if (strcmp(o->names.entry[i].name, function) == 0) {
			assert_true(object_offset(o, o->names.entry[i].start - o->bias, &start));
			place.offset += start;
			frames = symbols_frames(s, &place, n);
			assert_non_null(frames);
			return frames ? frames : &none;
		}
	fail_msg("no function %s", function);
	return &none;
}

static void test_without_inlines(void **state)
{
	struct symbols *s = symbols_new(&(struct symbols_config){ .no_inlines = true });
	struct image *image;
	size_t n;

	built("gcc -O2 -g -o pie p.c");
	image = symbols_image(s, scratch_file("pie"), NULL, 0, 0);
	for (uint64_t at = 0; at < 60; at++) {
		const struct frame *frames = frames_at(s, image, "deeper",
						       (struct place){ .offset = at }, &n);

		assert_int_equal(n, 1);
		assert_string_equal(frames->symbol->name, "deeper");
		assert_null(frames->file);
		assert_int_equal(frames->line, 0);
	}
	assert_false(image->debug);
	symbols_free(s);
}

/*
 * A function's first byte is its own; as a return address it belongs to the instruction before it.
 */
static void test_return_address(void **state)
{
	struct symbols *s = symbols_new(&(struct symbols_config){ 0 });
	const struct frame *frames;
	struct image *image;
	size_t n;

	built("gcc -O0 -g -o plain p.c");
	image = symbols_image(s, scratch_file("plain"), NULL, 0, 0);
	frames = frames_at(s, image, "deeper", (struct place){ 0 }, &n);
	assert_string_equal(frames[n - 1].symbol->name, "deeper");
	frames = frames_at(s, image, "deeper", (struct place){ .call = true }, &n);
	assert_string_equal(frames[n - 1].symbol->name, "rest");
	symbols_free(s);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_gcc_pie), T(test_gcc_fixed_dwarf4), T(test_clang), T(test_templates),
		T(test_compressed), T(test_debug_link), T(test_split), T(test_nested),
		T(test_without_inlines), T(test_return_address),
	};

	/* The user's settings must not find files beyond these. */
	unsetenv("DEBUGINFOD_URLS");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
