/* SPDX-License-Identifier: BSD-2-Clause */
/* libpctr's ioctl(2), linked into this program, beside a server that stands in for pctrd. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/pctr_wire.h"
#include "unit.h"

#define OPENBSD(request) ((request) ^ 0xc0000000ul)
#define PCIOCS4		 _IOW('c', 12, unsigned int)
#define VALUE		 0xfedcba9876ull

/* PCTR-06, PCTR-07, PCTR-12: the page's layout, and both systems' numbers. */
_Static_assert(PCTR_NUM == 4 && sizeof(pctrval) == 8, "sizes");
_Static_assert(offsetof(struct pctrst, pctr_tsc) == 16, "offset");
_Static_assert(offsetof(struct pctrst, pctr_hwc) == 24, "offset");
_Static_assert(PCIOCRD == 0x80386301 && OPENBSD(PCIOCRD) == 0x40386301, "PCIOCRD");
_Static_assert(PCIOCS0 == 0x40046308 && OPENBSD(PCIOCS0) == 0x80046308, "PCIOCS0");
_Static_assert(PCIOCS1 == 0x40046309 && PCIOCS2 == 0x4004630a && PCIOCS3 == 0x4004630b, "PCIOCS");

struct fake {
	char dir[32], file[48], path[64];
	int listener, epoll, stop[2];
	pthread_t thread, client;
	bool interrupts;		/* the client gets a signal before its reply */
	bool hangs_up;
	int error;
	size_t length;			/* of the reply */

	unsigned int requests;
	struct pctr_wire_request last;
	size_t last_length;
	struct stat file_of_last;	/* the descriptor that came along */
};

/* State that encodes the requested CPU and function. */
static void reply_to(struct fake *f, int fd)
{
	struct pctr_wire_reply reply[2] = { { .error = f->error } };
	struct pctrst *st = &reply[0].state;

	*st = (struct pctrst){ { f->last.value, 1, 2, 3 }, f->last.cpu, { VALUE, 5, 6, 7 } };
	if (f->interrupts)
		pthread_kill(f->client, SIGUSR1);
	if (!f->hangs_up)
		assert_int_equal(send(fd, reply, f->length, MSG_NOSIGNAL), f->length);
}

static void serve(struct fake *f, int fd)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &f->last, sizeof(f->last) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_TRUNC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	int passed;

	if (n > 0) {
		f->requests++;
		f->last_length = (size_t)n;
		memset(&f->file_of_last, 0, sizeof(f->file_of_last));
		if (c) {
			memcpy(&passed, CMSG_DATA(c), sizeof(passed));
			fstat(passed, &f->file_of_last);
			close(passed);
		}
		reply_to(f, fd);
	}
	close(fd);
}

static void *run(void *arg)
{
	struct fake *f = arg;
	struct epoll_event event;

	while (epoll_wait(f->epoll, &event, 1, -1) == 1 && event.data.fd == f->listener) {
		int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			serve(f, fd);
	}
	return NULL;
}

static void watch(struct fake *f, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	assert_int_equal(epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &event), 0);
}

static int setup(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd;

	f->length = sizeof(struct pctr_wire_reply);
	strcpy(f->dir, "/tmp/unit-pctr-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->file, sizeof(f->file), "%s/pctr", f->dir);
	snprintf(f->path, sizeof(f->path), "%s.sock", f->file);
	strcpy(at.sun_path, f->path);
	fd = open(f->file, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(f->listener, 16), 0);
	assert_int_equal(pipe(f->stop), 0);
	f->epoll = epoll_create1(EPOLL_CLOEXEC);
	f->client = pthread_self();
	watch(f, f->listener);
	watch(f, f->stop[0]);
	assert_int_equal(pthread_create(&f->thread, NULL, run, f), 0);
	setenv("PCTR_DEVICE", f->file, 1);
	*state = f;
	return 0;
}

static void stop(struct fake *f)
{
	close(f->stop[1]);
	pthread_join(f->thread, NULL);
	close(f->listener);
	f->listener = -1;
}

static int teardown(void **state)
{
	struct fake *f = *state;

	if (f->listener >= 0)
		stop(f);
	close(f->stop[0]);
	close(f->epoll);
	unlink(f->path);
	unlink(f->file);
	rmdir(f->dir);
	free(f);
	return 0;
}

static int device(struct fake *f, int flags)
{
	int fd = open(f->file, flags | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* PCTR-04, PCTR-06, PCTR-14: whatever the descriptor's mode, and in both systems' numbers. */
static void test_read(void **state)
{
	static const unsigned long requests[] = { PCIOCRD, OPENBSD(PCIOCRD),
						  (unsigned long)(int)PCIOCRD };
	static const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR };
	struct fake *f = *state;
	struct stat st;

	for (size_t i = 0; i < 3; i++) {
		int fd = device(f, modes[i]);
		struct pctrst got;

		memset(&got, 0xff, sizeof(got));
		assert_int_equal(ioctl(fd, requests[i], &got), 0);
		assert_int_equal(got.pctr_hwc[0], VALUE);
		assert_int_equal(got.pctr_hwc[3], 7);
		assert_int_equal(got.pctr_fn[3], 3);
		assert_int_equal(f->last_length, sizeof(f->last));
		assert_int_equal(f->last.magic, PCTR_WIRE_MAGIC);
		assert_int_equal(f->last.request, (uint32_t)requests[i]);
		assert_int_equal(f->last.value, 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(f->file_of_last.st_ino, st.st_ino);
		close(fd);
	}
}

/* PCTR-12: and in both systems' numbers. */
static void test_set(void **state)
{
	static const unsigned long requests[] = { PCIOCS0, PCIOCS1, PCIOCS2, PCIOCS3 };
	struct fake *f = *state;
	int fd = device(f, O_RDWR);

	for (unsigned int i = 0; i < 8; i++) {
		unsigned long request = i < 4 ? requests[i] : OPENBSD(requests[i - 4]);
		unsigned int function = 0xff430000 + i;

		assert_int_equal(ioctl(fd, request, &function), 0);
		assert_int_equal(f->last.request, request);
		assert_int_equal(f->last.value, function);
	}
	assert_int_equal(f->requests, 8);
	close(fd);
}

/* PCTR-39, PCTR-40, PCTR-41, PCTR-43, PCTR-51: pctrd's errors; the caller's buffer is unchanged. */
static void test_errors(void **state)
{
	static const int errors[] = { EPERM, EINVAL, ENODEV, EBUSY, ENXIO };
	struct fake *f = *state;
	struct pctrst got;
	unsigned int function = 1;
	int fd = device(f, O_RDWR);

	memset(&got, 0x55, sizeof(got));
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		f->error = -errors[i];
		expect_errno(ioctl(fd, PCIOCS0, &function), errors[i]);
		expect_errno(ioctl(fd, PCIOCRD, &got), errors[i]);
		expect_errno(ioctl(fd, PCIOCS4, &function), errors[i]);
		assert_int_equal(f->last.request, PCIOCS4);
	}
	assert_int_equal(got.pctr_fn[0], 0x55555555);
	assert_int_equal(got.pctr_hwc[3], 0x5555555555555555);
	close(fd);
}

static void test_bad_addresses(void **state)
{
	struct fake *f = *state;
	int fd = device(f, O_RDWR);

	expect_errno(ioctl(fd, PCIOCS0, NULL), EFAULT);
	expect_errno(ioctl(fd, PCIOCS0, (void *)8), EFAULT);
	expect_errno(ioctl(fd, PCIOCRD, NULL), EFAULT);
	expect_errno(ioctl(fd, PCIOCRD, "read only"), EFAULT);
	close(fd);
}

static void test_unsound_replies(void **state)
{
	static const size_t lengths[] = { 1, 4, 8, 63, 65, 128 };
	struct fake *f = *state;
	struct pctrst got;
	int fd = device(f, O_RDONLY);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		f->length = lengths[i];
		expect_errno(ioctl(fd, PCIOCRD, &got), EPROTO);
	}
	f->length = sizeof(struct pctr_wire_reply);
	f->error = EINVAL;
	expect_errno(ioctl(fd, PCIOCRD, &got), EPROTO);
	f->error = -4096;
	expect_errno(ioctl(fd, PCIOCRD, &got), EPROTO);
	f->hangs_up = true;
	expect_errno(ioctl(fd, PCIOCRD, &got), ENXIO);
	close(fd);
}

/* The file exists, and no server behind it. */
static void test_nobody(void **state)
{
	struct fake *f = *state;
	struct pctrst got;
	int fd = device(f, O_RDONLY);

	stop(f);
	expect_errno(ioctl(fd, PCIOCRD, &got), ENXIO);
	unlink(f->path);
	expect_errno(ioctl(fd, PCIOCRD, &got), ENOTTY);
	close(fd);
}

/* PCTR-43: other descriptors and other requests go to the kernel. */
static void test_everything_else(void **state)
{
	struct fake *f = *state;
	int ends[2], waiting = 0, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fd = device(f, O_RDWR);
	struct pctrst got;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "four", 4), 4);
	assert_int_equal(ioctl(ends[0], FIONREAD, &waiting), 0);
	assert_int_equal(waiting, 4);
	assert_int_equal(ioctl(ends[0], FIOCLEX), 0);
	assert_int_equal(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
	expect_errno(ioctl(ends[0], PCIOCRD, &got), ENOTTY);
	expect_errno(ioctl(null, PCIOCRD, &got), ENOTTY);
	expect_errno(ioctl(fd, TCGETS, &got), ENOTTY);
	expect_errno(ioctl(-1, PCIOCRD, &got), EBADF);
	close(ends[0]);
	close(ends[1]);
	expect_errno(ioctl(ends[1], PCIOCRD, &got), EBADF);
	assert_int_equal(f->requests, 0);
	close(null);
	close(fd);
}

static void noted(int number)
{
}

static void test_interrupted(void **state)
{
	struct fake *f = *state;
	struct sigaction action = { .sa_handler = noted }, before;
	struct pctrst got;
	int fd = device(f, O_RDONLY);

	sigaction(SIGUSR1, &action, &before);
	f->interrupts = true;
	for (int i = 0; i < 100; i++)
		assert_int_equal(ioctl(fd, PCIOCRD, &got), 0);
	assert_int_equal(f->requests, 100);
	sigaction(SIGUSR1, &before, NULL);
	close(fd);
}

struct user {
	pthread_t thread;
	int fd;
	unsigned int failures;
};

static void *use(void *arg)
{
	struct user *u = arg;

	for (int i = 0; i < 100; i++) {
		struct pctrst got;

		if (ioctl(u->fd, PCIOCRD, &got) < 0 || got.pctr_hwc[0] != VALUE)
			u->failures++;
	}
	return NULL;
}

static void test_threads_and_children(void **state)
{
	struct user users[4];
	pid_t child;
	int status, fd = device(*state, O_RDONLY);

	for (size_t i = 0; i < 4; i++) {
		users[i] = (struct user){ .fd = fd };
		assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
	}
	child = fork();
	if (child == 0) {
		struct user mine = { .fd = fd };

		use(&mine);
		_exit(mine.failures != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < 4; i++) {
		pthread_join(users[i].thread, NULL);
		assert_int_equal(users[i].failures, 0);
	}
	close(fd);
}

/* PCTR-18: values of 40 bits are passed unchanged. */
static void test_rdpmc(void **state)
{
	struct fake *f = *state;

	assert_int_equal(rdpmc(0), VALUE);
	assert_int_equal(rdpmc(3), 7);
	errno = 0;
	assert_int_equal(rdpmc(4), (pctrval)-1);
	assert_int_equal(errno, EINVAL);
	f->error = -EIO;
	assert_int_equal(rdpmc(0), (pctrval)-1);
	assert_int_equal(errno, EIO);
	setenv("PCTR_DEVICE", "/nowhere/pctr", 1);
	assert_int_equal(rdpmc(0), (pctrval)-1);
	assert_int_equal(errno, ENOENT);
}

/* PCTR-15, PCTR-17: it grows. */
static void test_rdtsc(void **state)
{
	pctrval before, after;

	stay_on_this_cpu();
	before = rdtsc();
	for (int i = 0; i < 1000; i++, before = after) {
		after = rdtsc();
		assert_true(after >= before);
	}
	assert_true(before > 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_read), T(test_set), T(test_errors), T(test_bad_addresses),
		T(test_unsound_replies), T(test_nobody), T(test_everything_else),
		T(test_interrupted), T(test_threads_and_children), T(test_rdpmc),
		cmocka_unit_test(test_rdtsc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
