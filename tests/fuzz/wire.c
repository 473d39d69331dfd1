/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes everything between the socket and counting: frames, order, the operations' checks, rows
 * and owners, over the fake counting.  The input is a list of records {how, op, length, bytes}.
 * Besides the sanitizers' checks: replies are well-formed, counting receives legal calls only (the
 * fake aborts), and nothing is left when the clients have ended.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "tests/unit/loader/harness.h"

#define WHO	  0x03		/* actors 0 … 3; 3 is one that has not said HELLO */
#define RAW	  0x04		/* the bytes are the whole message */
#define WITH_FD	  0x08		/* a pidfd, of this process */
#define BAD_FD	  0x10		/* and one that is not */
#define TRUNCATED 0x20
#define KNOB	  0x40		/* no message: a change of the environment */
#define STRANGER  0x80		/* sent by another process */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct actor actors[4];

/* CPUs come and go, counters are refused, targets exit, administrators disable rows. */
static void turn_knob(uint8_t which, uint8_t value)
{
	static const int errors[] = { 0, -22, -12, -16, -6, -95, -3, -17 };
	int err = errors[value >> 5];
	struct row *r = &harness.rows.rows[value % harness.rows.nrow];

	switch (which % 11) {
	case 0:
		fake.offline[value % FAKE_CPUS] ^= true;
		break;
	case 1:
		fake.refuse_new[value & 31] = err;
		break;
	case 2:
		fake.refuse_attach = err;
		break;
	case 3:
		fake.refuse_start = err;
		break;
	case 4:
		fake.refuse_stop = err;
		break;
	case 5:
		fake.rank[value & 31] = value >> 7;
		break;
	case 6:
		fake_exit(actors[value & 3].cred.pid);
		break;
	case 7:
		(void)(value & 0x80 ? row_disable(r, value & 3) : row_enable(r, value & 3));
		break;
	case 8:
		harness.config.value[value & 1 ? TUN_SYSPMCS : TUN_PROC_DEBUG] = value >> 7;
		break;
	case 9:
		for (unsigned int i = 0; i < harness.rows.nclass; i++)
			harness.rows.classes[i].info.caps ^= PMC_CAP_INTERRUPT;
		break;
	case 10:
		fake.proof = value % (ABI_PROOF_UNKNOWN + 1);
		break;
	}
}

static void send_one(uint8_t how, uint8_t op, const uint8_t *bytes, size_t len, int pidfd)
{
	struct actor *a = &actors[how & WHO];
	uint8_t frame[sizeof(struct wire_hdr) + sizeof(struct wire_tunable_req)] = { 0 };
	const struct reply *r = last_reply();
	/* A length is one byte, and this request is longer: it is padded with zeroes. */
	size_t padded = op == WIRE_OP_TUNABLE ? sizeof(struct wire_tunable_req) : len;
	int fds[2] = { how & WITH_FD ? pidfd : 0, 0 };
	struct packet m = {
		.data = bytes, .len = len, .fds = fds,
		.nfds = !!(how & WITH_FD) + !!(how & BAD_FD),
		.truncated = how & TRUNCATED,
		.pid = a->cred.pid + !!(how & STRANGER), .uid = a->cred.uid[ID_REAL],
	};

	if (!(how & RAW)) {
		struct wire_hdr h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = op,
				      .len = (uint32_t)padded };

		memcpy(frame, &h, sizeof(h));
		memcpy(frame + sizeof(h), bytes, len);
		m.data = frame;
		m.len = sizeof(h) + padded;
	}
	ask_message(a, &m);
	/* As the server does. */
	if (r->own_fd >= 0)
		close(r->own_fd);
}

static void check_clean(void)
{
	if (fake.counts || fake.owners || harness.owners.owners)
		abort();
	for (unsigned int i = 0; i < harness.rows.nrow; i++) {
		const struct row *r = &harness.rows.rows[i];
		int disabled = 0;

		for (unsigned int cpu = 0; cpu < FAKE_CPUS; cpu++) {
			disabled += r->cpu[cpu].disabled;
			if (r->cpu[cpu].users || r->cpu[cpu].last)
				abort();
		}
		if (!LIST_EMPTY(&r->pmcs) || r->balance != -disabled)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uid_t uids[4] = { 0, 77, 78, 77 };
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	fake_reset();
	harness_start();
	for (unsigned int i = 0; i < 4; i++)
		actor_join(&actors[i], 1000001 + (pid_t)i, uids[i]);
	actors[3].session.hello = false;
	while (size >= 3) {
		uint8_t how = data[0], op = data[1];
		size_t len = data[2];

		data += 3;
		size -= 3;
		if (len > size)
			len = size;
		if (how & KNOB)
			turn_knob(op, (uint8_t)len);
		else
			send_one(how, op, data, len, pidfd);
		if (!(how & KNOB)) {
			data += len;
			size -= len;
		}
	}
	for (unsigned int i = 0; i < 4; i++)
		actor_leave(&actors[i]);
	check_clean();
	harness_stop();
	close(pidfd);
	return 0;
}
