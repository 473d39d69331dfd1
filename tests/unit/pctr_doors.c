/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two ways to pctrd's core: frames as the kernel sends them (CUSE), messages as libpctr does,
 * and both as nobody should; and what the machine says of CPUs.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../pctr/cuse.h"
#include "../../pctr/machine.h"
#include "../../pctr/request.h"
#include "../../pctr/sock.h"
#include "scratch.h"
#include "unit.h"

#define WORD (PCTR_EN | PCTR_U | 0x76)

/* --- a core whose counters say which CPU they are of ---------------------------------------- */

static int one_connect(void *arg)
{
	return 1;
}

static int one_allocate(void *arg, const char *spec, unsigned int cpu, uint32_t *id)
{
	*id = cpu;
	return 0;
}

static int one_start(void *arg, uint32_t id)
{
	return 0;
}

static int one_read(void *arg, uint32_t id, uint64_t *value)
{
	*value = 100 + id;
	return 0;
}

static void one_release(void *arg, uint32_t id)
{
}

static int one_pmu(void *arg, unsigned int cpu, char *name, size_t size)
{
	snprintf(name, size, "cpu");
	return 0;
}

static uint64_t one_tsc(void *arg)
{
	return 77;
}

static const struct source one = {
	.connect = one_connect, .allocate = one_allocate, .start = one_start,
	.read = one_read, .release = one_release, .pmu = one_pmu, .tsc = one_tsc,
};

static const struct log quiet = { .background = true };
static struct core core;
static struct cuse cuse;
static struct sock sock;
static int stand_in = -1, epoll = -1;

static int cpu_of_test(pid_t tid)
{
	return tid == 1 ? 1 : tid == 2 ? 0 : -ESRCH;
}

static int begin(void **state)
{
	struct core_config config = { .vendor = VENDOR_AMD, .ncpu = 2, .counters = 4,
				      .width = 40 };

	cuse = (struct cuse){ .watch.fd = -1, .core = &core, .log = &quiet,
			      .cpu_of = cpu_of_test, .name = "pctr" };
	stand_in = memfd_create("pctr", MFD_CLOEXEC);
	assert_true(stand_in >= 0);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(core_init(&core, &config, &one, &quiet), 0);
	assert_int_equal(sock_open(&sock, scratch_file("pctr.sock"), stand_in, epoll, &core,
				   &quiet), 0);
	return 0;
}

static int end(void **state)
{
	sock_close(&sock);
	assert_int_equal(access(scratch_file("pctr.sock"), F_OK), -1);
	core_free(&core);
	close(stand_in);
	close(epoll);
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

/* PCTR-11, PCTR-14: a handle is whether the file was opened for writing. */
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

/* PCTR-04, PCTR-06, PCTR-12: first the memory is asked for, then the request is done. */
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

/* Any bytes at all, each frame in memory of its own length for the sanitizers' eyes. */
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

/* --- the socket ------------------------------------------------------------------------------- */

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

	assert_int_equal(sock_answer(&sock, &rq, sizeof(rq), fd, r), 0);
	return r->error;
}

/* PCTR-52, PCTR-11, PCTR-14: what the descriptor may do decides. */
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

/* All that is there to be done, which ends. */
static void pump(void)
{
	struct epoll_event e;

	for (unsigned int n = 0; epoll_wait(epoll, &e, 1, 0) == 1; n++) {
		struct watch *w = e.data.ptr;

		assert_true(n < 10 * SOCK_CLIENTS);
		w->ready(w);
	}
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

/* Sends `len` bytes of a request and n times the descriptor. */
static void tell(int fd, size_t len, unsigned int n)
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
		memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &stand_in, sizeof(int));
	if (n) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &msg, 0), len);
	pump();
}

/* The reply's error; 1: the connection was closed. */
static int told(int fd)
{
	struct pctr_wire_reply r;
	ssize_t n = recv(fd, &r, sizeof(r), 0);

	/* Closed with something unread in it, or not. */
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return 1;
	assert_int_equal(n, sizeof(r));
	return r.error;
}

static unsigned int descriptors(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* One that sends something else is rid of, with whatever it sent; others are not. */
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
	pump();
	assert_int_equal(descriptors(), before);
	tell(good, 16, 1);
	assert_int_equal(told(good), 0);
	tell(good, 16, 0);
	assert_int_equal(told(good), -EBADF);
	close(good);
	pump();
	assert_int_equal(sock.nclients, 0);
}

/* One that never reads its replies loses the connection, and nobody waits for it. */
static void test_sock_slow(void **state)
{
	int slow = client(), sent = 0;

	while (sock.nclients && sent++ < 100000)
		tell(slow, 16, 1);
	assert_int_equal(sock.nclients, 0);
	close(slow);
}

/* There is room for so many; who comes later is turned away, and may come again. */
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

/* Out of descriptors nobody is let in, without trying for ever; when one goes, the next is. */
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

/* A socket that answers is another pctrd's; one that does not is in nobody's use. */
static void test_sock_stale(void **state)
{
	struct sock second;
	const char *path = scratch_file("pctr.sock");

	assert_int_equal(sock_open(&second, path, stand_in, epoll, &core, &quiet), -EADDRINUSE);
	sock_close(&second);
	assert_int_equal(access(path, F_OK), 0);
	/* As one that was killed leaves it. */
	close(sock.watch.fd);
	sock.watch.fd = -1;
	sock.ino = 0;
	assert_int_equal(sock_open(&second, path, stand_in, epoll, &core, &quiet), 0);
	sock_close(&second);
	assert_int_equal(access(path, F_OK), -1);
	scratch_write("pctr.sock", "text", 4);
	assert_int_equal(sock_open(&second, path, stand_in, epoll, &core, &quiet), -EEXIST);
	sock_close(&second);
	assert_int_equal(unlink(path), 0);
}

/* --- the machine ------------------------------------------------------------------------------ */

/* PCTR-09: the kernel says where a thread is, whatever its name. */
static void test_cpu_of(void **state)
{
	assert_int_equal(machine_list_has("0-3,7", 3), 1);
	assert_int_equal(machine_list_has("0-3,7", 7), 1);
	assert_int_equal(machine_list_has("0-3,7", 5), 0);
	assert_int_equal(machine_list_has("", 0), 0);
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
		TEST(test_cuse_nonsense), TEST(test_cuse_noise), TEST(test_sock_modes),
		TEST(test_sock_hostile), TEST(test_sock_slow), TEST(test_sock_full),
		TEST(test_sock_no_descriptors),
		TEST(test_sock_stale), cmocka_unit_test(test_cpu_of), cmocka_unit_test(test_tsc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
