/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/errand/errand.h"
#include "loader/kernel/kernel.h"
#include "loader/process/mappings_read.h"
#include "loader/unwind/unwind_worker.h"
#include "tables.h"

#define WORKER_MS 5000u			/* for a file that hangs, too */
#define VISITS_AT_ONCE 16u		/* processes read in one turn of the event loop */

/* A file that waits for a worker. */
struct wanted {
	TAILQ_ENTRY(wanted) next;
	struct unwind_note note;
};
TAILQ_HEAD(wanted_list, wanted);

/* A worker's call. */
struct job {
	struct helper_task task;	/* first: a task is its job */
	struct tables *tables;
	uint32_t file;
	int memory;
	bool busy;			/* until its answer has been read … */
	bool over;			/* … and its helper is free or has exited */
};

struct tables {
	struct engine *engine;
	struct errands *errands;
	struct wanted_list wanted;
	struct job job[ERRANDS_OWN];
	unsigned int waiting;		/* files that are ASKED */
	unsigned int visits;		/* in this turn */
};

/* The argument of the job. */
struct tables_request {
	struct unwind_limits limits;
	int32_t pid;
	uint32_t device;
	uint64_t inode, changed;
};

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

int tables_job(struct helper_call *call)
{
	struct tables_request q;
	int fds[2];

	if (call->len != sizeof(q) || call->nfds != 1)
		return -EPROTO;
	memcpy(&q, call->arg, sizeof(q));
	fds[0] = mappings_read_open(q.pid, q.device, q.inode);
	fds[1] = call->fds[0];
	if (fds[0] < 0)
		return fds[0];
	if (!file_is_the_same(fds[0], &q)) {
		const int err = file_is_elf(fds[0]) ? -ESTALE : -ENOEXEC;

		close(fds[0]);
		return err;
	}
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

static void job_take(struct tables *t, struct job *j, int err)
{
	struct unwind_shared shared;
	struct reason why = { "" };

	if (!err)
		err = unwind_shared_open(&shared, j->memory, &why);
	if (!err) {
		err = unwinder_publish(t->engine->unwinder, j->file, &shared.table, &why);
		unwind_shared_close(&shared);
	}
	file_settle(t, j->file, err, why.text);
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

static int job_begin(struct tables *t, struct job *j, const struct unwind_note *note)
{
	const struct tables_request q = {
		.limits = UNWIND_LIMITS, .pid = (int32_t)note->pid, .device = note->key.device,
		.inode = note->key.inode, .changed = note->key.changed,
	};
	int err;

	j->memory = unwind_shared_new();
	if (j->memory < 0)
		return j->memory;
	j->task = (struct helper_task){ .ready = job_on_ready, .over = job_on_over };
	j->file = note->file;
	j->busy = true;
	j->over = false;
	err = helper_start(t->errands->helpers, &j->task, ERRAND_TABLE, &q, sizeof(q), &j->memory,
			   1, WORKER_MS);
	if (err) {
		close(j->memory);
		j->memory = -1;
		j->busy = false;
		j->over = true;
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
		if (job_begin(t, &t->job[i], &w->note))
			file_settle(t, w->note.file, -EAGAIN, "");
		free(w);
	}
}

static void file_wanted(struct tables *t, const struct unwind_note *note)
{
	struct wanted *w;

	if (note->file < UNWIND_FILE_FIRST ||
	    unwinder_state(t->engine->unwinder, note->file) != UNWIND_FILE_NEW)
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

static void tables_on_note(void *arg, const struct unwind_note *note)
{
	struct tables *t = arg;

	if (note->kind == UNWIND_NOTE_FILE)
		file_wanted(t, note);
	else if (note->kind == UNWIND_NOTE_PROCESS && t->visits++ < VISITS_AT_ONCE)
		(void)unwinder_visit(t->engine->unwinder, note->pid, note->tgid);
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
	if (unwinder_state(t->engine->unwinder, UNWIND_FILE_VDSO) == UNWIND_FILE_NEW)
		vdso_publish(t);
	t->visits = 0;
	unwinder_notes(t->engine->unwinder, tables_on_note, t);
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
	TAILQ_INIT(&t->wanted);
	for (unsigned int i = 0; i < ERRANDS_OWN; i++) {
		t->job[i].tables = t;
		t->job[i].memory = -1;
		t->job[i].over = true;
	}
	*out = t;
	return 0;
}

void tables_stop(struct tables *t)
{
	struct wanted *w;

	while (t && (w = TAILQ_FIRST(&t->wanted))) {
		TAILQ_REMOVE(&t->wanted, w, next);
		free(w);
	}
}

void tables_free(struct tables *t)
{
	for (unsigned int i = 0; t && i < ERRANDS_OWN; i++)
		if (t->job[i].memory >= 0)
			close(t->job[i].memory);
	free(t);
}

int tables_fd(const struct tables *t)
{
	return unwinder_fd(t->engine->unwinder);
}
