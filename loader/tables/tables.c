/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "loader/errand/errand.h"
#include "loader/kernel/kernel.h"
#include "loader/process/mappings_read.h"
#include "loader/unwind/unwind_worker.h"
#include "tables.h"

#define WORKER_MS 5000u			/* for a file that hangs, too */
#define PATH_NS	  500000000u		/* within which a file's path is known */
#define VISITS_AT_ONCE 16u		/* processes read in one turn of the event loop */
#define ASKS	       4096u

/* A file that waits for a worker, has one, or waits for its path. */
struct wanted {
	TAILQ_ENTRY(wanted) next;
	struct unwind_note note;
	struct unwind_note next_note;	/* of another process since then; file 0: none */
	char *path;			/* NULL: not known yet */
	bool tried;			/* … a worker had it */
	uint64_t until;			/* of the wait for the path, ns */
};
TAILQ_HEAD(wanted_list, wanted);

/* A worker's call. */
struct job {
	struct helper_task task;	/* first: a task is its job */
	struct tables *tables;
	struct wanted *w;
	int memory;
	bool busy;			/* until its answer has been read … */
	bool over;			/* … and its helper is free or has exited */
};

/* A process whose mappings are not known; tgid 0: none. */
struct ask {
	uint32_t pid, tgid;
};

struct tables {
	struct engine *engine;
	struct errands *errands;
	struct wanted_list wanted;
	struct wanted_list lost;	/* their processes ended before a worker opened them */
	struct job job[ERRANDS_OWN];
	unsigned int waiting;		/* files that are ASKED */
	struct ask ask[ASKS];		/* a process's place is its number modulo this */
	unsigned int asks, next_ask;	/* how many there are, and where to go on */
};

/* The argument of the job. */
struct tables_request {
	struct unwind_limits limits;
	int32_t pid;
	uint32_t device;
	uint64_t inode, changed;
	char path[];			/* "": it is not known */
};
#define REQUEST_PATH (HELPER_MAX_ARG - sizeof(struct tables_request))

/* --- in a helper ------------------------------------------------------------------------------ */

/* A file that has changed since it was mapped would give wrong rules. */
static bool file_is_the_same(int fd, const struct tables_request *q)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == q->inode &&
	       (uint64_t)st.st_ctim.tv_sec * NS_PER_S + (uint64_t)st.st_ctim.tv_nsec == q->changed;
}

/* Programs write code into files of memory, which therefore change. */
static bool file_is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	       !memcmp(magic, ELFMAG, sizeof(magic));
}

/* A path is another file in another namespace: only the very same one is opened. */
static int file_open_path(const struct tables_request *q, const char *path)
{
	int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -ESTALE;
	char link[32];
	struct stat st;

	if (file < 0)
		return -errno;
	if (!fstat(file, &st) && file_is_the_same(file, q) &&
	    mappings_device(major(st.st_dev), minor(st.st_dev)) == q->device) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
		fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		fd = fd < 0 ? -errno : fd;
	}
	close(file);
	return fd;
}

static int file_open(const struct tables_request *q, const char *path)
{
	int fd = mappings_read_open(q->pid, q->device, q->inode);

	if (fd >= 0 && !file_is_the_same(fd, q)) {
		const int err = file_is_elf(fd) ? -ESTALE : -ENOEXEC;

		close(fd);
		return err;
	}
	return fd < 0 && *path ? file_open_path(q, path) : fd;
}

int tables_job(struct helper_call *call)
{
	const char *path = (const char *)call->arg + sizeof(struct tables_request);
	struct tables_request q;
	int fds[2];

	if (call->len <= sizeof(q) || path[call->len - sizeof(q) - 1] || call->nfds != 1)
		return -EPROTO;
	memcpy(&q, call->arg, sizeof(q));
	fds[0] = file_open(&q, path);
	fds[1] = call->fds[0];
	if (fds[0] < 0)
		return fds[0];
	return unwind_worker_job(&(struct helper_call){
		.arg = &q.limits, .len = sizeof(q.limits), .fds = fds, .nfds = 2,
		.socket = call->socket,
	});
}

/* --- in the daemon ---------------------------------------------------------------------------- */

static void jobs_begin(struct tables *t);

/* The state that a worker's error leaves. */
static enum unwind_file_state state_of(int err)
{
	switch (err) {
	case -ENOENT: case -ESRCH: case -ESTALE: case -EACCES: case -EAGAIN:
		return UNWIND_FILE_NEW;
	case -ENOEXEC: case -ENODATA:
		return UNWIND_FILE_POINTERS;
	case -ENOMEM:
		return UNWIND_FILE_NO_ROOM;
	default:
		return UNWIND_FILE_REFUSED;
	}
}

/* The file is no longer ASKED. */
static void file_settle(struct tables *t, uint32_t file, int err, const char *why)
{
	if (err)
		unwinder_set_state(t->engine->unwinder, file, state_of(err));
	t->waiting--;
	DEBUG(t->engine->debug, SAMPLING, READ, "file %u: %s%s%s; %u files wait", file,
	      err ? strerror(-err) : "table", *why ? ": " : "", why, t->waiting);
}

static void wanted_end(struct tables *t, struct wanted *w, int err, const char *why)
{
	file_settle(t, w->note.file, err, why);
	free(w->path);
	free(w);
}

/* If the process is gone, the kernel's records have a path of the file, or will have it soon. */
static void wanted_again(struct tables *t, struct wanted *w, int err, const char *why)
{
	if (state_of(err) != UNWIND_FILE_NEW || (w->tried && !w->next_note.file)) {
		wanted_end(t, w, err, why);
	} else if (w->next_note.file) {
		w->note = w->next_note;
		w->next_note.file = 0;
		TAILQ_INSERT_HEAD(&t->wanted, w, next);
	} else if (w->path) {
		TAILQ_INSERT_HEAD(&t->wanted, w, next);
	} else {
		w->until = clock_ns() + PATH_NS;
		TAILQ_INSERT_TAIL(&t->lost, w, next);
		unwinder_call_again(t->engine->unwinder, PATH_NS);
	}
}

static void lost_expire(struct tables *t)
{
	const uint64_t now = TAILQ_EMPTY(&t->lost) ? 0 : clock_ns();
	struct wanted *w, *next;

	for (w = TAILQ_FIRST(&t->lost); w && w->until <= now; w = next) {
		next = TAILQ_NEXT(w, next);
		TAILQ_REMOVE(&t->lost, w, next);
		wanted_end(t, w, -ENOENT, "");
	}
	if (w)
		unwinder_call_again(t->engine->unwinder, w->until - now);
}

static void job_take(struct tables *t, struct job *j, int err)
{
	struct wanted *w = j->w;
	struct unwind_shared shared;
	struct reason why = { "" };

	if (!err)
		err = unwind_shared_open(&shared, j->memory, &why);
	if (!err) {
		err = unwinder_publish(t->engine->unwinder, w->note.file, &shared.table, &why);
		unwind_shared_close(&shared);
	}
	j->w = NULL;
	if (err)
		wanted_again(t, w, err, why.text);
	else
		wanted_end(t, w, 0, "");
}

static void job_on_ready(struct helper_task *task)
{
	struct job *j = (struct job *)task;
	struct tables *t = j->tables;
	struct helper_part part;

	for (;;) {
		switch (helper_read(t->errands->helpers, task, &part)) {
		case HELPER_PART:
			continue;
		case HELPER_LATER:
			return;
		case HELPER_END:
			job_take(t, j, task->result);
			close(j->memory);
			j->memory = -1;
			j->busy = false;
			jobs_begin(t);
			return;
		}
	}
}

static void job_on_over(struct helper_task *task)
{
	struct job *j = (struct job *)task;

	j->over = true;
	jobs_begin(j->tables);
}

static int job_begin(struct tables *t, struct job *j, struct wanted *w)
{
	const struct unwind_note *note = &w->note;
	const struct tables_request q = {
		.limits = UNWIND_LIMITS, .pid = (int32_t)note->pid, .device = note->key.device,
		.inode = note->key.inode, .changed = note->key.changed,
	};
	const size_t len = w->path ? strlen(w->path) : 0;
	uint8_t arg[HELPER_MAX_ARG];
	int err;

	memcpy(arg, &q, sizeof(q));
	memcpy(arg + sizeof(q), w->path ?: "", len + 1);
	w->tried = w->path != NULL;
	j->memory = unwind_shared_new();
	if (j->memory < 0)
		return j->memory;
	j->task = (struct helper_task){ .ready = job_on_ready, .over = job_on_over };
	j->w = w;
	j->busy = true;
	j->over = false;
	err = helper_start(t->errands->helpers, &j->task, ERRAND_TABLE, arg,
			   sizeof(q) + len + 1, &j->memory, 1, WORKER_MS);
	if (err) {
		close(j->memory);
		j->memory = -1;
		j->busy = false;
		j->over = true;
		j->w = NULL;
	}
	return err;
}

static void jobs_begin(struct tables *t)
{
	for (unsigned int i = 0; i < ERRANDS_OWN; i++) {
		struct wanted *w = TAILQ_FIRST(&t->wanted);

		if (!w)
			return;
		if (t->job[i].busy || !t->job[i].over)
			continue;
		TAILQ_REMOVE(&t->wanted, w, next);
		if (job_begin(t, &t->job[i], w))
			wanted_end(t, w, -EAGAIN, "");
	}
}

/* Another process has mapped it: it may be there when the first one is gone. */
static void wanted_note(struct wanted *w, const struct unwind_note *note)
{
	if (w && w->note.file == note->file)
		w->next_note = *note;
}

static void file_noted_again(struct tables *t, const struct unwind_note *note)
{
	struct wanted *w, *next;

	TAILQ_FOREACH(w, &t->wanted, next)
		wanted_note(w, note);
	for (unsigned int i = 0; i < ERRANDS_OWN; i++)
		wanted_note(t->job[i].w, note);
	for (w = TAILQ_FIRST(&t->lost); w; w = next) {
		next = TAILQ_NEXT(w, next);
		if (w->note.file != note->file)
			continue;
		TAILQ_REMOVE(&t->lost, w, next);
		w->note = *note;
		TAILQ_INSERT_TAIL(&t->wanted, w, next);
	}
}

static void file_wanted(struct tables *t, const struct unwind_note *note)
{
	const enum unwind_file_state state = unwinder_state(t->engine->unwinder, note->file);
	struct wanted *w;

	if (note->file >= UNWIND_FILE_FIRST && state == UNWIND_FILE_ASKED)
		file_noted_again(t, note);
	if (note->file < UNWIND_FILE_FIRST || state != UNWIND_FILE_NEW)
		return;
	w = calloc(1, sizeof(*w));
	if (!w)
		return;
	w->note = *note;
	unwinder_set_state(t->engine->unwinder, note->file, UNWIND_FILE_ASKED);
	TAILQ_INSERT_TAIL(&t->wanted, w, next);
	t->waiting++;
	DEBUG(t->engine->debug, SAMPLING, READ, "file %u is wanted; %u files wait", note->file,
	      t->waiting);
}

/* Each sample asks again: one that finds the place taken has another chance. */
static void process_wanted(struct tables *t, const struct unwind_note *note)
{
	struct ask *a = &t->ask[note->tgid % ASKS];

	if (a->tgid || !note->tgid)
		return;
	*a = (struct ask){ .pid = note->pid, .tgid = note->tgid };
	t->asks++;
}

static void processes_visit(struct tables *t)
{
	for (unsigned int n = 0; t->asks && n < VISITS_AT_ONCE; t->next_ask++) {
		struct ask *a = &t->ask[t->next_ask % ASKS];

		if (!a->tgid)
			continue;
		(void)unwinder_visit(t->engine->unwinder, a->pid, a->tgid);
		a->tgid = 0;
		t->asks--;
		n++;
	}
	if (t->asks)
		unwinder_call_again(t->engine->unwinder, 1);
}

static void tables_on_note(void *arg, const struct unwind_note *note)
{
	struct tables *t = arg;

	if (note->kind == UNWIND_NOTE_FILE)
		file_wanted(t, note);
	else if (note->kind == UNWIND_NOTE_PROCESS)
		process_wanted(t, note);
}

/* The kernel's own pages, which this process has as well. */
static void vdso_publish(struct tables *t)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_table table;
	struct reason why;
	Elf64_Ehdr head;
	int err;

	if (!image)
		return;
	memcpy(&head, image, sizeof(head));
	err = unwind_table_build(&table, &(struct unwind_input){
		.fd = -1, .memory = image, .vdso = true,
		.size = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize,
	}, &why);
	if (!err) {
		err = unwinder_publish(t->engine->unwinder, UNWIND_FILE_VDSO, &table, &why);
		unwind_table_free(&table);
	}
	if (err)
		unwinder_set_state(t->engine->unwinder, UNWIND_FILE_VDSO, UNWIND_FILE_POINTERS);
}

void tables_run(struct tables *t)
{
	if (programs_needed(t->engine->programs, NEED_MAPPINGS) &&
	    unwinder_state(t->engine->unwinder, UNWIND_FILE_VDSO) == UNWIND_FILE_NEW)
		vdso_publish(t);
	unwinder_notes(t->engine->unwinder, tables_on_note, t);
	lost_expire(t);
	processes_visit(t);
	jobs_begin(t);
}

static void wanted_name(struct wanted *w, pid_t pid, uint64_t start, const char *path)
{
	if (w && !w->path && (((pid_t)w->note.pid == pid && w->note.start == start) ||
			      (w->next_note.file && (pid_t)w->next_note.pid == pid &&
			       w->next_note.start == start)))
		w->path = strdup(path);
}

/* The kernel's record of a mapping: workers open that path if the process is gone. */
static void tables_on_mapped(void *arg, pid_t pid, uint64_t start, const char *path)
{
	struct tables *t = arg;
	struct wanted *w, *next;

	if (!t->waiting || *path != '/' || strlen(path) >= REQUEST_PATH)
		return;
	TAILQ_FOREACH(w, &t->wanted, next)
		wanted_name(w, pid, start, path);
	for (unsigned int i = 0; i < ERRANDS_OWN; i++)
		wanted_name(t->job[i].w, pid, start, path);
	for (w = TAILQ_FIRST(&t->lost); w; w = next) {
		next = TAILQ_NEXT(w, next);
		wanted_name(w, pid, start, path);
		if (!w->path)
			continue;
		TAILQ_REMOVE(&t->lost, w, next);
		TAILQ_INSERT_TAIL(&t->wanted, w, next);
	}
	jobs_begin(t);
}

void tables_learn(struct tables *t, pid_t pid)
{
	const struct engine *e = t->engine;

	/* In another PID namespace the programs have other numbers: they ask at a sample. */
	if (!programs_needed(e->programs, NEED_MAPPINGS) || programs_nested(e->programs))
		return;
	(void)unwinder_visit(e->unwinder, (uint32_t)pid, (uint32_t)pid);
	tables_run(t);
}

int tables_new(struct engine *e, struct errands *es, unsigned int mb, struct tables **out,
	       struct reason *why)
{
	struct tables *t = calloc(1, sizeof(*t));

	if (!t)
		return deny(why, -ENOMEM, "no memory for unwinding");
	t->engine = e;
	t->errands = es;
	unwinder_limit(e->unwinder, mb);
	e->mapped = tables_on_mapped;
	e->mapped_arg = t;
	TAILQ_INIT(&t->wanted);
	TAILQ_INIT(&t->lost);
	for (unsigned int i = 0; i < ERRANDS_OWN; i++) {
		t->job[i].tables = t;
		t->job[i].memory = -1;
		t->job[i].over = true;
	}
	*out = t;
	return 0;
}

static void wanted_forget(struct tables *t)
{
	struct wanted *w;

	while ((w = TAILQ_FIRST(&t->wanted))) {
		TAILQ_REMOVE(&t->wanted, w, next);
		TAILQ_INSERT_TAIL(&t->lost, w, next);
	}
	while ((w = TAILQ_FIRST(&t->lost))) {
		TAILQ_REMOVE(&t->lost, w, next);
		free(w->path);
		free(w);
	}
}

void tables_stop(struct tables *t)
{
	if (!t)
		return;
	t->engine->mapped = NULL;
	wanted_forget(t);
}

void tables_free(struct tables *t)
{
	if (!t)
		return;
	wanted_forget(t);
	for (unsigned int i = 0; t && i < ERRANDS_OWN; i++) {
		if (t->job[i].memory >= 0)
			close(t->job[i].memory);
		if (t->job[i].w)
			free(t->job[i].w->path);
		free(t->job[i].w);
	}
	free(t);
}

int tables_fd(const struct tables *t)
{
	return unwinder_fd(t->engine->unwinder);
}
