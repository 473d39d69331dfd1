/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages for pctrd as libpctr sends them, and malformed ones. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pctr/sock.h"
#include "lingering.h"
#include "pctr_core.h"
#include "scratch.h"
#include "unit.h"

#define PATIENCE 60000			/* ms: any expected event has occurred by then */

static struct core core;
static struct sock sock;
static struct helpers *helpers;
static int stand_in = -1, epoll = -1;

static int begin(void **state)
{
	struct core_config config = { .vendor = VENDOR_AMD, .ncpu = 2, .counters = 4,
				      .width = 40 };

	assert_int_equal(helpers_new(&helpers, &(struct helpers_spec){
		.name = "sock", .jobs = sock_jobs, .njobs = SOCK_JOBS, .max = SOCK_HELPERS }), 0);
	stand_in = memfd_create("pctr", MFD_CLOEXEC);
	assert_true(stand_in >= 0);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(core_init(&core, &config, &one_source, &quiet), 0);
	assert_int_equal(sock_open(&sock, scratch_file("pctr.sock"), stand_in, epoll, helpers,
				   &core, &quiet), 0);
	return 0;
}

static int end(void **state)
{
	sock_close(&sock);
	helpers_free(helpers);
	sock_bury(&sock);
	assert_int_equal(access(scratch_file("pctr.sock"), F_OK), -1);
	core_free(&core);
	close(stand_in);
	close(epoll);
	return 0;
}

/* The stand-in, opened anew. */
static int opened(int mode)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", stand_in);
	fd = open(path, mode | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int answer(int fd, uint32_t request, uint32_t value, struct pctr_wire_reply *r)
{
	struct pctr_wire_request rq = { .magic = PCTR_WIRE_MAGIC, .request = request,
					.value = value, .cpu = 1 };
	struct received in = { .len = sizeof(rq) };
	bool writes = false;

	in.error = receive_check(&sock.file, fd, &writes);
	in.writes = writes;
	memcpy(in.message, &rq, sizeof(rq));
	assert_int_equal(sock_answer(&sock, &in, r), 0);
	return r->error;
}

/* PCTR-52, PCTR-11, PCTR-14: the descriptor's mode decides. */
static void test_sock_modes(void **state)
{
	int rd = opened(O_RDONLY), wr = opened(O_WRONLY), rw = opened(O_RDWR);
	int path = opened(O_PATH), other = memfd_create("other", MFD_CLOEXEC);
	struct pctr_wire_reply r;

	assert_int_equal(answer(rd, PCIOCS0, WORD, &r), -EPERM);
	assert_int_equal(answer(wr, PCIOCS0, WORD, &r), 0);
	assert_int_equal(answer(rw, 0x80046309, WORD, &r), 0);
	assert_int_equal(answer(wr, PCIOCRD, 0, &r), 0);
	assert_int_equal(answer(rd, 0x40386301, 0, &r), 0);
	assert_int_equal(r.state.pctr_fn[1], WORD);
	assert_int_equal(r.state.pctr_hwc[1], 101);
	assert_int_equal(answer(rd, 0x4004630c, 0, &r), -EINVAL);
	/* Its name alone, another file, none. */
	assert_int_equal(answer(path, PCIOCRD, 0, &r), -EBADF);
	assert_int_equal(r.state.pctr_fn[1], 0);
	assert_int_equal(answer(other, PCIOCS0, 0, &r), -ENOTTY);
	assert_int_equal(answer(-1, PCIOCRD, 0, &r), -EBADF);
	close(rd);
	close(wr);
	close(rw);
	close(path);
	close(other);
}

/* A turn of pctrd's loop; false: there was no event. */
static bool turn(int timeout)
{
	struct epoll_event e[4];
	int n = epoll_wait(epoll, e, 4, timeout);

	for (int i = 0; i < n; i++) {
		struct watch *w = e[i].data.ptr;

		if (w->fd >= 0)
			w->ready(w);
	}
	sock_settle(&sock);
	return n > 0;
}

/* Performs all turns that do not wait for a helper. */
static void pump(void)
{
	for (unsigned int n = 0; turn(0); n++)
		assert_true(n < 10 * SOCK_CLIENTS);
}

static int client(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(address.sun_path, scratch_file("pctr.sock"));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	pump();
	return fd;
}

/* Sends `len` bytes of a request and n times descriptor `what`; 0 or the error. */
static int send_to(int fd, size_t len, int what, unsigned int n)
{
	struct pctr_wire_request rq[2] = { { .magic = PCTR_WIRE_MAGIC, .request = PCIOCRD } };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} control = { .header = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				  .cmsg_len = CMSG_LEN(n * sizeof(int)) } };
	struct iovec iov = { .iov_base = rq, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	for (unsigned int i = 0; i < n; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &what, sizeof(int));
	if (n) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)len ? 0 : errno;
}

/* Sends `len` bytes of a request and n times the stand-in. */
static void tell(int fd, size_t len, unsigned int n)
{
	assert_int_equal(send_to(fd, len, stand_in, n), 0);
	pump();
}

/* The reply's error; 1: the connection was closed. */
static int told(int fd)
{
	struct pctr_wire_reply r;
	ssize_t n = recv(fd, &r, sizeof(r), 0);

	for (; n < 0 && errno == EAGAIN; n = recv(fd, &r, sizeof(r), 0))
		turn(-1);
	/* Closed with something unread in it, or not. */
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return 1;
	assert_int_equal(n, sizeof(r));
	return r.error;
}

/* Without the helpers': each that waits for work has two. */
static unsigned int descriptors(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n - 2 * helpers_alive(helpers);
}

/* A client that sends anything else is disconnected; others are not. */
static void test_sock_hostile(void **state)
{
	int good = client();
	unsigned int before = descriptors();
	static const size_t wrong[] = { 1, 15, 17, 24, 32 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int bad = client();

		tell(bad, wrong[i], 1);
		assert_int_equal(told(bad), 1);
		close(bad);
	}
	for (unsigned int n = 2; n <= 8; n += 3) {
		int bad = client();

		tell(bad, 16, n);
		assert_int_equal(told(bad), -EBADF);
		close(bad);
	}
	while (descriptors() != before)
		assert_true(turn(PATIENCE));
	tell(good, 16, 1);
	assert_int_equal(told(good), 0);
	tell(good, 16, 0);
	assert_int_equal(told(good), -EBADF);
	close(good);
	pump();
	assert_int_equal(sock.nclients, 0);
}

/* A client that never reads its replies loses the connection, and delays no other. */
static void test_sock_slow(void **state)
{
	int slow = client(), err = 0;

	while (sock.nclients) {
		err = send_to(slow, 16, stand_in, 1);
		/* No more requests fit; those that are there have their turns. */
		assert_true(!err || err == EAGAIN);
		turn(err ? -1 : 0);
	}
	close(slow);
}

/* A client that sends a descriptor that cannot be closed has its reply, and delays no other. */
static void test_sock_lingers(void **state)
{
	int good = client(), bad = client(), full = client(), peers[2];
	int first = lingering(&peers[0]), second = lingering(&peers[1]);

	assert_int_equal(send_to(bad, 16, first, 1), 0);
	/* It goes without having been received: the connection is closed for the message before. */
	assert_int_equal(send_to(full, 15, -1, 0), 0);
	assert_int_equal(send_to(full, 16, second, 1), 0);
	close(first);
	close(second);
	assert_int_equal(told(bad), -ENOTTY);
	assert_int_equal(told(full), 1);
	assert_int_equal(send_to(bad, 16, stand_in, 1), 0);
	for (unsigned int i = 0; i < 100; i++) {
		tell(good, 16, 1);
		assert_int_equal(told(good), 0);
	}
	/* The helper is still busy: its client's next request has not begun. */
	assert_int_equal(recv(bad, &(char){ 0 }, 1, MSG_PEEK), -1);
	assert_int_equal(errno, EAGAIN);
	/* Its time is over in the end, and the connection with it. */
	assert_int_equal(told(bad), 1);
	while (!LIST_EMPTY(&sock.leaving))
		assert_true(turn(PATIENCE));
	close(peers[0]);
	close(peers[1]);
	close(bad);
	close(full);
	close(good);
}

/* A user's hanging messages are limited; the next ones wait, and other users' do not. */
static void test_sock_share(void **state)
{
	int bad[SOCK_HELPERS_PER_USER + 1], peers[SOCK_HELPERS_PER_USER + 1], good;
	int waits;

	if (geteuid()) {
		skip();
		return;
	}
	/* Of that user, who cannot enter the folder. */
	assert_int_equal(seteuid(65534), 0);
	setfsuid(0);
	for (unsigned int i = 0; i < SOCK_HELPERS_PER_USER; i++)
		bad[i] = client();
	waits = client();
	assert_int_equal(seteuid(0), 0);
	good = client();
	for (unsigned int i = 0; i < SOCK_HELPERS_PER_USER; i++) {
		int fd = lingering(&peers[i]);

		assert_int_equal(send_to(bad[i], 16, fd, 1), 0);
		close(fd);
	}
	for (unsigned int i = 0; i < SOCK_HELPERS_PER_USER; i++)
		assert_int_equal(told(bad[i]), -ENOTTY);
	tell(waits, 16, 1);
	for (unsigned int i = 0; i < 100; i++) {
		tell(good, 16, 1);
		assert_int_equal(told(good), 0);
	}
	assert_int_equal(recv(waits, &(char){ 0 }, 1, MSG_PEEK), -1);
	/* One that hangs up gives its helper back. */
	close(bad[0]);
	assert_int_equal(told(waits), 0);
	for (unsigned int i = 0; i < SOCK_HELPERS_PER_USER; i++) {
		close(peers[i]);
		if (i)
			close(bad[i]);
	}
	close(waits);
	close(good);
}

/* There is room for a number of clients; a further one is refused, and may retry. */
static void test_sock_full(void **state)
{
	int fds[SOCK_CLIENTS], late;

	struct rlimit r;

	/* Both ends are here; others than root get no further than SOCK_CLIENTS_PER_USER. */
	if (geteuid() || getrlimit(RLIMIT_NOFILE, &r) || r.rlim_max < 3 * SOCK_CLIENTS) {
		skip();
		return;
	}
	r.rlim_cur = r.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
	for (unsigned int i = 0; i < SOCK_CLIENTS; i++)
		fds[i] = client();
	late = client();
	assert_int_equal(sock.nclients, SOCK_CLIENTS);
	assert_int_equal(told(late), 1);
	close(late);
	for (unsigned int i = 0; i < SOCK_CLIENTS; i++)
		close(fds[i]);
	pump();
	late = client();
	tell(late, 16, 1);
	assert_int_equal(told(late), 0);
	close(late);
	pump();
}

/*
 * Without free descriptors no client is accepted, without a busy loop; when one ends, the next is.
 */
static void test_sock_no_descriptors(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int stays = client(), goes = client();
	int late = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct rlimit old, r;

	strcpy(address.sun_path, scratch_file("pctr.sock"));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	r = (struct rlimit){ .rlim_cur = (rlim_t)late + 1, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &r), 0);
	assert_int_equal(connect(late, (struct sockaddr *)&address, sizeof(address)), 0);
	pump();
	assert_int_equal(sock.nclients, 2);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	tell(late, 16, 1);
	close(goes);
	pump();
	assert_int_equal(sock.nclients, 2);
	assert_int_equal(told(late), 0);
	close(late);
	close(stays);
	pump();
	assert_int_equal(sock.nclients, 0);
}

/* A socket that answers is another pctrd's; one that does not is unused. */
static void test_sock_stale(void **state)
{
	struct sock second;
	const char *path = scratch_file("pctr.sock");

	assert_int_equal(sock_open(&second, path, stand_in, epoll, helpers, &core, &quiet),
			 -EADDRINUSE);
	sock_close(&second);
	assert_int_equal(access(path, F_OK), 0);
	/* As a killed pctrd leaves it. */
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_DEL, sock.helped.fd, NULL), 0);
	close(sock.watch.fd);
	sock.watch.fd = -1;
	sock.ino = 0;
	assert_int_equal(sock_open(&second, path, stand_in, epoll, helpers, &core, &quiet), 0);
	sock_close(&second);
	assert_int_equal(access(path, F_OK), -1);
	scratch_write("pctr.sock", "text", 4);
	assert_int_equal(sock_open(&second, path, stand_in, epoll, helpers, &core, &quiet),
			 -EEXIST);
	sock_close(&second);
	assert_int_equal(unlink(path), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sock_modes), TEST(test_sock_hostile), TEST(test_sock_slow),
		TEST(test_sock_lingers), TEST(test_sock_share), TEST(test_sock_full),
		TEST(test_sock_no_descriptors), TEST(test_sock_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
