/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Class MSR: the registers that have rows, their readers, and permissions, over a fake module and
 * fake events of perf's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/loader/fake_msrdev.h"
#include "tests/unit/loader/fixture.h"
#include "tests/unit/loader/verbs.h"

#define ALL "0xffffffffffffffff"

/* Registers of every CPU that runs this test: x86 or arm64. */
#ifdef __x86_64__
#define VENDOR "x86"
#else
#define VENDOR "arm64"
#endif

static char path[] = "/tmp/registers.XXXXXX";
static unsigned int first;		/* row of the class */

static void write_list(const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void rediscover(void)
{
	struct reason why;

	assert_int_equal(daemon_rediscover(&harness, &why), 0);
	first = row_class_find(&harness.rows, PMC_CLASS_MSR) ?
		row_class_find(&harness.rows, PMC_CLASS_MSR)->info.first_row : 0;
}

static int begin(void **state)
{
	write_list("0x10 " ALL " 0 " VENDOR " any TSC s\n"
		   "0x20 0xffff 0 " VENDOR " any COUNTER s\n"
		   "0x30 0xff 0xf0 " VENDOR " admin - s\n"
		   "0x40 0 0xf " VENDOR " admin CONTROL s\n"
		   "0x50 " ALL " 0 " VENDOR " any FAULTS s\n");
	harness_msr_list = path;
	fake_module_reset();
	for (uint32_t reg = 0x10; reg <= 0x50; reg += 0x10)
		fake_module_set(reg, 7, reg == 0x50);
	return setup(state);
}

static int end(void **state)
{
	int err = teardown(state);

	assert_int_equal(fake_module.open, 0);
	return err;
}

static void load_module(void)
{
	fake_module.refuse_open = 0;
	rediscover();
}

static unsigned int count_rows(void)
{
	const struct row_class *c = row_class_find(&harness.rows, PMC_CLASS_MSR);

	return c ? c->info.num : 0;
}

/* The event of that name in the daemon's list, or NULL. */
static const struct wire_dynevent *event(const char *name)
{
	struct wire_class_req r = { .class = PMC_CLASS_MSR };
	const struct wire_dynevent_rep *rep;
	const struct wire_dynevent *e;

	assert_int_equal(ask(&user, WIRE_OP_GETDYNEVENTINFO, &r, sizeof(r)), 0);
	rep = payload();
	e = (const struct wire_dynevent *)(rep + 1);
	for (unsigned int i = 0; i < rep->count; i++)
		if (!strcmp(e[i].name, name))
			return &e[i];
	return NULL;
}

static struct wire_allocate_req request_for(const char *name, uint32_t mode)
{
	const struct wire_dynevent *e = event(name);
	struct wire_allocate_req r = {
		.caps = PMC_CAP_READ, .class = PMC_CLASS_MSR, .mode = mode,
		.event = e ? e->code : PMC_EV_MSR_RAW,
		.cpu = PMC_IS_SYSTEM_MODE(mode) ? 1 : (uint32_t)PMC_CPU_ANY,
	};

	if (!e)
		r.config = strtoull(name + strlen("MSR-"), NULL, 0);
	snprintf(r.event_name, sizeof(r.event_name), "%s", name);
	return r;
}

static int try(struct actor *a, const char *name, uint32_t mode)
{
	struct wire_allocate_req r = request_for(name, mode);

	return ask(a, WIRE_OP_PMCALLOCATE, &r, sizeof(r));
}

static int try_raw(struct actor *a, uint64_t reg, uint32_t mode)
{
	struct wire_allocate_req r = request_for("MSR-0", mode);

	r.config = reg;
	return ask(a, WIRE_OP_PMCALLOCATE, &r, sizeof(r));
}

static void release_only(struct actor *a)
{
	assert_int_equal(release(a, TAILQ_FIRST(&a->session.owner->pmcs)->id), 0);
}

/* --- rows and their readers ------------------------------------------------------------------- */

/* A hypervisor's register that always reads 0 is none; perf's counts. */
static void test_perf_rows(void **state)
{
	fake.perf_registers = 1u << FAKE_TSC | 1u << FAKE_ENERGY_PKG;
	rediscover();
	assert_int_equal(count_rows(), 2);
	assert_int_equal(event("MSR-TSC")->flags, WIRE_MSR_SYSTEM_PERF | WIRE_MSR_PROCESS_PERF);
	assert_int_equal(event("MSR-ENERGY.PKG")->flags, WIRE_MSR_SYSTEM_PERF | WIRE_MSR_ADMIN);
	load_module();
	assert_int_equal(count_rows(), 4);
	assert_int_equal(event("MSR-TSC")->flags, WIRE_MSR_SYSTEM_MODULE | WIRE_MSR_PROCESS_PERF);
	fake_module_set(0x10, 0, false);
	rediscover();
	assert_int_equal(event("MSR-TSC")->flags, WIRE_MSR_SYSTEM_PERF | WIRE_MSR_PROCESS_PERF);
	assert_int_equal(try(&root, "MSR-TSC", PMC_MODE_SC), 0);
	assert_int_equal(fake.last.event.type, 10);
	assert_false(fake.last.event.msr);
	release_only(&root);
}

/* Another module's list, and a module that refuses the list: as without a module. */
static void test_refused_module(void **state)
{
	fake_module.refuse_open = -EPROTO;
	rediscover();
	assert_int_equal(count_rows(), 0);
	fake_module.refuse_open = 0;
	fake_module.refuse_list = -EPERM;
	rediscover();
	assert_int_equal(count_rows(), 0);
	assert_int_equal(fake_module.open, 0);
	fake_module.refuse_list = 0;
	rediscover();
	assert_int_equal(count_rows(), 3);
}

/* --- allocation ------------------------------------------------------------------------------ */

static void test_named(void **state)
{
	struct wire_allocate_req r;

	load_module();
	assert_int_equal(try(&root, "MSR-COUNTER", PMC_MODE_SC), 0);
	assert_int_equal(fake.last.row, first + 1);
	assert_true(fake.last.event.msr);
	assert_int_equal(fake.last.event.config, 0x20);
	assert_int_equal(fake.last.event.config1, 0xffff);
	assert_string_equal(info(&root, 1, first + 1).event_name, "MSR-COUNTER");
	/* The row holds no counter: other PMCs can use it. */
	harness.config.value[TUN_SYSPMCS] = 1;
	assert_int_equal(try(&user, "MSR-COUNTER", PMC_MODE_SC), 0);
	release_only(&user);
	release_only(&root);
	/* A client with an old list: the number is another register's by now. */
	r = request_for("MSR-COUNTER", PMC_MODE_SC);
	strcpy(r.event_name, "MSR-TSC");
	assert_int_equal(ask(&root, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), -EINVAL);
	assert_contains(reason(), "this name now");
	assert_int_equal(try(&root, "MSR-COUNTER", PMC_MODE_SC), 0);
	assert_int_equal(try_raw(&root, 0x20, PMC_MODE_SC), -EINVAL);
	assert_contains(reason(), "a register has one row");
	assert_contains(reason(), "MSR-COUNTER held by this process; release one of yours");
	release_only(&root);
	r.event += 200;
	assert_int_equal(ask(&root, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), -EINVAL);
	r = request_for("MSR-COUNTER", PMC_MODE_SC);
	memset(r.event_name, 'x', sizeof(r.event_name));
	assert_int_equal(ask(&root, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), -EINVAL);
}

static void test_raw(void **state)
{
	load_module();
	assert_int_equal(try_raw(&root, 0x20, PMC_MODE_SC), 0);
	assert_int_equal(fake.last.row, first + 1);
	assert_string_equal(info(&root, 1, first + 1).event_name, "MSR-0x20");
	release_only(&root);
	assert_int_equal(try_raw(&root, 0x21, PMC_MODE_SC), -EPERM);
	assert_contains(reason(), "register 0x21 is not on the list");
	assert_contains(reason(), path);
	assert_int_equal(try_raw(&root, 0x100000020, PMC_MODE_SC), -EPERM);
	assert_int_equal(try_raw(&root, 0x50, PMC_MODE_SC), -EOPNOTSUPP);
	assert_contains(reason(), "this CPU lacks it");
	assert_int_equal(try_raw(&root, 0x40, PMC_MODE_SC), -EOPNOTSUPP);
}

/* Whatever the tunables say. */
static void test_privilege(void **state)
{
	fake.perf_registers = 1u << FAKE_APERF | 1u << FAKE_ENERGY_PKG;
	fake.kfunc = true;
	load_module();
	harness.config.value[TUN_SYSPMCS] = 1;
	for (uint32_t mode = PMC_MODE_SC; mode <= PMC_MODE_TC; mode += PMC_MODE_TC - PMC_MODE_SC) {
		assert_int_equal(try(&user, "MSR-APERF", mode), -EPERM);
		assert_contains(reason(), "whatever the tunables say");
		assert_int_equal(try(&user, "MSR-ENERGY.PKG", mode), -EPERM);
		assert_int_equal(try_raw(&user, 0x30, mode), -EPERM);
		assert_int_equal(try(&root, "MSR-APERF", mode), 0);
		release_only(&root);
		assert_int_equal(try_raw(&root, 0x30, mode), 0);
		release_only(&root);
		assert_int_equal(try(&user, "MSR-COUNTER", mode), 0);
		release_only(&user);
	}
	harness.config.value[TUN_SYSPMCS] = 0;
	assert_int_equal(try(&user, "MSR-COUNTER", PMC_MODE_SC), -EPERM);
	assert_contains(reason(), "unprivileged_syspmcs");
	/* A rule may allow both, some registers only, or none. */
	actor_rules(&user, "registers=admin modes=SC,TC events=\"MSR:APERF,MSR:0x30\"");
	assert_int_equal(try(&user, "MSR-APERF", PMC_MODE_SC), 0);
	release_only(&user);
	assert_int_equal(try_raw(&user, 0x30, PMC_MODE_TC), 0);
	release_only(&user);
	assert_int_equal(try(&user, "MSR-COUNTER", PMC_MODE_TC), -EPERM);
	assert_contains(reason(), "MSR:COUNTER is not among the events");
	/* Not in a container. */
	user.cred.user_ns = ++user.session.cred.user_ns;
	assert_int_equal(try_raw(&user, 0x30, PMC_MODE_TC), -EPERM);
	assert_contains(reason(), "MSR-0x30 reveals others' work, and is not for processes in a "
			"container");
	user.cred.user_ns = --user.session.cred.user_ns;
	actor_rules(&user, "registers=none");
	assert_int_equal(try(&user, "MSR-COUNTER", PMC_MODE_TC), -EPERM);
	assert_contains(reason(), "registers=\"none\" (test.conf:1)");
}

/* In processes only kernel functions of the module read registers. */
static void test_process_scope(void **state)
{
	load_module();
	assert_int_equal(try(&root, "MSR-COUNTER", PMC_MODE_TC), -EOPNOTSUPP);
	assert_contains(reason(), "MSR-COUNTER is counted for CPUs only: ");
	fake.kfunc = true;
	rediscover();
	assert_int_equal(try(&root, "MSR-COUNTER", PMC_MODE_TC), 0);
	release_only(&root);
}

#ifdef __x86_64__
/* The number of a register of energy is the module's, also where perf counts the event. */
static void test_no_reader(void **state)
{
	const struct cpu intel = { .id = "GenuineIntel-6-3F-2", .aperf = true };
	struct perf_event_spec spec;
	struct msrs m = { .kfunc = true };
	struct reason why;

	write_list("0x606 0x1fffff 0 intel admin - s\n0x611 0xffffffff 0 intel any ENERGY.PKG s\n");
	fake.perf_registers = 1u << FAKE_ENERGY_PKG;
	for (int module = 0; module < 2; module++) {
		fake_module.refuse_open = module ? 0 : -ENOENT;
		fake_module_set(0x611, 0, true);
		assert_int_equal(msr_load(&m, path, &intel, &why), 0);
		msr_discover(&m, &intel, &harness.debug);
		assert_int_equal(msr_find(&m, 0x611), (int)m.n - 1);
		assert_int_equal(msr_provider(&m, &m.row[m.n - 1], true, false, &spec, &why), 0);
		assert_int_equal(spec.type, 11);
		assert_int_equal(msr_provider(&m, &m.row[m.n - 1], true, true, &spec, &why),
				 -EOPNOTSUPP);
		assert_contains(why.text, module ?
				"MSR-ENERGY.PKG: this CPU lacks the register 0x611" :
				"no reader for MSR-ENERGY.PKG: fake: no module");
		msr_free(&m);
	}
}

/* Energy counts in 2^-32 J with either reader; the register itself does not. */
static void test_energy(void **state)
{
	const struct cpu amd = { .id = "AuthenticAMD-25-01-1", .aperf = true };
	struct msrs m = { .kfunc = true };
	struct perf_event_spec spec;
	struct reason why;

	write_list("0x606 0x1fffff 0 intel admin - s\n0x611 0xffffffff 0 intel any ENERGY.PKG s\n"
		   "0xc0010299 0x1fffff 0 amd admin - s\n"
		   "0xc001029b 0xffffffff 0 amd any ENERGY.PKG s\n");
	fake_module.refuse_open = 0;
	fake_module_set(0xc0010299, 16u << 8 | 3, false);
	fake_module_set(0xc001029b, 0x12345678, false);
	assert_int_equal(msr_load(&m, path, &amd, &why), 0);
	msr_discover(&m, &amd, &harness.debug);
	assert_int_equal(m.n, 2);
	assert_int_equal(m.row[1].shift, 16);
	assert_true(m.row[1].admin);
	assert_int_equal(msr_provider(&m, &m.row[1], true, false, &spec, &why), 0);
	assert_true(spec.msr);
	assert_int_equal(msr_provider(&m, &m.row[1], false, true, &spec, &why), -EOPNOTSUPP);
	/* The power PMU knows its models better; the raw register stays the module's. */
	fake.perf_registers = 1u << FAKE_ENERGY_PKG;
	msr_discover(&m, &amd, &harness.debug);
	assert_int_equal(m.n, 2);
	assert_int_equal(msr_provider(&m, &m.row[1], true, false, &spec, &why), 0);
	assert_int_equal(spec.type, 11);
	assert_int_equal(msr_provider(&m, &m.row[1], true, true, &spec, &why), 0);
	assert_true(spec.msr);
	/* Without its unit the register is no energy. */
	fake.perf_registers = 0;
	fake_module_set(0xc0010299, 0, true);
	msr_discover(&m, &amd, &harness.debug);
	assert_int_equal(m.n, 1);
	assert_string_equal(m.name[0], "0xc001029b");
	assert_int_equal(m.row[0].shift, 0);
	assert_true(m.row[0].admin);
	assert_int_equal(msr_provider(&m, &m.row[0], false, true, &spec, &why), -EOPNOTSUPP);
	msr_free(&m);
}

/* Some models count DRAM energy in a unit of its own, which only perf knows. */
static void test_energy_of_memory(void **state)
{
	const struct cpu intel = { .id = "GenuineIntel-6-3F-2", .aperf = true };
	struct msrs m = { .kfunc = true };
	struct reason why;

	write_list("0x606 0x1fffff 0 intel admin - s\n"
		   "0x611 0xffffffff 0 intel any ENERGY.PKG s\n"
		   "0x619 0xffffffff 0 intel any ENERGY.RAM s\n");
	fake_module.refuse_open = 0;
	fake_module_set(0x606, 14u << 8 | 3, false);
	fake_module_set(0x611, 7, false);
	fake_module_set(0x619, 7, false);
	assert_int_equal(msr_load(&m, path, &intel, &why), 0);
	msr_discover(&m, &intel, &harness.debug);
	assert_int_equal(m.n, 3);
	assert_string_equal(m.name[1], "ENERGY.PKG");
	assert_int_equal(m.row[1].shift, 18);
	assert_string_equal(m.name[2], "0x619");
	assert_int_equal(m.row[2].shift, 0);
	fake.perf_registers = 1u << FAKE_ENERGY_RAM;
	msr_discover(&m, &intel, &harness.debug);
	assert_int_equal(m.n, 4);
	assert_string_equal(m.name[3], "ENERGY.RAM");
	assert_false(m.row[3].listed);
	assert_int_equal(msr_find(&m, 0x619), 2);
	msr_free(&m);
}
#endif

/* --- select= --------------------------------------------------------------------------------- */

static int try_select(struct actor *a, uint32_t mode, uint64_t reg, uint64_t bits)
{
	struct wire_allocate_req r = request_for("MSR-COUNTER", mode);

	r.config1 = WIRE_MSR_SELECT | reg;
	r.config2 = bits;
	return ask(a, WIRE_OP_PMCALLOCATE, &r, sizeof(r));
}

static void test_select(void **state)
{
	static struct actor other;
	struct wire_allocate_req r;

	load_module();
	harness.config.value[TUN_SYSPMCS] = 1;
	assert_int_equal(try_select(&user, PMC_MODE_SC, 0x40, 0), -EPERM);
	assert_contains(reason(), "with select= needs CAP_PERFMON");
	assert_int_equal(try_select(&root, PMC_MODE_SC, 0x41, 0), -EPERM);
	assert_contains(reason(), path);
	assert_int_equal(try_select(&root, PMC_MODE_SC, 0x20, 0), -EPERM);
	assert_int_equal(try_select(&root, PMC_MODE_SC, 0x40, 0x1f), -EPERM);
	assert_contains(reason(), "lets 0xf of register 0x40 be written, not 0x1f");
	assert_int_equal(try_select(&root, PMC_MODE_SC, 0x40, 5), 0);
	assert_true(fake.last.select);
	assert_int_equal(fake.last.select_reg, 0x40);
	assert_int_equal(fake.last.select_value, 5);
	actor_join(&other, ROOT_PID + 10, 0);
	assert_int_equal(try_select(&other, PMC_MODE_SC, 0x40, 5), -EBUSY);
	assert_contains(reason(), "register 0x40 of CPU 1 is written by a PMC held by pid 1000001");
	/* The same register, whatever the other bits. */
	assert_int_equal(try_select(&other, PMC_MODE_SC, 1ull << 40 | 0x40, 5), -EINVAL);
	assert_int_equal(try_select(&other, PMC_MODE_SC, 1ull << 63 | 0x40, 5), -EINVAL);
	r = request_for("MSR-COUNTER", PMC_MODE_SC);
	r.config2 = 5;
	assert_int_equal(ask(&other, WIRE_OP_PMCALLOCATE, &r, sizeof(r)), -EINVAL);
	assert_contains(reason(), "names no register");
	assert_int_equal(try_select(&other, PMC_MODE_SC, 0x30, 0x10), 0);
	release_only(&other);
	release_only(&root);
	assert_int_equal(try_select(&other, PMC_MODE_SC, 0x40, 5), 0);
	release_only(&other);
	actor_leave(&other);
	fake.kfunc = true;
	rediscover();
	assert_int_equal(try_select(&root, PMC_MODE_TC, 0x40, 5), -EINVAL);
	assert_contains(reason(), "system scope");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_perf_rows), TEST(test_refused_module), TEST(test_named), TEST(test_raw),
		TEST(test_privilege), TEST(test_process_scope), TEST(test_select),
#ifdef __x86_64__
		TEST(test_no_reader),	TEST(test_energy), TEST(test_energy_of_memory),
#endif
	};
	int failed, fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	remove(path);
	return failed;
}
