/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine's memory through gdb's remote protocol, as QEMU's stub implements it in its mode for
 * physical addresses.  Only reading commands are sent.  The stub stops the machine while we are
 * connected.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "scan.h"
#include "cli/common/common.h"

#define PACKET_MAX  (1u << 20)
#define PACKET_READ 2048u	/* bytes of memory in a request; each is two digits of a packet */
#define WAIT_S	    10

struct remote {
	int fd;
	size_t step;		/* bytes of memory that fit into a packet */
	bool quiet;		/* packets are not acknowledged */
	struct buf reply;
	char input[4096];
	size_t at, len;
};

static int remote_get_byte(struct remote *r)
{
	if (r->at == r->len) {
		ssize_t n;

		do
			n = recv(r->fd, r->input, sizeof(r->input), 0);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return n < 0 ? (errno == EAGAIN ? -ETIMEDOUT : -errno) : -ECONNRESET;
		r->at = 0;
		r->len = (size_t)n;
	}
	return (unsigned char)r->input[r->at++];
}

static int remote_put(const struct remote *r, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(r->fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int remote_send(struct remote *r, const char *text)
{
	struct buf packet = { 0 };
	uint8_t sum = 0;
	int err;

	for (const char *p = text; *p; p++)
		sum = (uint8_t)(sum + (unsigned char)*p);
	buf_printf(&packet, "$%s#%02x", text, sum);
	err = packet.failed ? -ENOMEM : remote_put(r, packet.data, packet.len);
	buf_free(&packet);
	return err;
}

/* Reads the next packet into r->reply and appends a NUL.  Acknowledgements are skipped. */
static int remote_receive(struct remote *r)
{
	char last = 0;
	int c;

	r->reply.len = 0;
	do
		c = remote_get_byte(r);
	while (c >= 0 && c != '$');
	while (c >= 0 && (c = remote_get_byte(r)) >= 0 && c != '#') {
		char byte = (char)c;
		size_t times = 1;

		if (c == '}') {
			c = remote_get_byte(r);
			byte = (char)(c ^ 0x20);
		} else if (c == '*') {
			c = remote_get_byte(r);
			byte = last;
			times = c >= 29 ? (size_t)c - 29 : 0;
		}
		if (c < 0 || r->reply.len + times > PACKET_MAX)
			return c < 0 ? c : -EMSGSIZE;
		while (times--)
			buf_add(&r->reply, &byte, 1);
		last = byte;
	}
	buf_add(&r->reply, "", 1);
	/* The checksum is ignored: the connection is reliable. */
	if (c < 0 || (c = remote_get_byte(r)) < 0 || (c = remote_get_byte(r)) < 0)
		return c;
	if (r->reply.failed)
		return -ENOMEM;
	r->reply.len--;
	return r->quiet ? 0 : remote_put(r, "+", 1);
}

static int remote_ask(struct remote *r, const char *text)
{
	int err = remote_send(r, text);

	/* A machine that was running first reports that it has stopped. */
	do
		err = err ? err : remote_receive(r);
	while (!err && r->reply.data[0] == 'T');
	return err;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes pairs of digits.  Returns the number of bytes, or -EBADMSG. */
static ssize_t hex_bytes(const char *text, size_t len, uint8_t *to)
{
	if (len % 2)
		return -EBADMSG;
	for (size_t i = 0; i < len / 2; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EBADMSG;
		to[i] = (uint8_t)(high << 4 | low);
	}
	return (ssize_t)(len / 2);
}

static ssize_t remote_read_packet(struct remote *r, uint64_t at, uint8_t *to, size_t len)
{
	char text[64];
	int err;

	snprintf(text, sizeof(text), "m%llx,%zx", (unsigned long long)at, len);
	err = remote_ask(r, text);
	if (err)
		return err;
	if (r->reply.data[0] == 'E')
		return 0;
	return r->reply.len <= 2 * len ? hex_bytes(r->reply.data, r->reply.len, to) : -EBADMSG;
}

static ssize_t remote_read(struct memory *mem, uint64_t at, void *to, size_t len)
{
	struct remote *r = mem->remote;
	size_t done = 0;

	while (done < len) {
		size_t want = len - done < r->step ? len - done : r->step;
		ssize_t n = remote_read_packet(r, at + done, (uint8_t *)to + done, want);

		if (n < 0)
			return n;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Detaching lets the machine continue. */
static void remote_leave(struct memory *mem)
{
	struct remote *r = mem->remote;

	remote_ask(r, "D");
	close(r->fd);
	buf_free(&r->reply);
	free(r);
}

/* The monitor's output: pieces of hexadecimal text, then OK. */
static int remote_monitor(struct remote *r, const char *command, struct buf *out)
{
	char text[256];
	size_t len = (size_t)snprintf(text, sizeof(text), "qRcmd,");
	int err;

	for (const char *p = command; *p; p++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%02x", (unsigned char)*p);
	err = remote_ask(r, text);
	while (!err && r->reply.data[0] == 'O' && r->reply.data[1] != 'K') {
		ssize_t n =
			hex_bytes(r->reply.data + 1, r->reply.len - 1, (uint8_t *)r->reply.data);

		if (n < 0)
			return (int)n;
		buf_add(out, r->reply.data, (size_t)n);
		if (out->failed || out->len > PACKET_MAX)
			return -EMSGSIZE;
		err = remote_receive(r);
	}
	buf_add(out, "", 1);
	return err ? err : strcmp(r->reply.data, "OK") == 0 && !out->failed ? 0 : -ENOSYS;
}

static int remote_range_order(const void *a, const void *b)
{
	const struct memory_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/*
 * Lines "START-END (prio N, ram): NAME" of all address spaces; each piece of memory is taken once.
 */
static size_t remote_parse_ranges(char *text, struct memory_range *ranges, size_t most)
{
	size_t n = 0, kept = 0;

	for (char *line = strtok(text, "\r\n"); line && n < most; line = strtok(NULL, "\r\n")) {
		unsigned long long start, end;

		if (!strstr(line, ", ram): ") || sscanf(line, " %llx-%llx", &start, &end) != 2 ||
		    end < start || end - start == UINT64_MAX)
			continue;
		ranges[n++] = (struct memory_range){ start, end + 1, 0 };
	}
	qsort(ranges, n, sizeof(*ranges), remote_range_order);
	for (size_t i = 0; i < n; i++) {
		if (kept && ranges[i].start < ranges[kept - 1].end)
			ranges[i].start = ranges[kept - 1].end;
		if (ranges[i].start < ranges[i].end)
			ranges[kept++] = ranges[i];
	}
	return kept;
}

#define RANGES_MAX 4096u

static int remote_find_memory(struct memory *mem, const char *name)
{
	struct remote *r = mem->remote;
	struct buf text = { 0 };
	int err = remote_ask(r, "qSupported");
	const char *size = err ? NULL : strstr(r->reply.data, "PacketSize=");
	unsigned long packet = size ? strtoul(size + strlen("PacketSize="), NULL, 16) : 0;

	r->step = packet / 2 >= 64 && packet / 2 < PACKET_READ ? packet / 2 : PACKET_READ;
	if (!err)
		err = remote_ask(r, "QStartNoAckMode");
	r->quiet = !err && strcmp(r->reply.data, "OK") == 0;
	if (!err)
		err = remote_ask(r, "Qqemu.PhyMemMode:1");
	if (!err && strcmp(r->reply.data, "OK") != 0)
		return fail(EX_UNAVAILABLE, "ERROR: %s: this stub gives no physical memory; "
			    "QEMU's does", name);
	if (!err)
		err = remote_monitor(r, "info mtree -f", &text);
	mem->ranges = err ? NULL : calloc(RANGES_MAX, sizeof(*mem->ranges));
	if (mem->ranges)
		mem->nranges = remote_parse_ranges(text.data, mem->ranges, RANGES_MAX);
	buf_free(&text);
	if (err)
		return fail(EX_IOERR, "ERROR: %s: %s", name, strerror(-err));
	if (!mem->nranges)
		return fail(EX_UNAVAILABLE, "ERROR: %s: the stub does not report where memory is",
			    name);
	return 0;
}

static int remote_connect(const char *host_port, int *fd)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const struct timeval wait = { .tv_sec = WAIT_S };
	const int at_once = 1;
	const char *colon = strrchr(host_port, ':');
	struct addrinfo *list, *a;
	char host[256];
	int err;

	if (!colon || !colon[1] || (size_t)(colon - host_port) >= sizeof(host))
		return fail(EX_USAGE, "ERROR: -R: \"%s\" is not HOST:PORT", host_port);
	snprintf(host, sizeof(host), "%.*s", (int)(colon - host_port), host_port);
	err = getaddrinfo(*host ? host : "localhost", colon + 1, &hints, &list);
	if (err)
		return fail(EX_NOHOST, "ERROR: %s: %s", host_port, gai_strerror(err));
	for (a = list; a; a = a->ai_next) {
		*fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (*fd >= 0 && connect(*fd, a->ai_addr, a->ai_addrlen) == 0)
			break;
		err = errno;
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
	}
	freeaddrinfo(list);
	if (*fd < 0)
		return fail(EX_UNAVAILABLE, "ERROR: %s: %s; start QEMU with -gdb tcp::PORT",
			    host_port, strerror(err));
	setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
	return 0;
}

int scan_remote(struct memory *mem, const char *host_port)
{
	struct remote *r = calloc(1, sizeof(*r));
	int code;

	*mem = (struct memory){ .fd = -1 };
	if (!r)
		return fail(EX_OSERR, "ERROR: out of memory");
	code = remote_connect(host_port, &r->fd);
	if (code) {
		free(r);
		return code;
	}
	mem->remote = r;
	mem->read = remote_read;
	mem->done = remote_leave;
	mem->slow = true;
	return remote_find_memory(mem, host_port);
}
