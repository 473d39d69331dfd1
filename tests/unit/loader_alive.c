/* SPDX-License-Identifier: BSD-2-Clause */
/* The page that says the daemon lives: read-only for others, marked at an orderly end. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/daemon/heartbeat.h"
#include "unit.h"

#define SIZE sizeof(struct wire_alive)

static void test_nobody_else_can_write(void **state)
{
	struct heartbeat *a;
	struct reason why;
	char path[64];
	int fd;

	assert_int_equal(heartbeat_new(&a, &why), 0);
	assert_int_equal(write(heartbeat_fd(a), "x", 1), -1);
	assert_ptr_equal(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, heartbeat_fd(a), 0),
			 MAP_FAILED);
	assert_int_equal(ftruncate(heartbeat_fd(a), 0), -1);
	/* A descriptor opened anew is stopped by the seal. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", heartbeat_fd(a));
	fd = open(path, O_RDWR);
	if (fd >= 0) {
		assert_int_equal(write(fd, "x", 1), -1);
		assert_int_equal(errno, EPERM);
		assert_ptr_equal(mmap(NULL, SIZE, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
		assert_int_equal(ftruncate(fd, 0), -1);
		close(fd);
	}
	heartbeat_free(a);
}

static void test_orderly_end_marks_the_page(void **state)
{
	const volatile struct wire_alive *page;
	struct heartbeat *a;
	struct reason why;

	assert_int_equal(heartbeat_new(&a, &why), 0);
	page = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, heartbeat_fd(a), 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(page->futex & FUTEX_OWNER_DIED, 0);
	heartbeat_free(a);
	assert_int_equal(page->futex & FUTEX_OWNER_DIED, FUTEX_OWNER_DIED);
	munmap((void *)page, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_else_can_write),
		cmocka_unit_test(test_orderly_end_marks_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
