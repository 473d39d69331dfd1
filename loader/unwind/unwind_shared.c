/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table in memory between processes: written by one that is not trusted, checked by the daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/python/python.h"
#include "unwind_worker.h"

#define MAGIC	  0x30776e75u		/* "unw0" */
#define RULES_MAX 65536u
#define REGS	  32u

/* Behind it are the rules, the pages and the rows. */
struct shared_head {
	uint32_t magic, arch;
	uint32_t failed;		/* there is only a reason */
	uint32_t ncode, npages, nrows, nrules, nfdes, nskipped;
	uint32_t reserved;
	uint64_t base;
	struct unwind_code code[UNWIND_CODE_MAX];
	struct python_process python;
	char reason[sizeof(((struct reason *)0)->text)];
};

int unwind_shared_new(void)
{
	int fd = memfd_create("pmcbpf-unwind", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

/* --- the worker's side ------------------------------------------------------------------------ */

static int shared_put(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t done = write(fd, p, n);

		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int unwind_shared_write(int fd, const struct unwind_table *t, const struct reason *why)
{
	struct shared_head head = { .magic = MAGIC, .failed = !t };
	int err;

	if (!t) {
		memcpy(head.reason, why->text, sizeof(head.reason));
		return shared_put(fd, &head, sizeof(head));
	}
	head.arch = t->arch;
	head.ncode = t->ncode;
	head.npages = t->npages;
	head.nrows = t->nrows;
	head.nrules = t->nrules;
	head.nfdes = t->nfdes;
	head.nskipped = t->nskipped;
	head.base = t->base;
	memcpy(head.code, t->code, sizeof(head.code));
	head.python = t->python;
	err = shared_put(fd, &head, sizeof(head));
	err = err ?: shared_put(fd, t->rules, t->nrules * sizeof(*t->rules));
	err = err ?: shared_put(fd, t->pages, t->npages * sizeof(*t->pages));
	return err ?: shared_put(fd, t->rows, t->nrows * sizeof(*t->rows));
}

/* --- the daemon's ----------------------------------------------------------------------------- */

static bool shared_head_good(const struct shared_head *h, size_t size)
{
	uint64_t need = sizeof(*h);

	if (h->arch > UNWIND_ARM64 || !h->ncode || h->ncode > UNWIND_CODE_MAX || !h->npages ||
	    h->npages > UNWIND_PAGES_MAX || h->nrows > UNWIND_ROWS_MAX || h->nrules < 2 ||
	    h->nrules > RULES_MAX || h->base % UNWIND_PAGE_SIZE)
		return false;
	need += (uint64_t)h->nrules * sizeof(struct unwind_rule);
	need += (uint64_t)h->npages * sizeof(struct unwind_page);
	need += (uint64_t)h->nrows * sizeof(uint32_t);
	return need == size;
}

/* Segments are sorted and within the pages. */
static bool shared_code_good(const struct unwind_table *t)
{
	uint64_t at = t->base, end;

	if (__builtin_add_overflow(t->base, (uint64_t)t->npages << UNWIND_PAGE_SHIFT, &end))
		return false;
	for (uint32_t i = 0; i < t->ncode; i++) {
		const struct unwind_code *code = &t->code[i];

		if (code->start < at || code->end <= code->start || code->end > end)
			return false;
		at = code->end;
	}
	return true;
}

static bool shared_rule_good(const struct unwind_rule *r)
{
	return r->cfa < UNWIND_CFA_KINDS && r->ra < UNWIND_PLACES && r->fp < UNWIND_PLACES &&
	       r->reg < REGS && (r->ra != UNWIND_IN_REG || (r->ra_at >= 0 && r->ra_at < (int)REGS));
}

static bool shared_page_good(const struct unwind_table *t, const struct unwind_page *page)
{
	const uint32_t *row = t->rows + page->first;

	for (uint32_t i = 0; i < page->rows; i++) {
		if (UNWIND_ROW_RULE(row[i]) >= t->nrules)
			return false;
		if (i ? UNWIND_ROW_LOW(row[i]) <= UNWIND_ROW_LOW(row[i - 1]) :
			UNWIND_ROW_LOW(row[i]) != 0)
			return false;
	}
	return true;
}

static bool shared_table_good(const struct unwind_table *t)
{
	uint32_t rows = 0;

	if ((t->python.runtime && !python_layout_check(&t->python.layout)) ||
	    !shared_code_good(t) || t->rules[UNWIND_RULE_NONE].cfa != UNWIND_NONE ||
	    t->rules[UNWIND_RULE_BAD].cfa != UNWIND_BAD)
		return false;
	for (uint32_t i = 0; i < t->nrules; i++)
		if (!shared_rule_good(&t->rules[i]))
			return false;
	for (uint32_t i = 0; i < t->npages; i++) {
		const struct unwind_page *page = &t->pages[i];

		if (!page->rows && !page->first)
			continue;
		if (page->first != rows || page->rows > t->nrows - rows ||
		    !shared_page_good(t, page))
			return false;
		rows += page->rows;
	}
	return rows == t->nrows;
}

/* The arrays are in the map, which cannot be changed any more; no function writes to them. */
static void shared_view(struct unwind_shared *s)
{
	const struct shared_head *h = s->map;
	struct unwind_table *t = &s->table;

	*t = (struct unwind_table){
		.arch = h->arch, .ncode = h->ncode, .base = h->base, .npages = h->npages,
		.nrows = h->nrows, .nrules = h->nrules, .nfdes = h->nfdes, .nskipped = h->nskipped,
		.python = h->python,
	};
	memcpy(t->code, h->code, sizeof(t->code));
	t->rules = (struct unwind_rule *)(h + 1);
	t->pages = (struct unwind_page *)(t->rules + t->nrules);
	t->rows = (uint32_t *)(t->pages + t->npages);
}

static int shared_check(struct unwind_shared *s, struct reason *why)
{
	const struct shared_head *h = s->map;

	if (h->magic != MAGIC)
		return deny(why, -EBADMSG, "the worker has written no table");
	if (h->failed) {
		memcpy(why->text, h->reason, sizeof(why->text));
		why->text[sizeof(why->text) - 1] = 0;
		reason_clean(why->text);
		if (!*why->text)
			return deny(why, -EBADMSG, "the worker has given no reason");
		return -ENODATA;
	}
	if (!shared_head_good(h, s->size))
		return deny(why, -EBADMSG, "the worker's table has impossible sizes");
	shared_view(s);
	if (!shared_table_good(&s->table))
		return deny(why, -EBADMSG, "the worker's table is damaged");
	return 0;
}

int unwind_shared_open(struct unwind_shared *s, int fd, struct reason *why)
{
	struct stat st;
	void *map;
	int err;

	*s = (struct unwind_shared){ .map = NULL };
	/* Nobody else may have it mapped for writing. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ||
	    fstat(fd, &st))
		return deny(why, -errno, "the worker's memory cannot be sealed: %s",
			    strerror(errno));
	if (st.st_size < (off_t)sizeof(struct shared_head))
		return deny(why, -EBADMSG, "the worker has written no table");
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return deny(why, -errno, "the worker's memory cannot be mapped: %s",
			    strerror(errno));
	s->map = map;
	s->size = (size_t)st.st_size;
	err = shared_check(s, why);
	if (err)
		unwind_shared_close(s);
	return err;
}

void unwind_shared_close(struct unwind_shared *s)
{
	if (s->map)
		munmap((void *)s->map, s->size);
	*s = (struct unwind_shared){ .map = NULL };
}
