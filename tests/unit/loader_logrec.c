/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of logs: bytes of both formats. */
#include <stdio.h>
#include <string.h>

#include "loader/log/logrec.h"
#include "unit.h"

/* The record of one event, without its prefix's time, as the encoder makes it. */
static void expect_bytes(enum logfmt format, const struct pmclog_ev *ev, const char *hex)
{
	struct logclock clock = { .format = format };
	uint64_t ns = format == LOGFMT_OLD ? 0x5a000000ull * 1000000000 + 200000000 :
					     0x0000012345678900ull;
	uint8_t record[LOGREC_MAX];
	size_t len;

	memset(record, 0x5a, sizeof(record));
	len = logrec_encode(record, &clock, ns, ev);
	for (size_t i = 0; i < len; i++) {
		unsigned int byte;

		while (*hex == ' ')
			hex++;
		/* Fields that are not listed any more are zero. */
		if (!*hex)
			byte = 0;
		else
			assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		hex += *hex ? 2 : 0;
		if (record[i] != byte)
			fail_msg("type %d, byte 0x%zx: %02x, not %02x", ev->pl_type, i, record[i],
				 byte);
	}
	assert_true(!*hex);
}

/* The examples of the formats' description. */
static void test_bytes(void **state)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_INITIALIZE };

	ev.pl_u.pl_i.pl_version = 0x03010000;
	ev.pl_u.pl_i.pl_arch = 0x91;
	expect_bytes(LOGFMT_OLD, &ev, "140002ee0000005a00c2eb0b0000010391000000");
	ev.pl_u.pl_i.pl_version = 0x0a000000;
	ev.pl_u.pl_i.pl_arch = 0x98;
	ev.pl_u.pl_i.pl_tsc_freq = 2400000000;
	ev.pl_u.pl_i.pl_ts.tv_sec = 1700000000;
	ev.pl_u.pl_i.pl_ts.tv_nsec = 500000000;
	strcpy(ev.pl_u.pl_i.pl_cpuid, "GenuineIntel-6-5E-3");
	expect_bytes(LOGFMT_NEW, &ev,
		     "700003ee00000000 0089674523010000 0000000a98000000 00180d8f00000000"
		     "00f1536500000000 0065cd1d00000000 47656e75696e6549 6e74656c2d362d35"
		     "452d3300");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_PMCALLOCATEDYN;
	ev.pl_u.pl_ad.pl_pmcid = 0xff020f00;
	ev.pl_u.pl_ad.pl_event = 0x20000;
	ev.pl_u.pl_ad.pl_flags = 0x80;
	strcpy(ev.pl_u.pl_ad.pl_evname, "CLOCK.HARD");
	expect_bytes(LOGFMT_OLD, &ev, "580011ee0000005a 00c2eb0b000f02ff 0000020080000000"
		     "434c4f434b2e4841 5244");
	expect_bytes(LOGFMT_NEW, &ev, "600011ee00000000 0089674523010000 000f02ff00000200"
		     "8000000000000000 434c4f434b2e4841 5244");
	ev.pl_u.pl_ad.pl_rate = 0x1234;
	memset(ev.pl_u.pl_ad.pl_evname, 'x', sizeof(ev.pl_u.pl_ad.pl_evname) - 1);
	expect_bytes(LOGFMT_NEW, &ev, "680011ee00000000 0089674523010000 000f02ff00000200"
		     "8000000000000000"
		     "7878787878787878 7878787878787878 7878787878787878 7878787878787878"
		     "7878787878787878 7878787878787878 7878787878787878 7878787878787800"
		     "3412000000000000");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_PROCEXEC;
	ev.pl_u.pl_x.pl_pid = 1234;
	ev.pl_u.pl_x.pl_pmcid = 0xff020f00;
	ev.pl_u.pl_x.pl_entryaddr = 0x400580;
	ev.pl_u.pl_x.pl_baseaddr = 0x7f1200000000;
	ev.pl_u.pl_x.pl_dynaddr = 0x555500000000;
	strcpy(ev.pl_u.pl_x.pl_pathname, "/bin/ls");
	expect_bytes(LOGFMT_OLD, &ev, "240009ee0000005a 00c2eb0bd2040000 8005400000000000"
		     "000f02ff2f62696e 2f6c7300");
	/* FreeBSD's record, and the entry behind it, if it is known. */
	expect_bytes(LOGFMT_NEW, &ev, "480009ee00000000 0089674523010000 d2040000000f02ff"
		     "00000000127f0000 0000000055550000 2f62696e2f6c7300"
		     "0400000008000000 01000000504d4300 8005400000000000");
	ev.pl_u.pl_x.pl_entryaddr = 0;
	expect_bytes(LOGFMT_NEW, &ev, "300009ee00000000 0089674523010000 d2040000000f02ff"
		     "00000000127f0000 0000000055550000 2f62696e2f6c7300");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_CALLCHAIN;
	ev.pl_u.pl_cc = (struct pmclog_ev_callchain){
		.pl_pid = 1234, .pl_tid = 100123, .pl_pmcid = 0xfff20711, .pl_cpuflags = 0x20001,
		.pl_npc = 3, .pl_pc = { 0x555500001612, 0x5555000016a0, 0x555500001598 },
	};
	expect_bytes(LOGFMT_NEW, &ev, "380010ee00000000 0089674523010000 d20400001b870100"
		     "1107f2ff01000200 1216000055550000 a016000055550000 9815000055550000");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_PROCEXIT;
	ev.pl_u.pl_e.pl_pmcid = 0xff030711;
	ev.pl_u.pl_e.pl_pid = 1234;
	ev.pl_u.pl_e.pl_value = 123456789;
	expect_bytes(LOGFMT_OLD, &ev,
		     "1c000aee0000005a 00c2eb0b110703ff 15cd5b0700000000 d2040000");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_THR_CREATE;
	ev.pl_u.pl_tc.pl_tid = 100123;
	ev.pl_u.pl_tc.pl_pid = 1234;
	strcpy(ev.pl_u.pl_tc.pl_tdname, "worker-1");
	expect_bytes(LOGFMT_NEW, &ev, "340012ee00000000 0089674523010000 1b870100d2040000"
		     "0000000000000000 776f726b65722d31 00");
	expect_bytes(LOGFMT_OLD, &ev, "");	/* no such record */
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_THR_VALUE;
	ev.pl_u.pl_tv = (struct pmclog_ev_threadvalue){
		.pl_pmcid = 0xff030711, .pl_pid = 1234, .pl_tid = 100123, .pl_value = 123456789,
		.pl_tdname = "worker-1",
	};
	expect_bytes(LOGFMT_NEW, &ev, "3c0050ee00000000 0089674523010000 110703ffd2040000"
		     "1b87010000000000 15cd5b0700000000 776f726b65722d31 00");
	expect_bytes(LOGFMT_OLD, &ev, "");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_DROPNOTIFY;
	ev.pl_u.pl_dn.pl_lost = 0x100000831;
	expect_bytes(LOGFMT_NEW, &ev, "180002ee00000000 0089674523010000 3108000001000000");
	expect_bytes(LOGFMT_OLD, &ev, "140001ee0000005a 00c2eb0b31080000 01000000");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_VALUES;
	ev.pl_u.pl_v = (struct pmclog_ev_values){
		.pl_pmcid = 0xfff20711, .pl_values = PMCLOG_VALUE_PERIOD | PMCLOG_VALUE_ADDR,
		.pl_nwords = 2, .pl_word = { 1000, 0x7f1200000000 },
	};
	expect_bytes(LOGFMT_NEW, &ev, "280041ee00000000 0089674523010000 1107f2ff03000000"
		     "e803000000000000 00000000127f0000");
	expect_bytes(LOGFMT_OLD, &ev, "240041ee0000005a 00c2eb0b1107f2ff 03000000e8030000"
		     "0000000000000000 127f0000");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_FIELD;
	ev.pl_u.pl_fd = (struct pmclog_ev_field){
		.pl_pmcid = 0xfff20711, .pl_offset = 8, .pl_size = 4, .pl_element = 1,
		.pl_flags = PMCLOG_FIELD_TEXT | PMCLOG_FIELD_ELSEWHERE, .pl_name = "filename",
	};
	expect_bytes(LOGFMT_NEW, &ev, "640044ee00000000 0089674523010000 1107f2ff08000000"
		     "0400000001000000 1200000066696c65 6e616d65");
	expect_bytes(LOGFMT_OLD, &ev, "600044ee0000005a 00c2eb0b1107f2ff 0800000004000000"
		     "0100000012000000 66696c656e616d65");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_WAKER;
	ev.pl_u.pl_wk = (struct pmclog_ev_waker){
		.pl_chain = {
			.pl_pid = 1234, .pl_tid = 100123, .pl_pmcid = 0xfff20711,
			.pl_cpuflags = 0x20100, .pl_npc = 1, .pl_pc = { 0x555500001612 },
		},
		.pl_kind = PMCLOG_WAKER_THREAD, .pl_tdname = "worker-1",
	};
	expect_bytes(LOGFMT_NEW, &ev, "400043ee00000000 0089674523010000 d20400001b870100"
		     "1107f2ff00010200 01000000776f726b 65722d3100000000 0000000000000000"
		     "1216000055550000");
	expect_bytes(LOGFMT_OLD, &ev, "380043ee0000005a 00c2eb0bd2040000 1107f2ff00010200"
		     "01000000776f726b 65722d3100000000 0000000000000000 1216000055550000");
}

/* The note behind a mapping's path, in both formats; left out where a reader would not take it. */
static void test_buildid(void **state)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_MAP_IN };
	struct pmclog_ev_map_in *mi = &ev.pl_u.pl_mi;
	struct logclock clock = { .format = LOGFMT_NEW };
	uint8_t bytes[LOGREC_MAX];

	mi->pl_pid = 5;
	mi->pl_start = 0x400000;
	strcpy(mi->pl_pathname, "/bin/ls");
	mi->pl_buildidlen = 6;
	memcpy(mi->pl_buildid, "\1\2\3\4\5\6", 6);
	expect_bytes(LOGFMT_NEW, &ev, "40000eee00000000 0089674523010000 0500000000000000"
		     "0000400000000000 2f62696e2f6c7300 0400000006000000 03000000474e5500"
		     "0102030405060000");
	expect_bytes(LOGFMT_OLD, &ev, "38000eee0000005a 00c2eb0b05000000 0000400000000000"
		     "2f62696e2f6c7300 0400000006000000 03000000474e5500 0102030405060000");
	mi->pl_buildidlen = PMCLOG_BUILDID_MAX + 1;
	assert_int_equal(logrec_encode(bytes, &clock, 0, &ev), 40);
	mi->pl_buildidlen = PMCLOG_BUILDID_MAX;
	memset(mi->pl_pathname, 'x', LOGREC_PATH - 37);
	mi->pl_pathname[LOGREC_PATH - 37] = '\0';
	assert_int_equal(logrec_encode(bytes, &clock, 0, &ev), 32 + LOGREC_PATH);
	mi->pl_pathname[LOGREC_PATH - 37] = 'x';
	mi->pl_pathname[LOGREC_PATH - 36] = '\0';
	assert_int_equal(logrec_encode(bytes, &clock, 0, &ev), 32 + LOGREC_PATH - 32);
}

/* The path of a record of that format, as a reader finds it. */
static const char *path_of(enum logfmt format, size_t len)
{
	static struct pmclog_ev ev;
	struct pmclog_ev_map_in *mi = &ev.pl_u.pl_mi;
	struct logclock clock = { .format = format };
	static uint8_t bytes[LOGREC_MAX];
	size_t at = format == LOGFMT_OLD ? 24 : 32;

	ev.pl_type = PMCLOG_TYPE_MAP_IN;
	mi->pl_buildidlen = 0;
	for (size_t i = 0; i < len; i++)
		mi->pl_pathname[i] = i % 100 ? 'x' : '/';
	memcpy(mi->pl_pathname + len - 5, "/name", 6);
	len = logrec_encode(bytes, &clock, 0, &ev) - at;
	assert_int_equal(len, (strlen((char *)bytes + at) + 4) / 4 * 4);
	return (char *)bytes + at;
}

/* Whole as far as the format goes; then without its beginning, which the path says. */
static void test_long_paths(void **state)
{
	assert_int_equal(strlen(path_of(LOGFMT_NEW, 1024)), 1024);
	assert_int_equal(strlen(path_of(LOGFMT_NEW, 4095)), 4095);
	assert_int_equal(*path_of(LOGFMT_NEW, 4095), '/');
	assert_int_equal(*path_of(LOGFMT_OLD, 1023), '/');
	assert_int_equal(strlen(path_of(LOGFMT_OLD, 1023)), 1023);
	for (size_t len = 1024; len < 1300; len += 60) {
		const char *path = path_of(LOGFMT_OLD, len);

		assert_int_equal(strlen(path), 1023);
		assert_memory_equal(path, "...", 3);
		assert_string_equal(path + 1018, "/name");
	}
}

/* A sample's fast path makes the same bytes as the table does. */
static void test_callchain(void **state)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_CALLCHAIN };
	uint64_t pc[128];

	for (unsigned int npc = 0; npc <= 128; npc += 32)
		for (int format = 0; format < LOGFMTS; format++) {
			struct logclock clock = { .format = (enum logfmt)format, .to_wall = 77 };
			uint8_t slow[LOGREC_MAX], fast[LOGREC_MAX];
			size_t len;

			for (unsigned int i = 0; i < npc; i++)
				ev.pl_u.pl_cc.pl_pc[i] = pc[i] = 0x123456789abcull * (i + 1);
			ev.pl_u.pl_cc.pl_npc = (int)npc;
			ev.pl_u.pl_cc.pl_pid = 1;
			ev.pl_u.pl_cc.pl_tid = 2;
			ev.pl_u.pl_cc.pl_pmcid = 3;
			ev.pl_u.pl_cc.pl_cpuflags = 4;
			len = logrec_encode(slow, &clock, 1ull << 60, &ev);
			assert_int_equal(len, logrec_callchain_size(&clock, npc));
			logrec_callchain(fast, &clock, 1ull << 60, &ev.pl_u.pl_cc, pc);
			assert_memory_equal(slow, fast, len);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes), cmocka_unit_test(test_buildid),
		cmocka_unit_test(test_long_paths), cmocka_unit_test(test_callchain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
