/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client that speaks only the wire format, well-behaved or hostile.  It performs the words of its
 * command line in order on one connection, and each prints one line, "word error details --
 * reason".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/pmc.h>
#include <sys/pmclog.h>

#include "wireclient.h"

struct client c = { .sock = -1, .caps = PMC_CAP_READ };

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	exit(1);
}

/* --- messages ------------------------------------------------------------------------------ */

void make_connection(void)
{
	const char *path = getenv("PMCBPF_SOCKET");
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	if (!path)
		die("set PMCBPF_SOCKET");
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	c.sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (connect(c.sock, (struct sockaddr *)&sun, sizeof(sun)))
		die("connect: %s", strerror(errno));
}

int send_bytes(const void *data, size_t len, int flags)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(c.send_fds))];
	} u;
	struct iovec iov = { (void *)data, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (c.nsend) {
		memset(&u, 0, sizeof(u));
		m.msg_control = &u;
		m.msg_controllen = CMSG_SPACE(c.nsend * sizeof(int));
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(c.nsend * sizeof(int));
		memcpy(CMSG_DATA(&u.h), c.send_fds, c.nsend * sizeof(int));
		c.nsend = 0;
	}
	return sendmsg(c.sock, &m, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The reply's error, or 1 when the daemon has closed the connection. */
int receive(void)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(c.fds))];
	} u;
	struct iovec iov = { c.reply.bytes, sizeof(c.reply.bytes) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	struct cmsghdr *cm;
	ssize_t n;

	/* Data sent before the daemon closed the connection is read after the error. */
	do
		n = recvmsg(c.sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == ECONNRESET);
	cm = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	memset(&c.h, 0, sizeof(c.h));
	c.nfds = 0;
	if (n <= 0)
		return 1;
	memcpy(&c.h, c.reply.bytes, sizeof(c.h));
	if ((size_t)n < sizeof(c.h) || c.h.magic != WIRE_MAGIC ||
	    (size_t)n != sizeof(c.h) + c.h.len + c.h.reason_len)
		die("a malformed reply of %zd bytes", n);
	if (cm && cm->cmsg_type == SCM_RIGHTS) {
		c.nfds = (unsigned int)((cm->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(c.fds, CMSG_DATA(cm), c.nfds * sizeof(int));
	}
	return c.h.error;
}

void *payload(void)
{
	return c.reply.bytes + sizeof(c.h);
}

/* Completes the line of a word: "-- reason". */
void finish(int err)
{
	if (err == 1)
		printf(" closed");
	else if (c.h.reason_len)
		printf(" -- %.*s", (int)c.h.reason_len, (char *)payload() + c.h.len);
	putchar('\n');
	fflush(stdout);
}

int call(uint16_t op, const void *arg, size_t len)
{
	uint8_t data[WIRE_MAX_REQUEST * 2];
	struct wire_hdr h = { .magic = WIRE_MAGIC,
			      .version = WIRE_VERSION,
			      .op = op,
			      .seq = ++c.seq,
			      .len = (uint32_t)len };
	int err;

	memcpy(data, &h, sizeof(h));
	if (len)
		memcpy(data + sizeof(h), arg, len);
	err = send_bytes(data, sizeof(h) + len, 0);
	/* A refused connection is closed, and contains the reason. */
	if (err && err != -EPIPE && err != -ECONNRESET)
		return 1;
	if (c.unheard) {
		c.unheard = false;
		memset(&c.h, 0, sizeof(c.h));
		return 0;
	}
	err = receive();
	if (err <= 0 && (c.h.op != op || c.h.seq != c.seq) &&
	    (c.h.op != WIRE_OP_HELLO || c.h.seq != WIRE_SEQ_REFUSED || err == 0))
		die("the reply to another request");
	return err;
}

int say(const char *word, int err)
{
	if (err == 1)
		printf("%s", word);
	else
		printf("%s %s", word, err ? strerrorname_np(-err) : "0");
	return err;
}

/* --- words --------------------------------------------------------------------------------- */

unsigned long long number(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 0);

	if (*end)
		die("%s is no number", text);
	return n;
}

static void do_connect(char **arg)
{
	make_connection();
}

void do_hello(char **arg)
{
	struct wire_hello_req r = { .pid = (uint32_t)getpid(), .program = "wireclient" };
	int err = say("hello", call(WIRE_OP_HELLO, &r, sizeof(r)));

	if (!err && c.nfds == 1) {
		c.alive = mmap(NULL, sizeof(*c.alive), PROT_READ, MAP_SHARED, c.fds[0], 0);
		printf(" %s", mmap(NULL, sizeof(*c.alive), PROT_READ | PROT_WRITE, MAP_SHARED,
				   c.fds[0], 0) == MAP_FAILED
				      ? "read-only"
				      : "WRITABLE");
	}
	finish(err);
}

static void do_cpuinfo(char **arg)
{
	struct wire_cpuinfo *i = payload();
	int err = say("cpuinfo", call(WIRE_OP_GETCPUINFO, NULL, 0));

	if (!err)
		printf(" ncpu=%u npmc=%u nclass=%u", i->ncpu, i->npmc, i->nclass);
	finish(err);
}

static void do_stats(char **arg)
{
	struct wire_driverstats *s = payload();
	int err = say("stats", call(WIRE_OP_GETDRIVERSTATS, NULL, 0));

	if (!err)
		printf(" calls=%u errors=%u", s->syscalls, s->syscall_errors);
	finish(err);
}

static void do_version(char **arg)
{
	struct wire_version v = { .version = (uint32_t)number(arg[0]) };

	finish(say("version", call(WIRE_OP_GETMODULEVERSION, &v, sizeof(v))));
}

/* alloc MODE CLASS EVENT CPU FLAGS */
static void do_alloc(char **arg)
{
	struct wire_allocate_req r = {
		.caps = c.caps,
		.mode = (uint32_t)number(arg[0]),
		.class = (uint32_t)number(arg[1]),
		.event = (uint32_t)number(arg[2]),
		.flags = (uint32_t)number(arg[4]),
		.cpu = strcmp(arg[3], "any") ? (uint32_t)number(arg[3]) : (uint32_t)PMC_CPU_ANY,
	};
	struct wire_allocate_rep *rep = payload();
	int err;

	memcpy(r.event_name, c.name, sizeof(r.event_name));
	memcpy(r.filter, c.filter, sizeof(r.filter));
	send_probe(&r);
	r.group = c.group;
	r.config = c.config[0];
	r.config1 = c.config[1];
	r.config2 = c.config[2];
	r.rate = c.rate;
	r.values = c.rate ? PMCLOG_VALUE_PERIOD : 0;
	c.rate = 0;
	err = say("alloc", call(WIRE_OP_PMCALLOCATE, &r, sizeof(r)));

	if (!err) {
		c.pmcid = rep->pmcid;
		printf(" 0x%08x", rep->pmcid);
	}
	finish(err);
}

static void simple(const char *word, uint16_t op)
{
	struct wire_id_req r = { .pmcid = c.pmcid };

	finish(say(word, call(op, &r, sizeof(r))));
}

void do_start(char **arg)
{
	simple("start", WIRE_OP_PMCSTART);
}

static void do_stop(char **arg)
{
	simple("stop", WIRE_OP_PMCSTOP);
}

void do_release(char **arg)
{
	simple("release", WIRE_OP_PMCRELEASE);
}

static void do_id(char **arg)
{
	c.pmcid = (uint32_t)number(arg[0]);
}

static void target(const char *word, uint16_t op, const char *pid)
{
	struct wire_attach_req r = { .pmcid = c.pmcid };
	int fd = target_fd(pid, &r.pid);

	if (fd >= 0)
		c.send_fds[c.nsend++] = fd;
	if (op != WIRE_OP_PMCDETACH)
		send_proof(fd);
	finish(say(word, call(op, &r, sizeof(r))));
	if (fd >= 0)
		close(fd);
}

static void do_attach(char **arg)
{
	target("attach", WIRE_OP_PMCATTACH, arg[0]);
}

/* A process, and the number of one of its threads. */
static void do_attachthread(char **arg)
{
	struct wire_thread_req r = { .process = { .pmcid = c.pmcid }, .tid = atoi(arg[1]) };
	int fd = target_fd(arg[0], &r.process.pid);

	if (fd >= 0)
		c.send_fds[c.nsend++] = fd;
	send_proof(fd);
	finish(say("attachthread", call(WIRE_OP_ATTACHTHREAD, &r, sizeof(r))));
	if (fd >= 0)
		close(fd);
}

/* The path of any file or folder, or none. */
static void do_attachcgroup(char **arg)
{
	struct wire_id_req r = { .pmcid = c.pmcid };
	int fd = strcmp(arg[0], "none") ? open(arg[0], O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0)
		c.send_fds[c.nsend++] = fd;
	finish(say("attachcgroup", call(WIRE_OP_ATTACHCGROUP, &r, sizeof(r))));
	if (fd >= 0)
		close(fd);
}

static void do_attachexec(char **arg)
{
	target("attachexec", WIRE_OP_ATTACHEXEC, arg[0]);
}

static void do_detach(char **arg)
{
	target("detach", WIRE_OP_PMCDETACH, arg[0]);
}

void do_read(char **arg)
{
	struct wire_rw_req r = { .pmcid = c.pmcid, .flags = PMC_F_OLDVALUE };
	struct wire_rw_rep *rep = payload();
	int err = say("read", call(WIRE_OP_PMCRW, &r, sizeof(r)));

	if (!err)
		printf(" %llu", (unsigned long long)rep->value);
	finish(err);
}

/* Rows in use on a CPU. */
static void do_rows(char **arg)
{
	static const char *const disp[] = { "STANDALONE", "FREE", "THREAD" };
	struct wire_cpu_req r = { .cpu = (uint32_t)number(arg[0]) };
	struct wire_pmcinfo_rep *rep = payload();
	struct wire_pmcinfo *i = (struct wire_pmcinfo *)(rep + 1);
	int err = say("rows", call(WIRE_OP_GETPMCINFO, &r, sizeof(r)));

	for (uint32_t n = 0; !err && n < rep->npmc; n++)
		if (i[n].rowdisp != PMC_DISP_FREE)
			printf(" %s/%s/%d/%s", i[n].name, disp[i[n].rowdisp], i[n].ownerpid,
			       i[n].event_name);
	finish(err);
}

/* send HEX: these bytes as one message, whatever they are. */
static void do_send(char **arg)
{
	uint8_t data[WIRE_MAX_REQUEST * 4];
	size_t n = 0;
	int err;

	for (const char *p = arg[0]; p[0] && p[1]; p += 2) {
		char byte[3] = { p[0], p[1], '\0' };

		if (n < sizeof(data))
			data[n++] = (uint8_t)strtoul(byte, NULL, 16);
	}
	err = send_bytes(data, n, 0);
	if (!err)
		err = receive();
	finish(say("send", err));
}

/* op NUMBER LENGTH: a well-formed frame with zeroes. */
static void do_op(char **arg)
{
	static const uint8_t zeroes[WIRE_MAX_REQUEST * 2 - sizeof(struct wire_hdr)];

	finish(say("op", call((uint16_t)number(arg[0]), zeroes, number(arg[1]))));
}

/* fds N: this many descriptors go along with the next message. */
static void do_fds(char **arg)
{
	for (c.nsend = 0; c.nsend < number(arg[0]); c.nsend++)
		c.send_fds[c.nsend] = STDOUT_FILENO;
}

/* Sends requests until nothing more fits, without reading replies. */
static void do_flood(char **arg)
{
	struct wire_hdr h = { .magic = WIRE_MAGIC,
			      .version = WIRE_VERSION,
			      .op = WIRE_OP_GETPMCINFO,
			      .len = sizeof(struct wire_cpu_req) };
	uint8_t data[sizeof(h) + sizeof(struct wire_cpu_req)] = { 0 };
	unsigned int sent = 0, idle = 0;

	memcpy(data, &h, sizeof(h));
	/* It is full if it stays so while the daemon has time to take one more. */
	while (idle < 20) {
		if (send_bytes(data, sizeof(data), MSG_DONTWAIT) == 0) {
			sent++;
			idle = 0;
		} else {
			idle++;
			usleep(10000);
		}
	}
	c.unread += sent;
	printf("flood %u\n", sent);
	fflush(stdout);
}

/* Reads the replies that a flood has left unread, however late. */
static void do_drain(char **arg)
{
	struct timeval wait = { .tv_sec = 60 };
	unsigned int n = 0;

	setsockopt(c.sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	while (n < c.unread && receive() == 0)
		n++;
	c.unread -= n;
	printf("drain %u\n", n);
	fflush(stdout);
}

static void do_hold(char **arg)
{
	printf("hold %d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}

/* Waits for the daemon's end, and prints the state in the page. */
static void do_death(char **arg)
{
	struct wire_hdr h;

	while (recv(c.sock, &h, sizeof(h), 0) > 0)
		;
	printf("death 0x%x\n", c.alive->futex & FUTEX_OWNER_DIED);
	fflush(stdout);
}

static const struct {
	const char *name;
	unsigned int args;
	void (*run)(char **arg);
} words[] = {
	{ "connect", 0, do_connect },
	{ "hello", 0, do_hello },
	{ "cpuinfo", 0, do_cpuinfo },
	{ "stats", 0, do_stats },
	{ "version", 1, do_version },
	{ "alloc", 5, do_alloc },
	{ "tracepoint", 1, do_tracepoint }, { "filter", 1, do_filter },
	{ "probe", 3, do_probe },
	{ "breakpoint", 3, do_breakpoint },
	{ "start", 0, do_start },
	{ "stop", 0, do_stop },
	{ "release", 0, do_release },
	{ "id", 1, do_id },
	{ "attach", 1, do_attach },
	{ "attachexec", 1, do_attachexec },
	{ "attachthread", 2, do_attachthread },
	{ "attachcgroup", 1, do_attachcgroup },
	{ "detach", 1, do_detach },
	{ "proof", 2, do_proof },
	{ "read", 0, do_read }, { "group", 1, do_group },
	{ "member", 1, do_member }, { "commitgroup", 1, do_commitgroup },
	{ "readgroup", 0, do_readgroup },
	{ "write", 1, do_write },
	{ "rows", 1, do_rows },
	{ "send", 1, do_send },
	{ "op", 2, do_op },
	{ "fds", 1, do_fds },
	{ "flood", 0, do_flood },
	{ "drain", 0, do_drain },
	{ "fork", 0, do_fork },
	{ "hold", 0, do_hold },
	{ "spawn", 0, do_spawn }, { "exec", 0, do_exec },
	{ "death", 0, do_death },
	{ "crowd", 2, do_crowd },
	{ "many", 1, do_many },
	{ "other", 0, do_other },
	{ "unheard", 0, do_unheard },
	{ "heard", 0, do_heard },
	{ "notified", 2, do_notified },
	{ "activate", 2, do_activate },
	{ "private", 1, do_private },
	{ "leave", 0, do_leave },
	{ "orders", 0, do_orders },
	{ "caps", 1, do_caps }, { "rate", 1, do_rate },
	{ "setcount", 1, do_setcount },
	{ "rw", 2, do_rw },
	{ "info", 2, do_info },
	{ "classes", 0, do_classes },
	{ "counters", 0, do_counters },
	{ "admin", 3, do_admin },
	{ "pages", 1, do_pages },
	{ "rdtsc", 0, do_rdtsc },
	{ "who", 0, do_who },
	{ "bye", 0, do_bye },
	{ "catch", 1, do_catch },
	{ "ignore", 1, do_ignore },
	{ "forget", 1, do_forget },
	{ "block", 1, do_block },
	{ "expose", 1, do_expose },
	{ "came", 1, do_came },
	{ "await", 1, do_await },
	{ "become", 0, do_become },
	{ "inherited", 1, do_inherited },
	{ "heir", 1, do_heir },
	{ "headless", 0, do_headless },
	{ "behead", 0, do_behead },
	{ "keep", 1, do_keep },
	{ "setid", 1, do_setid },
	{ "inside", 0, do_inside },
	{ "passed", 0, do_passed },
	{ "thread", 0, do_thread },
	{ "log", 1, do_log },
	{ "logto", 2, do_logto },
	{ "logfd", 1, do_logfd },
	{ "dropfd", 1, do_dropfd },
	{ "figures", 0, do_figures },
	{ "losses", 0, do_losses },
	{ "endlog", 0, do_endlog },
	{ "flushlog", 0, do_flushlog },
	{ "closelog", 0, do_closelog },
	{ "writelog", 2, do_writelog },
	{ "bequeath", 1, do_bequeath },
	{ "-", 0, do_copy },
	{ "again", 1, do_again },
	{ "listen", 0, do_listen },
	{ "settunable", 2, do_settunable },
	{ "named", 1, do_named },
	{ "mute", 1, do_mute },
	{ "chorus", 1, do_chorus },
	{ "sing", 0, do_sing },
};

void do_words(int n, char **word)
{
	for (int i = 0; i < n;) {
		unsigned int w = 0, all = sizeof(words) / sizeof(words[0]);

		while (w < all && strcmp(word[i], words[w].name))
			w++;
		if (w == all || i + (int)words[w].args >= n)
			die("%s: no such word, or too little after it", word[i]);
		words[w].run(&word[i + 1]);
		i += 1 + (int)words[w].args;
	}
}

int main(int argc, char **argv)
{
	static const char *const own[] = { "connect", "notified", "activate", "private",
					   "inherited", "again", "-" };
	bool made = argc < 2;

	for (unsigned int i = 0; argc > 1 && i < sizeof(own) / sizeof(own[0]); i++)
		made |= !strcmp(argv[1], own[i]);
	if (!made)
		make_connection();
	do_words(argc - 1, argv + 1);
	return 0;
}
