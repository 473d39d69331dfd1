/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the perf buffers of all CPUs.  Events are copied out and sorted by time: they are few
 * beside samples.  An exec comes in pieces: a new name, then the mappings of the executable, of
 * its dynamic linker and, last, of the vdso.  It is delivered once it is whole.
 *
 * The pieces of a target's exec wait for the programs' verdict (execs.h), which follows the last
 * piece.  All later events wait with them for a moment, then only those of the process: it runs no
 * user code meanwhile, so no sample needs them.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "loader/kernel/kernel.h"
#include "execs.h"
#include "loader/base/base.h"
#include "process_events.h"
#include "threads.h"

#define TRAILER	  24u		/* bytes of TID, TIME and CPU behind every record */
#define EXEC_NS	  20000000u	/* longest wait for the pieces of an exec */
#define JUDGE_NS  40000000u	/* the process alone waits longer, for the verdict */
#define HELD_MAX  4096u		/* events that wait with their process */
#define TEXTS_MAX 65536u	/* bytes of texts; more are packed */

struct cpu_buffer {
	int fd;
	uint32_t downs;			/* of the CPU, when it was opened */
	struct perf_event_mmap_page *page;
};

struct stored {
	struct proc_event e;
	uint32_t order;			/* as read: equal times stay in order */
	uint32_t text;			/* offset in `texts` */
	bool whole;			/* an exec whose pieces have been found */
	bool held;			/* its process waits for a verdict */
};

struct process_events {
	struct engine *engine;
	struct execs execs;
	struct threads threads;
	unsigned int ncpu;
	int epoll;
	size_t page_size;
	struct stored *events;
	size_t n, room, next;
	uint32_t order;
	char *texts;
	size_t texts_len, texts_room;
	bool started;			/* it has been read */
	bool failed;			/* no memory: an event was lost */
	bool unread;			/* some notes of execs could not be read yet */
	struct cpu_buffer cpu[];
};

static int cpu_open(struct process_events *p, unsigned int cpu)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct cpu_buffer *b = &p->cpu[cpu];
	void *map;

	b->fd = perf_open_life(cpu);
	if (b->fd < 0)
		return b->fd;
	map = mmap(NULL, p->page_size + PERF_LIFE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd,
		   0);
	if (map == MAP_FAILED)
		return -errno;
	b->page = map;
	return epoll_ctl(p->epoll, EPOLL_CTL_ADD, b->fd, &e) ? -errno : 0;
}

static void cpu_close(struct process_events *p, struct cpu_buffer *b)
{
	if (b->page)
		munmap(b->page, p->page_size + PERF_LIFE_BYTES);
	if (b->fd >= 0)
		close(b->fd);
	b->page = NULL;
	b->fd = -1;
}

int process_events_new(struct engine *e, struct process_events **out, struct reason *why)
{
	unsigned int ncpu = e->ncpu;
	struct process_events *p = calloc(1, sizeof(*p) + ncpu * sizeof(p->cpu[0]));
	struct epoll_event execs = { .events = EPOLLIN };
	int err;

	if (!p)
		return deny(why, -ENOMEM, "no memory to watch processes");
	p->engine = e;
	execs_init(&p->execs);
	threads_init(&p->threads);
	p->ncpu = ncpu;
	p->page_size = (size_t)sysconf(_SC_PAGESIZE);
	for (unsigned int cpu = 0; cpu < ncpu; cpu++)
		p->cpu[cpu].fd = -1;
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll < 0 ||
	    epoll_ctl(p->epoll, EPOLL_CTL_ADD, notes_execs_fd(e->notes), &execs)) {
		err = deny(why, -errno, "cannot watch processes: %m");
		process_events_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void process_events_free(struct process_events *p)
{
	if (!p)
		return;
	for (unsigned int cpu = 0; cpu < p->ncpu; cpu++)
		cpu_close(p, &p->cpu[cpu]);
	if (p->epoll >= 0)
		close(p->epoll);
	execs_clear(&p->execs);
	threads_clear(&p->threads);
	free(p->events);
	free(p->texts);
	free(p);
}

struct threads *process_events_threads(struct process_events *p)
{
	return &p->threads;
}

int process_events_fd(const struct process_events *p)
{
	return p->epoll;
}

/* --- storing ---------------------------------------------------------------------------------- */

static uint32_t text_store(struct process_events *p, const char *text, size_t max)
{
	size_t len = strnlen(text, max < PROC_TEXT - 1 ? max : PROC_TEXT - 1);
	uint32_t at = (uint32_t)p->texts_len;

	if (array_reserve(p->texts, p->texts_room, p->texts_len + len + 1) != 0) {
		p->failed = true;
		return 0;
	}
	memcpy(p->texts + at, text, len);
	p->texts[at + len] = '\0';
	p->texts_len += len + 1;
	return at;
}

static struct stored *event_store(struct process_events *p, enum proc_what what, uint64_t time,
				  pid_t pid, pid_t tid)
{
	struct stored *s;

	if (array_reserve(p->events, p->room, p->n + 1) != 0) {
		p->failed = true;
		return NULL;
	}
	s = &p->events[p->n++];
	*s = (struct stored){
		.e = { .what = what, .time = time, .pid = pid, .tid = tid },
		.order = p->order++, .text = text_store(p, "", 0),
	};
	return s;
}

/* --- records --------------------------------------------------------------------------------- */

struct mmap2_head {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint8_t id_len, reserved[3];	/* or device and inode */
	uint8_t id[20];
	uint32_t prot, flags;
};

static void record_mmap(struct process_events *p, uint64_t time, const uint8_t *body, size_t len,
			bool has_id)
{
	struct mmap2_head h;
	const char *file = (const char *)body + sizeof(h);
	struct stored *s;

	if (len < sizeof(h) + 1)
		return;
	memcpy(&h, body, sizeof(h));
	/* The kernel's own mappings (modules) have pid -1. */
	s = event_store(p, PROC_MAP, time, (pid_t)h.pid, (pid_t)h.tid);
	if (!s)
		return;
	s->e.addr = h.addr - ((int32_t)h.pid >= 0 ? h.pgoff : 0);
	s->e.len = h.len + (h.addr - s->e.addr);
	if (has_id)
		buildid_set(&s->e.id, h.id, h.id_len);
	s->text = text_store(p, file, len - sizeof(h));
	if (!file_is_image(p->texts + s->text))
		s->e.what = PROC_NOTHING;
	else if (!strcmp(p->texts + s->text, "[vdso]"))
		buildid_of_vdso(&s->e.id, h.addr);
	else if (p->engine->mapped)
		p->engine->mapped(p->engine->mapped_arg, (pid_t)h.pid, h.addr, p->texts + s->text);
}

struct task_body {
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

static void record_task(struct process_events *p, uint32_t type, uint64_t time, const uint8_t *body,
			size_t len)
{
	bool fork = type == PERF_RECORD_FORK, process;
	struct task_body t;
	struct stored *s;

	if (len < sizeof(t))
		return;
	memcpy(&t, body, sizeof(t));
	process = t.pid == t.tid;
	s = event_store(p, fork ? process ? PROC_FORK : PROC_THREAD :
			process ? PROC_EXIT : PROC_THREAD_EXIT,
			time, (pid_t)t.pid, (pid_t)t.tid);
	if (s && fork) {
		s->e.other = (pid_t)(t.ppid ?: ABI_PID_OUTSIDE);
		s->e.creator = (pid_t)t.ptid;
	}
}

/* A pid, a tid and the new name, which another thread of the process may have set. */
static void record_comm(struct process_events *p, bool exec, uint64_t time, const uint8_t *body,
			size_t len)
{
	uint32_t ids[2];
	struct stored *s;

	if (len < sizeof(ids) + PROC_COMM / 2)
		return;
	memcpy(ids, body, sizeof(ids));
	len -= sizeof(ids);
	s = event_store(p, exec ? PROC_EXEC : PROC_NAME, time, (pid_t)ids[0], (pid_t)ids[1]);
	if (s)
		memcpy(s->e.comm, body + sizeof(ids), len < PROC_COMM ? len : PROC_COMM - 1);
}

static void record_read(struct process_events *p, const struct perf_event_header *h,
			const uint8_t *record)
{
	const uint8_t *body = record + sizeof(*h);
	size_t len = h->size - sizeof(*h);
	uint64_t time;
	uint32_t pid;

	if (len < TRAILER + sizeof(pid))
		return;
	len -= TRAILER;
	memcpy(&pid, body, sizeof(pid));
	memcpy(&time, body + len + 8, sizeof(time));
	/* The process is outside of the daemon's PID namespace. */
	if (h->type != PERF_RECORD_LOST && !pid)
		return;
	switch (h->type) {
	case PERF_RECORD_COMM:
		record_comm(p, h->misc & PERF_RECORD_MISC_COMM_EXEC, time, body, len);
		break;
	case PERF_RECORD_MMAP2:
		record_mmap(p, time, body, len, h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		record_task(p, h->type, time, body, len);
		break;
	case PERF_RECORD_LOST:
		(void)event_store(p, PROC_LOST, time, 0, 0);
		break;
	default:
		break;
	}
}

/* A record that wraps around the end of the buffer is copied. */
static const uint8_t *record_whole(const uint8_t *data, uint64_t at, size_t size, uint8_t *copy)
{
	size_t offset = at % PERF_LIFE_BYTES, first = PERF_LIFE_BYTES - offset;

	if (size <= first)
		return data + offset;
	memcpy(copy, data + offset, first);
	memcpy(copy + first, data, size - first);
	return copy;
}

static void cpu_drain(struct process_events *p, struct cpu_buffer *b)
{
	const uint8_t *data = (const uint8_t *)b->page + p->page_size;
	uint64_t tail = b->page->data_tail;
	uint64_t head = __atomic_load_n(&b->page->data_head, __ATOMIC_ACQUIRE);
	uint8_t copy[65536];

	while (tail + sizeof(struct perf_event_header) <= head) {
		struct perf_event_header h;

		/* Records are multiples of 8 bytes, so that a header is never broken. */
		memcpy(&h, data + tail % PERF_LIFE_BYTES, sizeof(h));
		if (h.size < sizeof(h) || tail + h.size > head)
			break;
		record_read(p, &h, record_whole(data, tail, h.size, copy));
		tail += h.size;
	}
	__atomic_store_n(&b->page->data_tail, tail, __ATOMIC_RELEASE);
}

int process_events_cpu(struct process_events *p, unsigned int cpu, bool here, uint32_t downs)
{
	struct cpu_buffer *b = &p->cpu[cpu];
	int err;

	if (b->page && b->downs != downs) {
		cpu_drain(p, b);
		cpu_close(p, b);
	}
	if (b->page || !here)
		return 0;
	err = cpu_open(p, cpu);
	b->downs = downs;
	/* Earlier events of this CPU are not known. */
	if (p->started)
		p->failed = true;
	if (err)
		cpu_close(p, b);
	return err == -ENODEV || err == -ENXIO ? 0 : err;
}

static int event_compare(const void *a, const void *b)
{
	const struct stored *x = a, *y = b;

	if (x->e.time != y->e.time)
		return x->e.time < y->e.time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* --- reading --------------------------------------------------------------------------------- */

/* A set-id exec removes the kernel's events from the process, which perf reports as an exit. */
static void exits_take_back(struct process_events *p, size_t from, size_t to, pid_t pid)
{
	for (size_t i = from; i < to; i++)
		if (p->events[i].e.pid == pid && p->events[i].e.what == PROC_EXIT)
			p->events[i].e.what = PROC_NOTHING;
}

/* For an exec that lost its CPU before it mapped anything: its file is known by now. */
static bool exec_ask_path(struct process_events *p, struct stored *s)
{
	char path[PROC_TEXT];

	if (!file_executable(s->e.pid, path, sizeof(path)))
		return false;
	s->text = text_store(p, path, sizeof(path));
	s->e.asked = true;
	return true;
}

/* Looks for the pieces of an exec behind it.  False: some are missing, and may still come. */
static bool exec_complete(struct process_events *p, size_t at, uint64_t horizon)
{
	struct stored *s = &p->events[at];
	bool path = false, linker = false;

	for (size_t i = at + 1; i < p->n; i++) {
		const struct stored *m = &p->events[i];
		const char *file = p->texts + m->text;

		if (m->e.pid != s->e.pid || m->e.what == PROC_NOTHING ||
		    (!path && m->e.what == PROC_EXIT))
			continue;
		if (!path && m->e.what == PROC_MAP)
			exits_take_back(p, at + 1, i, s->e.pid);
		/* It runs by now, or only the verdict is missing. */
		if (m->e.what != PROC_MAP || !strcmp(file, "[vdso]"))
			return s->whole =
				execs_entry(&p->execs, s->e.pid, s->e.time, &s->e.entry) ||
				m->e.what != PROC_MAP || horizon - s->e.time > EXEC_NS;
		if (!path) {
			s->text = m->text;
			s->e.len = m->e.addr;
			path = true;
		} else if (!linker) {
			s->e.addr = m->e.addr;
			linker = true;
		}
	}
	if (horizon - s->e.time <= EXEC_NS)
		return false;
	/* If the process has just exited, the next pass has more of it. */
	s->whole = path || exec_ask_path(p, s) || horizon - s->e.time > 2 * EXEC_NS;
	return s->whole;
}

/* Gives back the texts of delivered events; an exec shares the text of a mapping. */
static void texts_pack(struct process_events *p)
{
	size_t len = 0, size;
	char *texts;

	for (size_t i = 0; i < p->n; i++)
		len += strlen(p->texts + p->events[i].text) + 1;
	texts = malloc(len);
	if (!texts)
		return;
	p->texts_room = len;
	len = 0;
	for (size_t i = 0; i < p->n; i++) {
		size = strlen(p->texts + p->events[i].text) + 1;
		memcpy(texts + len, p->texts + p->events[i].text, size);
		p->events[i].text = (uint32_t)len;
		len += size;
	}
	p->texts_len = len;
	free(p->texts);
	p->texts = texts;
}

/* Drops delivered events. */
static void events_forget(struct process_events *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++)
		if (i >= p->next || p->events[i].held)
			p->events[kept++] = p->events[i];
	p->n = kept;
	p->next = 0;
	if (!p->n)
		p->texts_len = 0;
	else if (p->texts_len > TEXTS_MAX)
		texts_pack(p);
}

/* --- execs of targets ------------------------------------------------------------------------ */

static void exec_note_read(void *arg, const struct abi_exec *exec)
{
	struct process_events *p = arg;

	execs_note(&p->execs, exec);
}

static void exec_notes_read(struct process_events *p)
{
	int err = notes_execs(p->engine->notes, exec_note_read, p);

	p->execs.blind |= err == -ENOSPC;
	p->unread = err == -EAGAIN;
}

static bool pid_is_target(const struct process_events *p, pid_t pid)
{
	struct abi_target t;

	return !target_map_get(p->engine, (uint32_t)pid, &t) && !(t.state & ABI_STATE_EXIT);
}

static bool exec_takes_long(const struct exec *e, uint64_t horizon)
{
	return horizon > e->time && horizon - e->time > JUDGE_NS;
}

static bool exec_store_secure(struct process_events *p, pid_t pid, uint64_t time)
{
	return event_store(p, PROC_SECURE, time - 1, pid, pid);
}

/*
 * Runs after the buffers have been read: the notes include the beginning of every exec in them.  A
 * process that was no target before the notes were read and has no verdict after it gets none: it
 * was killed in the exec, or detached.
 */
static void execs_judge(struct process_events *p, uint64_t horizon)
{
	struct exec *e, *next = NULL;

	LIST_FOREACH(e, &p->execs.all, in_all)
		e->left = !e->secure && exec_takes_long(e, horizon) && !pid_is_target(p, e->pid);
	exec_notes_read(p);
	if (p->execs.blind && exec_store_secure(p, 0, 1))
		execs_clear(&p->execs);
	for (e = LIST_FIRST(&p->execs.all); e; e = next) {
		next = LIST_NEXT(e, in_all);
		e->secure |= e->left && !p->unread;
		if (e->secure && exec_store_secure(p, e->pid, e->time))
			execs_drop(e);
	}
}

/* Nothing is delivered while a note is missing or there is no memory for its event. */
static uint64_t execs_judged_until(const struct process_events *p, uint64_t horizon)
{
	uint64_t until = p->execs.blind || p->unread ? 0 : horizon;
	const struct exec *e;

	LIST_FOREACH(e, &p->execs.all, in_all)
		if ((e->secure || !exec_takes_long(e, horizon)) && e->time - 1 < until)
			until = e->time - 1;
	return until;
}

/* An exec has few events; those beyond the limit become a gap in the process's logs. */
static void events_hold_back(struct process_events *p)
{
	unsigned int held = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct stored *s = &p->events[i];

		s->held = s->e.what != PROC_SECURE &&
			  process_events_pending(p, s->e.pid, s->e.time);
		if (!s->held || ++held <= HELD_MAX)
			continue;
		s->held = false;
		s->e.what = PROC_LOST;
	}
}

bool process_events_pending(const struct process_events *p, pid_t pid, uint64_t time)
{
	const struct exec *e = LIST_EMPTY(&p->execs.all) ? NULL : execs_pending(&p->execs, pid);

	return e && e->time <= time;
}

bool process_events_any_pending(const struct process_events *p, uint64_t time)
{
	const struct exec *e;

	LIST_FOREACH(e, &p->execs.all, in_all)
		if (!e->secure && e->time <= time)
			return true;
	return false;
}

bool process_events_execs(struct process_events *p, pid_t pid, bool within)
{
	/* First: its verdict comes later, or is read below. */
	if (within)
		execs_suspect(&p->execs, pid);
	exec_notes_read(p);
	return within || p->execs.blind || p->unread || execs_knows(&p->execs, pid);
}

uint64_t process_events_collect(struct process_events *p, uint64_t horizon)
{
	p->started = true;
	if (p->next)
		events_forget(p);
	for (unsigned int cpu = 0; cpu < p->ncpu; cpu++)
		if (p->cpu[cpu].page)
			cpu_drain(p, &p->cpu[cpu]);
	execs_judge(p, horizon);
	horizon = execs_judged_until(p, horizon);
	events_hold_back(p);
	if (p->failed) {
		p->failed = false;
		(void)event_store(p, PROC_LOST, horizon, 0, 0);
	}
	if (p->n > 1)
		qsort(p->events, p->n, sizeof(p->events[0]), event_compare);
	for (size_t i = 0; i < p->n && p->events[i].e.time <= horizon; i++)
		if (p->events[i].e.what == PROC_EXEC && !p->events[i].whole &&
		    !p->events[i].held && !exec_complete(p, i, horizon))
			return p->events[i].e.time - 1;
	return horizon;
}

const struct proc_event *process_events_next(struct process_events *p, uint64_t until)
{
	struct stored *s;

	while (p->next < p->n && p->events[p->next].held && p->events[p->next].e.time <= until)
		p->next++;
	if (p->next == p->n || p->events[p->next].e.time > until)
		return NULL;
	s = &p->events[p->next++];
	s->e.text = p->texts + s->text;
	threads_event(&p->threads, &s->e);
	return &s->e;
}
