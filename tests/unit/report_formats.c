/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports for other programs, of a profile made by hand, byte for byte where they are text. */
#include "report_fixture.h"

#include <zlib.h>

/* The report as a string, which the caller frees. */
static char *text_of(void (*writer)(const struct report *r, struct buf *out))
{
	struct buf out = { 0 };

	writer(&report, &out);
	buf_add(&out, "", 1);
	assert_false(out.failed);
	return out.data;
}

#define CSV_HEAD "event,process,pid,function,object,self,total,self_percent,total_percent\n"

static void expect(void (*writer)(const struct report *r, struct buf *out), const char *text)
{
	char *made = text_of(writer);

	assert_string_equal(made, text);
	free(made);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void has(void (*writer)(const struct report *r, struct buf *out), const char *what,
		size_t times)
{
	char *made = text_of(writer);

	if (count(made, what) != times)
		print_error("%s", made);
	assert_int_equal(count(made, what), times);
	free(made);
}

/* --- folded ----------------------------------------------------------------------------------- */

static void folded_lines_are_sums_in_the_order_of_names(void **state)
{
	add(0, 0, 10, MAIN_HOT, 2);
	add(1, 0, 12, MAIN_HOT, 3);
	add(0, 1, 11, MAIN_MIX, 4);
	add(0, 0, 10, MAIN_TICK, 5);
	add(0, 0, 10, JIT_, 6);
	add(0, 0, 10, MAIN_, 7);
	expect(report_folded, "work;(1) jitted_[j] 6\nwork;main 7\nwork;main;hot 5\n"
			      "work;main;hot;mix_[i] 4\nwork;main;tick_[k] 5\n");
}

static void folded_names_do_not_break_lines(void **state)
{
	add(0, 0, 10, ODD_, 1);
	add(0, 0, 10, BARE_, 2);
	add(0, 0, 10, LOST_, 3);
	expect(report_folded, "work;[work] 0x500 2\nwork;[unknown] 0x7fff0000 3\n"
			      "work;a:b:<&\"]]>:\xef\xbf\xbd 1\n");
}

static void events_are_the_root_where_there_are_several(void **state)
{
	add(0, 0, 10, MAIN_, 1);
	add(2, 0, 10, MAIN_, 2);
	expect(report_folded, "CPU/X.1;work;main 1\nFAULT;work;main 2\n");
	has(report_flamegraph, "<title>FAULT (2 samples, 66.67%)</title>", 1);
}

static void nothing_sampled_is_nothing_reported(void **state)
{
	add(0, 0, 10, MAIN_, 0);
	expect(report_folded, "");
	expect(report_csv, CSV_HEAD);
	has(report_flamegraph, "class=\"frame", 1);
	has(report_speedscope, "\"profiles\":[]", 1);
}

/* --- flame graph ------------------------------------------------------------------------------ */

static void frames_lie_on_their_callers(void **state)
{
	add(0, 0, 10, MAIN_HOT, 25);
	add(0, 0, 10, MAIN_TICK, 75);
	/* hot, in the last row of four, has a quarter of 1180 units from 10 on; tick the rest. */
	has(report_flamegraph, "<title>hot — /bin/work (25 samples, 25.00%)</title>"
	    "<rect x=\"10.00\" y=\"172\" width=\"294.40\"", 1);
	has(report_flamegraph, "<rect x=\"305.00\" y=\"172\" width=\"884.40\"", 1);
	has(report_flamegraph, "class=\"frame kernel\"", 1);
	has(report_flamegraph, "class=\"frame user\"", 2);
	has(report_flamegraph, "height=\"200\" viewBox=\"0 0 1200 200\"", 1);
	has(report_flamegraph, ">partial: ", 0);
	walk.stats.drops = 1;
	has(report_flamegraph, ">partial: the recording lost samples<", 1);
	walk.stats.cut = true;
	has(report_flamegraph, ">partial: the log has no proper end<", 1);
	has(report_flamegraph, ">cut: ", 0);
	walk.stats.ends.cut = walk.stats.ends.cuts[PMC_CHAIN_NOT_RECORDED] = 7;
	has(report_flamegraph, ">cut: the outermost callers of 7 samples are missing<", 1);
	has(report_speedscope, "\"chains_cut\":7", 1);
	has(report_json, "\"chains_cut\":7", 1);
}

static void frames_too_narrow_are_summed_up(void **state)
{
	add(0, 0, 10, MAIN_HOT, 1000000);
	has(report_flamegraph, "not drawn", 0);
	add(0, 0, 10, JIT_, 50);
	add(0, 0, 10, MAIN_MIX, 40);
	has(report_flamegraph, "not drawn, too narrow: 2 frames with 0.01% of the samples", 1);
	has(report_flamegraph, "jitted", 0);
	has(report_flamegraph, ">mix", 0);
}

static void a_color_is_the_name_s(void **state)
{
	char *first, *second, *fill;

	add(0, 0, 10, MAIN_HOT, 10);
	first = text_of(report_flamegraph);
	add(0, 0, 10, MAIN_TICK, 1);
	second = text_of(report_flamegraph);
	fill = strstr(strstr(first, "data-name=\"hot\""), "fill=");
	assert_memory_equal(fill, strstr(strstr(second, "data-name=\"hot\""), "fill="), 14);
	assert_memory_not_equal(fill, strstr(strstr(second, "data-name=\"main\""), "fill="), 14);
	free(first);
	free(second);
}

/* --- callgrind -------------------------------------------------------------------------------- */

static void callgrind_counts_a_recursion_once(void **state)
{
	stacks[LOST_] = (struct stack){ MAIN_HOT_HOT, AT_HOT };	/* main, hot, hot, hot */
	add(0, 0, 10, LOST_, 8);
	has(report_callgrind, "cfn=hot\ncalls=8 0x1200 20\n0x1222 20 8 0 0\n", 1);
	has(report_callgrind, "cfn=hot", 2);
	stacks[LOST_] = (struct stack){ STACK_NONE, AT_LOST };
}

static void callgrind_names_are_no_abbreviations(void **state)
{
	add(0, 0, 10, JIT_, 1);
	add(0, 0, 10, ODD_, 1);
	has(report_callgrind, "\nfn=_(1) jitted\n", 1);
	has(report_callgrind, "\nfn=a;b?<&\"]]>?\xef\xbf\xbd\n", 1);
}

/* --- speedscope, CSV, JSON -------------------------------------------------------------------- */

/* Five milliseconds each. */
static void speedscope_has_the_time_of_clocks(void **state)
{
	walk.events[2].name = "CLOCK.HARD";
	walk.events[2].rate = 5;
	add(2, 0, 10, MAIN_, 3);
	has(report_speedscope, "\"name\":\"CLOCK.HARD\",\"unit\":\"nanoseconds\",\"startValue\":0,"
	    "\"endValue\":15000000,\"samples\":[[0,1]],\"weights\":[15000000]}", 1);
}

static void json_says_what_is_missing(void **state)
{
	add(0, 0, 12, MAIN_MIX, 3);
	has(report_json, "\"partial\":false", 1);
	has(report_json, "\"stacks\":[{\"event\":0,\"process\":0,\"tid\":12,\"thread\":\"helper\","
	    "\"samples\":3,\"frames\":[0,1,2]}]", 1);
	has(report_json, "\"frames\":[{\"function\":0,\"file\":\"mix.h\",\"line\":5},"
	    "{\"function\":1,\"file\":\"work.c\",\"line\":21},"
	    "{\"function\":2,\"file\":\"work.c\",\"line\":30}]", 1);
	has(report_json, "{\"name\":\"mix\",\"image\":0,\"offset\":null,\"inlined\":true}", 1);
	has(report_json, "{\"path\":\"/lib/odd, \\\"so\\\"\",\"file\":null,\"state\":\"stripped\","
	    "\"why\":\"no symbols\",\"build_id\":null,\"kernel\":false,\"lines\":false}", 1);
	has(report_json, "\"build_id\":\"abcd\"", 1);
	walk.stats.cut = true;
	has(report_json, "\"partial\":true,\"cut\":true", 1);
}

/* --- pprof ------------------------------------------------------------------------------------ */

/* The uncompressed message; *len its length. */
static unsigned char *inflated(size_t *len)
{
	static unsigned char room[65536];
	struct buf out = { 0 };
	z_stream z = { .next_out = room, .avail_out = sizeof(room) };

	report_pprof(&report, &out);
	assert_false(out.failed);
	z.next_in = (Bytef *)out.data;
	z.avail_in = (uInt)out.len;
	assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	*len = z.total_out;
	inflateEnd(&z);
	buf_free(&out);
	return room;
}

static void expect_bytes(const char *bytes, size_t len)
{
	size_t size;
	const unsigned char *made = inflated(&size);

	assert_non_null(memmem(made, size, bytes, len));
}
#define EXPECT_BYTES(bytes) expect_bytes(bytes, sizeof(bytes) - 1)

static void pprof_weighs_samples_with_their_period(void **state)
{
	add(0, 0, 12, MAIN_MIX, 3);
	/* Strings 1 and 2, a sample_type of both, string 3. */
	EXPECT_BYTES("\x32\x07samples\x32\x05""count\x0a\x04\x08\x01\x10\x02\x32\x07""CPU/X.1");
	/* A sample at locations 1 and 2, of values 3 and 300. */
	EXPECT_BYTES("\x0a\x02\x01\x02\x12\x03\x03\xac\x02");
	/* Location 1 in mapping 1 at 0x1230: mix, line 5, inlined in hot, line 21. */
	EXPECT_BYTES("\x08\x01\x10\x01\x18\xb0\x24\x22\x04\x08\x01\x10\x05"
		     "\x22\x04\x08\x02\x10\x15");
}

static void pprof_has_the_time_of_clocks(void **state)
{
	walk.events[2].name = "CLOCK.HARD";
	walk.events[2].rate = 5;
	add(2, 0, 10, MAIN_, 3);
	/* Strings 3 and 4, a sample_type of both; values 3 and 15,000,000. */
	EXPECT_BYTES("\x32\x0a""CLOCK.HARD\x32\x0bnanoseconds\x0a\x04\x08\x03\x10\x04");
	EXPECT_BYTES("\x12\x05\x03\xc0\xc3\x93\x07");
}

static void pprof_weights_stop_at_what_fits(void **state)
{
	add(0, 0, 12, LOST_, UINT64_MAX / 2);
	EXPECT_BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, make_profile)
	const struct CMUnitTest tests[] = {
		T(folded_lines_are_sums_in_the_order_of_names), T(folded_names_do_not_break_lines),
		T(events_are_the_root_where_there_are_several),
		T(nothing_sampled_is_nothing_reported), T(frames_lie_on_their_callers),
		T(frames_too_narrow_are_summed_up), T(a_color_is_the_name_s),
		T(callgrind_counts_a_recursion_once), T(callgrind_names_are_no_abbreviations),
		T(json_says_what_is_missing), T(pprof_weighs_samples_with_their_period),
		T(speedscope_has_the_time_of_clocks), T(pprof_has_the_time_of_clocks),
		T(pprof_weights_stop_at_what_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
