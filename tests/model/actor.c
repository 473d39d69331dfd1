/* SPDX-License-Identifier: BSD-2-Clause */
/* An actor's execution of its orders. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "actor.h"

/* --- the daemon's side -------------------------------------------------------------------- */

static int send_frame(int link, const struct actor_cmd *cmd, uint32_t seq, const int fds[2])
{
	struct wire_hdr h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = cmd->op,
			      .seq = seq, .len = cmd->len };
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} u;
	size_t size = ((fds[0] >= 0) + (fds[1] >= 0)) * sizeof(int);
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)cmd->arg, cmd->len } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	if (size) {
		memset(&u, 0, sizeof(u));
		m.msg_control = &u;
		m.msg_controllen = CMSG_SPACE(size);
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(&u.h), fds, size);
	}
	return sendmsg(link, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Received descriptors are not used here. */
static void close_received(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	if (!c || c->cmsg_type != SCM_RIGHTS)
		return;
	for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		close(fd);
	}
}

static void receive(int link, const struct actor_cmd *cmd, uint32_t seq, struct actor_rep *r)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(WIRE_MAX_FDS * sizeof(int))];
	} u;
	struct wire_hdr h;
	struct iovec iov[2] = { { &h, sizeof(h) }, { r->data, sizeof(r->data) } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2, .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	ssize_t n = recvmsg(link, &m, MSG_CMSG_CLOEXEC);

	r->len = r->reason_len = 0;
	r->error = M_CLOSED;
	if (n <= 0)
		return;
	close_received(&m);
	r->error = EBADMSG;
	if ((size_t)n < sizeof(h) || h.magic != WIRE_MAGIC || h.op != cmd->op || h.seq != seq ||
	    (size_t)n != sizeof(h) + h.len + h.reason_len)
		return;
	r->error = -h.error;
	r->len = h.len;
	r->reason_len = h.reason_len;
}

/* Sends the proof that the actor may debug the process, if it may. */
static int open_proof(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void actor_send(int link, const struct actor_cmd *cmd, struct actor_rep *r)
{
	static uint32_t seq;
	int fd = cmd->pidfd > 0 ? (int)syscall(SYS_pidfd_open, cmd->pidfd, 0) : -1;
	int proof = fd >= 0 && cmd->op == WIRE_OP_PMCATTACH ? open_proof(cmd->pidfd) : -1;

	seq++;
	r->error = M_CLOSED;
	r->len = r->reason_len = 0;
	if (!send_frame(link, cmd, seq, (const int[2]){ fd, proof }))
		receive(link, cmd, seq, r);
	if (proof >= 0)
		close(proof);
	if (fd >= 0)
		close(fd);
}

static int hello(int link)
{
	static struct actor_rep r;
	struct actor_cmd cmd = { .op = WIRE_OP_HELLO, .len = sizeof(struct wire_hello_req) };
	struct wire_hello_req h = { .pid = (uint32_t)getpid(), .program = "model" };

	memcpy(cmd.arg, &h, sizeof(h));
	actor_send(link, &cmd, &r);
	return r.error;
}

int actor_connect(int *link)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	const char *path = getenv("PMCBPF_SOCKET");

	if (!path || strlen(path) >= sizeof(sun.sun_path))
		return EINVAL;
	strcpy(sun.sun_path, path);
	*link = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (*link < 0)
		return errno;
	if (connect(*link, (const struct sockaddr *)&sun, sizeof(sun)))
		return errno;
	return hello(*link);
}

/* --- its own process ---------------------------------------------------------------------- */

struct self {
	unsigned int number;
	int link[M_LINKS];
};

static void drop(struct self *a, unsigned int link)
{
	if (a->link[link] >= 0)
		close(a->link[link]);
	a->link[link] = -1;
}

/* The child keeps its parent's first connection, and obeys a socket of its own. */
static int do_fork(struct self *a, unsigned int number)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	drop(a, 1);
	drop(a, M_INHERITED);
	a->link[M_INHERITED] = a->link[0];
	a->link[0] = -1;
	a->number = number;
	return 0;
}

static void do_exec(const struct self *a, bool keep)
{
	char text[1 + M_LINKS][12];
	char *argv[] = { "model", "actor", text[0], text[1], text[2], text[3], NULL };

	snprintf(text[0], sizeof(text[0]), "%u", a->number);
	for (unsigned int i = 0; i < M_LINKS; i++) {
		if (a->link[i] >= 0 && !keep)
			fcntl(a->link[i], F_SETFD, FD_CLOEXEC);
		snprintf(text[1 + i], sizeof(text[0]), "%d", keep ? a->link[i] : -1);
	}
	execv("/proc/self/exe", argv);
}

static void *idle(void *arg)
{
	int *tid = arg;

	__atomic_store_n(tid, gettid(), __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

static int do_thread(void)
{
	static int tid;
	pthread_t t;

	tid = 0;
	if (pthread_create(&t, NULL, idle, &tid))
		return -1;
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		usleep(100);
	return tid;
}

static int do_work(size_t pages)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	volatile uint8_t *at = mmap(NULL, pages * size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return errno;
	madvise((void *)at, pages * size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		at[i * size] = 1;
	munmap((void *)at, pages * size);
	return 0;
}

static void obey(struct self *a, const struct actor_cmd *cmd, struct actor_rep *r)
{
	r->error = r->number = 0;
	r->len = r->reason_len = 0;
	switch (cmd->what) {
	case DO_CONNECT:
		r->error = actor_connect(&a->link[cmd->link]);
		break;
	case DO_CLOSE:
		drop(a, cmd->link);
		break;
	case DO_SEND:
		actor_send(a->link[cmd->link], cmd, r);
		break;
	case DO_FORK:
		r->number = do_fork(a, (unsigned int)cmd->number);
		r->number = r->number ?: getpid();
		break;
	case DO_EXEC:
		do_exec(a, cmd->keep);
		r->error = errno;
		break;
	case DO_THREAD:
		r->number = do_thread();
		break;
	case DO_WORK:
		r->error = do_work((size_t)cmd->number);
		break;
	}
}

void actor_live(unsigned int number, const int link[M_LINKS])
{
	static struct actor_rep r;
	struct self a = { .number = number };
	struct actor_cmd cmd;

	memcpy(a.link, link, sizeof(a.link));
	for (;;) {
		if (recv(ACTOR_FD + (int)a.number, &cmd, sizeof(cmd), 0) != sizeof(cmd))
			_exit(0);	/* the driver is gone */
		obey(&a, &cmd, &r);
		send(ACTOR_FD + (int)a.number, &r, ACTOR_REP_HEAD + r.len + r.reason_len,
		     MSG_NOSIGNAL);
	}
}

/* Reports first that it has started. */
void actor_again(char **argv)
{
	static struct actor_rep r;
	int link[M_LINKS], number = atoi(argv[0]);

	for (unsigned int i = 0; i < M_LINKS; i++)
		link[i] = atoi(argv[1 + i]);
	r.number = getpid();
	send(ACTOR_FD + number, &r, ACTOR_REP_HEAD, MSG_NOSIGNAL);
	actor_live((unsigned int)number, link);
}
