/* SPDX-License-Identifier: BSD-2-Clause */
/* How the tools' files replace old ones, and whose links they follow. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/output.h"
#include "scratch.h"
#include "unit.h"

static struct output o;
static bool no_tmpfile;

int __real_openat(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat(int folder, const char *path, int flags, mode_t mode);

int __wrap_openat(int folder, const char *path, int flags, mode_t mode)
{
	if (no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_openat(folder, path, flags, mode);
}

static int setup(void **state)
{
	no_tmpfile = false;
	umask(022);
	return scratch_run("rm -rf f && mkdir f && printf precious >f/precious");
}

static int setup_without(void **state)
{
	int err = setup(state);

	no_tmpfile = true;
	return err;
}

static void contains(const char *name, const char *text)
{
	char *data = scratch_read(name, NULL);

	assert_string_equal(data, text);
	free(data);
}

/* Files and folders in f, hidden ones too. */
static unsigned int names(void)
{
	DIR *d = opendir(scratch_file("f"));
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void create(const char *name, enum output_kind kind)
{
	if (output_create(&o, scratch_file(name), kind, 0666))
		fail_msg("%s: %s", name, o.why);
	assert_true(fcntl(o.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(o.fd, "new", 3), 3);
}

/* It is written and comes into its place, where `at` has it then. */
static void place(const char *name, enum output_kind kind, const char *at)
{
	create(name, kind);
	assert_int_equal(output_finish(&o, true), 0);
	contains(at, "new");
}

static void shell(const char *command)
{
	assert_int_equal(scratch_run("%s", command), 0);
}

static void refused(const char *name, int err, const char *why)
{
	assert_int_equal(output_create(&o, scratch_file(name), OUTPUT_WHOLE, 0666), err);
	assert_contains(o.why, why);
	assert_int_equal(o.fd, -1);
	assert_int_equal(o.folder, -1);
}

static unsigned int mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(stat(scratch_file(name), &st), 0);
	return st.st_mode & 07777;
}

static void test_whole(void **state)
{
	create("f/new", OUTPUT_WHOLE);
	assert_int_equal(access(scratch_file("f/new"), F_OK), -1);
	assert_int_equal(output_finish(&o, true), 0);
	contains("f/new", "new");
	assert_int_equal(mode_of("f/new"), 0644);
	shell("chmod 640 f/precious");
	create("f/precious", OUTPUT_WHOLE);
	contains("f/precious", "precious");
	assert_int_equal(output_finish(&o, true), 0);
	contains("f/precious", "new");
	assert_int_equal(mode_of("f/precious"), 0640);
	assert_int_equal(names(), 2);
}

static void test_incomplete(void **state)
{
	create("f/precious", OUTPUT_WHOLE);
	assert_int_equal(output_finish(&o, false), 0);
	contains("f/precious", "precious");
	assert_int_equal(names(), 1);
	assert_int_equal(o.fd, -1);
}

/* A reader that has the old file open keeps it. */
static void test_growing(void **state)
{
	int old = open(scratch_file("f/precious"), O_RDONLY | O_CLOEXEC);
	char text[16] = "";

	create("f/precious", OUTPUT_GROWING);
	contains("f/precious", "new");
	assert_int_equal(names(), 1);
	assert_int_equal(output_finish(&o, false), 0);
	contains("f/precious", "new");
	assert_int_equal(read(old, text, sizeof(text) - 1), 8);
	assert_string_equal(text, "precious");
	close(old);
}

static void test_private(void **state)
{
	assert_int_equal(output_create(&o, scratch_file("f/precious"), OUTPUT_GROWING, 0600), 0);
	assert_int_equal(mode_of("f/precious"), 0600);
	output_finish(&o, true);
}

/* Another hard link of the old file keeps its contents. */
static void test_hard_link(void **state)
{
	shell("ln f/precious f/out");
	create("f/out", OUTPUT_WHOLE);
	assert_int_equal(output_finish(&o, true), 0);
	contains("f/precious", "precious");
	contains("f/out", "new");
}

/* One's own links are followed, dangling or not, and stay. */
static void test_own_links(void **state)
{
	shell("chmod 777 f; mkdir f/d; ln -s ../precious f/d/a; "
	      "ln -s d/a f/b; ln -s d f/l; ln -s loop f/loop; "
	      "ln -s $PWD/f/l/new f/c");
	place("f/b", OUTPUT_WHOLE, "f/precious");
	place("f/c", OUTPUT_WHOLE, "f/d/new");
	place("f/l/../d//x", OUTPUT_GROWING, "f/d/x");
	shell("for l in b d/a l c; do test -L f/$l || exit; done");
	refused("f/loop", -ELOOP, strerror(ELOOP));
}

static void need_root(void)
{
	if (geteuid())
		skip();
}

static void test_strangers_links(void **state)
{
	need_root();
	shell("chown 65534 f; mkdir f/d; ln -s precious f/out; ln -s d f/l; "
	      "ln -s nowhere f/n; ln -s $PWD/f/out f/root; "
	      "chown -h 65534 f/out f/l f/n");
	refused("f/out", -ELOOP, "\"out\" is a link of user 65534's");
	refused("f/n", -ELOOP, "\"n\" is a link of user 65534's");
	refused("f/l/x", -ELOOP, "\"l\" is a link of user 65534's");
	refused("f/root", -ELOOP, "\"out\" is a link of user 65534's");
	assert_int_equal(output_folder(&o, scratch_file("f/l/x")), -ELOOP);
	assert_int_equal(access(scratch_file("f/d/x"), F_OK), -1);
	assert_int_equal(access(scratch_file("f/nowhere"), F_OK), -1);
	contains("f/precious", "precious");
	/* A second hard link of root's link, in the stranger's folder. */
	shell("ln f/root f/second; ln -sfn precious f/out; "
	      "ln -P f/out f/other");
	refused("f/other", -ELOOP, "\"other\" is a link of user 0's");
	/* No other user can write to that folder. */
	shell("chown -h 65534 f/out; chown root f; chmod 755 f");
	place("f/out", OUTPUT_WHOLE, "f/precious");
}

static void test_sticky(void **state)
{
	need_root();
	shell("chmod 1777 f; mkfifo -m 666 f/fifo; echo old >f/theirs; "
	      "chown 65534 f/fifo f/theirs");
	refused("f/fifo", -EACCES, "FIFO of user 65534's");
	/* Root may replace it; another user may not, and gets the error at once. */
	assert_int_equal(chmod(scratch(), 0755), 0);
	assert_int_equal(seteuid(65533), 0);
	refused("f/theirs", -EPERM, "user 65534's");
	assert_int_equal(seteuid(0), 0);
	place("f/theirs", OUTPUT_WHOLE, "f/theirs");
}

/* Anything but a regular file is written in place. */
static void test_special(void **state)
{
	int reader, saved = dup(STDOUT_FILENO);
	char text[8] = "";

	shell("mkfifo f/fifo");
	reader = open(scratch_file("f/fifo"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	create("f/fifo", OUTPUT_WHOLE);
	assert_int_equal(read(reader, text, sizeof(text)), 3);
	assert_int_equal(output_finish(&o, false), 0);
	assert_int_equal(access(scratch_file("f/fifo"), F_OK), 0);
	close(reader);
	assert_int_equal(output_create(&o, "/dev/null", OUTPUT_WHOLE, 0666), 0);
	assert_int_equal(output_finish(&o, true), 0);
	/* A file by its descriptor, truncated as with open(2). */
	fflush(stdout);
	reader = open(scratch_file("f/precious"), O_RDWR | O_CLOEXEC);
	dup2(reader, STDOUT_FILENO);
	if (output_create(&o, "/dev/stdout", OUTPUT_WHOLE, 0666) == 0)
		text[3] = (char)write(o.fd, "new", 3);
	dup2(saved, STDOUT_FILENO);
	assert_int_equal(text[3], 3);
	assert_int_equal(output_finish(&o, true), 0);
	contains("f/precious", "new");
	close(reader);
	close(saved);
	refused("f", -EISDIR, strerror(EISDIR));
	refused("f/new/", -EISDIR, strerror(EISDIR));
	refused("f/none/x", -ENOENT, strerror(ENOENT));
	refused("f/precious/x", -ENOTDIR, strerror(ENOTDIR));
	assert_int_equal(names(), 2);
}

/* In a folder where one may not create files, one's own old file is written in place. */
static void test_closed_folder(void **state)
{
	need_root();
	shell("chown 65533 f/precious");
	assert_int_equal(chmod(scratch(), 0755), 0);
	assert_int_equal(seteuid(65533), 0);
	create("f/precious", OUTPUT_WHOLE);
	assert_int_equal(output_finish(&o, true), 0);
	refused("f/new", -EACCES, strerror(EACCES));
	assert_int_equal(seteuid(0), 0);
	contains("f/precious", "new");
}

static void test_folder(void **state)
{
	assert_int_equal(output_folder(&o, scratch_file("f/d")), 0);
	assert_int_equal(output_folder(&o, scratch_file("f/d/")), 0);
	assert_int_equal(output_folder(&o, scratch_file("f/d")), 0);
	assert_int_equal(mode_of("f/d"), 0755);
	assert_int_equal(output_folder(&o, scratch_file("f/none/d")), -ENOENT);
}

int main(void)
{
#define T(function) cmocka_unit_test_setup(function, setup)
#define WITHOUT(function) cmocka_unit_test_setup(function, setup_without)
	const struct CMUnitTest tests[] = {
		T(test_whole), T(test_incomplete), T(test_growing),
		WITHOUT(test_whole), WITHOUT(test_incomplete), WITHOUT(test_growing),
		T(test_private), T(test_hard_link), T(test_own_links), T(test_strangers_links),
		T(test_sticky), T(test_special), T(test_closed_folder), T(test_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
