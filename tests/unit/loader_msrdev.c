/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The companion module's client: its messages if there is no module, or one of an unknown version.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kmod/pmcbpf_msr.h"
#include "loader/machine/msrdev.h"
#include "unit.h"

/* The device, as open(2) and ioctl(2) have it. */
static struct {
	int open_errno, list_errno, io_errno;
	__u32 version;
	struct pmcbpf_msr_list list;
	struct pmcbpf_msr_entry entry[MSRLIST_MAX];
	struct pmcbpf_msr_io io;
	unsigned long request;
} device;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_open(const char *path, int flags, ...)
{
	assert_string_equal(path, "/dev/pmcbpf_msr");
	errno = device.open_errno;
	return errno ? -1 : __real_open("/dev/null", flags);
}

static int answer(unsigned long request, void *arg)
{
	switch (request) {
	case PMCBPF_MSR_IOC_VERSION:
		*(__u32 *)arg = device.version;
		return 0;
	case PMCBPF_MSR_IOC_LIST:
		device.list = *(struct pmcbpf_msr_list *)arg;
		memcpy(device.entry, (void *)(uintptr_t)device.list.entries,
		       device.list.n * sizeof(device.entry[0]));
		return device.list_errno;
	default:
		device.request = request;
		device.io = *(struct pmcbpf_msr_io *)arg;
		((struct pmcbpf_msr_io *)arg)->value = 77;
		return device.io_errno;
	}
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	va_start(ap, request);
	errno = answer(request, va_arg(ap, void *));
	va_end(ap);
	return errno ? -1 : 0;
}

static int setup(void **state)
{
	memset(&device, 0, sizeof(device));
	device.version = PMCBPF_MSR_VERSION;
	return 0;
}

static void test_none(void **state)
{
	static const struct {
		int error, err;
		const char *text;
	} cases[] = {
		{ ENOENT, -ENOENT, "modprobe pmcbpf_msr" },
		{ ENXIO, -ENOENT, "modprobe pmcbpf_msr" },
		{ EBUSY, -EBUSY, "open in another pmcbpfd" },
		{ EPERM, -EPERM, "CAP_SYS_RAWIO" },
		{ EACCES, -EPERM, "CAP_SYS_RAWIO" },
		{ EMFILE, -EMFILE, "Too many open files" },
	};
	struct msrdev *dev = NULL;
	struct reason why;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		device.open_errno = cases[i].error;
		assert_int_equal(msrdev_open(&dev, &why), cases[i].err);
		assert_contains(why.text, "pmcbpf_msr");
		assert_contains(why.text, cases[i].text);
		assert_null(dev);
	}
}

static void test_version(void **state)
{
	struct msrdev *dev = NULL;
	struct reason why;

	device.version = PMCBPF_MSR_VERSION + 1;
	assert_int_equal(msrdev_open(&dev, &why), -EPROTO);
	assert_contains(why.text, "is of version 2, and pmcbpfd");
	assert_contains(why.text, "make kmod, rmmod pmcbpf_msr, modprobe pmcbpf_msr");
	assert_null(dev);
}

static void test_list(void **state)
{
	struct msrlist list = { .n = 2, .entry = { { .reg = 1, .read = 2, .write = 3 },
						   { .reg = 5, .read = 7 } } };
	struct msrdev *dev;
	struct reason why;

	assert_int_equal(msrdev_open(&dev, &why), 0);
	assert_int_equal(msrdev_allow(dev, &list, &why), 0);
	assert_int_equal(device.list.version, PMCBPF_MSR_VERSION);
	assert_int_equal(device.list.n, 2);
	assert_int_equal(device.entry[0].reg, 1);
	assert_int_equal(device.entry[0].read, 2);
	assert_int_equal(device.entry[0].write, 3);
	assert_int_equal(device.entry[1].reg, 5);
	assert_int_equal(device.entry[1].reserved, 0);
	device.list_errno = EINVAL;
	assert_int_equal(msrdev_allow(dev, &list, &why), -EINVAL);
	assert_contains(why.text, "does not take the list");
	device.list_errno = EPERM;
	assert_int_equal(msrdev_allow(dev, &list, &why), -EPERM);
	msrdev_close(dev);
	msrdev_close(NULL);
}

static void test_requests(void **state)
{
	struct msrdev *dev;
	uint64_t value = 0;
	struct reason why;

	assert_int_equal(msrdev_open(&dev, &why), 0);
	assert_int_equal(msrdev_read(dev, 0x10, 3, &value), 0);
	assert_int_equal(device.request, PMCBPF_MSR_IOC_READ);
	assert_int_equal(device.io.reg, 0x10);
	assert_int_equal(device.io.cpu, 3);
	assert_int_equal(value, 77);
	value = 0;
	assert_int_equal(msrdev_write(dev, 0x11, 2, 5, &value), 0);
	assert_int_equal(device.request, PMCBPF_MSR_IOC_WRITE);
	assert_int_equal(device.io.value, 5);
	assert_int_equal(value, 77);
	device.io_errno = EIO;
	value = 1;
	assert_int_equal(msrdev_read(dev, 0x10, 3, &value), -EIO);
	assert_int_equal(value, 1);
	assert_int_equal(msrdev_row(dev, 0x10, 3), -EIO);
	assert_int_equal(device.request, PMCBPF_MSR_IOC_ROW);
	msrdev_close(dev);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_none), T(test_version), T(test_list), T(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
