/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine.h"
#include "unwinder.h"
#include "pmcbpf.skel.h"

#define CHUNK_BYTES (UNWIND_CHUNK_WORDS * sizeof(uint32_t))
#define FILES_BYTES (UNWIND_FILES * sizeof(struct unwind_file))
#define GROW_MIN    8u			/* chunks made at once */
#define VISITS	    4			/* readings of a process whose mappings keep changing */

struct chunk {
	int fd;
	uint32_t *words;
	uint32_t used;			/* words from the start on that are taken, or were … */
	uint32_t live;			/* … and how many of them still are */
};

/* The daemon's part of a file with a table. */
struct placed {
	uint32_t words;			/* of pages and rules, in the file's own chunk */
	uint32_t npages;
};

struct unwinder {
	struct engine *e;
	struct ring_buffer *ring;
	int again;			/* a timer, beside the ring */
	volatile struct unwind_file *files;
	struct placed placed[UNWIND_FILES];
	struct chunk chunk[UNWIND_CHUNKS_MAX];
	unsigned int nchunks, limit;
	uint64_t turns;
	void (*note)(void *arg, const struct unwind_note *note);
	void *arg;
};

static int unwinder_on_note(void *ctx, void *data, size_t size)
{
	const struct unwinder *u = ctx;
	struct unwind_note note;

	if (size != sizeof(note))
		return 0;
	memcpy(&note, data, sizeof(note));
	if (note.file < UNWIND_FILES && u->note)
		u->note(u->arg, &note);
	return 0;
}

int unwinder_new(struct engine *e, struct unwinder **out, struct reason *why)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	struct epoll_event event = { .events = EPOLLIN };
	void *files;

	if (!u)
		return deny(why, -ENOMEM, "no memory for unwinding");
	u->e = e;
	u->again = -1;
	u->limit = UNWIND_CHUNKS_MAX;
	files = mmap(NULL, FILES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(e->skel->maps.unwind_files), 0);
	u->files = files == MAP_FAILED ? NULL : files;
	u->ring = ring_buffer__new(bpf_map__fd(e->skel->maps.unwind_notes), unwinder_on_note, u,
				   NULL);
	u->again = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!u->files || !u->ring || u->again < 0 ||
	    epoll_ctl(unwinder_fd(u), EPOLL_CTL_ADD, u->again, &event)) {
		int err = deny(why, -errno, "cannot set up unwinding: %m");

		unwinder_free(u);
		return err;
	}
	*out = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	for (unsigned int i = 0; i < u->nchunks; i++) {
		munmap(u->chunk[i].words, CHUNK_BYTES);
		close(u->chunk[i].fd);
	}
	if (u->files)
		munmap((void *)u->files, FILES_BYTES);
	ring_buffer__free(u->ring);
	if (u->again >= 0)
		close(u->again);
	free(u);
}

void unwinder_limit(struct unwinder *u, unsigned int mb)
{
	const uint64_t chunks = ((uint64_t)mb << 20) / CHUNK_BYTES;

	u->limit = chunks < UNWIND_CHUNKS_MAX ? (unsigned int)chunks : UNWIND_CHUNKS_MAX;
}

int unwinder_fd(const struct unwinder *u)
{
	return ring_buffer__epoll_fd(u->ring);
}

void unwinder_notes(struct unwinder *u, void (*fn)(void *arg, const struct unwind_note *note),
		    void *arg)
{
	uint64_t times;

	(void)!read(u->again, &times, sizeof(times));
	u->note = fn;
	u->arg = arg;
	(void)ring_buffer__consume(u->ring);
	u->turns++;
}

void unwinder_call_again(struct unwinder *u, uint64_t ns)
{
	const struct itimerspec when = {
		.it_value = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) },
	};

	timerfd_settime(u->again, 0, &when, NULL);
}

/* --- memory ----------------------------------------------------------------------------------- */

static int chunk_make(struct chunk *c)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	void *words;

	c->fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "pmc_unwind", sizeof(uint32_t), CHUNK_BYTES, 1,
			       &opts);
	if (c->fd < 0)
		return c->fd;
	words = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (words == MAP_FAILED) {
		close(c->fd);
		return -ENOMEM;
	}
	c->words = words;
	c->used = c->live = 0;
	return 0;
}

/* As many as there are already, up to the limit: the kernel waits once for all. */
static int chunks_grow(struct unwinder *u)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t keys[UNWIND_CHUNKS_MAX], want = u->nchunks > GROW_MIN ? u->nchunks : GROW_MIN, n;
	int fds[UNWIND_CHUNKS_MAX], err = 0;

	if (want > u->limit - (u->nchunks < u->limit ? u->nchunks : u->limit))
		want = u->limit - (u->nchunks < u->limit ? u->nchunks : u->limit);
	for (n = 0; n < want; n++) {
		keys[n] = u->nchunks + n;
		if (chunk_make(&u->chunk[keys[n]]))
			break;
		fds[n] = u->chunk[keys[n]].fd;
	}
	if (!n)
		return -ENOMEM;
	want = n;
	if (bpf_map_update_batch(bpf_map__fd(u->e->skel->maps.unwind_chunks), keys, fds, &n, &opts))
		err = -errno;
	for (uint32_t i = n; err && i < want; i++) {
		munmap(u->chunk[keys[i]].words, CHUNK_BYTES);
		close(fds[i]);
	}
	u->nchunks += n;
	return n ? 0 : err;
}

/* Words in one chunk: its number, and their place in *at.  -ENOMEM. */
static int words_take(struct unwinder *u, uint32_t n, uint32_t *at)
{
	int err = 0;

	n = (n + UNWIND_RULE_WORDS - 1) / UNWIND_RULE_WORDS * UNWIND_RULE_WORDS;
	for (unsigned int i = 0; !err; i++) {
		struct chunk *c = &u->chunk[i];

		if (i == u->nchunks)
			err = chunks_grow(u);
		if (err || UNWIND_CHUNK_WORDS - c->used < n)
			continue;
		*at = c->used;
		c->used += n;
		c->live += n;
		return (int)i;
	}
	return err;
}

/* A chunk is used anew once nothing in it is of use. */
static void words_give(struct unwinder *u, uint32_t chunk, uint32_t n)
{
	struct chunk *c = &u->chunk[chunk];

	c->live -= (n + UNWIND_RULE_WORDS - 1) / UNWIND_RULE_WORDS * UNWIND_RULE_WORDS;
	if (!c->live)
		c->used = 0;
}

/* --- files ------------------------------------------------------------------------------------ */

enum unwind_file_state unwinder_state(const struct unwinder *u, uint32_t file)
{
	return u->files[file].state;
}

bool unwinder_builds(const struct unwinder *u, uint32_t file)
{
	return file >= UNWIND_FILE_FIRST && file < UNWIND_FILES &&
	       u->files[file].state <= UNWIND_FILE_ASKED;
}

uint64_t unwinder_turns(const struct unwinder *u)
{
	return u->turns;
}

struct unwind_file *unwinder_file(const struct unwinder *u, uint32_t file)
{
	return file < UNWIND_FILES ? (struct unwind_file *)&u->files[file] : NULL;
}

const uint32_t *unwinder_words(const struct unwinder *u, uint32_t chunk)
{
	return chunk < u->nchunks ? u->chunk[chunk].words : NULL;
}

/* A file that gets another chance of a table may have copies again. */
void unwinder_set_state(struct unwinder *u, uint32_t file, enum unwind_file_state state)
{
	if (state == UNWIND_FILE_ASKED || state == UNWIND_FILE_READY)
		u->files[file].copies = 0;
	__atomic_store_n(&u->files[file].state, state, __ATOMIC_RELEASE);
}

/* Gives back the rows of the first n pages. */
static void pages_give(struct unwinder *u, uint32_t chunk, uint32_t pages, uint32_t n)
{
	const uint32_t *word = u->chunk[chunk].words + pages;

	for (uint32_t i = 0; i < n; i++, word += UNWIND_PAGE_WORDS)
		if (word[1])
			words_give(u, word[1] - 1, UNWIND_PAGE_COUNT(word[0]));
}

static int pages_put(struct unwinder *u, uint32_t chunk, uint32_t pages,
		     const struct unwind_table *t)
{
	uint32_t *word = u->chunk[chunk].words + pages, at = 0;

	for (uint32_t i = 0; i < t->npages; i++, word += UNWIND_PAGE_WORDS) {
		const struct unwind_page *page = &t->pages[i];
		int to = page->rows ? words_take(u, page->rows, &at) : 0;

		if (to < 0) {
			pages_give(u, chunk, pages, i);
			return to;
		}
		word[0] = page->rows ? UNWIND_PAGE_ROWS(at, page->rows) : 0;
		word[1] = page->rows ? (uint32_t)to + 1 : 0;
		if (page->rows)
			memcpy(u->chunk[to].words + at, t->rows + page->first,
			       page->rows * sizeof(uint32_t));
	}
	return 0;
}

#define PYTHON_WORDS_OF(t) ((t)->python.runtime ? sizeof((t)->python) / sizeof(uint32_t) : 0)

/* In the chunk are rules, pages, and where the file's interpreter keeps its frames. */
static void file_fill(volatile struct unwind_file *f, const struct unwind_table *t, uint32_t chunk,
		      uint32_t at, uint32_t rules)
{
	f->npages = t->npages;
	f->base = t->base;
	f->chunk = chunk;
	f->pages = at + rules;
	f->rules = at;
	f->python = PYTHON_WORDS_OF(t) ? f->pages + t->npages * UNWIND_PAGE_WORDS : 0;
	f->nsegments = t->ncode;
	for (uint32_t i = 0; i < UNWIND_SEGMENTS; i++) {
		const struct unwind_code *code = &t->code[i];

		f->segment[i].offset = i < t->ncode ? code->offset : 0;
		f->segment[i].size = i < t->ncode ? code->end - code->start : 0;
		f->segment[i].add = i < t->ncode ? code->start - code->offset : 0;
	}
}

int unwinder_publish(struct unwinder *u, uint32_t file, const struct unwind_table *t,
		     struct reason *why)
{
	volatile struct unwind_file *f = &u->files[file];
	const uint64_t rules = (uint64_t)t->nrules * UNWIND_RULE_WORDS;
	const uint64_t pages = (uint64_t)t->npages * UNWIND_PAGE_WORDS;
	const uint64_t words = rules + pages + PYTHON_WORDS_OF(t);
	uint32_t at = 0;
	int chunk, err;

	if (t->ncode > UNWIND_SEGMENTS)
		return deny(why, -E2BIG, "it has more than %u executable segments",
			    UNWIND_SEGMENTS);
	if (words > UNWIND_CHUNK_WORDS)
		return deny(why, -E2BIG, "it has %u pages of code and %u rules, which have no room "
			    "together", t->npages, t->nrules);
	chunk = words_take(u, (uint32_t)words, &at);
	if (chunk < 0)
		return deny(why, chunk, "kern.hwpmc.unwind_memory is used up");
	err = pages_put(u, (uint32_t)chunk, at + (uint32_t)rules, t);
	if (err) {
		words_give(u, (uint32_t)chunk, (uint32_t)words);
		return deny(why, err, "kern.hwpmc.unwind_memory is used up");
	}
	memcpy(u->chunk[chunk].words + at, t->rules, rules * sizeof(uint32_t));
	memcpy(u->chunk[chunk].words + at + rules + pages, &t->python,
	       PYTHON_WORDS_OF(t) * sizeof(uint32_t));
	u->placed[file] = (struct placed){ .words = (uint32_t)words, .npages = t->npages };
	__atomic_add_fetch(&f->gen, 1, __ATOMIC_SEQ_CST);
	file_fill(f, t, (uint32_t)chunk, at, (uint32_t)rules);
	unwinder_set_state(u, file, UNWIND_FILE_READY);
	__atomic_add_fetch(&f->gen, 1, __ATOMIC_SEQ_CST);
	return 0;
}

void unwinder_withdraw(struct unwinder *u, uint32_t file)
{
	volatile struct unwind_file *f = &u->files[file];

	if (f->state != UNWIND_FILE_READY)
		return;
	/* Walks that began before see another generation at their end. */
	__atomic_add_fetch(&f->gen, 1, __ATOMIC_SEQ_CST);
	unwinder_set_state(u, file, UNWIND_FILE_NEW);
	__atomic_add_fetch(&f->gen, 1, __ATOMIC_SEQ_CST);
	pages_give(u, f->chunk, f->pages, u->placed[file].npages);
	words_give(u, f->chunk, u->placed[file].words);
}

/* --- processes -------------------------------------------------------------------------------- */

static int visit_once(struct unwinder *u, uint32_t pid, uint32_t tgid)
{
	volatile struct unwind_changes *c = &u->e->skel->bss->unwind_changes[tgid % UNWIND_CHANGES];
	struct unwind_process *found = &u->e->skel->bss->unwind_visited;
	const uint32_t begun = __atomic_load_n(&c->begun, __ATOMIC_SEQ_CST);
	const uint32_t done = __atomic_load_n(&c->done, __ATOMIC_SEQ_CST);
	int err;

	found->n = found->stale = found->gen = 0;
	err = visit_process_mappings(u->e, pid);
	if (err)
		return err;
	/* Changes meanwhile may be in neither: the programs ask again. */
	if (begun != done || __atomic_load_n(&c->begun, __ATOMIC_SEQ_CST) != begun)
		found->stale = UNWIND_STALE;
	err = bpf_map__update_elem(u->e->skel->maps.unwind_processes, &tgid, sizeof(tgid), found,
				   sizeof(*found), BPF_ANY);
	if (!err && __atomic_load_n(&c->begun, __ATOMIC_SEQ_CST) != begun)
		err = -EAGAIN;
	return err ?: found->stale == UNWIND_STALE ? -EAGAIN : 0;
}

int unwinder_visit(struct unwinder *u, uint32_t pid, uint32_t tgid)
{
	struct unwind_process *found = &u->e->skel->bss->unwind_visited;
	int err = -EAGAIN;

	for (int i = 0; i < VISITS && err == -EAGAIN; i++)
		err = visit_once(u, pid, tgid);
	/* They change faster than they can be read: the programs ask again. */
	if (err == -EAGAIN) {
		found->stale = UNWIND_STALE;
		err = bpf_map__update_elem(u->e->skel->maps.unwind_processes, &tgid, sizeof(tgid),
					   found, sizeof(*found), BPF_ANY);
	}
	return err;
}

/* Takes a file's number back, unless a worker has the file. */
static bool known_forget(struct unwinder *u, const struct unwind_key *key)
{
	const struct bpf_map *known = u->e->skel->maps.unwind_known;
	uint32_t file;

	if (bpf_map__lookup_elem(known, key, sizeof(*key), &file, sizeof(file), 0) ||
	    file >= UNWIND_FILES || unwinder_state(u, file) == UNWIND_FILE_ASKED ||
	    bpf_map__delete_elem(known, key, sizeof(*key), 0))
		return false;
	unwinder_withdraw(u, file);
	unwinder_set_state(u, file, UNWIND_FILE_NEW);
	return !bpf_map_update_elem(bpf_map__fd(u->e->skel->maps.unwind_numbers), NULL, &file,
				    BPF_ANY);
}

/* Nearly all numbers are free again: users take anew. */
static void users_forget(struct unwinder *u, unsigned int freed)
{
	const struct bpf_map *users = u->e->skel->maps.unwind_users;
	uint32_t uid;

	u->e->skel->bss->unwind_taken -= freed;
	while (!bpf_map__get_next_key(users, NULL, &uid, sizeof(uid)))
		if (bpf_map__delete_elem(users, &uid, sizeof(uid), 0))
			break;
}

static void known_forget_all(struct unwinder *u)
{
	const struct bpf_map *known = u->e->skel->maps.unwind_known;
	struct unwind_key *keys = malloc(UNWIND_FILES * sizeof(*keys));
	unsigned int n = 0, freed = 0;

	while (keys && n < UNWIND_FILES &&
	       !bpf_map__get_next_key(known, n ? &keys[n - 1] : NULL, &keys[n], sizeof(*keys)))
		n++;
	for (unsigned int i = 0; n > UNWIND_FILES / 2 && i < n; i++)
		freed += known_forget(u, &keys[i]);
	free(keys);
	if (!freed)
		return;
	users_forget(u, freed);
	DEBUG(u->e->debug, SAMPLING, INIT, "%u of %u files have no number any more", freed,
	      n);
}

void unwinder_forget(struct unwinder *u)
{
	const struct bpf_map *map = u->e->skel->maps.unwind_processes;
	uint32_t tgid;

	while (!bpf_map__get_next_key(map, NULL, &tgid, sizeof(tgid)))
		if (bpf_map__delete_elem(map, &tgid, sizeof(tgid), 0) && errno != ENOENT)
			break;
	known_forget_all(u);
}
