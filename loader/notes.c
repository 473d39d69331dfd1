/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs' notes.  A note is in the ring before the kernel lets the process that caused it go
 * on, so who empties the ring before each request answers in the order of things.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "notes.h"

struct notes {
	struct ring_buffer *ring;
	int clients;
	const volatile __u64 *lost;
	__u64 known_lost;
	void (*fn)(void *arg, const struct abi_note *note);
	void *arg;
};

static int on_note(void *ctx, void *data, size_t size)
{
	struct notes *n = ctx;
	struct abi_note note;

	if (size != sizeof(note))
		return 0;
	memcpy(&note, data, sizeof(note));
	n->fn(n->arg, &note);
	return 0;
}

int notes_new(int ring, int clients, const volatile __u64 *lost, struct notes **out,
	      struct why *why)
{
	struct notes *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->clients = clients;
	n->lost = lost;
	n->ring = ring_buffer__new(ring, on_note, n, NULL);
	if (!n->ring) {
		free(n);
		return deny(why, -errno, "cannot map the programs' notes: %m");
	}
	*out = n;
	return 0;
}

void notes_free(struct notes *n)
{
	if (!n)
		return;
	ring_buffer__free(n->ring);
	free(n);
}

int notes_fd(const struct notes *n)
{
	return ring_buffer__epoll_fd(n->ring);
}

void notes_each(struct notes *n, void (*fn)(void *arg, const struct abi_note *note), void *arg)
{
	__u64 lost = __atomic_load_n(n->lost, __ATOMIC_ACQUIRE);

	n->fn = fn;
	n->arg = arg;
	(void)ring_buffer__consume(n->ring);
	if (lost == n->known_lost)
		return;
	n->known_lost = lost;
	fn(arg, &(struct abi_note){ .kind = ABI_NOTE_LOST });
}

int notes_owner_begin(struct notes *n, pid_t tgid)
{
	__u32 key = (__u32)tgid, since = 0;

	if (!bpf_map_update_elem(n->clients, &key, &since, BPF_NOEXIST) || errno == EEXIST)
		return 0;
	return -errno;
}

void notes_owner_end(struct notes *n, pid_t tgid)
{
	__u32 key = (__u32)tgid;

	(void)bpf_map_delete_elem(n->clients, &key);
}

bool notes_owner_execed(const struct notes *n, pid_t tgid)
{
	__u32 key = (__u32)tgid, since = 0;

	return !bpf_map_lookup_elem(n->clients, &key, &since) && since;
}
