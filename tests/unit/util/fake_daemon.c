/* SPDX-License-Identifier: BSD-2-Clause */
/* The stand-in for pmcbpfd: answers every operation with a plausible reply, or with a fault. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/pmc/pmc.h"
#include "fake_daemon.h"
#include "unit.h"

#include <sys/pmc.h>

#define FAKE_CLIENTS 8

struct answer {
	uint8_t payload[4096];
	size_t len;
	int fds[8];
	unsigned int nfds;
};

static void *shared(int *fd, size_t size)
{
	void *p;

	*fd = memfd_create("fake", MFD_CLOEXEC);
	assert_int_equal(ftruncate(*fd, size), 0);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* --- the operations -------------------------------------------------------------------------- */

static void put(struct answer *a, const void *data, size_t len)
{
	memcpy(a->payload + a->len, data, len);
	a->len += len;
}

static void on_hello(struct fake *f, const void *req, struct answer *a)
{
	struct wire_hello_rep rep = { .wire_version = f->wire_version, .daemon_version = "fake" };

	memcpy(&f->hello, req, sizeof(f->hello));
	put(a, &rep, sizeof(rep));
	a->fds[a->nfds++] = f->alive_fd;
}

static void on_version(struct fake *f, const void *req, struct answer *a)
{
	put(a, &f->version, sizeof(f->version));
}

static void on_cpuinfo(struct fake *f, const void *req, struct answer *a)
{
	struct wire_cpuinfo info = {
		.cputype = f->cputype, .ncpu = f->ncpu, .npmc = FAKE_NPMC, .nclass = 2,
		.classes = {
			{ .class = PMC_CLASS_SOFT, .caps = 0x67, .width = 64, .num = 2 },
			{ .class = PMC_CLASS_TSC, .caps = PMC_CAP_READ, .width = 64, .num = 1,
			  .first_row = 2 },
		},
	};

	if (f->pmu) {
		info.classes[2] = (struct wire_classinfo){ .class = PMC_CLASS_K8 };
		snprintf(info.classes[2].pmu, sizeof(info.classes[0].pmu), "%s", f->pmu);
		info.nclass = 3;
	}
	put(a, &info, sizeof(info));
}

static void on_dynevents(struct fake *f, const void *req, struct answer *a)
{
	const struct wire_dynevent_rep rep = { .count = 2 };
	struct wire_dynevent events[2] = {
		{ .name = "CLOCK.HARD", .code = 0x20000 },
		{ .name = "PAGE_FAULT.ALL", .code = 0x20001 },
	};

	put(a, &rep, sizeof(rep));
	put(a, events, sizeof(events));
}

static void on_pmcinfo(struct fake *f, const void *req, struct answer *a)
{
	const struct wire_pmcinfo_rep rep = { .npmc = FAKE_NPMC };
	struct wire_pmcinfo rows[FAKE_NPMC] = {
		{ .name = "SOFT0",
		  .class = PMC_CLASS_SOFT,
		  .enabled = 1,
		  .rowdisp = PMC_DISP_THREAD,
		  .ownerpid = 42,
		  .mode = PMC_MODE_TC,
		  .event = 0x20001,
		  .event_name = "PAGE_FAULT.ALL" },
		{ .name = "ARMV8-1",
		  .class = PMC_CLASS_ARMV8,
		  .ownerpid = 43,
		  .event = 0x40007,
		  .rowdisp = PMC_DISP_STANDALONE,
		  .event_name = "inst_retired" },
		{ .class = PMC_CLASS_TSC, .ownerpid = -1, .rowdisp = PMC_DISP_FREE },
	};

	/* A name that fills its field has no NUL: the library must not read on. */
	memset(rows[2].name, 'x', sizeof(rows[2].name));
	put(a, &rep, sizeof(rep));
	put(a, rows, sizeof(rows));
}

static void on_stats(struct fake *f, const void *req, struct answer *a)
{
	const struct wire_driverstats stats = {
		.intr_ignored = 1, .intr_processed = 2, .intr_bufferfull = 3, .syscalls = 4,
		.syscall_errors = 5, .buffer_requests = 6, .buffer_requests_failed = 7,
		.log_sweeps = 8,
	};

	put(a, &stats, sizeof(stats));
}

static void on_losses(struct fake *f, const void *req, struct answer *a)
{
	const struct wire_losses_req *of = req;
	const struct wire_losses losses = {
		.chains = of->pmcid, .cut = 1ull << 40, .cuts = { [PMC_CHAIN_TABLE] = 5 },
		.completed = 70, .late = 8,
	};

	put(a, &losses, sizeof(losses));
}

static void on_overflows(struct fake *f, const void *req, struct answer *a)
{
	const struct wire_overflows_req *of = req;
	const struct wire_overflows overflows = {
		.overflows = of->set ? of->signal : 4711, .unsent = of->n, .left = ~0ull,
	};

	f->overflows = *of;
	put(a, &overflows, sizeof(overflows));
}

static void on_allocate(struct fake *f, const void *req, struct answer *a)
{
	struct wire_allocate_rep rep = {
		.pmcid = FAKE_ID + f->other, .pos = 0, .nfds = 2, .ncpu = FAKE_NCPU,
	};

	memcpy(&f->allocate, req, sizeof(f->allocate));
	put(a, &rep, sizeof(rep));
	a->fds[a->nfds++] = f->page_fd;
	a->fds[a->nfds++] = f->counts_fd;
}

static void on_start(struct fake *f, const void *req, struct answer *a)
{
	struct wire_start_rep rep = { .nfds = f->start_fds, .generation = 1 };

	put(a, &rep, sizeof(rep));
	while (a->nfds < f->start_fds)
		a->fds[a->nfds++] = f->start_fd;
}

static void on_attach(struct fake *f, const void *req, struct answer *a)
{
	memcpy(&f->attach, req, sizeof(f->attach));
}

static void on_rw(struct fake *f, const void *req, struct answer *a)
{
	struct wire_rw_rep rep = { .value = f->value };

	memcpy(&f->rw, req, sizeof(f->rw));
	put(a, &rep, sizeof(rep));
}

static void on_readgroup(struct fake *f, const void *req, struct answer *a)
{
	struct wire_readgroup_rep rep = {
		.n = 2, .running = f->value + 2, .pmcid = { FAKE_ID, FAKE_ID + 1 },
		.value = { f->value, f->value + 1 },
	};

	put(a, &rep, sizeof(rep));
}

static void on_admin(struct fake *f, const void *req, struct answer *a)
{
	memcpy(&f->admin, req, sizeof(f->admin));
}

static void on_gates(struct fake *f, const void *req, struct answer *a)
{
	const struct wire_gates_rep rep = { .count = f->gates };
	struct wire_gate gates[2] = {
		{ .name = "rows", .finding = "7 of\nevery CPU", .remedy = "wait",
		  .state = WIRE_GATE_LIMITS },
		{ .state = 99 },
	};

	/* Texts that fill their fields have no NUL. */
	memset(gates[1].name, 'n', sizeof(gates[1].name));
	memset(gates[1].finding, 'f', sizeof(gates[1].finding));
	memset(gates[1].remedy, 'r', sizeof(gates[1].remedy));
	put(a, &rep, sizeof(rep));
	put(a, gates, sizeof(gates));
}

/* Names and values that fill their fields have no NUL. */
static void on_tunable(struct fake *f, const void *req, struct answer *a)
{
	struct wire_tunable_rep rep = { .count = f->tunables };
	struct wire_tunable t[2] = {
		{ .name = "kern.hwpmc.nsamples", .value = "512" }, { .writable = 7 },
	};

	memcpy(&f->tunable, req, sizeof(f->tunable));
	memset(t[1].name, 'n', sizeof(t[1].name));
	memset(t[1].value, 'v', sizeof(t[1].value));
	put(a, &rep, sizeof(rep));
	put(a, t, (f->tunables < 2 ? f->tunables : 2) * sizeof(t[0]));
}

static void on_ktr(struct fake *f, const void *req, struct answer *a)
{
	struct wire_ktr rep = { 1, 2, 3, 4, 5, 6, 7, 0, 1ull << 40, "" };

	memcpy(&f->ktr, req, sizeof(f->ktr));
	/* A text that fills its field has no NUL. */
	memset(rep.stopped, 's', sizeof(rep.stopped));
	put(a, &rep, sizeof(rep));
	while (a->nfds < f->ktr_fds)
		a->fds[a->nfds++] = f->alive_fd;
}

static void on_kgmon(struct fake *f, const void *req, struct answer *a)
{
	struct wire_kgmon rep = { 1, 2, 3, 4, 1ull << 41, 6, 7, 8, "" };

	memcpy(&f->kgmon, req, sizeof(f->kgmon));
	memset(rep.event, 'e', sizeof(rep.event));
	put(a, &rep, sizeof(rep));
	while (a->nfds < f->kgmon_fds)
		a->fds[a->nfds++] = f->alive_fd;
}

/* Two elements a reply, of as many as the test says; the generation changes once, if it says so. */
static void on_policy(struct fake *f, const void *req, struct answer *a)
{
	struct wire_policy_rep rep = { .count = 2, .total = f->policies, .generation = 1 };
	struct wire_policy p[2] = { { .line = 7 }, { .line = 8 } };

	memcpy(&f->policy, req, sizeof(f->policy));
	if (f->policy_again && f->policy.first) {
		f->policy_again = false;
		f->policy_generation++;
	}
	rep.generation += f->policy_generation;
	if (f->policy.first + rep.count > f->policies)
		rep.count = f->policies > f->policy.first ? f->policies - f->policy.first : 0;
	snprintf(p[0].text, sizeof(p[0].text), "rule %u", f->policy.first);
	memset(p[1].text, 't', sizeof(p[1].text));
	memset(p[1].origin, 'o', sizeof(p[1].origin));
	if (f->policy_lies)
		rep.count = f->policy_lies;
	put(a, &rep, sizeof(rep));
	put(a, p, (rep.count < 2 ? rep.count : 2) * sizeof(p[0]));
}

static void on_other(struct fake *f, const void *req, struct answer *a)
{
}

static const struct {
	uint16_t op;
	size_t len;
	void (*fn)(struct fake *f, const void *req, struct answer *a);
} ops[] = {
	{ WIRE_OP_HELLO, sizeof(struct wire_hello_req), on_hello },
	{ WIRE_OP_GETMODULEVERSION, sizeof(struct wire_version), on_version },
	{ WIRE_OP_GETCPUINFO, 0, on_cpuinfo },
	{ WIRE_OP_GETDYNEVENTINFO, sizeof(struct wire_class_req), on_dynevents },
	{ WIRE_OP_GETPMCINFO, sizeof(struct wire_cpu_req), on_pmcinfo },
	{ WIRE_OP_GETDRIVERSTATS, 0, on_stats },
	{ WIRE_OP_GETLOSSES, sizeof(struct wire_losses_req), on_losses },
	{ WIRE_OP_OVERFLOWS, sizeof(struct wire_overflows_req), on_overflows },
	{ WIRE_OP_PMCALLOCATE, sizeof(struct wire_allocate_req), on_allocate },
	{ WIRE_OP_PMCSTART, sizeof(struct wire_id_req), on_start },
	{ WIRE_OP_PMCSTOP, sizeof(struct wire_id_req), on_other },
	{ WIRE_OP_PMCRELEASE, sizeof(struct wire_id_req), on_other },
	{ WIRE_OP_PMCATTACH, sizeof(struct wire_attach_req), on_attach },
	{ WIRE_OP_ATTACHEXEC, sizeof(struct wire_attach_req), on_attach },
	{ WIRE_OP_ATTACHTHREAD, sizeof(struct wire_thread_req), on_attach },
	{ WIRE_OP_ATTACHCGROUP, sizeof(struct wire_id_req), on_other },
	{ WIRE_OP_PMCDETACH, sizeof(struct wire_attach_req), on_attach },
	{ WIRE_OP_PMCRW, sizeof(struct wire_rw_req), on_rw },
	{ WIRE_OP_COMMITGROUP, sizeof(struct wire_commitgroup_req), on_other },
	{ WIRE_OP_READGROUP, sizeof(struct wire_readgroup_req), on_readgroup },
	{ WIRE_OP_PMCSETCOUNT, sizeof(struct wire_setcount_req), on_other },
	{ WIRE_OP_PMCADMIN, sizeof(struct wire_admin_req), on_admin },
	{ WIRE_OP_WRITELOG, sizeof(struct wire_writelog_req), on_other },
	{ WIRE_OP_FLUSHLOG, 0, on_other },
	{ WIRE_OP_CLOSELOG, 0, on_other },
	{ WIRE_OP_CONFIGURELOG, sizeof(struct wire_configurelog_req), on_other },
	{ WIRE_OP_GATES, 0, on_gates },
	{ WIRE_OP_TUNABLE, sizeof(struct wire_tunable_req), on_tunable },
	{ WIRE_OP_KTR, sizeof(struct wire_ktr_req), on_ktr },
	{ WIRE_OP_POLICY, sizeof(struct wire_policy_req), on_policy },
	{ WIRE_OP_KGMON, sizeof(struct wire_kgmon_req), on_kgmon },
};

/* --- answering ------------------------------------------------------------------------------- */

static void send_answer(int fd, const void *data, size_t len, const struct answer *a)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(a->fds))];
	} control = { .space = { 0 } };
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (a->nfds) {
		struct cmsghdr *c;

		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(a->nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(a->nfds * sizeof(int));
		memcpy(CMSG_DATA(c), a->fds, a->nfds * sizeof(int));
	}
	sendmsg(fd, &msg, MSG_NOSIGNAL);
}

static void answer(struct fake *f, int fd, const struct wire_hdr *req, struct answer *a)
{
	static uint8_t out[WIRE_MAX_REPLY * 2];
	enum fake_fault fault = req->op == f->fault_op ? f->fault : FAKE_NO_FAULT;
	struct wire_hdr hdr = *req;
	size_t len;

	hdr.len = a->len;
	hdr.reason_len = 0;
	switch (fault) {
	case FAKE_WRONG_SEQ:	  hdr.seq++; break;
	case FAKE_WRONG_OP:	  hdr.op++; break;
	case FAKE_WRONG_MAGIC:	  hdr.magic++; break;
	case FAKE_WRONG_WIRE:	  hdr.version++; break;
	case FAKE_WRONG_LENGTH:	  hdr.len += 8; break;
	case FAKE_SHORT_PAYLOAD:  hdr.len = a->len = a->len - 4; break;
	case FAKE_LONG_PAYLOAD:	  hdr.len = a->len = a->len + 4; break;
	case FAKE_POSITIVE_ERROR: hdr.error = 5; break;
	case FAKE_NO_FD:	  a->nfds = 0; break;
	case FAKE_REFUSE:
		hdr.error = -f->error;
		hdr.len = a->len = a->nfds = 0;
		hdr.reason_len = f->reason ? strlen(f->reason) : 0;
		break;
	default:
		break;
	}
	memset(out, 0, sizeof(out));
	memcpy(out, &hdr, sizeof(hdr));
	memcpy(out + sizeof(hdr), a->payload, a->len);
	if (hdr.reason_len)
		memcpy(out + sizeof(hdr) + a->len, f->reason, hdr.reason_len);
	len = fault == FAKE_TOO_LONG ? WIRE_MAX_REPLY + 8 :
	      fault == FAKE_SHORT_HEADER ? sizeof(hdr) - 1 : sizeof(hdr) + a->len + hdr.reason_len;
	send_answer(fd, out, len, a);
}

static void send_refusal(struct fake *f, int fd)
{
	struct answer none = { .len = 0 };
	uint8_t out[sizeof(struct wire_hdr) + WIRE_MAX_REASON];
	struct wire_hdr hdr = {
		.magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = WIRE_OP_HELLO,
		.seq = WIRE_SEQ_REFUSED, .error = -f->error, .reason_len = strlen(f->reason),
	};

	memcpy(out, &hdr, sizeof(hdr));
	memcpy(out + sizeof(hdr), f->reason, hdr.reason_len);
	send_answer(fd, out, sizeof(hdr) + hdr.reason_len, &none);
}

/* False: hang up. */
static bool serve(struct fake *f, int fd)
{
	union {
		struct wire_hdr hdr;
		uint8_t bytes[WIRE_MAX_REQUEST];
	} req;
	char control[256];
	struct iovec iov = { .iov_base = &req, .iov_len = sizeof(req) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct answer a = { .len = 0 };
	ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;
	size_t i;

	if (n < (ssize_t)sizeof(req.hdr))
		return false;
	c = CMSG_FIRSTHDR(&msg);
	f->got_fd = c != NULL;
	f->proof[0] = '\0';
	for (size_t k = 0; c && CMSG_LEN(k * sizeof(int)) < c->cmsg_len; k++) {
		char path[32];
		int got;

		memcpy(&got, CMSG_DATA(c) + k * sizeof(int), sizeof(got));
		snprintf(path, sizeof(path), "/proc/self/fd/%d", got);
		memset(f->proof, 0, sizeof(f->proof));
		if (k == 1 && readlink(path, f->proof, sizeof(f->proof) - 1) < 0)
			abort();
		close(got);
	}
	__atomic_add_fetch(&f->requests[req.hdr.op % 128], 1, __ATOMIC_RELAXED);
	if (f->strike && req.hdr.op == f->strike_op) {
		void (*strike)(pthread_t) = f->strike;

		f->strike = NULL;
		strike(f->struck);
	}
	if (f->fault == FAKE_HANG_UP && req.hdr.op == f->fault_op)
		return false;
	if (f->fault == FAKE_SILENT && req.hdr.op == f->fault_op)
		return true;
	if (f->fault == FAKE_REFUSE_AND_END && req.hdr.op == f->fault_op) {
		send_refusal(f, fd);
		return false;
	}
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].op == req.hdr.op && req.hdr.len == ops[i].len &&
		    n == (ssize_t)(sizeof(req.hdr) + ops[i].len)) {
			ops[i].fn(f, req.bytes + sizeof(req.hdr), &a);
			answer(f, fd, &req.hdr, &a);
			return true;
		}
	return false;
}

/* A connection that the daemon refuses: -1. */
static int refuse_unasked(struct fake *f, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (f->fault == FAKE_REFUSE_UNREAD)
		assert_int_equal(poll(&p, 1, -1), 1);
	send_refusal(f, fd);
	close(fd);
	return -1;
}

static void *run(void *arg)
{
	struct fake *f = arg;
	struct pollfd p[2 + FAKE_CLIENTS] = {
		{ .fd = f->stop[0], .events = POLLIN }, { .fd = f->listener, .events = POLLIN },
	};
	unsigned int i;

	for (i = 2; i < 2 + FAKE_CLIENTS; i++)
		p[i].fd = -1;
	while (poll(p, 2 + FAKE_CLIENTS, -1) >= 0 && !p[0].revents) {
		for (i = 2; i < 2 + FAKE_CLIENTS; i++)
			if (p[i].fd >= 0 && p[i].revents && !serve(f, p[i].fd)) {
				close(p[i].fd);
				p[i].fd = -1;
			}
		if (!p[1].revents)
			continue;
		for (i = 2; i < 2 + FAKE_CLIENTS && p[i].fd >= 0; i++)
			;
		if (i == 2 + FAKE_CLIENTS)
			abort();
		f->connections++;
		/* A test may need low numbers to be free. */
		p[i].fd = ownfd_raise(accept(f->listener, NULL, NULL));
		p[i].events = POLLIN;
		if (f->fault == FAKE_REFUSE_AT_ONCE || f->fault == FAKE_REFUSE_UNREAD)
			p[i].fd = refuse_unasked(f, p[i].fd);
	}
	for (i = 2; i < 2 + FAKE_CLIENTS; i++)
		if (p[i].fd >= 0)
			close(p[i].fd);
	return NULL;
}

void fake_start(struct fake *f)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	memset(f, 0, sizeof(*f));
	f->version = PMC_VERSION;
	f->gates = 2;
	f->cputype = PMC_CPU_GENERIC;
	f->ncpu = FAKE_NCPU;
	f->wire_version = WIRE_VERSION;
	f->alive = shared(&f->alive_fd, sizeof(*f->alive));
	f->page = shared(&f->page_fd, sizeof(*f->page));
	f->counts = shared(&f->counts_fd, FAKE_NCPU * sizeof(*f->counts));
	f->alive->magic = f->page->magic = WIRE_MAGIC;
	f->page->version = WIRE_VERSION;
	f->page->pmc[0].pmcid = FAKE_ID;
	strcpy(f->dir, "/tmp/pmcbpf-fake-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/pmc.sock", f->dir);
	strcpy(sun.sun_path, f->path);
	f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&sun, sizeof(sun)), 0);
	assert_int_equal(listen(f->listener, 4), 0);
	assert_int_equal(pipe(f->stop), 0);
	setenv("PMCBPF_SOCKET", f->path, 1);
	assert_int_equal(pthread_create(&f->thread, NULL, run, f), 0);
}

void fake_stop(struct fake *f)
{
	assert_int_equal(write(f->stop[1], "", 1), 1);
	pthread_join(f->thread, NULL);
	close(f->stop[0]);
	close(f->stop[1]);
	close(f->listener);
	munmap(f->alive, sizeof(*f->alive));
	munmap(f->page, sizeof(*f->page));
	munmap(f->counts, FAKE_NCPU * sizeof(*f->counts));
	close(f->alive_fd);
	close(f->page_fd);
	close(f->counts_fd);
	unlink(f->path);
	rmdir(f->dir);
}

void fake_forget(void)
{
	ownfd_close(&pmc_lib.socket);
	ownfd_close(&pmc_lib.spare);
	read_share_reset(&pmc_lib.reads);
	free(pmc_lib.machine.soft.event);
	free(pmc_lib.machine.msr.event);
	pmc_lib.machine.soft = pmc_lib.machine.msr = (struct machine_events){ .n = 0 };
	pmc_lib.known = false;
	pmc_lib.state = LIB_NEW;
}

int fake_setup_unconnected(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fake_start(f);
	*state = f;
	return 0;
}

int fake_setup(void **state)
{
	fake_setup_unconnected(state);
	assert_int_equal(pmc_init(), 0);
	return 0;
}

int fake_teardown(void **state)
{
	fake_stop(*state);
	free(*state);
	fake_forget();
	return 0;
}
