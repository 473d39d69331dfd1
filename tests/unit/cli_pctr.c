/* SPDX-License-Identifier: BSD-2-Clause */
/* pctr(1) without a device: function words of every vendor to text and back, lists, usage. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/pctr/pctr.h"
#include "unit.h"

#define P6     "GenuineIntel", 0x6b1
#define CORE2  "GenuineIntel", 0x6fb
#define XEON   "GenuineIntel", 0xc06f2
#define K8     "AuthenticAMD", 0xf4a
#define ZEN    "AuthenticAMD", 0xa20f10
#define ARM    "ARM", 0
#define ALL_ON (PCTR_EN | PCTR_U | PCTR_K)
#define WORDS  16

/* A command line, split at blanks. 0 and *pctr, or its exit code. */
static int parse(const struct pctr_model *model, const char *line, struct pctr *pctr)
{
	char text[128], *argv[WORDS] = { text }, *rest = text;
	bool ended = false;
	int argc = 0;

	snprintf(text, sizeof(text), "pctr %s", line);
	while ((argv[argc] = strtok_r(rest, " ", &rest)))
		argc++;
	*pctr = (struct pctr){ .model = model, .ctr = -1, .cpu = -1 };
	optind = 0;
	return pctr_parse(pctr, argc, argv, &ended);
}

/* The caller frees the text printed to stderr meanwhile. */
static char *complaint_about(const struct pctr_model *model, const char *line)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO), code;
	struct pctr pctr;
	char *text = calloc(1, 1024);

	assert_non_null(file);
	dup2(fileno(file), STDERR_FILENO);
	code = parse(model, line, &pctr);
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	assert_true(fread(text, 1, 1023, file) > 0);
	fclose(file);
	if (code != 1)
		fail_msg("pctr %s: %d", line, code);
	return text;
}

static char *text_of(struct buf *out)
{
	assert_false(out->failed);
	buf_add(out, "", 1);
	return out->data;
}

struct word {
	const char *options;		/* that make it; NULL: none can */
	uint32_t function;
	const char *text;
};

#define EXPECT_WORDS(cpu, words) expect_words(cpu, words, sizeof(words) / sizeof((words)[0]))

static void expect_words(const char *vendor, uint32_t id, const struct word *words, size_t n)
{
	const struct pctr_model *model = pctr_model(vendor, id);

	for (size_t i = 0; i < n; i++) {
		struct buf out = { 0 };
		struct pctr pctr;
		uint32_t function;

		pctr_word_put(&out, model, words[i].function);
		assert_string_equal(text_of(&out), words[i].text);
		buf_free(&out);
		if (!words[i].options)
			continue;
		assert_int_equal(parse(model, words[i].options, &pctr), 0);
		assert_int_equal(pctr_word(model, &pctr.choice, &function), 0);
		if (function != words[i].function)
			fail_msg("%s: %08x, not %08x", words[i].options, function,
				 words[i].function);
	}
}

/* PCTR-20, PCTR-25, PCTR-28, PCTR-29, PCTR-30, PCTR-31, PCTR-32, PCTR-33, PCTR-34, PCTR-37. */
static void test_words_of_intel(void **state)
{
	static const struct word core2[] = {
		{ "-s 0 -f 40 -uk -MESI", 0x430f40, "--ku 40 0f  MESI L1D_CACHE_LD" },
		{ "-s 0 -f 40", 0x430f40, "--ku 40 0f  MESI L1D_CACHE_LD" },
		{ "-s 0 -f 40 -M", 0x430840, "--ku 40 08  M--- L1D_CACHE_LD" },
		{ "-s 0 -f 40 -E", 0x430440, "--ku 40 04  -E-- L1D_CACHE_LD" },
		{ "-s 0 -f 40 -S -u", 0x410240, "---u 40 02  --S- L1D_CACHE_LD" },
		{ "-s 0 -f 40 -I -k", 0x420140, "--k- 40 01  ---I L1D_CACHE_LD" },
		{ "-s 0 -f 40 -MI", 0x430940, "--ku 40 09  M--I L1D_CACHE_LD" },
		{ "-s 0 -f 40 -m 0", 0x430040, "--ku 40 00  ---- L1D_CACHE_LD" },
		{ "-s 1 -f c0", 0x4300c0, "--ku c0 00   INST_RETIRED" },
		{ "-s 1 -f C0 -t 3", 0x34300c0, "--ku c0 00 +3  INST_RETIRED" },
		{ "-s 1 -f 0xc0 -it 255 -e", 0xffc700c0, "ieku c0 00 +255  INST_RETIRED" },
		{ "-s 1 -f c0 -i", 0xc300c0, "i-ku c0 00   INST_RETIRED" },
		{ "-s 0 -f 0", 0, "---- 00 00   unknown function" },
		{ "-s 1", 0, "---- 00 00   unknown function" },
		{ NULL, 0x4300ff, "--ku ff 00   unknown function" },
	};
	static const struct word p6[] = {
		{ "-s 0 -f 2e -MES", 0x430e2e, "--ku 2e 0e  MES- L2_RQSTS" },
		{ "-s 0 -f 6c -A -e", 0x47206c, "-eku 6c 20  A BUS_TRANS_IO" },
		{ "-s 0 -f 6c", 0x43006c, "--ku 6c 00  - BUS_TRANS_IO" },
		{ "-s 0 -f 79 -k", 0x420079, "--k- 79 00   CPU_CLK_UNHALTED" },
		{ "-s 1 -f 12 -u", 0x410012, "---u 12 00   MUL" },
		{ "-s 0 -f b3 -m 3f", 0x433fb3, "--ku b3 3f   MMX_INSTR_TYPE_EXEC" },
		{ NULL, 0xffffffff, "ieku ff ff +255  unknown function" },
	};
	static const struct word xeon[] = {
		{ "-s 0 -f 2e -m 41 -u", 0x41412e, "---u 2e 41   LONGEST_LAT_CACHE.MISS" },
		{ "-s 0 -f 2e -m 4f", 0x434f2e, "--ku 2e 4f   LONGEST_LAT_CACHE.REFERENCE" },
		{ "-s 0 -f 3c", 0x43003c, "--ku 3c 00   CPU_CLK_UNHALTED.CORE" },
		{ "-s 0 -f 3c -m 1", 0x43013c, "--ku 3c 01   CPU_CLK_UNHALTED.REF" },
		{ "-s 0 -f 3c -m 2", 0x43023c, "--ku 3c 02   unknown function" },
		{ "-s 0 -f d1 -m 10 -t 1", 0x14310d1, "--ku d1 10 +1  unknown function" },
	};

	EXPECT_WORDS(CORE2, core2);
	EXPECT_WORDS(P6, p6);
	EXPECT_WORDS(XEON, xeon);
}

/* PCTR-13, PCTR-22, PCTR-23, PCTR-26. */
static void test_words_of_amd(void **state)
{
	static const struct word k8[] = {
		{ "-s 0 -f c0", 0x4300c0, "--ku c0 00 " },
		{ "-s 0 -f c0 -k", 0x4200c0, "--k- c0 00 " },
		{ "-s 0 -f c0 -u", 0x4100c0, "---u c0 00 " },
		{ "-s 1 -f 76 -u -i -t 3", 0x3c10076, "i--u 76 00 +3" },
		{ "-s 3 -f 7e -m 7 -e", 0x47077e, "-eku 7e 07 " },
		{ "-s 3 -f 7e -m f", 0x430f7e, "--ku 7e 0f " },
		{ "-s 2 -f 00 -m 3f", 0x433f00, "--ku 00 3f " },
		{ "-s 2 -f ff -t 255", 0xff4300ff, "--ku ff 00 +255" },
		{ "-s 2 -f 0", 0, "---- 00 00 " },
		{ "-s 2 -f 0 -u -k -t 9", 0, "---- 00 00 " },
	};
	static const struct word zen[] = {
		{ "-s 0 -f 76", 0x430076, "--ku 76 00 " },
		{ "-s 0 -f 64 -m f6 -k", 0x42f664, "--k- 64 f6 " },
		{ NULL, PCTR_K, "--k- 00 00 " },
	};
	static const struct word arm[] = {
		{ "-s 0 -f 8 -u", 0x410008, "---u 08 00 " },
		{ "-s 3 -f 11", 0x430011, "--ku 11 00 " },
		{ "-s 3 -f 4 -m 40 -k", 0x424004, "--k- 04 40 " },
	};

	EXPECT_WORDS(K8, k8);
	EXPECT_WORDS(ZEN, zen);
	EXPECT_WORDS(ARM, arm);
}

/* PCTR-36, PCTR-38. */
static void test_list(void **state)
{
	static const struct {
		const char *vendor;
		uint32_t id, function;
		const char *text;
	} lines[] = {
		{ P6, 0x2e, "2e  L2_RQSTS  (MESI)\n"
			    "      Requests of the L2 cache, of all kinds.\n" },
		{ P6, 0x10, "10  FP_COMP_OPS_EXE  (ctr0 only)\n"
			    "      Floating-point operations executed.\n" },
		{ P6, 0x12, "12  MUL  (ctr1 only)\n"
			    "      Multiplications, of integers and floating-point numbers.\n" },
		{ CORE2, 0x66, "66  BUS_TRANS_RFO  (A)  (needs unit mask)\n"
			       "      Reads for ownership.\n" },
		{ CORE2, 0xdc, "dc  RESOURCE_STALLS  (needs unit mask)\n"
			       "      Cycles in which a resource is short: reorder buffer 01, "
			       "stations 02,\n"
			       "      loads and stores 04, control word 08, mispredictions 10.\n" },
		{ XEON, 0x412e, "2e  LONGEST_LAT_CACHE.MISS  (needs unit mask)\n"
					 "      Misses of the last cache; unit mask 41.\n" },
		{ ZEN, 0xc0, "c0  EX_RET_INSTR\n      Instructions retired.\n" },
		{ ARM, 0x11, "11  CPU_CYCLES\n      Cycles.\n" },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const struct pctr_model *model = pctr_model(lines[i].vendor, lines[i].id);
		struct buf out = { 0 };

		pctr_event_put(&out, pctr_event_find(model, lines[i].function));
		assert_string_equal(text_of(&out), lines[i].text);
		buf_free(&out);
	}
}

/* Invariants of tables: names and texts in order, marks that fit the options, lines that fold. */
static void test_tables(void **state)
{
	static const struct {
		const char *vendor;
		uint32_t id;
	} cpus[] = { { P6 }, { CORE2 }, { XEON }, { K8 }, { ZEN }, { ARM } };

	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		const struct pctr_model *model = pctr_model(cpus[i].vendor, cpus[i].id);
		const struct pctr_event *e = model->table->events, *before = NULL;

		assert_true(model->table->n > 5);
		for (; e < model->table->events + model->table->n; before = e++) {
			int mark = e->flags & PCTR_MESI ? 'M' : 'f';

			if (e->flags & PCTR_AGENTS)
				mark = 'A';

			assert_true(!before || e->event > before->event ||
				    (e->event == before->event && e->unit > before->unit &&
				     e->flags & before->flags & PCTR_ONE_UNIT));
			assert_non_null(strchr(model->letters, mark));
			assert_true(e->name[0] && !strchr(e->name, ' '));
			assert_int_equal(e->text[strlen(e->text) - 1], '.');
			for (const char *c = e->text; *c; c++)
				assert_in_range(*c, ' ', '~');
		}
	}
}

/* PCTR-02: and each model's family. */
static void test_models(void **state)
{
	static const struct {
		const char *vendor;
		uint32_t id;
		unsigned int counters;
		const char *name;
	} cpus[] = {
		{ "GenuineIntel", 0x619, 2, "Intel P6" },
		{ "GenuineIntel", 0x6d8, 2, "Intel P6" },
		{ "GenuineIntel", 0x6f6, 2, "Intel Core 2" },
		{ "GenuineIntel", 0x1067a, 2, "Intel Core 2" },
		{ "GenuineIntel", 0x106a5, 2, "Intel" },
		{ "GenuineIntel", 0xc06f2, 2, "Intel" },
		{ "GenuineIntel", 0xf43, 2, "Intel Pentium 4" },
		{ "AuthenticAMD", 0x6a0, 4, "AMD K8" },
		{ "AuthenticAMD", 0xf4a, 4, "AMD K8" },
		{ "AuthenticAMD", 0x100f42, 4, "AMD K8" },
		{ "AuthenticAMD", 0x800f11, 4, "AMD Zen" },
		{ "HygonGenuine", 0x900f01, 4, "AMD Zen" },
		{ "ARM", 0, 4, "ARM" },
		{ "GenuineOther", 0x6f6, 4, "other" },
	};

	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		const struct pctr_model *model = pctr_model(cpus[i].vendor, cpus[i].id);

		assert_string_equal(model->name, cpus[i].name);
		assert_int_equal(model->counters, cpus[i].counters);
	}
}

/* PCTR-08, PCTR-10: output as on other systems; counters that are set are shown. */
static void test_reading(void **state)
{
	struct pctrst st = { { 0x4300c0, 0x3c10076, 0, 0 }, 8833816636294, { 116, 4592876, 0, 0 } };
	const struct pctr_model *amd = pctr_model(ZEN), *intel = pctr_model(CORE2);
	struct buf out = { 0 };

	pctr_reading_put(&out, amd, &st, 3);
	assert_string_equal(text_of(&out), " ctr0 =              116  [--ku c0 00 ]\n"
					   " ctr1 =          4592876  [i--u 76 00 +3]\n"
					   " ctr2 =                0  [---- 00 00 ]\n"
					   "  tsc =    8833816636294\n");
	buf_free(&out);
	out = (struct buf){ 0 };
	st.pctr_hwc[0] = 0xffffffffff;
	pctr_reading_put(&out, intel, &st, 1);
	assert_string_equal(text_of(&out),
			    " ctr0 =    1099511627775  [--ku c0 00   INST_RETIRED]\n"
			    "  tsc =    8833816636294\n");
	buf_free(&out);
	assert_int_equal(pctr_counters(amd, &st), 4);
	assert_int_equal(pctr_counters(intel, &st), 2);
	st.pctr_fn[2] = 1;
	assert_int_equal(pctr_counters(intel, &st), 3);
}

static void test_functions_that_there_are_not(void **state)
{
	struct pctr_choice choice = { .event = 0x01 };
	uint32_t function;

	assert_int_equal(pctr_word(pctr_model(P6), &choice, &function), -ENOENT);
	assert_int_equal(pctr_word(pctr_model(CORE2), &choice, &function), -ENOENT);
	assert_int_equal(pctr_word(pctr_model(XEON), &choice, &function), 0);
	assert_int_equal(pctr_word(pctr_model(K8), &choice, &function), 0);
	choice.event = 0x65;
	assert_int_equal(pctr_word(pctr_model(P6), &choice, &function), 0);
	assert_int_equal(pctr_word(pctr_model(CORE2), &choice, &function), -EINVAL);
	choice.lines = PCTR_UM_A;
	assert_int_equal(pctr_word(pctr_model(CORE2), &choice, &function), 0);
	assert_int_equal(function, ALL_ON | PCTR_UM_A | 0x65);
	choice = (struct pctr_choice){ .event = 0x2e };
	assert_int_equal(pctr_word(pctr_model(XEON), &choice, &function), -EINVAL);
}

/* PCTR-35: agents and lines of a state are bits of one unit mask. */
static void test_wrong_command_lines(void **state)
{
	static const struct {
		const char *vendor;
		uint32_t id;
		const char *line, *first;
	} wrong[] = {
		{ CORE2, "-s 0 -f 40 -AM", "usage: pctr [-AEeIiklMSu] [-f funct] [-m umask] "
					   "[-s ctr] [-t thold]\n" },
		{ CORE2, "-s 0 -f 40 -A -m 1", "usage: pctr [-AEeIiklMSu] " },
		{ CORE2, "-s 0 -f 40 -S -m 0", "usage: pctr [-AEeIiklMSu] " },
		{ CORE2, "-s 0 -f 40 -c", "usage: pctr [-AEeIiklMSu] " },
		{ CORE2, "-f 40", "usage: pctr [-AEeIiklMSu] " },
		{ CORE2, "-u", "usage: pctr [-AEeIiklMSu] " },
		{ CORE2, "-l -s 0 -f 40", "usage: pctr [-AEeIiklMSu] " },
		{ CORE2, "-l -T", "usage: pctr [-AEeIiklMSu] " },
		{ CORE2, "-a -C 0", "usage: pctr [-AEeIiklMSu] " },
		{ CORE2, "-s 0 -f 40 -w 1", "usage: pctr [-AEeIiklMSu] " },
		{ CORE2, "operand", "usage: pctr [-AEeIiklMSu] " },
		{ K8, "-s 0 -f 40 -A", "usage: pctr [-eilku] [-f funct] [-m umask] [-s ctr] "
				       "[-t thold]\n" },
		{ ZEN, "-s 0 -f 40 -M", "usage: pctr [-eilku] " },
		{ ARM, "-s 0 -f 8 -t 1", "usage: pctr [-klu] [-f funct] [-m umask] [-s ctr]\n" },
		{ ARM, "-s 0 -f 8 -e", "usage: pctr [-klu] " },
	};
	static const char *const numbers[][2] = {
		{ "-s 0 -f 100", "invalid function number\n" },
		{ "-s 0 -f x", "invalid function number\n" },
		{ "-s 0 -f -1", "invalid function number\n" },
		{ "-s 0 -f 1g", "invalid function number\n" },
		{ "-s 0 -f 1 -m 100", "invalid unit mask number\n" },
		{ "-s 0 -f 1 -m 99999999999999999999", "invalid unit mask number\n" },
		{ "-s 4 -f 1", "counter number is too large: 4\n" },
		{ "-s -1 -f 1", "counter number is too small: -1\n" },
		{ "-s 0x -f 1", "counter number is invalid: 0x\n" },
		{ "-s 0 -f 1 -t 256", "threshold is too large: 256\n" },
		{ "-s 0 -f 1 -t -5", "threshold is too small: -5\n" },
		{ "-s 0 -f 1 -t five", "threshold is invalid: five\n" },
		{ "-C 4096", "CPU is too large: 4096\n" },
		{ "-w 0", "\"0\" is no time in seconds\n" },
	};
	char *text;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		text = complaint_about(pctr_model(wrong[i].vendor, wrong[i].id), wrong[i].line);
		if (strncmp(text, wrong[i].first, strlen(wrong[i].first)) != 0)
			fail_msg("pctr %s: %s", wrong[i].line, text);
		free(text);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		text = complaint_about(pctr_model(CORE2), numbers[i][0]);
		assert_non_null(strchr(text, ':'));
		assert_string_equal(strchr(text, ':') + 2, numbers[i][1]);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_intel),
		cmocka_unit_test(test_words_of_amd),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_models),
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_functions_that_there_are_not),
		cmocka_unit_test(test_wrong_command_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
