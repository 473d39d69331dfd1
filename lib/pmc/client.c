/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection to pmcbpfd. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"
#include "lib/base/array.h"
#include "spawn.h"

/* After so many microseconds a waiting call lets signals end the program. */
#define CLIENT_PATIENCE 100000

void client_exchange_close(struct exchange *x)
{
	while (x->nfds > 0)
		close(x->fds[--x->nfds]);
}

struct read_table *client_table_change(struct lib *l)
{
	pthread_mutex_lock(&l->table);
	return read_share_change(&l->reads);
}

void client_table_publish(struct lib *l, struct read_table *t)
{
	if (t)
		read_share_publish(&l->reads, t);
	pthread_mutex_unlock(&l->table);
}

void client_table_reclaim(struct lib *l)
{
	sigdefer_begin();
	pthread_mutex_lock(&l->table);
	read_share_reclaim(&l->reads);
	pthread_mutex_unlock(&l->table);
	sigdefer_end();
}

/* Without memory the PMC is not noted: pmc_width() and pmc_capabilities() then refuse it. */
void client_unplaced_add(struct lib *l, uint32_t pmcid)
{
	if (!array_reserve(l->unplaced, l->unplaced_room, l->nunplaced + 1))
		l->unplaced[l->nunplaced++] = pmcid;
}

void client_unplaced_remove(struct lib *l, uint32_t pmcid)
{
	for (size_t i = 0; i < l->nunplaced; i++)
		if (l->unplaced[i] == pmcid)
			l->unplaced[i--] = l->unplaced[--l->nunplaced];
}

bool client_has_unplaced(struct lib *l, uint32_t pmcid)
{
	bool found = false;

	sigdefer_begin();
	pthread_mutex_lock(&l->table);
	for (size_t i = 0; i < l->nunplaced && !found; i++)
		found = l->unplaced[i] == pmcid;
	pthread_mutex_unlock(&l->table);
	sigdefer_end();
	return found;
}

/* Caller holds io. */
static void client_drop(struct lib *l, enum lib_state state)
{
	struct read_table *t;

	ownfd_close(&l->socket);
	ownfd_close(&l->spare);
	l->state = state;
	t = client_table_change(l);
	if (t)
		*t = (struct read_table){ .counter = t->counter };
	l->nunplaced = 0;
	client_table_publish(l, t);
}

static int client_gone(struct lib *l, struct reason *why)
{
	client_drop(l, LIB_GONE);
	return deny(why, -ENOSYS, "pmcbpfd has gone away, and every PMC with it; "
		    "call pmc_init() again when it runs");
}

/* The connection ended with the descriptor; the daemon notices that by itself. */
static int client_closed(struct lib *l, struct reason *why)
{
	client_drop(l, LIB_CLOSED);
	return deny(why, -EBADF, "this program has closed the library's connection to pmcbpfd "
		    "(closefrom(3) and the like do), and every PMC is gone with it; call "
		    "pmc_init() again");
}

static int client_broken(struct lib *l, struct reason *why, const char *what)
{
	client_drop(l, LIB_GONE);
	return deny(why, -EPROTO, "pmcbpfd sent %s; library and daemon do not fit together",
		    what);
}

/* --- one message each way ----------------------------------------------------------------- */

/* After a failed system call on the socket: should it be repeated? */
static bool client_again(void)
{
	if (errno == EAGAIN)
		sigdefer_wait();
	return errno == EAGAIN || errno == EINTR;
}

/* Waits on the socket time out, for client_again(). */
static void client_set_patience(int fd)
{
	const struct timeval patience = { .tv_usec = CLIENT_PATIENCE };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

static int client_send(struct lib *l, const struct exchange *x, struct reason *why)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control;
	const int fds[2] = { x->send_fd, x->proof ? *x->proof : -1 };
	size_t size = (x->proof ? 2 : 1) * sizeof(int);
	struct wire_hdr hdr = {
		.magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = x->op,
		.seq = ++l->seq, .len = x->request_len,
	};
	struct iovec iov[2] = {
		{ .iov_base = &hdr, .iov_len = sizeof(hdr) },
		{ .iov_base = (void *)x->request, .iov_len = x->request_len },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	if (x->send_fd >= 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(size);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(c), fds, size);
	}
	do
		n = sendmsg(l->socket.fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && client_again());
	if (n < 0 && (errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS))
		return deny(why, -ENOMEM, "no memory to send a request to pmcbpfd");
	/* The daemon may have refused the connection by now: client_receive() finds its reason. */
	if (n < 0 && x->op == WIRE_OP_HELLO && (errno == EPIPE || errno == ECONNRESET))
		return 0;
	return n < 0 ? client_gone(l, why) : 0;
}

/* Takes every descriptor out of the control data, so that none is lost whatever follows. */
static void client_take_fds(struct msghdr *msg, struct exchange *x)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t i, n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (x->nfds < WIRE_MAX_FDS)
				x->fds[x->nfds++] = fd;
			else
				close(fd);
		}
	}
}

/* The daemon ends the connection: it takes none, or cannot receive the request. */
static bool client_refused(const struct wire_hdr *h)
{
	return h->op == WIRE_OP_HELLO && h->seq == WIRE_SEQ_REFUSED && h->error;
}

/* Checks one reply in l->buffer; 0 or the daemon's -errno or -EPROTO. */
static int client_check(struct lib *l, struct exchange *x, size_t n, struct reason *why)
{
	struct wire_hdr hdr;
	size_t reason;

	if (n < sizeof(hdr))
		return client_broken(l, why, "a short reply");
	memcpy(&hdr, l->buffer, sizeof(hdr));
	if (hdr.magic != WIRE_MAGIC)
		return client_broken(l, why, "a reply of another kind");
	if (hdr.version != WIRE_VERSION)
		return client_broken(l, why, "a reply of another wire version");
	if ((hdr.op != x->op || hdr.seq != l->seq) && !client_refused(&hdr))
		return client_broken(l, why, "a reply to another request");
	n -= sizeof(hdr);
	if (hdr.len > n || hdr.reason_len != n - hdr.len || hdr.reason_len > WIRE_MAX_REASON ||
	    hdr.error > 0 || hdr.error < -4095)
		return client_broken(l, why, "a reply of a wrong length");
	if (hdr.error) {
		reason = hdr.reason_len;
		if (reason == 0)
			return hdr.error;
		return deny(why, hdr.error, "%.*s", (int)reason,
			    (const char *)l->buffer + sizeof(hdr) + hdr.len);
	}
	if (hdr.len < x->payload_min || hdr.len > x->payload_max)
		return client_broken(l, why, "a reply of a wrong length");
	if (hdr.len)
		memcpy(x->payload, l->buffer + sizeof(hdr), hdr.len);
	x->payload_len = hdr.len;
	return 0;
}

static int client_receive(struct lib *l, struct exchange *x, struct reason *why)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(WIRE_MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = l->buffer, .iov_len = WIRE_MAX_REPLY };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.space, .msg_controllen = sizeof(control.space),
	};
	ssize_t n;
	int err;

	/* An unread HELLO resets the connection; the daemon's refusal is read next. */
	do
		n = recvmsg(l->socket.fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && (client_again() || (errno == ECONNRESET && x->op == WIRE_OP_HELLO)));
	if (n <= 0)
		return client_gone(l, why);
	client_take_fds(&msg, x);
	if (msg.msg_flags & MSG_TRUNC)
		err = client_broken(l, why, "a reply that is too long");
	else if (msg.msg_flags & MSG_CTRUNC && !x->fds_optional)
		err = deny(why, -EMFILE, "this process has too many open files to take a reply's "
			   "descriptors");
	else
		err = client_check(l, x, n, why);
	if (err || msg.msg_flags & MSG_CTRUNC)
		client_exchange_close(x);
	return err;
}

/* Caller holds io and has seen that the connection is up. */
static int client_talk(struct lib *l, struct exchange *x, struct reason *why)
{
	int err;

	x->nfds = 0;
	x->payload_len = 0;
	if (!ownfd_valid(&l->socket))
		return client_closed(l, why);
	err = client_send(l, x, why);
	return err ? err : client_receive(l, x, why);
}

/* --- making a connection -------------------------------------------------------------------- */

static int client_no_daemon(const char *path, struct reason *why)
{
	return deny(why, -ENOENT,
		    "no pmcbpfd answers at %s: start it as root, with \"pmcbpfd\" or "
		    "\"systemctl start pmcbpfd\"",
		    path);
}

static int client_no_descriptor(int err, struct reason *why)
{
	if (err != -EMFILE && err != -ENFILE && err != -EINVAL)
		return err;
	return deny(why, err == -ENFILE ? err : -EMFILE,
		    "this process has too many open files for a connection to pmcbpfd");
}

static int client_connect(struct lib *l, int *log, struct reason *why)
{
	const char *chosen = secure_getenv("PMCBPF_SOCKET");
	const char *path = chosen && *chosen ? chosen : WIRE_SOCKET;
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct stat st;
	int fd, err;

	if (strlen(path) >= sizeof(sun.sun_path))
		return deny(why, -ENAMETOOLONG, "the socket's name %s is too long", path);
	strcpy(sun.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		fd = ownfd_raise(fd);
	else
		fd = -errno;
	if (fd < 0)
		return client_no_descriptor(fd, why);
	client_set_patience(fd);
	do
		err = connect(fd, (struct sockaddr *)&sun, sizeof(sun));
	while (err && client_again());
	if (!err) {
		l->socket = ownfd_identify(fd);
		return 0;
	}
	err = -errno;
	close(fd);
	if (!stat(path, &st) && !S_ISSOCK(st.st_mode))
		return deny(why, -ENOENT, "%s is %s, not the socket of pmcbpfd: %s", path,
			    S_ISDIR(st.st_mode) ? "a folder" : "a file",
			    path == chosen ? "set PMCBPF_SOCKET to its socket, or unset it" :
					     "remove it, and start pmcbpfd as root");
	if (err == -EACCES || err == -EPERM)
		return deny(why, err, "you may not connect to pmcbpfd at %s%s", path,
			    !stat(path, &st) && !(st.st_mode & S_IWOTH) ?
			    ": it serves members of a group (socket.group in pmcbpf.conf)" : "");
	if (err != -ENOENT && err != -ECONNREFUSED)
		return deny(why, err, "no connection to %s: %s", path, strerror(-err));
	/* A socket that was named has to be there; only the usual place has a substitute. */
	if (path == chosen || geteuid() != 0)
		return client_no_daemon(path, why);
	err = spawn_daemon(&fd, log, why);
	if (err)
		return err;
	client_set_patience(fd);
	l->socket = ownfd_identify(fd);
	return 0;
}

static int client_hello(struct lib *l, struct reason *why)
{
	struct wire_hello_req req = { .pid = getpid() };
	struct wire_hello_rep rep = { .wire_version = 0 };
	struct exchange x = {
		.op = WIRE_OP_HELLO, .request = &req, .request_len = sizeof(req), .send_fd = -1,
		.payload = &rep, .payload_min = sizeof(rep), .payload_max = sizeof(rep),
	};
	size_t n = strnlen(program_invocation_short_name, sizeof(req.program) - 1);
	int err;

	memcpy(req.program, program_invocation_short_name, n);
	err = client_talk(l, &x, why);
	if (err)
		return err;
	if (rep.wire_version != WIRE_VERSION)
		err = deny(why, -EPROTO, "pmcbpfd %.31s speaks wire version %u, this library %u",
			   rep.daemon_version, rep.wire_version, WIRE_VERSION);
	else if (x.nfds != 1)
		err = client_broken(l, why, "no page that tells whether it lives");
	if (!err) {
		struct read_table *t = client_table_change(l);

		err = t ? read_table_alive(t, x.fds[0]) : -ENOMEM;
		client_table_publish(l, t);
		if (err)
			deny(why, err, "pmcbpfd's page cannot be mapped: %s", strerror(-err));
	}
	client_exchange_close(&x);
	return err;
}

static int client_version(struct lib *l, struct reason *why)
{
	struct wire_version version = { .version = PMC_VERSION };
	struct exchange x = {
		.op = WIRE_OP_GETMODULEVERSION, .request = &version,
		.request_len = sizeof(version), .send_fd = -1, .payload = &version,
		.payload_min = sizeof(version), .payload_max = sizeof(version),
	};
	int err = client_talk(l, &x, why);

	if (!err && version.version >> 24 != PMC_VERSION_MAJOR)
		err = deny(why, -EPROGMISMATCH,
			   "pmcbpfd implements interface version %u, this library %u",
			   version.version >> 24, PMC_VERSION_MAJOR);
	return err;
}

/* Reserves a descriptor for the connection of a child: making one briefly takes two. */
static void client_spare(struct lib *l)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	fd = fd < 0 ? fd : ownfd_raise(fd);
	if (fd >= 0)
		l->spare = ownfd_identify(fd);
}

/* Caller holds io. */
static int client_up(struct lib *l, struct reason *why)
{
	int log = -1, err;

	if (!l->buffer)
		l->buffer = malloc(WIRE_MAX_REPLY);
	if (!l->buffer)
		return -ENOMEM;
	l->pid = getpid();
	err = client_connect(l, &log, why);
	if (!err)
		err = client_hello(l, why);
	if (err == -ENOSYS && log >= 0) {
		char line[200];

		spawn_last_line(log, line, sizeof(line));
		deny(why, err, "the pmcbpfd started for this program ended: %s",
		     *line ? line : "it gave no reason");
	}
	if (log >= 0)
		close(log);
	if (!err)
		err = client_version(l, why);
	if (err)
		client_drop(l, l->state == LIB_FORKED ? LIB_FORKED : LIB_NEW);
	else
		l->state = LIB_UP;
	if (!err)
		client_spare(l);
	l->emulated = sigdefer_emulated();
	l->signals = ~0u;
	return err;
}

/* After a raw clone(2) the child still has the parent's connection.  The caller holds io. */
static void client_notice_fork(struct lib *l)
{
	if (l->socket.kind != OWNFD_NONE && l->pid != getpid())
		client_drop(l, LIB_FORKED);
}

int client_open(struct lib *l, struct reason *why)
{
	int err = 0;

	pthread_mutex_lock(&l->io);
	client_notice_fork(l);
	/* Only client_hello() changes the table's `alive`, under the same lock. */
	if (l->state == LIB_UP &&
	    (!ownfd_valid(&l->socket) || !read_alive(&l->reads.current->table)))
		client_drop(l, LIB_GONE);
	if (l->state != LIB_UP) {
		err = client_up(l, why);
		l->connections += !err;
	}
	pthread_mutex_unlock(&l->io);
	return err;
}

/*
 * The daemon sends SIGIO and SIGBUS to programs that take them.  Under an emulator it cannot see
 * which signals these are, so the library reports them.  A daemon of an earlier release does not
 * know the request; this is not an error.
 */
static int client_report_signals(struct lib *l, struct reason *why)
{
	struct wire_signals_req req = { .taken = 0 };
	struct exchange x = {
		.op = WIRE_OP_SIGNALS, .request = &req, .request_len = sizeof(req), .send_fd = -1,
	};
	int err;

	if (sigdefer_takes(SIGIO))
		req.taken |= 1u << (SIGIO - 1);
	if (sigdefer_takes(SIGBUS))
		req.taken |= 1u << (SIGBUS - 1);
	if (req.taken == l->signals)
		return 0;
	err = client_talk(l, &x, why);
	client_exchange_close(&x);
	l->signals = req.taken;
	if (err && l->state != LIB_UP)
		return err;
	why->text[0] = '\0';
	return 0;
}

int client_exchange(struct lib *l, struct exchange *x, struct reason *why)
{
	int err = 0;

	x->nfds = 0;
	/* A reason left by earlier attempts is not the daemon's. */
	why->text[0] = '\0';
	pthread_mutex_lock(&l->io);
	client_notice_fork(l);
	if (l->state == LIB_NEW)
		err = deny(why, -ENOSYS, "pmc_init() has not been called, or has failed");
	else if (l->state == LIB_GONE)
		err = client_gone(l, why);
	else if (l->state == LIB_CLOSED)
		err = client_closed(l, why);
	else if (l->state == LIB_FORKED)
		err = client_up(l, why);
	if (!err && l->emulated)
		err = client_report_signals(l, why);
	if (!err)
		err = client_talk(l, x, why);
	pthread_mutex_unlock(&l->io);
	return err;
}

/* --- fork() ---------------------------------------------------------------------------------- */

/* No handler may run while these locks are held, so signals are deferred during the fork. */
static void client_fork_prepare(void)
{
	sigdefer_begin();
	pthread_mutex_lock(&pmc_lib.init);
	pthread_mutex_lock(&pmc_lib.handles);
	pthread_mutex_lock(&pmc_lib.io);
	pthread_mutex_lock(&pmc_lib.table);
	pthread_mutex_lock(&pmc_lib.groups);
}

static void client_fork_parent(void)
{
	pthread_mutex_unlock(&pmc_lib.groups);
	pthread_mutex_unlock(&pmc_lib.table);
	pthread_mutex_unlock(&pmc_lib.io);
	pthread_mutex_unlock(&pmc_lib.handles);
	pthread_mutex_unlock(&pmc_lib.init);
	sigdefer_end();
}

/*
 * The child owns no PMCs: it forgets the parent's and will be a client of its own.  It has none of
 * the threads that were reading.
 */
static void client_fork_child(void)
{
	pthread_mutex_init(&pmc_lib.init, NULL);
	pthread_mutex_init(&pmc_lib.handles, NULL);
	pthread_mutex_init(&pmc_lib.io, NULL);
	pthread_mutex_init(&pmc_lib.table, NULL);
	pthread_mutex_init(&pmc_lib.groups, NULL);
	read_forget_thread();
	if (pmc_lib.state == LIB_UP) {
		read_share_reset(&pmc_lib.reads);
		client_drop(&pmc_lib, LIB_FORKED);
	}
	sigdefer_end();
}

__attribute__((constructor)) static void client_register(void)
{
	pthread_atfork(client_fork_prepare, client_fork_parent, client_fork_child);
}

int client_request(struct lib *l, uint16_t op, const void *request, size_t len, int fd,
		   struct reason *why)
{
	struct exchange x = {
		.op = op, .request = request, .request_len = len, .send_fd = fd,
	};
	int err = client_exchange(l, &x, why);

	client_exchange_close(&x);
	return err;
}

int client_query(struct lib *l, uint16_t op, const void *request, size_t len, void *reply,
		 size_t size, struct reason *why)
{
	struct exchange x = {
		.op = op, .request = request, .request_len = len, .send_fd = -1,
		.payload = reply, .payload_min = size, .payload_max = size,
	};
	int err = client_exchange(l, &x, why);

	client_exchange_close(&x);
	return err;
}
