/* SPDX-License-Identifier: BSD-2-Clause */
/* pmclog(3): every record of both formats, byte by byte. */
#include <pmcformat.h>

#include "lib/pmclog/pmclog.h"
#include "logbytes.h"

static void test_new_records(void **state)
{
	static struct bytes b;

	NEW(5, 24, u32(&b, 0xfff20711); u32(&b, 0x123); u32(&b, 0x280); u32(&b, 9); u64(&b, 65536));
	assert_int_equal(ev.pl_u.pl_a.pl_pmcid, 0xfff20711);
	assert_int_equal(ev.pl_u.pl_a.pl_event, 0x123);
	assert_int_equal(ev.pl_u.pl_a.pl_flags, 0x280);
	assert_int_equal(ev.pl_u.pl_a.pl_rate, 65536);
	NEW(6, 8 + padded("/bin/ls"), u32(&b, 7); u32(&b, 1234);
	    text(&b, "/bin/ls", padded("/bin/ls")));
	assert_int_equal(ev.pl_u.pl_t.pl_pmcid, 7);
	assert_int_equal(ev.pl_u.pl_t.pl_pid, 1234);
	assert_string_equal(ev.pl_u.pl_t.pl_pathname, "/bin/ls");
	NEW(7, 8, u32(&b, 7); u32(&b, 1234));
	assert_int_equal(ev.pl_u.pl_d.pl_pmcid, 7);
	assert_int_equal(ev.pl_u.pl_d.pl_pid, 1234);
	NEW(8, 24, u64(&b, 1ull << 40); u32(&b, 7); u32(&b, 12); u32(&b, 13); u32(&b, 0));
	assert_true(ev.pl_u.pl_c.pl_value == 1ull << 40);
	assert_int_equal(ev.pl_u.pl_c.pl_pmcid, 7);
	assert_int_equal(ev.pl_u.pl_c.pl_pid, 12);
	assert_int_equal(ev.pl_u.pl_c.pl_tid, 13);
	NEW(9, 24 + 8, u32(&b, 1234); u32(&b, 7); u64(&b, 0x7f1200000000); u64(&b, 0x555500000000);
	    text(&b, "/bin/ls", 8));
	assert_int_equal(ev.pl_u.pl_x.pl_pid, 1234);
	assert_int_equal(ev.pl_u.pl_x.pl_pmcid, 7);
	assert_true(ev.pl_u.pl_x.pl_baseaddr == 0x7f1200000000);
	assert_true(ev.pl_u.pl_x.pl_dynaddr == 0x555500000000);
	assert_string_equal(ev.pl_u.pl_x.pl_pathname, "/bin/ls");
	NEW(10, 16, u32(&b, 7); u32(&b, 1234); u64(&b, 123456789));
	assert_int_equal(ev.pl_u.pl_e.pl_pmcid, 7);
	assert_int_equal(ev.pl_u.pl_e.pl_pid, 1234);
	assert_int_equal(ev.pl_u.pl_e.pl_value, 123456789);
	NEW(11, 8, u32(&b, 1); u32(&b, 2));
	assert_int_equal(ev.pl_u.pl_f.pl_oldpid, 1);
	assert_int_equal(ev.pl_u.pl_f.pl_newpid, 2);
	NEW(12, 8, u32(&b, 1234); u32(&b, 0));
	assert_int_equal(ev.pl_u.pl_se.pl_pid, 1234);
	NEW(13, 8, u32(&b, 0xcafe); u32(&b, 0));
	assert_int_equal(ev.pl_u.pl_u.pl_userdata, 0xcafe);
	NEW(14, 16 + 16, u32(&b, ~0u); u32(&b, 0); u64(&b, 0xffffffff81000000);
	    text(&b, "/boot/vmlinuz", 16));
	assert_int_equal(ev.pl_u.pl_mi.pl_pid, -1);
	assert_true(ev.pl_u.pl_mi.pl_start == 0xffffffff81000000);
	assert_string_equal(ev.pl_u.pl_mi.pl_pathname, "/boot/vmlinuz");
	NEW(15, 24, u32(&b, 5); u32(&b, 0); u64(&b, 0x1000); u64(&b, 0x3000));
	assert_int_equal(ev.pl_u.pl_mo.pl_pid, 5);
	assert_true(ev.pl_u.pl_mo.pl_start == 0x1000 && ev.pl_u.pl_mo.pl_end == 0x3000);
	NEW(16, 16 + 24, u32(&b, 1234); u32(&b, 100123); u32(&b, 7); u32(&b, 0x20001);
	    u64(&b, 0x555500001612); u64(&b, 0x5555000016a0); u64(&b, 0x555500001598));
	assert_int_equal(ev.pl_u.pl_cc.pl_pid, 1234);
	assert_int_equal(ev.pl_u.pl_cc.pl_tid, 100123);
	assert_int_equal(ev.pl_u.pl_cc.pl_pmcid, 7);
	assert_int_equal(PMC_CALLCHAIN_CPUFLAGS_TO_CPU(ev.pl_u.pl_cc.pl_cpuflags), 2);
	assert_true(PMC_CALLCHAIN_CPUFLAGS_TO_USERMODE(ev.pl_u.pl_cc.pl_cpuflags));
	assert_int_equal(ev.pl_u.pl_cc.pl_npc, 3);
	assert_true(ev.pl_u.pl_cc.pl_pc[2] == 0x555500001598);
	NEW(17, 80, u32(&b, 7); u32(&b, 0x20000); u32(&b, 0x80); u32(&b, 0);
	    text(&b, "CLOCK.HARD", 64));
	assert_string_equal(ev.pl_u.pl_ad.pl_evname, "CLOCK.HARD");
	assert_int_equal(ev.pl_u.pl_ad.pl_event, 0x20000);
	NEW(18, 36, u32(&b, 100123); u32(&b, 1234); u32(&b, 4); u32(&b, 0);
	    text(&b, "worker-1", 20));
	assert_int_equal(ev.pl_u.pl_tc.pl_tid, 100123);
	assert_string_equal(ev.pl_u.pl_tc.pl_tdname, "worker-1");
	NEW(19, 8, u32(&b, 100123); u32(&b, 0));
	assert_int_equal(ev.pl_u.pl_te.pl_tid, 100123);
	NEW(20, 28, u32(&b, 1234); u32(&b, 4); text(&b, "nineteen characters", 20));
	assert_string_equal(ev.pl_u.pl_pc.pl_pcomm, "nineteen characters");
	/* FreeBSD's has no number. */
	NEW(2, 8, u64(&b, 0x100000831));
	assert_int_equal(ev.pl_u.pl_dn.pl_lost, 0x100000831);
	NEW(2, 0, (void)0);
	assert_int_equal(ev.pl_u.pl_dn.pl_lost, 0);
}

static void note(struct bytes *b, uint32_t name, uint32_t len, uint32_t type, const char *owner)
{
	u32(b, name);
	u32(b, len);
	u32(b, type);
	text(b, owner, 4);
	text(b, "0123456789abcdefghi", 20);
}

/* The build id after a mapping's path; anything else there is ignored. */
static void test_buildid(void **state)
{
	static const struct {
		uint32_t name, len, type;
		const char *owner;
	} bad[] = {
		{ 4, 0, 3, "GNU" }, { 4, 21, 3, "GNU" }, { 4, ~0u, 3, "GNU" },
		{ 5, 20, 3, "GNU" }, { 4, 20, 1, "GNU" }, { 4, 20, 3, "Go" },
	};
	struct bytes b;

	NEW(14, 16 + 8 + 36, u32(&b, 5); u32(&b, 0); u64(&b, 0x1000); text(&b, "/bin/ls", 8);
	    note(&b, 4, 20, 3, "GNU"));
	assert_string_equal(ev.pl_u.pl_mi.pl_pathname, "/bin/ls");
	assert_int_equal(ev.pl_u.pl_mi.pl_buildidlen, 20);
	assert_memory_equal(ev.pl_u.pl_mi.pl_buildid, "0123456789abcdefghi", 20);
	OLD(14, 12 + 12 + 36, u32(&b, 5); u64(&b, 0x1000); text(&b, "/bin/true", 12);
	    note(&b, 4, 16, 3, "GNU"));
	assert_string_equal(ev.pl_u.pl_mi.pl_pathname, "/bin/true");
	assert_int_equal(ev.pl_u.pl_mi.pl_buildidlen, 16);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		NEW(14, 16 + 8 + 36, u32(&b, 5); u32(&b, 0); u64(&b, 0x1000);
		    text(&b, "/bin/ls", 8);
		    note(&b, bad[i].name, bad[i].len, bad[i].type, bad[i].owner));
		assert_int_equal(ev.pl_u.pl_mi.pl_buildidlen, 0);
	}
	/* Bytes that FreeBSD's writer leaves after the NUL, and a note that is cut short. */
	NEW(14, 16 + 8, u32(&b, 5); u32(&b, 0); u64(&b, 0x1000); text(&b, "/bin\0xyz", 8));
	assert_string_equal(ev.pl_u.pl_mi.pl_pathname, "/bin");
	assert_int_equal(ev.pl_u.pl_mi.pl_buildidlen, 0);
	NEW(14, 16 + 8 + 16, u32(&b, 5); u32(&b, 0); u64(&b, 0x1000); text(&b, "/bin/ls", 8);
	    u32(&b, 4); u32(&b, 20); u32(&b, 3); text(&b, "GNU", 4));
	assert_int_equal(ev.pl_u.pl_mi.pl_buildidlen, 0);
}

static void test_old_records(void **state)
{
	static struct bytes b;

	OLD(0, 0, (void)0);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_CLOSELOG);
	OLD(1, 0, (void)0);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_DROPNOTIFY);
	assert_int_equal(ev.pl_u.pl_dn.pl_lost, 0);
	OLD(1, 8, u64(&b, 77));
	assert_int_equal(ev.pl_u.pl_dn.pl_lost, 77);
	OLD(3, 24 + 4, u32(&b, 1); u64(&b, 1 << 20); u64(&b, 1 << 21); u32(&b, 9);
	    text(&b, "/x", 4));
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_MAPPINGCHANGE);
	assert_true(ev.pl_u.pl_m.pl_start == 1 << 20 && ev.pl_u.pl_m.pl_end == 1 << 21);
	assert_int_equal(ev.pl_u.pl_m.pl_pid, 9);
	assert_string_equal(ev.pl_u.pl_m.pl_pathname, "/x");
}

/* The name is the parser's. */
static void expect_event_name(uint32_t event, const char *name)
{
	static struct bytes b;
	void *p;

	old_init(&b);
	old(&b, 5, 12), u32(&b, 7), u32(&b, event), u32(&b, 2);
	p = first_record(&b, 0);
	assert_string_equal(ev.pl_u.pl_a.pl_evname, name);
	assert_int_equal(ev.pl_u.pl_a.pl_rate, 0);
	pmclog_close(p);
}

/* The format's own examples. */
static void test_old_examples(void **state)
{
	static struct bytes b;

	OLD(17, 76, u32(&b, 0xff020f00); u32(&b, 0x20000); u32(&b, 0x80);
	    text(&b, "CLOCK.HARD", 64));
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_PMCALLOCATEDYN);
	assert_int_equal(ev.pl_u.pl_ad.pl_pmcid, 0xff020f00);
	assert_string_equal(ev.pl_u.pl_ad.pl_evname, "CLOCK.HARD");
	OLD(9, 24, u32(&b, 1234); u64(&b, 0x400580); u32(&b, 0xff020f00); text(&b, "/bin/ls", 8));
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_PROCEXEC);
	assert_true(ev.pl_u.pl_x.pl_entryaddr == 0x400580);
	assert_int_equal(ev.pl_u.pl_x.pl_pmcid, 0xff020f00);
	assert_string_equal(ev.pl_u.pl_x.pl_pathname, "/bin/ls");
	OLD(16, 36, u32(&b, 1234); u32(&b, 0xff020f00); u32(&b, 0x20001); u64(&b, 0x400612);
	    u64(&b, 0x4006a0); u64(&b, 0x400598));
	assert_int_equal(ev.pl_u.pl_cc.pl_npc, 3);
	assert_int_equal(ev.pl_u.pl_cc.pl_tid, 0);
	assert_true(ev.pl_u.pl_cc.pl_pc[1] == 0x4006a0);
	OLD(10, 16, u32(&b, 0xff030711); u64(&b, 123456789); u32(&b, 1234));
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_PROCEXIT);
	assert_int_equal(ev.pl_u.pl_e.pl_value, 123456789);
	expect_event_name(0x1000, "TSC");
	expect_event_name(0x7654, "event-0x7654");
	OLD(4, 20, u32(&b, 9); u64(&b, 0x400000); u32(&b, 7); u32(&b, 1));
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_PCSAMPLE);
	assert_true(ev.pl_u.pl_s.pl_pc == 0x400000 && ev.pl_u.pl_s.pl_usermode == 1);
	OLD(15, 20, u32(&b, 5); u64(&b, 0x1000); u64(&b, 0x3000));
	assert_true(ev.pl_u.pl_mo.pl_end == 0x3000);
	OLD(8, 16, u32(&b, 7); u64(&b, 1ull << 33); u32(&b, 5));
	assert_true(ev.pl_u.pl_c.pl_value == 1ull << 33 && ev.pl_u.pl_c.pl_pid == 5);
	assert_int_equal(ev.pl_u.pl_c.pl_tid, 0);
	OLD(14, 20, u32(&b, ~0u); u64(&b, 0xffffffff80200000); text(&b, "/kernel", 8));
	assert_string_equal(ev.pl_u.pl_mi.pl_pathname, "/kernel");
	OLD(6, 16, u32(&b, 7); u32(&b, 5); text(&b, "/bin/ls", 8));
	assert_string_equal(ev.pl_u.pl_t.pl_pathname, "/bin/ls");
	OLD(7, 8, u32(&b, 7); u32(&b, 5));
	assert_int_equal(ev.pl_u.pl_d.pl_pid, 5);
	OLD(11, 8, u32(&b, 1); u32(&b, 2));
	assert_int_equal(ev.pl_u.pl_f.pl_newpid, 2);
	OLD(12, 4, u32(&b, 3));
	assert_int_equal(ev.pl_u.pl_se.pl_pid, 3);
	OLD(13, 4, u32(&b, 3));
	assert_int_equal(ev.pl_u.pl_u.pl_userdata, 3);
}

/* wall time = INITIALIZE's + ticks since it / frequency; major 9's PROCEXEC; the DYN defect. */
static void test_versions(void **state)
{
	static struct bytes b;
	void *p;

	new_init(&b, 0x0a000000, 2400000000);
	u32(&b, 0xee0d0018), u32(&b, 0), u64(&b, TSC + 3600000000), u32(&b, 1), u32(&b, 0);
	p = first_record(&b, 0);
	assert_int_equal(ev.pl_ts.tv_sec, 1700000002);
	assert_int_equal(ev.pl_ts.tv_nsec, 0);
	pmclog_close(p);

	/* A clock of one tick a second, and more ticks than there are seconds. */
	new_init(&b, 0x0a000000, 1);
	u32(&b, 0xee0d0018), u32(&b, 0), u64(&b, TSC + INT64_MAX), u32(&b, 1), u32(&b, 0);
	p = first_record(&b, 0);
	assert_true(ev.pl_ts.tv_sec == INT64_MAX - 1);
	pmclog_close(p);

	new_init(&b, 0x09030000, 1000000000);
	new(&b, 9, 16 + 8);
	u32(&b, 1234), u32(&b, 7), u64(&b, 0x400580), text(&b, "/bin/ls", 8);
	pmclog_close(first_record(&b, 0));
	assert_true(ev.pl_u.pl_x.pl_entryaddr == 0x400580 && ev.pl_u.pl_x.pl_dynaddr == 0);
	assert_string_equal(ev.pl_u.pl_x.pl_pathname, "/bin/ls");

	/* FreeBSD's record, and pmcbpfd's, which has the entry address. */
	new_init(&b, 0x0a000000, 1000000000);
	new(&b, 9, 24 + 8);
	u32(&b, 1234), u32(&b, 7), u64(&b, 0x7f1200000000), u64(&b, 0), text(&b, "/bin/ls", 8);
	pmclog_close(first_record(&b, 0));
	assert_true(ev.pl_u.pl_x.pl_entryaddr == 0x7f1200000000);
	new_init(&b, 0x0a000000, 1000000000);
	new(&b, 9, 24 + 8 + 24);
	u32(&b, 1234), u32(&b, 7), u64(&b, 0x7f1200000000), u64(&b, 0), text(&b, "/bin/ls", 8);
	u32(&b, 4), u32(&b, 8), u32(&b, 1), text(&b, "PMC", 4), u64(&b, 0x7f120001b2c0);
	pmclog_close(first_record(&b, 0));
	assert_string_equal(ev.pl_u.pl_x.pl_pathname, "/bin/ls");
	assert_true(ev.pl_u.pl_x.pl_entryaddr == 0x7f120001b2c0);
	assert_true(ev.pl_u.pl_x.pl_baseaddr == 0x7f1200000000);

	new_init(&b, 0x0a000000, 1000000000);
	new(&b, 17, 80);
	u32(&b, 7), u32(&b, 1), u32(&b, 0), u32(&b, 0), u64(&b, 65536);
	text(&b, "instructions", 56);
	pmclog_close(first_record(&b, 0));
	assert_string_equal(ev.pl_u.pl_ad.pl_evname, "instructions");
	assert_true(ev.pl_u.pl_ad.pl_rate == 65536);

	/* pmcbpfd appends it to the name, or omits it. */
	new_init(&b, 0x0a000000, 1000000000);
	new(&b, 17, 80 + 8);
	u32(&b, 7), u32(&b, 1), u32(&b, 0), u32(&b, 0), text(&b, "CLOCK.HARD", 64), u64(&b, 5);
	pmclog_close(first_record(&b, 0));
	assert_string_equal(ev.pl_u.pl_ad.pl_evname, "CLOCK.HARD");
	assert_true(ev.pl_u.pl_ad.pl_rate == 5);
	new_init(&b, 0x0a000000, 1000000000);
	new(&b, 17, 80);
	u32(&b, 7), u32(&b, 1), u32(&b, 0), u32(&b, 0), text(&b, "CLOCK.HARD", 64);
	pmclog_close(first_record(&b, 0));
	assert_true(ev.pl_u.pl_ad.pl_rate == 0);
}

/* A log of today as a program of FreeBSD 7 reads it. */
static void test_read7(void **state)
{
	static struct bytes b;
	const char *name;
	void *p;

	new_init(&b, 0x0a000000, 1000000000);
	new(&b, 17, 80);
	u32(&b, 7), u32(&b, 0x20003), u32(&b, 1), u32(&b, 0), text(&b, "PAGE_FAULT.ALL", 64);
	new(&b, 14, 16 + 16);
	u32(&b, 1234), u32(&b, 0), u64(&b, 0x400000), text(&b, "/bin/program", 16);
	new(&b, 18, 36);
	u32(&b, 1234), u32(&b, 1234), u32(&b, 0), u32(&b, 0), text(&b, "worker-1", 20);
	new(&b, 65, 8 + 8);
	u32(&b, 7), u32(&b, PMCLOG_VALUE_ADDR), u64(&b, 0x1000);
	new(&b, 16, 16 + 16);
	u32(&b, 1234), u32(&b, 1235), u32(&b, 7), u32(&b, 0x20001), u64(&b, 0x400612),
		u64(&b, 0x4006a0);
	new(&b, 16, 16 + 8);
	u32(&b, 1234), u32(&b, 1235), u32(&b, 7), u32(&b, 0x20000), u64(&b, 1ull << 63);
	new(&b, 15, 24);
	u32(&b, 1234), u32(&b, 0), u64(&b, 0x400000), u64(&b, 0x401000);
	p = pmclog_open(PMCLOG_FD_NONE);
	assert_int_equal(pmclog_feed(p, (char *)b.at, (int)b.len), 0);
	assert_int_equal(pmclog_read7(p, &ev), 0);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_INITIALIZE);
	assert_int_equal(pmclog_read7(p, &ev), 0);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_PMCALLOCATE);
	assert_int_equal(ev.pl_u.pl_a.pl_pmcid, 7);
	assert_int_equal(ev.pl_u.pl_a.pl_event, 0x20003);
	assert_int_equal(ev.pl_u.pl_a.pl_flags, 1);
	name = ev.pl_u.pl_a.pl_evname;
	memset(&ev, 0, sizeof(ev));
	assert_string_equal(name, "PAGE_FAULT.ALL");
	assert_int_equal(pmclog_read7(p, &ev), 0);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_PCSAMPLE);
	assert_true(ev.pl_u.pl_s.pl_pc == 0x400612);
	assert_int_equal(ev.pl_u.pl_s.pl_pid, 1234);
	assert_int_equal(ev.pl_u.pl_s.pl_pmcid, 7);
	assert_int_equal(ev.pl_u.pl_s.pl_usermode, 1);
	assert_int_equal(pmclog_read7(p, &ev), 0);
	assert_true(ev.pl_u.pl_s.pl_pc == 1ull << 63);
	assert_int_equal(ev.pl_u.pl_s.pl_usermode, 0);
	assert_int_equal(pmclog_read7(p, &ev), -1);
	assert_int_equal(ev.pl_state, PMCLOG_REQUIRE_DATA);
	pmclog_close(p);
}

/* Values whose words are not there, or are none of them, end the log. */
static void test_damaged_values(void **state)
{
	static const struct {
		uint32_t values;
		unsigned int n;
		uint64_t word[3];
	} wrong[] = {
		{ PMCLOG_VALUE_PERIOD, 0, { 0 } },
		{ PMCLOG_VALUE_PERIOD, 2, { 1, 2 } },
		{ PMCLOG_VALUE_USER_REGS, 1, { 2 } },
		{ PMCLOG_VALUE_USER_REGS, 2, { 2, 1 } },
		{ PMCLOG_VALUE_BRANCHES, 3, { 1, 2, 3 } },
		{ PMCLOG_VALUE_BRANCHES, 1, { 1ull << 62 } },
		{ PMCLOG_VALUE_RAW, 2, { 9, 0 } },
		{ PMCLOG_VALUE_RAW, 3, { 8, 0, 0 } },
		{ PMCLOG_VALUE_RAW, 1, { 1ull << 31 } },
		{ 1u << PMCLOG_VALUES, 1, { 1 } },
	};
	static struct bytes b;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		void *p;

		new_init(&b, 0x0a000000, 1000000000);
		new(&b, 65, 8 + 8 * wrong[i].n);
		u32(&b, 7), u32(&b, wrong[i].values);
		for (unsigned int k = 0; k < wrong[i].n; k++)
			u64(&b, wrong[i].word[k]);
		p = first_record(&b, -1);
		assert_int_equal(ev.pl_state, PMCLOG_ERROR);
		assert_non_null(strstr(pmclog_errstr(p), "bytes are not the values"));
		pmclog_close(p);
	}
}

static void add_field(struct bytes *b, uint32_t offset, uint32_t size, uint32_t element,
		      uint32_t flags, const char *name)
{
	new(b, 68, 20 + PMCLOG_FIELD_NAME);
	u32(b, 7), u32(b, offset), u32(b, size), u32(b, element), u32(b, flags);
	text(b, name, PMCLOG_FIELD_NAME);
}

/* A record of 40 bytes: what its word "elsewhere" says is up to the caller. */
static void add_record(struct bytes *b, uint64_t bytes, uint32_t elsewhere)
{
	new(b, 65, 8 + 8 + 40);
	u32(b, 7), u32(b, PMCLOG_VALUE_RAW);
	u64(b, bytes << 32 | 40), u64(b, 0), u32(b, ~1u), u32(b, elsewhere);
	u64(b, 0xffffffff81000000), u32(b, 0x00020001), u32(b, 3), text(b, "ab\"\0zyx", 8);
}

/*
 * Fields of a tracepoint's record in JSON: numbers, addresses, arrays, bytes, texts, and those that
 * are not in the record.  A new PMC of the same number has none.
 */
static void test_fields(void **state)
{
	static struct bytes b;
	char json[PMCLOG_JSON_MAX];
	const struct pmclog_ev_values *v = &ev.pl_u.pl_v;
	size_t size;
	void *p;

	new_init(&b, 0x0a000000, 1000000000);
	add_field(&b, 8, 4, 4, PMCLOG_FIELD_SIGNED, "signed");
	add_field(&b, 16, 8, 8, 0, "high");
	add_field(&b, 8, 4, 4, PMCLOG_FIELD_ADDRESS, "address");
	add_field(&b, 24, 8, 2, PMCLOG_FIELD_ARRAY, "words");
	add_field(&b, 24, 4, 2, PMCLOG_FIELD_ARRAY | PMCLOG_FIELD_SIGNED, "shorts");
	add_field(&b, 32, 3, 1, PMCLOG_FIELD_ARRAY, "bytes");
	add_field(&b, 32, 8, 1, PMCLOG_FIELD_ARRAY | PMCLOG_FIELD_TEXT, "text");
	add_field(&b, 12, 4, 1, PMCLOG_FIELD_ARRAY | PMCLOG_FIELD_TEXT | PMCLOG_FIELD_ELSEWHERE,
		  "there");
	add_field(&b, 12, 4, 1, PMCLOG_FIELD_ELSEWHERE | PMCLOG_FIELD_BEHIND, "behind");
	add_field(&b, 36, 8, 8, 0, "outside");
	add_field(&b, 41, 4, 4, PMCLOG_FIELD_ELSEWHERE, "far");
	add_record(&b, 44, 2u << 16 | 32);
	add_record(&b, 40, 8u << 16 | 33);
	new(&b, 17, 16 + 64), u32(&b, 7), u32(&b, 0), u32(&b, 0), u32(&b, 0), text(&b, "x:y", 64);
	add_record(&b, 40, 0);
	p = first_record(&b, 0);
	assert_string_equal(ev.pl_u.pl_fd.pl_name, "signed");
	for (unsigned int i = 1; i < 11; i++) {
		assert_int_equal(pmclog_read(p, &ev), 0);
		assert_int_equal(ev.pl_type, PMCLOG_TYPE_FIELD);
	}
	assert_string_equal(ev.pl_u.pl_fd.pl_name, "far");
	assert_int_equal(pmclog_read(p, &ev), 0);
	assert_int_equal(v->pl_nfields, 11);
	assert_memory_equal(pmclog_field(v, &v->pl_field[7], &size), "ab", 2);
	assert_int_equal(size, 2);
	assert_null(pmclog_field(v, &v->pl_field[9], &size));
	pmclog_json(&ev, json, sizeof(json));
	assert_non_null(strstr(json, "\"raw\":{\"signed\":\"-2\",\"high\":\"0xffffffff81000000\","
			       "\"address\":\"0xfffffffe\",\"words\":\"0x1,0x2,0x3,0x0\","
			       "\"shorts\":\"1,2\",\"bytes\":\"616222\",\"text\":\"ab\\\"\","
			       "\"there\":\"ab\",\"behind\":null,\"outside\":null,"
			       "\"far\":null},\"raw-cut\":44}"));
	assert_int_equal(pmclog_read(p, &ev), 0);
	pmclog_json(&ev, json, sizeof(json));
	assert_non_null(strstr(json, "\"there\":null,"));
	assert_int_equal(pmclog_read(p, &ev), 0);
	assert_int_equal(pmclog_read(p, &ev), 0);
	assert_int_equal(v->pl_nfields, 0);
	pmclog_json(&ev, json, sizeof(json));
	assert_non_null(strstr(json, "\"raw\":{}}"));
	pmclog_close(p);
}

/* Each of 64 fields claims the whole record, whose bytes are the longest in JSON. */
static void test_hostile_fields(void **state)
{
	static struct bytes b;
	char json[PMCLOG_JSON_MAX], name[PMCLOG_FIELD_NAME + 1] = "";
	void *p;

	memset(name, 1, PMCLOG_FIELD_NAME);	/* without its NUL in the record */
	new_init(&b, 0x0a000000, 1000000000);
	for (unsigned int i = 0; i < 100; i++)
		add_field(&b, 0, 4096, 1, PMCLOG_FIELD_TEXT, name);
	new(&b, 65, 8 + 8 + 4096);
	u32(&b, 7), u32(&b, PMCLOG_VALUE_RAW), u64(&b, 5000ull << 32 | 4096);
	for (unsigned int i = 0; i < 4096 / 8; i++)
		u64(&b, 0x0101010101010101);
	p = first_record(&b, 0);
	while (!pmclog_read(p, &ev) && ev.pl_type != PMCLOG_TYPE_VALUES)
		;
	assert_int_equal(ev.pl_u.pl_v.pl_nfields, 100);
	assert_true(pmclog_json(&ev, json, sizeof(json)) < sizeof(json));
	pmclog_close(p);
}

/* Objects, escaped characters, and objects that do not fit. */
static void test_json(void **state)
{
	static struct bytes b;
	char json[PMCLOG_JSON_MAX], shorter[20];
	unsigned int words;
	size_t len;

	NEW(16, 16 + 16, u32(&b, 1234); u32(&b, 1235); u32(&b, 0xfff20f00); u32(&b, 0x20001);
	    u64(&b, 0x400612); u64(&b, 0x4006a0));
	len = pmclog_json(&ev, json, sizeof(json));
	assert_string_equal(json, "{\"type\":\"callchain\",\"tsc\":\"1250999896320\","
			    "\"pmcid\":\"0xfff20f00\",\"pid\":\"1234\",\"tid\":\"1235\","
			    "\"cpuflags\":\"0x00020001\",\"pc\":[\"0x0000000000400612\","
			    "\"0x00000000004006a0\"]}");
	assert_int_equal(len, strlen(json));
	memset(shorter, 'x', sizeof(shorter));
	assert_int_equal(pmclog_json(&ev, shorter, sizeof(shorter)), len);
	assert_string_equal(shorter, "{\"type\":\"callchain\"");
	assert_int_equal(pmclog_json(&ev, NULL, 0), len);
	NEW(6, 8 + 28, u32(&b, 7); u32(&b, 1);
	    text(&b, "/\"\\\n\x01\xc3\xa4\xc3/\xed\xa0\x80/\xf0\x9f\x8d\xb0/\xc0\x80", 28));
	pmclog_json(&ev, json, sizeof(json));
	assert_non_null(strstr(json, "\"pathname\":\"/\\\"\\\\\\n\\u0001\xc3\xa4\\ufffd/"
			       "\\ufffd\\ufffd\\ufffd/\xf0\x9f\x8d\xb0/\\ufffd\\ufffd\"}"));
	NEW(65, 8 + 24, u32(&b, 7); u32(&b, PMCLOG_VALUE_PERIOD | PMCLOG_VALUE_USER_REGS);
	    u64(&b, 1000); u64(&b, 62ull << 32 | 2); u64(&b, 0));
	assert_null(pmclog_value(&ev.pl_u.pl_v, PMCLOG_VALUE_ADDR, &words));
	assert_true(*pmclog_value(&ev.pl_u.pl_v, PMCLOG_VALUE_PERIOD, &words) == 1000);
	assert_int_equal(words, 1);
	assert_non_null(pmclog_value(&ev.pl_u.pl_v, PMCLOG_VALUE_USER_REGS, &words));
	assert_int_equal(words, 2);
	pmclog_json(&ev, json, sizeof(json));
	assert_non_null(strstr(json, "\"pmcid\":\"0x00000007\",\"values\":{\"period\":\"1000\","
			       "\"user-regs\":{\"abi\":64}}}"));
	NEW(65, 8 + 64, u32(&b, 7);
	    u32(&b, PMCLOG_VALUE_USER_REGS | PMCLOG_VALUE_BRANCHES); u64(&b, 62ull << 32 | 1);
	    u64(&b, 0x180); u64(&b, 0xffff); u64(&b, 0x400612); u64(&b, 1); u64(&b, 0x10);
	    u64(&b, 0x20); u64(&b, 3));
	pmclog_json(&ev, json, sizeof(json));
	assert_non_null(strstr(json, "\"user-regs\":{\"abi\":32,\"sp\":\"0x000000000000ffff\","
			       "\"ip\":\"0x0000000000400612\"},\"branch\":[{"
			       "\"from\":\"0x0000000000000010\",\"to\":\"0x0000000000000020\","
			       "\"flags\":\"0x3\"}]"));
	/* The longest there is. */
	memset(ev.pl_u.pl_t.pl_pathname, 1, PMCLOG_PATH_MAX - 1);
	ev.pl_u.pl_t.pl_pathname[PMCLOG_PATH_MAX - 1] = '\0';
	assert_true(pmclog_json(&ev, json, sizeof(json)) < sizeof(json));
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_new_records), T(test_buildid), T(test_old_records), T(test_old_examples),
		T(test_versions), T(test_read7), T(test_damaged_values), T(test_fields),
		T(test_hostile_fields), T(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
