/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notes from the programs.  A note is in the ring before the process that caused it continues.  The
 * daemon empties the ring before each request, so its answers agree with the order of events.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "loader/base/base.h"
#include "notes.h"

#define WRITING_NS 2000000u

struct notes {
	struct notes_place place;
	struct ring_buffer *ring, *execs;
	__u64 known_lost, known_execs_lost, execs_read;
	void (*fn)(void *arg, const struct abi_note *note);
	void (*exec_fn)(void *arg, const struct abi_exec *exec);
	void *arg, *exec_arg;
};

static int notes_on_note(void *ctx, void *data, size_t size)
{
	struct notes *n = ctx;
	struct abi_note note;

	if (size != sizeof(note))
		return 0;
	memcpy(&note, data, sizeof(note));
	n->fn(n->arg, &note);
	return 0;
}

static int notes_on_exec(void *ctx, void *data, size_t size)
{
	struct notes *n = ctx;
	struct abi_exec exec;

	if (size != sizeof(exec))
		return 0;
	n->execs_read++;
	memcpy(&exec, data, sizeof(exec));
	n->exec_fn(n->exec_arg, &exec);
	return 0;
}

unsigned int notes_execs_size(unsigned int ncpu)
{
	unsigned int size = 2 * ABI_EXECS_SIZE;

	while (size < ncpu * ABI_EXECS_SIZE)
		size *= 2;
	return size;
}

int notes_new(const struct notes_place *place, struct notes **out, struct reason *why)
{
	struct notes *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->place = *place;
	n->ring = ring_buffer__new(place->ring, notes_on_note, n, NULL);
	n->execs = n->ring ? ring_buffer__new(place->execs, notes_on_exec, n, NULL) : NULL;
	if (!n->execs) {
		int err = deny(why, -errno, "cannot map the programs' notes: %m");

		notes_free(n);
		return err;
	}
	*out = n;
	return 0;
}

void notes_free(struct notes *n)
{
	if (!n)
		return;
	ring_buffer__free(n->execs);
	ring_buffer__free(n->ring);
	free(n);
}

int notes_fd(const struct notes *n)
{
	return ring_buffer__epoll_fd(n->ring);
}

void notes_each(struct notes *n, void (*fn)(void *arg, const struct abi_note *note), void *arg)
{
	__u64 lost = __atomic_load_n(n->place.lost, __ATOMIC_ACQUIRE);

	n->fn = fn;
	n->arg = arg;
	(void)ring_buffer__consume(n->ring);
	if (lost == n->known_lost)
		return;
	n->known_lost = lost;
	fn(arg, &(struct abi_note){ .kind = ABI_NOTE_LOST });
}

static void notes_exec_passes(void *arg, const struct abi_exec *exec)
{
}

void notes_watch_execs(struct notes *n, bool on)
{
	/* Drops old notes: no later note completes them. */
	if (on)
		(void)notes_execs(n, notes_exec_passes, NULL);
	__atomic_store_n(n->place.watch_execs, on, __ATOMIC_SEQ_CST);
}

int notes_execs_fd(const struct notes *n)
{
	return ring_buffer__epoll_fd(n->execs);
}

/*
 * The ring's reader stops at a note that is still being written and cannot see later ones.  Writing
 * takes well below a microsecond, unless a hypervisor takes the CPU away in the middle.
 */
int notes_execs(struct notes *n, void (*fn)(void *arg, const struct abi_exec *exec), void *arg)
{
	__u64 put = __atomic_load_n(n->place.execs_put, __ATOMIC_ACQUIRE), lost;
	uint64_t end = clock_ns() + WRITING_NS;
	bool all;

	n->exec_fn = fn;
	n->exec_arg = arg;
	do {
		(void)ring_buffer__consume(n->execs);
		lost = __atomic_load_n(n->place.execs_lost, __ATOMIC_ACQUIRE);
		all = n->execs_read + lost >= put;
	} while (!all && clock_ns() < end && !sched_yield());
	if (lost != n->known_execs_lost) {
		n->known_execs_lost = lost;
		return -ENOSPC;
	}
	return all ? 0 : -EAGAIN;
}

int notes_owner_begin(struct notes *n, pid_t tgid)
{
	__u32 key = (__u32)tgid, since = 0;

	if (!bpf_map_update_elem(n->place.clients, &key, &since, BPF_NOEXIST) || errno == EEXIST)
		return 0;
	return -errno;
}

void notes_owner_end(struct notes *n, pid_t tgid)
{
	__u32 key = (__u32)tgid;

	(void)bpf_map_delete_elem(n->place.clients, &key);
}

bool notes_owner_execed(const struct notes *n, pid_t tgid)
{
	__u32 key = (__u32)tgid, since = 0;

	return !bpf_map_lookup_elem(n->place.clients, &key, &since) && since;
}
