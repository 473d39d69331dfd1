/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames for pctrd as the kernel sends them (CUSE), and malformed ones; and the machine's data
 * about CPUs.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pctr/cuse.h"
#include "pctr/machine.h"
#include "pctr_core.h"
#include "unit.h"

#define WORD (PCTR_EN | PCTR_U | 0x76)

static struct core core;
static struct cuse cuse;

static int cpu_of_test(pid_t tid)
{
	return tid == 1 ? 1 : tid == 2 ? 0 : -ESRCH;
}

static int begin(void **state)
{
	struct core_config config = { .vendor = VENDOR_AMD, .ncpu = 2, .counters = 4,
				      .width = 40 };

	cuse = (struct cuse){ .watch.fd = -1, .core = &core, .messages = &quiet,
			      .cpu_of = cpu_of_test, .name = "pctr" };
	assert_int_equal(core_init(&core, &config, &one_source, &quiet), 0);
	return 0;
}

static int end(void **state)
{
	core_free(&core);
	return 0;
}

/* --- CUSE ----------------------------------------------------------------------------------- */

static struct frame {
	struct fuse_in_header header;
	union {
		struct cuse_init_in init;
		struct fuse_open_in open;
		struct {
			struct fuse_ioctl_in io;
			uint32_t fn;
		} ioctl;
		unsigned char bytes[200];
	};
} frame;
static struct {
	struct fuse_out_header header;
	union {
		struct {
			struct cuse_init_out init;
			char name[64];
		};
		struct fuse_open_out open;
		struct {
			struct fuse_ioctl_out out;
			union {
				struct fuse_ioctl_iovec iov;
				struct pctrst state;
			};
		} ioctl;
		unsigned char bytes[CUSE_REPLY_MAX - sizeof(struct fuse_out_header)];
	};
} reply;

/* Sends the frame with a body of `len` bytes; the length of the reply's body, or its error. */
static int ask(uint32_t opcode, size_t len)
{
	int n;

	frame.header.opcode = opcode;
	frame.header.unique = 42;
	frame.header.len = (uint32_t)(sizeof(frame.header) + len);
	memset(&reply, 0xff, sizeof(reply));
	n = cuse_answer(&cuse, &frame, frame.header.len, &reply);
	if (n <= 0)
		return n;
	assert_int_equal(reply.header.len, n);
	assert_int_equal(reply.header.unique, 42);
	return reply.header.error ? reply.header.error : n - (int)sizeof(reply.header);
}

static int ask_ioctl(uint32_t cmd, uint64_t fh, uint32_t in, uint32_t out)
{
	frame.ioctl.io = (struct fuse_ioctl_in){ .fh = fh, .cmd = cmd, .arg = 0x1000,
						 .in_size = in, .out_size = out,
						 .flags = FUSE_IOCTL_UNRESTRICTED };
	return ask(FUSE_IOCTL, sizeof(frame.ioctl.io) + in);
}

static void test_cuse_init(void **state)
{
	frame.init = (struct cuse_init_in){ .major = 7, .minor = 31, .flags = 1 };
	assert_int_equal(ask(CUSE_INIT, sizeof(frame.init)), sizeof(reply.init) + 13);
	assert_int_equal(reply.init.major, 7);
	assert_int_equal(reply.init.minor, 31);
	assert_int_equal(reply.init.flags, CUSE_UNRESTRICTED_IOCTL);
	assert_string_equal(reply.name, "DEVNAME=pctr");
	/* Once. */
	assert_int_equal(ask(CUSE_INIT, sizeof(frame.init)), -EPROTO);
	cuse.ready = false;
	frame.init.major = 8;
	assert_int_equal(ask(CUSE_INIT, sizeof(frame.init)), -EPROTO);
	frame.init = (struct cuse_init_in){ .major = 7, .minor = 11 };
	assert_int_equal(ask(CUSE_INIT, sizeof(frame.init)), -EPROTO);
	assert_int_equal(ask(CUSE_INIT, sizeof(frame.init) - 1), -EPROTO);
	assert_false(cuse.ready);
}

/* PCTR-11, PCTR-14: a handle records whether the file was opened for writing. */
static void test_cuse_open(void **state)
{
	static const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR };

	for (int i = 0; i < 3; i++) {
		frame.open = (struct fuse_open_in){ .flags = modes[i] | O_CLOEXEC };
		assert_int_equal(ask(FUSE_OPEN, sizeof(frame.open)), sizeof(reply.open));
		assert_int_equal(reply.open.fh, i > 0);
		assert_int_equal(reply.open.open_flags, 0);
	}
	assert_int_equal(ask(FUSE_OPEN, sizeof(frame.open) - 1), -EPROTO);
	assert_int_equal(ask(FUSE_RELEASE, sizeof(struct fuse_release_in)), 0);
	assert_int_equal(reply.header.error, 0);
	assert_int_equal(ask(FUSE_READ, sizeof(struct fuse_read_in)), -ENODEV);
	assert_int_equal(ask(FUSE_POLL, sizeof(struct fuse_poll_in)), -ENOSYS);
	assert_int_equal(ask(FUSE_INTERRUPT, sizeof(struct fuse_interrupt_in)), 0);
}

/* PCTR-04, PCTR-06, PCTR-12: first the memory is requested, then the request is performed. */
static void test_cuse_ioctl(void **state)
{
	static const uint32_t reads[] = { 0x80386301, 0x40386301 };
	static const uint32_t sets[] = { 0x4004630b, 0x8004630b };

	for (int i = 0; i < 2; i++) {
		assert_int_equal(ask_ioctl(sets[i], 1, 0, 0), sizeof(struct fuse_ioctl_out) +
			sizeof(struct fuse_ioctl_iovec));
		assert_int_equal(reply.ioctl.out.flags, FUSE_IOCTL_RETRY);
		assert_int_equal(reply.ioctl.out.in_iovs, 1);
		assert_int_equal(reply.ioctl.out.out_iovs, 0);
		assert_int_equal(reply.ioctl.iov.base, 0x1000);
		assert_int_equal(reply.ioctl.iov.len, 4);
		frame.ioctl.fn = WORD;
		assert_int_equal(ask_ioctl(sets[i], 1, 4, 0), sizeof(struct fuse_ioctl_out));
		assert_int_equal(reply.ioctl.out.result, 0);
		assert_int_equal(core.counter[3].fn, WORD);

		assert_int_equal(ask_ioctl(reads[i], 0, 0, 0), sizeof(struct fuse_ioctl_out) +
			sizeof(struct fuse_ioctl_iovec));
		assert_int_equal(reply.ioctl.out.flags, FUSE_IOCTL_RETRY);
		assert_int_equal(reply.ioctl.out.in_iovs, 0);
		assert_int_equal(reply.ioctl.out.out_iovs, 1);
		assert_int_equal(reply.ioctl.iov.len, 56);
		/* PCTR-09: the CPU is that of the caller. */
		for (uint32_t tid = 1; tid <= 2; tid++) {
			frame.header.pid = tid;
			assert_int_equal(ask_ioctl(reads[i], 0, 0, 56),
					 sizeof(struct fuse_ioctl_out) + 56);
			assert_int_equal(reply.ioctl.state.pctr_fn[3], WORD);
			assert_int_equal(reply.ioctl.state.pctr_tsc, 77);
			assert_int_equal(reply.ioctl.state.pctr_hwc[3], 102 - tid);
			assert_int_equal(reply.ioctl.state.pctr_hwc[0], 0);
		}
		frame.header.pid = 0;
		assert_int_equal(ask_ioctl(reads[i], 0, 0, 56), -ESRCH);
	}
	frame.ioctl.fn = 0;
	assert_int_equal(ask_ioctl(0x4004630b, 0, 4, 0), -EPERM);
	assert_int_equal(ask_ioctl(0x4004630c, 1, 0, 0), -EINVAL);
	assert_int_equal(ask_ioctl(0x5401, 1, 0, 0), -ENOTTY);
}

/* Frames that no kernel sends end the device; nothing beyond them is read. */
static void test_cuse_nonsense(void **state)
{
	assert_int_equal(cuse_answer(&cuse, &frame, 0, &reply), -EPROTO);
	assert_int_equal(cuse_answer(&cuse, &frame, sizeof(frame.header) - 1, &reply), -EPROTO);
	frame.header.len = sizeof(frame.header) + 1;
	assert_int_equal(cuse_answer(&cuse, &frame, sizeof(frame.header), &reply), -EPROTO);
	assert_int_equal(ask_ioctl(PCIOCS0, 1, 3, 0), -EPROTO);
	assert_int_equal(ask_ioctl(PCIOCS0, 1, 5, 0), -EPROTO);
	assert_int_equal(ask_ioctl(PCIOCS0, 1, 4, 4), -EPROTO);
	assert_int_equal(ask_ioctl(PCIOCRD, 1, 4, 56), -EPROTO);
	assert_int_equal(ask_ioctl(PCIOCRD, 1, 0, 57), -EPROTO);
	frame.ioctl.io.in_size = 100000;
	assert_int_equal(ask(FUSE_IOCTL, sizeof(frame.ioctl.io) + 4), -EPROTO);
	assert_int_equal(ask(FUSE_IOCTL, sizeof(frame.ioctl.io) - 1), -EPROTO);
}

/* Arbitrary bytes, each frame in memory of exactly its length for the sanitizers. */
static void test_cuse_noise(void **state)
{
	static const uint32_t opcodes[] = { CUSE_INIT, FUSE_OPEN, FUSE_IOCTL, FUSE_RELEASE, 0 };
	unsigned int seed = 1;

	for (int i = 0; i < 20000; i++) {
		size_t len = (size_t)rand_r(&seed) % 120;
		unsigned char *noise = malloc(len ? len : 1);
		struct fuse_in_header header;

		for (size_t b = 0; b < len; b++)
			noise[b] = (unsigned char)(rand_r(&seed) >> 8);
		if (len >= sizeof(header)) {
			memcpy(&header, noise, sizeof(header));
			header.len = (uint32_t)len;
			header.opcode = opcodes[(unsigned int)rand_r(&seed) % 5];
			memcpy(noise, &header, sizeof(header));
		}
		assert_in_range(cuse_answer(&cuse, noise, len, &reply) + EPROTO, 0,
				CUSE_REPLY_MAX + EPROTO);
		free(noise);
	}
}

/* --- the machine ------------------------------------------------------------------------------ */

/* PCTR-09: the kernel reports a thread's CPU, whatever its name. */
static void test_cpu_of(void **state)
{
	assert_true(machine_ncpu() > 0);
	assert_int_equal(machine_cpu_of(0), -ESRCH);
	assert_int_equal(machine_cpu_of(-5), -ESRCH);
	for (int cpu = 0; cpu < machine_ncpu(); cpu++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((size_t)cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			continue;		/* offline, or not for us */
		assert_int_equal(pthread_setname_np(pthread_self(), "a) 1 2 (b"), 0);
		assert_int_equal(machine_cpu_of(gettid()), cpu);
	}
}

/* PCTR-15, PCTR-10: time runs, and is the one that programs read. */
static void test_tsc(void **state)
{
	uint64_t first, second;

	stay_on_this_cpu();
	first = machine_tsc();
	second = machine_tsc();
	assert_true(second >= first);
	assert_true(first > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_cuse_init), TEST(test_cuse_open), TEST(test_cuse_ioctl),
		TEST(test_cuse_nonsense), TEST(test_cuse_noise),
		cmocka_unit_test(test_cpu_of), cmocka_unit_test(test_tsc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
